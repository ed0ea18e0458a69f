"""Placements by name on the writes of a drive: those that learn do so on the cycle before, others are tuned there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cachezoo.arrays import U8
from cachezoo.contest.blocks import BLOCKS
from cachezoo.kernels.ftl import SEPBIT_STREAMS
from cachezoo.labels.streams import StreamLabels
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace
from cachezoo.wear.names import AUTOSTREAM, BUNDLE, FIOS, LEGACY, LIFETIME, ORACLE, SEPBIT, Kind
from cachezoo.wear.placements import Grids, Parameters, Placement, combinations, rule
from cachezoo.wear.writes import volume_starts
from cachezoo.zoo.streams.bench import Bench, classes_and_parts
from cachezoo.zoo.streams.cluster import Clusters, bits_of, cluster_bits, dictionary_of
from cachezoo.zoo.streams.deaths import Lifetimes, fit_lifetimes
from cachezoo.zoo.streams.dictionary import Dictionary
from cachezoo.zoo.streams.labelling import labels_of
from cachezoo.zoo.streams.settings import Classes, Lifetime
from cachezoo.zoo.streams.variants import first_chunks

WINDOW = "100th"
# What is tried of each placement that has parameters.
GRIDS: Grids = {
    AUTOSTREAM: {"decay": (0.5, 2.0, 8.0, 32.0), "chunk_bytes": (1 << 15, 1 << 17, 1 << 20)},
    SEPBIT: {"collected": (4, 16, 64)},
    ORACLE: {"rule": ("both",), "share": (0.0625, 0.125, 0.25, 0.5, 1.0)},
}


@dataclass
class Placing:
    """Placements on one drive's writes."""

    bench: Bench  # the drive that placements are tuned on
    cycles: Sequence[Trace]  # what the writes are of; empty for those of a cache, so that nothing is learned
    seed: int  # of K-means
    bundle: Dictionary | None = None
    labels: dict[int, StreamLabels] = field(default_factory=dict)  # of the cycles that were learned from
    forest: Lifetimes | None = None  # learned on the first cycles, once it is needed

    def of(self, name: str, streams: int) -> Placement:
        """A placement for so many streams, with the parameters that suit the cycle before the last.

        Where that cycle writes too little to tune on, the first of its parameters are taken, and the note says so.

        Raises:
            DeviceError: the drive has no room for the streams.
        """
        kind, _, letters = name.partition(":")
        if kind == FIOS:
            return self._fios(name, streams, letters)
        if name == LIFETIME:
            return self._lifetime(streams)
        writes = self.bench.writes
        if name == BUNDLE:
            assert self.bundle is not None, "placed by one alone"
            found = np.zeros(len(writes), np.uint8)
            since = int(writes.starts[1])
            found[since:] = self.bundle.look_up(first_chunks(writes)[since:])
            return _fixed(name, "ours", found, {}, self.bundle.count)
        tried = (rule(name, own, streams) for own in combinations(GRIDS.get(name, {})))
        count = 1 if name == LEGACY else SEPBIT_STREAMS if name == SEPBIT else streams
        return self._tuned(
            replace(one, streams=count)
            if one.place is None
            else _fixed(name, one.kind, one.place(writes), one.parameters, count)
            for one in tried
        )

    def _tuned(self, tried: Iterable[Placement]) -> Placement:
        """The best on the cycle before the last; a single one is not run."""
        first, *others = tried
        if not others:
            return first
        writes = self.bench.writes
        number = writes.cycles - 2
        part = writes.cycle(number)
        if part.stop - part.start < BLOCKS:
            note = (
                f"{first.policy}: cycle {number + 1} of {writes.cycles} writes {part.stop - part.start} pages, too "
                f"few to tune on: it takes {_words(first.parameters)}"
            )
            return replace(first, note=note)
        return min([first, *others], key=lambda placement: self.bench.run(placement, number).waf)

    def _lifetime(self, streams: int) -> Placement:
        """The forest of lifetimes, learned on all cycles but the last two; of two cycles on the first."""
        train, writes = self.cycles[:-2] or self.cycles[:-1], self.bench.writes
        since = int(writes.starts[len(train)])
        if self.forest is None and since > 0:  # of cycles that only read there is nothing to learn
            self.forest = fit_lifetimes(
                train, Lifetime(seeds=1), self.seed, "wear", writes.page_bytes, volume_starts(self.cycles)
            )
        if self.forest is None:
            note = "lifetime: the cycles that it learns on write too little, so that all goes to stream 0"
            return _fixed(LIFETIME, "forest", np.zeros(len(writes), np.uint8), {}, streams, note)
        forest = self.forest
        # Of two cycles the first one teaches, and all there goes to stream 0 whatever is tried: the first is taken.
        alone = "lifetime: two cycles leave none to choose its classes and parts on: it takes "
        return self._tuned(
            _fixed(
                LIFETIME, "forest", forest.streams_of(0, writes, since, **own), own, streams,
                alone + _words(own) if len(self.cycles) == len(train) + 1 else "",
            )
            for own in classes_and_parts(Classes(), streams)
        )  # fmt: skip

    def _fios(self, name: str, streams: int, letters: str) -> Placement:
        """FIOS by some features, or by those that it chooses: a cycle teaches the next."""
        writes = self.bench.writes
        found, features, note = np.zeros(len(writes), np.uint8), letters, ""
        starts, first = volume_starts(self.cycles), first_chunks(writes)
        seed = derive_seed(self.seed, "wear", FIOS)
        for number in range(len(self.cycles) - 1):
            labels = self._labels(number)
            features = letters or labels.figures.features
            if not len(labels):
                note = f"cycle {number + 1} writes nothing to learn from, so that all of cycle {number + 2}"
                note += " goes to stream 0"
            elif not features:
                note = f"FIOS's rule chooses no feature by cycle {number + 1}, so that all goes to stream 0; "
                note += "--by fios:FASC names some"
            else:
                clusters = cluster_bits(bits_of(labels, features, WINDOW), labels, streams, seed)
                part = writes.cycle(number + 1)
                found[part] = dictionary_of(clusters, labels, starts).look_up(first[part])
                note = "; ".join(filter(None, ("" if letters else f"FIOS's rule chooses {features}", _fewer(clusters))))
        return _fixed(name, "fios", found, {"features": features}, streams, f"{name}: {note}" if note else "")

    def _labels(self, number: int) -> StreamLabels:
        """Of the chunks of a cycle, made once."""
        if number not in self.labels:
            trace = self.cycles[number]
            self.labels[number] = labels_of(trace, expand_pages(trace))
        return self.labels[number]


def _fixed(name: str, kind: Kind, placed: U8, parameters: Parameters, streams: int, note: str = "") -> Placement:
    """A placement that was computed for the drive's writes."""
    return Placement(name, kind, lambda _: placed, parameters, streams, note)


def _fewer(clusters: Clusters) -> str:
    """Why fewer streams are used than there are; empty where all are. The words fit any number that is more."""
    if clusters.effective == clusters.count:
        return ""
    points = "one distinct point" if clusters.points == 1 else f"{clusters.points} distinct points"
    return f"the chunks' features have {points}, and no more streams are used"


def _words(parameters: Parameters) -> str:
    """Parameters in a line."""
    return ", ".join(f"{name} {value}" for name, value in parameters.items())


def counts_of(name: str, streams: Sequence[int]) -> list[int]:
    """The numbers of streams that a placement is tried with: legacy with 1, SepBIT with its own."""
    if name == LEGACY:
        return [1]
    return [SEPBIT_STREAMS] if name == SEPBIT else [0] if name == BUNDLE else [count for count in streams if count > 1]

"""Placements by name on the writes of a drive: those that learn do so on the cycle before, others are tuned there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from cachezoo.arrays import U8
from cachezoo.contest.blocks import BLOCKS
from cachezoo.kernels.ftl import SEPBIT_STREAMS, SepBit
from cachezoo.labels.streams import StreamLabels
from cachezoo.seeds import derive_seed
from cachezoo.settings.wear import Drive
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace
from cachezoo.wear.names import AUTOSTREAM, BUNDLE, FIOS, LEGACY, LIFETIME, ORACLE, SEPBIT
from cachezoo.wear.placements import PLACEMENTS
from cachezoo.wear.run import Wear, wear
from cachezoo.wear.writes import DriveWrites, volume_starts
from cachezoo.zoo.streams.beside import arguments
from cachezoo.zoo.streams.cluster import Clusters, bits_of, cluster_bits, dictionary_of
from cachezoo.zoo.streams.deaths import Lifetimes, fit_lifetimes
from cachezoo.zoo.streams.dictionary import Dictionary
from cachezoo.zoo.streams.labelling import labels_of
from cachezoo.zoo.streams.settings import Classes, Lifetime
from cachezoo.zoo.streams.variants import first_chunks

Parameters = Mapping[str, Any]
WINDOW = "100th"
# What is tried of each placement that has parameters.
GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    AUTOSTREAM: {"decay": (0.5, 2.0, 8.0, 32.0), "chunk_bytes": (1 << 15, 1 << 17, 1 << 20)},
    SEPBIT: {"collected": (4, 16, 64)},
    ORACLE: {"rule": ("both",), "share": (0.0625, 0.125, 0.25, 0.5, 1.0)},
}


@dataclass(frozen=True)
class Placed:
    """A placement, ready to run.

    Attributes:
        name: of it.
        streams: that it is told there are.
        parameters: its own.
        place: uint8[n] the stream of each page write; None where the drive itself places (SepBIT).
        note: what it says of itself, in words that hold for fewer streams too; may be empty.
    """

    name: str
    streams: int
    parameters: Parameters
    place: U8 | None
    note: str = ""

    def run(self, writes: DriveWrites, drive: Drive, counted: int = -1) -> Wear:
        """What it does to a drive; errors as `cachezoo.wear.run.wear`."""
        if self.name == SEPBIT:
            return wear(writes, None, drive, counted, sepbit=SepBit(**self.parameters))
        return wear(writes, self.place, drive, counted, n_streams=self.streams)


@dataclass
class Placing:
    """Placements on one drive's writes.

    Attributes:
        writes: of all cycles.
        cycles: what the writes are of; empty where they are of no trace (those of a cache), so that nothing is learned.
        drive: that placements are tuned on.
        seed: of K-means.
        bundle: the dictionary of one.
        labels: of the cycles that were learned from.
        forest: learned on the first cycles, once asked for.
    """

    writes: DriveWrites
    cycles: Sequence[Trace]
    drive: Drive
    seed: int
    bundle: Dictionary | None = None
    labels: dict[int, StreamLabels] = field(default_factory=dict)
    forest: Lifetimes | None = None

    def of(self, name: str, streams: int) -> Placed:
        """A placement that is told how many streams there are, with the parameters that suit the cycle before the last.

        Where that cycle writes too little to tune on, the first of its parameters are taken, and the note says so.

        Raises:
            DeviceError: the drive has no room for the streams.
        """
        kind, _, letters = name.partition(":")
        if kind == FIOS:
            return self._fios(name, streams, letters)
        if name == BUNDLE:
            assert self.bundle is not None, "asked for with one alone"
            found = np.zeros(len(self.writes), np.uint8)
            since = int(self.writes.starts[1])
            found[since:] = self.bundle.look_up(first_chunks(self.writes)[since:])
            return Placed(name, self.bundle.count, {}, found)
        if name == LIFETIME:
            return self._lifetime(streams)
        grid = GRIDS.get(name, {})
        tried = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        return self._tuned(self._plain(name, streams, own) for own in tried)

    def _tuned(self, tried: Iterable[Placed]) -> Placed:
        """The best on the cycle before the last; a single one is not run."""
        first, *others = tried
        if not others:
            return first
        number = self.writes.cycles - 2
        part = self.writes.cycle(number)
        if part.stop - part.start < BLOCKS:
            note = (
                f"{first.name}: cycle {number + 1} of {self.writes.cycles} writes {part.stop - part.start} pages, too "
                f"few to tune on: it takes {_said(first.parameters)}"
            )
            return replace(first, note=note)
        return min([first, *others], key=lambda placed: placed.run(self.writes, self.drive, number).waf)

    def _lifetime(self, streams: int) -> Placed:
        """The forest of lifetimes, learned on all cycles but the last two; of two cycles on the first."""
        train = self.cycles[:-2] or self.cycles[:-1]
        since = int(self.writes.starts[len(train)])
        if self.forest is None and since > 0:  # of cycles that only read there is nothing to learn
            self.forest = fit_lifetimes(
                train, Lifetime(seeds=1), self.seed, "wear", self.writes.page_bytes, volume_starts(self.cycles)
            )
        if self.forest is None:
            note = "lifetime: the cycles that it learns on write too little, so that all goes to stream 0"
            return Placed(LIFETIME, streams, {}, np.zeros(len(self.writes), np.uint8), note)
        forest = self.forest
        # Of two cycles the first one teaches, and all there goes to stream 0 whatever is tried: the first is taken.
        alone = "lifetime: two cycles leave none to choose its classes and parts on: it takes "
        return self._tuned(
            Placed(
                LIFETIME, streams, own, forest.streams_of(0, self.writes, since, **own),
                alone + _said(own) if len(self.cycles) == len(train) + 1 else "",
            )
            for own in arguments(Classes(), streams)
        )  # fmt: skip

    def _plain(self, name: str, streams: int, parameters: Parameters) -> Placed:
        if name == SEPBIT:
            return Placed(name, SEPBIT_STREAMS, parameters, None)
        count = 1 if name == LEGACY else streams
        return Placed(name, count, parameters, PLACEMENTS[name](self.writes, streams=streams, **parameters))

    def _fios(self, name: str, streams: int, letters: str) -> Placed:
        """FIOS by some features, or by those that it chooses: a cycle teaches the next; the first is told nothing."""
        found, features, note = np.zeros(len(self.writes), np.uint8), letters, ""
        starts, first = volume_starts(self.cycles), first_chunks(self.writes)
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
                part = self.writes.cycle(number + 1)
                found[part] = dictionary_of(clusters, labels, starts).look_up(first[part])
                note = "; ".join(filter(None, ("" if letters else f"FIOS's rule chooses {features}", _fewer(clusters))))
        return Placed(name, streams, {"features": features}, found, f"{name}: {note}" if note else "")

    def _labels(self, number: int) -> StreamLabels:
        """Of the chunks of a cycle, made once."""
        if number not in self.labels:
            trace = self.cycles[number]
            self.labels[number] = labels_of(trace, expand_pages(trace))
        return self.labels[number]


def _fewer(clusters: Clusters) -> str:
    """Why fewer streams are used than there are; empty where all are. The words fit any number that is more."""
    if clusters.effective == clusters.count:
        return ""
    points = "one distinct point" if clusters.points == 1 else f"{clusters.points} distinct points"
    return f"the chunks' features have {points}, and no more streams are used"


def _said(parameters: Parameters) -> str:
    """Parameters in a line."""
    return ", ".join(f"{name} {value}" for name, value in parameters.items())


def counts_of(name: str, streams: Sequence[int]) -> list[int]:
    """The numbers of streams that a placement is tried with: legacy with 1, SepBIT with its own."""
    if name == LEGACY:
        return [1]
    return [SEPBIT_STREAMS] if name == SEPBIT else [0] if name == BUNDLE else [count for count in streams if count > 1]

"""What validation chooses of each way to share, at each size: what reads least from the disk over its mixes.

Every family goes the same way: each of its values is run on every validation mix at every size. A value that some mix
cannot have, as its cache is too small, is none of that size's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.questions.share.columns import Chosen, Read
from cachezoo.questions.share.counting import Counting, counting
from cachezoo.questions.share.judged import Judged, judge
from cachezoo.questions.share.partition import Asked, Shared, TooSmall, parse
from cachezoo.questions.share.stage_bench import MixBench
from cachezoo.settings.share import SharePolicy

SECTION = "policy.share"
SHARED = "shared"
Families = dict[str, list[Asked]]
Tried = dict[tuple[float, Asked], Read | None]


@dataclass(frozen=True)
class Case:
    """A mix in front of which a cache of some size stands.

    Attributes:
        bench: the mix.
        size: of the footprint.
        pages: of the cache.
        counting: what counts.
    """

    bench: MixBench
    size: float
    pages: int
    counting: Counting

    @classmethod
    def of(cls, bench: MixBench, size: float) -> "Case":
        """A cache of a part of the mix's footprint."""
        pages = max(1, round(size * bench.mix.n_pages))
        return cls(bench, size, pages, counting(bench.mix, pages=pages))

    def run(self, asked: Asked) -> Shared | None:
        """What a partitioner does; None where the cache is too small for it."""
        try:
            return asked.run(self.bench, self.pages, self.counting.counted)
        except TooSmall:
            return None

    def whole(self, asked: Asked) -> int:
        """Pages of the cache in whole fragments."""
        fragment = asked.options.whole("fragment")
        return self.pages // fragment * fragment

    def judged(self, asked: Asked, shared: Shared) -> Judged:
        """Figures of what a partitioner did."""
        return judge(asked, shared, self.bench, self.whole(asked), self.counting, self.bench.times)


def families(settings: SharePolicy) -> tuple[Families, dict[str, Asked]]:
    """The ways to share that validation chooses from, by family, and the bounds.

    Raises:
        ConfigError: one cannot be read, or a family knows the future, or both shares and splits.
    """

    def read(place: str, text: str) -> Asked:
        try:
            return parse(text)
        except ConfigError as error:
            raise ConfigError(f"{SECTION}.{place}: {error}") from error

    found: Families = {}
    for name, texts in settings.families.items():
        found[name] = list(dict.fromkeys(read(f"families.{name}", text) for text in texts))
        if known := [one for one in found[name] if one.knows]:
            message = f"{SECTION}.families.{name}: {known[0]} knows {known[0].knows} ahead; list it under bounds"
            raise ConfigError(message)
        if len({splits(one) for one in found[name]}) > 1:
            message = f"{SECTION}.families.{name}: some of it share one cache and some split it; make two of it"
            raise ConfigError(message)
    return found, {name: read(f"bounds.{name}", text) for name, text in settings.bounds.items()}


def splits(asked: Asked) -> bool:
    """Whether each application has a part of its own."""
    return asked.partitioner.id != SHARED


def read(shared: Shared, counted: Counting) -> Read:
    """What a partitioner hit and read, by the page accesses that count."""
    what = counted.counted
    total, hits = np.count_nonzero(what), np.count_nonzero(shared.hit & what)
    moved = int(shared.moved[what].sum(dtype=np.int64))
    return Read(hit_ratio=hits / total, transfers=(total - hits + moved) / total)


def tried(bench: MixBench, known: Families, settings: SharePolicy) -> Tried:
    """What every value does on a mix at every size; None where the cache is too small for it."""
    every = dict.fromkeys(asked for own in known.values() for asked in own)
    found: Tried = {}
    for size in settings.sizes:
        case = Case.of(bench, size)
        for asked in every:
            shared = case.run(asked)
            found[size, asked] = None if shared is None else read(shared, case.counting)
    return found


def choose(found: Sequence[Tried], known: Families, size: float) -> dict[str, tuple[Asked, Chosen]]:
    """The value of each family that reads least on the mean of the mixes; of equals the first listed.

    Families without a value that all mixes can have at this size are left out.
    """
    chosen = {}
    for name, own in known.items():
        means = {asked: mean for asked in own if (mean := _mean([one[size, asked] for one in found])) is not None}
        if means:
            asked = min(means, key=lambda asked: means[asked].transfers)
            chosen[name] = asked, Chosen(partitioner=str(asked), tried=len(means), validation=means[asked])
    return chosen


def _mean(found: Sequence[Read | None]) -> Read | None:
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    return Read(hit_ratio=fmean(one.hit_ratio for one in known), transfers=fmean(one.transfers for one in known))


def best(choices: Sequence[Mapping[str, Chosen]], names: Sequence[str]) -> str | None:
    """Of some families that which reads least, on the mean of sizes; only those that each size has a choice of."""
    means = {
        name: fmean(own[name].validation.transfers for own in choices)
        for name in names
        if choices and all(name in own for own in choices)
    }
    return min(means, key=lambda name: means[name]) if means else None

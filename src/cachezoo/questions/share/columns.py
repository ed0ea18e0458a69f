"""metrics/share/mixes.json: one cache for several applications, shared or split, on mixes of captured traces."""

from pathlib import Path
from typing import Annotated, Literal

from cachezoo import paths
from cachezoo.documents import Document, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Role
from cachezoo.metrics.files import read

FOLDER = "share"
STATIC, HINDSIGHT = "static", "hindsight"
SHARED_LRU = "shared_lru"  # what runs where nothing was changed
PER_ACCESS = "transfers/page access"
Kind = Literal["all", "unseen", "pair"]
SMALL = "a family at a size"


class Read(Document):
    """What a cache hits, and what it reads for that."""

    hit_ratio: Annotated[float, Means("page accesses served by the cache", "share")]
    transfers: Annotated[float, Means("pages read from the disk, misses and what is moved besides", PER_ACCESS)]


class Served(Read):
    """What a cache does for all applications of a mix together."""

    fairness: Annotated[
        float, Means("harmonic mean of the applications' speeds, each against the whole cache to itself", "ratio")
    ]


class Chosen(Document):
    """What validation chose of a family at a size."""

    partitioner: Annotated[str, Means("as `cachezoo.questions.share` reads it")]
    tried: Annotated[int, Means("values that were tried")]
    validation: Annotated[Read, Means("mean over the validation mixes")]


class Size(Document):
    """How large the cache is, and what was chosen for it."""

    share: Annotated[float, Means("of the mix's footprint", "share")]
    choices: Annotated[dict[str, Chosen], Each(SMALL, "size and family", "family")]


class App(Document):
    """An application of a mix: one trace."""

    category: Annotated[str, Means("of the trace")]
    references: Annotated[int, Means("page accesses", "page accesses")]
    pages: Annotated[int, Means("distinct pages", "pages")]


class AppRow(Document):
    """What a family does for one application."""

    hit_ratio: Annotated[float, Means("its page accesses served by the cache", "share")]
    transfers: Annotated[float, Means("pages read from the disk for it", PER_ACCESS)]
    slowdown: Annotated[
        float, Means("mean page time over that with the whole cache to itself under LRU; below 1: faster", "ratio")
    ]
    share: Annotated[
        float | None,
        Means("mean part of the cache that is its own, or that its pages have; null where that is not told", "share"),
    ]


class Saved(Document):
    """How much less a family reads from the disk than another one."""

    transfers: Annotated[float, Means("of the other's transfers; negative: more", "share")]
    interval: Annotated[Interval, Means("its 90 % interval over paired blocks of time", "share")]
    hits: Annotated[float, Means("hit ratio above the other's", "share")]
    hits_interval: Annotated[Interval, Means("its 90 % interval over paired blocks of time", "share")]


class ShareRow(Served):
    """A family on a mix at a size."""

    size: Annotated[float, Means("of the mix's footprint", "share")]
    pages: Annotated[int, Means("of the cache", "pages")]
    family: Annotated[str, Means("whose choice it is, or the bound")]
    partitioner: Annotated[str, Means("what was run")]
    splits: Annotated[bool, Means("each application has a part of its own; false: one cache for all")]
    bound: Annotated[bool, Means("it knows the future, so no cache can run it")]
    hit_interval: Annotated[Interval, Means("90 % interval of hit_ratio over blocks of time", "share")]
    transfers_interval: Annotated[Interval, Means("90 % interval of transfers over blocks of time", PER_ACCESS)]
    moved: Annotated[float, Means("pages read besides the misses: what a mapping takes in", PER_ACCESS)]
    slowest: Annotated[float, Means("largest slowdown of an application", "ratio")]
    apps: Annotated[dict[str, AppRow], Each("an application", "mix, size, family and trace", "trace")]
    saved: Annotated[
        dict[str, Saved],
        Each(
            "a rival of a family",
            "mix, size, family and rival",
            "rival",
        ),
    ]


class Timeline(Document):
    """How a partitioner splits the cache as time goes by."""

    size: Annotated[float, Means("of the mix's footprint", "share")]
    family: Annotated[str, Means("that splits")]
    shares: Annotated[
        dict[str, list[float]],
        Each(name="trace", text="mean part of the cache in each block of time, in their order", unit="share"),
    ]


class ShareMix(Document):
    """Applications that run at the same time."""

    role: Annotated[Role, Means("test")]
    kind: Annotated[Kind, Means("all: a trace of each category; unseen: all test traces; pair: of two categories")]
    order: Annotated[str, Means("how references follow each other: clock, or lockstep: one of each in turn")]
    references: Annotated[int, Means("page accesses of all", "page accesses")]
    counted: Annotated[int, Means("of these, those after the warm-up, at the largest size", "page accesses")]
    pages: Annotated[int, Means("distinct pages of all: the summed footprint", "pages")]
    apps: Annotated[dict[str, App], Each("an application of a mix", "mix and trace", "trace")]
    rows: Annotated[list[ShareRow], Each("a family or bound on a mix at a size", "mix, size and family")]
    timelines: Annotated[list[Timeline], Each("how the advised split goes", "mix and size")]

    def row(self, size: float, family: str) -> ShareRow | None:
        """A family's row at a size."""
        return next((row for row in self.rows if (row.size, row.family) == (size, family)), None)


class Count(Document):
    """On how many test mixes and sizes something holds of a family."""

    cases: Annotated[int, Means("test mixes times sizes that it ran on")]
    near_static: Annotated[int, Means("transfers within policy.share.near of the best fixed split's")]
    below_equal: Annotated[int, Means("surely fewer transfers than equal parts: the interval is below")]
    above_equal: Annotated[int, Means("more transfers than equal parts")]
    surely_above_equal: Annotated[int, Means("of these, where the interval is above")]
    least: Annotated[int, Means("the fewest transfers of all families; bounds are none")]


class ShareMetrics(Document):
    """Whether applications should share a cache or split it, chosen on validation mixes and judged on test mixes."""

    reason: Annotated[str, Means("why nothing was measured; empty where something was")]
    validation: Annotated[
        dict[str, list[str]], Each(name="mix", text="traces of each validation mix, by the mix's name")
    ]
    sizes: Annotated[list[Size], Each("one size", "size")]
    advised: Annotated[str | None, Means("family of the fewest transfers on validation, mean over mixes and sizes")]
    rival: Annotated[str | None, Means("of the families that do the other thing, share or split, the best likewise")]
    splits: Annotated[bool, Means("the advised family splits")]
    near: Annotated[float, Means("policy.share.near", "share")]
    mixes: Annotated[dict[str, ShareMix], Each("one test mix", "mix", "mix")]
    counts: Annotated[dict[str, Count], Each("a family over test mixes and sizes", "family", "family")]

    def at(self, share: float) -> Size:
        """A size by its share."""
        return next(size for size in self.sizes if size.share == share)


def share_metrics() -> Path:
    """Metrics of shared caches (stage evaluate_share)."""
    return paths.METRICS / FOLDER / "mixes.json"


def read_share(path: Path) -> ShareMetrics:
    """metrics/share/mixes.json, see `cachezoo.metrics.files.read`."""
    return read(path, ShareMetrics)

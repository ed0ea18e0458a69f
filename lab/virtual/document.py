"""lab/results/virtual.json: the figures of the virtual I/O cache made anew, beside what its paper printed."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from cachezoo.show.formats import number, percent
from lab.claims.evaluate import judged
from lab.claims.finding import Figure
from lab.virtual.paper import AVERAGED_MB

FILE = Path("lab/results/virtual.json")
CURVES_PLOT, HEATS_PLOT, GAINS_PLOT, PROFILES_PLOT, SHARED_PLOT, SWEEPS_PLOT = (
    Path("lab/results/virtual.png"),
    Path("lab/results/virtual_2.png"),
    Path("lab/results/virtual_4.png"),
    Path("lab/results/virtual_5.png"),
    Path("lab/results/virtual_67.png"),
    Path("lab/results/virtual_89.png"),
)
Kind = Literal["made", "captured"]
KINDS: dict[Kind, str] = {"made": "made anew", "captured": "captured"}
Queue = Literal["lru", "lfu", "arc"]
Parameter = Literal["f", "alpha", "q", "n", "cost"]
QUEUES: tuple[Queue, ...] = ("lru", "lfu", "arc")


class Cost(Document):
    """What a virtual cache reads from the disk beside its misses, per page reference."""

    allocation: Annotated[float, Means("pages read because a mapping changed", "pages a reference")]
    fragmentation: Annotated[float, Means("pages read because they entered a run not at the head", "pages a reference")]

    @property
    def moved(self) -> float:
        """Both."""
        return self.allocation + self.fragmentation


class Heat(Document):
    """Fig. 2: how much an LRU queue's positions are asked for, over time."""

    application: Annotated[str, Means("or a captured trace")]
    kind: Annotated[Kind, Means("made after the paper's descriptions, or captured")]
    mb_a_row: Annotated[int, Means("of the queue that a row is of", "MB")]
    references: Annotated[int, Means("of the trace", "page references")]
    rows: Annotated[
        list[list[int]],
        Means("from the head on: decayed references to the row's positions at equal steps of time", "page references"),
    ]


class Point(Cost):
    """A queue in a cache of a size, alone and under VRM; over all of one kind of applications."""

    kind: Annotated[Kind, Means("made after the paper's descriptions, or captured")]
    queue: Annotated[Queue, Means("replacement queue")]
    megabytes: Annotated[int, Means("the cache", "MB")]
    plain: Annotated[float, Means("hit ratio of the policy, mean over applications", "share")]
    plain_half: Annotated[float, Means("half of its 95 % interval", "share")]
    hits: Annotated[float, Means("hit ratio under VRM, mean over applications", "share")]
    hits_half: Annotated[float, Means("half of its 95 % interval", "share")]
    gain_half: Annotated[float, Means("half of the 95 % interval of the gain, over applications", "share")]

    @property
    def gain(self) -> float:
        """Of the hit ratio."""
        return self.hits - self.plain

    @property
    def transfers(self) -> float:
        """A reference, under VRM."""
        return 1 - self.hits + self.moved

    @property
    def more(self) -> float:
        """Transfers a reference that VRM adds."""
        return self.transfers - (1 - self.plain)


class Part(Cost):
    """An LRU queue in a cache of a part of each application's pages; means over all of one kind."""

    kind: Annotated[Kind, Means("made after the paper's descriptions, or captured")]
    part: Annotated[float, Means("of an application's distinct pages, at least two fragments", "share")]
    plain: Annotated[float, Means("hit ratio of LRU, mean over applications", "share")]
    hits: Annotated[float, Means("hit ratio under VRM, mean over applications", "share")]


class Profile(Cost):
    """Figs. 4 and 5: an application with an LRU queue in a cache of a size."""

    application: Annotated[str, Means("or a captured trace")]
    kind: Annotated[Kind, Means("made after the paper's descriptions, or captured")]
    megabytes: Annotated[int, Means("the cache", "MB")]
    plain: Annotated[float, Means("hit ratio of LRU", "share")]
    hits: Annotated[float, Means("hit ratio under VRM", "share")]

    @property
    def gain(self) -> float:
        """Of the hit ratio."""
        return self.hits - self.plain

    @property
    def more(self) -> float:
        """Transfers a reference that VRM adds."""
        return self.moved - self.gain


class Mixed(Cost):
    """Figs. 6 and 7: applications in lockstep on one cache."""

    workload: Annotated[str, Means("of Table 3, or the captured test traces")]
    kind: Annotated[Kind, Means("made after the paper's descriptions, or captured")]
    applications: Annotated[int, Means("how many", "applications")]
    megabytes: Annotated[int, Means("the cache", "MB")]
    plain: Annotated[float, Means("hit ratio of one LRU over all", "share")]
    split: Annotated[float, Means("hit ratio of an LRU part for each, split by UCP", "share")]
    hits: Annotated[float, Means("hit ratio of G-VPA", "share")]

    @property
    def gain(self) -> float:
        """Of the hit ratio."""
        return self.hits - self.plain

    @property
    def more(self) -> float:
        """Transfers a reference that G-VPA adds."""
        return self.moved - self.gain


class Swept(Cost):
    """Fig. 8: one parameter moved, the others as in the paper; LRU queues, mean over applications."""

    kind: Annotated[Kind, Means("made after the paper's descriptions, or captured")]
    parameter: Annotated[
        Parameter, Means("f runs, alpha decay, q references a quantum, n MB of the queue, cost of a page that enters")
    ]
    value: Annotated[float, Means("of it")]
    megabytes: Annotated[int, Means("the cache", "MB")]
    plain: Annotated[float, Means("hit ratio of LRU", "share")]
    hits: Annotated[float, Means("hit ratio under VRM", "share")]

    @property
    def more(self) -> float:
        """Transfers a reference that VRM adds."""
        return self.moved - (self.hits - self.plain)


class Busy(Document):
    """Fig. 9: a disk that takes one time for every page, before a cache of 32 MB."""

    application: Annotated[str, Means("one of Fig. 9's")]
    latency_us: Annotated[int, Means("of the disk, a page", "µs")]
    plain: Annotated[float, Means("time that the disk is busy under LRU", "share")]
    demand: Annotated[float, Means("the same under VRM if pages that it moves took no time", "share")]
    busy: Annotated[float, Means("the same under VRM", "share")]
    plain_us: Annotated[float, Means("mean time of a reference under LRU", "µs")]
    mean_us: Annotated[float, Means("mean time of a reference under VRM", "µs")]


class Loop(Cost):
    """A loop over more pages than the cache has: what a hit of a far run saves."""

    pages: Annotated[int, Means("of the loop", "pages")]
    capacity: Annotated[int, Means("of the cache", "pages")]
    plain: Annotated[float, Means("hit ratio of LRU", "share")]
    hits: Annotated[float, Means("hit ratio under VRM", "share")]
    transfers: Annotated[float, Means("under VRM", "pages a reference")]


class VirtualFigure(Figure):
    """Figs. 2 to 9 of the paper on the virtual I/O cache."""

    loop: Annotated[Loop, Each("the loop", like="loop")]
    heats: Annotated[list[Heat], Each("an application's queue over time", "application")]
    points: Annotated[list[Point], Each("a queue in a cache of a size", "kind, queue and megabytes")]
    parts: Annotated[list[Part], Each("a part of the pages in the cache", "kind and part")]
    profiles: Annotated[list[Profile], Each("an application in a cache of a size", "application and megabytes")]
    mixed: Annotated[list[Mixed], Each("a workload in a cache of a size", "workload and megabytes")]
    swept: Annotated[list[Swept], Each("a parameter's value", "kind, parameter, value and megabytes")]
    disk: Annotated[list[Busy], Each("a disk's speed", "application and latency_us")]

    def curve(self, kind: Kind, queue: Queue) -> list[Point]:
        """A queue over the cache's size, rising."""
        own = [one for one in self.points if (one.kind, one.queue) == (kind, queue)]
        return sorted(own, key=lambda one: one.megabytes)

    def profile(self, application: str) -> dict[int, Profile]:
        """An application by MB of the cache, rising."""
        own = [one for one in self.profiles if one.application == application]
        return {one.megabytes: one for one in sorted(own, key=lambda one: one.megabytes)}

    def applications(self, kind: Kind) -> list[str]:
        """Their names, in their order."""
        return list(dict.fromkeys(one.application for one in self.profiles if one.kind == kind))

    def workload(self, name: str) -> list[Mixed]:
        """A workload over the cache's size, rising."""
        return sorted((one for one in self.mixed if one.workload == name), key=lambda one: one.megabytes)

    def sweep(self, kind: Kind, parameter: Parameter, megabytes: int) -> list[Swept]:
        """A parameter's values, rising."""
        own = [one for one in self.swept if (one.kind, one.parameter, one.megabytes) == (kind, parameter, megabytes)]
        return sorted(own, key=lambda one: one.value)


def read_virtual(path: Path) -> VirtualFigure:
    """lab/results/virtual.json, see `cachezoo.metrics.files.read`."""
    return read(path, VirtualFigure, MAKE)


def figure_of(
    loop: Loop, heats: Sequence[Heat], points: Sequence[Point], parts: Sequence[Part], profiles: Sequence[Profile],
    mixed: Sequence[Mixed], swept: Sequence[Swept], disk: Sequence[Busy],
) -> VirtualFigure:  # fmt: skip
    """The figure, its note and its claims."""
    found = VirtualFigure(
        id="virtual", source="Virtual I/O cache", title="Which positions of a queue are worth a cache", note="",
        findings=[], loop=loop, heats=list(heats), points=list(points), parts=list(parts), profiles=list(profiles),
        mixed=list(mixed), swept=list(swept), disk=list(disk),
    )  # fmt: skip
    return judged(found.model_copy(update={"note": _note(found)}), "virtual", saved=saved)


def _note(found: VirtualFigure) -> str:
    said = []
    for kind, name in KINDS.items():
        rows = [one for one in found.curve(kind, "lru") if one.megabytes in AVERAGED_MB]
        plain, hits = (fmean(values) for values in ([one.plain for one in rows], [one.hits for one in rows]))
        moved = fmean(one.moved for one in rows)
        said.append(
            f"Over {len(found.applications(kind))} applications ({name}) VRM's mean hit ratio is {percent(hits)} where "
            f"LRU's is {percent(plain)} (32 to 256 MB), and {number(1 - hits + moved, 3)} pages a reference are read "
            f"where LRU reads {number(1 - plain, 3)}: {number(1 - hits, 3)} misses, {number(moved, 3)} before they are "
            "asked for."
        )
    one = found.loop
    return (
        f"A hit in a run that is not at the head is a prefetch: the page was read when it entered the run. A loop of "
        f"{one.pages} pages over {one.capacity} goes from {percent(one.plain)} hits to {percent(one.hits)}, and from "
        f"{number(1 - one.plain, 5)} transfers a reference to {number(one.transfers, 5)}. {' '.join(said)}"
    )


def size_for(points: Sequence[tuple[int, float]], target: float) -> float | None:
    """The least size with so high a hit ratio, between two sizes in proportion to the logarithm; None if none has it.

    Args:
        points: MB and hit ratio, rising in MB.
        target: the hit ratio.
    """
    before: tuple[int, float] | None = None
    for size, ratio in points:
        if ratio >= target:
            if before is None:
                return float(size)
            part = (target - before[1]) / (ratio - before[1])
            return float(before[0] * (size / before[0]) ** part)
        before = size, ratio
    return None


def saved(rows: Sequence[Point] | Sequence[Mixed], target: float) -> float | None:
    """Of the plain cache's size at a hit ratio, the share that is not needed; None where either never has it."""
    plain = size_for([(one.megabytes, one.plain) for one in rows], target)
    own = size_for([(one.megabytes, one.hits) for one in rows], target)
    return None if plain is None or own is None else 1 - own / plain

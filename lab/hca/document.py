"""lab/results/hca.json: HCA's tables and figures made anew, beside what its paper printed."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Literal

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from cachezoo.show.formats import number
from lab.claims.evaluate import judged
from lab.claims.finding import Figure
from lab.hca.paper import DISK_IOPS, MAIN, RAM_GB, RUN_HOURS, SWAPPED, WORKLOADS, cells, implied_ram_gb
from lab.hca.traces import SAMPLE

FINANCIAL, WEB = "database", "web"  # the categories whose test traces take the place of the paper's two
FILE, TABLES_PLOT, TIME_PLOT, CURVES_PLOT = (
    Path("lab/results/hca.json"),
    Path("lab/results/hca.png"),
    Path("lab/results/hca_5.png"),
    Path("lab/results/hca_23.png"),
)
System = Literal["ram", "l2arc", "hca", "unbuffered", "promotion"]
LONG: tuple[System, ...] = ("ram", "l2arc", "hca", "unbuffered", "promotion")
SIZED: tuple[System, ...] = ("l2arc", "hca")
NAMES = {
    "ram": "RAM alone", "l2arc": "L2ARC", "hca": "HCA", "unbuffered": "HCA without a buffer",
    "promotion": "promotion, LRU and LRU",
}  # fmt: skip


class Ten(Document):
    """Ten minutes of a run: a point of Figs. 5 to 22."""

    hours: Annotated[float, Means("from the run's start to their end", "h")]
    ram: Annotated[float | None, Means("reads that RAM serves; null where there is none", "share")]
    ssd: Annotated[float | None, Means("reads that the SSD serves; null where there is none", "share")]
    disk: Annotated[float | None, Means("reads that the disk serves; null where there is none", "share")]
    iops: Annotated[float, Means("requests of the file system", "1/s")]
    storage_iops: Annotated[float | None, Means("of them those that RAM does not serve; null without a read", "1/s")]
    latency_ms: Annotated[float | None, Means("mean of a read, without waiting for others; null without one", "ms")]
    cost: Annotated[float | None, Means("dollars over requests a second; null without a request", "$ s")]


class LongRun(Document):
    """Six hours of a workload on one set-up, from empty caches on, as in the paper's Tables I and II."""

    workload: Annotated[str, Means("random read, or OLTP")]
    system: Annotated[System, Means("RAM alone (ARC), ARC with L2ARC, HCA with or without its buffer, or promotion")]
    ram: Annotated[float, Means("reads that RAM serves", "share")]
    ssd: Annotated[float, Means("reads that the SSD serves", "share")]
    disk: Annotated[float, Means("reads that the disk serves", "share")]
    over_time: Annotated[list[Ten], Each("ten minutes of it", "place in the list")]
    iops: Annotated[float, Means("requests over the six hours", "1/s")]
    latency_ms: Annotated[float, Means("mean of a read, without waiting for others", "ms")]
    cost: Annotated[float, Means("dollars over requests a second, mean over snapshots of 60 s", "$ s")]
    filled_hours: Annotated[
        float | None, Means("until the SSD first holds 95 % of the most that it ever does; null without an SSD", "h")
    ]
    filled: Annotated[float, Means("of the working set on the SSD after 4.5 hours", "share")]
    ssd_writes_mb_s: Annotated[float, Means("written to the SSD, mean", "MB/s")]

    @property
    def disk_at_the_end(self) -> float:
        """Of the reads of the last hour, those that the disk serves."""
        last = [one for one in self.over_time if one.disk is not None and one.hours > RUN_HOURS - 1]
        return sum((one.disk or 0.0) * one.iops for one in last) / sum(one.iops for one in last)


class SizedRun(Document):
    """Six hours of a workload on one of the 27 set-ups of Tables III to VIII."""

    workload: Annotated[str, Means("random read, or OLTP")]
    system: Annotated[System, Means("ARC with L2ARC, or HCA")]
    ram_gb: Annotated[int, Means("of RAM", "GiB")]
    ssd_gb: Annotated[int, Means("of SSD", "GiB")]
    set_gb: Annotated[int, Means("of records", "GiB")]
    ram: Annotated[float, Means("reads that RAM serves", "share")]
    ssd: Annotated[float, Means("reads that the SSD serves", "share")]
    disk: Annotated[float, Means("reads that the disk serves", "share")]
    iops: Annotated[float, Means("requests over the six hours", "1/s")]
    paper_ssd: Annotated[float, Means("the paper's, of L2ARC", "share")]
    paper_disk: Annotated[float, Means("the paper's, of L2ARC", "share")]
    paper_iops: Annotated[float, Means("the paper's, of L2ARC", "1/s")]

    @property
    def key(self) -> tuple[int, int, int]:
        """GiB of RAM, SSD and working set."""
        return self.ram_gb, self.ssd_gb, self.set_gb


class CurvePoint(Document):
    """HCA on a captured trace: one size of RAM, one size of transient buffer; counted in the trace's second half."""

    trace: Annotated[str, Means("a test trace")]
    category: Annotated[str, Means("its category")]
    ratio: Annotated[float, Means("RAM over SSD", "ratio")]
    ram_pages: Annotated[int, Means("of RAM", "pages")]
    ssd_pages: Annotated[int, Means("of SSD", "pages")]
    buffer_bytes: Annotated[int, Means("of the transient buffer", "bytes")]
    ram: Annotated[float, Means("reads that RAM or the buffer serves", "share")]
    ssd: Annotated[float, Means("reads that the SSD serves", "share")]
    disk: Annotated[float, Means("reads that the disk serves", "share")]
    base_ram: Annotated[float, Means("reads that the same RAM serves without buffer and SSD", "share")]
    base_disk: Annotated[float, Means("reads that the disk serves then", "share")]
    ssd_early: Annotated[float, Means("reads that the SSD serves in the first tenth of the trace", "share")]
    ssd_late: Annotated[float, Means("the same in its last tenth", "share")]
    hcrta_us: Annotated[float, Means("HCRTA as the paper prints it; has no disk in it, so that it ranks nothing", "µs")]
    amat_us: Annotated[float, Means("mean time of a page read, disk included", "µs")]
    base_amat_us: Annotated[float, Means("the same without buffer and SSD", "µs")]
    xciops: Annotated[float, Means("XCIOPS: IOPS of the SSD times the share of reads that it serves", "1/s")]
    ssd_writes: Annotated[int, Means("written to the SSD", "pages")]

    @property
    def at(self) -> tuple[str, float]:
        """Trace and ratio of sizes."""
        return self.trace, self.ratio


class HcaFigure(Figure):
    """Tables I to VIII and Figs. 23 to 28 of HCA's paper."""

    sample: Annotated[int, Means("one record of so many is in the workloads of the tables", "records")]
    disk_iops: Annotated[float, Means("reads of a record that the disk does in a second, at random", "1/s")]
    long_runs: Annotated[list[LongRun], Each("six hours of a workload", "workload and system")]
    sized_runs: Annotated[
        list[SizedRun], Each("a set-up of Tables III to VIII", "workload, system, ram_gb, ssd_gb and set_gb")
    ]
    points: Annotated[list[CurvePoint], Each("HCA at a size", "trace, ratio and buffer_bytes")]

    def long_run(self, workload: str, system: System) -> LongRun:
        """A run of Tables I and II."""
        return next(one for one in self.long_runs if (one.workload, one.system) == (workload, system))

    def sized(self, workload: str, system: System) -> dict[tuple[int, int, int], SizedRun]:
        """The 27 set-ups by GiB of RAM, SSD and working set."""
        return {one.key: one for one in self.sized_runs if (one.workload, one.system) == (workload, system)}


def read_hca(path: Path) -> HcaFigure:
    """lab/results/hca.json, see `cachezoo.metrics.files.read`."""
    return read(path, HcaFigure, MAKE)


def figure_of(
    long_runs: Sequence[LongRun], sized_runs: Sequence[SizedRun], points: Sequence[CurvePoint], disk_iops: float
) -> HcaFigure:
    """The figure, its note and its claims."""
    found = HcaFigure(
        id="hca", source="HCA", title="What an SSD behind RAM brings", note="", findings=[], sample=SAMPLE,
        disk_iops=disk_iops, long_runs=list(long_runs), sized_runs=list(sized_runs), points=list(points),
    )  # fmt: skip
    return judged(
        found.model_copy(update={"note": _note(found)}), "hca",
        cells=cells, main=MAIN, swapped=SWAPPED, disk_iops=DISK_IOPS,
    )  # fmt: skip


def _note(found: HcaFigure) -> str:
    said, lower = [], []
    for name in WORKLOADS:
        ours, hca = found.sized(name, "l2arc"), found.sized(name, "hca")
        off = {key: abs(one.disk - one.paper_disk) for key, one in ours.items()}
        small = [value for (ram_gb, _, _), value in off.items() if ram_gb == RAM_GB[0]]
        said.append(f"{_points(median(off.values()))} on {name} ({_points(median(small))} with {RAM_GB[0]} GB of RAM)")
        lower += [hca[key].disk - one.disk for key, one in ours.items()]
    implied = (f"{low:.1f} to {high:.1f}" for low, high in map(implied_ram_gb, RAM_GB))
    return (
        f"Six hours of each workload from empty caches, one record in {found.sample}; the disk does "
        f"{number(found.disk_iops)} random reads/s. The disk's share behind L2ARC is here and in the paper, in the "
        f"median, {' and '.join(said)} apart. Uniform reads tell how much RAM there is: by the paper's own ratios ARC "
        f"had {', '.join(implied)} GB where its tables say {', '.join(map(str, RAM_GB))}. "
        f"HCA in L2ARC's place changes the disk's share by {number(100 * median(lower), 1)} points in the median."
    )


def _points(share: float) -> str:
    return f"{number(100 * share, 1)} points"

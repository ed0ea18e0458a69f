"""lab/results/hca.json: HCA's tables and figures made anew, beside what its paper printed."""

from pathlib import Path
from typing import Annotated, Literal

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from lab.finding import Figure

FILE, TABLES_PLOT, CURVES_PLOT = (
    Path("lab/results/hca.json"),
    Path("lab/results/hca.png"),
    Path("lab/results/hca_23.png"),
)
System = Literal["ram", "l2arc", "hca", "unbuffered", "promotion"]
LONG: tuple[System, ...] = ("ram", "l2arc", "hca", "unbuffered", "promotion")
SIZED: tuple[System, ...] = ("l2arc", "hca")
NAMES = {
    "ram": "RAM alone", "l2arc": "L2ARC", "hca": "HCA", "unbuffered": "HCA without a buffer",
    "promotion": "promotion, LRU and LRU",
}  # fmt: skip


class LongRun(Document):
    """Six hours of a workload on one set-up, from empty caches on, as in the paper's Tables I and II."""

    workload: Annotated[str, Means("random read, or OLTP")]
    system: Annotated[System, Means("RAM alone (ARC), ARC with L2ARC, HCA with or without its buffer, or promotion")]
    ram: Annotated[float, Means("reads that RAM serves", "share")]
    ssd: Annotated[float, Means("reads that the SSD serves", "share")]
    disk: Annotated[float, Means("reads that the disk serves", "share")]
    disk_by_hour: Annotated[list[float], Means("the last, of each hour", "share")]
    iops: Annotated[float, Means("requests over the six hours", "1/s")]
    latency_ms: Annotated[float, Means("mean of a read, without waiting for others", "ms")]
    cost: Annotated[float, Means("dollars over requests a second, mean over snapshots of 60 s", "$ s")]
    filled_hours: Annotated[
        float | None, Means("until the SSD first holds 95 % of the most that it ever does; null without an SSD", "h")
    ]
    filled: Annotated[float, Means("of the working set on the SSD after 4.5 hours", "share")]
    ssd_writes_mb_s: Annotated[float, Means("written to the SSD, mean", "MB/s")]


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

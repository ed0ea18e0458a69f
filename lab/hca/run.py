"""Runs what HCA's figures are made of: two workloads for six hours on many set-ups, and HCA on captured traces.

The six hours are on the paper's own hardware, as far as it says what that was. The captured traces are on an SSD that
does about as many I/Os as that of the paper's simulation, which is not the one that it measured.
"""

from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from cachezoo.devices.analytic import t_hdd_us
from cachezoo.devices.profile import load_models
from cachezoo.jobs import run_all
from cachezoo.params import At, Picked
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.response import loop_of, paper_metrics, response
from cachezoo.questions.tiers.run import TierRun, counts, run_tiers
from cachezoo.questions.tiers.stream import TierStream, tier_stream
from cachezoo.settings.data import REQUESTS, Roles
from cachezoo.settings.device import AnalyticDevice
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.store import read_pages, read_trace
from lab.hca.closed import FEED_BYTES_S, WINDOW_HOURS, SixHours, six_hours
from lab.hca.document import (
    FINANCIAL,
    LONG,
    SIZED,
    WEB,
    CurvePoint,
    HcaFigure,
    LongRun,
    SizedRun,
    System,
    Ten,
    figure_of,
)
from lab.hca.paper import (
    MAIN_RAM_GB,
    MAIN_SET_GB,
    MAIN_SSD_GB,
    PRICE,
    RANDOM,
    WORKLOADS,
    Cell,
    cells,
)
from lab.hca.traces import SAMPLE, SIZED_SKEW, Workload, pages_of

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

MEASURED_ON, SIMULATED_ON = "hdd7500rpm_lexar32gb", "wdredpro2tb_850pro"  # of conf/device
LFU = "hcalfu"
SSD_FRACTION = 0.25  # of a captured trace's distinct pages
RATIOS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)  # RAM over SSD
BUFFERS = (0, 16384, 65536, 262144, 1048576)
FILLED, FILL_HOURS = 0.95, 4.5
DISK_READS = 20_000  # requests that tell what the disk does at random
CATEGORIES = (FINANCIAL, WEB)  # one that writes as much as it reads, one that hardly writes, as the paper's two traces


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    roles: Annotated[dict[str, Roles], At("data.roles")]
    seed: Annotated[int, At("seed")]


def hierarchy_of(system: System) -> str:
    """As `cachezoo.questions.tiers.hierarchy` reads it; L2ARC's feed is the sample's part."""
    return {
        "ram": "arc",
        "l2arc": f"l2arc(rate={FEED_BYTES_S // SAMPLE})",
        "hca": "hca",
        "unbuffered": f"{LFU} | lru",
        "promotion": "promotion: lru | lru",
    }[system]


def _ran(workload: Workload, system: System, ram_gb: float, ssd_gb: float, device: AnalyticDevice) -> SixHours:
    return six_hours(workload, parse_hierarchy(hierarchy_of(system)), ram_gb, ssd_gb, device)


def long_run(name: str, system: System, seed: int) -> LongRun:
    """A row of Table I or II."""
    workload = Workload(name, MAIN_SET_GB, seed)
    found = _ran(workload, system, MAIN_RAM_GB, 0 if system == "ram" else MAIN_SSD_GB, load_models(MEASURED_ON))
    ram, ssd, disk = found.shares()
    held, hours = found.held_pages()
    then = int(np.searchsorted(hours, FILL_HOURS, side="right"))
    return LongRun(
        workload=name, system=system, ram=ram, ssd=ssd, disk=disk, over_time=tens(found),
        iops=found.iops, latency_ms=found.latency_ms(), cost=found.cost(),
        filled_hours=float(hours[np.argmax(held >= FILLED * held.max())]) if len(held) else None,
        filled=float(held[then - 1]) / pages_of(MAIN_SET_GB) if then else 0.0,
        ssd_writes_mb_s=found.ssd_writes_mb_s(),
    )  # fmt: skip


def tens(found: SixHours) -> list[Ten]:
    """The points of Figs. 5 to 22."""
    rows = []
    for k, window in enumerate(found.over_time()):
        ram, ssd, disk = window.shares or (None, None, None)
        rows.append(
            Ten(
                hours=round((k + 1) * WINDOW_HOURS, 6), ram=ram, ssd=ssd, disk=disk, iops=window.iops,
                storage_iops=None if ram is None else window.iops * (1 - ram), latency_ms=window.latency_ms,
                cost=PRICE / window.iops if window.iops else None,
            )
        )  # fmt: skip
    return rows


def sized_run(name: str, system: System, cell: Cell, seed: int) -> SizedRun:
    """A cell of Tables III to VIII."""
    found = _ran(
        Workload(name, cell.set_gb, seed, SIZED_SKEW), system, cell.ram_gb, cell.ssd_gb, load_models(MEASURED_ON)
    )
    ram, ssd, disk = found.shares()
    return SizedRun(
        workload=name, system=system, ram_gb=cell.ram_gb, ssd_gb=cell.ssd_gb, set_gb=cell.set_gb, ram=ram, ssd=ssd,
        disk=disk, iops=found.iops, paper_ssd=cell.ssd, paper_disk=cell.disk, paper_iops=cell.iops,
    )  # fmt: skip


def curve(path: Path, category: str) -> list[CurvePoint]:
    """HCA on a trace, at every ratio and with every buffer.

    Raises:
        TraceError: the file is no readable trace.
    """
    return points_of(tier_stream(read_trace(path), read_pages(path)), path.stem, category, load_models(SIMULATED_ON))


def points_of(ts: TierStream, name: str, category: str, device: AnalyticDevice) -> list[CurvePoint]:
    """The same of a trace that has been read."""
    ssd_pages = capacity_pages(SSD_FRACTION, ts.pages.n_pages)
    loop = loop_of(ts)
    first = int(ts.pages.request_start[ts.pages.n_requests // 2])
    found = []
    for ratio in RATIOS:
        ram_pages = max(1, round(ratio * ssd_pages))
        base = run_tiers(parse_hierarchy(LFU), ts, ram_pages, 0)
        alone = response(ts, base, device, first, loop=loop).tiered
        for buffer in BUFFERS:
            run = run_tiers(parse_hierarchy(f"{LFU} | tb={buffer} | lru"), ts, ram_pages, ssd_pages)
            own = response(ts, run, device, first, loop=loop).tiered
            named = paper_metrics(own, alone)
            early, late = (_ssd_share(ts, run, part) for part in ((0.0, 0.1), (0.9, 1.0)))
            found.append(
                CurvePoint(
                    trace=name, category=category, ratio=ratio, ram_pages=ram_pages, ssd_pages=ssd_pages,
                    buffer_bytes=buffer, ram=own.rhr, ssd=own.shr, disk=own.dhr, base_ram=alone.rhr,
                    base_disk=alone.dhr, ssd_early=early, ssd_late=late, hcrta_us=named["hcrta"],
                    amat_us=own.amat_us, base_amat_us=alone.amat_us, xciops=named["xciops"], ssd_writes=own.ssd_written,
                )
            )  # fmt: skip
    return found


def _ssd_share(ts: TierStream, run: TierRun, part: tuple[float, float]) -> float:
    """Of the page reads in a part of a trace's requests, those that the SSD serves."""
    low, high = (int(ts.pages.request_start[round(at * ts.pages.n_requests)]) for at in part)
    return counts(run, ts, low, high).shr


def disk_iops(device: AnalyticDevice, seed: int) -> float:
    """Reads of random records that the disk does in a second."""
    trace = Workload(RANDOM, MAIN_SET_GB, seed).trace(DISK_READS)
    return 1e6 / float(t_hdd_us(trace, device.hdd).mean())


def hca(params: "Params", pool: Executor) -> HcaFigure:
    """Run everything.

    Args:
        params: as read.
        pool: a set-up, or a trace, is a job.

    Raises:
        CachezooError: a trace is missing or damaged.
    """
    settings = Settings.of(params)
    seed = settings.seed
    mains = [(name, system, seed) for name in WORKLOADS for system in LONG]
    sized = [(name, system, cell, seed) for name in WORKLOADS for system in SIZED for cell in cells(name)]
    traces = [
        (Path(f"{REQUESTS}/{category}/{key}.parquet"), category)
        for category in CATEGORIES
        for key in settings.roles[category].get("test", [])
    ]
    long_runs = run_all("Tables I, II", pool, long_run, mains)
    sized_runs = run_all("Tables III to VIII", pool, sized_run, sized)
    curves = run_all("Figs. 23 to 28", pool, curve, traces)
    return figure_of(
        long_runs,
        sized_runs,
        [point for points in curves for point in points],
        disk_iops(load_models(MEASURED_ON), seed),
    )

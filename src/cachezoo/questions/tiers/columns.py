"""metrics/tiers/<category>.json: what the same money does as RAM alone, or as RAM and an SSD in front of the disk."""

from pathlib import Path
from typing import Annotated

from cachezoo import paths
from cachezoo.documents import Document, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Role
from cachezoo.metrics.files import read

FOLDER = "tiers"
RAM, HCA, L2ARC, ZOO = "ram", "hca", "l2arc", "zoo"
TIME = "µs"
CHOICE = Each("a family's choice at a budget", "budget and family", "family")


class Prices(Document):
    """What a GB (10**9 bytes) costs."""

    name: Annotated[str, Means("of the price list, a file of conf/prices")]
    dated: Annotated[str, Means("year, or year and month, of the prices")]
    ram_gb: Annotated[float, Means("of RAM", "$/GB")]
    ssd_gb: Annotated[float, Means("of SSD", "$/GB")]
    hdd_gb: Annotated[float, Means("of disk", "$/GB")]


class Sized(Document):
    """A hierarchy of RAM, SSD and disk, and the sizes that a budget buys for it."""

    hierarchy: Annotated[str, Means("as `cachezoo tiers` reads it")]
    ram_bytes: Annotated[int, Means("of RAM without the transient buffer", "bytes")]
    buffer_bytes: Annotated[int, Means("of the transient buffer, which is RAM and paid for as such", "bytes")]
    ssd_bytes: Annotated[int, Means("of the SSD; 0 without one", "bytes")]


class Served(Document):
    """Where page reads found their pages, and how long that took."""

    amat_us: Annotated[float, Means("mean time of a page read, waiting included", TIME)]
    rhr: Annotated[float, Means("page reads served by RAM or the transient buffer", "share")]
    shr: Annotated[float, Means("page reads served by the SSD", "share")]
    dhr: Annotated[float, Means("page reads served by the disk", "share")]


class Chosen(Sized):
    """What validation chose of a family at a budget."""

    tried: Annotated[int, Means("hierarchies and splits that were simulated")]
    replayed: Annotated[int, Means("of these, that were replayed on the devices")]
    validation: Annotated[Served, Means("on the second half of the validation traces")]


class Budget(Document):
    """What RAM and SSD may cost together."""

    share: Annotated[float, Means("of what RAM for the footprint of validation would cost", "share")]
    usd: Annotated[float, Means("for RAM, transient buffer and SSD", "$")]
    choices: Annotated[dict[str, Chosen], CHOICE]
    best: Annotated[str, Means("family whose choice was the fastest on validation")]


class Saved(Document):
    """How much shorter page reads are than a rival's."""

    share: Annotated[float, Means("of the rival's mean time of a page read", "share")]
    interval: Annotated[Interval, Means("its 90 % interval over blocks of time", "share")]
    alone_share: Annotated[float, Means("the same if no I/O waited for another", "share")]


class TiersRow(Sized, Served):
    """A family's choice on a test trace."""

    budget: Annotated[float, Means("share, as in budgets", "share")]
    family: Annotated[str, Means("whose choice it is")]
    amat_interval: Annotated[Interval, Means("90 % interval of amat_us over blocks of time", TIME)]
    alone_us: Annotated[float, Means("the same if each device served one I/O at a time and none waited", TIME)]
    p50_us: Annotated[float, Means("median time of a read request", TIME)]
    p95_us: Annotated[float, Means("95th percentile of it", TIME)]
    p99_us: Annotated[float, Means("99th percentile of it", TIME)]
    iops: Annotated[float, Means("requests a second that the busiest tier can serve", "requests/s")]
    disk_busy: Annotated[float, Means("part of the time that the disk works", "share")]
    ssd_writes: Annotated[int, Means("pages written to the SSD", "pages")]
    waf: Annotated[float | None, Means("flash pages written over these; null without an SSD", "ratio")]
    ssd_years: Annotated[
        float | None, Means("that the SSD lasts at this rate; null where nothing wears it, or without a clock", "years")
    ]
    usd_month: Annotated[float, Means("of RAM, SSD and disk: what wears out is replaced, and power", "$/month")]
    usd_per_io: Annotated[
        float, Means("HCA's: mean over a minute each of the price of all three tiers over IOPS", "$ x s/request")
    ]
    saved: Annotated[
        dict[str, Saved], Each("a rival of a family on a test trace", "trace, budget, family and rival", "rival")
    ]


class TiersTrace(Document):
    """The second half of a test trace."""

    role: Annotated[Role, Means("test")]
    footprint_bytes: Annotated[int, Means("distinct pages of the whole trace", "bytes")]
    disk_bytes: Annotated[int, Means("of the disk, which holds the trace's addresses; paid by all alike", "bytes")]
    reads: Annotated[int, Means("page reads that are counted", "pages")]
    loop: Annotated[
        str, Means("closed: as many requests are outstanding as when it was captured; alone: one, as latencies lack")
    ]
    depth: Annotated[int, Means("requests outstanding", "requests")]
    rows: Annotated[list[TiersRow], Each("a family's choice on a test trace", "trace, budget and family")]

    def row(self, budget: float, family: str) -> TiersRow | None:
        """A family's row at a budget."""
        return next((row for row in self.rows if (row.budget, row.family) == (budget, family)), None)


class TiersMetrics(Document):
    """What each hierarchy of a category's RAM, SSD and disk does with the same money, chosen on validation."""

    category: Annotated[str, Means("category")]
    reason: Annotated[str, Means("why nothing was measured; empty where something was")]
    device: Annotated[str, Means("whose models of disk and SSD were replayed on")]
    prices: Annotated[Prices, Each("the price list", "category")]
    footprint_bytes: Annotated[int, Means("distinct pages of the largest validation trace", "bytes")]
    budgets: Annotated[list[Budget], Each("one budget", "budget")]
    advised: Annotated[
        float | None, Means("budget that is advised: the least whose best choice is hardly slower than the largest's")
    ]
    traces: Annotated[dict[str, TiersTrace], Each("one test trace", "trace", "trace")]

    def budget(self, share: float) -> Budget:
        """A budget by its share."""
        return next(budget for budget in self.budgets if budget.share == share)


def tiers_metrics(category: str) -> Path:
    """Metrics of a category's hierarchies on its test traces (stage evaluate_tiers)."""
    return paths.METRICS / FOLDER / f"{category}.json"


def read_tiers(path: Path) -> TiersMetrics:
    """metrics/tiers/<category>.json, see `cachezoo.metrics.files.read`."""
    return read(path, TiersMetrics)

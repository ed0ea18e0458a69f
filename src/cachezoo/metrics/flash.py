"""metrics/flash/<category>.json: admission and prefetch in the flash cache, policies without a model, and OPT.

Means over the windows have 90 % intervals. A peak has none, nor has the 95th percentile: one or a few windows decide
it (`cachezoo.contest.lead`).
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from cachezoo.documents import Document, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.episodes import EpisodeFigures

LOAD = "disk-head s/s"
WRITES = "share of AcceptAll's writes"
TITLES = {
    "accept_all": "AcceptAll", "coin_flip": "CoinFlip", "rejectx": "RejectX",
    "bloom_rejectx": "RejectX by Bloom filters", "fifo": "FIFO", "s3fifo": "S3-FIFO",
}  # fmt: skip
Statistic = Literal["peak", "p95", "mean", "median"]


def title(policy: str) -> str:
    """A policy's name for people, with the eviction that stands behind a plus."""
    return ", ".join(TITLES.get(name, name) for name in policy.split("+"))


class Statistics(Document):
    """Of a load over the windows."""

    peak: Annotated[float, Means("largest of the windows; of this trace, without an interval")]
    p95: Annotated[float, Means("95th percentile of the windows; of this trace, without an interval")]
    mean: Annotated[float, Means("mean of the windows")]
    median: Annotated[float, Means("median of the windows")]


class Load(Document):
    """A run of the flash cache after the warm-up; its writes from the first request on."""

    read_dt: Annotated[Statistics, Means("load of reads over the windows", LOAD)]
    read_dt_mean_interval: Annotated[Interval, Means("90 % interval of its mean over the windows", LOAD)]
    read_dt_constants: Annotated[
        Statistics, Means("load of reads by policy.flash.seek_ms and rate_mib_s, the post's two constants", LOAD)
    ]
    write_dt: Annotated[Statistics, Means("load of backend writes over the windows", LOAD)]
    total_dt: Annotated[Statistics, Means("load of both over the windows", LOAD)]
    io_hit_ratio: Annotated[float, Means("reads without a backend I/O", "ratio")]
    byte_hit_ratio: Annotated[float, Means("segments read from flash", "ratio")]
    segment_writes: Annotated[int, Means("written, from the first request on", "segments")]
    writes_of_accept_all: Annotated[float, Means("the same over AcceptAll's", "ratio")]
    prefetched_segments: Annotated[int, Means("written by prefetch", "segments")]
    prefetch_accuracy: Annotated[float | None, Means("of these, read before they left", "share")]
    dwpd: Annotated[float | None, Means("null for less than a recorded day", "drive writes per day")]
    read_dt_s: Annotated[float, Means("disk-head time of reads", "s")]
    write_dt_s: Annotated[float, Means("disk-head time of writes", "s")]
    total_dt_s: Annotated[float, Means("both", "s")]
    transfer_share: Annotated[float, Means("of the reads' disk-head time that is transfer, not seek", "share")]
    utilisation: Annotated[
        Statistics | None, Means("of the disks' time over the windows; null where policy.flash.disks is", "share")
    ]
    evictions: Annotated[int, Means("evicted, from the first request on", "segments")]
    mean_eviction_age: Annotated[float, Means("from last use to eviction", "requests")]


class Yearly(Document):
    """What disks and flash cost a year, see `cachezoo.flash_cache.cost`."""

    disks: Annotated[int, Means("bought for the busiest window, reads that miss and writes", "disks")]
    disks_usd: Annotated[float, Means("of these, purchase over their years and power", "$ per year")]
    flash_usd: Annotated[float, Means("of the SSD, replaced by age or wear, and its power", "$ per year")]
    endurance: Annotated[str, Means("class of SSD that is cheapest at these writes; empty without an SSD")]

    @property
    def usd(self) -> float:
        """Both."""
        return self.disks_usd + self.flash_usd


class FlashRow(Load):
    """A policy with its prefetch mode."""

    prefetch: Annotated[str, Means("prefetch mode; policies are with and (_no_prefetch) without")]
    knob: Annotated[
        float | None,
        Means(
            "what meets the writes: score threshold, probability, window in requests, episodes admitted; with a "
            "controller, the score threshold that it begins with; null without a budget"
        ),
    ]
    reached: Annotated[bool | None, Means("the writes were met; null without a budget")]
    year: Annotated[Yearly | None, Means("its cost; null without a clock")] = None


class RateRow(FlashRow):
    """A policy at a write rate in `cachezoo flash`; the setting is the best that keeps the rate, by simulation."""

    size: Annotated[str, Means("of the cache, as typed")]
    capacity_bytes: Annotated[int, Means("of the cache", "bytes")]
    policy: Annotated[str, Means("a policy without a model, a bundle's id, or opt")]
    kind: Annotated[Literal["without model", "model", "oracle"], Means("of policy")]
    asked: Annotated[str | None, Means("write rate; null of AcceptAll and of a bundle that keeps none")]
    as_shipped: Annotated[bool, Means("as a cache runs it: kept by a controller, not set on this trace")]
    more_helps: Annotated[bool | None, Means("no setting that writes more within the limit was tried and no better")]
    clock: Annotated[bool, Means("the trace has times; without them nothing is known by the second")]
    written_bytes_s: Annotated[float | None, Means("written to the SSD, by the trace's clock", "bytes/s")]
    disk_ms_per_read: Annotated[float, Means("disk-head time of missing reads, over all reads that count", "ms")]
    ssd_bytes_a_day: Annotated[float | None, Means("null for less than an hour of recorded time", "bytes per day")]
    drive_writes_a_day: Annotated[float | None, Means("the same over the capacity", "drive writes per day")]
    lifetime_years: Annotated[float | None, Means("until the SSD has taken what it is rated for", "years")]
    errors_90: Annotated[
        dict[str, float],
        Each("one figure that was estimated from a sample", "figure", "figure", "half its 90 % interval"),
    ] = Field(default_factory=dict)

    @property
    def set_by(self) -> str:
        """How it came to its setting, where that is not hindsight."""
        if not self.as_shipped:
            return ""
        return "kept" if self.kind == "without model" else "as shipped"

    @property
    def written_share(self) -> float:
        """Of what AcceptAll writes without prefetch."""
        return self.writes_of_accept_all

    @property
    def disks_busy(self) -> float | None:
        """Disk-head seconds a second that missing reads take, mean over the windows; None without a clock."""
        return self.read_dt.mean if self.clock else None

    @property
    def disks_busy_interval(self) -> Interval | None:
        """Its 90 % interval."""
        return self.read_dt_mean_interval if self.clock else None

    @property
    def disks_busy_peak(self) -> float | None:
        """The largest of the windows."""
        return self.read_dt.peak if self.clock else None

    @property
    def disks_busy_constants(self) -> float | None:
        """`disks_busy` by the post's two constants."""
        return self.read_dt_constants.mean if self.clock else None

    @property
    def disks_busy_peak_constants(self) -> float | None:
        """`disks_busy_peak` by the post's two constants."""
        return self.read_dt_constants.peak if self.clock else None

    @property
    def disks(self) -> int | None:
        """Bought for the busiest window."""
        return None if self.year is None else self.year.disks

    @property
    def flash_usd_a_year(self) -> float | None:
        """Of the SSD, by its age or wear, and its power."""
        return None if self.year is None else self.year.flash_usd

    @property
    def usd_a_year(self) -> float | None:
        """Of disks and flash."""
        return None if self.year is None else self.year.usd

    def values(self, *names: str) -> dict[str, Any]:
        """Some columns for JSON, with errors where they are estimates; none named: all of `RATE_COLUMNS`."""
        columns = names or RATE_COLUMNS
        errors = {f"{name}_error_90": own for name, own in self.errors_90.items() if name in columns}
        return {name: getattr(self, name) for name in columns} | errors


RATE_COLUMNS = (
    *("size", "capacity_bytes", "policy", "kind", "prefetch", "asked", "as_shipped", "reached", "more_helps", "knob"),
    *("written_bytes_s", "written_share", "disk_ms_per_read", "disks_busy", "disks_busy_interval", "disks_busy_peak"),
    *("disks_busy_constants", "disks_busy_peak_constants", "io_hit_ratio", "byte_hit_ratio", "prefetch_accuracy"),
    *("ssd_bytes_a_day", "drive_writes_a_day", "lifetime_years", "disks", "flash_usd_a_year", "usd_a_year"),
)


class Gap(Document):
    """What the model saves against a rival, and its share of the gap from the rival to OPT, at its writes."""

    no_more_writes: Annotated[bool, Means("the rival can write what the model writes, within the tolerance")]
    peak_gap_closed: Annotated[
        float | None,
        Means("of the gap from the rival to OPT in peak read disk-head time; null where there is hardly one", "share"),
    ]
    peak_dt_saved: Annotated[float, Means("of the rival's peak", "share")]
    peak_opt_dt_saved: Annotated[float, Means("of the rival's peak, by OPT", "share")]
    mean_gap_closed: Annotated[float | None, Means("as peak_gap_closed, for the mean", "share")]
    mean_gap_closed_interval: Annotated[
        Interval | None, Means("its 90 % interval; null where that of the gap reaches 0", "share")
    ]
    mean_dt_saved: Annotated[float, Means("of the rival's mean", "share")]
    mean_opt_dt_saved: Annotated[float, Means("of the rival's mean, by OPT", "share")]
    mean_dt_saved_interval: Annotated[Interval, Means("90 % interval of mean_dt_saved", "share")]


RIVAL = Each("one rival within a write budget", "trace, comparison and rival")


class Comparison(Document):
    """Policies within one write budget."""

    budget_writes: Annotated[float, Means("writes allowed", "segments")]
    rows: Annotated[dict[str, FlashRow], Each("one policy in a comparison", "trace, comparison and policy", "policy")]
    best_policy: Annotated[
        str,
        Each("one comparison within a write budget", "trace and comparison"),
        Means("policy without a model that was best on validation, as admission+eviction where not the cache's own"),
    ]
    best: Annotated[Gap, RIVAL, Means("the headline: against best_policy in its prefetch mode")]
    gap: Annotated[Gap, RIVAL, Means("against RejectX in its prefetch mode")]
    plain: Annotated[Gap, RIVAL, Means("against RejectX without prefetch, which is the paper's baseline")]


class Windows(Document):
    """The windows of time that load is measured in."""

    count: Annotated[int, Means("windows of time that load is measured in", "windows")]
    seconds: Annotated[float, Means("length of a window", "s")]
    reads: Annotated[float, Means("mean reads in a window", "reads")]
    enough_reads: Annotated[bool, Means("windows hold as many reads as policy.flash asks for")]


COMPARED = Each("one comparison within a write budget", "trace and comparison")
OF_DEPLOYED = "a row of deployed"


class FlashTrace(Document):
    """A test trace."""

    warmup_request: Annotated[int, Means("before the first that counts", "requests")]
    windows: Annotated[Windows, Each("one test trace", "trace")]
    figures: Annotated[EpisodeFigures, Each("one test trace", "trace")]
    opt_eviction_ages: Annotated[
        dict[str, int],
        Each("one mode of OPT on a test trace", "trace and mode", "mode", "eviction age of its episodes", "requests"),
    ]
    deployed: Annotated[Comparison, COMPARED, Means("as one would run them, all kept to the budget's rate")]
    admission_alone: Annotated[Comparison, COMPARED, Means("the same of the admission by itself, all without prefetch")]
    at_budget: Annotated[Comparison, COMPARED, Means("at the write budget, knobs set in hindsight")]
    at_rejectx_rate: Annotated[
        Comparison | None, COMPARED, Means("that at the most RejectX can write; null where it meets the budget")
    ]
    accept_all: Annotated[
        FlashRow, Each("LRU that admits all, with its prefetch mode, on a test trace", "trace", like=OF_DEPLOYED)
    ]
    accept_all_no_prefetch: Annotated[
        FlashRow, Each("LRU that admits all, without prefetch, on a test trace", "trace", like=OF_DEPLOYED)
    ]

    def unbudgeted(self) -> dict[str, FlashRow]:
        """Rows of the policies that have no write budget, by name."""
        return {name: getattr(self, name) for name in ("accept_all", "accept_all_no_prefetch")}


class ModeFigures(Document):
    """A policy in one prefetch mode on the validation traces."""

    mean_dt: Annotated[float, Means("mean read disk-head time after the warm-up on validation", "s/read")]
    writes: Annotated[float, Means("segments written", "share of AcceptAll's writes without prefetch")]
    knob: Annotated[float, Means("mean setting that met the budget, or score threshold that a controller begins with")]
    reached: Annotated[bool, Means("the budget was met on every trace")]


class PolicyModes(Document):
    """The prefetch mode of a policy without a model: the lowest mean read disk-head time, then the fewest writes."""

    mode: Annotated[str, Means("prefetch mode that validation chose")]
    figures: Annotated[dict[str, ModeFigures], Each("one prefetch mode of a policy", "policy and mode", "mode")]


class FlashVerdict(Document):
    """A model of the flash cache and its verdict on validation."""

    model_id: Annotated[str, Means("model")]
    trained: Annotated[bool, Means("training moved the model")]
    beats_baseline: Annotated[bool, Means("better on validation than the best policy without a model")]
    reason: Annotated[str, Means("the verdict in one line")]

    @property
    def promoted(self) -> bool:
        """It trained, and beat its baseline."""
        return self.trained and self.beats_baseline


class FurtherTrace(Document):
    """A further admission model on a test trace, in the prefetch mode that validation chose."""

    deployed: Annotated[
        Comparison, Each("a model beside the full one as shipped", "model and trace", like="the full one's")
    ]
    at_budget: Annotated[
        FlashRow,
        Each(
            "a model beside the full one, its threshold at the write budget of the trace",
            "model and trace",
            like=OF_DEPLOYED,
        ),
    ]


class FurtherModel(FlashVerdict):
    """A further admission model of the category."""

    mode: Annotated[str, Means("prefetch mode that validation chose for it")]
    traces: Annotated[dict[str, FurtherTrace], Each("a model beside the full one on a test trace", "trace", "trace")]


class FlashMetrics(FlashVerdict):
    """The flash cache's figures of a category's test traces; the verdict is the admission model's."""

    model_id: Annotated[str, Means("the admission model, whose verdict stands beside")]
    category: Annotated[str, Means("category")]
    transfer_note: Annotated[str | None, Means("says so where disk-head time amounts to an I/O count")]
    mode: Annotated[str, Means("prefetch mode that validation chose for it")]
    modes: Annotated[dict[str, PolicyModes], Each("one policy without a model", "policy", "policy")]
    best_without_model: Annotated[str, Means("policy without a model that was best on validation in its mode")]
    best_without_prefetch: Annotated[str, Means("the same of those that prefetch nothing")]
    window: Annotated[
        float, Means("RejectX's, fixed, in its mode: it met the budget on validation in hindsight", "requests")
    ]
    modes_chosen_on: Annotated[list[str], Means("traces that chose the prefetch modes")]
    traces: Annotated[dict[str, FlashTrace], Each("one test trace", "trace", "trace")]
    beside: Annotated[
        dict[str, FurtherModel],
        Each("one admission model beside the full one", "beside", "model", presence="sometimes"),
    ] = Field(default_factory=dict)

"""The flash cache of Baleen: episode labels, history features, the cache and how its load is measured."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Count, Part, Rounds, Strict, Windows

DiskName = Literal["wdredpro2tb", "baleen"]


class BlockGeometry(Strict):
    """A block is the unit of an episode, a segment the unit that is cached.

    Attributes:
        block_bytes, segment_bytes: their sizes; a block holds a whole number of segments.
    """

    block_bytes: Count
    segment_bytes: Count

    @model_validator(mode="after")
    def _whole_blocks(self) -> Self:
        if self.block_bytes % self.segment_bytes:
            raise ValueError(f"block_bytes {self.block_bytes} is not a multiple of segment_bytes {self.segment_bytes}")
        return self


class EpisodeLabel(BlockGeometry):
    """`label.episodes`: geometry, cache, write budget, and how the eviction age is found."""

    # categories whose geometry is another one, see `cachezoo.flash_cache.problem`
    geometry: dict[str, BlockGeometry] = Field(default_factory=dict)
    cache_fraction: Part  # flash cache's size, as a part of the trace's distinct segments
    write_budget: Part  # segment writes allowed, as a part of AcceptAll's simulated writes over the whole run
    budget_tolerance: float = Field(gt=0, lt=1)  # how near to the budget a calibrated policy must come, relative
    # budgets, as the one above, at whose prices of a flash write each read is labelled: one model then ranks for all of
    # them. A price is the least that OPT, within the budget, gets for a segment written
    budgets: list[Part] = Field(min_length=1, max_length=64)
    first_accesses: Rounds  # reads of each episode that are labelled, and become rows (k in the post)
    # what OPT, whose decisions are the labels, prefetches: nothing, each episode's OPT-Range, or that where it pays. An
    # episode that is read in many places is worth more flash when one I/O fetches it all
    opt_prefetch: Literal["none", "opt_range", "opt_range_when"] = "opt_range_when"
    age_tolerance: float = Field(gt=0, lt=1)  # the eviction age is found when the simulated one is this near, relative
    age_damping: Part  # first step towards the simulated age, as a part of the difference; halved after each overshoot
    age_rounds: Rounds  # rounds of refinement at most
    min_evictions: Count  # with fewer evictions than this the eviction age is the trace's length
    # an episode is settled when it began an eviction age, but at most this part of the trace, before the end; later
    # ones are masked in training
    horizon_fraction: float = Field(gt=0, lt=1)


class HistoryFeatures(Strict):
    """`features.history`: windows of the access-history counts."""

    bucket_of_age: float = Field(gt=0, le=1e6)  # width of a bucket as a part of the eviction age
    # window lengths in buckets, rising
    windows: list[Annotated[int, Field(ge=1, le=1 << 12)]] = Field(min_length=1, max_length=64)

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if any(a >= b for a, b in zip(self.windows, self.windows[1:], strict=False)):
            raise ValueError(f"windows {self.windows} must rise")
        return self


class FlashPolicy(Strict):
    """`policy.flash`: the cache's eviction, the backend disk, and how load is measured.

    Attributes:
        eviction: `lru`, `fifo` or `s3fifo`.
        touch: what a read makes the newest with LRU: its blocks, and in them what it reads, or that alone.
        disk: what an I/O costs the disk: `wdredpro2tb`, a model of that disk, or `baleen`, the next two.
        seek_ms, rate_mib_s: disk-head time of an I/O is seek + bytes / rate; a column of its own in any case.
        window_min_s: shortest window of the load curve, seconds.
        window_min_reads: windows are widened until they hold this many reads on average.
        min_windows: windows that a short trace must still give.
        min_gap: smallest gap from a rival to OPT, as a part of the rival's load, on which a share is reported.
        disks: backend disks that share the load, for their utilisation; None where that is not known.
    """

    eviction: Literal["lru", "fifo", "s3fifo"]
    touch: Literal["segment", "block"] = "block"
    disk: DiskName
    seek_ms: float = Field(gt=0, le=1e6)
    rate_mib_s: float = Field(gt=0, le=1e9)
    window_min_s: float = Field(gt=0, le=1e9)
    window_min_reads: Count
    min_windows: Windows
    min_gap: float = Field(ge=0, le=1)
    disks: Rounds | None = None

"""A drive of flash: pages mapped one by one, streams with an open block each, garbage collection, and its copies.

A flash page is written once and then only with its whole erase block erased. So a new version of a page goes to another
place, the old one is garbage, and where free blocks run out the drive erases one and copies what still counts in it.
Its write amplification is what it wrote, copies included, for each page that the host wrote.

Source: FIOS, Sec. III-C: a block belongs to one stream, is taken for it on demand once its last one is full, and
valid pages keep their stream when they are copied; other placements are schemes of `cachezoo.kernels.placing`. The
block to erase, chosen greedily or with a view to wear: Agrawal et al., "Design Tradeoffs for SSD Performance", USENIX
ATC 2008, Sec. 3.5, which the SSD module of DiskSim holds. The sources of the other victims and of where copies go:
`Victim` and `Copies`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cachezoo.arrays import I32, I64, MOST_NUMBERED, U8, Bool, Room, in_memory
from cachezoo.errors import ConfigError
from cachezoo.kernels.ftl_steps import (
    APART,
    CHANCE,
    COPIED,
    COST_AGE_TIMES,
    COST_BENEFIT,
    D_CHOICES,
    ERASED,
    FIFO,
    FOR_HOST,
    FOR_SCHEMES,
    FREE,
    GREEDY,
    HOST,
    KEEP,
    LOWEST,
    LOWEST_RESTING,
    NOT_FULL,
    NOWHERE,
    PRIME,
    SHARED,
    WEAR,
    WINDOWED,
    Flash,
    Shape,
)
from cachezoo.kernels.lists import links
from cachezoo.kernels.pairing import NONE
from cachezoo.kernels.placing import BY_HOST, Rule, deaths
from cachezoo.seeds import derive_seed

Victim = Literal["greedy", "wear", "cost-benefit", "cost-age-times", "d-choices", "windowed", "fifo"]
"""Which full block is erased, of u = the share of its pages that is valid.

- `greedy`: the one with the fewest valid pages; of several, the one that has had so few for the longest.
- `wear`: the same among blocks whose erases are at most `wear_slack` above the mean of all blocks, rounded down; of the
  others only where each of those is valid throughout. (Agrawal et al. lower the chance of worn blocks step by step;
  here it is a fixed bound, so that no chance enters.)
- `cost-benefit`: the greatest (1 - u) / 2u times its age, in page writes of the host since it became full (Kawaguchi,
  Nishioka and Motoda, "A Flash-Memory Based File System", USENIX ATC 1995, after the log-structured file system of
  Rosenblum and Ousterhout, TOCS 1992, which has (1 - u) / (1 + u), as it reads the whole segment, and takes the age of
  the youngest page). One without a valid page comes first.
- `cost-age-times`: the same over the erases that the block has had, at least 1 (Chiang and Chang, "Cleaning Policies in
  Mobile Computers Using Flash Memory", Journal of Systems and Software 48, 1999; that a block which was never erased
  counts as one that was erased once is our reading).
- `d-choices`: the fewest valid pages of `among` full blocks that are drawn by chance (Van Houdt, "A Mean Field Model
  for a Class of Garbage Collection Algorithms in Flash-Based Solid State Drives", SIGMETRICS 2013).
- `windowed`: the fewest valid pages of the `among` blocks that have been full for the longest (Hu et al., "Write
  Amplification Analysis in Flash-Based Solid State Drives", SYSTOR 2009).
- `fifo`: the one that has been full for the longest.
"""
VICTIMS: dict[Victim, int] = {
    "greedy": GREEDY,
    "wear": WEAR,
    "cost-benefit": COST_BENEFIT,
    "cost-age-times": COST_AGE_TIMES,
    "d-choices": D_CHOICES,
    "windowed": WINDOWED,
    "fifo": FIFO,
}
Copies = Literal["keep", "shared", "apart"]
"""Where valid pages go that the drive copies, of streams that the host names.

- `keep`: to the open block of their stream, among what the host writes (FIOS, Sec. III-C).
- `shared`: to one stream of their own, whatever stream they were in. Our reading of the *initially isolated* reclaim
  unit handles of NVMe's Flexible Data Placement (TP4146): what a host wrote by different handles is apart when it is
  written, and the drive may put it together when it moves it.
- `apart`: to a stream of their own for each of the host's. Of FDP's *persistently isolated* handles: what the drive
  moves never comes together with what another handle wrote. `keep` is that as well; the standard leaves it to the
  drive whether moved data and new data of one handle share a reclaim unit.
"""
COPIES: dict[Copies, int] = {"keep": KEEP, "shared": SHARED, "apart": APART}


AT_ONCE = 1 << 22
"""Writes that a drive is given at a time."""


def open_blocks(streams: int, copies: Copies) -> int:
    """Blocks that are open at once, for what the host writes to so many streams and for copies."""
    return {"keep": streams, "shared": streams + 1, "apart": 2 * streams}[copies]


@dataclass(frozen=True)
class FlashDrive:
    """The drive."""

    blocks: int  # erase blocks
    pages_per_block: int  # flash pages of a block that hold data
    logical_pages: int  # flash pages that have an address, from 0
    # a block is taken for the host only while more than so many are free; blocks are erased until they are
    gc_free_blocks: int
    victim: Victim = "greedy"
    streams: int = 1  # streams that the host may name, or that a rule writes
    wear_slack: int = 8  # of the victim `wear`
    among: int = 10  # of the victims `d-choices` and `windowed`
    copies: Copies = "keep"  # of rules that place by themselves it means nothing
    # Of chance: 0 has none, but for what `d-choices` draws. Others decide among victims that are equal, and where the
    # pre-fill begins: what no design fixes, and what differences between designs are to be above.
    seed: int = 0

    def __post_init__(self) -> None:
        smallest = {"blocks": 2, "pages_per_block": 1, "logical_pages": 1, "gc_free_blocks": 1, "streams": 1}
        for name, least in {**smallest, "wear_slack": 0, "among": 1, "seed": 0}.items():
            if getattr(self, name) < least:
                raise ConfigError(f"a drive with {name} {getattr(self, name)}: it is at least {least}")
        if self.open_blocks > 256:
            raise ConfigError(f"a drive with {self.open_blocks} streams: it has at most 256")
        if self.blocks << _shift(self.pages_per_block) > MOST_NUMBERED:
            message = f"a drive with {self.blocks} blocks of {self.pages_per_block} pages: they are too many to number"
            raise ConfigError(message)
        room = self.blocks - self.gc_free_blocks - self.open_blocks
        if self.logical_pages > room * self.pages_per_block:
            message = (
                f"a drive with {self.blocks} blocks of {self.pages_per_block} pages has {max(room, 0)} for data, less "
                f"{self.gc_free_blocks} free and {self.open_blocks} open ones: too few for {self.logical_pages} pages; "
                "take more over-provisioning, fewer streams, or fewer free blocks"
            )
            raise ConfigError(message)

    @property
    def open_blocks(self) -> int:
        """Streams, those of copies included: each has an open block."""
        return open_blocks(self.streams, self.copies)


@dataclass(frozen=True)
class FtlRun:
    """What a drive did over t intervals of writes.

    Attributes:
        host, copied: int64[t] flash pages that the host wrote, and that the drive copied, in each interval.
        erased: int64[t] blocks erased in each interval.
        host_by_stream, copied_by_stream: int64[streams], over all intervals; those of copies after the host's.
        erases: int64[blocks] times that each block was erased from the start, also outside the intervals.
        valid: int32[blocks] valid pages at the end.
        block: int32[logical_pages] the block that holds each page at the end, -1 for none.
    """

    host: I64
    copied: I64
    erased: I64
    host_by_stream: I64
    copied_by_stream: I64
    erases: I64
    valid: I32
    block: I32

    def waf(self) -> float:
        """Write amplification over all intervals: pages written over pages that the host wrote; nan without any."""
        host = int(self.host.sum())
        return (host + int(self.copied.sum())) / host if host else float("nan")


def _shift(pages_per_block: int) -> int:
    return (pages_per_block - 1).bit_length()


def _new(drive: FlashDrive) -> Flash:
    shift, pages = _shift(drive.pages_per_block), drive.pages_per_block
    before, after = links(drive.blocks, 2 * (pages + 1) if VICTIMS[drive.victim] <= WEAR else 1)
    heaps = drive.victim == "cost-benefit"
    numbers = np.zeros(8, np.int64)
    numbers[FREE] = drive.blocks
    numbers[[LOWEST, LOWEST_RESTING]] = pages
    numbers[CHANCE] = derive_seed(drive.seed, "flash drive") % (PRIME - 1) + 1
    valid = np.arange(1, pages) / pages
    return Flash(
        place=np.full(drive.logical_pages, NOWHERE, np.int32),
        owner=np.full(drive.blocks << shift, NOWHERE, np.int32),
        valid=np.zeros(drive.blocks, np.int32),
        filled=np.zeros(drive.blocks, np.int32),
        stream=np.zeros(drive.blocks, np.uint8),
        erases=np.zeros(drive.blocks, np.int64),
        home=np.full(drive.blocks, NOT_FULL, np.uint8),
        before=before,
        after=after,
        child=np.full(drive.blocks if heaps else 0, NONE, np.int32),
        root=np.full(pages + 1 if heaps else 0, NONE, np.int32),
        sealed=np.zeros(drive.blocks, np.int64),
        full_at=np.zeros(drive.blocks, np.int64),
        weight=np.append(np.inf, (1 - valid) / (2 * valid)),
        opened=np.full(drive.open_blocks, NOWHERE, np.int32),
        free=np.arange(drive.blocks, dtype=np.int32),
        numbers=numbers,
    )


def _check(pages: I32, streams: U8 | None, drive: FlashDrive, trim: Bool | None, bounds: I64) -> None:
    n = len(pages)
    if n and not 0 <= pages.min() <= pages.max() < drive.logical_pages:
        message = f"pages {pages.min()} to {pages.max()} are written where the drive has 0 to {drive.logical_pages - 1}"
        raise ConfigError(message)
    for name, column in (("streams", streams), ("trim", trim)):
        if column is not None and len(column) != n:
            raise ConfigError(f"{name} has {len(column)} rows where {n} pages are written")
    if streams is not None and n and streams.max() >= drive.streams:
        raise ConfigError(f"stream {streams.max()} is written where the drive has 0 to {drive.streams - 1}")
    if len(bounds) < 2 or bounds[0] < 0 or bounds[-1] > n or (np.diff(bounds) < 0).any():
        raise ConfigError(f"bounds {bounds.tolist()[:4]} ... of intervals: at least two, rising, within 0 and {n}")


def run_ftl(
    pages: I32,
    streams: U8 | None,
    drive: FlashDrive,
    *,
    bounds: I64,
    trim: Bool | None = None,
    prefill: bool = True,
    rule: Rule = BY_HOST,
    room: Room = in_memory,
    passed: Callable[[], None] | None = None,
) -> FtlRun:
    """Run a drive over n page writes and trims of the host; its own state grows with its pages, not with these.

    Args:
        pages: int32[n] flash pages, in the order in which the drive gets them.
        streams: uint8[n] stream of each write; None writes all to stream 0, and schemes that place need none.
        drive: the drive.
        bounds: int64[t + 1] rising; interval i counts the writes [bounds[i], bounds[i + 1]). Others run uncounted.
        trim: bool[n], True where the host gives the page up in place of writing it.
        prefill: write every page once before, by address and in the rule's stream for that (0); uncounted.
        rule: which stream writes and copies go to.
        room: makes columns as long as the writes, for rules that know the future.
        passed: called after each `AT_ONCE` writes.

    Raises:
        ConfigError: pages or streams that the drive lacks, lengths that differ, bounds that do not rise, or a drive of
            too few streams for the rule.
    """
    _check(pages, streams, drive, trim, bounds)
    rule.check(drive.streams, drive.gc_free_blocks)
    if rule.streams:
        drive = replace(drive, copies="keep")  # the rule says where copies go
    shift = _shift(drive.pages_per_block)
    shape = Shape(
        blocks=drive.blocks,
        per_block=drive.pages_per_block,
        shift=shift,
        keep_free=drive.gc_free_blocks,
        victim=VICTIMS[drive.victim],
        slack=drive.wear_slack,
        among=drive.among,
        shuffled=drive.seed > 0,
        copies=COPIES[drive.copies],
        streams=drive.streams,
    )
    fill, write = FOR_SCHEMES if rule.streams else FOR_HOST
    flash, placing = _new(drive), rule.start(drive.logical_pages, drive.blocks)
    trims = np.zeros(0, np.bool_) if trim is None else trim
    death = first = np.zeros(0, np.int64)
    if rule.knows:
        death = room(np.int64, len(pages))
        first = deaths(pages, trims, drive.logical_pages, drive.logical_pages if prefill else 0, death)
    if prefill:
        begin = flash.numbers[CHANCE] % drive.logical_pages if drive.seed else 0
        fill(flash, shape, placing, rule.fills, first, int(begin))
    intervals = len(bounds) - 1
    counts = np.zeros((intervals + 2, 2, drive.open_blocks), np.int64)
    erased = np.zeros(intervals + 2, np.int64)
    ends = np.concatenate([[0], bounds, [len(pages)]])
    for i in range(intervals + 2):
        before = int(flash.numbers[ERASED])
        for low in range(ends[i], ends[i + 1], AT_ONCE):
            part = slice(low, min(low + AT_ONCE, ends[i + 1]))
            named = np.zeros(part.stop - low, np.uint8) if streams is None else streams[part]
            # A column that there is none of is empty, and so is each part of it.
            write(flash, shape, placing, pages[part], named, trims[part], death[part], counts[i])
            if passed is not None:
                passed()
        erased[i] = flash.numbers[ERASED] - before
    counted = counts[1:-1]
    return FtlRun(
        host=counted[:, HOST].sum(axis=1),
        copied=counted[:, COPIED].sum(axis=1),
        erased=erased[1:-1],
        host_by_stream=counted[:, HOST].sum(axis=0),
        copied_by_stream=counted[:, COPIED].sum(axis=0),
        erases=flash.erases,
        valid=flash.valid,
        block=np.where(flash.place == NOWHERE, NOWHERE, flash.place >> shift).astype(np.int32),
    )

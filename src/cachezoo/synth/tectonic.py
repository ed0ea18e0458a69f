"""A synthetic load with the statistics of Meta's Tectonic clusters, for what needs more requests than can be captured.

What is drawn, and from where (medians of the seven traces of the paper, unless said otherwise):

- *Published.* Blocks of 8 MiB; how many are written in the trace and how many are never read or once; how often the
  others are read, as a power of their rank with exponent -0.8; the mean and the distribution of access sizes; how full
  blocks are; how long after a read of a block the next one comes; seven days.
- *Assumed.* Users, whose shares are Zipf's; how alike a user's blocks are in how often, how much at once, and whether
  in bursts they are read (`LIKENESS`); that short gaps are of some blocks and long ones of others, as otherwise no
  policy that waits for a second miss could keep to the published write rate; that a third of the users scan, a third
  read one range again, and a third read anywhere; how long after its write a block is first read; a load that rises and
  falls with the day, and by the hour at random.

No figure of a policy entered.

Source: Wong et al., "Baleen: ML Admission & Prefetching for Flash Caches", FAST 2024, its table of traces, and its
figures on popularity, sizes and interarrival times, as the notebook on trace statistics of its artifact prints them.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I32
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.tectonic import Gaps, draw_requests
from cachezoo.seeds import derive_seed
from cachezoo.traces.remarks import SYNTHETIC
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace, TraceMeta

NAME = "tectonic"
BLOCK_BYTES = 8 << 20
DAY_S = 86_400.0
SECONDS = 7 * DAY_S
LEAST, MOST = 1_000, 1 << 30

BLOCKS_PER_ACCESS, PUTS_PER_ACCESS = 0.19, 0.14
"""Distinct blocks and writes over all accesses."""
NEVER_READ, READ_AT_MOST_ONCE = 0.40, 0.59
"""Of the blocks: those that are written alone, and those with one read at most."""
POPULARITY = 0.8
"""Reads of a block fall with this power of its rank."""
MOST_READS = 10_000
OBJECT_BYTES = 5.88 * 2**20
"""Mean of what a block holds."""
SIZES_MIB = (0.0, 0.125, 0.25, 0.5, 1.0, 1.25, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 7.875, 8.0, 8.0)
SIZES_SHARE = (0.0, 0.15, 0.22, 0.33, 0.43, 0.54, 0.61, 0.66, 0.715, 0.745, 0.77, 0.80, 0.835, 0.835, 1.0)
"""Shares of the accesses of at most so many MiB: read off the figure, where most regions agree; mean 2.75 MiB."""
GAPS_S = (0.0, 1.0, 60.0, 3_600.0, DAY_S, SECONDS)
GAPS_SHARE = (0.38, 0.56, 0.80, 0.95, 1.0)
"""Shares of the gaps between two reads of a block of at most so many seconds: read off the figure likewise."""
GAPS_DRAWN = (0.353, 0.421, 0.668, 0.875, 1.0)
"""What is drawn for the trace to have these: where a block's reads would take longer than the trace, all its long gaps
are shortened."""

USERS, NAMESPACES = 200, 30
LIKENESS = 0.5
"""Correlation of a user's trait with those of its blocks."""
PURITY = 0.95
"""Share of the gaps within a minute in blocks that are read in bursts, and of the longer ones in the others."""
DELAY_S = (1.0, DAY_S)
BY_DAY, BY_HOUR = 0.3, 0.25
"""How far the load is above and below its mean in a day; sigma of the logarithm of an hour's own load."""
CLOCK_PARTS = 1 << 12


def tectonic(requests: int, seed: int, seconds: float = SECONDS) -> Trace:
    """Draw a trace.

    Args:
        requests: reads and writes, exactly.
        seed: another seed, another trace; the same seed, the same bytes.
        seconds: its span.

    Raises:
        ConfigError: too few or too many requests, or less than an hour.
    """
    if not LEAST <= requests <= MOST:
        raise ConfigError(f"{requests} requests: give {LEAST} to {MOST} with --requests")
    if seconds < 3_600:
        raise ConfigError(f"{seconds:g} seconds: give an hour or more with --duration")
    random = np.random.default_rng(derive_seed(seed, "synth", NAME))
    share = 1.0 / np.arange(1, USERS + 1)
    share /= share.sum()
    blocks, total = int(requests * BLOCKS_PER_ACCESS), np.zeros(1, np.int64)
    while total[-1] < requests:
        blocks += blocks // 32
        user = random.choice(USERS, blocks, p=share).astype(np.int32)
        gets = np.searchsorted(_reads(), _alike(user, share, np.ones(blocks, np.int32), random), side="right").astype(
            np.int32
        )
        written = (PUTS_PER_ACCESS / BLOCKS_PER_ACCESS - NEVER_READ) / (1 - NEVER_READ)
        put = (gets == 0) | (random.random(blocks) < written)
        total = np.cumsum(gets + put)
    last = int(np.searchsorted(total, requests))
    over = int(total[last]) - requests
    gets[last], put[last] = max(gets[last] - over, 0), put[last] and over <= gets[last]
    sizes = np.interp(_alike(user, share, gets, random), SIZES_SHARE, np.array(SIZES_MIB) * 2**20)
    read_bytes = np.maximum(sizes.astype(np.int64) // PAGE_BYTES, 1) * PAGE_BYTES
    in_bursts = _alike(user, share, gets, random) < (GAPS_DRAWN[1] - (1 - PURITY)) / (2 * PURITY - 1)
    together = np.where(in_bursts, PURITY, 1 - PURITY)
    user, gets, put, read_bytes = user[: last + 1], gets[: last + 1], put[: last + 1], read_bytes[: last + 1]
    way = random.permutation(np.arange(USERS, dtype=np.uint8) % 3)
    state = random.integers(0, 2**64, 1, np.uint64)
    drawn = draw_requests(
        (user, gets, put, read_bytes, together), way, _full(), BLOCK_BYTES, _gaps(), _clock(seconds, random),
        float(seconds), state,
    )  # fmt: skip
    of_block = np.repeat(np.arange(last + 1), gets + put)
    order = np.argsort(drawn.time_us, kind="stable")
    time_us = drawn.time_us[order]
    own = drawn.user[order]
    namespace = random.integers(0, NAMESPACES, USERS).astype(np.int32)
    asked = {"seed": str(seed), "requests": str(requests), "seconds": f"{seconds:g}", SYNTHETIC: SAID}
    digest = hashlib.sha256(json.dumps(asked | _parameters(), sort_keys=True).encode()).hexdigest()
    return Trace(
        time_us=time_us - time_us[0],
        op=drawn.write[order],
        offset=drawn.offset[order] + of_block[order] * BLOCK_BYTES,
        size=drawn.size[order],
        volume=Coded.constant("cluster", requests),
        namespace=Coded(namespace[own], tuple(f"namespace{k}" for k in range(NAMESPACES))),
        user=Coded(own, tuple(f"user{k}" for k in range(USERS))),
        meta=TraceMeta(f"synthetic_{NAME}", "blob", "synth", digest, "unstated", asked),
    )


@dataclass(frozen=True)
class Published:
    """A statistic of a trace, and what the traces of the paper have in the median."""

    name: str
    value: float
    published: float


def statistics(trace: Trace) -> list[Published]:
    """A trace's statistics beside the published ones; shares but for the sizes, which are bytes."""
    read, block = trace.op == OP_READ, trace.offset // BLOCK_BYTES
    blocks, own = np.unique(block, return_inverse=True)
    gets = np.bincount(own[read], minlength=len(blocks))
    order = np.lexsort((trace.time_us, own))
    order = order[read[order]]
    gaps = np.diff(trace.time_us[order])[np.diff(own[order]) == 0]
    mean = np.trapezoid(np.array(SIZES_MIB), np.array(SIZES_SHARE)) * 2**20
    found = [
        Published("blocks per access", len(blocks) / len(trace), BLOCKS_PER_ACCESS),
        Published("writes", 1 - float(read.mean()), PUTS_PER_ACCESS),
        Published("blocks never read", float((gets == 0).mean()), NEVER_READ),
        Published("blocks read once at most", float((gets <= 1).mean()), READ_AT_MOST_ONCE),
        Published("mean read", float(trace.size[read].mean()), float(mean)),
        Published("mean write", float(trace.size[~read].mean()) if not read.all() else 0.0, OBJECT_BYTES),
    ]
    for edge, share in zip(GAPS_S[1:-1], GAPS_SHARE[:-1], strict=True):
        found.append(Published(f"read again within {edge:,.0f} s", float((gaps <= edge * 1e6).mean()), share))
    return found


SAID = "drawn with published statistics of Meta's Tectonic; no request of it was ever made"


def _parameters() -> dict[str, Any]:
    """What the bytes depend on beside what is asked for."""
    return {
        "sizes": [SIZES_MIB, SIZES_SHARE], "gaps": [GAPS_S, GAPS_DRAWN], "users": [USERS, NAMESPACES, LIKENESS, PURITY],
        "blocks": [BLOCKS_PER_ACCESS, PUTS_PER_ACCESS, NEVER_READ, READ_AT_MOST_ONCE, POPULARITY, OBJECT_BYTES],
    }  # fmt: skip


def _alike(user: I32, share: F64, weight: I32, random: np.random.Generator) -> F64:
    """float64[n] evenly spread over (0, 1), so that what is drawn by it has just its distribution; alike by user.

    Args:
        user: int32[n] of the blocks.
        share: float64[u] of the users.
        weight: int32[n] what a block counts.
        random: draws the users' traits and the blocks' own.
    """
    trait = random.standard_normal(len(share))
    trait -= trait @ share
    trait /= np.sqrt(trait**2 @ share)
    value = LIKENESS * trait[user] + np.sqrt(1 - LIKENESS**2) * random.standard_normal(len(user))
    order = np.argsort(value, kind="stable")
    below = np.cumsum(weight[order])
    place = np.empty(len(user))
    place[order] = (below - weight[order] / 2) / below[-1]
    return place


def _reads() -> F64:
    """float64[m] cumulative shares of blocks by their reads: 0, 1, and a power law whose mean is what is left."""
    gets = (1 - PUTS_PER_ACCESS) / BLOCKS_PER_ACCESS
    once = READ_AT_MOST_ONCE - NEVER_READ
    mean = (gets - once) / (1 - READ_AT_MOST_ONCE)
    counts = np.arange(2, MOST_READS + 1, dtype=np.float64)

    def beyond(shift: float) -> F64:
        """Share of those read twice that are read at least so often."""
        found: F64 = ((counts + shift) / (2 + shift)) ** (-1 / POPULARITY)
        return found

    low, high = -1.9, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 + beyond(middle).sum() < mean else (low, middle)
    tail = beyond(low) * (1 - READ_AT_MOST_ONCE)
    return np.concatenate([[NEVER_READ, READ_AT_MOST_ONCE], 1 - tail[1:], [1.0]])


def _full() -> float:
    """Share of full blocks; what the others hold is uniform, but no less than a read of theirs."""
    share, mib = np.array(SIZES_SHARE), np.array(SIZES_MIB)
    grid = np.interp(np.linspace(0, 1, 2_001), share, mib) / 8
    rest = float(np.mean((1 + grid**2) / 2))  # mean of max(uniform, a size)
    return (OBJECT_BYTES / BLOCK_BYTES - rest) / (1 - rest)


def _gaps() -> Gaps:
    together, edges, shares = GAPS_DRAWN[1], np.array(GAPS_S), np.array(GAPS_DRAWN)
    return Gaps(edges[:3], shares[:2] / together, edges[2:], (shares[2:] - together) / (1 - together), DELAY_S)


def _clock(seconds: float, random: np.random.Generator) -> F64:
    """float64[c + 1] times at which equal parts of the load have passed."""
    hours = int(np.ceil(seconds / 3_600))
    edges = np.minimum(np.arange(hours + 1) * 3_600.0, seconds)
    middle = (edges[1:] + edges[:-1]) / 2
    rate = (1 + BY_DAY * np.sin(2 * np.pi * middle / DAY_S)) * np.exp(BY_HOUR * random.standard_normal(hours))
    passed = np.concatenate([[0.0], np.cumsum(rate * np.diff(edges))])
    clock: F64 = np.interp(np.linspace(0, passed[-1], CLOCK_PARTS + 1), passed, edges)
    return clock

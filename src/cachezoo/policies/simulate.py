"""Replay a trace's page accesses through a policy and count."""

import re
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.kernels.classic import ADMITTED, HIT, lru_admission
from cachezoo.policies.registry import policy
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_WRITE, Trace

U8 = npt.NDArray[np.uint8]
MIN_WARMUP = 0.10
MAX_WARMUP = 1 / 3


@dataclass(frozen=True)
class Simulation:
    """Counts from the warm-up index on.

    Attributes:
        policy: its id.
        capacity: pages.
        warmup: page accesses replayed before counting.
        requests: requests that begin at or after the warm-up index.
        page_accesses: page accesses counted.
        hits: page hits.
        ssd_writes: pages admitted plus pages written on write hits.
        outcome: uint8[m], one entry for each page access of the whole trace.
        kernel_s: seconds in the kernel alone, compilation apart.
    """

    policy: str
    capacity: int
    warmup: int
    requests: int
    page_accesses: int
    hits: int
    ssd_writes: int
    outcome: U8
    kernel_s: float

    @property
    def hit_ratio(self) -> float:
        """Page hits per page access."""
        return self.hits / self.page_accesses


def parse_capacity(text: str, n_pages: int) -> int:
    """Pages from ``"10%"`` (of the distinct pages, rounded, at least 1) or ``"1024"``.

    Raises:
        ConfigError: neither form, or not above 0.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    if match is None or float(match[1]) <= 0 or (not match[2] and "." in match[1]):
        message = f"capacity {text!r}: give pages (1024) or a share of the distinct pages (10%), above 0"
        raise ConfigError(message)
    return max(1, round(float(match[1]) / 100 * n_pages)) if match[2] else int(match[1])


def auto_warmup(pages: PageAccesses, capacity: int) -> int:
    """The page access at which LRU has filled the cache, at least 10 % and at most a third of all accesses."""
    m = len(pages.page_ids)
    # Ids are numbered by first appearance, so the largest id so far counts the distinct pages so far.
    filled = int(np.searchsorted(np.maximum.accumulate(pages.page_ids), capacity - 1)) + 1
    return int(min(max(filled, MIN_WARMUP * m), MAX_WARMUP * m))


def parse_warmup(text: str, pages: PageAccesses, capacity: int) -> int:
    """Page accesses from ``"auto"`` or a number.

    Raises:
        ConfigError: not a number, or nothing would be left to count.
    """
    if text == "auto":
        return auto_warmup(pages, capacity)
    if not text.isdigit() or int(text) >= len(pages.page_ids):
        message = f"warmup {text!r}: give auto or page accesses below {len(pages.page_ids)}"
        raise ConfigError(message)
    return int(text)


def _compile(policy_id: str) -> None:
    policy(policy_id).run(np.zeros(1, np.int32), 1, 1)


def simulate(trace: Trace, pages: PageAccesses, policy_id: str, capacity: int, warmup: int) -> Simulation:
    """Run one policy over a trace.

    Args:
        trace: the requests (their op decides what a hit writes).
        pages: the same trace's page accesses.
        policy_id: a registered policy.
        capacity: pages, at least 1.
        warmup: page accesses replayed before counting.

    Raises:
        ConfigError: unknown policy or capacity below 1.
    """
    if capacity < 1:
        message = f"capacity {capacity}: a cache has at least one page"
        raise ConfigError(message)
    _compile(policy_id)
    start = time.perf_counter()
    outcome = policy(policy_id).run(pages.page_ids, pages.n_pages, capacity)
    kernel_s = time.perf_counter() - start
    return count(trace, pages, policy_id, capacity, warmup, outcome, kernel_s)


def count(
    trace: Trace,
    pages: PageAccesses,
    policy_id: str,
    capacity: int,
    warmup: int,
    outcome: U8,
    kernel_s: float = 0.0,
) -> Simulation:
    """Count an outcome array from the warm-up index on."""
    counted = outcome[warmup:]
    writes = np.repeat(trace.op == OP_WRITE, np.diff(pages.request_start))[warmup:]
    hit = counted == HIT
    return Simulation(
        policy=policy_id,
        capacity=capacity,
        warmup=warmup,
        requests=int((pages.request_start[:-1] >= warmup).sum()),
        page_accesses=len(counted),
        hits=int(hit.sum()),
        ssd_writes=int((counted == ADMITTED).sum() + (hit & writes).sum()),
        outcome=outcome,
        kernel_s=kernel_s,
    )


def simulate_admission(
    trace: Trace, pages: PageAccesses, name: str, decided: npt.NDArray[np.bool_], capacity: int, warmup: int
) -> Simulation:
    """LRU behind an admission that has decided for every request (bool[n]): True lets in what the request misses."""
    admit = np.repeat(decided.astype(np.uint8), np.diff(pages.request_start))
    lru_admission(np.zeros(1, np.int32), 1, 1, np.zeros(1, np.uint8))
    start = time.perf_counter()
    outcome = lru_admission(pages.page_ids, pages.n_pages, capacity, admit)
    return count(trace, pages, name, capacity, warmup, outcome, time.perf_counter() - start)

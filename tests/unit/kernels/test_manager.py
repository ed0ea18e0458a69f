import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels import manager as kernel
from tests.oracles.manager import NAMES, NaiveManager
from tests.page_data import lists_of, page_requests, pages_of, seeded_requests


class Lanes:
    """The kernel's state for some caches."""

    def __init__(self, n_pages: int, limits: list[tuple[int, int, int, bool]], accesses: int) -> None:
        lanes = len(limits)
        self.n_pages = n_pages
        self.limits = np.array(limits, np.int64)
        self.nodes = np.full((lanes, kernel.NODE_FIELDS, n_pages + kernel.SENTINELS), 7, np.int32)
        self.stamps = np.full((lanes, n_pages), 7, np.int64)
        self.counters = np.full((lanes, kernel.N_COUNTERS), 7, np.int64)
        for lane in range(lanes):
            kernel.reset(self.nodes[lane], self.stamps[lane], self.counters[lane])
        self.outcome = np.zeros((lanes, accesses), np.uint8)
        self.tags = np.zeros((lanes, 4), np.float32)

    def serve(self, pages: list[int], write: bool, decisions: list[int], first: int) -> list[int]:
        queues = np.array(decisions, np.int32)
        kernel.serve_lanes(
            self.nodes, self.stamps, self.counters, self.limits, np.array(pages, np.int32), int(write), queues,
            self.outcome, first, self.tags,
        )  # fmt: skip
        return queues.tolist()

    def ring(self, lane: int, sentinel: int, field: int) -> list[int]:
        node, out = int(self.nodes[lane, field, self.n_pages + sentinel]), []
        while node < self.n_pages:
            out.append(node)
            node = int(self.nodes[lane, field, node])
        return out


def same_state(lanes: Lanes, lane: int, naive: NaiveManager) -> None:
    for q in (1, 2, 3):
        assert lanes.ring(lane, q - 1, kernel.AFTER) == naive.queues[q]
        assert lanes.ring(lane, q - 1, kernel.BEFORE) == naive.queues[q][::-1]
        by_clock = lanes.ring(lane, 3 + q - 1, kernel.NEWER)
        assert by_clock == naive.by_clock(q) == lanes.ring(lane, 3 + q - 1, kernel.OLDER)[::-1]
        assert [lanes.stamps[lane, page] for page in by_clock] == [naive.clocks[page][0] for page in by_clock]
        assert {page for page in naive.queues[q] if lanes.nodes[lane, kernel.TOP, page]} == set(naive.top(q))
        assert lanes.counters[lane, kernel.LENGTH + q - 1] == len(naive.queues[q])
    resident = [page for queue in naive.queues.values() for page in queue]
    assert {p for p in resident if lanes.nodes[lane, kernel.DIRTY, p]} == naive.dirty
    held = lanes.nodes[lane, kernel.QUEUE, : lanes.n_pages]
    assert held.tolist() == [naive.where(page) for page in range(lanes.n_pages)]
    assert lanes.counters[lane, kernel.USED] == naive.used() <= naive.capacity
    for name, count in naive.counts.items():
        assert lanes.counters[lane, getattr(kernel, name.upper())] == count, name


def compare(requests: list[list[int]], limits: list[tuple[int, int, int, bool]], seed: int) -> list[NaiveManager]:
    pages = pages_of(requests)
    rng = np.random.default_rng(seed)
    lanes = Lanes(pages.n_pages, limits, len(pages.page_ids))
    naive = [NaiveManager(*row) for row in limits]
    for i, request in enumerate(lists_of(pages)):
        write = bool(rng.integers(0, 2))
        decisions = rng.integers(0, 4, len(limits)).tolist()
        first = int(pages.request_start[i])
        got = lanes.serve(request, write, decisions, first)
        for lane, manager in enumerate(naive):
            outcome, decided, tags = manager.serve(request, write, decisions[lane])
            assert lanes.outcome[lane, first : first + len(request)].tolist() == outcome
            assert got[lane] == decided
            assert lanes.tags[lane].tolist() == list(tags)
            same_state(lanes, lane, manager)
    return naive


LIMITS = st.tuples(
    st.integers(1, 10), st.integers(1, 40), st.sampled_from([0, 1, 20, 50, 99, 100]), st.booleans()
)


@settings(deadline=None, max_examples=60)
@given(page_requests(most=30), st.lists(LIMITS, min_size=1, max_size=3), st.integers(0, 99))
def test_every_step_matches_naive_lists(
    requests: list[list[int]], limits: list[tuple[int, int, int, bool]], seed: int
) -> None:
    compare(requests, limits, seed)


def test_every_step_matches_naive_lists_on_a_longer_trace() -> None:
    limits = [(c, 5 * c, 20, fill) for c in (1, 2, 3, 8, 25) for fill in (True, False)]
    for manager in compare(seeded_requests(500, 60, 2), limits, 1):
        assert min(manager.counts[name] for name in NAMES) > 0


def one(capacity: int, period: int, percent: int = 0, fill: bool = True) -> Lanes:
    return Lanes(12, [(capacity, period, percent, fill)], 1000)


def test_demotion_by_steps_and_the_protected_top() -> None:
    lanes = one(4, 10)
    lanes.serve([0], False, [3], 0)
    seen = []
    for k in range(1, 31):
        lanes.serve([11], False, [0], k)
        seen.append(int(lanes.nodes[0, kernel.QUEUE, 0]))
    # Its clock began before the first access, so it runs out when the tenth is done, and again ten later.
    assert seen == [kernel.LATE] * 8 + [kernel.MEAN] * 10 + [kernel.SOON] * 12
    protected = one(4, 10, percent=100)
    protected.serve([0], False, [3], 0)
    for k in range(1, 31):
        protected.serve([11], False, [0], k)
    assert protected.nodes[0, kernel.QUEUE, 0] == kernel.LATE


def test_victims_are_the_tails_of_soon_then_mean_then_late() -> None:
    lanes = one(6, 1000, fill=False)
    for page, queue in ((0, 3), (1, 2), (2, 1), (3, 1), (4, 2), (5, 3)):
        lanes.serve([page], False, [queue], page)
    lanes.serve([2], False, [0], 6)
    gone = []
    for page in range(6, 12):
        before = lanes.nodes[0, kernel.QUEUE].copy()
        lanes.serve([page], False, [3], page)
        gone += np.flatnonzero((before > 0) & (lanes.nodes[0, kernel.QUEUE] == 0)).tolist()
    assert gone == [3, 2, 1, 4, 0, 5]


def test_a_dirty_page_costs_a_disk_write_once() -> None:
    lanes = one(1, 1000)
    lanes.serve([0], True, [1], 0)
    lanes.serve([1], False, [1], 1)
    lanes.serve([1], True, [1], 2)
    lanes.serve([0], False, [1], 3)
    lanes.serve([2], False, [1], 4)
    counters = lanes.counters[0]
    assert (counters[kernel.EVICTED], counters[kernel.DIRTY_EVICTED], counters[kernel.WRITE_HITS]) == (3, 2, 1)


def test_a_request_larger_than_the_cache() -> None:
    lanes = one(2, 1000)
    lanes.serve([0, 1, 2, 3, 4], True, [2], 0)
    assert lanes.outcome[0, :5].tolist() == [1] * 5
    assert lanes.ring(0, kernel.MEAN - 1, kernel.AFTER) == [4, 3]
    assert lanes.counters[0, kernel.DIRTY_EVICTED] == 3


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([0.5, 0.2, 0.3, 0.5], 3),
        ([0.5, 0.4, 0.4, 0.2], 1),
        ([0.5, 0.2, 0.4, 0.4], 2),
        ([0.49, 0.0, 1.0, 0.0], 0),
    ],
)
def test_decides_at_or_above_the_threshold_and_equals_go_sooner(outputs: list[float], expected: int) -> None:
    queues = np.zeros(1, np.int32)
    kernel.decide_lanes(np.array([outputs], np.float32), np.array([0.5], np.float32), queues)
    assert queues[0] == expected

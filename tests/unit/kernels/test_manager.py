from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels import manager as kernel
from cachezoo.traces.pages import PageAccesses
from tests.oracles.manager import NAMES, NaiveManager
from tests.page_data import lists_of, page_requests, pages_of, seeded_requests

Limits = tuple[int, int, int, bool, bool, bool]  # capacity, period, percent, fill, requeue, single
RULES = list(product((False, True), repeat=3))


class Lanes:
    """The kernel's state for some caches."""

    def __init__(self, n_pages: int, limits: list[Limits], accesses: int) -> None:
        self.n_pages = n_pages
        self.own = kernel.make(n_pages, np.array(limits, np.int64))
        self.nodes, self.stamps, self.counters, self.limits = self.own
        self.outcome = np.zeros((len(limits), accesses), np.uint8)
        self.tags = np.zeros((len(limits), 4), np.float32)

    def serve(self, pages: list[int], write: bool, decisions: list[int], first: int) -> list[int]:
        queues = np.array(decisions, np.int32)
        kernel.serve_lanes(self.own, np.array(pages, np.int32), int(write), queues, self.outcome, first, self.tags)
        return [int(queue) for queue in queues]

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


def singles(limits: np.ndarray) -> np.ndarray:
    """uint8[L]: lanes with a single queue, which the tests write behind a lane's limits."""
    return limits[:, kernel.N_LIMITS].astype(np.uint8)


def compare(requests: list[list[int]], limits: list[Limits], seed: int) -> list[NaiveManager]:
    """Every step of `decide_lanes` and `serve_lanes` against the naive caches, then the whole trace in one go."""
    pages = pages_of(requests)
    rng = np.random.default_rng(seed)
    # Few distinct values, so that equal durations and outputs at the threshold are common.
    outputs = (rng.integers(0, 5, (len(requests), len(limits), 4)) / 4).astype(np.float32)
    cut = (rng.integers(1, 4, (len(requests), len(limits))) / 4).astype(np.float32)
    op = rng.integers(0, 2, len(requests)).astype(np.uint8)
    lanes = Lanes(pages.n_pages, limits, len(pages.page_ids))
    naive = [NaiveManager(*row) for row in limits]
    decisions = np.zeros((len(requests), len(limits)), np.int32)
    evictions = np.zeros((len(requests), len(limits), 2), np.int64)
    for i, request in enumerate(lists_of(pages)):
        first = int(pages.request_start[i])
        kernel.decide_lanes(outputs[i], cut[i], singles(lanes.limits), decisions[i])
        got = lanes.serve(request, bool(op[i]), decisions[i].tolist(), first)
        for lane, manager in enumerate(naive):
            queue = manager.decide(outputs[i, lane].tolist(), float(cut[i, lane]))
            assert decisions[i, lane] == queue
            outcome, decided, tags = manager.serve(request, bool(op[i]), queue)
            assert lanes.outcome[lane, first : first + len(request)].tolist() == outcome
            assert got[lane] == decided
            assert lanes.tags[lane].tolist() == list(tags)
            evictions[i, lane] = manager.counts["evictions"], manager.counts["dirty_evictions"]
            same_state(lanes, lane, manager)
        decisions[i] = got
    whole_trace(pages, lanes, (outputs, cut, op), decisions, evictions)
    return naive


def whole_trace(
    pages: PageAccesses, stepped: Lanes, drawn: tuple[np.ndarray, ...], decisions: np.ndarray, evictions: np.ndarray
) -> None:
    """`decide_all` and `serve_all` leave behind what the steps did."""
    outputs, cut, op = drawn
    lanes = Lanes(pages.n_pages, [tuple(row) for row in stepped.limits.tolist()], len(pages.page_ids))
    queues, seen = np.full_like(decisions, 7), np.full_like(evictions, 7)
    # The lanes' outputs in another order, and one that no lane reads.
    lane_of = np.arange(cut.shape[1])[::-1].copy()
    single = np.tile(singles(lanes.limits), (len(cut), 1))
    shuffled = np.concatenate([outputs[:, ::-1], np.ones_like(outputs[:, :1])], axis=1)
    kernel.decide_all(shuffled, lane_of, cut, single, queues)
    kernel.serve_all(lanes.own, pages.request_start, pages.page_ids, op, queues, lanes.outcome, seen)
    np.testing.assert_array_equal(queues, decisions)
    np.testing.assert_array_equal(seen, evictions)
    for name in ("nodes", "stamps", "counters", "outcome"):
        np.testing.assert_array_equal(getattr(lanes, name), getattr(stepped, name), err_msg=name)


LIMITS = st.tuples(
    st.integers(1, 10), st.integers(1, 40), st.sampled_from([0, 1, 20, 50, 99, 100]), *3 * [st.booleans()]
)


@given(page_requests(most=30), st.lists(LIMITS, min_size=1, max_size=3), st.integers(0, 99))
def test_every_step_matches_naive_lists(requests: list[list[int]], limits: list[Limits], seed: int) -> None:
    compare(requests, limits, seed)


@pytest.mark.parametrize(("fill", "requeue", "single"), RULES)
def test_every_step_matches_naive_lists_on_a_longer_trace(fill: bool, requeue: bool, single: bool) -> None:
    limits: list[Limits] = [
        (c, periods * c, percent, fill, requeue, single)
        for c, periods, percent in ((1, 5, 20), (2, 5, 20), (3, 1, 50), (8, 5, 20), (8, 2, 99), (25, 5, 20), (25, 2, 0))
    ]
    for manager in compare(seeded_requests(500, 60, 2), limits, 1):
        assert min(manager.counts[name] for name in NAMES) > 0


def one(capacity: int, period: int, percent: int = 0, fill: bool = True, requeue: bool = False) -> Lanes:
    return Lanes(12, [(capacity, period, percent, fill, requeue, False)], 1000)


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
    assert (counters[kernel.EVICTIONS], counters[kernel.DIRTY_EVICTIONS], counters[kernel.WRITE_HITS]) == (3, 2, 1)


@pytest.mark.parametrize("requeue", [False, True])
def test_a_request_larger_than_the_cache(requeue: bool) -> None:
    lanes = one(2, 1000, requeue=requeue)
    lanes.serve([0, 1, 2, 3, 4], True, [2], 0)
    assert lanes.outcome[0, :5].tolist() == [1] * 5
    assert lanes.ring(0, kernel.MEAN - 1, kernel.AFTER) == [4, 3]
    assert lanes.counters[0, kernel.DIRTY_EVICTIONS] == 3
    # Its own missing pages evict the one that it hit.
    lanes.serve([3, 5, 6], False, [2], 5)
    assert lanes.outcome[0, 5:8].tolist() == [2, 1, 1]
    assert lanes.ring(0, kernel.MEAN - 1, kernel.AFTER) == [6, 5]


def test_a_requeued_hit_goes_where_the_decision_says() -> None:
    lanes = one(4, 1000, fill=False, requeue=True)
    for page, queue in enumerate((1, 1, 2, 3)):
        lanes.serve([page], True, [queue], page)
    asked = [lanes.serve([page], False, [queue], 4 + k)[0] for k, (page, queue) in enumerate(((0, 3), (3, 2), (2, 0)))]
    assert asked == [3, 2, 0]
    rings = [lanes.ring(0, queue - 1, kernel.AFTER) for queue in (kernel.SOON, kernel.MEAN, kernel.LATE)]
    assert rings == [[1, 2], [3], [0]]
    assert lanes.tags[0].tolist() == [1, 1, 0, 0]
    assert lanes.counters[0, kernel.USED] == 4 and lanes.counters[0, kernel.EVICTIONS] == 0
    # Not wanted any more, so it is the next victim; its write is still to be made good.
    lanes.serve([4], False, [1], 7)
    assert lanes.nodes[0, kernel.QUEUE, 2] == kernel.ABSENT and lanes.counters[0, kernel.DIRTY_EVICTIONS] == 1


def test_a_requeued_hit_starts_its_clock_anew() -> None:
    seen = {}
    for requeue in (False, True):
        lanes = one(4, 10, requeue=requeue)
        lanes.serve([0], False, [2], 0)
        for k in range(1, 14):
            lanes.serve([0 if k == 6 else 11], False, [2 if k == 6 else 0], k)
            seen[requeue, k] = int(lanes.nodes[0, kernel.QUEUE, 0])
    assert [k for k in range(1, 14) if seen[False, k] == kernel.MEAN] == list(range(1, 9))
    assert all(seen[True, k] == kernel.MEAN for k in range(1, 14))


@pytest.mark.parametrize(
    ("outputs", "three", "single"),
    [
        ([0.5, 0.2, 0.3, 0.5], 3, 2),
        ([0.5, 0.4, 0.4, 0.2], 1, 2),
        ([0.5, 0.2, 0.4, 0.4], 2, 2),
        ([0.49, 0.0, 1.0, 0.0], 0, 0),
    ],
)
def test_decides_at_or_above_the_threshold_and_equals_go_sooner(outputs: list[float], three: int, single: int) -> None:
    queues = np.zeros(2, np.int32)
    thresholds, single_queue = np.full(2, 0.5, np.float32), np.array([0, 1], np.uint8)
    kernel.decide_lanes(np.array([outputs] * 2, np.float32), thresholds, single_queue, queues)
    assert queues.tolist() == [three, single]


def test_a_single_queue_still_fills_free_space_through_soon() -> None:
    lanes = Lanes(12, [(2, 1000, 0, True, False, True)], 1000)
    lanes.serve([0], False, [0], 0)
    lanes.serve([1], False, [2], 1)
    assert lanes.nodes[0, kernel.QUEUE, :2].tolist() == [kernel.SOON, kernel.MEAN]


def reconfigured(requests: list[list[int]], limits: list[Limits], seed: int, every: int) -> int:
    """Serve a trace under changing limits, the queues rebuilt at times, against the naive cache; pages that moved."""
    pages = pages_of(requests)
    rng = np.random.default_rng(seed)
    lanes, naive = Lanes(pages.n_pages, [limits[0], limits[0]], len(pages.page_ids)), NaiveManager(*limits[0])
    untouched = [array[0].copy() for array in (lanes.nodes, lanes.stamps, lanes.counters)]
    last: dict[int, int] = {}
    stamps: dict[int, int] = {}
    moved = 0
    for i, request in enumerate(lists_of(pages)):
        first = int(pages.request_start[i])
        if i and i % every == 0:
            row = limits[i // every % len(limits)]
            lanes.limits[1] = row
            naive.capacity, naive.period, naive.percent, naive.fill, naive.requeue, naive.single = row
            held = sorted((page for page in last if naive.where(page)), key=last.__getitem__)
            wanted = {page: int(rng.integers(0, 4)) for page in held}
            before, dirty = naive.counts.copy(), set(naive.dirty)
            drop = i // every % 2 == 0
            want = naive.reconfigure(wanted, last, stamps, drop)
            got = kernel.requeue(
                lanes.own, 1, np.array(held, np.int32), np.array(list(wanted.values()), np.int32),
                np.array([stamps[page] for page in held], np.int64), int(drop),
            )  # fmt: skip
            assert got == want
            assert drop or (before, dirty) == (naive.counts, naive.dirty)
            same_state(lanes, 1, naive)
            moved += got
        last |= {page: first + k for k, page in enumerate(request)}
        stamps |= dict.fromkeys(request, first)
        queue, write = int(rng.integers(0, 4)), bool(rng.integers(0, 2))
        decisions = np.array([queue], np.int32)
        lane = kernel.State(*(array[1:] for array in lanes.own))
        kernel.serve_lanes(
            lane, np.array(request, np.int32), int(write), decisions, lanes.outcome[1:], first, lanes.tags
        )
        assert lanes.outcome[1, first : first + len(request)].tolist() == naive.serve(request, write, queue)[0]
        same_state(lanes, 1, naive)
    for array, was in zip((lanes.nodes, lanes.stamps, lanes.counters), untouched, strict=True):
        np.testing.assert_array_equal(array[0], was)
    return moved


@given(page_requests(most=30), st.lists(LIMITS, min_size=1, max_size=3), st.integers(0, 99), st.integers(1, 8))
def test_queues_rebuilt_match_naive_lists(
    requests: list[list[int]], limits: list[Limits], seed: int, every: int
) -> None:
    capacity = limits[0][0]
    reconfigured(requests, [(capacity, *row[1:]) for row in limits], seed, every)


def test_queues_rebuilt_match_naive_lists_on_a_longer_trace() -> None:
    limits: list[Limits] = [
        (25, 125, 20, True, False, False),
        (25, 50, 99, False, True, False),
        (25, 9, 0, True, False, True),
    ]
    assert reconfigured(seeded_requests(500, 60, 2), limits, 1, 23) > 100


def test_a_page_that_the_new_model_does_not_want_is_the_next_victim() -> None:
    lanes = one(4, 1000, fill=False)
    for page, queue in enumerate((3, 3, 2, 1)):
        lanes.serve([page], True, [queue], page)
    held, stamps = np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int64)
    assert kernel.requeue(lanes.own, 0, held, np.array([2, 0, 2, 0], np.int32), stamps, 0) == 2
    assert [lanes.ring(0, queue - 1, kernel.AFTER) for queue in (1, 2, 3)] == [[3, 1], [2, 0], []]
    lanes.serve([4], False, [3], 4)
    assert lanes.nodes[0, kernel.QUEUE, 1] == kernel.ABSENT
    assert lanes.counters[0, kernel.DIRTY_EVICTIONS] == 1


def test_a_page_put_elsewhere_has_had_its_clock_running_since_its_last_access() -> None:
    lanes = one(4, 10)
    lanes.serve([0], False, [1], 0)
    for k in range(1, 6):
        lanes.serve([11], False, [0], k)
    resident = np.array([0, 11], np.int32)
    kernel.requeue(lanes.own, 0, resident, np.array([3, 3], np.int32), np.array([0, 5], np.int64), 0)
    seen = []
    for k in range(6, 20):
        lanes.serve([10], False, [0], k)
        seen.append(lanes.nodes[0, kernel.QUEUE, resident].tolist())
    assert seen.index([2, 3]) == 10 - 6 - 1
    assert seen.index([2, 2]) == 15 - 6 - 1


def test_pages_that_the_new_model_does_not_want_leave_their_space_free() -> None:
    lanes = one(4, 1000)
    for page, queue in enumerate((3, 3, 2, 1)):
        lanes.serve([page], page < 2, [queue], page)
    held, stamps = np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int64)
    assert kernel.requeue(lanes.own, 0, held, np.array([2, 0, 2, 0], np.int32), stamps, 1) == 3
    assert [lanes.ring(0, queue - 1, kernel.AFTER) for queue in (1, 2, 3)] == [[], [2, 0], []]
    counters = lanes.counters[0]
    assert (counters[kernel.USED], counters[kernel.EVICTIONS], counters[kernel.DIRTY_EVICTIONS]) == (2, 2, 1)
    lanes.serve([4], False, [0], 4)
    assert lanes.nodes[0, kernel.QUEUE, 4] == kernel.SOON
    assert (counters[kernel.USED], counters[kernel.EVICTIONS]) == (3, 2)

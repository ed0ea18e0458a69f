import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.features import reuse
from cachezoo.features.reuse import input_rows, without_origin
from cachezoo.kernels.evict import worth
from cachezoo.kernels.reuse import hazards, past
from cachezoo.kernels.reuse.past import Asked
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition, Eviction
from cachezoo.policies.engine import simulate
from cachezoo.policies.stream import Stream
from tests.oracles import reuse as oracle


def asked(seed: int, requests: int = 45, pages: int = 25) -> Asked:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, requests)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    firsts = rng.integers(0, pages - 4, requests)
    ids = np.concatenate([np.arange(first, first + size) for first, size in zip(firsts, sizes, strict=True)])
    return Asked(
        start, ids.astype(np.int32), rng.integers(0, 2, requests).astype(np.uint8),
        rng.integers(0, 2, requests).astype(np.uint8), rng.integers(0, 3, requests).astype(np.int32),
        rng.choice([0, 1, 2, 3, 5, 8], requests).astype(np.uint8), (np.arange(pages) // 4).astype(np.int32),
        (np.arange(pages) // 8).astype(np.int32),
    )  # fmt: skip


@pytest.mark.parametrize("capacity", [1, 3, 7, 20])
@pytest.mark.parametrize("seed", range(4))
def test_inputs_are_the_naive_ones(seed: int, capacity: int) -> None:
    own = asked(seed)
    np.testing.assert_allclose(input_rows(own, capacity), oracle.input_rows(own, capacity), rtol=1e-5, atol=1e-6)


def test_inputs_see_nothing_of_what_comes_later() -> None:
    own = asked(5)
    cut = 30
    head = own._replace(
        start=own.start[: cut + 1], page_ids=own.page_ids[: own.start[cut]], op=own.op[:cut],
        follows=own.follows[:cut], process=own.process[:cut], flags=own.flags[:cut],
    )  # fmt: skip
    np.testing.assert_array_equal(input_rows(own, 6)[: own.start[cut]], input_rows(head, 6))


@pytest.mark.parametrize("every", [1, 7, 1000])
def test_rows_of_some_accesses_are_those_of_all(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "AT_ONCE", every)
    own = asked(6)
    whole, rng = input_rows(own, 6), np.random.default_rng(every)
    for share in (0.0, 0.2, 1.0):
        of = np.flatnonzero(rng.random(len(whole)) < share)
        np.testing.assert_array_equal(input_rows(own, 6, of), whole[of])


def test_places_of_pages_are_those_of_their_requests() -> None:
    start, ids = np.array([0, 2, 3, 5], np.int64), np.array([0, 1, 2, 1, 3], np.int32)
    volume, first = np.array([0, 4, 0], np.int64), np.array([7, 1, 8], np.int64)
    assert past.places(start, ids, volume, first, 4).tolist() == [[0, 0, 4, 0], [7, 8, 1, 9]]


def test_what_is_not_counted_yet_is_remembered_over_any_capacity() -> None:
    own = asked(8, 400)
    state = past.make(own, 3)
    assert len(own.page_ids) > 10 * len(state.again)
    np.testing.assert_allclose(input_rows(own, 3), oracle.input_rows(own, 3), rtol=1e-5, atol=1e-6)


def test_without_origin_processes_and_flags_do_not_show() -> None:
    own = asked(7)
    other = own._replace(process=np.zeros_like(own.process), flags=np.full_like(own.flags, 2))
    np.testing.assert_array_equal(input_rows(without_origin(own), 5), input_rows(without_origin(other), 5))
    assert (input_rows(own, 5) != input_rows(without_origin(own), 5)).any()


def served(page_ids: list[int], classes: list[int], capacity: int, candidates: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(3)
    events = rng.random((4, hazards.BINS)) * 3
    prior = events, events + rng.random((4, hazards.BINS)) * 5
    n_pages = max(page_ids) + 1
    stream = Stream.of_pages(np.array(page_ids, np.int32), n_pages)
    eviction = Eviction(
        "worth", "",
        lambda stream, capacity, _: worth.make(
            hazards.make(np.array(classes, np.uint8), n_pages, capacity, prior),
            capacity, candidates, 9,
        ),
        worth.has, worth.touch, worth.insert,
    )  # fmt: skip
    run = simulate(Composition(eviction, ACCEPT_ALL), stream, capacity)
    cache = oracle.Cache(page_ids, classes, capacity, prior, candidates, 9)
    assert [cache.serve(page, i) for i, page in enumerate(page_ids)] == list(
        zip(run.outcome.tolist(), run.victim.tolist(), strict=True)
    )
    return run.outcome.tolist(), run.victim.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=1, max_size=120),
    st.integers(1, 9), st.sampled_from([1, 3, 64]),
)  # fmt: skip
def test_the_cache_is_the_naive_one(accesses: list[tuple[int, int]], capacity: int, candidates: int) -> None:
    pages, classes = (list(column) for column in zip(*accesses, strict=True))
    served(pages, classes, capacity, candidates)


@pytest.mark.parametrize(("capacity", "candidates"), [(8, 4), (40, 8), (40, 64)])
def test_the_cache_is_the_naive_one_over_many_capacities(capacity: int, candidates: int) -> None:
    rng = np.random.default_rng(capacity + candidates)
    pages, classes = (rng.zipf(1.3, 1500) % 150).tolist(), rng.integers(0, 4, 1500).tolist()
    outcome, victim = served(pages, classes, capacity, candidates)
    assert {1, 2} <= set(outcome)
    assert max(victim) >= 0


def test_ages_beyond_the_last_bin_stay_in_it() -> None:
    edges = hazards.edges_of(640)
    assert (np.diff(edges) > 0).all()
    assert [hazards.bin_of(age, 10.0) for age in (1, 10, 11, 14, 15, 10**9)] == [0, 0, 1, 1, 2, hazards.BINS - 1]

"""What enters the compiled loops is checked once: they look nothing up, and an id outside would be another's memory."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.curves.curve import lru_curve
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.engine import hits_only, simulate
from cachezoo.policies.registry import policy
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream, dense_ids
from cachezoo.traces.pages import PageAccesses

RAW = np.random.default_rng(0).zipf(1.2, 20_000) % 50_000
DENSE = np.unique(RAW, return_inverse=True)[1]
PAGES = int(DENSE.max()) + 1
HASHED = RAW.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
OUTSIDE = {
    "too few pages": (RAW, 100),
    "hashes": (HASHED, PAGES),
    "hashes with a sign": (HASHED.astype(np.int64), PAGES),
    "below 0": (DENSE - 5, PAGES),
    "one past the last": (DENSE, PAGES - 1),
}
NO_IDS = {"fractions": DENSE.astype(float), "texts": DENSE.astype(str), "a table": DENSE.reshape(-1, 2)}


def hit_ratio(ids, n_pages=PAGES, capacity=500, name="lru"):
    run = simulate(parse(name).composition(), Stream.of_pages(ids, n_pages), capacity)
    return float((run.outcome == HIT).mean())


@pytest.mark.parametrize("case", OUTSIDE)
def test_ids_outside_are_refused_wherever_they_enter(case):
    ids, n_pages = OUTSIDE[case]
    sound = Stream.of_pages(DENSE, PAGES)
    for enter in (
        lambda: Stream.of_pages(ids, n_pages),
        lambda: replace(sound, page_ids=ids, n_pages=n_pages),
        lambda: hits_only(parse("lru").composition(), ids, n_pages, 500),
        lambda: policy("belady_bypass").hits(ids, n_pages, 500),
        lambda: lru_curve(PageAccesses(np.arange(len(ids) + 1), ids, n_pages), [500]),
        lambda: policy("static_hindsight").hits(ids, n_pages, 500),
    ):
        with pytest.raises(ConfigError, match=r"page ids lie in \[0, n_pages\)"):
            enter()


@pytest.mark.parametrize("case", NO_IDS)
def test_what_is_no_row_of_whole_numbers_is_refused(case):
    with pytest.raises(ConfigError, match="a whole number an access"):
        Stream.of_pages(NO_IDS[case], PAGES)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint64, np.int16, list])
def test_ids_of_any_width_count_the_same(kind):
    ids = DENSE.tolist() if kind is list else DENSE.astype(kind)
    assert hit_ratio(ids) == 0.65675
    assert (hits_only(parse("lru").composition(), ids, PAGES, 500) == HIT).mean() == 0.65675


def test_sound_ids_are_taken_as_they_are():
    ids = DENSE.astype(np.int32)
    assert Stream.of_pages(ids, PAGES).page_ids is ids
    assert len(dense_ids([], 0)) == 0


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(ConfigError, match="one of each an access"):
        replace(Stream.of_pages([0, 1, 0], 2), flags=np.zeros(2, np.uint8))


@pytest.mark.parametrize("capacity", [0, -3, 500.0, "500", None])
def test_a_capacity_is_a_whole_number_of_pages(capacity):
    with pytest.raises(ConfigError, match="capacity"):
        hit_ratio(DENSE, capacity=capacity)
    with pytest.raises(ConfigError, match="capacity"):
        policy("belady").hits(DENSE, PAGES, capacity)


def test_a_capacity_of_numpy_is_one_too():
    assert hit_ratio(DENSE, capacity=np.int64(500)) == hit_ratio(DENSE, capacity=np.int32(500)) == 0.65675

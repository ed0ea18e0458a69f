import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.policies.registry import POLICIES, Policy, build, policy
from cachezoo.policies.simulate import auto_warmup, parse_capacity, parse_warmup, simulate
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Coded, Trace, TraceMeta

META = TraceMeta("t", "web", "csv", "0" * 64)


def _trace(page_numbers, ops=None, pages_each=1):
    n = len(page_numbers)
    return Trace(
        np.arange(n, dtype=np.int64),
        np.array(ops if ops is not None else [0] * n, np.uint8),
        np.array(page_numbers, np.int64) * 4096,
        np.full(n, 4096 * pages_each, np.int64),
        Coded.constant("0", n),
        META,
    )


def test_counts_hits_and_writes_by_hand():
    trace = _trace([1, 2, 1, 3, 2], ops=[0, 1, 1, 0, 0])
    result = simulate(trace, expand_pages(trace), "lru", 2, 0)
    assert (result.requests, result.page_accesses, result.hits) == (5, 5, 1)
    assert result.ssd_writes == 4 + 1  # four admissions, one write hit


def test_warmup_is_replayed_and_not_counted():
    trace = _trace([1, 2, 1, 2], pages_each=1)
    result = simulate(trace, expand_pages(trace), "lru", 2, 2)
    assert (result.requests, result.page_accesses, result.hits, result.hit_ratio) == (2, 2, 2, 1.0)


def test_warmup_auto_is_when_the_cache_is_full_within_its_bounds():
    pages = expand_pages(_trace([*range(20)] * 5))
    assert auto_warmup(pages, 15) == 15
    assert auto_warmup(pages, 2) == 10
    assert auto_warmup(pages, 10_000) == 33


@pytest.mark.parametrize(("text", "pages"), [("10%", 20), ("0.1%", 1), ("77", 77), ("12.5%", 25)])
def test_capacity(text, pages):
    assert parse_capacity(text, 200) == pages


@pytest.mark.parametrize("text", ["0", "0%", "-3", "ten", "1.5", ""])
def test_bad_capacity_is_refused(text):
    with pytest.raises(ConfigError, match="capacity"):
        parse_capacity(text, 200)


@pytest.mark.parametrize("text", ["x", "-1", "5", "1.5"])
def test_bad_warmup_is_refused(text):
    with pytest.raises(ConfigError, match="warmup"):
        parse_warmup(text, expand_pages(_trace([1, 2, 3, 4, 5])), 2)


def test_unknown_policy_and_zero_capacity_are_refused():
    trace = _trace([1])
    with pytest.raises(ConfigError, match="unknown; use one of fifo, lru"):
        policy("lruu")
    with pytest.raises(ConfigError, match="at least one page"):
        simulate(trace, expand_pages(trace), "lru", 0, 0)


def test_a_duplicate_policy_raises():
    entry = Policy("x", "classic", "x", POLICIES["lru"].run)
    with pytest.raises(ConfigError, match="registered twice"):
        build((entry, entry))

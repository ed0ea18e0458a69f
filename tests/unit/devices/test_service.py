"""What a trace's own service times say of a byte and of a page on the disk."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.profile import load_models
from cachezoo.devices.service import ServiceTimes
from cachezoo.traces.table import Trace, TraceMeta

PAGE = 4096


def trace_of(page: np.ndarray, pages: np.ndarray, op: np.ndarray) -> Trace:
    n = len(page)
    return Trace(
        np.arange(n, dtype=np.int64), op.astype(np.uint8), page.astype(np.int64) * PAGE, pages.astype(np.int64) * PAGE,
        Coded.constant("0", n), TraceMeta("t", "web", "csv", "0" * 64),
    )  # fmt: skip


def test_the_slope_is_the_media_rate_although_large_requests_are_the_sequential_ones() -> None:
    rng = np.random.default_rng(1)
    pages = rng.integers(1, 9, 4000)
    page = rng.integers(0, 1 << 20, 4000)
    for row in range(1, 4000, 4):  # a large request that goes on where the one before ended: no seek
        page[row], pages[row] = page[row - 1] + pages[row - 1], 64
    own = trace_of(page, pages, rng.random(4000) < 0.5)
    device = load_models("wdredpro2tb_850pro")
    hdd = t_hdd_us(own, device.hdd)
    found = ServiceTimes.of(own, hdd, t_ssd_us(own, device.ssd))
    assert found.byte_us == pytest.approx(1 / device.hdd.outer_mb_s, rel=0.1)
    naive = np.polyfit(own.size, hdd, 1)[0]
    assert naive < 0  # of all requests: the larger, the faster
    single = trace_of(rng.integers(0, 1 << 20, 2000), np.ones(2000), np.ones(2000))
    assert found.page_write_us == pytest.approx(t_hdd_us(single, device.hdd).mean(), rel=0.05)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 20), st.booleans()), min_size=1, max_size=30), st.data())
def test_a_span_never_takes_longer_than_the_request_and_never_less_than_the_rest_on_the_ssd(
    rows: list[tuple[int, int, bool]], data: st.DataObject
) -> None:
    own = trace_of(*(np.array(column) for column in zip(*rows, strict=True)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    ssd = rng.random(len(own)) + 0.1
    hdd = ssd + 10 * rng.random(len(own))
    times = ServiceTimes.of(own, hdd, ssd)
    assert times.byte_us >= 0 and times.page_write_us >= 0
    missing = np.array([data.draw(st.integers(0, size)) for _, size, _ in rows], np.int64) * PAGE
    served = times.served(missing)
    assert (served[missing == 0] == ssd[missing == 0]).all()
    assert (served[missing == own.size] == hdd[missing == own.size]).all()
    assert (served <= hdd).all() and (served >= ssd).all()


def test_equal_sizes_say_nothing_of_a_byte() -> None:
    own = trace_of(np.array([5, 9, 2]), np.ones(3), np.array([0, 0, 0]))
    times = ServiceTimes.of(own, np.array([3.0, 5.0, 4.0]), np.ones(3))
    assert times.byte_us == 0.0
    assert times.page_write_us == pytest.approx(4.0)  # of reads, where nothing is written


@given(st.integers(0, 1 << 30))
def test_the_slope_is_of_exact_sums_so_that_no_order_and_no_count_of_threads_is_in_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 3000))
    size, times = rng.integers(1, 64, n) * PAGE, rng.random(n) * 1e4
    size[0] = 65 * PAGE  # they differ
    own = trace_of(np.arange(n) * 1000, size // PAGE, np.zeros(n))
    found = ServiceTimes.of(own, times, np.zeros(n)).byte_us
    apart = size - size.mean()
    exact = [sum(Fraction(each) for each in (apart * other).tolist()) for other in (times, apart)]
    assert found == max(float(exact[0]) / float(exact[1]), 0.0)

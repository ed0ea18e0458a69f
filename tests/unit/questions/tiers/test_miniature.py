"""A sample has nearly the figures of all pages, all pages have exactly these."""

import numpy as np
import pytest

from cachezoo.questions.tiers.bench import Bench
from cachezoo.questions.tiers.budget import LEAST_BUFFER, Point, shrunk
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.miniature import Miniature
from cachezoo.questions.tiers.run import counts, run_shared, run_tiers
from cachezoo.settings.prices import BUILT_IN
from cachezoo.sizes import PAGE_BYTES
from tests.tiers_data import DEVICE, skewed

POINTS = [
    Point(parse_hierarchy(text), ram, ssd)
    for text, ram, ssd in (
        ("lru", 300, 0), ("hcalfu | tb=64K | lru", 100, 600), ("hcalfu | tb=64K | lru", 100, 900),
        ("promotion: arc | s3fifo", 100, 600), ("inclusive: lru | lru", 150, 600), ("l2arc", 100, 500),
    )
]  # fmt: skip


def miniature(stream, first, most):
    return Miniature.of(Bench.of("t", stream, DEVICE, BUILT_IN, first=first), most)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.hierarchy}-{point.ssd_pages}")
def test_what_is_shared_changes_no_run(point):
    stream = skewed()
    for one in [*POINTS, point]:
        found = run_shared(one, stream)
    alone = run_tiers(point.hierarchy, stream, point.ram_pages, point.ssd_pages)
    assert np.array_equal(found.tier, alone.tier) and np.array_equal(found.event_page, alone.event_page)


def test_of_all_pages_shares_are_counts():
    stream, first = skewed(), 10_000
    whole = miniature(stream, first, 10**9)
    assert whole.rate == 1
    for point, found in zip(POINTS, whole.shares(POINTS), strict=True):
        counted = counts(run_shared(point, stream), stream, first)
        assert (found.rhr, found.shr, found.dhr) == pytest.approx((counted.rhr, counted.shr, counted.dhr))
        assert found.disk_us > 0
        assert found.written * counted.reads == pytest.approx(counted.ssd_writes)


def test_a_sample_is_near_to_all_pages():
    stream = skewed(n=120_000, pages=20_000)
    points = [Point(one.hierarchy, 10 * one.ram_pages, 10 * one.ssd_pages) for one in POINTS]
    whole, part = (miniature(stream, 40_000, most) for most in (10**9, 30_000))
    assert 0.1 < part.rate < 0.5 and len(part.stream) < 60_000
    for point, every, some in zip(points, whole.shares(points), part.shares(points), strict=True):
        assert some.dhr == pytest.approx(every.dhr, abs=0.03)
        # L2ARC's feed looks at as much of a smaller RAM, and so writes more of it.
        assert point.hierarchy.kind == "l2arc" or some.written == pytest.approx(every.written, rel=0.02)
        assert some.rhr + some.shr + some.dhr == pytest.approx(1)


def test_of_few_pages_all_are_taken():
    assert miniature(skewed(pages=900), 10_000, 2000).rate == 1


def test_buffer_and_feed_shrink_with_the_tiers():
    hca, l2arc = (Point(parse_hierarchy(text), 100, 800) for text in ("hca", "l2arc"))
    half = shrunk(hca, 0.5)
    assert (half.hierarchy.buffer_bytes, half.ram_pages, half.ssd_pages) == (8 * PAGE_BYTES, 50, 400)
    assert shrunk(hca, (LEAST_BUFFER - 1) / 16).hierarchy.buffer_bytes == 0
    assert shrunk(l2arc, 0.25).hierarchy.options["rate"] == 2 << 20
    assert shrunk(l2arc, 1.0) == l2arc

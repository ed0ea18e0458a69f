"""A sample says nearly what all pages say; all pages say exactly that."""

import numpy as np
import pytest

from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.run import counts, run_tiers
from cachezoo.questions.tiers.sizing.miniature import Miniature
from cachezoo.questions.tiers.sizing.points import Point
from cachezoo.questions.tiers.sizing.shared import LEAST_BUFFER, Shared, shrunk
from cachezoo.sizes import PAGE_BYTES
from tests.tier_data import skewed
from tests.tiers_data import HDD

POINTS = [
    Point("lru", 300, 0), Point("hcalfu | tb=64K | lru", 100, 600), Point("hcalfu | tb=64K | lru", 100, 900),
    Point("promotion: arc | s3fifo", 100, 600), Point("inclusive: lru | lru", 150, 600), Point("l2arc", 100, 500),
]  # fmt: skip


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.hierarchy)
def test_what_is_shared_changes_no_run(point):
    stream = skewed()
    hierarchy = parse_hierarchy(point.hierarchy)
    shared = Shared(stream)
    for one in [*POINTS, point]:
        found = shared.run(one)
    alone = run_tiers(hierarchy, stream, point.ram_pages, point.ssd_pages)
    assert np.array_equal(found.tier, alone.tier) and np.array_equal(found.event_page, alone.event_page)


def test_of_all_pages_shares_are_counts():
    stream, first = skewed(), 10_000
    whole = Miniature.of(stream, first, HDD, 10**9)
    assert whole.rate == 1
    for point, found in zip(POINTS, whole.shares(POINTS), strict=True):
        run = run_tiers(parse_hierarchy(point.hierarchy), stream, point.ram_pages, point.ssd_pages)
        counted = counts(run, stream, first)
        assert (found.rhr, found.shr, found.dhr) == pytest.approx((counted.rhr, counted.shr, counted.dhr))
        assert found.disk_us > 0


def test_a_sample_is_near_to_all_pages():
    stream = skewed(n=120_000, pages=20_000)
    points = [Point(one.hierarchy, 10 * one.ram_pages, 10 * one.ssd_pages) for one in POINTS]
    whole = Miniature.of(stream, 40_000, HDD, 10**9)
    part = Miniature.of(stream, 40_000, HDD, 30_000)
    assert 0.1 < part.rate < 0.5 and len(part.stream) < 60_000
    for every, some in zip(whole.shares(points), part.shares(points), strict=True):
        assert some.dhr == pytest.approx(every.dhr, abs=0.03)
        assert some.rhr + some.shr + some.dhr == pytest.approx(1)


def test_of_few_pages_all_are_taken():
    assert Miniature.of(skewed(pages=900), 10_000, HDD, 2000).rate == 1


def test_buffer_and_feed_shrink_with_the_tiers():
    assert shrunk(parse_hierarchy("hca"), 0.5).buffer_bytes == 8 * PAGE_BYTES
    assert shrunk(parse_hierarchy("hca"), (LEAST_BUFFER - 1) / 16).buffer_bytes == 0
    assert shrunk(parse_hierarchy("l2arc"), 0.25).options["rate"] == 2 << 20
    assert shrunk(parse_hierarchy("l2arc"), 1.0) == parse_hierarchy("l2arc")

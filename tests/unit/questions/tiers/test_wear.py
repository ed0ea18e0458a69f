"""Wear of a hierarchy's SSD."""

import math

import numpy as np
import pytest

from cachezoo.kernels.ftl import FlashDrive, run_ftl
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.reduced import reduce
from cachezoo.questions.tiers.run import run_tiers
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.questions.tiers.wear import drive_of, random_waf, ssd_wear
from cachezoo.settings.wear import Drive
from tests.page_data import seeded_trace
from tests.tiers_data import DISK_TIER, WRITTEN, run_of, stream_of

DAYS = 86_400e6


@pytest.fixture(scope="module")
def ts():
    return tier_stream(seeded_trace(20_000, 9_000, 1))


def reduced_of(ts, text, ssd=2500, first=None):
    run = run_tiers(parse_hierarchy(text), ts, 300, ssd)
    return reduce(ts, run, len(ts) // 2 if first is None else first)


def test_what_counts_wears_and_what_came_before_only_fills(ts):
    reduced = reduced_of(ts, "lru | lru")
    found = ssd_wear(ts, reduced, 2500)
    whole = ssd_wear(ts, reduced_of(ts, "lru | lru", first=0), 2500)
    assert found.simulated and found.pages_per_block == 8
    assert found.written == (reduced.slot_at >= ts.pages.request_start[reduced.first_request]).sum()
    assert 0 < found.written < whole.written == len(reduced.slots)
    assert found.waf > 1
    assert found.erases == pytest.approx(found.written * found.waf / 7, rel=0.1)
    assert found.drive_writes == pytest.approx(3000 * (2500 / 0.89) / (found.waf * 2500), rel=0.01)


def test_the_lifetime_is_what_can_be_written_at_the_traces_rate(ts):
    reduced = reduced_of(ts, "hca")
    found = ssd_wear(ts, reduced, 2500)
    days = float(ts.trace.time_us[-1] - ts.trace.time_us[reduced.first_request]) / DAYS
    assert found.days == pytest.approx(days)
    assert found.years == pytest.approx(found.drive_writes * 2500 / found.written * days / 365.25)
    assert ssd_wear(ts, reduced, 2500, cycles=1500).years == pytest.approx(found.years / 2)


def test_an_ssd_that_is_never_written_lasts_for_ever(ts):
    found = ssd_wear(ts, reduced_of(ts, "lru"), 0)
    assert (found.written, found.waf, found.erases, found.simulated) == (0, 1, 0, False)
    assert math.isinf(found.years)
    assert found.values()["years"] is None


def test_without_a_clock_no_lifetime_is_known():
    ts = stream_of([(0, k, 1) for k in range(4)], gap_us=0)
    run = run_of([DISK_TIER] * 4, [(k, k, WRITTEN) for k in range(4)])
    found = ssd_wear(ts, reduce(ts, run), 8)
    assert (found.days, found.years, found.written) == (None, None, 4)


def test_a_small_ssd_has_the_bound_of_writes_to_places_drawn_evenly():
    ts = stream_of([(0, k, 1) for k in range(4)])
    run = run_of([DISK_TIER] * 4, [(k, k, WRITTEN) for k in range(4)])
    found = ssd_wear(ts, reduce(ts, run), 8)
    assert not found.simulated
    assert found.waf == pytest.approx(random_waf(Drive().over_provisioning))


def test_the_bound_is_no_less_than_what_is_simulated(ts):
    for text in ("hca", "lru | lru", "promotion: lru | fifo"):
        reduced = reduced_of(ts, text)
        assert ssd_wear(ts, reduced, 2500, simulate=False).waf >= ssd_wear(ts, reduced, 2500).waf


@pytest.mark.parametrize("share", [0.07, 0.11, 0.28])
def test_the_bound_is_that_of_a_drive_that_is_written_at_random(share):
    """Greedy collection does a little better than erasing what was written first, which the formula is of."""
    rng, logical = np.random.default_rng(0), 60_000
    drive = FlashDrive(blocks=round(logical / (1 - share) / 64) + 2, pages_per_block=64, logical_pages=logical,
                       gc_free_blocks=1)  # fmt: skip
    pages = rng.integers(0, logical, 600_000).astype(np.int32)
    found = run_ftl(pages, None, drive, bounds=np.array([300_000, 600_000])).waf()
    assert found <= random_waf(share) <= 1.25 * found


def test_the_drive_keeps_few_of_its_spare_blocks_for_itself():
    assert drive_of(1 << 20, 3000).pages_per_block == 64
    sizes = [own.pages_per_block for own in map(drive_of, (30_000, 15_000, 6_000, 2_500), (1,) * 4)]
    assert sizes == [64, 32, 16, 8]
    assert drive_of(1_000, 3000) is None
    assert drive_of(30_000, 77).cycles == 77

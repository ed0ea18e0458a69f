"""The drive under uniform writes is what theory says of each victim; under hot and cold ones, what papers say."""

from itertools import product

import numpy as np
import pytest

from cachezoo.flash_drive.theory import choices_waf, fifo_waf, full_share
from cachezoo.kernels.ftl import FlashDrive, run_ftl

BOTH, HOW = ("greedy", "cost-benefit"), ("keep", "shared", "apart")
GREEDY = 1000  # blocks drawn, of which the emptiest is as good as the emptiest of all


def drive(victim="greedy", among=1, **more):
    return FlashDrive(1024, 32, 1024 * 32 * 8 // 10, 4, victim=victim, among=among, **more)


def waf(pages, own):
    n = len(pages)
    return run_ftl(pages.astype(np.int32), None, own, bounds=np.array([n // 2, n])).waf()


UNIFORM = np.random.default_rng(0).integers(0, drive().logical_pages, 400_000)


def hot_and_cold(n=400_000):
    """Nine tenths of the writes to a tenth of the addresses."""
    rng = np.random.default_rng(1)
    pages = drive().logical_pages
    return np.where(rng.random(n) < 0.9, rng.integers(0, pages // 10, n), rng.integers(pages // 10, pages, n))


@pytest.mark.parametrize(
    ("victim", "among", "expected", "off"),
    [
        ("greedy", 1, GREEDY, 0.005),
        ("cost-benefit", 1, GREEDY, 0.02),  # nothing is colder than anything else, so that age says nothing
        ("d-choices", 1, 1, 0.01),
        ("d-choices", 2, 2, 0.01),
        ("d-choices", 10, 10, 0.01),
        ("windowed", 1024, GREEDY, 0.005),
    ],
)  # fmt: skip
def test_uniform_writes_are_those_of_the_mean_field(victim, among, expected, off):
    own = drive(victim, among)
    assert waf(UNIFORM, own) == pytest.approx(choices_waf(full_share(own), 32, expected), rel=off)


def test_uniform_writes_of_blocks_in_turn_are_those_of_lamberts_w():
    own = drive("fifo")
    assert waf(UNIFORM, own) == pytest.approx(fifo_waf(full_share(own)), rel=0.01)
    # A window of one block is the same.
    assert waf(UNIFORM, drive("windowed")) == waf(UNIFORM, own)


def test_cost_benefit_is_far_better_than_greedy_where_some_pages_are_hot():
    """Rosenblum and Ousterhout, TOCS 1992, Sec. 3.5: greedy cleans cold segments too late, and worse than by chance."""
    pages = hot_and_cold()
    found = {
        victim: waf(pages, drive(victim, 10))
        for victim in ("greedy", "cost-benefit", "cost-age-times", "d-choices", "fifo")
    }
    assert found["cost-benefit"] < 0.75 * found["greedy"]
    assert found["cost-age-times"] == pytest.approx(found["cost-benefit"], rel=0.03)
    assert found["cost-benefit"] < found["d-choices"] < found["greedy"] < found["fifo"]


def test_copies_in_a_block_of_their_own_help_where_the_victim_heeds_age():
    """What was copied is cold; but greedy cleans it too late wherever it lies."""
    pages = hot_and_cold()
    found = {(victim, copies): waf(pages, drive(victim, copies=copies)) for victim, copies in product(BOTH, HOW)}
    assert found["cost-benefit", "shared"] < 0.98 * found["cost-benefit", "keep"]
    assert found["greedy", "shared"] == pytest.approx(found["greedy", "keep"], rel=0.01)
    # With one stream of the host's, both ways to keep copies apart are the same.
    assert all(found[victim, "apart"] == found[victim, "shared"] for victim in BOTH)


def test_chance_among_equal_victims_moves_write_amplification_but_little():
    pages = hot_and_cold(100_000)
    found = [waf(pages, drive(seed=seed)) for seed in range(4)]
    assert len(set(found)) == 4
    assert max(found) / min(found) < 1.03

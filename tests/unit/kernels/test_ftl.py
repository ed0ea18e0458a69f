import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.ftl import VICTIMS, FlashDrive, run_ftl
from cachezoo.kernels.placing import BY_HOST, NEVER, SepBit, deaths
from tests.oracles import ftl as oracle

FIELDS = ("host", "copied", "erased", "host_by_stream", "copied_by_stream", "erases", "valid", "block")


@st.composite
def cases(draw, sepbit=False):
    streams = 6 if sepbit else draw(st.integers(1, 4))
    free = draw(st.integers(5, 6)) if sepbit else draw(st.integers(1, 3))
    per_block = draw(st.sampled_from([1, 2, 3, 4, 7]))
    data = draw(st.integers(1, 5))
    logical = draw(st.integers(max(1, (data - 1) * per_block), data * per_block))
    copies = draw(st.sampled_from(["keep", "shared", "apart"]))
    drive = FlashDrive(
        blocks=data + free + {"keep": streams, "shared": streams + 1, "apart": 2 * streams}[copies],
        pages_per_block=per_block,
        logical_pages=logical,
        gc_free_blocks=free,
        victim=draw(st.sampled_from(list(VICTIMS))),
        streams=streams,
        wear_slack=draw(st.integers(0, 2)),
        among=draw(st.integers(1, 4)),
        copies=copies,
        seed=draw(st.integers(0, 2)),
    )
    # Long, as blocks must be erased several times; so drawn by a seed.
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    n = draw(st.integers(0, 400))
    pages = np.minimum((rng.random(n) ** draw(st.sampled_from([1, 4])) * logical), logical - 1).astype(np.int32)
    trim = rng.random(n) < draw(st.sampled_from([0.0, 0.2]))
    bounds = np.sort(rng.integers(0, n + 1, draw(st.integers(2, 5))))
    rule = SepBit(draw(st.integers(1, 3)), draw(st.sampled_from([0.5, 1.0])), 2.0) if sepbit else None
    return pages, rng.integers(0, streams, n).astype(np.uint8), drive, bounds, trim, draw(st.booleans()), rule


def run(pages, streams, drive, bounds, trim, prefill, rule):
    return run_ftl(pages, streams, drive, bounds=bounds, trim=trim, prefill=prefill, rule=rule or BY_HOST)


def assert_same(case):
    found, naive = run(*case), oracle.run(*case)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(found, name), getattr(naive, name), err_msg=name)
    return found, naive


@given(case=cases())
def test_the_kernel_is_the_drive_that_is_described(case):
    assert_same(case)


@given(case=cases(sepbit=True))
def test_sepbit_is_the_papers_algorithm(case):
    assert_same(case)


def whole(pages, drive, streams=None, **options):
    return run_ftl(pages.astype(np.int32), streams, drive, bounds=np.array([0, len(pages)]), **options)


@given(case=st.one_of(cases(), cases(sepbit=True)))
def test_no_valid_page_is_lost_and_none_is_there_twice(case):
    pages, streams, drive, _, trim, prefill, rule = case
    found = run(pages, streams, drive, np.array([0, len(pages)]), trim, prefill, rule)
    alive = np.full(drive.logical_pages, prefill)
    for page, gone in zip(pages, trim, strict=True):
        alive[page] = not gone
    np.testing.assert_array_equal(found.block >= 0, alive)
    np.testing.assert_array_equal(np.bincount(found.block[alive], minlength=drive.blocks), found.valid)
    assert found.host.sum() == len(pages) - trim.sum()
    # What was written lies in blocks: each erase made room for a block's worth, and at most that much is there.
    written = found.host.sum() + found.copied.sum() + (drive.logical_pages if prefill else 0)
    there = written - found.erases.sum() * drive.pages_per_block
    assert found.valid.sum() <= there <= drive.blocks * drive.pages_per_block


def test_a_drive_that_is_overwritten_in_order_copies_nothing():
    drive = FlashDrive(40, 8, 240, 2)
    found = whole(np.tile(np.arange(240), 20), drive)
    assert found.waf() == 1.0
    assert found.erases.max() - found.erases.min() <= 2


def hot_and_cold(n, drive, share, seed):
    """`share` of the writes to the lower half of the addresses, in streams by half."""
    rng = np.random.default_rng(seed)
    half = drive.logical_pages // 2
    hot = rng.random(n) < share
    pages = np.where(hot, rng.integers(0, half, n), rng.integers(half, drive.logical_pages, n))
    return pages.astype(np.int32), (~hot).astype(np.uint8)


@pytest.mark.parametrize(("streams", "waf"), [(1, 3.359), (2, 3.243)])
def test_write_amplification_is_that_of_mqsim(streams, waf):
    """568,270 writes, 90 % of them to half the addresses, on 2,048 blocks of which 20 are kept free.

    The figures do not say how many pages a block has, how full the drive is, and what was written before they were
    taken. Assumed here: blocks of 64 pages as everywhere in this project; MQSim's default over-provisioning of 7 %, and
    nine tenths of the rest in use, so that 0.837 of the flash is valid; and as many writes before, because MQSim starts
    from a drive in its steady state. Within these, 63 or 64 pages, or no writes before, move the figures by 2 to 3 %;
    7 % without free addresses would double them.
    """
    n = 568_270
    drive = FlashDrive(2048, 64, round(2048 * 64 * 0.93 * 0.9), 20, streams=2)
    pages, stream = hot_and_cold(2 * n, drive, 0.9, seed=1)
    found = run_ftl(pages, stream if streams == 2 else None, drive, bounds=np.array([n, 2 * n]))
    assert found.host.sum() == n
    assert found.waf() == pytest.approx(waf, rel=0.02)


def test_greedy_is_near_what_theory_says_of_uniform_writes():
    """A drive of many blocks, at rest: the share of valid pages in a victim solves (v - 1) / ln v = 1 - OP."""
    drive = FlashDrive(2048, 64, 2048 * 64 * 8 // 10, 4)
    pages = np.random.default_rng(0).integers(0, drive.logical_pages, 1_500_000).astype(np.int32)
    found = run_ftl(pages, None, drive, bounds=np.array([1_000_000, 1_500_000]))
    assert found.waf() == pytest.approx(1 / (1 - 0.6289), rel=0.03)


def test_a_victim_that_heeds_wear_spreads_the_erases():
    wide = {}
    for victim in ("greedy", "wear"):
        drive = FlashDrive(256, 16, 3200, 4, victim=victim, streams=2, wear_slack=4)
        pages, stream = hot_and_cold(400_000, drive, 0.99, seed=0)
        wide[victim] = whole(pages, drive, stream).erases
    assert np.ptp(wide["wear"]) < np.ptp(wide["greedy"]) / 2
    assert wide["wear"].max() < wide["greedy"].max()


def test_what_dies_together_lies_together():
    """Half of the pages are written again and again in order, the others rarely: with a stream each, few are copied."""
    drive = FlashDrive(64, 8, 400, 2, streams=2)
    rng = np.random.default_rng(0)
    often = np.arange(40_000) % 8 > 0
    pages = np.where(often, np.cumsum(often) % 200, rng.integers(200, 400, 40_000))
    pages, later = pages.astype(np.int32), np.array([20_000, 40_000])
    one = run_ftl(pages, None, drive, bounds=later)
    two = run_ftl(pages, (pages >= 200).astype(np.uint8), drive, bounds=later)
    assert two.copied.sum() < one.copied.sum() / 2
    assert two.copied_by_stream[0] < two.copied_by_stream[1] / 2


def test_trimmed_pages_are_not_copied():
    drive = FlashDrive(64, 8, 400, 2)
    pages = np.random.default_rng(0).integers(0, 200, 20_000)
    gone = np.concatenate([np.arange(200, 400), pages])
    trim = np.arange(len(gone)) < 200
    assert whole(gone, drive, trim=trim).copied.sum() < whole(pages, drive).copied.sum() / 5


PAGES = np.zeros(3, np.int32)
SMALL = FlashDrive(8, 4, 8, 1, streams=2)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"pages": np.array([0, 8, 1], np.int32)}, "pages 0 to 8 are written where the drive has 0 to 7"),
        ({"pages": np.array([0, -1, 1], np.int32)}, "pages -1 to 1 are written"),
        ({"streams": np.array([0, 2, 1], np.uint8)}, "stream 2 is written where the drive has 0 to 1"),
        ({"streams": np.zeros(2, np.uint8)}, "streams has 2 rows where 3 pages are written"),
        ({"trim": np.zeros(4, np.bool_)}, "trim has 4 rows"),
        ({"bounds": np.array([0, 4])}, "at least two, rising, within 0 and 3"),
        ({"bounds": np.array([2, 1])}, "rising"),
        ({"bounds": np.array([2])}, "at least two"),
        ({"rule": SepBit()}, "SepBit on a drive with 2 streams that keeps 1 blocks free"),
    ],
)
def test_what_a_drive_cannot_run_is_refused(wrong, said):
    given_ = {"pages": PAGES, "streams": None, "bounds": np.array([0, 3])} | wrong
    with pytest.raises(ConfigError, match=said):
        run_ftl(given_.pop("pages"), given_.pop("streams"), SMALL, **given_)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((8, 4, 25, 1), "has 6 for data, less 1 free and 1 open ones: too few for 25 pages"),
        ((8, 4, 8, 0), "gc_free_blocks 0: it is at least 1"),
        ((8, 4, 8, 12), "has 0 for data"),
        ((1 << 26, 64, 8, 1), "too many to number"),
    ],
)
def test_a_drive_that_cannot_be_is_refused(sizes, said):
    with pytest.raises(ConfigError, match=said):
        FlashDrive(*sizes)


@pytest.mark.parametrize("rule", [(0, 4.0, 16.0), (16, 0.0, 16.0), (16, 17.0, 16.0)])
def test_sepbit_is_set_sensibly(rule):
    with pytest.raises(ConfigError, match="collected is at least 1, and 0 < young <= old"):
        SepBit(*rule)


@given(case=cases())
def test_deaths_are_those_that_come(case):
    pages, _, drive, _, trim, prefill, _ = case
    start = drive.logical_pages if prefill else 0
    found = np.zeros(len(pages), np.int64)
    first = deaths(pages, trim, drive.logical_pages, start, found)
    times = start + np.cumsum(~trim) - (~trim)  # of each write; of a trim that of the next one

    def next_of(page, after):
        return next((times[j] for j in range(after, len(pages)) if pages[j] == page), NEVER)

    for i in np.flatnonzero(~trim):
        assert found[i] == next_of(pages[i], i + 1)
    np.testing.assert_array_equal(first, [next_of(page, 0) for page in range(drive.logical_pages)])

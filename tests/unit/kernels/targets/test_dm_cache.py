"""dm-cache's policy smq: against a naive one, and as its source behaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.targets.dm_cache import Request, Setup, Volume, dm_cache
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE
from cachezoo.kernels.tiers import DISK, SSD
from tests.oracles.targets.dm_cache import dm_cache as naive

SECOND = 1_000_000


def served(requests, per_block, setup):
    """Found, I/Os of one page each, and dirty pages, of requests (first page, pages, write, µs)."""
    first, pages, write, time_us = (np.array(column) for column in zip(*requests, strict=True))
    touched = np.concatenate([np.arange(a, a + n) for a, n in zip(first, pages, strict=True)])
    known, page = np.unique(touched, return_inverse=True)
    blocks, block = np.unique(known // per_block, return_inverse=True)
    _, hot = np.unique(blocks // setup.hot_blocks, return_inverse=True)
    request = Request(
        np.concatenate([[0], np.cumsum(pages)]), page.astype(np.int32), write.astype(bool), time_us.astype(np.int64)
    )
    volume = Volume(
        block.astype(np.int32),
        (known % per_block).astype(np.int32),
        blocks * per_block,
        hot.astype(np.int32),
        per_block,
    )
    found, log, dirty = dm_cache(request, volume, setup)
    used = log.used[0]
    ios = [
        (int(code), int(r), int(place) + k)
        for code, r, place, pages in zip(*(column[:used] for column in log[:4]), strict=True)
        for k in range(pages)
    ]
    return found.tolist(), ios, dirty.tolist()


def read(page, at, pages=1):
    return (page, pages, False, at)


def written(page, at, pages=1):
    return (page, pages, True, at)


waits = st.sampled_from([0, 1000, 300_000, 1_100_000, 3_000_000, 11_000_000, 61_000_000])
request = st.tuples(st.integers(0, 90), st.integers(1, 9), st.booleans(), waits)
setups = st.builds(
    Setup, st.integers(1, 12), st.integers(1, 6), st.sampled_from([1, 2, 4]), st.booleans(), st.booleans(),
    st.sampled_from([1, 400_000]),
)  # fmt: skip


@given(st.lists(request, min_size=1, max_size=120), st.sampled_from([1, 2, 4]), setups)
def test_it_is_the_naive_one(requests, per_block, setup):
    times = np.cumsum([one[3] for one in requests]).tolist()
    timed = [(*one[:3], at) for one, at in zip(requests, times, strict=True)]
    assert served(timed, per_block, setup) == naive(timed, per_block, *setup)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_naive_one_over_many_requests(seed):
    rng = np.random.default_rng(seed)
    n = 3000
    first = np.minimum(rng.zipf(1.2, n), 400) + rng.integers(0, 5, n)
    requests = list(
        zip(
            first.tolist(), rng.integers(1, 12, n).tolist(), (rng.random(n) < 0.4).tolist(),
            np.cumsum(rng.exponential(60_000, n).astype(int)).tolist(), strict=True,
        )
    )  # fmt: skip
    setup = Setup(24, 20, 4, bool(seed % 2), True, 15_000)
    assert served(requests, 4, setup) == naive(requests, 4, *setup)


@pytest.mark.parametrize("idle", [False, True])
def test_it_is_the_naive_one_over_long_times_without_a_request(idle):
    rng = np.random.default_rng(int(idle))
    times = np.cumsum(np.where(rng.random(200) < 0.05, rng.integers(100, 700, 200) * SECOND, 300_000))
    requests = [
        (int(page), 4, bool(write), int(at))
        for page, write, at in zip(rng.integers(0, 20, 200) * 4, rng.random(200) < 0.4, times, strict=True)
    ]
    setup = Setup(12, 6, 2, True, idle, 15_000)
    assert served(requests, 4, setup) == naive(requests, 4, *setup)


def heated(seconds, block=0, per_block=4):
    """Reads of a block, ten a second."""
    return [read(block * per_block, k * SECOND // 10) for k in range(10 * seconds)]


LARGE = Setup(64, 1024, 1, True, True, 10_000)


def test_years_without_a_request_are_passed_over():
    year = 365 * 86_400 * SECOND
    requests = [*heated(30), *(read(0, k * year) for k in range(1, 100))]
    assert set(served(requests, 4, LARGE)[0][-99:]) == {SSD}


def test_a_hot_block_is_promoted_by_its_second_second_and_a_scan_is_not():
    requests = sorted(heated(30) + [read(4 * (100 + k), k * 50_000) for k in range(600)], key=lambda one: one[3])
    found, ios, _ = served(requests, 4, LARGE)
    filled = {place // 4 for code, _, place in ios if code == LATER}
    assert filled == {0}
    hot = [where for where, one in zip(found, requests, strict=True) if one[0] == 0]
    assert hot[0] == DISK and hot[-1] == SSD


def test_what_is_promoted_is_copied_whole_after_the_request():
    requests = heated(30)
    found, ios, _ = served(requests, 4, LARGE)
    r = found.index(SSD) - 1
    mine = [(code, place) for code, request, place in ios if request == r]
    slot = 63 * 4
    assert mine == [(0, 0), *((LATER, k) for k in range(4)), *((LATER | ON_SSD | WRITE, slot + k) for k in range(4))]


def test_nothing_is_promoted_within_the_first_second():
    found, ios, _ = served([read(0, k) for k in range(1000)], 4, LARGE)
    assert set(found) == {DISK} and len(ios) == 1000


def test_a_whole_block_is_written_to_the_ssd_alone_while_there_is_room():
    requests = [written(4 * k, k, 4) for k in range(5)]
    _, ios, dirty = served(requests, 4, Setup(4, 1024, 1, True, True, 10_000))
    assert {code for code, r, _ in ios if r < 4} == {WRITE | ON_SSD}
    assert {code for code, r, _ in ios if r == 4} == {WRITE}
    assert dirty == [4, 8, 12, 16, 16]
    _, ios, dirty = served(requests, 4, Setup(4, 1024, 1, False, True, 10_000))
    assert {code for code, _, _ in ios} == {WRITE} and set(dirty) == {0}


def test_write_through_writes_both_devices_and_write_back_one():
    requests = [*heated(30), written(1, 31 * SECOND)]
    for back, codes in ((True, {WRITE | ON_SSD}), (False, {WRITE, WRITE | ON_SSD})):
        _, ios, dirty = served(requests, 4, LARGE._replace(back=back))
        assert {code for code, r, _ in ios if r == len(requests) - 1} == codes
        assert dirty[-1] == (4 if back else 0)


def test_dirty_blocks_are_copied_back_once_the_disk_is_idle_for_a_second():
    fill = [written(4 * k, 0, 4) for k in range(8)]
    busy = [read(1000 + k, 100_000 * k) for k in range(60)]
    _, ios, dirty = served([*fill, *busy, read(2000, 7 * SECOND)], 4, LARGE)
    assert set(dirty[len(fill) : -1]) == {32}
    assert dirty[-1] < 32
    assert sum(code == WRITE | LATER for code, _, _ in ios) + dirty[-1] == 32
    _, ios, dirty = served([*fill, *busy, read(2000, 7 * SECOND)], 4, LARGE._replace(idle=False))
    assert dirty[-1] == 32


def test_hits_on_the_ssd_do_not_keep_the_disk_busy():
    fill = [written(4 * k, 0, 4) for k in range(8)]
    hits = [read(0, 100_000 * k) for k in range(1, 60)]
    _, _, dirty = served([*fill, *hits], 4, LARGE)
    assert dirty[-1] == 0


def test_a_cache_of_fewer_than_four_blocks_lets_nothing_go():
    requests = sorted(
        [one for block in range(6) for one in heated(200, block)], key=lambda one: one[3]
    )  # fmt: skip
    _, ios, _ = served(requests, 4, Setup(3, 1024, 1, False, True, 10_000))
    assert sum(code == LATER for code, _, _ in ios) == 3 * 4

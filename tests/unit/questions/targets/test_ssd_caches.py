"""dm-cache and bcache as `recommend --for` runs them: traces in, I/Os out, and the commands."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE
from cachezoo.kernels.tiers import DISK
from cachezoo.questions.targets.bcache import BCACHE, bucket_pages, requests_of
from cachezoo.questions.targets.dm_cache import DM_CACHE, hotspots
from cachezoo.questions.targets.target import Devices, Sizes
from cachezoo.questions.tiers.stream import tier_stream
from tests.tiers_data import skewed

SIZES = Sizes(200)
DEVICES = Devices("/dev/sda", "/dev/nvme0n1", "fast")
CASES = [(target, mode.id) for target in (DM_CACHE, BCACHE) for mode in target.modes if mode.writes != "none"]


@pytest.fixture(scope="module")
def stream():
    return skewed(4000)


@pytest.mark.parametrize(("target", "mode"), CASES, ids=lambda own: getattr(own, "id", own))
def test_a_run_reads_and_writes_what_the_trace_asks(stream, target, mode):
    run = target.run(stream, SIZES, mode, target.defaults)
    waits = run.code & LATER == 0
    pages = {
        code: int(run.pages[waits & (run.code == code)].sum()) for code in (0, ON_SSD, WRITE, WRITE | ON_SSD)
    }  # fmt: skip
    reads = ~stream.write
    assert pages[0] == int(reads[run.found == DISK].sum())
    assert pages[0] + pages[ON_SSD] == int(reads.sum())
    through = target.mode(mode).writes != "back"
    if through:
        assert pages[WRITE] == int(stream.write.sum()) and not run.dirty.any()
    else:
        assert pages[WRITE] + pages[WRITE | ON_SSD] >= int(stream.write.sum()) and run.dirty.any()
    held = run.code & ON_SSD != 0
    assert (run.place[held] + run.pages[held]).max() <= SIZES.ssd
    assert np.all(np.diff(run.request) >= 0)


def test_smq_knows_hotspot_blocks_of_16_blocks_or_of_fewer_where_they_would_be_all():
    assert hotspots(1 << 30, 16, 100_000) == (25_000, 16)
    assert hotspots(1024 * 16 * 16, 16, 10) == (1024, 16)
    assert hotspots(1024 * 16 * 16 - 1, 16, 10) == (1024, 8)
    assert hotspots(100, 16, 10) == (1024, 1)


def test_a_small_ssd_has_smaller_buckets():
    settings = BCACHE.defaults
    assert bucket_pages(Sizes(1024 * 128), settings) == 128
    assert bucket_pages(Sizes(1024 * 128 - 1), settings) == 64
    assert bucket_pages(Sizes(10), settings) == 1


def test_flags_and_processes_of_a_trace_reach_bcache(stream):
    n = len(stream.trace)
    flags = Coded.of([("RA", "RAM", "WS", "W")[k % 4] for k in range(n)])
    trace = replace(stream.trace, flags=flags, user=Coded.of([f"task {k % 3}" for k in range(n)]))
    asked = requests_of(tier_stream(trace), False)
    assert asked.sync.tolist()[:4] == [False, False, True, False]
    assert asked.around.tolist()[:4] == [True, False, False, False]
    assert not requests_of(tier_stream(trace), True).around.any()
    assert asked.task.tolist()[:4] == [0, 1, 2, 0]
    assert set(requests_of(stream, True).task.tolist()) == {-1}


def test_dm_cache_is_set_up_by_lvm():
    assert DM_CACHE.commands(Sizes(300_000), "writeback", {"chunksize": 256}, DEVICES) == [
        "vgcreate fast /dev/sda /dev/nvme0n1",
        "lvcreate --name main --extents 100%PVS fast /dev/sda",
        "lvcreate --type cache-pool --name fast --size 1172m --chunksize 256k fast /dev/nvme0n1",
        "lvconvert --yes --type cache --cachepool fast --cachemode writeback --cachepolicy smq fast/main",
    ]
    assert len(DM_CACHE.commands(Sizes(300_000), "none", DM_CACHE.defaults, DEVICES)) == 2


def test_bcache_is_set_up_with_the_buckets_that_were_simulated():
    lines = BCACHE.commands(Sizes(100_000), "writethrough", BCACHE.defaults, DEVICES)
    assert lines[:3] == [
        "# The next line removes all partitions of /dev/nvme0n1. To keep them, name one of them as --ssd.",
        "parted --script /dev/nvme0n1 mklabel gpt mkpart fast 1MiB 392MiB",
        "make-bcache --bucket 256k --block 512 --cache /dev/nvme0n1p1 --bdev /dev/sda",
    ]
    assert "echo 4096k > /sys/block/bcache0/bcache/sequential_cutoff" in lines
    assert not any("writeback" in line for line in lines)
    back = BCACHE.commands(Sizes(100_000), "writeback", BCACHE.defaults, replace(DEVICES, ssd="/dev/disk/by-id/X"))
    assert "--cache /dev/disk/by-id/X-part1" in back[2]
    assert back[-2:] == [
        "echo 10 > /sys/block/bcache0/bcache/writeback_percent", "echo 30 > /sys/block/bcache0/bcache/writeback_delay",
    ]  # fmt: skip
    assert (
        "--cache /dev/sdb1 "
        in BCACHE.commands(SIZES, "writearound", BCACHE.defaults, replace(DEVICES, ssd="/dev/sdb"))[2]
    )

import numpy as np
import pytest

from cachezoo.errors import DeviceError, TraceError
from cachezoo.flash_drive.run import drive_for, wear
from cachezoo.flash_drive.writes import NEVER, DriveWrites, drive_writes
from cachezoo.kernels.ftl import FlashDrive, run_ftl
from cachezoo.kernels.placing import SepBit
from cachezoo.settings.wear import Drive
from tests.trace_data import read, sample

SETTINGS = Drive(over_provisioning=0.2, gc_free_blocks=5)


def writes_of(*cycles, footprint=20_000):
    """Cycles of page writes; each is the pages that it writes."""
    pages = np.concatenate(cycles).astype(np.int32)
    n = len(pages)
    starts = np.cumsum([0, *map(len, cycles)])
    address = np.arange(footprint, dtype=np.int64) * 8192
    return DriveWrites(pages, address, np.arange(n), np.arange(n), starts, 8192)


def hot_and_cold(n, seed, footprint=20_000):
    rng = np.random.default_rng(seed)
    hot = rng.random(n) < 0.9
    tenth = footprint // 10
    return np.where(hot, rng.integers(0, tenth, n), rng.integers(tenth, footprint, n))


CYCLES = writes_of(hot_and_cold(60_000, 0), hot_and_cold(50_003, 1), hot_and_cold(40_000, 2))
BY_HALF = (CYCLES.pages >= 2000).astype(np.uint8)


def test_the_drive_is_as_large_as_what_is_written_and_the_share_without_addresses():
    drive = drive_for(CYCLES, Drive(), 16)
    assert drive == FlashDrive(357, 63, 20_000, 8, "greedy", 16, 8)
    assert 1 - 20_000 / (357 * 63) == pytest.approx(0.11, abs=0.002)
    assert drive_for(CYCLES, Drive(), 1).blocks == drive.blocks
    assert drive_for(CYCLES, Drive(over_provisioning=0.28), 1).blocks == 441


def test_addresses_that_nothing_writes_are_room_to_spare():
    roomy = Drive(capacity_bytes=2 * 20_000 * 8192)
    assert drive_for(CYCLES, roomy, 1).blocks == 714
    assert wear(CYCLES, None, roomy).waf < wear(CYCLES, None, Drive()).waf - 0.5


def test_what_is_counted_is_the_cycle_alone_on_a_drive_that_lived_before():
    found = wear(CYCLES, BY_HALF, SETTINGS, counted=1)
    bounds = np.array([60_000, 110_003])
    whole = run_ftl(CYCLES.pages[:110_003], BY_HALF[:110_003], found.drive, bounds=bounds)
    assert found.waf == whole.waf()
    assert found.host.sum() == 50_003
    assert set(found.host.tolist()) == {2500, 2501}
    assert len(found.written) == 20
    np.testing.assert_array_equal(found.erases, whole.erases)
    assert found.erases.sum() > found.erased.sum() == whole.erased.sum()


def test_what_follows_the_counted_cycle_changes_nothing_of_it():
    other = writes_of(hot_and_cold(60_000, 0), hot_and_cold(50_003, 1), hot_and_cold(7000, 9))
    one, two = (wear(w, None, SETTINGS, counted=1) for w in (CYCLES, other))
    np.testing.assert_array_equal(one.copied, two.copied)


def test_streams_by_what_dies_together_copy_less_than_one():
    legacy, two = wear(CYCLES, None, SETTINGS), wear(CYCLES, BY_HALF, SETTINGS)
    assert two.waf < legacy.waf - 0.1
    assert (legacy.streams_used, two.streams_used) == (1, 2)
    assert two.drive_writes == pytest.approx(3000 / 0.8 / two.waf, rel=0.005)
    assert two.drive_writes > legacy.drive_writes


def test_a_drive_write_is_all_addresses_also_those_that_are_never_written():
    own = SETTINGS.model_copy(update={"capacity_bytes": 3 * CYCLES.footprint * CYCLES.page_bytes})
    large = wear(CYCLES, None, own)
    assert large.drive_writes == pytest.approx(3000 / (1 - own.over_provisioning) / large.waf, rel=0.005)


@pytest.mark.needs("public_traces")
def test_a_real_volume_copies_half_with_a_stream_for_what_dies_late():
    trace = read(sample("block/cloudphysics.vscsi"))
    third = len(trace) // 3
    writes = drive_writes([trace.rows(k * third, (k + 1) * third) for k in range(3)])
    late = (writes.lifetimes == NEVER) | (writes.lifetimes > np.median(writes.lifetimes[writes.lifetimes != NEVER]))
    legacy, two = wear(writes, None, Drive()), wear(writes, (~late).astype(np.uint8), Drive())
    assert legacy.waf > 1.9
    assert two.waf - 1 < (legacy.waf - 1) / 2


def test_sepbit_places_by_itself():
    found = wear(CYCLES, None, SETTINGS, rule=SepBit())
    assert found.waf < wear(CYCLES, None, SETTINGS).waf
    assert found.drive.streams == 6
    np.testing.assert_array_equal(wear(CYCLES, BY_HALF, SETTINGS, rule=SepBit()).copied, found.copied)


def test_more_written_than_the_drive_has_is_one_line():
    said = r"^20000 pages of 8192 bytes \(156.2 MiB\) are written, more than the drive's capacity of 128 MiB: give a "
    with pytest.raises(DeviceError, match=said):
        drive_for(CYCLES, Drive(capacity_bytes=128 << 20), 1)


def test_a_drive_too_small_for_its_streams_is_one_line():
    said = r"leaves 39 spare blocks of 64 pages, and 40 are needed \(8 kept free, 30 open for streams, 2 more\): give"
    with pytest.raises(DeviceError, match=said):
        drive_for(CYCLES, Drive(), 30)
    assert drive_for(CYCLES, Drive(), 29).streams == 29


def test_one_chunk_is_too_small_for_a_drive():
    chunk = writes_of(np.arange(4).repeat(100), footprint=4)
    with pytest.raises(
        DeviceError, match=r"^4 pages of 8192 bytes \(32 KiB\) are written: at 11% over-provisioning that leaves 0"
    ):
        wear(chunk, None, Drive())


def test_a_cycle_with_few_writes_is_one_line():
    few = writes_of(np.arange(20_000), np.arange(19))
    with pytest.raises(TraceError, match=r"^the counted cycle writes 19 pages, at least 20 are needed"):
        wear(few, None, SETTINGS)


def test_metadata_that_leaves_no_page_is_refused():
    with pytest.raises(ValueError, match="metadata_pages 64 leave no page for data"):
        Drive(metadata_pages=64)

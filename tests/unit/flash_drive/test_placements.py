import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.flash_drive.placements import INSIDE, PLACEMENTS, autostream, equal, grid, legacy, multiq, oracle, rule
from cachezoo.flash_drive.run import wear
from cachezoo.flash_drive.writes import NEVER, DriveWrites
from cachezoo.settings.wear import Drive
from tests.oracles import autostream as naive


def writes_of(pages, request=None, cycles=None):
    pages = np.asarray(pages, np.int32)
    address = np.arange(int(pages.max()) + 1, dtype=np.int64) * 8192
    rows = np.arange(len(pages)) if request is None else np.asarray(request)
    return DriveWrites(pages, address, rows * 10, rows, np.array(cycles or [0, len(pages)]), 8192)


def hot_and_cold(n, footprint=4096):
    rng = np.random.default_rng(3)
    hot = footprint // 8
    pages = np.where(rng.random(n) < 0.8, rng.integers(0, hot, n), rng.integers(hot, footprint, n))
    return writes_of(np.append(pages, footprint - 1))


DRIVE = Drive(over_provisioning=0.4)


def test_legacy_is_one_stream_and_equal_parts_the_addresses():
    writes = writes_of([0, 1, 2, 3, 4, 5, 6, 7])
    assert legacy(writes, 4).tolist() == [0] * 8
    assert equal(writes, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert equal(writes, 3).max() == 2


def test_autostream_places_whole_requests_by_the_chunk_they_begin_in():
    # A chunk of two pages: request 1 writes the pages behind request 0, so that it goes along; then chunk 0 again.
    writes = writes_of([0, 1, 2, 3, 0, 0, 1], request=[0, 0, 1, 1, 2, 3, 3])
    found = autostream(writes, 16, decay=1e6, chunk_bytes=16384)
    assert found.tolist() == naive_streams([0, 0, 0], [0, 4, 5], 1e6 * 4)
    assert found.tolist() == [0, 0, 0, 0, 0, 1, 1]


def naive_streams(chunks, at, decay):
    """Streams of the requests of the test above: the second joins the first."""
    one, *others = naive.sfr(chunks, at, [False] * 3, decay, 16)
    return [one] * 4 + [others[0]] + [others[1]] * 2


@pytest.mark.parametrize("decay", [0, -1.0])
def test_autostream_refuses_a_count_that_never_halves(decay):
    with pytest.raises(ConfigError, match=f"autostream with decay {decay}: it is above 0"):
        autostream(writes_of([0, 1]), 4, decay, 8192)


@pytest.mark.parametrize("chunk_bytes", [4096, 12288])
@pytest.mark.parametrize("place", [autostream, multiq])
def test_autostream_refuses_chunks_that_cannot_be(place, chunk_bytes):
    with pytest.raises(ConfigError, match=f"{place.__name__} with chunk_bytes {chunk_bytes}: it is a multiple of 8192"):
        place(writes_of([0, 1]), 4, chunk_bytes=chunk_bytes)


def test_the_queues_place_whole_requests_by_the_chunk_they_begin_in():
    writes = writes_of([0, 1, 2, 3, 0, 0, 1], request=[0, 0, 1, 1, 2, 3, 3])
    # Requests begin in chunks 0, 1, 0, 0; the queue of chunk 0 is the second once it was written twice.
    assert multiq(writes, 16, chunk_bytes=16384).tolist() == [0, 0, 0, 0, 0, 1, 1]


def test_what_a_drive_places_and_what_nobody_can_is_said():
    kinds = {name: rule(name, {}, 8).kind for name in (*PLACEMENTS, *INSIDE)}
    assert [name for name, kind in kinds.items() if kind == "bound"] == ["oracle", "fk"]
    assert {name for name, kind in kinds.items() if kind == "drive"} == {*INSIDE} - {"fk"}
    assert [name for name, kind in kinds.items() if kind == "baseline"] == ["equal", "autostream", "multiq"]
    assert kinds["legacy"] == "legacy"


def test_the_oracle_parts_lifetimes_and_deaths():
    # Page 0 dies every 2 writes, page 1 after 4, the others never.
    writes = writes_of([0, 1, 0, 2, 0, 1, 0, 3])
    assert writes.lifetimes.tolist() == [2, 4, 2, NEVER, 2, NEVER, NEVER, NEVER]
    assert oracle(writes, 3, "lifetime").tolist() == [0, 1, 0, 2, 0, 2, 2, 2]
    # Windows of one footprint's half, 2 writes: deaths at 2, 5, 4, 6 in windows 1, 2, 2, 3, two of which are open.
    found = oracle(writes, 3, "death", share=0.5)
    assert found.tolist() == [1, 2, 0, 2, 1, 2, 2, 2]
    # One window, the one that is open, for what dies in it, and two classes by lifetime for what dies later.
    assert oracle(writes, 4, "both", share=0.5).tolist() == [1, 2, 1, 3, 1, 3, 3, 3]
    assert oracle(writes, 4, "both", share=1.0).tolist() == [0, 2, 1, 3, 0, 3, 3, 3]
    assert oracle(writes_of([0, 1]), 3).tolist() == [2, 2]


def test_the_oracle_needs_two_streams():
    with pytest.raises(ConfigError, match="oracle with 1 stream"):
        oracle(writes_of([0, 0]), 1)


@pytest.mark.parametrize("name", sorted(PLACEMENTS))
def test_a_placement_of_hot_and_cold_pages_copies_no_more_than_one_stream(name):
    writes = hot_and_cold(60_000)
    plain = wear(writes, None, DRIVE).waf
    found = PLACEMENTS[name](writes, streams=4, **({"chunk_bytes": 32768} if name in ("autostream", "multiq") else {}))
    assert found.dtype == np.uint8
    assert len(found) == len(writes)
    run = wear(writes, found, DRIVE, n_streams=4)
    assert run.waf == plain if name == "legacy" else run.waf < plain - 0.02


def test_the_oracle_is_the_least_of_all():
    writes = hot_and_cold(60_000)
    wafs = {name: wear(writes, place(writes, streams=8), DRIVE, n_streams=8).waf for name, place in PLACEMENTS.items()}
    assert min(wafs, key=wafs.get) == "oracle"


def test_an_unknown_baseline_is_one_line_that_names_those_there_are():
    with pytest.raises(ConfigError, match=r"judge\.streams\.baselines\.nosuch: no such placement; use legacy, "):
        grid({"nosuch": {}}, 4)


def test_partitions_into_more_parts_than_the_drive_has_streams_are_left_out():
    found = grid({"equal": {"streams": [2, 4, 8]}, "oracle": {"share": [0.5]}}, 4)
    assert [(one.policy, dict(one.parameters)) for one in found] == [
        ("legacy", {}), ("equal", {"streams": 2}), ("equal", {"streams": 4}), ("oracle", {"share": 0.5})
    ]  # fmt: skip

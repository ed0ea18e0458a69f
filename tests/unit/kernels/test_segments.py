import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError, TraceError
from cachezoo.kernels.segments import Geometry, IdTable, expand_segments
from tests.baleen_data import make_trace, small_requests
from tests.without_numba import printed

TINY = Geometry(64, 16)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 20), max_size=40), max_size=6))
def test_ids_by_first_appearance_across_calls(calls: list[list[int]]) -> None:
    table, known = IdTable(), {}
    for keys in calls:
        expected = [known.setdefault(key, len(known)) for key in keys]
        assert table.lookup(np.array(keys, np.int64)).tolist() == expected
    assert table.count == len(known)
    assert table.keys().tolist() == list(known)


def test_ids_are_the_same_without_numba() -> None:
    said = printed("""
import numpy as np
from cachezoo.kernels.segments import IdTable
keys = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 2000)
print(IdTable().lookup(np.concatenate([keys, keys[::2], keys * 4096])).tolist())
""")
    assert len(said) == 1


def test_id_table_grows() -> None:
    keys = np.random.default_rng(1).integers(0, 2**62, 20_000)
    table = IdTable()
    ids = table.lookup(np.concatenate([keys, keys]))
    assert (ids[:20_000] == ids[20_000:]).all()
    assert table.count == len(np.unique(keys))


@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 40))
def test_a_table_takes_as_many_keys_as_ids_can_number(keys: list[int], most: int) -> None:
    table, distinct = IdTable(), list(dict.fromkeys(keys))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cachezoo.kernels.segments.MOST_NUMBERED", most)
        if len(distinct) <= most:
            assert table.lookup(np.array(keys, np.int64)).tolist() == [distinct.index(key) for key in keys]
            return
        with pytest.raises(TraceError, match=f"more than {most} distinct pages or keys"):
            table.lookup(np.array(keys, np.int64))
    assert table.keys().tolist() == distinct[:most]


@settings(deadline=None)
@given(small_requests(), st.sampled_from([1, 4, 6, 45]))
def test_expansion(requests: tuple[list[int], list[int], list[int], list[int]], per_block: int) -> None:
    volume, _, offset, size = (np.array(column) for column in requests)
    got = expand_segments(volume.astype(np.int32), offset, size, Geometry(16 * per_block, 16))
    segments, blocks, own = {}, {}, {}
    for i in range(len(offset)):
        block = (volume[i], offset[i] // 16 // per_block)
        assert got.block[i] == blocks.setdefault(block, len(blocks))
        assert got.first[i] == offset[i] // 16 % per_block
        touched = range(offset[i] // 16, (offset[i] + size[i] - 1) // 16 + 1)
        assert got.sizes[i] == len(touched)
        for j, s in zip(range(got.start[i], got.start[i + 1]), touched, strict=True):
            assert got.segment[j] == segments.setdefault((volume[i], s), len(segments))
            assert own.setdefault((*block, s), got.own[j]) == got.own[j]
    assert len(set(own.values())) == len(own) <= got.n_own
    assert (got.n_segments, got.n_blocks) == (len(segments), len(blocks))
    for volume_, s in segments:
        blocks.setdefault((volume_, s // per_block), len(blocks))
    assert got.place.tolist() == [
        blocks[volume_, s // per_block] * per_block + s % per_block for volume_, s in segments
    ]
    assert (got.per_block, got.n_places) == (per_block, per_block * len(blocks))
    assert got.placed.tolist() == got.place[got.segment].tolist()


def test_segments_are_pages_at_the_default_geometry() -> None:
    from cachezoo.traces.pages import expand_pages

    trace = make_trace(2000, 3)
    got = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
    pages = expand_pages(trace)
    np.testing.assert_array_equal(got.segment, pages.page_ids)
    np.testing.assert_array_equal(got.start, pages.request_start)


def test_bad_geometry_and_addresses() -> None:
    with pytest.raises(ConfigError, match="multiple"):
        Geometry(100, 30)
    far = np.array([2**62], np.int64)
    with pytest.raises(TraceError, match="segment index"):
        expand_segments(np.zeros(1, np.int32), far, np.ones(1, np.int64), Geometry(64, 1))
    with pytest.raises(TraceError, match="volume number"):
        expand_segments(np.full(1, 9000, np.int32), np.zeros(1, np.int64), np.ones(1, np.int64), Geometry())

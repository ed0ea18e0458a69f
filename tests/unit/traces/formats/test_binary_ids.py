"""A list of numbers reads back as the blocks that it was written from, whatever its type."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.binary_ids import TYPES
from cachezoo.traces.source import Source
from tests.trace_data import read


@given(st.lists(st.integers(0, 2**15 - 1), min_size=1, max_size=40), st.sampled_from(sorted(TYPES)), st.integers(0, 3))
def test_numbers_read_back_equal(tmp_path_factory, ids, kind, cut):
    path = tmp_path_factory.mktemp("d") / "ids.bin"
    signed, bits, order = kind[0] == "i", int(kind[1:3]), "big" if kind.endswith("be") else "little"
    data = b"".join(number.to_bytes(bits // 8, order, signed=signed) for number in ids)
    path.write_bytes(data + bytes(1) * (cut > 0))
    trace = read(path, fmt="binary_ids", skip_bad_rows=1, type=kind, unit_bytes="512")
    assert trace.offset.tolist() == [512 * number for number in ids]
    assert trace.time_us.tolist() == list(range(len(ids)))
    assert set(trace.size.tolist()) == {512} and not trace.op.any()
    assert trace.meta.extra.get("skipped_rows") == ("1" if cut else None)


@pytest.mark.parametrize(("number", "kind"), [(2**64 - 1, np.uint64), (-1, np.int64), (2**62, np.uint64)])
def test_a_number_that_is_no_block_is_a_bad_row(tmp_path, number, kind):
    path = tmp_path / "ids.bin"
    np.array([1, number], kind).tofile(path)
    name = "u64" if kind is np.uint64 else "i64"
    with pytest.raises(TraceError, match=r"ids\.bin: row 2: offset "):
        read(path, fmt="binary_ids", type=name)
    assert read(path, fmt="binary_ids", skip_bad_rows=1, type=name).offset.tolist() == [4096]


def test_the_type_has_to_be_said_and_no_file_is_taken_for_such_a_list(tmp_path):
    path = tmp_path / "ids.bin"
    np.arange(100, dtype=np.uint64).tofile(path)
    assert "binary_ids" not in fits_of(Source(path))
    with pytest.raises(TraceError, match=r"ids\.bin: format binary_ids: say what the numbers are: --option type=u64"):
        read(path, fmt="binary_ids")
    with pytest.raises(TraceError, match="format binary_ids: option type: "):
        read(path, fmt="binary_ids", type="u128")

"""Chunk to stream: look-ups against a dict, bytes there and back, and every damage refused."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import BundleError, TrainingError
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, MAGIC, MOST_CHUNKS, Dictionary, base_bytes

# Near 0, close together and at the end of what a start can say.
PLACES = st.one_of(st.integers(0, 40), st.integers(MOST_CHUNKS - 20, MOST_CHUNKS - 1), st.integers(0, MOST_CHUNKS - 1))
LEARNED = st.dictionaries(PLACES, st.integers(0, 5), max_size=60)


def made(learned: dict[int, int], count: int = 6) -> Dictionary:
    return Dictionary.of(np.array(list(learned), np.int64), np.array(list(learned.values()), np.int64), count)


@given(LEARNED, st.lists(PLACES, max_size=20))
def test_it_answers_as_a_dict_does_and_unknown_chunks_are_stream_0(learned, others):
    asked = [*learned, *(chunk + step for chunk in learned for step in (-1, 1)), *others, -1, MOST_CHUNKS, 2**40]
    expected = [learned.get(chunk, 0) for chunk in asked]
    found = made(learned).look_up(np.array(asked, np.int64))
    assert found.dtype == np.uint8
    assert found.tolist() == expected


@given(LEARNED)
def test_neighbours_of_one_stream_are_one_range(learned):
    sid = made(learned)
    assert sid.starts[0] == 0
    assert (np.diff(sid.starts.astype(np.int64)) > 0).all()
    assert (np.diff(sid.streams.astype(int)) != 0).all()


@given(LEARNED)
def test_bytes_there_and_back(learned):
    sid = made(learned)
    data = sid.to_bytes()
    again = Dictionary.from_bytes(data)
    assert len(data) == 24 + 5 * len(sid)
    assert again.to_bytes() == data
    assert (again.starts.tolist(), again.streams.tolist(), again.count) == (
        sid.starts.tolist(), sid.streams.tolist(), sid.count,
    )  # fmt: skip


def raw(starts, streams, magic=MAGIC, chunk=CHUNK_BYTES, count=3, ranges=None):
    head = struct.pack("<8sIIQ", magic, chunk, count, len(starts) if ranges is None else ranges)
    return head + np.array(starts, "<u4").tobytes() + bytes(streams)


def test_the_layout_is_the_documented_one():
    assert made({0: 1, 1: 1, 5: 2}, 3).to_bytes() == raw([0, 2, 5, 6], [1, 0, 2, 0])
    assert Dictionary.of(np.zeros(0, np.int64), np.zeros(0, np.int64), 1).to_bytes() == raw([0], [0], count=1)


GOOD = raw([0, 2, 5], [1, 0, 2])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "0 bytes are fewer than its header's 24"),
        (GOOD[:23], "23 bytes are fewer"),
        (GOOD[:-1], "38 bytes, but 3 ranges take 39"),
        (GOOD + b"\0", "40 bytes, but 3 ranges take 39"),
        (raw([0, 5, 2], [1, 0, 2]), "range 2 starts at chunk 2, not behind the one before"),
        (raw([0, 5, 5], [1, 0, 2]), "range 2 starts at chunk 5, not behind the one before"),
        (raw([1, 2, 5], [1, 0, 2]), "the first range starts at chunk 1, not at 0"),
        (raw([0, 2, 5], [1, 3, 2]), "range 1 has stream 3 of 3 streams"),
        (raw([0], [0], magic=b"CZSID2\0\0"), "it begins with b'CZSID2"),
        (raw([0], [0], chunk=4096), "chunks of 4096 bytes"),
        (raw([0], [0], count=0), "0 streams"),
        (raw([0], [0], count=257), "257 streams"),
        (raw([], []), "no range"),
        (raw([0], [0], ranges=2**63), "ranges take"),
    ],
)
def test_damage_is_refused_in_one_line(data, said):
    with pytest.raises(BundleError) as caught:
        Dictionary.from_bytes(data, "models/sid.bin")
    message = str(caught.value)
    assert message.startswith("models/sid.bin: ")
    assert said in message
    assert "\n" not in message
    assert message.endswith("again")


@given(LEARNED, st.data())
def test_every_cut_is_refused(learned, data):
    whole = made(learned).to_bytes()
    with pytest.raises(BundleError):
        Dictionary.from_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])


@pytest.mark.parametrize(
    ("chunks", "streams", "count", "said"),
    [
        ([1], [0], 0, "0 streams"),
        ([1], [0], 300, "300 streams"),
        ([1], [2], 2, "stream 2 of 2"),
        ([1], [-1], 2, "stream -1"),
        ([-4], [1], 2, "chunk -4"),
        ([2**32], [1], 2, "chunk 4294967296"),
        ([3, 1, 3], [1, 1, 1], 2, "chunk 3 is given twice"),
        ([3, 1], [1], 2, "2 chunks and 1 streams"),
    ],
)
def test_what_no_dictionary_can_hold_is_refused(chunks, streams, count, said):
    with pytest.raises(TrainingError, match=said):
        Dictionary.of(np.array(chunks, np.int64), np.array(streams, np.int64), count)


def test_bytes_per_tb_and_of_the_base_dictionary():
    sid = made({2**20: 1})  # 32 GiB in, two ranges before and one behind
    assert len(sid) == 3
    assert sid.bytes_per_tb() == pytest.approx(15 / ((2**20 + 1) * CHUNK_BYTES) * 1e12)
    assert (base_bytes(0), base_bytes(3), base_bytes(4)) == (0, 2, 2)

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


def packed(form, value, at):
    """A change that writes a number into the bytes."""
    number = struct.pack(form, value)
    return lambda data: data[:at] + number + data[at + len(number) :]


# What is changed in a dictionary's bytes, and the refusal where that is done to `GOOD`.
DAMAGES = {
    "empty": (lambda data: b"", "0 bytes are fewer than its header's 24"),
    "header": (lambda data: data[:23], "23 bytes are fewer"),
    "cut": (lambda data: data[:-1], "38 bytes, but 3 ranges take 39"),
    "longer": (lambda data: data + b"\0", "40 bytes, but 3 ranges take 39"),
    "magic": (lambda data: b"CZSID2" + data[6:], "it begins with b'CZSID2"),
    "chunk": (packed("<I", 65536, 8), "chunks of 65536 bytes"),
    "no streams": (packed("<I", 0, 12), "0 streams"),
    "257 streams": (packed("<I", 257, 12), "257 streams"),
    "no ranges": (packed("<Q", 0, 16), "no range"),
    "more ranges": (packed("<Q", 1 << 61, 16), "ranges take"),
    "first start": (packed("<I", 1, 24), "the first range starts at chunk 1, not at 0"),
    "start twice": (lambda data: data[:32] + data[28:32] + data[36:], "range 2 starts at chunk 2, not behind the one"),
    "stream": (lambda data: data[:-1] + bytes([16]), "range 2 has stream 16 of 3 streams"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_refused_in_one_line(name):
    change, problem = DAMAGES[name]
    with pytest.raises(BundleError) as caught:
        Dictionary.from_bytes(change(GOOD), "models/sid.bin")
    message = str(caught.value)
    assert message.startswith("models/sid.bin: ") and problem in message
    assert "\n" not in message and message.endswith("again")


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

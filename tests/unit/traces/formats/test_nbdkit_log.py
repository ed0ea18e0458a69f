"""nbdkit's filter `log`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.formats.nbdkit_log import answers_of
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

LOG = """\
2024-05-02 10:11:11.900000 Ready thread_model=3
2024-05-02 10:11:11.950000 ListExports readonly=0 tls=0 ...
2024-05-02 10:11:11.950100 ...ListExports exports=[] return=0
2024-05-02 10:11:11.990000 connection=1 Connect export="a disk" tls=0 size=0x80000000 write=1 flush=1
2024-05-02 10:11:12.001505 connection=1 Write id=1 offset=0xeb5000 count=0x8000 fua=0 ...
2024-05-02 10:11:12.002000 connection=1 Read id=2 offset=0x3f4000 count=0x200 ...
2024-05-02 10:11:12.002500 connection=1 ...Read id=2 return=0 (Success)
2024-05-02 10:11:12.005147 connection=1 ...Write id=1 return=-1 error=EIO
2024-05-02 10:11:12.006000 connection=1 Read id=3 offset=0x0 count=0x1000 ...
"""
OTHERS = """\
2024-05-02 10:11:12.100000 connection=1 Flush id=4 ...
2024-05-02 10:11:12.100001 connection=1 ...Flush id=4 return=0
2024-05-02 10:11:12.100002 connection=1 Trim id=5 offset=0x10000 count=0x2000 fua=0 ...
2024-05-02 10:11:12.100003 connection=1 ...Trim id=5 return=0
2024-05-02 10:11:12.100004 connection=1 Zero id=6 offset=0x10000 count=0x2000 trim=1 fua=0 fast=0 ...
2024-05-02 10:11:12.100005 connection=1 Extents id=7 offset=0x0 count=0x200 req_one=0 ...
2024-05-02 10:11:12.100006 connection=1 ...Extents id=7 extents=[{ offset=0x0, length=0x200, type=0 }] return=0
2024-05-02 10:11:12.100007 connection=1 ...Zero id=6 return=0
2024-05-02 10:11:13.000000 connection=1 Disconnect transactions=7
"""


def made(tmp_path, text):
    path = tmp_path / "disk.log"
    path.write_text(text)
    return path


def test_a_request_and_its_answer_are_one(tmp_path):
    path = made(tmp_path, LOG)
    assert fits_of(Source(path)) == {"nbdkit_log": Fit.SURE}
    trace = read(path)
    assert (trace.time_us.tolist(), trace.op.tolist()) == ([0, 495, 4495], [1, 0, 0])
    assert trace.latency_us.tolist() == [3642, 500, -1]
    assert (trace.offset.tolist(), trace.size.tolist()) == ([0xEB5000, 0x3F4000, 0], [0x8000, 0x200, 0x1000])
    assert texts(trace.volume) == ["a disk"] * 3
    joined = {name: trace.meta.extra.get(name) for name in ("matched", "unmatched_issue", "failed")}
    assert joined == {"matched": "2", "unmatched_issue": "1", "failed": "1"}


def test_what_moves_no_data_is_left_out(tmp_path):
    trace = read(made(tmp_path, LOG + OTHERS))
    left = {name: count for name, count in trace.meta.extra.items() if name.startswith("left_out")}
    assert left == {f"left_out.{kind}": "1" for kind in ("flush", "trim", "zero", "extents")}
    assert (trace.discards.offset.tolist(), trace.discards.size.tolist()) == ([0x10000], [0x2000])
    assert len(trace) == 3


def test_connections_have_numbers_and_exports_of_their_own(tmp_path):
    begin = "2024-05-02 10:11:12.00"
    text = (
        f'{begin}0 connection=1 Connect export="a" size=0x1\n{begin}0 connection=2 Connect export="" size=0x1\n'
        f"{begin}1 connection=1 Read id=1 offset=0x0 count=0x200 ...\n"
        f"{begin}2 connection=2 Read id=1 offset=0x0 count=0x200 ...\n"
        f"{begin}4 connection=2 ...Read id=1 return=0\n{begin}5 connection=1 ...Read id=1 return=0\n"
        # The log of the next run was appended.
        f'{begin}6 connection=1 Connect export="b" size=0x1\n'
        f"{begin}7 connection=1 Read id=1 offset=0x0 count=0x200 ...\n{begin}8 connection=1 ...Read id=1 return=0\n"
    )
    trace = read(made(tmp_path, text))
    assert (texts(trace.volume), trace.latency_us.tolist()) == (["a", "0", "b"], [4000, 2000, 1000])


def test_an_answer_alone_is_counted(tmp_path):
    trace = read(made(tmp_path, "2024-05-02 10:11:12.0 connection=1 ...Read id=9 return=0\n" + LOG))
    assert trace.meta.extra["left_out.unmatched_complete"] == "1"


@pytest.mark.parametrize(
    "row",
    [
        "2024-05-02 10:11:12.006000 connection=1 Read id=3 offset=0x0 cou",
        "2024-05-02 10:11:12.006000 connection=1 Sing id=3 ...",
        "2024-02-30 10:11:12.006000 connection=1 Read id=3 offset=0x0 count=0x200 ...",
        "2024-05-02 10:11:12.006000 connection=1 Read id=3 offset=0x0 count=0x0 ...",
        "2024-13-02 10:11:12.007000 connection=1 ...Read id=3 return=0",
    ],
)
def test_bad_rows_are_named(tmp_path, row):
    path = made(tmp_path, LOG + row + "\n")
    with pytest.raises(TraceError, match="row 10: "):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 3


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=30))
def test_answers_against_a_plain_loop(lines):
    """Lines of (key, whether it is an answer), in their order."""
    under_way, expected, requests, answers = {}, [], [], []
    for row, (key, is_answer) in enumerate(lines):
        if is_answer:
            if (request := under_way.pop(key, None)) is not None:
                expected[request] = len(answers)
            answers.append((key, row))
        else:
            under_way[key] = len(requests)
            expected.append(-1)
            requests.append((key, row))
    columns = (np.array(column, np.int64).reshape(-1, 2) for column in (requests, answers))
    asked, told = columns
    assert answers_of(asked[:, 0], asked[:, 1], told[:, 0], told[:, 1]).tolist() == expected

"""Text of blkparse -f."""

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.formats.blkparse_f import inferred
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

PLAIN = "0.001505432 Q WS 30120 32768\n0.006333772 Q R 8096 512\n0.007000000 Q R 9000 4096\n"
# Of %5T.%9t, %p, %C, %a, %S, %n, %d
PROCESSES = """\
    0.001000000,   811,               fio, Q,  30120,   64, WS
    0.002000000,   811,               fio, D,  30120,   64, WS
    0.003000000,     0,           swapper, G,  30120,   64, WS
    0.004500000,     0,           swapper, C,  30120,   64, WS
    0.005000000,   811,        fio worker, D,   8096,    8, RA
"""


def made(tmp_path, text):
    path = tmp_path / "t.txt"
    path.write_text(text)
    return path


def test_columns_that_tell_themselves(tmp_path):
    path = made(tmp_path, PLAIN)
    assert fits_of(Source(path)) == {"blkparse_f": Fit.LIKELY}
    trace = read(path)
    assert (trace.op.tolist(), trace.time_us.tolist()) == ([1, 0, 0], [0, 4828, 5495])
    assert (trace.offset.tolist(), trace.size.tolist()) == ([30120 * 512, 8096 * 512, 9000 * 512], [32768, 512, 4096])
    assert (texts(trace.flags), trace.meta.extra["columns"]) == (["WS", "R", "R"], "%T.%t %a %d %S %N")


def test_issues_and_completions_are_joined(tmp_path):
    trace = read(made(tmp_path, PROCESSES))
    assert trace.meta.extra["columns"] == "%T.%t, %p, %C, %a, %S, %n, %d"
    assert (trace.op.tolist(), trace.time_us.tolist(), trace.latency_us.tolist()) == ([1, 0], [0, 3000], [2500, -1])
    assert (trace.size.tolist(), texts(trace.user)) == ([32768, 4096], ["fio", "fio worker"])


def test_the_option_names_the_columns(tmp_path):
    text = "8,0 D R 8 [a b] 0.   5000 3\n8,16 D W 16 [dd] 1.000006000 3\nCPU0 (8,0):\n Reads Queued: 1, 4KiB\n"
    path = made(tmp_path, text)
    assert fits_of(Source(path)) == {}
    trace = read(path, fmt="blkparse_f", f=r"%D %a %d %S [%C] %5T.%9t %n\n")
    assert (trace.time_us.tolist(), trace.size.tolist()) == ([0, 1_000_001], [1536, 1536])
    assert (texts(trace.volume), texts(trace.user)) == (["8,0", "8,16"], ["a b", "dd"])
    assert read(path, fmt="blkparse_f", f="%D %a %d %S [%C] %T.%t %n", device="8,16").offset.tolist() == [8192]


def test_without_actions_every_line_is_a_request(tmp_path):
    trace = read(
        made(tmp_path, "1.5 R 8 8\n2.000000009 FWS 8 0\n2.000000009 W 8 1\n"), fmt="blkparse_f", f="%T.%t %d %S %n"
    )
    assert (trace.op.tolist(), trace.size.tolist()) == ([0, 1], [4096, 512])
    assert trace.meta.extra["left_out.flush"] == "1"


@pytest.mark.parametrize(
    ("f", "said"),
    [
        ("%T.%t %a %d %q %N", "%q is none that blkparse knows"),
        ("%T.%t %a %d %S %S %N", "%S comes twice"),
        ("%D %M %T.%t %a %d %S %N", "%D comes twice"),
        ("%T.%t %a %d %N", r"it lacks the sector \(%S\)"),
        ("%T.%t %a %d %S", r"it lacks the length \(%n or %N\)"),
        ("%t %a %d %S %N", r"it lacks the time \(%T\)"),
        ("%T %a %S %N", r"it lacks the operation \(%d\)"),
    ],
)
def test_a_wrong_option_is_refused(tmp_path, f, said):
    with pytest.raises(TraceError, match=rf"option f=.*: {said}"):
        read(made(tmp_path, PLAIN), fmt="blkparse_f", f=f)


@pytest.mark.parametrize(
    "row", ["0.001505432 Q WS 30120", "garbage", "0.001505432 Q WS -1 8", "1 Q R 9223372036854775807 8"]
)
def test_bad_rows_are_named(tmp_path, row):
    path = made(tmp_path, PLAIN + row + "\n" + PLAIN * 4)
    with pytest.raises(TraceError, match="row 4: "):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 15


@pytest.mark.parametrize(
    "lines",
    [
        ["0.1 Q R 8 8"],  # no nine digits
        ["0.000000001 8 R 8 8", "0.000000001 8 R 16 8"],  # no action
        ["0.000000001 Q 8 8", "0.000000001 Q 16 8"],  # no operation
        ["0.000000001 Q R 8", "0.000000001 Q R 16"],  # no length
        [],
    ],
)
def test_columns_that_do_not_tell_themselves(lines):
    assert inferred(lines) == ""

"""strace; its lines are made here as version 6 prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.formats.strace import arguments
from cachezoo.traces.source import Source
from tests.trace_data import read, texts

OUTPUT = r"""
101 1700000000.000001 openat(AT_FDCWD, "a b, \"c\".dat", O_RDWR|O_CREAT|O_CLOEXEC, 0777) = 3 <0.000027>
101 1700000000.000100 pwrite64(3, "x\")= 5, (\n"..., 8000, 4096) = 8000 <0.000031>
101 1700000000.000200 lseek(3, 0, SEEK_SET)    = 0 <0.000004>
101 1700000000.000300 read(3, "\0\0\0"..., 512) = 512 <0.000015>
101 1700000000.000400 read(3, "\0\0\0"..., 512) = 100 <0.000009>
101 1700000000.000500 dup(3)                   = 4 <0.000003>
101 1700000000.000600 readv(4, [{iov_base="ab", iov_len=2}, {iov_base="cd", iov_len=2}], 2) = 4 <0.000009>
101 1700000000.000700 preadv(3, [{iov_base="ab", iov_len=64}], 1, 128) = 64 <0.000010>
101 1700000000.000800 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES, child_tidptr=0x7f) = 102 <0.000100>
102 1700000000.000900 read(3, "\0", 10 <unfinished ...>
101 1700000000.000950 close(4)                 = 0 <0.000003>
102 1700000000.001000 <... read resumed>)      = 10 <0.000090>
101 1700000000.001100 read(0, "text\n", 1024)  = 5 <0.000090>
101 1700000000.001200 read(3, "", 512)         = 0 <0.000001>
101 1700000000.001300 write(3, "a", 1)         = -1 ENOSPC (No space left on device) <0.000001>
101 1700000000.001400 fsync(3)                 = 0 <0.001000>
101 1700000000.001500 --- SIGCHLD {si_signo=SIGCHLD} ---
102 1700000000.001600 exit(0)                  = ?
102 1700000000.001700 +++ exited with 0 +++
101 1700000000.001800 close(3)                 = 0 <0.000003>
101 1700000000.001900 read(3, "\0", 10)        = 10 <0.000003>
"""
WITH_NAMES = r"""
10:11:12.000001 openat(AT_FDCWD</tmp>, "log", O_WRONLY|O_APPEND|O_CREAT|O_TRUNC, 0666) = 5</tmp/log> <0.000133>
10:11:12.000100 write(5</tmp/log>, "abc", 3) = 3 <0.000102>
10:11:12.000150 write(5</tmp/log>, "defg", 4) = 4 <0.000050>
10:11:12.000160 write(1</dev/pts/0>, "defg", 4) = 4 <0.000050>
10:11:12.000170 read(6<pipe:[77]>, "defg", 4) = 4 <0.000050>
10:11:12.000200 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLDstrace: Process 102 attached
, child_tidptr=0x7f) = 102 <0.000100>
[pid   102] 10:11:12.000300 pread64(7</srv/a, <b>, "x"..., 4096, 8192) = 4096
[pid   101] 10:11:12.000400 write(5</tmp/log>, "h", 1) = 1 <0.000050>
[pid   102] 10:11:12.000500 +++ exited with 0 +++
00:00:01.000000 write(5</tmp/log>, "h", 1) = 1 <0.000050>
"""


def made(tmp_path, text):
    path = tmp_path / "t.txt"
    path.write_text(text)
    return path


def test_descriptors_are_followed(tmp_path):
    path = made(tmp_path, OUTPUT)
    assert fits_of(Source(path)) == {"strace": Fit.SURE}
    trace = read(path)
    assert trace.op.tolist() == [1, 0, 0, 0, 0, 0]
    assert trace.time_us.tolist() == [0, 200, 300, 500, 600, 800]
    assert trace.offset.tolist() == [4096, 0, 512, 612, 128, 616]
    assert trace.size.tolist() == [8000, 512, 100, 4, 64, 10]
    assert trace.latency_us.tolist() == [31, 15, 9, 9, 10, 90]
    assert set(texts(trace.volume)) == {r"a b, \"c\".dat"}
    left = {name: count for name, count in trace.meta.extra.items() if name.startswith("left_out")}
    assert left == {"left_out.no_file": "2", "left_out.no_bytes": "2", "left_out.sync": "1"}


def test_names_appended_files_torn_lines_and_midnight(tmp_path):
    trace = read(made(tmp_path, WITH_NAMES.replace("/srv/a, <b>", r"/srv/a, (b\76>")))
    assert texts(trace.volume) == ["/tmp/log", "/tmp/log", r"/srv/a, (b\76", "/tmp/log", "/tmp/log"]
    assert (trace.offset.tolist(), trace.size.tolist()) == ([0, 3, 8192, 7, 8], [3, 4, 4096, 1, 1])
    assert trace.latency_us.tolist() == [102, 50, -1, 50, 50]
    assert trace.time_us[-1] == (86_400 + 1 - (10 * 3600 + 11 * 60 + 12)) * 1_000_000 - 100
    assert trace.meta.extra["left_out.no_file"] == "2"


@pytest.mark.parametrize(
    "row",
    [
        '101 1700000000.002 read(3, "abc',
        '101 1700000000.002 read(3, "abc", 3)',
        'read(3, "abc", 3) = 3',
        "101 1700000000.002 what is this",
        "some words",
        '101 1700000000.002 read(3, "abc", 3) = 9999999999999999999 <0.000001>',
        f'101 1700000000.002 read(3, "abc", 3) = 3 <{"9" * 400}.1>',
        f"101 1700000000.002 _llseek(3, 0, [{'9' * 5000}], SEEK_SET) = 0 <0.000001>",
        "101 1700000000.002 _llseek(3, 0) = 0 <0.000001>",
    ],
)
def test_bad_rows_are_named(tmp_path, row):
    path = made(tmp_path, OUTPUT + row + "\n")
    with pytest.raises(TraceError, match="row 22: is no whole line of strace"):
        read(path)
    assert len(read(path, skip_bad_rows=1)) == 6


def test_positions_that_no_file_has_are_bad_rows(tmp_path):
    far = OUTPUT + '101 1700000000.002 openat(AT_FDCWD, "far", O_RDWR) = 3 <0.000001>\n'
    far += f"101 1700000000.002 lseek(3, 0, SEEK_END) = {2**62} <0.000001>\n"
    far += '101 1700000000.002 read(3, "abc", 3) = 3 <0.000001>\n' * 2
    path = made(tmp_path, far)
    with pytest.raises(TraceError, match="row 24: offset is 4611686018427387904"):
        read(path)
    assert len(read(path, skip_bad_rows=2)) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('3, "a, \\") = b"..., 5) = 5', (["3", '"a, \\") = b"...', "5"], ") = 5")),
        ("3</a, b)>, [{x=1, y=(2, 3)}], 2) = 4", (["3</a, b)>", "[{x=1, y=(2, 3)}]", "2"], ") = 4")),
        (") = 4", ([""], ") = 4")),
        ('3, "ab', None),
        ("3, [1, 2", None),
    ],
)
def test_arguments(text, expected):
    assert arguments(text) == expected


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1), st.sampled_from(["read", "write", "pread64", "pwrite64", "lseek"]), st.integers(0, 9999)
    ),
    min_size=1,
    max_size=30,
)


@given(STEPS, st.booleans(), st.integers(0, 3))
def test_positions_against_a_plain_model(tmp_path_factory, steps, named, torn):
    """Two files, calls of two threads, some of which are interrupted."""
    lines = [f'7 1.{n:06d} openat(AT_FDCWD, "f{n}", O_RDWR) = {3 + n}' + f"</f{n}>" * named for n in (0, 1)]
    lines.append("7 1.000009 clone3({flags=CLONE_FILES, stack=0x1}, 88) = 8")
    at, expected = [0, 0], []
    for index, (file, call, number) in enumerate(steps):
        fd = f"{3 + file}" + f"</f{file}>" * named
        begin = f"{7 + index % 2} 2.{index:06d} "
        if call == "lseek":
            at[file] = number
            whole = f"lseek({fd}, {number}, SEEK_SET", f") = {number} <0.000001>"
        elif call.startswith("p"):
            expected.append((f"f{file}", int(call == "pwrite64"), number, 1 + index))
            whole = f'{call}({fd}, "\\")"..., 9999, {number}', f") = {1 + index} <0.000001>"
        else:
            expected.append((f"f{file}", int(call == "write"), at[file], 1 + index))
            at[file] += 1 + index
            whole = f'{call}({fd}, "\\")"..., 9999', f") = {1 + index} <0.000001>"
        if torn and index % torn == 0:
            lines += [f"{begin}{whole[0]} <unfinished ...>", f"{begin}<... {call} resumed>{whole[1]}"]
        else:
            lines.append(f"{begin}{whole[0]}{whole[1]}")
    path = tmp_path_factory.mktemp("t") / "t"
    path.write_text("\n".join(lines))
    if not expected:
        return
    trace = read(path, fmt="strace")
    names = [name.removeprefix("/") for name in texts(trace.volume)]
    columns = (trace.op.tolist(), trace.offset.tolist(), trace.size.tolist())
    assert list(zip(names, *columns, strict=True)) == expected

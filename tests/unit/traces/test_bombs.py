"""Small compressed files of very many events: read within the memory there is, or refused in one line."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from cachezoo.kernels.match import COMPLETE, ISSUE, NO_ROOM, SLOT_BYTES, join
from cachezoo.traces import events
from cachezoo.traces.events import EVENT_BYTES, Room
from cachezoo.traces.memory import memory_left
from cachezoo.traces.source import Source
from tests.trace_data import read, text_lines

LIMITED = """
import resource, sys
from pathlib import Path
from cachezoo.errors import CachezooError
from cachezoo.traces.read import OpenTrace, TraceFiles, silent

def count(path, fmt="blkparse"):
    return sum(map(len, OpenTrace(TraceFiles([Path(path)], fmt), silent).chunks()))

count(sys.argv[1])  # compiles and loads what is needed
taken = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_DATA, (taken + (int(sys.argv[3]) << 20),) * 2)
try:
    print(count(sys.argv[2]))
except CachezooError as error:
    print(error)
"""


def outcome(tmp_path, content, mib):
    """What a process with so much more memory says of a compressed blkparse text."""
    small, path = tmp_path / "small.zst", tmp_path / "bomb.zst"
    small.write_bytes(pa.compress("\n".join(text_lines(50)["blkparse"]).encode(), "zstd", asbytes=True))
    path.write_bytes(pa.compress(content, "zstd", asbytes=True))
    command = [sys.executable, "-c", LIMITED, small, path, str(mib)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


EVENT = b"8,0 1 1 0.000000001 10 D W 8 + 8 [w]\n"


@pytest.mark.parametrize("mib", [160, 640])
def test_more_events_than_memory_are_refused(tmp_path, mib):
    said = outcome(tmp_path, EVENT * 1_200_000, mib)
    if mib == 640:
        assert said == "1200000\n"
        return
    assert "bomb.zst: has more events than can be joined in the 1" in said
    assert said.endswith(" MiB of memory left; cut the trace by time, or keep one device (option device=MAJOR,MINOR)\n")
    assert (tmp_path / "bomb.zst").stat().st_size < 10_000


@pytest.mark.parametrize("content", [b"\n" * 30_000_000 + EVENT, b" \n" * 8_000_000 + EVENT])
def test_blank_lines_take_no_memory(tmp_path, content):
    assert outcome(tmp_path, content, 400) == "1\n"


def test_lines_that_are_no_events_are_judged_one_by_one(tmp_path):
    said = outcome(tmp_path, EVENT * 2000 + b"x\n" * 4_000_000, 400)
    assert "bomb.zst: row 2001: is no event of blkparse ('x')" in said


def test_requests_under_way_have_the_memory_that_events_leave():
    n = 40_000
    kinds = np.full(n, ISSUE, np.uint8)
    kinds[0] = COMPLETE
    steps = (kinds, np.zeros(n, np.int32), np.arange(n) * 8, np.full(n, 8, np.int32), np.zeros(n, np.int32))
    first, last, counts = join(*steps, 2**17 + 1024)
    assert (len(first), len(last), counts[NO_ROOM]) == (n - 1, n - 1, 0)
    first, _, counts = join(*steps, 2**17 + 1023)
    assert counts[NO_ROOM] == 1 and 2**15 <= len(first) < n - 1


def test_room_is_of_the_memory_left_at_the_beginning(tmp_path, monkeypatch):
    left = [200 * EVENT_BYTES]
    monkeypatch.setattr(events, "memory_left", lambda: left[0])
    path = tmp_path / "t"
    path.write_text("\n".join(text_lines(200)["blkparse"]))
    assert len(read(path)) == 200
    left[0] -= 1
    with pytest.raises(events.TraceError, match=r"t: has more events than can be joined in the 0 MiB"):
        read(path)
    lines = text_lines(3000)["blkparse"]
    path.write_text("\n".join([*lines, lines[-1].replace(" D ", " C ").replace("[w2]", "[0]")]))
    left[0] = 3001 * EVENT_BYTES + 5120 * SLOT_BYTES
    with pytest.raises(events.TraceError, match=r"t: has more requests under way at once than can be joined"):
        read(path)
    left[0] += 4096 * SLOT_BYTES
    assert len(read(path)) == 3000
    assert Room(Source(path)).slots(0) == left[0] // SLOT_BYTES


def test_memory_left_is_some():
    assert 2**20 < memory_left() < 2**50

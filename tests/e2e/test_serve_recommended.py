"""The line that `recommend` prints is run as it is printed: hits as promised, a filesystem, kills.

Names of devices stand for what a reader has, so files take the place of DISK and SSD. Nothing else is changed; the
filter of this build is named, and no block device is asked for.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from cachezoo.demo.answer import promised
from cachezoo.demo.replay import Counted, fill, page_data, replay
from cachezoo.demo.workload import PAGES, database
from cachezoo.devices.nbd.client import connected
from cachezoo.sizes import PAGE_BYTES, Size
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import OP_WRITE
from tests.command_line import run
from tests.e2e.test_nbd_mounted import command, mounted

REQUESTS, BEFORE = 5_000, 2_000
ROOT = Path(__file__).parents[2]
POINT = 0.01
MODES = ("around", "through", "back")

pytestmark = [pytest.mark.needs("nbdkit", "gcc"), pytest.mark.slow]


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """The words of the line `Run it` for the demo's trace."""
    path = tmp_path_factory.mktemp("trace") / "day.parquet"
    write_trace(database(REQUESTS), path)
    said = run("recommend", path, "--size", "3MiB", "--no-models").stdout
    (found,) = re.findall(r"^Run it +(cachezoo serve .*)$", said, re.MULTILINE)
    return shlex.split(found)


def in_mode(line, mode):
    """The line with another mode."""
    place = line.index("--mode") + 1
    return [*line[:place], mode, *line[place + 1 :]]


def value(line, option):
    return line[line.index(option) + 1]


class Serving:
    """A disk that is served by the line."""

    def __init__(self, process, environment, folder):
        self.process, self.environment, self.folder = process, environment, folder

    @property
    def path(self):
        return self.folder / "run/disk/nbd.sock"

    def status(self):
        words = [sys.executable, "-m", "cachezoo.serve", "status", "--json"]
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=60, check=True)
        (found,) = json.loads(done.stdout)
        return found

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0


@contextmanager
def served(line, built, folder):
    """`folder/disk` behind a cache on `folder/ssd`."""
    places = {"DISK": str(folder / "disk"), "SSD": str(folder / "ssd")}
    words = [places.get(word, word) for word in line[1:]]
    own = {"CACHEZOO_RUN": folder / "run", "STATE_DIRECTORY": folder, "PYTHONPATH": ROOT / "src"}
    environment = os.environ | {name: str(path) for name, path in own.items()}
    start = [sys.executable, "-c", "from cachezoo.cli import main; main()"]
    process = subprocess.Popen(
        [*start, *words, "--filter", str(built), "--attach", "no"],
        env=environment, cwd=folder, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline().startswith("Serving"), "it did not start"
        yield Serving(process, environment, folder)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)
        process.stdout.close()


class Asked:
    """The served disk for `replay`; hits are the filter's, of what counts in the mode."""

    def __init__(self, serving, client, mode):
        self.read, self.write, self._serving, self._mode = client.read, client.write, serving, mode

    @property
    def counted(self):
        found = self._serving.status()["counters"]
        hits, misses = found["read_hits"], found["read_misses"]
        if self._mode != "around":
            hits, misses = hits + found["write_hits"], misses + found["write_misses"]
        return Counted(hits, hits + misses)


@pytest.mark.parametrize("mode", MODES)
def test_hits_are_those_that_were_promised(line, built, tmp_path, mode):
    own = in_mode(line, mode)
    fill(tmp_path / "disk", PAGES)
    trace = database(REQUESTS)
    with served(own, built, tmp_path) as serving:
        with connected(serving.path) as client:
            found = replay(Asked(serving, client, mode), trace, PAGES).counted
        serving.stop()
    pages = Size.parse(value(own, "--size")).pages(PAGES)
    said = promised(trace, expand_pages(trace), value(own, "--policy"), pages, mode)
    assert abs(found.share - said) < POINT, (found, said)


@pytest.mark.needs("root", "loop", "nbdfuse", "fio")
@pytest.mark.parametrize("mode", MODES)
def test_a_filesystem_holds_what_fio_wrote(line, built, tmp_path, mode):
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(48 << 20)
    command("mkfs.ext4", "-q", tmp_path / "disk")
    with served(in_mode(line, mode), built, tmp_path) as serving:
        with mounted(serving, tmp_path) as place:
            command(
                "fio", "--name=verify", f"--filename={place / 'file'}", "--rw=randrw", "--rwmixread=40", "--size=8m",
                "--io_size=16m", "--bsrange=512-32k", "--blockalign=512", "--verify=crc32c", "--verify_fatal=1",
                "--do_verify=1", "--verify_backlog=64", "--fsync=32", "--randseed=7", "--verify_state_save=0",
            )  # fmt: skip
        found = serving.status()["counters"]
        serving.stop()
    assert found["write_requests"] > 0 and found["ssd_errors"] == found["ssd_corrupt"] == 0
    command("e2fsck", "-fn", tmp_path / "disk")


@pytest.mark.parametrize("mode", MODES)
def test_killed_it_serves_again_what_was_acknowledged(line, built, tmp_path, mode):
    """nbdkit is killed; the same line serves the same disk again, and every page is the one that was written last."""
    fill(tmp_path / "disk", PAGES)
    trace = database(REQUESTS).rows(0, BEFORE)
    own = [*in_mode(line, mode), "--label", str(tmp_path / "label")]
    with served(own, built, tmp_path) as serving:
        with connected(serving.path) as client:
            replay(Asked(serving, client, mode), trace, PAGES)
        os.kill(int((tmp_path / "run/disk/nbdkit.pid").read_text()), signal.SIGKILL)
        assert serving.process.wait(60) != 0
    versions = np.bincount(trace.offset[trace.op == OP_WRITE] // PAGE_BYTES, minlength=PAGES)
    with served(own, built, tmp_path) as serving:
        with connected(serving.path) as client:
            for page in range(PAGES):
                assert client.read(page * PAGE_BYTES, PAGE_BYTES)[0] == page_data(page, int(versions[page])), page
        assert serving.status()["counters"]["resident_at_start"] > 0
        serving.stop()

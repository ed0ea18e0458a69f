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
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cachezoo.demo.replay import Counted, fill, page_data, replay
from cachezoo.demo.workload import PAGES, database
from cachezoo.devices.nbd.client import connected
from cachezoo.serve.metrics import accesses
from cachezoo.sizes import PAGE_BYTES
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
def said(tmp_path_factory):
    """What is recommended for the demo's trace."""
    path = tmp_path_factory.mktemp("trace") / "day.parquet"
    write_trace(database(REQUESTS), path)
    return run("recommend", path, "--size", "3MiB", "--no-models").stdout


@pytest.fixture(scope="module")
def line(said):
    """The words of the line `Run it`."""
    (found,) = re.findall(r"^Run it +(cachezoo serve .*)$", said, re.MULTILINE)
    return shlex.split(found)


@pytest.fixture(scope="module")
def read_cache(said):
    """The words of the line below it, which is of a read cache."""
    (found,) = re.findall(r"^ +or, as a read cache: (cachezoo serve .*)$", said, re.MULTILINE)
    return shlex.split(found)


def in_mode(line, mode):
    """The line with another mode."""
    place = line.index("--mode") + 1
    return [*line[:place], mode, *line[place + 1 :]]


def value(line, option):
    return [after for word, after in pairwise(line) if word == option][-1]


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

    def seen(self):
        """Wait until the process that supervises has seen all requests so far, which it notes."""
        end = time.monotonic() + 60
        while self.noted() != accesses(self.status()["counters"]):
            assert time.monotonic() < end
            time.sleep(0.1)

    def noted(self):
        return accesses(json.loads((self.folder / "run/disk/served.json").read_text())["counters"])

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
    """The served disk for `replay`; counts are what `serve` has seen, which looks again and again."""

    def __init__(self, serving, client):
        self.read, self.write, self._serving = client.read, client.write, serving

    @property
    def counted(self):
        self._serving.seen()
        asked, hits = accesses(self._serving.status()["counters"])
        return Counted(hits, asked)


@pytest.mark.parametrize("way", ["line", "read_cache"])
def test_hits_are_those_that_are_printed_and_serve_says_so(way, built, tmp_path, request):
    own = request.getfixturevalue(way)
    fill(tmp_path / "disk", PAGES)
    with served(own, built, tmp_path) as serving:
        with connected(serving.path) as client:
            found = replay(Asked(serving, client), database(REQUESTS), PAGES).counted
        status = serving.status()
        serving.stop()
    said = float(value(own, "--promise").removesuffix("%")) / 100
    assert status["mode"] == value(own, "--mode") and status["promised"] == pytest.approx(said)
    assert status["measured_accesses"] == pytest.approx(found.asked, abs=100) and found.asked > 1000
    assert abs(found.share - said) < POINT, (found, said)
    assert abs(status["measured"] - said) < POINT and not status["promise_missed"]


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
            replay(Asked(serving, client), trace, PAGES)
        os.kill(int((tmp_path / "run/disk/nbdkit.pid").read_text()), signal.SIGKILL)
        assert serving.process.wait(60) != 0
    versions = np.bincount(trace.offset[trace.op == OP_WRITE] // PAGE_BYTES, minlength=PAGES)
    with served(own, built, tmp_path) as serving:
        with connected(serving.path) as client:
            for page in range(PAGES):
                assert client.read(page * PAGE_BYTES, PAGE_BYTES)[0] == page_data(page, int(versions[page])), page
        assert serving.status()["counters"]["resident_at_start"] > 0
        serving.stop()

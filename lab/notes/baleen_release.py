"""The flash cache compared with the simulator that Baleen's authors released, on the synthetic Tectonic load.

    baleen_release.py --release FOLDER --python PYTHON --work FOLDER [--requests 200000] [--load-seed 1]

FOLDER of --release holds their package BCacheSim (github.com/wonglkd/BCacheSim); --python has what it needs (its
install/requirements.txt). Both run LRU over segments of 128 KiB without prefetch, a read touching all that is resident
of its block, as theirs does: AcceptAll, and RejectX with a queue of refused segments, equally long. The last row is our
RejectX by recency at the writes that theirs makes. The cache has the size of the paper's, by the share of accesses that
the trace has of its Region1; theirs evicts once it is full, so ours has a segment less. Speed is requests by second of
processor time: theirs with reading the trace, which takes a small part; ours with and without cutting requests into
segments.
"""

import argparse
import json
import lzma
import math
import os
import resource
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.flash_cache.problem import meet_budget
from cachezoo.kernels.flash import DiskHead, FlashRun, Memory, simulate_flash, simulate_rejectx
from cachezoo.kernels.segments import expand_segments
from cachezoo.questions.flash.options import OBJECTS
from cachezoo.synth.tectonic import BLOCK_BYTES, tectonic
from cachezoo.traces.table import OP_READ, Trace

CACHE_GB, REGION1_ACCESSES, REGION1_PERCENT = 366.475, 147_794, 0.1
GET, PUT = 2, 4
FACTOR = 0.508154  # of the release's example: its queue holds so many times the cache's segments


def write_release(trace: Trace, path: Path) -> None:
    """The trace in the release's layout of seven fields."""
    path.parent.mkdir(parents=True, exist_ok=True)
    block, offset = trace.offset // BLOCK_BYTES, trace.offset % BLOCK_BYTES
    op = np.where(trace.op == OP_READ, GET, PUT)
    columns = (block, offset, trace.size, trace.time_us, op, trace.namespace.codes, trace.user.codes)
    with path.open("w", encoding="utf-8") as file:
        for own, first, size, when, what, namespace, user in zip(*(c.tolist() for c in columns), strict=True):
            file.write(f"{own} {first} {size} {when / 1e6:.6f} {what} {namespace} {user}\n")


def release(asked: argparse.Namespace, path: Path, capacity: int, policy: list[str]) -> tuple[dict[str, Any], float]:
    """Counters of a run of the release, and its seconds of processor time."""
    out = asked.work / "-".join(policy).replace("--", "")
    command = [asked.python, "-B", "-m", "BCacheSim.cachesim.simulate_ap", "-t", path, "-o", out, *policy]
    command += [
        "--eviction-policy",
        "LRU",
        "--cache-elems",
        str(capacity),
        "--ignore-existing",
        "--log-interval",
        "3600",
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(word) for word in command], cwd=asked.release, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(asked.release)},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    files = sorted(out.rglob("*_cache_perf.txt.lzma"))
    if done.returncode or not files:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return json.loads(lzma.decompress(files[-1].read_bytes()))["results"], after.ru_utime - before.ru_utime


class Ours:
    """A trace in this simulator."""

    def __init__(self, trace: Trace, capacity: int) -> None:
        began = time.process_time()
        self._accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, OBJECTS)
        self.cut = time.process_time() - began
        self._read, self._capacity = trace.op == OP_READ, capacity

    def accept_all(self) -> FlashRun:
        """Of everything."""
        admit = np.ones(len(self._read), np.bool_)
        return simulate_flash(self._accesses, self._read, admit, self._capacity, whole_block=True)

    def rejectx(self, window: int, memory: Memory) -> FlashRun:
        """See `simulate_rejectx`."""
        return simulate_rejectx(self._accesses, self._read, window, self._capacity, memory=memory, whole_block=True)

    def writing(self, segments: int) -> FlashRun:
        """RejectX by recency that writes so many."""
        found = meet_budget(
            lambda window: self.rejectx(window, "recency").segment_writes, len(self._read), segments, 1e-4
        )
        return self.rejectx(found.index, "recency")


def figures(run: FlashRun) -> tuple[int, int, float]:
    """Segments written, I/Os and disk-head seconds."""
    ios = int(np.count_nonzero(run.io_segments))
    moved = run.io_segments.sum(dtype=np.int64) * OBJECTS.segment_bytes
    return run.segment_writes, ios, float(DiskHead().seconds(np.array([ios]), np.array([moved]))[0])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", type=Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--load-seed", type=int, default=1)
    asked = parser.parse_args()
    trace = tectonic(asked.requests, asked.load_seed)
    percent = asked.requests / REGION1_ACCESSES * REGION1_PERCENT
    capacity = int(CACHE_GB * 2**30 * percent / 100 / OBJECTS.segment_bytes)
    path = asked.work / "Synthetic" / "load" / f"full_0_{percent:.6f}.trace"
    write_release(trace, path)
    few = Ours(tectonic(1_000, 0), 100)
    few.accept_all(), few.rejectx(50, "queue")  # compiles
    here, window = Ours(trace, capacity - 1), math.ceil(FACTOR * capacity)
    print(f"{asked.requests:,} synthetic requests, cache of {capacity:,} segments of 128 KiB")
    print(
        "| policy | | segments written | I/Os | disk-head time, s | requests a CPU second |\n|---|---|---|---|---|---|"
    )
    accept_all, accept_all_s = release(asked, path, capacity, ["--ap", "acceptall", "--ap-threshold", "1"])
    rejectx, rejectx_s = release(
        asked, path, capacity, ["--ap", "rejectx", "--ap-threshold", "1", "--ap-probability", str(FACTOR)]
    )
    written = rejectx["FlashChunkWritten"]
    rows = (
        ("AcceptAll", accept_all, accept_all_s, here.accept_all),
        ("RejectX", rejectx, rejectx_s, lambda: here.rejectx(window, "queue")),
        ("RejectX by recency", rejectx, None, lambda: here.writing(written)),
    )
    for name, found, seconds, run in rows:
        theirs = (found["FlashChunkWritten"], found["ServiceFetchIOs"], found["ServiceTimeUsed1"])
        began = time.process_time()
        own, alone = figures(run()), time.process_time() - began
        speeds = ["", "", ""]
        if seconds is not None:
            whole = alone + here.cut
            speeds[0] = f"{asked.requests / seconds:,.0f}"
            speeds[1] = f"{asked.requests / whole:,.0f}; cut before: {asked.requests / alone:,.0f}"
            speeds[2] = f"x {seconds / whole:,.0f}; x {seconds / alone:,.0f}"
        off = [f"{(mine - his) / his:+.3%}" for mine, his in zip(own, theirs, strict=True)]
        print(f"| {name} | release | {theirs[0]:,} | {theirs[1]:,} | {theirs[2]:,.2f} | {speeds[0]} |")
        print(f"| | here | {own[0]:,} | {own[1]:,} | {own[2]:,.2f} | {speeds[1]} |")
        print(f"| | difference | {' | '.join(off)} | {speeds[2]} |")
    for left in Path("/tmp").glob(f"cache-sim-accesses-*{path.stem}*"):  # where the release keeps what it has read
        left.unlink()


if __name__ == "__main__":
    main()

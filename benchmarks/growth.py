"""How commands grow with a trace: time, memory and speed at 1, 10, 100 million and 10**9 requests, each by itself.

`growth.py --requests 1000000,10000000` makes a trace of each length, canonical and with its page ids as ingest leaves
it, runs the commands on it one after the other, and removes it. `--predict` fits time and memory to the shorter lengths
and compares them with the longest. Memory is what a process has of its own (VmHWM less what files are mapped), beside
which the system keeps of the mapped files what fits.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.console import out
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.store import trace_writer
from cachezoo.traces.table import PAGE_BYTES, Trace, TraceMeta

AT_ONCE = 1 << 20
PAGES_A_REQUEST = 0.16  # of the address space; about two thirds of them are accessed
SKEW = 5.0
AGAIN, ON = 0.3, 0.2  # shares of requests to a page asked for lately, and to the page after the last one
LATELY = 200_000
"""Requests back to which `AGAIN` reaches at most."""
POLICIES = ("lru", "s3fifo", "arc", "belady_bypass")
POLL_S = 0.05


def pieces(requests: int, seed: int = 1) -> Iterator[Trace]:
    """A trace of single pages: skewed draws over all pages, returns to late ones, and runs, a third of them writes."""
    rng, space = np.random.default_rng(seed), max(int(requests * PAGES_A_REQUEST), 1)
    meta = TraceMeta("growth", "synthetic", "synth", "0" * 64, "unstated", {"seed": str(seed)})
    time_us = 0
    for low in range(0, requests, AT_ONCE):
        n = min(AT_ONCE, requests - low)
        page = (space * rng.random(n) ** SKEW).astype(np.int64)
        place, kind = np.arange(n), rng.random(n)
        back = np.maximum(place - rng.integers(1, LATELY, n), 0)
        page = np.where(kind < AGAIN, page[back], page)
        page = np.where(kind > 1 - ON, np.minimum(np.roll(page, 1) + 1, space - 1), page)
        times = time_us + np.cumsum(rng.integers(1, 200, n))
        time_us = int(times[-1])
        op = (rng.random(n) < 1 / 3).astype(np.uint8)
        size = np.full(n, PAGE_BYTES, np.int64)
        yield Trace(times, op, page * PAGE_BYTES, size, Coded.constant("0", n), meta)


def write(path: Path, requests: int) -> int:
    """Write the canonical file; how many distinct pages it has."""
    number, count = np.full(max(int(requests * PAGES_A_REQUEST), 1), -1, np.int32), 0
    with trace_writer(path) as writer:
        for piece in pieces(requests):
            page = piece.offset // PAGE_BYTES
            new, first = np.unique(page[number[page] < 0], return_index=True)
            new = new[np.argsort(first, kind="stable")]
            number[new] = np.arange(count, count + len(new), dtype=np.int32)
            count += len(new)
            writer.add(piece, PageAccesses(np.arange(len(piece) + 1), number[page], count))
        writer.close(piece.meta, count)
    return count


def _own_bytes(pid: int) -> int:
    """Resident memory of a process that is no file's."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:")))


def measured(arguments: Sequence[str]) -> tuple[float, int, str]:
    """Seconds of a command, the most memory of its own, and what it prints."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", "from cachezoo.cli import main; raise SystemExit(main())", *arguments],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    most = 0

    def watch() -> None:
        nonlocal most
        while process.poll() is None:
            most = max(most, _own_bytes(process.pid))
            time.sleep(POLL_S)

    watching = threading.Thread(target=watch)
    watching.start()
    printed, _ = process.communicate()
    watching.join()
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}")
    return time.perf_counter() - begun, most, printed


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", default="1000000,10000000", help="lengths, comma-separated")
    parser.add_argument("--folder", type=Path, default=None, help="where the traces are made; default TMPDIR")
    given = parser.parse_args()
    rows = []
    for requests in (int(float(text)) for text in given.requests.split(",")):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            path = Path(folder) / "growth.parquet"
            begun = time.perf_counter()
            n_pages = write(path, requests)
            out().print(f"{requests:,} requests to {n_pages:,} pages: {path.stat().st_size / requests:.1f} bytes each, "
                        f"made in {time.perf_counter() - begun:.0f} s")  # fmt: skip
            for policy in POLICIES:
                seconds, most, printed = measured(["simulate", str(path), "--policy", policy, "--json"])
                run = json.loads(printed)["runs"][0]
                rows.append((policy, requests, seconds, most, run["requests_per_s"] / 1e6, run["hit_ratio"]))
                out().print(*rows[-1])


if __name__ == "__main__":
    main()

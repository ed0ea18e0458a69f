"""How commands grow with a trace: time, memory and speed at 1, 10, 100 million and 10**9 requests, each by itself.

`growth.py --requests 1e6,1e7` makes a trace of each length, canonical and with its page ids as ingest leaves it, runs
the commands on it one after the other, and removes it. Of four lengths the longest is compared with what the others
predict. Memory is what a process has of its own; the system keeps of the files that it maps what fits into the rest.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.console import out
from cachezoo.devices.responses import COLUMNS
from cachezoo.traces.memory import FROM
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.rows import row_writer
from cachezoo.traces.store import pages_in, trace_writer
from cachezoo.traces.table import PAGE_BYTES, Trace, TraceMeta

AT_ONCE = 1 << 20
PAGES_A_REQUEST = 0.16  # of the address space; about two thirds of them are accessed
SKEW = 5.0
AGAIN, ON = 0.3, 0.2  # shares of requests to a page asked for lately, and to the page after the last one
LATELY = 200_000
"""Requests back to which `AGAIN` reaches at most."""
POLL_S = 0.05
HEADINGS = "| step | requests | distinct pages | s | CPU s | memory, GiB | M accesses/s of the simulation |"
HEAD = """# How commands grow with a trace

Written by `CACHEZOO_LONG_FROM=1 python benchmarks/growth.py`, which says what its traces are: one run of each on two
cores of an Intel Xeon, with other work at the same time as some, which makes their s longer. All lengths are run as
long traces are; `recommend` alone runs the whole trace up to 50 million page accesses, and a sample of longer ones."""


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


def _own_bytes(session: int) -> int:
    """Resident memory, that is no file's, of all processes of a session."""
    found = 0
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(place.name)) == session:
                lines = (place / "status").read_text(encoding="utf-8").splitlines()
                found += sum(
                    1024 * int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:"))
                )
        except OSError:  # it has ended
            continue
    return found


@dataclass(frozen=True)
class Measure:
    """What a command took on a trace."""

    step: str
    requests: int
    pages: int  # distinct
    seconds: float
    cpu_s: float  # of all its threads and processes
    own_bytes: int  # the most memory of its own
    rate: float | None  # accesses a second of the simulation alone, reading apart; None of other commands


RECOMMEND = "recommend"
COMPARE = ("compare", "{}", "--policy", "lru", "--policy", "arc", "--sample", "exact")
LABEL = "BenefitLabel(oracle='benefit', horizons=[3], capacities=[0.1])"
EPISODES = (
    "EpisodeLabel(block_bytes=1 << 18, segment_bytes=1 << 12, cache_fraction=0.1, write_budget=0.25, budgets=[0.25], "
    "budget_tolerance=0.1, first_accesses=2, age_tolerance=0.9, age_damping=0.5, age_rounds=12, min_evictions=100, "
    "horizon_fraction=0.25)"
)
FLASH = (
    "FlashPolicy(eviction='lru', disk='wdredpro2tb', seek_ms=11.5, rate_mib_s=143.0, window_min_s=600, "
    "window_min_reads=1000, min_windows=20, min_gap=0.02, disks=None)"
)
MEMORY = "memory_accesses=1 << 20, window_accesses=1 << 16, region_bytes=1 << 20, region_bits=16, clip=6.0"
SCRIPT = """
import sys
from pathlib import Path
from cachezoo.features.table import feature_requests
from cachezoo.labels import benefit, episode_file
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.settings.page_cache import BenefitLabel, SequenceFeatures
trace, responses, made = map(Path, sys.argv[1:4])
"""
SCRIPTS = {
    "benefit labels of two oracles": f"{SCRIPT}benefit.label_requests(trace, responses, {LABEL}, made)\nprint('{{}}')",
    "episode labels": f"{SCRIPT}episode_file.label_requests(trace, {EPISODES}, {FLASH}, made)\nprint('{{}}')",
    "features": f"{SCRIPT}feature_requests(trace, SequenceFeatures({MEMORY}), {LABEL}, made)\nprint('{{}}')",
}
"""What a stage of the pipeline does, by what the table calls it."""
COMMAND = "from cachezoo.cli import main; raise SystemExit(main())"
STEPS = {
    **{policy: ("simulate", "{}", "--policy", policy) for policy in ("lru", "s3fifo", "arc", "belady_bypass")},
    "exact curve of LRU": ("curve", "{}", "--policy", "lru", "--sample", "exact"),
    "compare by one process": (*COMPARE, "--workers", "1"),
    "compare by two": (*COMPARE, "--workers", "2"),
    RECOMMEND: ("recommend", "{}", "--no-models"),
    "wear": ("recommend", "--only", "wear", "{}", "--by", "legacy,autostream", "--streams", "4"),
    "cache-wear": ("recommend", "--only", "cache-wear", "{}", "--op", "28%"),
    **dict.fromkeys(SCRIPTS, ("{}", "{folder}/responses.parquet", "{folder}/made.parquet")),
}  # fmt: skip
"""Commands by what the table calls them, and of the scripts what they are given."""
SERVICE_TIMES = 64
"""Distinct ones of each device."""


def write_responses(path: Path, requests: int, seed: int = 1) -> None:
    """Write service times of a trace's requests on two devices, drawn from a few."""
    rng = np.random.default_rng(seed)
    with row_writer(path, COLUMNS) as writer:
        for low in range(0, requests, AT_ONCE):
            n = min(AT_ONCE, requests - low)
            hdd, ssd = (1 + rng.integers(0, SERVICE_TIMES, n) for _ in range(2))
            writer.add({"t_hdd_us": 200.0 * hdd, "t_ssd_us": 50.0 + ssd})
        writer.close({})


def measured(step: str, path: Path, requests: int, pages: int) -> Measure:
    """Run a command in a process of its own.

    Raises:
        SystemExit: it fails.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        if step in SCRIPTS:
            write_responses(Path(folder) / "responses.parquet", requests)
        arguments = [part.format(path, folder=folder) for part in STEPS[step]] + ["--json"]
        return _measured(step, arguments, requests, pages)


def _measured(step: str, arguments: Sequence[str], requests: int, pages: int) -> Measure:
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPTS.get(step, COMMAND), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={name: own for name, own in os.environ.items() if step != RECOMMEND or name != FROM},  # see HEAD
    )  # fmt: skip
    most = 0

    def watch() -> None:
        nonlocal most
        while process.poll() is None:
            most = max(most, _own_bytes(process.pid))
            time.sleep(POLL_S)

    watching = threading.Thread(target=watch)
    watching.start()
    printed, said = process.communicate()
    watching.join()
    if process.returncode:
        raise SystemExit(f"{step}: {said}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = json.loads(printed)
    rate = found["runs"][0]["requests_per_s"] if STEPS[step][0] == "simulate" else None
    return Measure(step, requests, pages, time.perf_counter() - begun, cpu_s, most, rate)


def predicted(shorter: Sequence[Measure], name: str, requests: int) -> float:
    """A figure of a longer trace from three shorter ones of a step.

    Time is what a process takes to begin, and for each request an amount that grows with the logarithm of their number,
    as the state of the pages leaves one cache of the processor after the other: `a + n (b + c log n)`. Memory is
    `a + b n`, from the two longer ones, of which each has a whole piece of the trace in memory.
    """
    memory = name == "own_bytes"
    known = sorted(shorter, key=lambda own: own.requests)[1 if memory else 0 :]
    counts = np.array([own.requests for own in known], np.float64)
    columns = [np.ones_like(counts), counts] + ([] if memory else [counts * np.log10(counts)])
    figures = np.array([getattr(own, name) for own in known], np.float64)
    found = np.linalg.solve(np.stack(columns, axis=1) / figures[:, None], np.ones_like(figures))
    return float(found @ np.array([1.0, requests] + ([] if memory else [requests * math.log10(requests)])))


def table(measures: Sequence[Measure]) -> list[str]:
    """All measures, and how far the longest trace is from what the shorter ones predict, as Markdown."""
    lines = [HEADINGS, "|---|---|---|---|---|---|---|"]
    for own in measures:
        rate = "" if own.rate is None else f"{own.rate / 1e6:.1f}"
        lines.append(
            f"| {own.step} | {own.requests:,} | {own.pages:,} | {own.seconds:.0f} | {own.cpu_s:.0f} "
            f"| {own.own_bytes / 2**30:.2f} | {rate} |"
        )
    lengths = sorted({own.requests for own in measures})
    if len(lengths) < 4:
        return lines
    lines += ["", f"The same of {lengths[-1]:,} requests, predicted from the shorter ones:", ""]
    lines += ["| step | CPU s | predicted | off | memory, GiB | predicted | off |", "|---|---|---|---|---|---|---|"]
    for own in (own for own in measures if own.requests == lengths[-1] and own.step != RECOMMEND):  # as of the others
        shorter = [other for other in measures if other.step == own.step and other.requests in lengths[-4:-1]]
        if len(shorter) == 3:
            cpu_s, size = (predicted(shorter, name, own.requests) for name in ("cpu_s", "own_bytes"))
            lines.append(
                f"| {own.step} | {own.cpu_s:.0f} | {cpu_s:.0f} | {100 * (cpu_s / own.cpu_s - 1):+.0f} % "
                f"| {own.own_bytes / 2**30:.2f} | {size / 2**30:.2f} | {100 * (size / own.own_bytes - 1):+.0f} % |"
            )
    return lines


def main() -> None:
    """Measure, and print the table of all that was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", default="1e6,1e7", help="lengths, comma-separated")
    parser.add_argument("--steps", default=",".join(STEPS), help="which, comma-separated")
    parser.add_argument("--folder", type=Path, default=None, help="where traces are made; default TMPDIR")
    parser.add_argument("--trace", type=Path, default=None, help="a trace that `write` has made; of one length")
    parser.add_argument(
        "--measures", type=Path, default=None, help="measures of earlier runs, to which these are added"
    )
    parser.add_argument("--write", type=Path, default=None, help="write the table there, too")
    given = parser.parse_args()
    kept = given.measures
    measures = [Measure(**own) for own in json.loads(kept.read_text())] if kept is not None and kept.exists() else []
    for requests in (int(float(text)) for text in given.requests.split(",") if text):
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            path = given.trace or Path(folder) / "growth.parquet"
            pages = write(path, requests) if given.trace is None else pages_in(path)
            for step in given.steps.split(","):
                found = measured(step.strip(), path, requests, pages)
                out().print(*table([found])[2:])
                measures = [own for own in measures if (own.step, own.requests) != (found.step, found.requests)]
                measures.append(found)
                if kept is not None:
                    kept.write_text(json.dumps([asdict(own) for own in measures]))
    order = list(STEPS)
    lines = table(sorted(measures, key=lambda own: (order.index(own.step), own.requests)))
    out().print("\n".join(lines))
    if given.write is not None:
        given.write.write_text("\n".join([HEAD, "", *lines, ""]))


if __name__ == "__main__":
    main()

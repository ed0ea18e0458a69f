"""How often the guess at the columns of an unknown table is right, asks, or is wrong.

Run as `.venv/bin/python benchmarks/guesses.py [--tables N] [--seed N] [--show N] [FILE ...]`. Tables are written from
requests that are known, with other columns among them, in any order, units, spellings and delimiter, with names or
without. Requests are made up, or are those of traces' files. A guess is right where reading by it gives the same
operations, addresses and sizes, and times within a thousandth of the span; it asks where it says that it does not know
the op, or gives several of which one is right; there may be no guess; else it is wrong. `--show` prints tables that are
wrong.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cachezoo.arrays import I64, U8
from cachezoo.errors import TraceError
from cachezoo.traces.formats.columns import parsed
from cachezoo.traces.guess import guessed
from cachezoo.traces.read import TraceFiles, read_any, read_files
from cachezoo.traces.table import OP_READ, Trace

ROWS = 150
START_S = 1_712_000_000  # seconds since 1970, of tables whose times are moments
DELIMITERS = (",", ";", "\t", "|", " ")
TIME_NAMES = ("time", "timestamp", "ts", "start_time", "issue_time", "arrival")
OFFSET_NAMES = {1: ("offset", "addr", "byte_offset", "pos"), 512: ("lba", "sector", "start_lba"), 4096: ("page", "lpn")}
SIZE_NAMES = {1: ("size", "length", "bytes", "io_size"), 512: ("sectors", "nr_sectors"), 4096: ("pages", "page_count")}
OP_NAMES = ("op", "rw", "operation", "io_type")
WORDS = (("R", "W"), ("r", "w"), ("read", "write"), ("READ", "WRITE"), ("RS", "WS"), ("RD", "WR"))
PER_S = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
VERDICTS = ("right", "asked", "no guess", "wrong")


@dataclass(frozen=True)
class Requests:
    """What a table is of; arrays of one length."""

    time_s: list[float]  # seconds since the start
    op: U8
    offset: I64  # bytes
    size: I64  # bytes


@dataclass(frozen=True)
class Example:
    """A table and what it says."""

    lines: list[str]
    requests: Requests
    said: str  # how it was made


def made_up(rng: random.Random) -> Requests:
    """Requests of one disk: some again, some in streams, of a few sizes."""
    sizes = rng.choice(([4096], [4096, 8192, 32768], [512, 4096, 65536], [4096, 16384, 65536, 131072], [8192, 16384]))
    step = 512 if 512 in sizes else 4096
    blocks = 2 ** rng.randrange(10, 30)
    rate, now = 10 ** rng.uniform(1.3, 3.9), 0.0
    streams, reuse, reads = rng.choice((0.0, 0.3, 0.8)), rng.choice((0.0, 0.2, 0.6)), rng.choice((0.3, 0.7, 0.95))
    time, op, offset, size = [], [], [], []
    for k in range(ROWS):
        now += rng.expovariate(rate)
        if k and rng.random() < streams:
            at = offset[-1] + size[-1]
        elif k and rng.random() < reuse:
            at = rng.choice(offset)
        else:
            at = rng.randrange(blocks) * step
        time.append(now)
        op.append(int(rng.random() > reads))
        offset.append(at)
        size.append(rng.choice(sizes))
    op[0], op[1] = 0, 1
    return Requests(time, np.array(op, np.uint8), np.array(offset, np.int64), np.array(size, np.int64))


def of_trace(trace: Trace, rng: random.Random) -> Requests:
    """Some consecutive requests of the first volume of a trace."""
    rows = np.flatnonzero(trace.volume.codes == trace.volume.codes[0])
    start = rng.randrange(max(len(rows) - ROWS, 1))
    rows = rows[start : start + ROWS]
    time = (trace.time_us[rows] - trace.time_us[rows[0]]) / 1e6
    return Requests(time.tolist(), trace.op[rows], trace.offset[rows], trace.size[rows])


def _times(requests: Requests, rng: random.Random) -> tuple[list[str], str]:
    unit = rng.choice(("s", "ms", "us", "ns"))
    start = rng.choice((0, 0, START_S))
    if unit in ("us", "ns") or (unit == "ms" and rng.random() < 0.3):
        return [str(int((at + start) * PER_S["us"]) * int(PER_S[unit] / 1e6) if unit in ("us", "ns") else
                    int((at + start) * PER_S[unit])) for at in requests.time_s], unit  # fmt: skip
    digits = 6 if unit == "s" else 3
    return [f"{(at + start) * PER_S[unit]:.{digits}f}" for at in requests.time_s], unit


def _further(requests: Requests, rng: random.Random) -> dict[str, list[str]]:
    """Columns that say nothing of the requests."""
    n = len(requests.time_s)
    late = [10 ** rng.uniform(-4.5, -2) for _ in range(n)]
    every = {
        "latency": [f"{value:.6f}" for value in late],
        "latency_us": [str(int(value * 1e6)) for value in late],
        "latency_ns": [str(int(value * 1e9)) for value in late],
        "pid": [str(rng.choice((811, 2784))) for _ in range(n)],
        "cpu": [str(rng.randrange(4)) for _ in range(n)],
        "process": [rng.choice(("fio", "postgres", "kworker")) for _ in range(n)],
        "priority": ["0"] * n,
        "seq": [str(k + 1) for k in range(n)],
        "queue_depth": [str(rng.randrange(1, 32)) for _ in range(n)],
        "md5": [f"{rng.getrandbits(64):016x}" for _ in range(n)],
    }
    return {name: every[name] for name in rng.sample(sorted(every), rng.randrange(4))}


def example(requests: Requests, rng: random.Random) -> Example:
    """A table of requests."""
    times, unit = _times(requests, rng)
    aligned = not ((requests.offset | requests.size) % 4096).any()
    places = rng.choice((1, 512, 4096) if aligned else (1, 512))
    counted = rng.choice((places, 1, 512) if places != 4096 else (places, 1))
    named = rng.random() < 0.5
    time_name = rng.choice(TIME_NAMES) + (f"_{unit}" if rng.random() < 0.4 else "")
    columns = {
        time_name: times,
        rng.choice(OFFSET_NAMES[places]): [str(value // places) for value in requests.offset.tolist()],
        rng.choice(SIZE_NAMES[counted]): [str(value // counted) for value in requests.size.tolist()],
    }
    style = rng.randrange(len(WORDS) + 1)
    words = WORDS[style] if style < len(WORDS) else ("0", "1")
    columns[rng.choice(OP_NAMES)] = [words[op != OP_READ] for op in requests.op.tolist()]
    columns |= _further(requests, rng)
    order = list(columns)
    rng.shuffle(order)
    sign = rng.choice(DELIMITERS)
    rows = zip(*(columns[name] for name in order), strict=True)
    lines = [*([sign.join(order)] if named else []), *(sign.join(row) for row in rows)]
    return Example(lines, requests, f"time in {unit}, offset {places}, size {counted}, {order}, named {named}")


def agrees(trace: Trace, requests: Requests) -> bool:
    """Whether a trace has a table's requests."""
    span = requests.time_s[-1] - requests.time_s[0]
    return (
        bool((trace.op == requests.op).all())
        and bool((trace.offset == requests.offset).all())
        and bool((trace.size == requests.size).all())
        and abs(int(trace.time_us[-1]) / 1e6 - span) <= 1e-3 * span + 2e-3
    )


def verdict(one: Example, folder: Path) -> tuple[str, str]:
    """One of `VERDICTS`, and the guess."""
    guess = guessed(one.lines)
    if not guess.columns:
        return "no guess", ""
    path = folder / "table.txt"
    path.write_text("\n".join(one.lines) + "\n")
    for number, columns in enumerate((guess.columns, *guess.others)):
        known = "op=" in columns and not guess.op
        named = columns if "op=" in columns else f"{columns},op=read"
        trace = _read(path, named)
        if (
            trace is None
            or len(trace) != ROWS
            or not agrees(trace if known else replace(trace, op=one.requests.op), one.requests)
        ):
            continue
        return ("right" if known and not guess.others and not number else "asked"), columns
    return "wrong", f"{guess.columns} {guess.op} {guess.others}"


def _read(path: Path, columns: str) -> Trace | None:
    try:
        return read_files(TraceFiles([path], "columns", options=parsed(columns)), quiet=True)
    except TraceError:
        return None


def run(tables: int, seed: int, traces: Sequence[Trace] = (), show: int = 0) -> Counter[str]:
    """How many tables have each of `VERDICTS`.

    Args:
        tables: how many.
        seed: of all that is chosen.
        traces: whose requests to take; none makes them up.
        show: how many of the wrong ones to print.
    """
    rng, counts = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(tables):
            one = example(of_trace(rng.choice(traces), rng) if traces else made_up(rng), rng)
            what, said = verdict(one, Path(folder))
            counts[what] += 1
            if what == "wrong" and counts[what] <= show:
                print("\n".join([one.said, *one.lines[:6], said, ""]))
    return counts


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    counts = run(given.tables, given.seed, [read_any(path, quiet=True) for path in given.traces], given.show)
    print(f"{given.tables} tables: " + ", ".join(f"{counts[name]} {name}" for name in VERDICTS))


if __name__ == "__main__":
    sys.exit(main())

"""Ways to read the columns of FIOS's Table II, each held against what the paper prints for traces of its own.

    CACHEZOO_PUBLIC_TRACES=FOLDER .venv/bin/python lab/notes/fios_readings.py [IOzone=FILE] [UMASS-1=FILE] ...

The paper gives a sentence to each column (Sec. IV-A), and IV-B and IV-C two more names for the first: autocorrelation
"of update time" and "of write rates". A reading is a definition that these words allow. PostMark and the first rows of
MSR-hm0 are taken from the folder of public traces, other rows from the files that are given. For each column the table
has every reading on every trace, and the mean distance from what is printed: |difference| of the autocorrelation, of
shares in parts of one, and the doublings between two values of what may be of any size. `cachezoo.features.fios.theta`
takes the nearest of each column that the words allow.
"""

import argparse
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np

from cachezoo.arrays import I32, I64, U16, Bool
from cachezoo.contest.series import autocorrelation
from cachezoo.features.fios import DAY_S
from cachezoo.kernels.characteristics import Updates, page_uses, updates
from cachezoo.kernels.chunks import number_chunks
from cachezoo.show import markdown
from cachezoo.show.output import drawn
from cachezoo.show.table import Cell, Column, Table, number_cell
from cachezoo.traces.chunks import CHUNK_BYTES, continues
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.table import OP_WRITE, Trace

COLUMNS = ("ACF", "RW", "R", "S", "lambda")
# Table II: ACF, RW (%), R, S (KB), lambda (GB/day) of the rows whose traces, or a part of them, can be had.
PRINTED = {
    "IOzone": (0.98, 49.45, 1.21, 197.0, 28.08),
    "Postmark": (0.99, 98.29, 37.61, 26.0, 43.87),
    "UMASS-1": (0.21, 64.0, 1242.93, 8.0, 575.94),
    "MSR-hm0": (0.92, 66.0, 4.48, 15.0, 58.51),
}
PUBLIC = {"Postmark": "block/postmark.disksim.gz", "MSR-hm0": "fixtures/msr-cambridge1-sample.csv"}
FOLDER = "CACHEZOO_PUBLIC_TRACES"


@dataclass(frozen=True)
class Written:
    """The writes of a trace."""

    trace: Trace

    @cached_property
    def write(self) -> Bool:
        """bool[n]: which requests write."""
        found: Bool = self.trace.op == OP_WRITE
        return found

    @cached_property
    def when(self) -> I64:
        """Microseconds of each write since the trace's first request."""
        found: I64 = self.trace.time_us[self.write] - self.trace.time_us[0]
        return found

    @cached_property
    def size(self) -> I64:
        """Bytes of each write."""
        found: I64 = self.trace.size[self.write].astype(np.int64)
        return found

    def units(self, unit: int) -> tuple[I32, U16, int]:
        """Writes by units of so many bytes: the first one's number, how many, and how many there are."""
        first = self.trace.offset[self.write] // unit
        last = (self.trace.offset[self.write] + self.size - 1) // unit
        count = (last - first + 1).astype(np.uint16)
        volume = self.trace.volume.codes[self.write].astype(np.int64) + 1
        keys, ids = number_chunks((volume << 46) + first, count)
        return ids, count, len(keys)

    def updates(self, unit: int, when: I64 | None = None) -> Updates:
        """What is updated, by units of so many bytes; on another clock if given."""
        ids, count, units = self.units(unit)
        return updates(ids, count, self.when if when is None else when, units)


Reading = Callable[[Written], float | None]


def _gaps(lag: int, *, of_log: bool = False, reads: bool = False) -> Reading:
    def of(written: Written) -> float | None:
        gaps = np.diff(written.trace.time_us if reads else written.when)
        return autocorrelation(np.log2(1.0 + gaps) if of_log else gaps, lag)

    return of


def _rates(seconds: int, *, of_bytes: bool = False) -> Reading:
    def of(written: Written) -> float | None:
        window = written.when // (seconds * 1_000_000)
        return autocorrelation(np.bincount(window, written.size if of_bytes else None), 1)

    return of


def _intervals(unit: int, *, by_request: bool = False) -> Reading:
    def of(written: Written) -> float | None:
        own = np.arange(len(written.when), dtype=np.int64) if by_request else None
        return written.updates(unit, own).correlation

    return of


def _own_intervals(written: Written) -> float | None:
    """Correlation of a chunk's interval with its next one, over all chunks."""
    ids, count, _ = written.units(CHUNK_BYTES)
    chunk = np.repeat(ids, count) + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    order = np.argsort(chunk, kind="stable")
    chunk, when = chunk[order], np.repeat(written.when, count)[order]
    gap = np.diff(when)
    pairs = (chunk[2:] == chunk[1:-1]) & (chunk[1:-1] == chunk[:-2])
    one, other = gap[:-1][pairs], gap[1:][pairs]
    return float(np.corrcoef(one, other)[0, 1]) if len(one) >= 10 and one.std() and other.std() else None


def _random_after_writes(written: Written) -> float | None:
    offset = written.trace.offset[written.write]
    end = offset + written.size
    return 100 * float(np.mean(np.append(True, offset[1:] != end[:-1])))


def _reused_requests(unit: int) -> Reading:
    def of(written: Written) -> float | None:
        new = written.updates(unit).new
        return (len(written.when) - new) / new

    return of


def _reused_units(unit: int) -> Reading:
    def of(written: Written) -> float | None:
        _, count, units = written.units(unit)
        return (int(count.sum()) - units) / units

    return of


def _reads_of_written(written: Written) -> float | None:
    """Reads of pages over writes of them."""
    pages = expand_pages(written.trace)
    reads, writes = page_uses(pages.page_ids, pages.request_start, written.trace.op, pages.n_pages)
    return float(reads[writes > 0].sum() / writes.sum())


def _per_day(written: Written) -> float | None:
    span_s = float(written.trace.time_us[-1] - written.trace.time_us[0]) / 1e6
    return float(written.size.sum()) / 1e9 / span_s * DAY_S


READINGS: Mapping[str, Mapping[str, Reading]] = {
    "ACF": {
        "times between writes, lag 1": _gaps(1),
        "the same, lag 10": _gaps(10),
        "their logarithm, lag 1": _gaps(1, of_log=True),
        "times between all requests": _gaps(1, reads=True),
        "writes in windows of 1 s": _rates(1),
        "writes in windows of 10 s": _rates(10),
        "writes in windows of 60 s": _rates(60),
        "bytes in windows of 10 s": _rates(10, of_bytes=True),
        "update intervals of pages of 4 KiB": _intervals(4096),
        "update intervals of pages of 8 KiB": _intervals(8192),
        "update intervals of chunks of 32 KiB": _intervals(CHUNK_BYTES),
        "the same, counted in write requests": _intervals(CHUNK_BYTES, by_request=True),
        "update intervals of 128 KiB": _intervals(131_072),
        "of one chunk, an interval and its next": _own_intervals,
    },
    "RW": {
        "not where the volume's last request ended": lambda one: 100 * float((~continues(one.trace)[one.write]).mean()),
        "not where the last write ended": _random_after_writes,
    },
    "R": {
        "page writes of 4 KiB": _reused_units(4096),
        "chunk writes of 32 KiB": _reused_units(CHUNK_BYTES),
        "requests by their first page of 4 KiB": _reused_requests(4096),
        "requests by their first chunk of 32 KiB": _reused_requests(CHUNK_BYTES),
        "requests by their first 128 KiB": _reused_requests(131_072),
        "reads of written pages over their writes": _reads_of_written,
    },
    "S": {
        "mean": lambda one: float(one.size.mean()) / 1024,
        "median": lambda one: float(np.median(one.size)) / 1024,
        "geometric mean": lambda one: float(np.exp(np.log(one.size).mean())) / 1024,
    },
    "lambda": {"bytes written over the trace's span": _per_day},
}


def distance(column: str, value: float | None, printed: float) -> float:
    """How far a value is from the printed one, see the module; infinite where there is none."""
    if value is None or math.isnan(value):
        return math.inf
    if column == "ACF":
        return abs(value - printed)
    if column == "RW":
        return abs(value - printed) / 100
    return abs(math.log2(value / printed)) if value > 0 else math.inf


def table(column: str, traces: Mapping[str, Written]) -> Table:
    """Every reading of a column on every trace, the nearest first."""
    place = COLUMNS.index(column)
    rows = []
    for name, reading in READINGS[column].items():
        values = {row: reading(one) for row, one in traces.items()}
        far = fmean(distance(column, value, PRINTED[row][place]) for row, value in values.items())
        rows.append((far, [Cell(name), *(number_cell(one, 2) for one in values.values()), number_cell(far, 2)]))
    printed = [Cell("printed"), *(number_cell(PRINTED[row][place], 2) for row in traces), Cell("")]
    columns = [Column(column, numeric=False), *(Column(row) for row in traces), Column("mean distance")]
    nearest = sorted(rows, key=lambda one: one[0])
    return Table(f"FIOS, Table II: {column}", columns, [printed, *(row for _, row in nearest)])


def files_of(given: list[str]) -> dict[str, Path]:
    """The traces by their rows in Table II."""
    folder = os.environ.get(FOLDER)
    found = {row: Path(folder, file) for row, file in PUBLIC.items()} if folder else {}
    for one in given:
        row, _, file = one.partition("=")
        if row not in PRINTED or not file:
            raise SystemExit(f"{one}: give ROW=FILE, with one of {', '.join(PRINTED)}")
        found[row] = Path(file)
    if not found:
        raise SystemExit(f"no trace: give ROW=FILE, or set {FOLDER}")
    return {row: found[row] for row in PRINTED if row in found}


def main() -> None:
    """Print a table for each column."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", metavar="ROW=FILE")
    traces = {row: Written(read_any(file)) for row, file in files_of(parser.parse_args().traces).items()}
    for column in COLUMNS:
        print(markdown.titled(drawn(table(column, traces))))


if __name__ == "__main__":
    main()

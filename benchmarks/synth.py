"""Synthetic traces beside their originals: errors of their statistics, and requests drawn a second.

    .venv/bin/python benchmarks/synth.py data/raw/captured/*_test.parquet

Times are of this process's CPU, on one core, with the kernels compiled.
"""

import argparse
import time
from pathlib import Path

from cachezoo.synth.compare import CAPACITIES, Row, compare, statistics
from cachezoo.synth.fit import fit
from cachezoo.synth.generate import synthetic
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any

SEED = 1


def cell(row: Row) -> str:
    """An error in points or per cent."""
    return "-" if row.error is None else f"{100 * row.error:+.1f}"


def line(path: Path) -> str:
    """A row of the table."""
    trace = read_any(path)
    pages = expand_pages(trace)
    model = fit(trace, pages)
    synthetic(model, SEED)  # compiles
    begin = time.process_time()
    drawn = synthetic(model, SEED)
    speed = len(drawn) / (time.process_time() - begin) / 1e6
    rows = {row.name: row for row in compare(statistics(trace, pages), statistics(drawn, expand_pages(drawn)))}
    curve = " ".join(cell(rows[f"LRU hits at {share} %"]) for share in CAPACITIES)
    others = ("distinct pages", "sequential", "top 1 % of pages", "top 10 % of pages", "reads", "sizes of reads",
              "sizes of writes", "spread of gaps", "busiest volume")  # fmt: skip
    return f"| {path.name} | {curve} | {' | '.join(cell(rows[name]) for name in others)} | {speed:.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="+", type=Path)
    print("| trace | LRU hits at 1, 2, 5, 10, 20 %, points | distinct pages, % | sequential, points | top 1 %, points "
          "| top 10 %, points | reads, points | sizes of reads, KS % | of writes | spread of gaps, % "
          "| busiest volume, points | million requests a second |")  # fmt: skip
    print("|---" * 12 + "|")
    for path in parser.parse_args().traces:
        print(line(path), flush=True)


if __name__ == "__main__":
    main()

"""The tables of data/raw/captured/README.md: `python -m scripts.captured_table` prints them, `--write` writes them."""

from pathlib import Path

import numpy as np

from cachezoo.config.load import load_params
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ, PAGE_BYTES, Trace
from scripts.corpus_table import ROOT, figures, line, put

README = ROOT / "data/raw/captured/README.md"
FLASH_PAGE = 8192
GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10
HEADS = {
    "pages": (
        "| trace | requests | reads | page accesses | distinct pages | LRU at 10 % | best classic | optimum |\n"
        "|---|---|---|---|---|---|---|---|\n"
    ),
    "objects": "| trace | accesses | mean size, MiB | distinct GiB | accesses/s |\n|---|---|---|---|---|\n",
    "writes": (
        "| trace | requests | writes | mean write, KiB | footprint, MiB | written, footprints |\n"
        "|---|---|---|---|---|---|\n"
    ),
}


def of_objects(trace: Trace) -> tuple[str, ...]:
    """Cells of a trace of large accesses."""
    return (
        f"{len(trace):,}",
        f"{trace.size.mean() / MIB:.2f}",
        f"{expand_pages(trace).n_pages * PAGE_BYTES / GIB:.1f}",
        f"{len(trace) / (trace.time_us[-1] / 1e6):.0f}",
    )


def of_writes(trace: Trace) -> tuple[str, ...]:
    """Cells of a trace of overwrites, by flash pages of 8 KiB."""
    written = trace.op != OP_READ
    first = trace.offset[written] // FLASH_PAGE
    count = (trace.offset[written] + trace.size[written] - 1) // FLASH_PAGE - first + 1
    pages = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
    footprint = len(np.unique(pages))
    return (
        f"{len(trace):,}",
        f"{100 * float(written.mean()):.0f} %",
        f"{trace.size[written].mean() / KIB:.1f}",
        f"{footprint * FLASH_PAGE // MIB:,}",
        f"{len(pages) / footprint:.1f}",
    )


def tables() -> dict[str, str]:
    """The tables by the names of their blocks, in the order of the matrix."""
    data = load_params(ROOT / "params.yaml").data
    found = dict(HEADS)
    for key, entry in data.traces.items():
        name, cells = ("pages", figures) if entry.category in data.page_categories else ("objects", of_objects)
        found[name] += line(key, *cells(read_trace(ROOT / entry.path)))
    for path in sorted({entry.path for entry in data.writes.values()}):
        found["writes"] += line(Path(path).stem, *of_writes(read_trace(ROOT / path)))
    return found


if __name__ == "__main__":
    put(tables(), README)

"""The table of data/raw/long/README.md: `python -m scripts.long_table` prints it, `--write` puts it there."""

import sys
from pathlib import Path

import numpy as np

from cachezoo.arrays import F64
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.show.markdown import between
from cachezoo.sizes import pages_of
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.store import read_trace

ROOT = Path(__file__).resolve().parents[1]
TRACES = ROOT / "data/raw/long"
README = TRACES / "README.md"
HEAD = (
    "| trace | requests | page accesses | distinct pages | capacities | MB | LRU by quarter | best classic by quarter |"
    " optimum by quarter |\n"
    "|---|---|---|---|---|---|---|---|---|\n"
)


def full_at(pages: PageAccesses, capacity: int) -> int:
    """The first page access with as many distinct pages before it as a cache holds."""
    return int(np.searchsorted(np.maximum.accumulate(pages.page_ids), capacity))


def row(path: Path) -> str:
    """A trace's line of the table."""
    trace = read_trace(path)
    pages = expand_pages(trace)
    capacity = pages_of(10, pages.n_pages)
    simulator, first = Simulator(trace, pages), full_at(pages, capacity)

    def quarters(name: str) -> F64:
        hit = simulator.run(name, capacity, first).outcome[first:] == HIT
        return np.array([part.mean() for part in np.array_split(hit, 4)])

    ratios = {name: quarters(name) for name in classics()}
    best = max(sorted(ratios), key=lambda name: float(ratios[name].mean()))
    cells = (
        path.stem,
        f"{len(trace):,}",
        f"{len(pages.page_ids):,}",
        f"{pages.n_pages:,}",
        f"{(len(pages.page_ids) - first) / capacity:.0f}",
        f"{path.stat().st_size / 1e6:.1f}",
        _line(ratios["lru"]),
        f"{best} {_line(ratios[best])}",
        _line(quarters(OPTIMUM)),
    )
    return f"| {' | '.join(cells)} |\n"


def _line(ratios: F64) -> str:
    return " ".join(f"{ratio:.3f}" for ratio in ratios)


def main() -> None:
    """Print the table, or write it."""
    text = HEAD + "".join(map(row, sorted(TRACES.glob("*.parquet"))))
    if sys.argv[1:] != ["--write"]:
        sys.stdout.write(text)
        return
    page = README.read_text(encoding="utf-8")
    README.write_text(between(page, "table", text, README), encoding="utf-8")


if __name__ == "__main__":
    main()

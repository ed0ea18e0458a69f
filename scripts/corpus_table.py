"""The tables of data/raw/corpus/README.md: `python -m scripts.corpus_table` prints them, `--write` puts them there."""

import sys
from pathlib import Path

import numpy as np

from cachezoo.arrays import F64
from cachezoo.config.load import load_params
from cachezoo.contest.blocks import block_means
from cachezoo.contest.counting import first_access
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.settings.data import CorpusEntry
from cachezoo.show.markdown import between
from cachezoo.sizes import pages_of
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ, Trace

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "data/raw/corpus/README.md"
HEADS = {
    "table": (
        "| trace | role | requests | reads | page accesses | distinct pages | LRU at 10 % | best classic | optimum |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    ),
    "long": (
        "| trace | requests | page accesses | distinct pages | capacities | MB | LRU by quarter |"
        " best classic by quarter | optimum by quarter |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    ),
}
QUARTERS = 4


def row(key: str, entry: CorpusEntry) -> str:
    """A trace's line of the first table."""
    role = "unseen test" if entry.unseen else entry.role
    return line(key, role, *figures(read_trace(ROOT / entry.path)))


def figures(trace: Trace) -> tuple[str, ...]:
    """Cells of a trace of pages: its size, and hit ratios at a tenth of its distinct pages, after warm-up."""
    pages = expand_pages(trace)
    capacity = pages_of(10, pages.n_pages)
    simulator, warmup = Simulator(trace, pages), first_access(pages)
    ratios = {name: simulator.run(name, capacity, warmup).hit_ratio for name in classics()}
    best = max(sorted(ratios), key=lambda name: ratios[name])
    optimum = simulator.run(OPTIMUM, capacity, warmup).hit_ratio
    return (
        f"{len(trace):,}",
        f"{100 * float((trace.op == OP_READ).mean()):.0f} %",
        f"{len(pages.page_ids):,}",
        f"{pages.n_pages:,}",
        f"{ratios['lru']:.4f}",
        f"{best} {ratios[best]:.4f}",
        f"{optimum:.4f}",
    )


def line(*cells: str) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(cells)} |\n"


def full_at(pages: PageAccesses, capacity: int) -> int:
    """The first page access with as many distinct pages before it as a cache holds."""
    return int(np.searchsorted(np.maximum.accumulate(pages.page_ids), capacity))


def long_row(key: str, entry: CorpusEntry) -> str:
    """A long trace's line of the second table."""
    path = ROOT / entry.path
    trace = read_trace(path)
    pages = expand_pages(trace)
    capacity = pages_of(10, pages.n_pages)
    simulator, first = Simulator(trace, pages), full_at(pages, capacity)

    def quarters(name: str) -> F64:
        return block_means(simulator.run(name, capacity, first).outcome[first:] == HIT, QUARTERS)

    ratios = {name: quarters(name) for name in classics()}
    best = max(sorted(ratios), key=lambda name: float(ratios[name].mean()))
    return line(
        key,
        f"{len(trace):,}",
        f"{len(pages.page_ids):,}",
        f"{pages.n_pages:,}",
        f"{(len(pages.page_ids) - first) / capacity:.0f}",
        f"{path.stat().st_size / 1e6:.1f}",
        _each(ratios["lru"]),
        f"{best} {_each(ratios[best])}",
        _each(quarters(OPTIMUM)),
    )


def _each(ratios: F64) -> str:
    return " ".join(f"{ratio:.3f}" for ratio in ratios)


def tables() -> dict[str, str]:
    """The whole tables by the names of their blocks, by category and key."""
    found = dict(HEADS)
    for _, rows in sorted(load_params(ROOT / "params.yaml").data.corpus.items()):
        for key, entry in sorted(rows.items()):
            found["long" if entry.long else "table"] += (long_row if entry.long else row)(key, entry)
    return found


def main() -> None:
    """Print the tables, or write them."""
    put(tables(), README)


def put(found: dict[str, str], readme: Path) -> None:
    """Print tables, or with `--write` put each into the block of its name."""
    if sys.argv[1:] != ["--write"]:
        sys.stdout.write("\n".join(found.values()))
        return
    page = readme.read_text(encoding="utf-8")
    for name, text in found.items():
        page = between(page, name, text, readme)
    readme.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

"""The table of data/raw/corpus/README.md: `python -m scripts.corpus_table` prints it, `--write` puts it there."""

import sys
from pathlib import Path

from cachezoo.config.load import load_params
from cachezoo.contest.counting import first_access
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.settings.data import CorpusEntry
from cachezoo.show.markdown import between
from cachezoo.sizes import pages_of
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "data/raw/corpus/README.md"
HEAD = (
    "| trace | role | requests | reads | page accesses | distinct pages | LRU at 10 % | best classic | optimum |\n"
    "|---|---|---|---|---|---|---|---|---|\n"
)


def row(key: str, entry: CorpusEntry) -> str:
    """A trace's line of the table."""
    trace = read_trace(ROOT / entry.path)
    pages = expand_pages(trace)
    capacity = pages_of(10, pages.n_pages)
    simulator, warmup = Simulator(trace, pages), first_access(pages)
    ratios = {name: simulator.run(name, capacity, warmup).hit_ratio for name in classics()}
    best = max(sorted(ratios), key=lambda name: ratios[name])
    optimum = simulator.run(OPTIMUM, capacity, warmup).hit_ratio
    role = "unseen test" if entry.unseen else entry.role
    cells = (
        key,
        role,
        f"{len(trace):,}",
        f"{100 * float((trace.op == OP_READ).mean()):.0f} %",
        f"{len(pages.page_ids):,}",
        f"{pages.n_pages:,}",
        f"{ratios['lru']:.4f}",
        f"{best} {ratios[best]:.4f}",
        f"{optimum:.4f}",
    )
    return f"| {' | '.join(cells)} |\n"


def table() -> str:
    """The whole table, by category and key."""
    corpus = load_params(ROOT / "params.yaml").data.corpus
    return HEAD + "".join(row(key, entry) for _, rows in sorted(corpus.items()) for key, entry in sorted(rows.items()))


def main() -> None:
    """Print the table, or write it."""
    text = table()
    if sys.argv[1:] != ["--write"]:
        sys.stdout.write(text)
        return
    page = README.read_text(encoding="utf-8")
    README.write_text(between(page, "table", text, README), encoding="utf-8")


if __name__ == "__main__":
    main()

"""References a second of the virtual I/O cache: the moves of each queue, and what a cache of its positions takes.

Processor time of one thread, best of several, compilation apart. The queue has 262,144 pages (1 GiB), the cache as much
of it as `--cache` says. Uniform references to 300,000 pages are the worst: each moves half the queue, and no fragment
is worth more than another for long. The aim is 2 M references a second for both together.

    python benchmarks/virtual.py --mapping   # the paper's rule and the optimum, on captured traces
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from peers import PUBLIC, zipf
from timing import compiled

from cachezoo.kernels.evict import arc
from cachezoo.kernels.virtual import ranked, vrm
from cachezoo.kernels.virtual.mapping import MOST_RUNS, allocate, make_work
from cachezoo.kernels.virtual.queues import QUEUES, Moves, moves
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any

ROOT = Path(__file__).resolve().parents[1]
CAPTURED = ("database_test", "fileserver_test", "mail_test", "web_test")
N = 262_144
REPEATS = 3
MADE = {
    "zipf": lambda: zipf(1)[:2_000_000],
    "loop": lambda: (np.arange(2_000_000) % 200_000).astype(np.int32),
    "uniform": lambda: np.random.default_rng(1).integers(0, 300_000, 2_000_000).astype(np.int32),
}


def list_bytes(queue: str, n_pages: int) -> int:
    """What the queue's lists take while moves are computed; those of LRU are `cachezoo.kernels.stack_distance`'s."""
    if queue == "lru":
        numbers = 1 << max(6, (2 * n_pages - 1).bit_length())
        return 4 * n_pages + 4 * numbers + numbers // 8 + numbers // 16
    found = sum(part.nbytes for part in ranked.make(n_pages, min(N, n_pages)))
    if queue == "arc":
        return found + sum(part.nbytes for part in arc.make(n_pages, N)[:-1])
    return found + 4 * n_pages


def row(queue: str, ids: np.ndarray, n_pages: int, fragment: int, capacity: int) -> str:
    """A queue's line of the table."""
    own = vrm.Settings(fragment)
    first, moved = compiled(lambda: moves(queue, ids, n_pages, N), REPEATS)
    second, served = compiled(lambda: vrm.simulate(moved, capacity, N, own), REPEATS)
    m, hits = len(ids), served.hit.mean()
    plain = vrm.simulate(moved, capacity, N, own._replace(q=m + 1)).hit.mean()  # never mapped anew: the head
    return (
        f"| {queue} | {m / (first + second) / 1e6:.1f} | {1e9 * first / m:.0f} | {1e9 * second / m:.0f} "
        f"| {list_bytes(queue, n_pages) / n_pages:.0f} | {plain:.4f} | {hits:.4f} "
        f"| {1 - plain:.4f} | {1 - hits + served.moved.mean():.4f} |"
    )


def table(name: str, ids: np.ndarray, fragments: list[int], capacity: int) -> None:
    """Every queue over one trace."""
    n_pages = int(ids.max()) + 1
    for fragment in fragments:
        print(f"\n{name}: {len(ids):,} references to {n_pages:,} pages; fragments of {fragment} pages\n")
        print("| queue | M references/s | moves, ns | cache, ns | bytes a page | head: hits | hits | head: transfers "
              "| transfers |")  # fmt: skip
        print("|---|---|---|---|---|---|---|---|---|")
        for queue in QUEUES:
            print(row(queue, ids, n_pages, fragment, capacity), flush=True)


def parts_of_optimum(moved: Moves, n: int, fragment: int, window: int = 4000, f: int = 2) -> tuple[float, float]:
    """What the paper's mapping of a sixth of the queue is worth, of the optimum's: over all windows, and least."""
    count = vrm.fragments(n, fragment)
    k, runs, nothing = max(f, count // 6), np.zeros((MOST_RUNS, 2), np.int64), np.zeros(count)
    work, worth = make_work(count, k, f), np.zeros((2, len(moved.position) // window))
    for w in range(worth.shape[1]):
        position = moved.position[w * window : (w + 1) * window]
        value = np.bincount(position[position >= 0] // fragment, minlength=count).astype(np.float64)
        for optimal in (0, 1):
            worth[optimal, w] = allocate(value, nothing, k, f, 0.0, optimal, work, runs)[1]
    kept = worth[:, worth[1] > 0]
    return float(kept[0].sum() / kept[1].sum()), float((kept[0] / kept[1]).min())


def mappings() -> None:
    """The paper's rule and the optimum: value of the mapping, and what the cache then hits, reads and takes."""
    print("| trace | of the optimum's value: mean, least | cost | hits: rule | optimum | transfers: rule | optimum "
          "| ns: rule | optimum |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    for name in CAPTURED:
        pages = expand_pages(read_any(ROOT / f"data/raw/captured/{name}.parquet", quiet=True))
        n = max(6 * 2 * vrm.FRAGMENT, pages.n_pages // vrm.FRAGMENT * vrm.FRAGMENT)
        moved = moves("lru", pages.page_ids, pages.n_pages, n)
        parts = parts_of_optimum(moved, n, vrm.FRAGMENT)
        for cost in (0.0, 1.0):
            took, found = [], []
            for optimal in (0, 1):
                own = vrm.Settings(cost=cost, optimal=optimal)
                seconds, served = compiled(lambda own=own, n=n, m=moved: vrm.simulate(m, n // 6, n, own), 1)
                took.append(1e9 * seconds / len(pages.page_ids))
                found.append((served.hit.mean(), 1 - served.hit.mean() + served.moved.mean()))
            print(f"| {name} | {parts[0]:.0%}, {parts[1]:.0%} | {cost:g} | {found[0][0]:.4f} | {found[1][0]:.4f} "
                  f"| {found[0][1]:.4f} | {found[1][1]:.4f} | {took[0]:.0f} | {took[1]:.0f} |", flush=True)  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", action="append", choices=[*MADE, *PUBLIC])
    parser.add_argument("--fragment", action="append", type=int, help="pages; default 256 and 16")
    parser.add_argument("--cache", type=float, default=0.1, help="pages of the cache per page of the queue")
    parser.add_argument("--mapping", action="store_true", help="the paper's mapping and the optimum")
    own = parser.parse_args()
    if own.mapping:
        mappings()
        return
    public = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    for name in own.trace or [*MADE, *(["OLTP", "cloudphysics"] if public else [])]:
        if name in MADE:
            ids = MADE[name]()
        elif public is None:
            print(f"{name} is left out: CACHEZOO_PUBLIC_TRACES is not set")
            continue
        else:
            ids = expand_pages(read_any(Path(public) / PUBLIC[name])).page_ids
        table(name, ids, own.fragment or [256, 16], round(own.cache * N))


if __name__ == "__main__":
    main()

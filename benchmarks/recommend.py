"""`cachezoo recommend`: how long it takes, and how good its choice of policy is.

`--speed` times whole recommendations of generated traces. Otherwise every given trace is held against all classics:
at each size of the ladder but the last, on the second half of the trace, which chose nothing, how far the hit ratio of
the recommended policy is below that of the best of all classics in hindsight, beside fixed choices.

    python benchmarks/recommend.py                       # train and validation traces, on which the rules were chosen
    python benchmarks/recommend.py --role test           # test traces
    python benchmarks/recommend.py FILE...               # others
    python benchmarks/recommend.py --speed 1000000 10000000
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import classics, policy
from cachezoo.questions.page.candidates import CANDIDATES
from cachezoo.questions.page.recommendation import Options, recommend
from cachezoo.traces.read import read_any
from cachezoo.traces.table import Trace, TraceMeta
from cachezoo.yaml_file import read_yaml

NEAR = 0.005
SEED = 1
PAGES = 1_000_000
ROLES = {"train": ("train", "validation"), "test": ("test",)}
RECOMMENDED, FIRST = "recommended", "chosen on the first half alone, without going back to LRU"


@dataclass(frozen=True)
class Losses:
    """Below the best of all classics, hit ratio at each size of a trace by way to choose; the knee's place."""

    trace: str
    by_way: dict[str, np.ndarray]
    knee: int


def places(role: str) -> list[Path]:
    """Page traces of the matrix and of its corpus."""
    matrix = read_yaml(Path("conf/matrix.yaml"))
    rows = {**matrix["page_traces"], **matrix["corpus"]}
    return [Path(row["path"]) for row in rows.values() if row["role"] in ROLES[role]]


def losses(path: Path) -> Losses:
    """All classics at all sizes of a trace, beside what is recommended at each."""
    found = recommend(path.name, read_any(path), BUILT_IN, Options())
    rows = found.picked.rows[:-1]
    bench = found.bench
    ids, n = bench.pages.page_ids, bench.pages.n_pages
    ratios = {
        name: np.array([(policy(name).hits(ids, n, row.capacity)[bench.half :] == HIT).mean() for row in rows])
        for name in dict.fromkeys([*classics(), *(one.id for one in CANDIDATES)])
    }
    best = np.max([ratios[name] for name in classics()], axis=0)
    own = np.array([row.ran.hit_ratio for row in rows])
    first = np.array([ratios[row.chosen][k] for k, row in enumerate(rows)])
    ways = {
        RECOMMENDED: best - own,
        FIRST: best - first,
        **{f"always {name}": best - ratio for name, ratio in ratios.items()},
    }
    return Losses(path.stem, ways, min(found.picked.place, len(rows) - 1))


def table(found: Sequence[Losses]) -> None:
    """Ways to choose, by their mean loss."""
    sizes = {way: np.concatenate([one.by_way[way] for one in found]) for way in found[0].by_way}
    knees = {way: np.array([one.by_way[way][one.knee] for one in found]) for way in sizes}
    print(
        f"\n{len(found)} traces, {len(sizes[RECOMMENDED])} sizes; points of hit ratio below the best of 19 classics\n"
    )
    print("| way to choose | mean | worst | within 0.5 points | at the knee: mean | within 0.5 points |")
    print("|---|---|---|---|---|---|")
    for way in sorted(sizes, key=lambda way: float(sizes[way].mean())):
        loss, bend = 100 * sizes[way], 100 * knees[way]
        near, bent = (100 * float((own <= 100 * NEAR).mean()) for own in (loss, bend))
        print(f"| {way} | {loss.mean():.2f} | {loss.max():.1f} | {near:.0f} % | {bend.mean():.2f} | {bent:.0f} % |")


def made(n: int) -> Trace:
    """Popular extents, three writes in ten, 4 to 64 KiB."""
    rng = np.random.default_rng(SEED)
    extents = (rng.zipf(1.15, n) % PAGES) * 2_654_435_761 % PAGES
    return Trace(
        time_us=np.cumsum(rng.integers(10, 4000, n)),
        op=(rng.random(n) < 0.3).astype(np.uint8),
        offset=extents * 65536,
        size=rng.choice([4096, 8192, 16384, 65536], n, p=[0.4, 0.2, 0.3, 0.1]),
        volume=Coded.constant("sda", n),
        meta=TraceMeta("made", "unknown", "test", "0" * 64),
    )


def speed(counts: Sequence[int]) -> None:
    """Seconds of whole recommendations, kernels compiled before, without models and without reading a file."""
    recommend("first", made(2000), BUILT_IN, Options())
    print("\n| requests | page accesses | seconds |\n|---|---|---|")
    for n in counts:
        trace = made(n)
        start = time.perf_counter()
        found = recommend("made", trace, BUILT_IN, Options())
        took = time.perf_counter() - start
        print(f"| {n:,} | {len(found.bench.pages.page_ids):,} | {took:.1f} |", flush=True)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--role", choices=[*ROLES], default="train")
    parser.add_argument("--speed", nargs="+", type=int, metavar="REQUESTS")
    asked = parser.parse_args()
    if asked.speed:
        speed(asked.speed)
        return
    table([losses(path) for path in asked.traces or places(asked.role)])


if __name__ == "__main__":
    main()

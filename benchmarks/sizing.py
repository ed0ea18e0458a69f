"""`cachezoo recommend --only ram-ssd`: how long it takes, and how far its choices are from an exhaustive search's.

The referee simulates and replays every point with all pages: the hierarchies of the list, with RAM and SSD of sizes
that double. Both choose by the first half of the trace, of parts of modules and drives, so that there are many sizes.
Each sum a month has a search of its own. Printed is how much longer a page read takes with the search's
choice than with the referee's: on the half that chose, and on the second, which chose nothing. Beside it are the
seconds of one such search, and of the referee, which does all sums in one; both of one process.

    python benchmarks/sizing.py                    # captured validation traces
    python benchmarks/sizing.py FILE...            # others
    python benchmarks/sizing.py --sums 3 FILE      # fewer sums, for a long trace
    python benchmarks/sizing.py --resume DIR       # keeps the referee's points there, and goes on from them
    python benchmarks/sizing.py --speed 1000000    # a generated trace, two processes, without a referee
"""

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from recommend import made

from cachezoo.devices.built_in import BUILT_IN
from cachezoo.questions.tiers.advice import advise
from cachezoo.questions.tiers.bench import Bench
from cachezoo.questions.tiers.budget import Point, rungs
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.options import SizeOptions
from cachezoo.questions.tiers.purchase import Terms
from cachezoo.questions.tiers.search import Found, Halves, Ledger, Runner, Search, Simulated, digest
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.settings.prices import BUILT_IN as PRICES
from cachezoo.traces.read import read_any
from cachezoo.yaml_file import read_yaml

SHARES = rungs(1 / 512, 1.0, 2.0)
"""Sums, as parts of what RAM for all pages costs a month; `--sums` takes so many of them, spread evenly."""
GOAL = 0.03


@dataclass(frozen=True)
class Referee:
    """The advisor compared with the referee on a trace."""

    name: str  # of the trace
    accesses: int  # page accesses
    chosen: np.ndarray  # float64[S] the advisor's mean time over the referee's at each sum, on the half that chose
    judged: np.ndarray  # the same on the other half
    points: tuple[int, int]  # simulated in full by the advisor for a sum, and by the referee for all
    advisor_s: float  # seconds of CPU
    referee_s: float


def places() -> list[Path]:
    """Captured validation traces."""
    rows = read_yaml(Path("conf/matrix.yaml"))["page_traces"]
    return [Path(row["path"]) for row in rows.values() if row["role"] == "validation"]


def compared(path: Path, shares: Sequence[float], resume: Path | None) -> Referee:
    """Search a trace both ways, at these parts of what RAM for all pages costs."""
    trace = read_any(path, quiet=True)
    stream, options = tier_stream(trace), SizeOptions(terms=Terms(parts=True))
    halves = Halves.of(Bench.of(path.name, stream, BUILT_IN, PRICES))
    shop = options.shop(PRICES, stream.pages.n_pages)
    everything = shop.buy(Point(parse_hierarchy("lru"), shop.pages, 0), 0.0).month_usd

    def search(ledger: Ledger) -> Search:
        return Search(Simulated(Runner(halves), ledger), shop, options.hierarchies)

    def advised(month: float) -> tuple[Found, int] | None:
        found = search(Ledger())
        found.survey([month], closely=[month])
        best = found.best(month)
        return (best[0], found.simulated.counts[1]) if best else None

    advised(everything)  # compiles
    start = time.process_time()
    tried = {share * everything: advised(share * everything) for share in shares}
    asked = {month: found for month, found in tried.items() if found is not None}
    advisor_s = (time.process_time() - start) / len(shares)
    own, sums = list(asked.values()), list(asked)
    kept = None if resume is None else resume / f"{path.name}.jsonl"
    referee = search(Ledger(kept, {"trace": digest(trace)}))
    start = time.process_time()
    referee.exhaust(1)
    referee_s = time.process_time() - start
    pairs = [(ours, referee.best(money)[0]) for (ours, _), money in zip(own, sums, strict=True)]
    judged = referee.simulated.score(one.point for pair in pairs for one in pair)
    return Referee(
        path.name, len(stream), np.array([ours.amat_us / best.amat_us for ours, best in pairs]),
        np.array([judged[ours.point].tiered.amat_us / judged[best.point].tiered.amat_us for ours, best in pairs]),
        (round(np.mean([count for _, count in own])), referee.simulated.counts[1]), advisor_s, referee_s,
    )  # fmt: skip


def head() -> None:
    """The titles of the table."""
    titles = ("trace", "page accesses", "half that chose: mean, worst", "within 3 %", "second half: mean, worst",
              "points in full", "seconds", "times as fast")  # fmt: skip
    print("\n| " + " | ".join(titles) + " |")
    print("|" + "---|" * len(titles), flush=True)


def row(one: Referee) -> None:
    """A trace's line of the table."""
    chosen, judged = 100 * (one.chosen - 1), 100 * (one.judged - 1)
    within = int((one.chosen <= 1 + GOAL).sum())
    cells = (
        one.name, f"{one.accesses:,}", f"{chosen.mean():+.2f} %, {chosen.max():+.2f} %",
        f"{within} of {len(chosen)}", f"{judged.mean():+.2f} %, {judged.max():+.2f} %",
        f"{one.points[0]}, {one.points[1]:,}", f"{one.advisor_s:.1f}, {one.referee_s:.1f}",
        f"{one.referee_s / one.advisor_s:.0f}",
    )  # fmt: skip
    print("| " + " | ".join(cells) + " |", flush=True)


def speed(counts: Sequence[int]) -> None:
    """Seconds of whole advices in two processes, kernels compiled before, without reading a file."""
    advise("first", made(5000), BUILT_IN, PRICES, SizeOptions(terms=Terms(parts=True)), workers=1)
    print("\n| requests | page accesses | points sampled, in full | seconds | of CPU |\n|---|---|---|---|---|")
    for n in counts:
        trace = made(n)
        start, worked = time.perf_counter(), _worked()
        found = advise("made", trace, BUILT_IN, PRICES, SizeOptions(terms=Terms(parts=True)), workers=2)
        took, worked = time.perf_counter() - start, _worked() - worked
        sampled, full = found.counts
        print(f"| {n:,} | {found.bench.accesses:,} | {sampled}, {full} | {took:.1f} | {worked:.1f} |", flush=True)


def _worked() -> float:
    """Seconds of CPU of this process and of those that it began."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--sums", type=int, choices=range(1, len(SHARES) + 1), default=len(SHARES), metavar="COUNT")
    parser.add_argument("--speed", nargs="+", type=int, metavar="REQUESTS")
    asked = parser.parse_args()
    if asked.speed:
        speed(asked.speed)
        return
    shares = [SHARES[(2 * k + 1) * len(SHARES) // (2 * asked.sums)] for k in range(asked.sums)]
    head()
    for path in asked.traces or places():
        row(compared(path, shares, asked.resume))


if __name__ == "__main__":
    main()

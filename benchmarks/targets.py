"""Caches that people run (`recommend --for`): page accesses a second, and what is found on the captured test traces.

Processor time of one thread, best of several, compilation apart; the SSD holds 20 % of the pages. *Replay* is the time
of requests on the models, of the I/Os of that run. With `--found`: the answer of each system on each trace.
"""

import argparse
import sys
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tiers import drawn
from timing import compiled

from cachezoo.devices.built_in import BUILT_IN
from cachezoo.questions.targets.bench import Bench
from cachezoo.questions.targets.choice import advise
from cachezoo.questions.targets.options import TargetOptions
from cachezoo.questions.targets.registry import TARGETS
from cachezoo.questions.targets.sentences import answer
from cachezoo.questions.targets.target import Sizes
from cachezoo.questions.tiers.stream import TierStream, tier_stream
from cachezoo.sizes import Size
from cachezoo.traces.read import read_any

CAPTURED = Path(__file__).resolve().parents[1] / "data" / "raw" / "captured"
SSD, RAM, PART, REPEATS = 0.2, 0.02, 0.1, 3
MOST = "20%"


def speed(ts: TierStream) -> None:
    """A line for each mode of each system, with its defaults."""
    bench, m = Bench.of(ts, BUILT_IN), len(ts)
    print(f"\n{m:,} page accesses, {ts.stream.n_pages:,} pages, {ts.write.mean():.0%} writes\n")
    print("| system | mode | M accesses/s | replay, M accesses/s | bytes an access, at most |")
    print("|---|---|---|---|---|")
    sizes = Sizes(int(SSD * ts.stream.n_pages), int(RAM * ts.stream.n_pages), ts.span_pages)
    for target in TARGETS.values():
        for mode in target.modes:
            if mode.writes == "none":
                continue
            seconds, run = compiled(lambda t=target, w=mode.id: t.run(ts, sizes, w, t.defaults), REPEATS)
            replay, _ = compiled(lambda own=run: bench.ran(own), REPEATS)
            tracemalloc.start()
            target.run(ts, sizes, mode.id, target.defaults)
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            rates = f"{m / seconds / 1e6:.1f} | {m / replay / 1e6:.1f}"
            print(f"| {target.id} | {mode.id} | {rates} | {most / m:.0f} |", flush=True)


def found(names: list[str]) -> None:
    """What each system is advised to do on each trace, and how far the zoo's best is ahead."""
    for name in names:
        ts = tier_stream(read_any(CAPTURED / f"{name}.parquet"))
        for target in TARGETS.values():
            own = advise(ts, BUILT_IN, TargetOptions(target, Size.parse(MOST)), lambda *_: None)
            print(f"- {name}: {answer(own)}", flush=True)


def main() -> None:
    """Print the table, or the answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--found", nargs="*", metavar="TRACE", help="of data/raw/captured; default the test traces")
    own = parser.parse_args()
    if own.found is None:
        whole = drawn()
        speed(whole.head(round(PART * len(whole.trace))))
    else:
        found(own.found or sorted(path.stem for path in CAPTURED.glob("*_test.parquet")))


if __name__ == "__main__":
    main()

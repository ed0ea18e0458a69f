"""Drives that are overwritten for long: traces like the captures, within their space, of more and more requests.

Run as `.venv/bin/python benchmarks/sustained.py [--times 1,10] [NAME ...]`; names are of captures, all by default. Of
each capture the first cycle is fitted (`cachezoo trace synth`), and traces of so many times the capture's requests
overwrite the space of that cycle (`--overwrite 100%`). A row has how often the last third writes the footprint, and of
it the write amplification without streams, with 16 equal parts, and with SepBIT, under greedy and under cost-benefit
victims; how far chance moves the first among five drives is behind it. A capture's first row is the capture itself.
"""

import argparse
from collections.abc import Sequence
from itertools import pairwise

from placements import CAPTURES, VICTIMS, cycles_of

from cachezoo.flash_drive.names import EQUAL, LEGACY, SEPBIT
from cachezoo.flash_drive.placements import rule
from cachezoo.flash_drive.writes import drive_writes
from cachezoo.seeds import derive_seed
from cachezoo.settings.wear import Drive
from cachezoo.synth.fit import fit
from cachezoo.synth.generate import synthetic
from cachezoo.synth.overwrite import overwriting
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace
from cachezoo.zoo.streams.bench import SEEDS, Bench

STREAMS = 16


def thirds(trace: Trace) -> list[Trace]:
    """Cycles of equally many requests."""
    return [trace.rows(a, b) for a, b in pairwise(len(trace) * k // 3 for k in range(4))]


def row(what: str, cycles: Sequence[Trace]) -> str:
    """A line of the table."""
    writes = drive_writes(cycles)
    part = writes.cycle(-1)
    cells = [f"{what:22}", f"{(part.stop - part.start) / writes.footprint:8.1f}"]
    for victim in VICTIMS:
        bench = Bench(writes, Drive(victim=victim), STREAMS)
        each = [bench.run(rule(LEGACY, {}, 1), seed=k).waf for k in range(SEEDS)]
        equal, sepbit = (bench.run(rule(name, {}, STREAMS)).waf for name in (EQUAL, SEPBIT))
        cells.append(f"{each[0]:7.3f} ±{(max(each) - min(each)) / each[0] / 2:5.1%} {equal:7.3f} {sepbit:7.3f}")
    return "  ".join(cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CAPTURES))
    parser.add_argument("--times", default="1,10")
    given = parser.parse_args()
    head = f"{'none':>7} {'chance':>6} {'equal':>7} {'sepbit':>7}"
    print(f"{'':22}  {'':8}  {VICTIMS[0]:^30}  {VICTIMS[1]:^30}")
    print(f"{'':22}  {'written':>8}  {head}  {head}")
    for name in given.names:
        cycles = cycles_of(name)
        print(row(name, cycles), flush=True)
        pages = expand_pages(cycles[0])
        model = fit(cycles[0], pages)
        for times in map(int, given.times.split(",")):
            drawn = synthetic(model, derive_seed(0, "benchmark sustained"), sum(map(len, cycles)) * times)
            long = overwriting(drawn, expand_pages(drawn), pages.n_pages)
            print(row(f"  like it, times {times}", thirds(long)), flush=True)


if __name__ == "__main__":
    main()

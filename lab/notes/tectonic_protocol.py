"""Baleen's protocol on the synthetic Tectonic load: the first day trains, the other days judge.

    tectonic_protocol.py [--requests 1000000] [--seeds 5] [--load-seed 1] [--point paper|project] [--days 1] [--bounds]

Two operating points. *The paper's*: its cache of 366.475 GB and its write rate of 34 MB/s, scaled as its simulator
scales them, by the share of the accesses that the trace has (its Region1 has 147,794 at a tenth of a percent).
*The project's*: a tenth of the first day's segments, and a quarter of what AcceptAll writes. Savings are of read
disk-head time by Baleen's constants, as trained (threshold and mode of the first day's last part), against each rival
at the writes that the model makes; the share of the gap to OPT is at the limit, every knob set on the other days.
In brackets the 90 % interval over seeds and windows, or the lowest and highest of the seeds.

More days of training than the paper's one show what more to learn from is worth. `--bounds` adds how much of the way to
OPT a cache without prefetch goes that knows the days to come: by OPT itself, by OPT's decision on each read's episode,
and by the value of each read that the model learns.
"""

import argparse
import time
from dataclasses import replace

import numpy as np

from cachezoo.flash_cache.modes import NONE
from cachezoo.labels.episodes import label_problem, worth
from cachezoo.questions.flash.bench import OPT
from cachezoo.questions.flash.options import BALEEN, OBJECTS, POLICIES, FlashOptions, WriteRate, flash_problem_of
from cachezoo.questions.flash.protocol import REJECTX, REJECTX_ALONE, Judged, first_day, fit_and_judge, label_of
from cachezoo.questions.flash.table import RateBench
from cachezoo.sizes import Size
from cachezoo.synth.tectonic import tectonic
from cachezoo.traces.table import Trace

REGION1_ACCESSES, REGION1_SHARE = 147_794, 0.001
CACHE_BYTES, WRITE_BYTES_S = 366.475e9, 34e6


def spread(values: list[float]) -> str:
    """Mean, lowest and highest."""
    return f"{np.mean(values):.1%} ({min(values):.1%} to {max(values):.1%})"


def lines(found: Judged) -> list[str]:
    """What is printed of an operating point."""
    said = [f"cache {found.capacity:,} segments, eviction age {found.eviction_age:,} requests; rival {found.best}"]
    for name in dict.fromkeys((found.best, REJECTX, REJECTX_ALONE)):
        saved = found.saved(name)
        low, high = saved.ends
        said.append(
            f"  against {name}: mean {saved.value:.1%} ({low:.1%} to {high:.1%}), peak {spread(found.peak_saved(name))}"
        )
        for what, closed in (("mean", found.gap_closed(name)), ("peak", found.gap_closed(name, peak=True))):
            said.append(f"    of the gap to OPT, {what}: {'hardly one' if closed is None else spread(closed)}")
    for row in found.rows:
        kept = f"writes {row.writes_of_accept_all:.1%} of AcceptAll's"
        said.append(
            f"  {row.policy:<12} {row.prefetch:<15} {row.asked or '-':<10} busy {row.read_dt.mean:.4f} "
            f"peak {row.read_dt.peak:.4f} {kept}"
        )
    return said


def bounds(trace: Trace, options: FlashOptions, allowed: WriteRate, found: Judged) -> list[str]:
    """What is printed of what knowing the future is worth."""
    size = Size.parse(f"{found.capacity * OBJECTS.segment_bytes}B")
    bench = RateBench(trace, flash_problem_of(trace, OBJECTS, size, options), size, options, 0)
    limit, label = bench.limit(allowed), label_of(OBJECTS)
    problem = replace(bench.problem, budget=limit)
    labels = label_problem(problem, label, label.opt_prefetch)
    ties = 1e-9 * np.random.default_rng(0).random(len(trace))
    values = worth(problem, labels.episodes, label.opt_prefetch, label.first_accesses, label.budgets)
    known = (
        ("OPT", bench.opt(prefetching=False)),
        ("OPT's decisions", bench.model(BALEEN, labels.opt() + ties, NONE, None)),
        ("the values that are learned", bench.model(BALEEN, values + ties, NONE, None)),
    )
    said = []
    for name, candidate in known:
        curve = bench.within(candidate, limit).blocks
        shares = []
        for load, of in ((float(curve.mean()), "mean"), (float(curve.max()), "peak")):
            rival, opt = (getattr(found.rivals[one].row.read_dt, of) for one in (found.best, OPT))
            shares.append(f"{of} {(rival - load) / (rival - opt):.1%}")
        said.append(f"  known without prefetch, {name}: {', '.join(shares)} of the gap")
    return said


def main() -> None:
    """Print both operating points."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--load-seed", type=int, default=1)
    parser.add_argument("--point", choices=("paper", "project", "both"), default="both")
    parser.add_argument("--days", type=float, default=1.0, help="that train and choose")
    parser.add_argument("--bounds", action="store_true", help="what knowing the future is worth")
    asked = parser.parse_args()
    trace = tectonic(asked.requests, asked.load_seed)
    days = first_day(trace, asked.days)
    scale = asked.requests / REGION1_ACCESSES * REGION1_SHARE
    rate, share = WRITE_BYTES_S * scale, 0.25
    paper = Size.parse(f"{CACHE_BYTES * scale / 1e9:.6f}GB")
    options = FlashOptions([Size.parse("10%")], [], POLICIES, disk="baleen")
    points = {
        "paper": ("the paper's point", replace(options, sizes=[paper]), WriteRate(f"{rate / 1e6:.3g}MB/s", rate, 0.0)),
        "project": ("the project's point", options, WriteRate("25%", None, share)),
    }
    for key, (name, own, allowed) in points.items():
        if asked.point in (key, "both"):
            started = time.perf_counter()
            found = fit_and_judge(days, OBJECTS, own, allowed, range(asked.seeds))
            print(f"{asked.requests:,} synthetic requests, {name}, {time.perf_counter() - started:.0f} s:")
            print("\n".join(lines(found)), flush=True)
            if asked.bounds:
                print("\n".join(bounds(days.test, own, allowed, found)), flush=True)


if __name__ == "__main__":
    main()

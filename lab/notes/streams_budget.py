"""What small dictionaries of streams cost: bytes for each TB and WAF on validation, exact and made to fit.

    .venv/bin/python lab/notes/streams_budget.py [--bytes-per-tb 8000000] [--categories database,mail] [--all]

Needs the labels of the train cycles (stage label_streams) and the requests of the train and validation cycles. A drive
lives through both, and the validation cycle is counted, as stage judge_streams does. Every dictionary that takes more
than it may is counted; the best is the one of least WAF among all, those that fit as they are included. A category
without a drive, because it writes too few places, has no WAF.
"""

import argparse
import math
from typing import NamedTuple

import numpy as np

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.errors import DeviceError
from cachezoo.flash_drive.names import LEGACY
from cachezoo.flash_drive.placements import Placement, rule
from cachezoo.labels.streams import StreamLabels, read_stream_labels
from cachezoo.seeds import derive_seed
from cachezoo.zoo.streams.bench import Bench
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, RANGE_BYTES, Dictionary
from cachezoo.zoo.streams.fit import CONTEXT, read_cycle
from cachezoo.zoo.streams.learn import Evidence, Variant, all_names, compact, learn, most_ranges

NO_LIMIT = 1e12
HEADER = (
    "| category | WAF, 1 stream | over the budget | exact, MB a TB: median (most) | made to fit, most "
    "| page writes moved | WAF, median | its change: median (all) | best WAF |"
)


class Pair(NamedTuple):
    """A dictionary as it was learned, and made to fit."""

    name: str
    exact_mb: float
    fitted_mb: float
    exact_waf: float
    fitted_waf: float
    moved: float


def waf_of(bench: Bench, candidate: Placement) -> float:
    """WAF of the validation cycle; NaN where there is no drive."""
    try:
        return bench.run(candidate).waf
    except DeviceError:
        return math.nan


def pairs(labels: StreamLabels, exact: list[Variant], bench: Bench, budget: float) -> list[Pair]:
    """All dictionaries; of one that fits as it is, both sides are the same."""
    chunks = int(labels.chunk[-1]) + 1
    evidence = Evidence(labels.chunk, labels.columns["pages"], labels.columns["life_mean"])

    def megabytes(sid: Dictionary) -> float:
        return RANGE_BYTES * len(sid) / (chunks * CHUNK_BYTES) * 1e6

    found = []
    for one in exact:
        small = compact(one.dictionary, evidence, most_ranges(chunks, budget))
        changed = small.look_up(labels.chunk) != one.dictionary.look_up(labels.chunk)
        moved = float(evidence.pages[changed].sum() / evidence.pages.sum())
        wafs = [waf_of(bench, bench.learned(Variant(one.name, sid))) for sid in (one.dictionary, small)]
        found.append(Pair(one.name, megabytes(one.dictionary), megabytes(small), wafs[0], wafs[1], moved))
    return found


def shown(category: str, legacy: float, found: list[Pair]) -> None:
    """A row of the table."""
    over = [one for one in found if one.fitted_mb < one.exact_mb]
    if not over:
        print(f"| {category} | {legacy:.3f} | 0 of {len(found)} |" + " - |" * 6)
        return
    change = np.array([one.fitted_waf / one.exact_waf - 1 for one in over]) * 100
    exact, fitted = (min(found, key=lambda one: one[place]) for place in (3, 4))
    print(
        f"| {category} | {legacy:.3f} | {len(over)} of {len(found)} "
        f"| {np.median([one.exact_mb for one in over]):.1f} ({max(one.exact_mb for one in over):.1f}) "
        f"| {max(one.fitted_mb for one in found):.2f} | {np.median([one.moved for one in over]):.1%} "
        f"| {np.median([one.exact_waf for one in over]):.3f} → {np.median([one.fitted_waf for one in over]):.3f} "
        f"| {np.median(change):+.1f} % ({change.min():+.1f} to {change.max():+.1f}) "
        f"| {exact.exact_waf:.3f} `{exact.name}` → {fitted.fitted_waf:.3f} `{fitted.name}` |",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    params = load_params()
    parser.add_argument("--bytes-per-tb", type=float, default=params.fit.streams.sid_bytes_per_tb)
    parser.add_argument("--categories", default=",".join(sorted(params.data.cycles)))
    parser.add_argument("--all", action="store_true", help="print every dictionary, too")
    given = parser.parse_args()
    model = params.model.streams
    print(HEADER + "\n|" + "---|" * (HEADER.count("|") - 1))
    for category in given.categories.split(","):
        roles = params.data.cycles[category]
        traces = {role: read_cycle(roles[role]) for role in ("train", "validation")}
        bench = Bench.of(*(list(cycle.values()) for cycle in traces.values()), params.policy.drive, model.streams)
        labels = read_stream_labels(paths.labels("streams", category, list(traces["train"])[-1]))
        names, seed = all_names(params.fit.streams.windows, model.window), derive_seed(params.seed, CONTEXT, category)
        exact = learn(labels, names, model.streams, model.window, seed, NO_LIMIT)
        found = pairs(labels, exact, bench, given.bytes_per_tb)
        shown(category, waf_of(bench, rule(LEGACY, {}, model.streams)), found)
        if given.all:
            for one in found:
                print("   ", one.name, *(f"{value:.3f}" for value in one[1:]))


if __name__ == "__main__":
    main()

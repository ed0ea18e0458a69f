"""What a threshold and a queue rule for each size of the cache gain over those of the judged size, network by network.

    size_gains.py [CATEGORY …]      needs the stages ingest, label_benefit and judge_caching

Each network of a fit runs in its own best way at the judged size, and at every other size of `judge.caching` by those
very rules and by the ones that hit most there in the choosing blocks of validation. The judging blocks say how much of
the gain comes again: of gains that the judge calls worth having (`least_gain`), and of smaller ones.
"""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.contest.blocks import halves
from cachezoo.contest.counting import first_access
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.settings.params import Params
from cachezoo.traces.pages import capacity_pages
from cachezoo.training.fitted import read_networks
from cachezoo.zoo.caching.candidates import Candidate
from cachezoo.zoo.caching.case import Case, Settings
from cachezoo.zoo.caching.closed_loop import ClosedLoop, Ran, pooled
from cachezoo.zoo.caching.prepared import read_prepared

NOTHING = np.zeros(0, np.uint8)


class Gain(NamedTuple):
    """Of a size's own rules over the judged size's: hit ratio on each kind of blocks, and pages written over theirs."""

    choosing: float
    judging: float
    writes: float


def gain_of(own: Sequence[Ran], kept: Sequence[Ran]) -> Gain:
    """Of runs trace by trace."""
    sides = [[pooled([halves(run.hits)[side] for run in runs]) for runs in (own, kept)] for side in range(2)]
    written = [sum(run.written for run in runs) for runs in (own, kept)]
    return Gain(sides[0][0] - sides[0][1], sides[1][0] - sides[1][1], written[0] / written[1])


def gains_of(params: Params, category: str) -> list[Gain]:
    """Print a category's networks by size; returns their gains."""
    settings = Settings.of(params, category)
    name = f"caching.{category}.{settings.arch}"
    fitted, said = read_fitted(paths.fitted(name), "caching"), read_trained(paths.trained(name)).calibration
    parts, _ = read_prepared(category, settings.roles["validation"], settings.label)
    judged, gains = settings.manager.capacity, []
    cases = [
        Case(part, capacity_pages(judged, part.pages.n_pages), first_access(part.pages), {}, NOTHING, None)
        for part in parts
    ]
    for place, weights in enumerate(read_networks(paths.fitted(name), fitted)):
        rows = [row for row in said["candidates"] if row["network"] == place]
        row = max(rows, key=lambda row: (row["hit_ratio"], row["threshold"]))
        kept = Candidate(place, row["teacher"], row["on_hit"], row["queues"], row["threshold"])
        loop = ClosedLoop.of(place, fitted, weights, settings, kept.teacher)
        for share in (one for one in settings.judge.capacities if one != judged):
            sized = [case.at(share) for case in cases]
            seen = [loop.see(case) for case in sized]
            own = loop.tried(sized, seen, share, [kept.on_hit])
            gain = gain_of(own.runs, [loop.run(case, one, [kept])[0] for case, one in zip(sized, seen, strict=True)])
            gains.append(gain)
            rules = f"{kept.threshold} {kept.queues} -> {own.chosen.threshold} {own.chosen.queues}"
            points = f"{100 * gain.choosing:+.2f} choosing, {100 * gain.judging:+.2f} judging"
            print(
                f"{category}, network {place}, {share:.0%}: {rules}: {points}, writes x {gain.writes:.2f}", flush=True
            )
    return gains


def main() -> None:
    """Print every category, and what small and large gains are worth."""
    params = load_params()
    parser = argparse.ArgumentParser()
    parser.add_argument("categories", nargs="*", default=params.data.page_categories)
    gains = [gain for category in parser.parse_args().categories for gain in gains_of(params, category)]
    least = params.judge.caching.least_gain
    kinds = {
        f"gains below {100 * least:g} points": [gain for gain in gains if gain.choosing < least],
        "others": [gain for gain in gains if gain.choosing >= least],
    }
    for name, own in kinds.items():
        if own:
            means = Gain(*np.mean(own, axis=0).tolist())
            points = f"{100 * means.choosing:+.2f} choosing, {100 * means.judging:+.2f} judging"
            spread = 100 * float(np.std([gain.judging for gain in own], ddof=1)) if len(own) > 1 else 0.0
            print(f"{name}: {len(own)}, mean {points} (sd {spread:.2f}), writes x {means.writes:.2f}")


if __name__ == "__main__":
    main()

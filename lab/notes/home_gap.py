"""What the caching models close of the gap at home at 5, 10 and 20 % of a trace's pages, and what their oracles would.

    home_gap.py [CATEGORY …]      needs the stages ingest, label_benefit and judge_caching, and lab/results/goals.json

Each category's shipped model runs on its test traces: by size, as it is shipped, and by the threshold and queue rule of
the judged size alone (one). Best classic and optimum are those of lab/results/goals.json, and hits count from the same
page access on. Behind it, over the whole trace, warm-up included: how many decisions of the oracle are settled, so that
they could teach, and how many of them cache; the balanced accuracy of the model's tags there; and what the manager
closes of the gap that is fed the oracle's tags in place of the model's. The last column is what reuse.follow closes.
"""

import argparse
from dataclasses import replace

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.contest.gap import gap
from cachezoo.kernels.manager_limits import Cache
from cachezoo.labels.tags import read_benefit_labels
from cachezoo.models.trained import read_trained
from cachezoo.models.weights import read_weights
from cachezoo.params import traces_of
from cachezoo.policies.registry import OPTIMUM
from cachezoo.serving.requests import batch_of
from cachezoo.settings.params import Params
from cachezoo.show.formats import percent
from cachezoo.traces.pages import percent as percents
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.zoo.caching.case import classic_hits
from cachezoo.zoo.caching.infer import serving_of
from cachezoo.zoo.caching.metrics import label_metrics, oracle_figures
from cachezoo.zoo.caching.prepared import Prepared
from cachezoo.zoo.caching.serve import Served
from lab.goals.document import FILE, GoalRow, read_goals

HEAD = (
    "trace",
    "cache",
    "by size",
    "one",
    "writes",
    "of one",
    "teach",
    "cached",
    "accuracy",
    "oracle's tags",
    "reuse.follow",
)


def print_category(params: Params, category: str, goals: dict[tuple[str, float], GoalRow]) -> None:
    """Print every test trace of a category."""
    folder = paths.trained(f"caching.{category}.{params.model.caching.arch}")
    model = read_trained(folder, "caching")
    serving, teacher = serving_of(model, read_weights(folder)), str(model.calibration["teacher"])
    for key in traces_of(params, category, "test"):
        trace, pages = read_trace(paths.requests(category, key)), read_pages(paths.requests(category, key))
        labels = read_benefit_labels(paths.labels("benefit", category, key), params.label.benefit, len(trace))
        part = Prepared(key, trace, pages, labels)
        for (name, share), goal in sorted(goals.items()):
            if name != key:
                continue
            sized = serving.cache(goal.capacity)
            caches: list[Cache] = [sized, replace(sized, by_capacity=None)]
            served = serving.run(batch_of(trace), pages, caches, keep=True)
            tags = labels.tags[teacher, percents(share)]
            figures = label_metrics(served.outputs[0], tags, served.thresholds[0])
            own = (teacher, percents(share))
            managed = oracle_figures(labels, own, trace, pages, goal.capacity, model.policy)["oracle_manager_hit_ratio"]
            whole = [float(hits.mean()) for _, hits in classic_hits(part, [goal.best_classic, OPTIMUM], goal.capacity)]
            assert managed is not None
            row = [
                *(percent(closed_by(served, lane, goal)) for lane in range(2)),
                *(f"{total['ssd_writes'] / len(trace):.2f}" for total in served.totals),
                f"{tags.taught.sum():,}",
                percent(float(tags.cached[tags.taught].mean()) if tags.taught.any() else None),
                percent(figures["cached_balanced_accuracy"]),
                percent(gap(managed, *whole)[0]),
                percent(goal.gap_closed),
            ]
            print(" | ".join([key, percent(share, 0), *row]), flush=True)


def closed_by(served: Served, lane: int, goal: GoalRow) -> float | None:
    """The share of the gap that a lane closes, where the goal's rivals count."""
    counted = served.hits(lane)[-goal.counted :]
    return gap(float(counted.mean()), goal.best_classic_hit_ratio, goal.optimum_hit_ratio)[0]


def main() -> None:
    """Print every category."""
    params = load_params()
    parser = argparse.ArgumentParser()
    parser.add_argument("categories", nargs="*", default=params.data.page_categories)
    goals = {(row.trace, row.capacity_fraction): row for row in read_goals(FILE).rows if row.protocol == "trained"}
    print(" | ".join(HEAD))
    for category in parser.parse_args().categories:
        print_category(params, category, goals)


if __name__ == "__main__":
    main()

"""What the caching models close of the gap at home at 5, 10 and 20 % of a trace's pages, and what their oracles would.

    home_gap.py [CATEGORY …]      needs the stages ingest, label_benefit and judge_caching

Each category's shipped model runs on its test traces: by size, as it is shipped, and by the threshold and queue rule of
the judged size alone (one). The best classic is that of the defaults in hindsight, and hits count from where the stage
evaluate counts. Behind it, over the whole trace, warm-up included: how many decisions of the oracle are settled, so
that they could teach, and how many of them cache; the balanced accuracy of the model's tags there; and what the manager
closes of the gap that is fed the oracle's tags in place of the model's.
"""

import argparse
from dataclasses import replace

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.contest.counting import first_access
from cachezoo.contest.gap import gap
from cachezoo.kernels.manager_limits import Cache
from cachezoo.labels.tags import read_benefit_labels
from cachezoo.models.trained import read_trained
from cachezoo.models.weights import read_weights
from cachezoo.params import traces_of
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.serving.requests import batch_of
from cachezoo.settings.params import Params
from cachezoo.show.formats import percent
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.pages import percent as percents
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.zoo.caching.case import classic_hits
from cachezoo.zoo.caching.infer import serving_of
from cachezoo.zoo.caching.metrics import label_metrics, oracle_figures
from cachezoo.zoo.caching.prepared import Prepared

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
)
SIZES = (0.05, 0.10, 0.20)


def print_category(params: Params, category: str) -> None:
    """Print every test trace of a category."""
    folder = paths.trained(f"caching.{category}.{params.model.caching.arch}")
    model = read_trained(folder, "caching")
    serving, teacher = serving_of(model, read_weights(folder)), str(model.calibration["teacher"])
    for key in traces_of(params, category, "test"):
        trace, pages = read_trace(paths.requests(category, key)), read_pages(paths.requests(category, key))
        labels = read_benefit_labels(paths.labels("benefit", category, key), params.label.benefit, len(trace))
        part = Prepared(key, trace, pages, labels)
        low = first_access(pages)
        for share in SIZES:
            capacity = capacity_pages(share, pages.n_pages)
            hits = dict(classic_hits(part, [*classics(), OPTIMUM], capacity))
            best = max(sorted(classics()), key=lambda name: float(hits[name][low:].mean()))
            ends = [float(hits[name][low:].mean()) for name in (best, OPTIMUM)]
            sized = serving.cache(capacity)
            caches: list[Cache] = [sized, replace(sized, by_capacity=None)]
            served = serving.run(batch_of(trace), pages, caches, keep=True)
            tags = labels.tags[teacher, percents(share)]
            figures = label_metrics(served.outputs[0], tags, served.thresholds[0])
            own = (teacher, percents(share))
            managed = oracle_figures(labels, own, trace, pages, capacity, model.policy)["oracle_manager_hit_ratio"]
            whole = [float(hits[name].mean()) for name in (best, OPTIMUM)]
            assert managed is not None
            row = [
                *(percent(gap(float(served.hits(lane)[low:].mean()), *ends)[0]) for lane in range(2)),
                *(f"{total['ssd_writes'] / len(trace):.2f}" for total in served.totals),
                f"{tags.taught.sum():,}",
                percent(float(tags.cached[tags.taught].mean()) if tags.taught.any() else None),
                percent(figures["cached_balanced_accuracy"]),
                percent(gap(managed, *whole)[0]),
            ]
            print(" | ".join([key, percent(share, 0), *row]), flush=True)


def main() -> None:
    """Print every category."""
    params = load_params()
    parser = argparse.ArgumentParser()
    parser.add_argument("categories", nargs="*", default=params.data.page_categories)
    print(" | ".join(HEAD))
    for category in parser.parse_args().categories:
        print_category(params, category)


if __name__ == "__main__":
    main()

"""A caching model in its own cache: on a trace of the pipeline, and from a bundle."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.console import progress
from cachezoo.labels.tags import Labels, read_benefit_labels
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.models.weights import read_weights
from cachezoo.params import traces_of
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.simulate import Outcomes, count
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import PageAccesses, capacity_pages, expand_pages, percent
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.caching.infer import serving_of
from cachezoo.zoo.caching.metrics import label_metrics, oracle_figures
from cachezoo.zoo.caching.serve import CachingServing, Served
from cachezoo.zoo.page_case import PageCase, counted_hit_ratio

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

Advance = Callable[[int], None]


@dataclass(frozen=True)
class CachingRun:
    """A caching model on one trace."""

    model_id: str  # the model's
    outcomes: Outcomes  # what its cache did
    # Counts over the whole trace: page_accesses, hits, admitted, write_hits, ssd_writes, replacements, dirty_evictions,
    # bypassed.
    totals: dict[str, int]
    figures: dict[str, float | None]  # tag metrics and ceilings, None where undefined (no labels, or nothing settled)


def evaluate_caching(
    model_dir: Path, trace: Trace, pages: PageAccesses, capacity: int, labels: Labels | None = None,
    capacity_fraction: float | None = None, advance: Advance | None = None,
) -> CachingRun:  # fmt: skip
    """Run a trained model's cache over a trace.

    Args:
        model_dir: `models/trained/<system>/<id>`.
        trace: requests.
        pages: their page accesses.
        capacity: pages.
        labels: of the same trace; None leaves the tag metrics and ceilings out.
        capacity_fraction: the labelled capacity that `capacity` is; None takes the one the model was judged at.
        advance: told the requests done, now and then.

    Raises:
        TrainingError: the folder holds no readable model.
        ConfigError: capacity below 1.
    """
    model = read_trained(model_dir)
    serving = serving_of(model, read_weights(model_dir))
    served = serving.run(batch_of(trace), pages, [serving.cache(capacity)], labels is not None, advance)
    figures: dict[str, float | None] = {}
    if labels is not None:
        fraction = model.calibration["capacity"] if capacity_fraction is None else capacity_fraction
        key = (str(model.calibration["teacher"]), percent(fraction))
        figures.update(label_metrics(served.outputs[0], labels.tags[key], served.thresholds[0]))
        figures.update(oracle_figures(labels, key, trace, pages, capacity, model.policy))
    return CachingRun(model.model_id, outcomes_of(served), served.totals[0], figures)


def outcomes_of(served: Served, lane: int = 0) -> Outcomes:
    """What a lane's cache did."""
    return Outcomes(served.outcome[lane], served.replaced[lane], served.dirty_evicted[lane])


def page_cache(model: TrainedModel, case: PageCase) -> tuple[Simulation, dict[str, float | None]]:
    """RC-RNN's manager with the trained model; beside it the tags' metrics, where the capacity is labelled."""
    trace, pages = case.trace, case.pages
    labels = read_benefit_labels(paths.labels("benefit", case.category, case.key), case.benefit, len(trace))
    labelled = any(capacity == percent(case.fraction) for _, capacity in labels.tags)
    with progress(f"{model.model_id}: cache on {case.key}", len(trace)) as advance:
        run = evaluate_caching(
            paths.trained(model.model_id), trace, pages, case.capacity, labels if labelled else None, case.fraction,
            advance,
        )  # fmt: skip
    return count(trace, pages, model.model_id, case.capacity, case.warmup, run.outcomes), run.figures


def page_bundle(
    serving: CachingServing, name: str, trace: Trace, pages: PageAccesses, capacity: int, warmup: int
) -> Simulation:
    """The three-queue cache of a loaded bundle."""
    first = trace.rows(0, 1)
    _serve(serving, first, expand_pages(first), 1)
    start = time.perf_counter()
    served = _serve(serving, trace, pages, capacity, name)
    seconds = time.perf_counter() - start
    return count(trace, pages, name, capacity, warmup, outcomes_of(served), seconds)


def _serve(
    serving: CachingServing, trace: Trace, pages: PageAccesses, capacity: int, title: str = "warming up"
) -> Served:
    with progress(f"{title}: cache", len(trace)) as advance:
        return serving.run(batch_of(trace), pages, [serving.cache(capacity)], advance=advance)


def best_choosing_hit_ratio(folder: Path) -> float:
    """Page hit ratio of a trained model's best candidate on the choosing blocks of validation."""
    return max(float(row["hit_ratio"]) for row in read_trained(folder).calibration["candidates"])


def test_hit_ratios(folder: Path, params: "Params", category: str) -> dict[str, float]:
    """Page hit ratio on each test trace after warm-up."""
    found = {}
    for key in traces_of(params, category, "test"):
        path = paths.requests(category, key)
        trace, pages = read_trace(path), read_pages(path)
        capacity = capacity_pages(params.policy.manager.capacity, pages.n_pages)
        found[key] = counted_hit_ratio(evaluate_caching(folder, trace, pages, capacity).outcomes.outcome, pages)
    return found

"""The simulations behind Table 5 and Figs. 10 to 15: caching models, classics and the optimum on the test traces.

The sizes are those that our models were labelled and trained for (`label.benefit.capacities`). A model, ours or the
paper's, acts at each by the threshold that validation chose for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32
from cachezoo.console import progress
from cachezoo.contest.counting import first_access
from cachezoo.devices.responses import read_responses
from cachezoo.devices.service import ServiceTimes
from cachezoo.labels.tags import Labels, Tags, read_benefit_labels
from cachezoo.metrics.files import MAKE, REPRO, present
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.models.weights import read_weights
from cachezoo.params import At, Picked
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator, count
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces.pages import PageAccesses, capacity_pages, percent
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.caching.closed_loop import EVEN_ODDS
from cachezoo.zoo.caching.evaluate import outcomes_of
from cachezoo.zoo.caching.infer import serving_of, teacher_outputs
from cachezoo.zoo.caching.metrics import label_metrics
from cachezoo.zoo.caching.sequences import previous_tags
from cachezoo.zoo.caching.serve import CachingServing
from lab.rcrnn.files import OURS, PAPER, Network
from lab.rcrnn.published import TRAINED, paper_params
from lab.rcrnn.sizes import CacheRun, Kind, Sizes, TagRow

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]
    arch: Annotated[str, At("model.caching.arch")]
    label: Annotated[BenefitLabel, At("label.benefit")]
    decision_us: Annotated[dict[str, float], At("evaluate.decision_cost_us")]


@dataclass(frozen=True)
class Contender:
    """A caching model of a category."""

    network: Network
    model: TrainedModel
    weights: dict[str, F32]
    decision_us: float  # charged to every request

    @classmethod
    def read(cls, network: Network, folder: Path, decision_us: float, made_by: str) -> "Contender":
        """The model in a folder.

        Raises:
            CachezooError: it is missing, says which command makes it.
            TrainingError: it cannot be read.
        """
        return cls(network, read_trained(present(folder, made_by), "caching"), read_weights(folder), decision_us)


@dataclass(frozen=True)
class Case:
    """A test trace."""

    key: str
    trace: Trace
    pages: PageAccesses
    labels: Labels
    times: ServiceTimes

    @classmethod
    def read(cls, category: str, key: str, label: BenefitLabel) -> "Case":
        """A category's.

        Raises:
            CachezooError: the trace, its labels or its response times are missing or damaged.
        """
        path = present(paths.requests(category, key), REPRO)
        trace, pages = read_trace(path), read_pages(path)
        labels = read_benefit_labels(present(paths.labels("benefit", category, key), REPRO), label, len(trace))
        responses = read_responses(present(paths.responses(category, key), REPRO), len(trace))
        return cls(key, trace, pages, labels, ServiceTimes.of(trace, *responses))

    def row(self, fraction: float, kind: Kind, found: Simulation, decision_us: float = 0.0) -> CacheRun:
        """A cache's."""
        return row(self.key, fraction, kind, found, self.times, decision_us)


def row(
    key: str, fraction: float, kind: Kind, found: Simulation, times: ServiceTimes, decision_us: float = 0.0
) -> CacheRun:
    """A simulation as a row.

    Args:
        key: of the trace.
        fraction: size of the cache, a share of the distinct pages.
        kind: what the cache is.
        found: what it did.
        times: of the trace's requests.
        decision_us: charged to every request for a model's decision.
    """
    per_100 = 100 / max(found.requests, 1)
    return CacheRun(
        trace=key,
        capacity_fraction=fraction,
        policy=found.policy,
        kind=kind,
        hit_ratio=found.hit_ratio,
        ssd_writes=found.ssd_writes * per_100,
        replacements=None if found.replacements is None else found.replacements * per_100,
        response_us=found.mean_response_us(times, decision_us),
        decision_us=decision_us,
    )


def policy_runs(case: Case, fractions: Sequence[float]) -> Iterator[CacheRun]:
    """Every classic and the optimum at every size."""
    simulator = Simulator(case.trace, case.pages)
    for fraction in fractions:
        for kind, found in rivals(simulator, capacity_pages(fraction, case.pages.n_pages)):
            yield case.row(fraction, kind, found)


def rivals(simulator: Simulator, capacity: int) -> Iterator[tuple[Kind, Simulation]]:
    """The classics with their defaults and the optimum on a trace, counted on its second half."""
    warmup = first_access(simulator.pages)
    for name in (*classics(), OPTIMUM):
        yield "bound" if name == OPTIMUM else "classic", simulator.run(name, capacity, warmup)


def model_runs(case: Case, own: Contender, fractions: Sequence[float]) -> Iterator[tuple[CacheRun, TagRow]]:
    """A caching model at every size, and its tags there."""
    serving, batch = serving_of(own.model, own.weights), batch_of(case.trace)
    capacities = [capacity_pages(fraction, case.pages.n_pages) for fraction in fractions]
    name, warmup = own.model.model_id, first_access(case.pages)
    with progress(f"{name}: caches on {case.key}", len(case.trace)) as advance:
        served = serving.run(batch, case.pages, [serving.cache(one) for one in capacities], True, advance)
    for lane, (fraction, capacity) in enumerate(zip(fractions, capacities, strict=True)):
        found = count(case.trace, case.pages, name, capacity, warmup, outcomes_of(served, lane))
        tags = case.labels.tags[str(own.model.calibration["teacher"]), percent(fraction)]
        outputs, threshold = served.outputs[lane], served.thresholds[lane]
        every = named(outputs, threshold, tags)
        if serving.fed_back:
            rows = served.features[lane, :, : -previous_tags(tags).shape[1]]
            every = named(taught_outputs(own, serving, rows, tags), EVEN_ODDS, tags, all_requests=True)
        figures = label_metrics(outputs, tags, threshold)
        asked = {key: figures[key] for key in TagRow.model_fields if key in figures}
        yield (
            case.row(fraction, own.network, found, own.decision_us),
            TagRow(trace=case.key, capacity_fraction=fraction, network=own.network, model=name,
                   asked=figures["cached_rows"], **asked, **every),
        )  # fmt: skip


def taught_outputs(own: Contender, serving: CachingServing, rows: F32, tags: Tags) -> F32:
    """Outputs float32[n, 4] of a network that is fed the oracle's tags of the request before, as in its training.

    Args:
        own: the model.
        serving: of it.
        rows: float32[n, F] inputs without the tags.
        tags: the oracle's.
    """
    inputs = np.concatenate([rows, previous_tags(tags)], axis=1)
    n, length = len(inputs), serving.reset_every or len(inputs)
    padded = np.concatenate([inputs, np.zeros((-n % length, inputs.shape[1]), np.float32)])
    # Sequences that begin from zero do not depend on each other, so they run side by side.
    lanes = padded.reshape(-1, length, inputs.shape[1]).swapaxes(0, 1)
    found = teacher_outputs(own.weights, lanes, int(own.model.arch["threads"]), serving.reset_every)[:, :, 0]
    outputs: F32 = found.swapaxes(0, 1).reshape(-1, found.shape[-1])[:n]
    return outputs


def named(
    outputs: F32, threshold: float | F32, tags: Tags, *, all_requests: bool = False
) -> dict[str, float | None]:  # fmt: skip
    """The `all_*` of a `TagRow`: settled requests that free space did not decide.

    Args:
        outputs: float32[n, 4].
        threshold: of the cached probability, one or float32[n].
        tags: the oracle's.
        all_requests: the outputs name the tags of hits too; else a hit is called cached rightly, and has no queue.
    """
    every = tags.settled & ~tags.forced
    right = (outputs[:, 0] >= np.asarray(threshold, np.float32)) == tags.cached
    known = every & tags.cached & (tags.duration > 0)
    if not all_requests:
        right |= ~tags.consulted
        known &= tags.consulted
    queues = tags.duration[known].astype(np.int64)
    guess = outputs[known, 1:].argmax(axis=1) + 1
    cached = float(tags.cached[every].mean()) if every.any() else None
    return {
        "all_cached_accuracy": float(right[every].mean()) if every.any() else None,
        "all_cached_majority": None if cached is None else max(cached, 1 - cached),
        "all_duration_accuracy": float((guess == queues).mean()) if len(queues) else None,
        "all_duration_majority": float(np.bincount(queues).max() / len(queues)) if len(queues) else None,
    }


def contenders(category: str, settings: Settings, paper_us: float) -> list[Contender]:
    """Our caching model and the paper's network.

    Raises:
        CachezooError: one is missing.
    """
    ours, published = (f"caching.{category}.{arch}" for arch in (settings.arch, "paper"))
    return [
        Contender.read(OURS, paths.trained(ours), settings.decision_us["caching"], REPRO),
        Contender.read(PAPER, paths.trained(published, TRAINED), paper_us, MAKE),
    ]


def run_sizes(params: "Params") -> Sizes:
    """What the stage rcrnn_sizes of lab/dvc.yaml finds.

    Raises:
        CachezooError: a model, a trace, its labels or its response times are missing or damaged.
    """
    settings, paper_us = Settings.of(params), paper_params().evaluate.decision_cost_us["caching"]
    fractions = settings.label.capacities
    work = [(name, key) for name in settings.categories for key in settings.roles[name].get("test", [])]
    models = {name: contenders(name, settings, paper_us) for name in settings.categories}
    rows: list[CacheRun] = []
    tags: list[TagRow] = []
    for category, key in work:
        case = Case.read(category, key, settings.label)
        rows += policy_runs(case, fractions)
        for own in models[category]:
            for run, tag in model_runs(case, own, fractions):
                rows.append(run)
                tags.append(tag)
    return Sizes(rows=rows, tags=tags)

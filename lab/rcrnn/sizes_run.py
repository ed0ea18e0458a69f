"""The simulations behind Figs. 10 to 15: caching models, classics and the optimum at the sizes without metrics.

The sizes are those that the models were labelled and trained for (`label.benefit.capacities`) but the one that the
stage evaluate is of. A model acts there by the thresholds that validation chose for them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cachezoo import paths
from cachezoo.console import progress
from cachezoo.contest.counting import first_access
from cachezoo.devices.responses import read_responses
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import TrainingError
from cachezoo.metrics.files import REPRO, present
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.params import At, Picked
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator, count
from cachezoo.settings.data import Roles
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.zoo.caching.evaluate import evaluate_caching
from lab.rcrnn.sizes import CacheRun, Kind, Sizes

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]
    arch: Annotated[str, At("model.caching.arch")]
    fractions: Annotated[list[float], At("label.benefit.capacities")]
    evaluated: Annotated[float, At("evaluate.capacity_fraction")]
    decision_us: Annotated[dict[str, float], At("evaluate.decision_cost_us")]

    @property
    def sizes(self) -> list[float]:
        """Those to simulate."""
        return [fraction for fraction in self.fractions if fraction != self.evaluated]


def caching_model(category: str, settings: Settings) -> TrainedModel:
    """A category's caching model.

    Raises:
        CachezooError: it is missing.
        TrainingError: it cannot be read, or is not one of all the sizes.
    """
    folder = present(paths.trained(f"caching.{category}.{settings.arch}"), REPRO)
    model = read_trained(folder, "caching")
    other = [fraction for fraction in settings.sizes if fraction not in model.calibration["capacities"]]
    if other:
        raise TrainingError(f"{folder}: was not trained for caches of {100 * other[0]:g} %; run `{REPRO}`")
    return model


def trace_runs(category: str, key: str, model: TrainedModel, settings: Settings) -> Iterator[CacheRun]:
    """Every cache at every size on one test trace.

    Raises:
        TraceError: the trace or its response times are missing or damaged.
    """
    path = present(paths.requests(category, key), REPRO)
    trace, pages = read_trace(path), read_pages(path)
    times = ServiceTimes.of(trace, *read_responses(present(paths.responses(category, key), REPRO), len(trace)))
    simulator, warmup = Simulator(trace, pages), first_access(pages)
    for fraction in settings.sizes:
        capacity = capacity_pages(fraction, pages.n_pages)
        for kind, found in rivals(simulator, capacity):
            yield row(key, fraction, kind, found, times)
        own = evaluate_caching(paths.trained(model.model_id), trace, pages, capacity)
        found = count(trace, pages, model.model_id, capacity, warmup, own.outcomes)
        yield row(key, fraction, "model", found, times, settings.decision_us["caching"])


def rivals(simulator: Simulator, capacity: int) -> Iterator[tuple[Kind, Simulation]]:
    """The classics with their defaults and the optimum on a trace, counted on its second half."""
    warmup = first_access(simulator.pages)
    for name in (*classics(), OPTIMUM):
        yield "bound" if name == OPTIMUM else "classic", simulator.run(name, capacity, warmup)


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


def run_sizes(params: "Params") -> Sizes:
    """What the stage rcrnn_sizes of lab/dvc.yaml finds.

    Raises:
        CachezooError: a model is missing.
        TraceError: a trace or its response times are missing or damaged.
    """
    settings = Settings.of(params)
    work = [(name, key) for name in settings.categories for key in settings.roles[name].get("test", [])]
    models = {name: caching_model(name, settings) for name in settings.categories}
    rows: list[CacheRun] = []
    with progress("caches at other sizes", len(work)) as advance:
        for done, (category, key) in enumerate(work):
            advance(done, key)
            rows += trace_runs(category, key, models[category], settings)
    return Sizes(rows=rows)

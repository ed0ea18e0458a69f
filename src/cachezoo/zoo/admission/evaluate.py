"""The learned admission in a page cache, which is not its own: its decisions on whole traces, before LRU."""

from pathlib import Path

from cachezoo import paths
from cachezoo.arrays import Bool
from cachezoo.models.trained import TrainedModel
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.simulate import simulate_admission
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import AdmissionServing, score_batch
from cachezoo.zoo.page_case import PageCase


def admission_page_decisions(model: Path | AdmissionServing, trace: Trace) -> Bool:
    """The model's decision for every request of a trace, from a fresh history.

    For a page cache that asks it: True admits what a read misses. Writes get False: the model decides on
    reads only.

    Returns:
        bool[n].
    """
    serving = load_admission(model)[1] if isinstance(model, Path) else model
    decided: Bool = (score_batch(serving, batch_of(trace), serving.scores) >= serving.threshold) & (trace.op == OP_READ)
    return decided


def page_cache(model: TrainedModel, case: PageCase) -> tuple[Simulation, dict[str, float | None]]:
    """LRU behind the trained admission: it decides on read misses, write misses go around the cache."""
    decided = admission_page_decisions(paths.trained(model.model_id), case.trace)
    found = simulate_admission(case.trace, case.pages, model.model_id, decided, case.capacity, case.warmup)
    return found, {}


def page_bundle(
    serving: AdmissionServing, name: str, trace: Trace, pages: PageAccesses, capacity: int, warmup: int
) -> Simulation:
    """LRU behind a loaded bundle."""
    return simulate_admission(trace, pages, name, admission_page_decisions(serving, trace), capacity, warmup)

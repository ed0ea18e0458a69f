"""What the inputs of an LSTM are on requests, to see drift by: export measures training so, `drift` a trace.

The models step on every request, reads and writes. Inputs are normalised and cut at the model's clip, but not to the
range of training, so that what lies outside of it shows. Left out are fed-back tags, which are the model's own doing,
and the cache's size over the working set: it is the user's choice, and so steady that a few pages more move all of it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32
from cachezoo.features.sequence import Memory, open_inputs, raw_columns
from cachezoo.models.inputs import distribution
from cachezoo.models.trained import Feature, TrainedModel
from cachezoo.params import traces_of
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.store import read_trace
from cachezoo.zoo.workload.serve import KEYS, WorkloadServing

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

CACHING, WORKLOAD = "caching", "workload"
FED_BACK, SIZE = "feedback.", "capacity.ratio"


def watched_features(model: Mapping[str, Any]) -> list[Feature]:
    """The inputs that are watched, in order.

    Args:
        model: a bundle's manifest, or train.json's values.
    """
    features = [Feature.model_validate(entry) for entry in model["features"]]
    return [one for one in features if one.formula != SIZE and not one.formula.startswith(FED_BACK)]


def watched(model: Mapping[str, Any], batch: RequestBatch) -> F32:
    """Inputs float32[n, F] of a model of kind caching or workload, F as `watched_features` has them.

    Of kind caching each request is a row, in a cache of as many pages as the recent window has accesses: one that went
    with the trace's size would move the value of all pages without history, and a longer day would be drift. Of kind
    workload these are the requests of whole windows: n may be 0.

    Args:
        model: a bundle's manifest, or train.json's values.
        batch: requests, from the first on.
    """
    if model["kind"] == WORKLOAD:
        serving = WorkloadServing(**{key: model[key] for key in KEYS}, infer=np.asarray)
        return serving.inputs(batch)[: len(batch) // serving.window * serving.window]
    memory = Memory.of(model["policy"]["memory"])
    entries = [feature.model_dump() for feature in watched_features(model)]
    return open_inputs(raw_columns(batch, batch.pages(), [memory.window_accesses], memory), 0, entries, memory.clip)


def learned_name(category: str | None, name: str) -> str:
    """An input's name in `measured.inputs`: of a model that tells categories apart `CATEGORY/NAME`."""
    return f"{category}/{name}" if category is not None else name


def learned(params: "Params", trained: TrainedModel) -> dict[str, list[float]]:
    """How a model's inputs are distributed over its train traces, as `distribution` says; nothing of other kinds.

    Raises:
        TraceError: a train trace is missing or damaged.
    """
    if trained.kind not in (CACHING, WORKLOAD):
        return {}
    model = trained.model_dump(mode="json")
    categories = {trained.category: None} if trained.category else {name: name for name in model["policy"]["classes"]}
    found: dict[str, list[float]] = {}
    for category, named in categories.items():
        files = [paths.requests(category, key) for key in traces_of(params, category, "train")]
        rows = [watched(model, batch_of(read_trace(file))) for file in files]
        if any(map(len, rows)):
            stated = distribution(watched_features(model), np.concatenate(rows))
            found |= {learned_name(named, name): values for name, values in stated.items()}
    return found

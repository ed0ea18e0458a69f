"""How trainings of workload classifiers are compared over seeds: by the loss that chose their epoch."""

from typing import TYPE_CHECKING

import numpy as np

from cachezoo import paths
from cachezoo.params import traces_of
from cachezoo.serving.requests import batch_of
from cachezoo.traces.store import read_trace
from cachezoo.zoo.base import Studied
from cachezoo.zoo.studied import validated
from cachezoo.zoo.workload.fit import fit_workload, model_id
from cachezoo.zoo.workload.infer import load_workload
from cachezoo.zoo.workload.judge import judge_workload

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


TOO_FEW = "too few validation windows for a loss, so there is nothing to compare; give longer traces"


def tests(params: "Params") -> dict[str, float]:
    """Share of the windows of each test trace that are named right."""
    _, serving = load_workload(paths.trained(model_id(params.model.workload.arch)))
    found = {}
    for label, category in enumerate(serving.classes):
        for key in traces_of(params, category, "test"):
            seen = serving.run(batch_of(read_trace(paths.requests(category, key)))).classes
            found[key] = float(np.mean(seen == label))
    return found


STUDIED = Studied(
    fit=fit_workload,
    judge=judge_workload,
    choosing=validated("loss", TOO_FEW),
    choosing_is="loss of the epoch kept, on the windows of validation",
    lower_is_better=True,
    judging="balanced_accuracy",
    judging_is="balanced accuracy on the windows of validation",
    tests=tests,
    tests_are="accuracy of the windows",
)

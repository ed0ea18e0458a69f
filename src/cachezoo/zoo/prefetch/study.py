"""How trainings of prefetch forests are compared over seeds: by the best learned mode on the choosing windows."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.errors import TrainingError
from cachezoo.flash.modes import ML_MODES, is_plain
from cachezoo.flash.policies import beside
from cachezoo.flash.problem import flash_problem, label_of
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.params import traces_of
from cachezoo.traces.store import read_trace
from cachezoo.zoo.admission.fit import model_id as admission_id
from cachezoo.zoo.admission.model import scorer_of
from cachezoo.zoo.admission.serve import history_of, serve_trace
from cachezoo.zoo.admission.study import mean_load
from cachezoo.zoo.base import Studied
from cachezoo.zoo.prefetch.fit import fit_prefetch, model_id
from cachezoo.zoo.prefetch.judge import judge_prefetch
from cachezoo.zoo.prefetch.model import load_prefetch

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def choosing(folder: Path) -> float:
    """Mean read disk-head time of the best learned mode on the choosing windows.

    Raises:
        TrainingError: the model never trained, so that there is none.
    """
    trained = read_trained(folder)
    learned = [float(row["choosing_mean_dt"]) for row in trained.calibration["modes"] if row["mode"] in ML_MODES]
    if not learned:
        raise TrainingError(f"{folder}: has no learned mode to compare ({trained.reason})")
    return min(learned)


def tests(params: "Params", category: str) -> dict[str, float]:
    """Mean read disk-head time on each test trace, in the mode that validation chose, a plain one or a learned one."""
    flash = params.policy.flash
    model, serving = load_prefetch(paths.trained(model_id(category, params.model.prefetch.arch)))
    admission = paths.fitted(admission_id(category, params.model.admission.arch))
    admitting = read_fitted(admission, "admission")
    scorer, mode = scorer_of(admission, int(admitting.arch["threads"])), model.policy["mode"]
    found = {}
    for key in traces_of(params, category, "test"):
        trace = read_trace(paths.requests(category, key))
        problem = flash_problem(trace, label_of(params.label.episodes, category), flash)
        rows = serve_trace(history_of(admitting), trace)
        fetched = beside(problem, mode) if serving is None or is_plain(mode) else serving.prefetch(rows)
        run = problem.run(scorer(rows) >= model.calibration["threshold"], fetched)
        found[key] = mean_load(trace, problem, run, flash)
    return found


STUDIED = Studied(
    fit=fit_prefetch,
    judge=judge_prefetch,
    choosing=choosing,
    choosing_is="mean read disk-head time of the best learned mode on the choosing windows of validation",
    lower_is_better=True,
    judging="mean_dt",
    judging_is="the same of that mode on the judging windows",
    tests=tests,
    tests_are="mean read disk-head time of the mode that ships (disk-head seconds per second)",
)

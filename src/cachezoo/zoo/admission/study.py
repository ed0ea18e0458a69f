"""How trainings of admission forests are compared over seeds: by the loss on held-out blocks of the train traces."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.flash.load import load_curve, load_windows, time_scale
from cachezoo.flash.policies import beside
from cachezoo.flash.problem import FlashProblem, flash_problem, label_of
from cachezoo.kernels.flash import FlashRun
from cachezoo.models.curves import CURVES_FILE, read_curves
from cachezoo.params import traces_of
from cachezoo.settings.flash import FlashPolicy
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.admission.fit import fit_admission, model_id
from cachezoo.zoo.admission.judge import judge_admission
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import serve_trace
from cachezoo.zoo.base import Studied

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def choosing(folder: Path) -> float:
    """The least loss on the blocks of the train traces that the forest did not see."""
    return min(value for name, _, value in read_curves(folder / CURVES_FILE) if name == "holdout_loss")


def mean_load(trace: Trace, problem: FlashProblem, run: FlashRun, flash: FlashPolicy) -> float:
    """Mean read disk-head time, in disk-head seconds per second."""
    windows = load_windows(trace.time_us, problem, flash, time_scale(trace))
    return float(load_curve(problem.dt_seconds(run), windows).mean())


def tests(params: "Params", category: str) -> dict[str, float]:
    """Mean read disk-head time on each test trace, with the plain prefetch mode and threshold that validation chose."""
    flash, folder = params.policy.flash, paths.trained(model_id(category, params.model.admission.arch))
    found = {}
    for key in traces_of(params, category, "test"):
        model, serving = load_admission(folder)
        trace = read_trace(paths.requests(category, key))
        problem = flash_problem(trace, label_of(params.label.episodes, category), flash)
        setting = model.calibration["with_prefetch"]
        admits = serving.scores(serve_trace(serving, trace)) >= setting["threshold"]
        found[key] = mean_load(trace, problem, problem.run(admits, beside(problem, setting["mode"])), flash)
    return found


STUDIED = Studied(
    fit=fit_admission,
    judge=judge_admission,
    choosing=choosing,
    choosing_is="loss on the held-out blocks of the train traces",
    lower_is_better=True,
    judging="mean_dt",
    judging_is="mean read disk-head time on validation",
    tests=tests,
    tests_are="mean read disk-head time (disk-head seconds per second)",
)

"""The trainings behind Figs. 9 and 16: what happens to the classifier and its baselines when an application is added.

Every set of two categories, of three, and so on is learned anew, with the settings and the seed of the stage
fit_workload. Validation's choosing blocks choose the epoch and the baselines' penalties; the test traces of the set's
categories are what accuracy is of, and choose nothing. The set of all categories is the deployed classifier's, whose
figures are in metrics/workload.json.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from cachezoo.errors import TrainingError
from cachezoo.seeds import derive_seed
from cachezoo.zoo.workload.baselines import fit_baselines
from cachezoo.zoo.workload.fit import CONTEXT, Settings
from cachezoo.zoo.workload.windows import Prepared, cut_windows, read_prepared
from lab.rcrnn.grid_fit import halves, named_right, trained_accuracy
from lab.rcrnn.published import paper_params
from lab.rcrnn.trained import MODEL, PAPER_MODEL, Added, Told

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

LEAST = 2


def told(
    categories: Sequence[str],
    parts: Sequence[Prepared],
    validation: Sequence[Prepared],
    tests: Sequence[Prepared],
    settings: Settings,
    paper: Settings,
) -> list[Told]:
    """Train for some categories; both networks' rows and each baseline's.

    Args:
        categories: told apart.
        parts: train traces of all categories; likewise the others.
        validation: validation traces.
        tests: test traces.
        settings: parameters of all categories.
        paper: those of the paper's network.

    Raises:
        TrainingError: too few windows, or a training failed.
    """
    names, window = list(categories), settings.model.window
    own = replace(settings, categories=names)
    mine = [[part for part in role if part.category in names] for role in (parts, validation, tests)]
    if not mine[2]:
        raise TrainingError(f"no test trace of {' or '.join(names)}; add one: cachezoo trace add")
    train = cut_windows(mine[0], names, window, settings.fit.stride)
    choosing, _ = halves(mine[1], window, own)
    judged = cut_windows(mine[2], names, window, window)
    seed = derive_seed(settings.seed, CONTEXT)
    found = {
        MODEL: trained_accuracy(train, choosing, judged, own, seed),
        PAPER_MODEL: trained_accuracy(train, choosing, judged, replace(paper, categories=names), seed),
    }
    for name, baseline in fit_baselines(train, choosing, seed).items():
        found[name] = named_right(judged, baseline.predict(judged.columns))
    return [
        Told(categories=names, method=method, windows=len(judged), accuracy=accuracy)
        for method, accuracy in found.items()
    ]


def fit_added(params: "Params") -> Added:
    """What the stage rcrnn_added of lab/dvc.yaml finds.

    Raises:
        TrainingError: too few windows, or a training failed.
        TraceError: a trace is missing or damaged.
    """
    settings, paper = Settings.of(params), Settings.of(paper_params())
    parts, _ = read_prepared(settings.categories, settings.roles, "train")
    validation, _ = read_prepared(settings.categories, settings.roles, "validation")
    tests, _ = read_prepared(settings.categories, settings.roles, "test")
    sets = [one for size in range(LEAST, len(settings.categories)) for one in combinations(settings.categories, size)]
    return Added(rows=[row for one in sets for row in told(one, parts, validation, tests, settings, paper)])

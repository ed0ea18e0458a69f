"""The trainings behind Fig. 8: every number of units and length of window, with several seeds, ours and the paper's.

The figure is of the paper's first scenario, a mail server and the database that its users are authenticated by, each
running alone; ours are the traces of `SCENARIO`.

Half of validation's time blocks choose the epoch, the other half is what accuracy is of; no test trace is read. The
trainings are short (fewer epochs and windows than the deployed classifier's), so that the whole takes minutes.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cachezoo.contest.accuracy import balanced_accuracy
from cachezoo.errors import TrainingError
from cachezoo.features.window import fit_inputs
from cachezoo.models.trained import Feature
from cachezoo.seeds import derive_seed
from cachezoo.zoo.workload.fit import Settings, fit_network
from cachezoo.zoo.workload.infer import predict
from cachezoo.zoo.workload.windows import Prepared, Windows, cut_windows, read_prepared
from lab.rcrnn.files import OURS, PAPER, Network
from lab.rcrnn.published import paper_params
from lab.rcrnn.trained import Grid, GridRow

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

SCENARIO = ("database", "mail")
UNITS, WINDOWS = (10, 25, 50, 100), (50, 100, 200)
SEEDS, EPOCHS, STRIDE = 5, 5, 100
CONTEXT = "figures_grid"


def halves(validation: list[Prepared], window: int, settings: Settings) -> tuple[Windows, Windows]:
    """Windows of validation that choose the epoch, and those that judge.

    Raises:
        TrainingError: a category has too few of either.
    """
    if not validation:
        raise TrainingError(f"no validation trace of {settings.categories[0]}; add one: cachezoo trace add")
    found = cut_windows(validation, settings.categories, window, window).halves()
    least = np.min([half.counts(len(settings.categories)) for half in found], axis=0)
    short = [name for name, count in zip(settings.categories, least, strict=True) if count < settings.fit.least_windows]
    if short:
        message = (
            f"validation traces of {short[0]}: hold fewer than {settings.fit.least_windows} windows of {window} "
            "requests to choose or to judge (fit.workload.least_windows); give longer ones"
        )
        raise TrainingError(message)
    return found


def named_right(judged: Windows, said: npt.NDArray[np.int64]) -> float:
    """Balanced accuracy of int64[w] said of windows.

    Raises:
        TrainingError: there is no window.
    """
    found = balanced_accuracy(judged.labels, said)
    if found is None:
        raise TrainingError("the traces to judge on hold no whole window of requests; give longer ones")
    return found


def trained_accuracy(train: Windows, choosing: Windows, judged: Windows, settings: Settings, seed: int) -> float:
    """Train a network; its balanced accuracy on windows that chose nothing.

    Args:
        train: windows.
        choosing: those whose loss chooses the epoch.
        judged: those that it names.
        settings: parameters.
        seed: of the first weights and the shuffles.

    Raises:
        TrainingError: no epoch's loss was finite.
    """
    features = [Feature(**row) for row in fit_inputs(train.columns, settings.model.inputs)]
    inputs = [part.inputs(features, settings.clip) for part in (train, choosing, judged)]
    title = f"{settings.model.units} units, windows of {settings.model.window}, {len(settings.categories)} categories"
    weights, _ = fit_network(title, len(settings.categories), inputs[0], inputs[1], settings, seed)
    if not weights:
        raise TrainingError(f"{title}: no epoch's loss was finite; lower fit.workload.learning_rate")
    said = predict(weights, inputs[2].rows, settings.fit.threads).argmax(axis=1)
    return named_right(judged, said)


def grid_rows(network: Network, parts: list[Prepared], validation: list[Prepared], settings: Settings) -> list[GridRow]:
    """Train every setting of the grid with every seed.

    Args:
        network: whose it is.
        parts: train traces.
        validation: validation traces.
        settings: parameters; units and window are the grid's.

    Raises:
        TrainingError: too few windows, or a training failed.
    """
    rows = []
    for window in WINDOWS:
        train = cut_windows(parts, settings.categories, window, settings.fit.stride)
        choosing, judged = halves(validation, window, settings)
        for units in UNITS:
            own = replace(settings, model=settings.model.model_copy(update={"units": units, "window": window}))
            seeds = [derive_seed(settings.seed, CONTEXT, units, window, k) for k in range(SEEDS)]
            found = [trained_accuracy(train, choosing, judged, own, seed) for seed in seeds]
            rows.append(
                GridRow(network=network, units=units, window=window, train_windows=len(train), accuracies=found)
            )
    return rows


def fit_grid(params: "Params") -> Grid:
    """What the stage rcrnn_grid of lab/dvc.yaml finds.

    Raises:
        TrainingError: too few windows, or a training failed.
        TraceError: a trace is missing or damaged.
    """
    names, rows = list(SCENARIO), []
    for network, read in ((OURS, Settings.of(params)), (PAPER, Settings.of(paper_params()))):
        short = read.fit.model_copy(update={"max_epochs": EPOCHS, "stride": STRIDE})
        settings = replace(read, categories=names, fit=short)
        parts, _ = read_prepared(names, settings.roles, "train")
        validation, _ = read_prepared(names, settings.roles, "validation")
        rows += grid_rows(network, parts, validation, settings)
    return Grid(categories=names, epochs=EPOCHS, stride=STRIDE, rows=rows)

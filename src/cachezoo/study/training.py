"""The trainings of a study, each in a folder laid out like the project; they run in the processes of a pool."""

import os
import traceback
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import yaml

from cachezoo import paths
from cachezoo.errors import CachezooError, os_message
from cachezoo.io import atomic_dir
from cachezoo.stage import settle_environment
from cachezoo.study.depends import CHOOSING, WHOLE, Training

STUDIES = Path(".cache/study")
FITS, LOG = STUDIES / "fits", STUDIES / "log.txt"


def begin(root: Path) -> None:
    """What a process of the pool does first: what libraries say goes into a file, and caches stay in the project."""
    settle_environment(root)
    with (root / LOG).open("ab") as log:
        for descriptor in (1, 2):
            os.dup2(log.fileno(), descriptor)


def train(root: Path, system: str, trainings: Sequence[Training]) -> list[dict[str, Any]]:
    """Fit a model, unless that was done before, and judge it.

    Args:
        root: the project.
        system: id of the model's.
        trainings: at least one; they differ in their judging alone.

    Returns:
        What each judging found.

    Raises:
        CachezooError: one failed; the training is named.
    """
    from cachezoo.config.load import load_params
    from cachezoo.zoo.base import studied_of
    from cachezoo.zoo.registry import SYSTEMS

    studied, found = studied_of(SYSTEMS[system]), []
    one = trainings[0]
    keys = [one.category] if one.category else []
    try:
        folder = root / FITS / one.fit
        if not folder.is_dir():
            with atomic_dir(folder) as made:
                _lay_out(made, root, one)
                with chdir(made):
                    studied.fit(load_params(), *keys)
        for one in trainings:
            _lay_out(folder, root, one)
            with chdir(folder):
                params = load_params()
                studied.judge(params, *keys)
                found.append(_figures(studied, one, params, keys))
    except Exception as error:  # whatever a library raises ends the study with the training's name
        traceback.print_exc()
        said = os_message(error) if isinstance(error, OSError) else str(error).strip() or type(error).__name__
        raise CachezooError(f"{one.title}: {said.splitlines()[-1]}; its log is {root / LOG}") from error
    return found


def _lay_out(folder: Path, root: Path, training: Training) -> None:
    """Write params.yaml, and link what is read of the project."""
    text = yaml.safe_dump(dict(training.tree), sort_keys=True, allow_unicode=True)
    (folder / paths.PARAMS).write_text(text, encoding="utf-8")
    for place in map(Path, ("data", *training.reads)):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        if not (folder / place).is_symlink():
            (folder / place).symlink_to(root / place)


def _figures(studied: Any, training: Training, params: Any, keys: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401
    """What is asked of a trained model, below the working folder."""
    from cachezoo.models.trained import read_trained

    model = paths.trained(training.model)
    trained = read_trained(model)
    found: dict[str, Any] = {"trained": trained.trained, "promoted": trained.promoted}
    if trained.trained:
        found["choosing"] = studied.choosing(model)
        if training.depth != CHOOSING:
            found["judging"] = trained.validation.get(studied.judging)
        if training.depth == WHOLE:
            found["tests"] = studied.tests(params, *keys)
    return found

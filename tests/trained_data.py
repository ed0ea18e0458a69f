"""Models that tests fit and judge in memory, and the folders that the two stages would leave behind."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cachezoo import paths
from cachezoo.models.forest import Forest, write_forests, write_judged_forests
from cachezoo.models.trained import FittedModel, TrainedModel, read_trained
from cachezoo.params import Picked
from cachezoo.training.fitted import Curves, write_judged_lstm, write_lstm

Weights = dict[str, np.ndarray]


def fitted_folder(folder: Path) -> Path:
    """Where the fitted model of a trained folder stands: beside it."""
    return folder.with_name(f"{folder.name}.fitted")


def digest(folder: Path) -> dict[str, str]:
    """The sha256 of each file of a folder, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@dataclass(frozen=True)
class MadeForests:
    """Forests by file name, what their fit says of them, and what their judge makes of that."""

    fitted: FittedModel
    forests: dict[str, Forest]
    trained: TrainedModel

    def write(self, folder: Path) -> TrainedModel:
        """Write both stages' folders: `folder`, and the fitted model's beside it."""
        write_forests(fitted_folder(folder), self.fitted, self.forests)
        write_judged_forests(folder, fitted_folder(folder), self.trained, list(self.forests))
        return self.trained


@dataclass(frozen=True)
class MadeLstm:
    """A network's weights as they were fitted, those that its judge keeps, and what each says of it."""

    fitted: FittedModel
    weights: Weights
    curves: Curves
    trained: TrainedModel
    kept: Weights

    def write(self, folder: Path) -> TrainedModel:
        """Write both stages' folders: `folder`, and the fitted model's beside it."""
        write_lstm(fitted_folder(folder), self.fitted, self.weights, self.curves)
        write_judged_lstm(folder, fitted_folder(folder), self.trained, self.kept)
        return self.trained


def in_three_folders(
    model_ids: Sequence[str], run: Callable[[bool], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, dict[str, str]], list[dict[str, dict[str, str]]], list[TrainedModel]]:
    """Fit and judge in three folders; the bytes are the same in each, but for a judge with other settings in the third.

    Args:
        model_ids: of the models that the stages leave behind.
        run: writes the traces and runs the stages; with the judge's other settings where its argument is True.
        tmp_path: of the test.
        monkeypatch: of the test.

    Returns:
        By model, the digests of the fit, and those of each verdict; and each verdict of the first model.
    """
    fits, verdicts, trained = [], [], []
    for name in ("here", "there", "otherwise"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        run(name == "otherwise")
        fits.append({own: digest(paths.fitted(own)) for own in model_ids})
        verdicts.append({own: digest(paths.trained(own)) for own in model_ids})
        trained.append(read_trained(paths.trained(model_ids[0])))
    assert fits[0] == fits[1] == fits[2]
    assert verdicts[0] == verdicts[1] != verdicts[2]
    return fits[0], verdicts, trained


def params_of(category: str, *settings: Picked) -> Any:
    """A params.yaml that holds what these stages read of it, for one category, and nothing else."""
    found: dict[str, Any] = {}
    for one in settings:
        found.update({path.format(category=category): getattr(one, name) for name, path in one.places().items()})
    root = SimpleNamespace()
    for path in sorted(found, key=lambda path: path.count(".")):
        section, *keys = root, *path.split(".")
        while len(keys) > 1 and isinstance(section, SimpleNamespace):
            vars(section).setdefault(keys[0], SimpleNamespace())
            section = getattr(section, keys.pop(0))
        if isinstance(section, SimpleNamespace):
            setattr(section, keys[0], found[path])
    return root

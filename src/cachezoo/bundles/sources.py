"""Where each kind's exported model and reference scores come from: the rooms that train them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cachezoo.bundles.kinds.base import F32
from cachezoo.errors import BundleError
from cachezoo.models.trained import TrainedModel, read_trained


@dataclass(frozen=True)
class Source:
    """How a trained folder becomes ONNX.

    Attributes:
        export: the ONNX file's bytes of a trained folder.
        reference: golden outputs as the training libraries compute them from golden features, to hold the
            exported model against; None where features alone do not give them.
        libraries: distributions that decide the bundle's bytes.
    """

    export: Callable[[Path], bytes]
    reference: Callable[[Path, TrainedModel, F32], F32] | None
    libraries: tuple[str, ...]


def _forest_export(folder: Path) -> bytes:
    from cachezoo.models.onnx_gbdt import export_onnx

    return export_onnx(folder)


def _admission_reference(folder: Path, trained: TrainedModel, features: F32) -> F32:
    from cachezoo.models.admission import load_admission

    return load_admission(folder)[1].scores(features).astype(np.float32)[:, None]


def _prefetch_reference(folder: Path, trained: TrainedModel, features: F32) -> F32:
    from cachezoo.models.prefetch import load_prefetch

    serving = load_prefetch(folder)[1]
    if serving is None:
        message = f"{folder}: {trained.model_id} never trained; train it again"
        raise BundleError(message)
    return serving.outputs(features).astype(np.float32)


def _lstm_export(folder: Path) -> bytes:
    from cachezoo.models.onnx_lstm import export_step

    return export_step(folder, read_trained(folder))


def _caching_reference(folder: Path, trained: TrainedModel, features: F32) -> F32:
    """The network over the golden rows in one run, the state carried or reset as the policy says."""
    from cachezoo.models.lstm_step import read_weights, teacher_outputs

    every = int(trained.policy["sequence"]) if trained.policy["state"] == "reset100" else 0
    return teacher_outputs(read_weights(folder), features[:, None], int(trained.arch["threads"]), every)[:, 0, 0]


def _workload_reference(folder: Path, trained: TrainedModel, features: F32) -> F32:
    from cachezoo.models.workload_step import load_workload

    return load_workload(folder)[1].probabilities(features)


FOREST_LIBRARIES = ("lightgbm", "numba", "numpy", "onnx", "onnxruntime")
LSTM_LIBRARIES = ("lightning", "numba", "numpy", "onnx", "onnxruntime", "safetensors", "torch")
SOURCES: dict[str, Source] = {
    "admission": Source(_forest_export, _admission_reference, FOREST_LIBRARIES),
    "prefetch": Source(_forest_export, _prefetch_reference, FOREST_LIBRARIES),
    "caching": Source(_lstm_export, _caching_reference, LSTM_LIBRARIES),
    "workload": Source(_lstm_export, _workload_reference, (*LSTM_LIBRARIES, "scikit-learn")),
}

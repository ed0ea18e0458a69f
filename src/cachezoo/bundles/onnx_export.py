"""A bundle's model as an ONNX file, for runtimes that want one; the bundle itself holds its weights once.

The file is made from the bundle's weights and written where onnx's own checker takes it and onnxruntime computes the
outputs of the bundle's runtime with it, on golden features. It decides nothing: golden rows are those of the weights.
"""

from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.bundles.protocol import one_line
from cachezoo.bundles.reader import Bundle
from cachezoo.errors import BundleError
from cachezoo.io import atomic_file
from cachezoo.serving.kind import OUTPUT_TOLERANCE
from cachezoo.zoo.registry import bundling_of

ROWS = 200  # of a free side, in the comparison


def export_onnx(bundle: Bundle, path: Path) -> float:
    """Write a bundle's model as ONNX.

    Returns:
        The largest difference between an output of onnxruntime and of the bundle's runtime.

    Raises:
        BundleError: the kind has no such graph, or the file does not compute what the weights do.
    """
    model = onnx_of(bundle)
    difference = _difference(bundle, model)
    with atomic_file(path) as temporary:
        temporary.write_bytes(model)
    return difference


def onnx_of(bundle: Bundle) -> bytes:
    """The ONNX file of a bundle's weights; equal weights give equal bytes.

    Raises:
        BundleError: a model of this kind is no network or forest.
    """
    build = bundling_of(bundle.kind).onnx
    if build is None:
        raise BundleError(f"{bundle.where}: a {bundle.kind} model is no network or forest, so ONNX cannot hold it")
    model: bytes = build.load()(bundle.manifest, bundle.files)
    return model


def open_session(model: bytes, where: str) -> Any:  # noqa: ANN401 - onnxruntime.InferenceSession
    """An onnxruntime session on one thread.

    Raises:
        BundleError: onnxruntime is missing or refuses the model.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise BundleError(f"{where}: onnxruntime is not installed; pip install cachezoo[onnx]") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise BundleError(f"{where}: onnxruntime refuses the model ({one_line(error)}); report this fault") from error


def _difference(bundle: Bundle, model: bytes) -> float:
    """The largest difference of an output between onnxruntime and the bundle's weights.

    Raises:
        BundleError: it is beyond the tolerance of golden outputs.
    """
    session = open_session(model, bundle.where)
    features = bundle.golden().features
    inputs = {one.name: _values(one.name, one.shape, features) for one in session.get_inputs()}
    names = [one.name for one in session.get_outputs()]
    found, wanted = session.run(names, inputs), bundle.engine.run(names, inputs)
    worst = max(float(np.abs(a.astype(np.float64) - b).max()) for a, b in zip(found, wanted, strict=True))
    if not worst <= OUTPUT_TOLERANCE:
        message = (
            f"{bundle.where}: the ONNX file differs by {worst:.2g} from the weights, more than {OUTPUT_TOLERANCE:g}; "
            "this is a fault of the exporter, report it"
        )
        raise BundleError(message)
    return worst


def _values(name: str, shape: list[int | str], features: F32) -> F32:
    """Golden features in an input's shape; a network's state is between -1 and 1."""
    values = np.resize(features, [side if isinstance(side, int) else ROWS for side in shape])
    return values if name == "features" else np.tanh(values)

"""Loads a bundle on numpy and onnxruntime alone.

    from cachezoo.bundles import Coded, RequestBatch, load
    bundle = load("models/bundles/admission.database.lgbm")
    model = bundle.serving()          # fresh state
    batch = RequestBatch(time_us, op, offset, size, Coded.of(volume))
    admit = model.decide(model.features(batch))

Everything is checked before it is used: see `cachezoo.bundles.integrity` and `cachezoo.bundles.weights`.
"""

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cachezoo.bundles.golden import Golden, read_golden
from cachezoo.bundles.integrity import Checked, read_checked
from cachezoo.bundles.onnx_file import check_graph, read_model
from cachezoo.bundles.protocol import MODEL, one_line
from cachezoo.bundles.weights import check_finite
from cachezoo.errors import BundleError, ConfigError
from cachezoo.serving.kind import Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.stated import check_sizes
from cachezoo.systems.registry import bundling_of

DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(int32)": "int32",
    "tensor(int64)": "int64",
    "tensor(uint8)": "uint8",
    "tensor(bool)": "bool",
}


def open_session(model: bytes, where: str) -> Session:
    """An onnxruntime session on one thread.

    Raises:
        BundleError: onnxruntime is missing or refuses the model.
    """
    try:
        import onnxruntime
    except ImportError as error:
        message = f"{where}: onnxruntime is not installed; pip install cachezoo[runtime]"
        raise BundleError(message) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session: Session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        message = f"{where}: onnxruntime refuses the model ({one_line(error)}); export the bundle again"
        raise BundleError(message) from error
    return session


def tensors(session: Any, units: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:  # noqa: ANN401
    """Inputs and outputs of an onnxruntime session as the manifest states them."""

    def describe(entry: Any) -> dict[str, Any]:  # noqa: ANN401 - onnxruntime.NodeArg
        unit = units.get(entry.name, "")
        return {"name": entry.name, "dtype": DTYPES[entry.type], "shape": list(entry.shape), "unit": unit}

    return [describe(entry) for entry in session.get_inputs()], [describe(entry) for entry in session.get_outputs()]


class Bundle:
    """A loaded bundle: its bytes are checked, its model is ready.

    Attributes:
        manifest: the parsed manifest.
        digest: sha256 of manifest.json; it stands for the whole bundle.
        where: where it was loaded from.
    """

    def __init__(self, checked: Checked) -> None:
        """Take over files that `read_checked` returned.

        Raises:
            BundleError: weights that are not finite, or a model that does not fit its manifest.
        """
        self.manifest = checked.manifest
        self.digest = checked.digest
        self.where = checked.where
        self._files = checked.files
        self._kind: Kind = bundling_of(self.kind).kind.load()
        for name, data in checked.files.items():
            check_finite(name, data, self.where)
        self._check_graph()
        if self.manifest["id"].split(".")[0] != self.kind:
            message = f"{self.where}: the id {self.id} is not of kind {self.kind}; export the bundle again"
            raise BundleError(message)
        self.serving()

    @property
    def id(self) -> str:
        """`kind[.category].arch`."""
        return str(self.manifest["id"])

    @property
    def version(self) -> str:
        """The bundle's semantic version."""
        return str(self.manifest["version"])

    @property
    def kind(self) -> str:
        """What the model decides: workload, caching, admission or prefetch."""
        return str(self.manifest["kind"])

    @property
    def model_digest(self) -> str:
        """What names the model: of all that acts; the bundle's own digest where PROTOCOL 1 states none."""
        return str(self.manifest.get("model_digest", self.digest))

    @property
    def files(self) -> Mapping[str, bytes]:
        """The listed files by path."""
        return self._files

    def _check_graph(self) -> None:
        """Before a runtime sees the model: its sizes are in their ranges, its graph is that of its kind and sizes.

        Raises:
            BundleError: they are not.
        """
        try:
            check_sizes(self.manifest, self._kind.sizes)
            wanted = self._kind.graph(self.manifest)
        except (ConfigError, KeyError, TypeError) as error:
            raise self._no_model(error) from error
        try:
            check_graph(read_model(self._files[MODEL]), wanted, len(self.manifest["features"]))
        except ValueError as error:
            problem = f"its graph is not that of a {self.kind} model: {one_line(error)}"
            message = f"{self.where}/{MODEL}: {problem}; export the bundle again"
            raise BundleError(message) from error

    def _no_model(self, error: Exception) -> BundleError:
        what = f"no {error}" if isinstance(error, KeyError) else one_line(error)
        return BundleError(
            f"{self.where}: the manifest does not describe a {self.kind} model ({what}); export it again"
        )

    @cached_property
    def session(self) -> Session:
        """The onnxruntime session, whose inputs and outputs are those that the manifest states."""
        session = open_session(self._files[MODEL], f"{self.where}/{MODEL}")
        names = {entry["name"]: entry["unit"] for side in ("inputs", "outputs") for entry in self.manifest[side]}
        try:
            found = tensors(session, names)
        except KeyError as error:
            message = f"{self.where}/{MODEL}: has a tensor of type {error}, which no bundle holds"
            raise BundleError(message) from error
        if found != (self.manifest["inputs"], self.manifest["outputs"]):
            message = f"{self.where}/{MODEL}: its inputs or outputs are not those that the manifest states"
            raise BundleError(message)
        return session

    def serving(self) -> Any:  # noqa: ANN401 - the serving class of the kind
        """The serving object with fresh state: AdmissionServing, PrefetchServing, CachingServing or WorkloadServing.

        Raises:
            BundleError: the manifest's values do not make a model of its kind.
        """
        try:
            return self._kind.serve(self.manifest, self.session)
        except (ConfigError, KeyError, ValueError, TypeError, IndexError) as error:
            raise self._no_model(error) from error

    def golden(self) -> Golden:
        """The golden requests with the features, outputs and decisions that they must give.

        Raises:
            BundleError: the golden files do not fit the manifest.
        """
        return read_golden(self.manifest, self._files, self.where)

    def recompute(self, requests: RequestBatch) -> Recomputed:
        """Run raw requests through a fresh serving object.

        Raises:
            BundleError: the model fails on them.
        """
        try:
            return self._kind.recompute(self.serving(), requests, self.manifest["golden"]["context"])
        except BundleError:
            raise
        except Exception as error:
            message = f"{self.where}: the model fails on the requests ({one_line(error)}); export the bundle again"
            raise BundleError(message) from error


def load(path: str | os.PathLike[str]) -> Bundle:
    """Check and load a bundle.

    Args:
        path: its folder, or its .zip.

    Raises:
        BundleError: whatever PROTOCOL 1 refuses, in one line that names the file.
    """
    return Bundle(read_checked(Path(path)))

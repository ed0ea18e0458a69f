"""Loads a bundle on numpy, and of LSTMs onnxruntime, alone.

    from cachezoo.bundles import Coded, RequestBatch, load
    bundle = load("models/bundles/admission.database.lgbm")
    model = bundle.serving()          # fresh state
    batch = RequestBatch(time_us, op, offset, size, Coded.of(volume))
    admit = model.decide(model.features(batch))

Everything is checked before it is used: see `cachezoo.bundles.integrity` and `cachezoo.bundles.weights`.
"""

import os
import struct
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cachezoo.bundles.golden import Golden, read_golden
from cachezoo.bundles.integrity import Checked, read_checked
from cachezoo.bundles.onnx_file import check_graph, read_model, tensors_of
from cachezoo.bundles.protocol import ACTING, GOLDEN, MODEL, one_line
from cachezoo.bundles.schema import MODEL_SCHEMA, check_document
from cachezoo.bundles.weights import check_finite
from cachezoo.errors import BundleError, ConfigError
from cachezoo.serving.kind import Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.stated import check_sizes
from cachezoo.serving.synthetic import SyntheticSet, changed
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
        manifest: the parsed manifest, with the keys of model.json among its own.
        digest: sha256 of manifest.json; it stands for the whole bundle.
        model_digest: stands for what acts, whatever was measured of it.
        where: where it was loaded from.
    """

    def __init__(self, checked: Checked) -> None:
        """Take over files that `read_checked` returned.

        Raises:
            BundleError: weights that are not finite, or a model that does not fit its manifest.
        """
        self.manifest = checked.manifest
        self.digest = checked.digest
        self.model_digest = checked.model_digest
        self.where = checked.where
        self._files = checked.files
        self._kind: Kind = bundling_of(self.kind).kind.load()
        bundling = bundling_of(self.kind)
        for name in (*bundling.weights, *(() if bundling.onnx is None else (MODEL,))):
            check_finite(name, checked.files[name], self.where)
        self._check_graph()
        self._check_model()
        if self.manifest["id"].split(".")[0] != self.kind:
            message = f"{self.where}: the id {self.id} is not of kind {self.kind}; export the bundle again"
            raise BundleError(message)
        _ = self.weights
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
        """What the model decides: the id of its system."""
        return str(self.manifest["kind"])

    @property
    def files(self) -> Mapping[str, bytes]:
        """The listed files by path."""
        return self._files

    @property
    def profile(self) -> str:
        """What the model reads of requests: `block` or `full`, see `Kind.profile`."""
        return str(self.manifest["profile"])

    @property
    def conformance(self) -> Mapping[str, str | float]:
        """What runtimes have to reach, by precision."""
        stated: Mapping[str, str | float] = self.manifest["conformance"]
        return stated

    @property
    def by_weights(self) -> bool:
        """Whether decisions are those of the weights' files, not of the ONNX file."""
        return self._kind.weights_decide

    def _check_model(self) -> None:
        """Rules between values, and what follows from others.

        Raises:
            BundleError: they do not hold.
        """
        golden = self.manifest["golden"]
        try:
            self._kind.check(self.manifest)
            stated = {
                "profile": (self.profile, self._kind.profile(self.manifest)),
                "golden.outputs": (tuple(golden["outputs"]), tuple(self._kind.outputs(self.manifest))),
                "golden.decisions": (tuple(golden["decisions"]), self._kind.decisions),
            }
        except (ConfigError, KeyError, TypeError) as error:
            raise self._no_model(error) from error
        for name, (said, is_so) in stated.items():
            if said != is_so:
                raise self._no_model(ConfigError(f"{name} is {said}, its values make it {is_so}"))

    def _check_graph(self) -> None:
        """Before a runtime sees the model: its sizes are in their ranges, its graph, if any, is that of its kind.

        Raises:
            BundleError: they are not.
        """
        try:
            check_sizes(self.manifest, self._kind.sizes)
            wanted = self._kind.graph(self.manifest) if self._kind.graph is not None else None
        except (ConfigError, KeyError, TypeError) as error:
            raise self._no_model(error) from error
        if wanted is None:
            return
        for side, tensors_wanted in (("inputs", wanted.inputs), ("outputs", wanted.outputs)):
            own = [{"name": name, "dtype": "float32", "shape": list(shape)} for name, shape in tensors_wanted.items()]
            if [{name: one[name] for name in ("name", "dtype", "shape")} for one in self.manifest[side]] != own:
                raise self._no_model(ConfigError(f"{side} are not the tensors of its kind"))
        try:
            model = read_model(self._files[MODEL])
            check_graph(model, wanted, len(self.manifest["features"]))
            self._check_tensors(model)
        except ValueError as error:
            problem = f"its graph is not that of a {self.kind} model: {one_line(error)}"
            message = f"{self.where}/{MODEL}: {problem}; export the bundle again"
            raise BundleError(message) from error

    def _check_tensors(self, model: Mapping[str, Any]) -> None:
        """Hold the graph's inputs and outputs against the manifest; `session` does it with a runtime's eyes.

        Raises:
            ValueError: they are others.
        """
        for side in ("input", "output"):
            stated = [{name: one[name] for name in ("name", "dtype", "shape")} for one in self.manifest[f"{side}s"]]
            if tensors_of(model, side) != stated:
                message = f"its inputs or outputs are not those that the manifest states: {side}s"
                raise ValueError(message)

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

    @cached_property
    def weights(self) -> Session:
        """The model on its weights' files, without onnxruntime.

        Raises:
            BundleError: a file is not that of the manifest's model.
        """
        try:
            return self._kind.open_weights(self.manifest, self._files)
        except BundleError as error:
            message = f"{self.where}/{error}"
            raise BundleError(message) from error
        except (ConfigError, ValueError, KeyError, struct.error, RecursionError) as error:
            message = f"{self.where}: {one_line(error)}; export the bundle again"
            raise BundleError(message) from error

    @property
    def engine(self) -> Session:
        """What decides: the weights' files of a forest or table, else onnxruntime."""
        return self.weights if self.by_weights else self.session

    def serving(self) -> Any:  # noqa: ANN401 - the serving class of the kind
        """The serving object with fresh state: AdmissionServing, CachingServing, StreamsServing … by kind.

        Raises:
            BundleError: the manifest's values do not make a model of its kind.
        """
        return self._serving(self.manifest, self.engine)

    def _serving(self, manifest: Mapping[str, Any], engine: Session) -> Any:  # noqa: ANN401 - as `serving`
        try:
            return self._kind.serve(manifest, engine)
        except (ConfigError, KeyError, ValueError, TypeError, IndexError) as error:
            raise self._no_model(error) from error

    def golden_sets(self) -> list[Golden]:
        """The real golden rows, then the synthetic sets.

        Raises:
            BundleError: the golden files do not fit the manifest.
        """
        return read_golden(self.manifest, self._files, self.where)

    def golden(self) -> Golden:
        """The golden requests with the features, outputs and decisions that they must give; see `golden_sets`."""
        return self.golden_sets()[0]

    def under(self, golden: Golden) -> dict[str, Any]:
        """The manifest with a golden set's changes.

        Raises:
            BundleError: a place does not exist, or the changed values break the schema or a rule.
        """
        if not golden.changes:
            return self.manifest
        where = f"{self.where}: {golden.folder}"
        try:
            acting = changed({name: self.manifest[name] for name in ACTING}, golden.changes)
            check_document(acting, MODEL_SCHEMA, where)
            whole = {**self.manifest, **acting}
            check_sizes(whole, self._kind.sizes)
            self._kind.check(whole)
        except (ConfigError, KeyError, TypeError) as error:
            message = f"{where}: its changes make no model ({one_line(error)}); export the bundle again"
            raise BundleError(message) from error
        return whole

    def recompute(self, requests: RequestBatch) -> Recomputed:
        """Run raw requests through a fresh serving object, in the context of the golden rows.

        Raises:
            BundleError: the model fails on them.
        """
        return self._guarded(lambda: self._kind.recompute(self.serving(), requests, self.manifest["golden"]["context"]))

    def replay(self, golden: Golden, engine: Session) -> Recomputed:
        """Run a golden set's requests through a fresh serving object on an engine, under the set's changes.

        Raises:
            BundleError: the changes make no model, or it fails on the requests.
        """
        context = golden.stated["context"]
        self.under(golden)
        if golden.folder == GOLDEN:
            return self._guarded(
                lambda: self._kind.recompute(self._serving(self.manifest, engine), golden.requests, context)
            )
        own = SyntheticSet(golden.stated["name"], golden.requests, golden.changes, context, golden.given)
        return self._guarded(
            lambda: self._kind.recompute_synthetic(self.manifest, lambda values: self._serving(values, engine), own)
        )

    def _guarded(self, run: Callable[[], Recomputed]) -> Recomputed:
        try:
            return run()
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
        BundleError: whatever its PROTOCOL refuses, in one line that names the file.
    """
    return Bundle(read_checked(Path(path)))

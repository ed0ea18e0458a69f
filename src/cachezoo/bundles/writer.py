"""Writes bundles: equal inputs give equal bytes, and what must not be shipped is refused."""

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.bundles.card import model_card
from cachezoo.bundles.golden import golden_files, synthetic_folder
from cachezoo.bundles.integrity import Checked, archive_bytes
from cachezoo.bundles.measured import Metrics, measured
from cachezoo.bundles.protocol import ACTING, ACTS, CARD, MANIFEST, PROTOCOL, SEAL, model_digest, seal
from cachezoo.bundles.reader import Bundle, load
from cachezoo.bundles.schema import MANIFEST_SCHEMA, MODEL_SCHEMA, check_document, schema
from cachezoo.errors import BundleError, CachezooError
from cachezoo.io import atomic_dir, atomic_file, dump_json
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.serving.kind import OUTPUT_TOLERANCE, Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.registry import bundling_of

GROWTH = 2
BEGINNINGS = 8


@dataclass(frozen=True)
class ExportSettings:
    """What export needs besides the model."""

    version: str
    golden_rows: int  # to start with
    golden_rows_max: int  # they are doubled up to this many while a branch is not passed
    libraries: Mapping[str, str]  # versions that requirements.lock pins, by distribution
    pinned: Mapping[str, Mapping[str, str]]  # VERSIONS.json: digests that must not change, by model id and version


def _kind(name: str) -> Kind:
    kind: Kind = bundling_of(name).kind.load()
    return kind


def refusal(trained: TrainedModel) -> str | None:
    """Why a model must not be exported, or None.

    A model that never trained, an imitator whose teacher loses to the best classic on validation, and a dictionary of
    one stream, are reported and not shipped.
    """
    if not trained.trained:
        return f"it never trained: {trained.reason}"
    if trained.calibration.get("oracle_beats_classic") is False:
        return f"its oracle is below the best classic on validation: {trained.reason}"
    if not any(trained.calibration.get("writes_by_stream", [0, 1])[1:]):
        return f"it sends every write to stream 0, as a drive without streams does: {trained.reason}"
    return None


def write_bundle(
    trained_dir: Path, requests: RequestBatch, metrics: Metrics, settings: ExportSettings, out_dir: Path
) -> str:
    """Write a bundle's folder.

    Args:
        trained_dir: `models/trained/<system>/<id>`.
        requests: raw requests to take golden rows from, in order.
        metrics: what the stages that evaluate wrote of the model's category or system.
        settings: version, golden rows, pins.
        out_dir: the folder; replaced whole or left alone.

    Returns:
        The bundle's digest.

    Raises:
        BundleError: the model must not be shipped, or its bytes changed under a pinned version.
        TrainingError: the folder holds no readable model.
    """
    files, digest = build_bundle(trained_dir, requests, metrics, settings)
    write_files(files, out_dir)
    return digest


def write_files(files: Mapping[str, bytes], out_dir: Path) -> None:
    """Write a bundle's folder, replaced whole or left alone."""
    with atomic_dir(out_dir) as temporary:
        for name, data in files.items():
            (temporary / name).parent.mkdir(parents=True, exist_ok=True)
            (temporary / name).write_bytes(data)


def write_archive(folder: Path, path: Path) -> None:
    """Write a bundle's folder as the one .zip of its files.

    Raises:
        BundleError: the folder is not a sound bundle.
    """
    files = dict(load(folder).files)
    files.update({name: (folder / name).read_bytes() for name in (MANIFEST, SEAL)})
    with atomic_file(path) as temporary:
        temporary.write_bytes(archive_bytes(files))


def build_bundle(
    trained_dir: Path, requests: RequestBatch, metrics: Metrics, settings: ExportSettings
) -> tuple[dict[str, bytes], str]:
    """All files of a bundle by path, manifest and seal included, and its digest; see `write_bundle`."""
    trained = read_trained(trained_dir)
    _check_shippable(trained)
    files = _model_files(trained, trained_dir)
    manifest = _draft(trained, files, metrics, settings)
    return complete(manifest, files, requests, settings, lambda own: _check_parity(trained, trained_dir, own))


def complete(
    manifest: dict[str, Any], files: dict[str, bytes], requests: RequestBatch, settings: ExportSettings,
    check: Callable[[Recomputed], None] = lambda recomputed: None,
) -> tuple[dict[str, bytes], str]:  # fmt: skip
    """All files of a bundle by path, manifest and seal included, and its digest.

    Args:
        manifest: both documents in one, without golden section, model digest and files, which it gets.
        files: weights by name; the others are put beside them.
        requests: raw requests to take golden rows from, in order.
        settings: golden rows, pins.
        check: what the golden rows are held to besides.

    Raises:
        BundleError: as `write_bundle`.
    """
    name = manifest["id"]
    engine = _engine(manifest, files, name)
    golden, recomputed = _choose_golden(manifest, engine, requests, settings)
    check(recomputed)
    files.update(golden_files(golden, recomputed))
    files.update(_synthetic(manifest, engine))
    files[CARD] = model_card(manifest).encode("utf-8")
    text, digest = _documents(manifest, files, name)
    _check_pinned(name, settings, manifest["model_digest"])
    Bundle(Checked(name, manifest, digest, manifest["model_digest"], dict(files))).verify()
    return {**files, MANIFEST: text, SEAL: seal(digest)}, digest


def _engine(manifest: Mapping[str, Any], files: Mapping[str, bytes], model_id: str) -> Session:
    """What decides in the bundle, see `Bundle.engine`."""
    try:
        return _kind(manifest["kind"]).open_weights(manifest, files)
    except BundleError as error:
        raise BundleError(f"{model_id}: is not exported: {error}") from error
    except ValueError as error:
        raise BundleError(f"{model_id}: is not exported: {error}; train the model again") from error


def _synthetic(manifest: dict[str, Any], engine: Session) -> dict[str, bytes]:
    """Files of the synthetic golden sets by path; fills their section.

    Raises:
        BundleError: a branch that all of them together should pass is passed by none.
    """
    kind = _kind(manifest["kind"])
    files: dict[str, bytes] = {}
    passed: Counter[str] = Counter()

    def serve(values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the serving class of the kind
        return kind.serve(values, engine)

    for one in kind.synthetic(manifest, serve):
        recomputed = kind.recompute_synthetic(manifest, serve, one)
        files.update(golden_files(one.requests, recomputed, synthetic_folder(one.name)))
        passed.update(recomputed.branches)
        manifest["golden"]["synthetic"].append(
            {
                "name": one.name,
                "rows": len(one.requests),
                "changes": dict(one.changes),
                "context": dict(one.context),
                "outputs": list(kind.outputs(manifest)),
                "decisions": list(kind.synthetic_decisions(one.context)),
                "branches": recomputed.branches,
            }
        )
    missed = [name for name in kind.synthetic_wanted(manifest) if not passed[name]]
    if missed:
        message = f"{manifest['id']}: no synthetic golden set passes {missed[0]}; report this fault of the sets"
        raise BundleError(message)
    return files


def _check_shippable(trained: TrainedModel) -> None:
    reason = refusal(trained)
    if reason is not None:
        raise BundleError(f"{trained.model_id}: is not exported: {reason}")
    threshold = trained.calibration.get("threshold")
    uncalibrated = not isinstance(threshold, int | float) or isinstance(threshold, bool) or not np.isfinite(threshold)
    if bundling_of(trained.kind).calibrated and (uncalibrated or not trained.calibration.get("curve")):
        message = f"{trained.model_id}: its threshold is not calibrated; train it again with a validation trace"
        raise BundleError(message)


def _model_files(trained: TrainedModel, folder: Path) -> dict[str, bytes]:
    files = {}
    for name in bundling_of(trained.kind).files(trained.policy):
        try:
            files[name] = (folder / name).read_bytes()
        except OSError as error:
            raise BundleError(f"{folder / name}: cannot be read ({error.strerror}); train the model again") from error
    return files


def _libraries(trained: TrainedModel, locked: Mapping[str, str]) -> dict[str, str]:
    wanted = bundling_of(trained.kind).libraries
    if missing := [name for name in wanted if name not in locked]:
        message = f"requirements.lock pins no {missing[0]}, which decides the bytes of {trained.model_id}; pin it"
        raise BundleError(message)
    return {name: locked[name] for name in wanted}


def _draft(
    trained: TrainedModel, files: Mapping[str, bytes], metrics: Metrics, settings: ExportSettings
) -> dict[str, Any]:
    """Both documents in one, without golden section, model digest and files."""
    values = trained.model_dump(mode="json")
    kind = _kind(trained.kind)
    state = kind.state(values)
    return {
        "PROTOCOL": PROTOCOL,
        "id": trained.model_id,
        "version": settings.version,
        **{name: values[name] for name in ("kind", "category", "arch", "features", "encodings", "geometry")},
        **{name: values[name] for name in ("calibration", "policy")},
        "profile": kind.profile(values),
        "conformance": dict(kind.conformance(values)),
        "provenance": {
            **{name: values[name] for name in ("inputs", "traces", "seeds")},
            "libraries": _libraries(trained, settings.libraries),
        },
        "cost": {
            **asdict(kind.cost(values, files)),
            "state_bytes": state.fixed,
            "state_bytes_per_key": state.each,
            "state_key": state.key,
        },
        "measured": measured(trained, metrics),
    }


@dataclass(frozen=True)
class _Tried:
    """Candidate golden rows, their context and what the runtime makes of them."""

    requests: RequestBatch
    context: dict[str, Any]
    recomputed: Recomputed

    def rank(self, wanted: Sequence[str]) -> tuple[int, int]:
        """Branches passed, then rows: more is better."""
        return sum(self.recomputed.branches[name] > 0 for name in wanted), len(self.requests)


def _grown(
    manifest: dict[str, Any], session: Session, requests: RequestBatch, choice: int, settings: ExportSettings
) -> _Tried:
    """The shortest head of the requests, by doubling, that passes every branch with one choice of context.

    It ends before the first decision that another CPU's last digits could turn.
    """
    kind = _kind(manifest["kind"])
    rows = min(settings.golden_rows, len(requests))
    last = min(settings.golden_rows_max, len(requests))
    while True:
        head = requests.part(0, rows)
        context = kind.contexts(manifest, head)[choice]
        recomputed = kind.recompute(kind.serve(manifest, session), head, context)
        if rows >= last or all(recomputed.branches[name] for name in kind.wanted):
            break
        rows = min(GROWTH * rows, last)
    if recomputed.steady is not None and recomputed.steady < rows:
        head = requests.part(0, max(1, recomputed.steady))
        recomputed = kind.recompute(kind.serve(manifest, session), head, context)
    return _Tried(head, context, recomputed)


def _choose_golden(
    manifest: dict[str, Any], session: Session, requests: RequestBatch, settings: ExportSettings
) -> tuple[RequestBatch, Recomputed]:
    """Golden requests and what the runtime makes of them; fills the golden section.

    Several beginnings and contexts are tried until every branch is passed by enough rows; else the rows that pass most
    branches are taken.
    """
    kind = _kind(manifest["kind"])
    requests = requests if kind.reads_flags else replace(requests, flags=None)
    best = _grown(manifest, session, requests, 0, settings)
    for k, choice in itertools.product(range(BEGINNINGS), range(len(kind.contexts(manifest, requests.part(0, 1))))):
        first = k * len(requests) // BEGINNINGS
        if best.rank(kind.wanted) >= (len(kind.wanted), min(settings.golden_rows, len(requests) - first)):
            break
        if (k, choice) != (0, 0):
            tried = _grown(manifest, session, requests.part(first, len(requests)), choice, settings)
            best = max(best, tried, key=lambda one: one.rank(kind.wanted))
    manifest["golden"] = {
        "rows": len(best.requests),
        "context": best.context,
        "outputs": list(kind.outputs(manifest)),
        "decisions": list(kind.decisions),
        "branches": best.recomputed.branches,
        "synthetic": [],
    }
    return best.requests, best.recomputed


def _check_parity(trained: TrainedModel, folder: Path, recomputed: Recomputed) -> None:
    """Compare the exported model with the trained one, on the golden rows."""
    reference = bundling_of(trained.kind).reference
    if reference is None:
        return
    wanted = reference.load()(folder, trained, recomputed.features)
    difference = float(np.abs(wanted - recomputed.outputs).max(initial=0.0))
    if not difference <= OUTPUT_TOLERANCE:
        message = (
            f"{trained.model_id}: the exported model differs by {difference:.2g} from the trained one, "
            f"more than {OUTPUT_TOLERANCE:g}; this is a fault of the exporter, report it"
        )
        raise BundleError(message)


def _documents(manifest: dict[str, Any], files: dict[str, bytes], model_id: str) -> tuple[bytes, str]:
    """Write model.json among the files, fill the manifest's list of them and its model digest.

    Returns:
        The bytes of manifest.json, and their sha256.
    """
    files[ACTS] = _text({name: manifest[name] for name in ACTING}, MODEL_SCHEMA, model_id)
    manifest["files"] = [
        {"path": name, "sha256": hashlib.sha256(files[name]).hexdigest(), "size": len(files[name])}
        for name in sorted(files)
    ]
    manifest["model_digest"] = model_digest(manifest["files"])
    measured_part = {name: value for name, value in manifest.items() if name not in ACTING}
    text = _text(measured_part, MANIFEST_SCHEMA, model_id)
    return text, hashlib.sha256(text).hexdigest()


def _text(document: dict[str, Any], name: str, model_id: str) -> bytes:
    """A document's bytes, checked by both validators."""
    import jsonschema

    try:
        text = dump_json(document).encode("utf-8")
        # Not jsonschema.validate, which holds the schema itself to the language of schemas each time, for 0.4 s.
        problem = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(schema(name)).iter_errors(document))
        if problem is not None:
            raise problem
    except CachezooError as error:
        raise BundleError(f"{model_id}: is not exported: {error}") from error
    except jsonschema.ValidationError as error:
        what = f"{error.json_path} {error.message[:120]}"
        raise BundleError(f"{model_id}: {what}; train.json or the metrics hold what no {name} may") from error
    check_document(document, name, model_id)
    return text


def _check_pinned(model_id: str, settings: ExportSettings, digest: str) -> None:
    """Compare what acts with what was released; what was measured of it may change."""
    pinned = settings.pinned.get(model_id, {}).get(settings.version)
    if pinned is not None and pinned != digest:
        message = (
            f"{model_id}: what acts in it changed under the version {settings.version} that VERSIONS.json pins; "
            "raise `version` in conf/export/default.yaml"
        )
        raise BundleError(message)

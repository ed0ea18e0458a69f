"""Stage export, one job: a trained model, its metrics and golden requests become a bundle, or a refusal."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cachezoo import paths
from cachezoo.bundles.measured import read_metrics
from cachezoo.bundles.protocol import REFUSED
from cachezoo.bundles.watched import learned
from cachezoo.bundles.writer import BEGINNINGS, ExportSettings, refusal, write_bundle
from cachezoo.documents import Document
from cachezoo.errors import BundleError, no_trace
from cachezoo.io import atomic_dir, read_json, sha256_file, write_json
from cachezoo.meanings import Means
from cachezoo.models.trained import FILE, TrainedModel, read_trained
from cachezoo.params import traces_of
from cachezoo.serving.requests import RequestBatch, batch_of, join
from cachezoo.traces.store import read_trace

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

LOCK = Path("requirements.lock")
VERSIONS = Path("VERSIONS.json")
PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)\s*==\s*([^\s;+\\]+)", re.MULTILINE)


class Refused(Document):
    """Stands alone in a bundle's place where export refuses the model."""

    id: Annotated[str, Means("model")]
    kind: Annotated[str, Means("id of its system")]
    version: Annotated[str, Means("version that it would have had")]
    reason: Annotated[str, Means("why there is no bundle")]
    trained_sha256: Annotated[str, Means("of the model's train.json")]


def read_lock(path: Path) -> dict[str, str]:
    """Versions of a requirements.lock by distribution, without local suffixes such as `+cpu`.

    Raises:
        BundleError: no such file, or nothing pinned in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        message = f"{path}: cannot be read ({reason}); bundles state the library versions that it pins"
        raise BundleError(message) from error
    pins = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in PIN.findall(text)}
    if not pins:
        raise BundleError(f"{path}: pins no name==version; generate it again")
    return pins


def read_versions(path: Path) -> dict[str, dict[str, str]]:
    """Pinned digests by model id and version; none where the file is absent.

    Raises:
        BundleError: the file holds something else.
    """
    if not path.exists():
        return {}
    content = read_json(path)
    tables = content.values() if isinstance(content, dict) else [None]
    if not all(isinstance(t, dict) and all(isinstance(d, str) for d in t.values()) for t in tables):
        raise BundleError(f"{path}: is not {{model id: {{version: sha256}}}}; restore it from Git")
    return dict(content)


def golden_requests(params: "Params", category: str | None, rows: int) -> RequestBatch:
    """The first requests of a category's first validation trace, to choose golden rows among.

    A model of all categories gets an equal share of every category's, one after the other.

    Raises:
        BundleError: there is no validation trace.
    """
    categories = [category] if category is not None else params.data.page_categories
    parts = []
    for name in categories:
        files = [paths.requests(name, key) for key in traces_of(params, name, "validation")]
        files += map(Path, params.data.cycles.get(name, {}).get("validation", []))  # of traces for streams alone
        if files:
            share = max(1, rows // len(categories))
            parts.append(batch_of(read_trace(files[0])).part(0, share))
    if not parts:
        raise BundleError(no_trace(categories[0], "validation"))
    return join(parts)


def _write_refusal(trained: TrainedModel, folder: Path, reason: str, version: str, out_dir: Path) -> None:
    refused = Refused(
        id=trained.model_id, kind=trained.kind, version=version, reason=reason,
        trained_sha256=sha256_file(folder / FILE),
    )  # fmt: skip
    with atomic_dir(out_dir) as temporary:
        write_json(temporary / REFUSED, refused.model_dump(mode="json"))


def export_model(params: "Params", model_id: str) -> str | None:
    """Write `models/bundles/<id>/`.

    Returns:
        The bundle's digest, or None where the model must not be shipped; then the folder holds `REFUSED.json`
        with the reason.

    Raises:
        BundleError, TrainingError: something is missing or damaged, or bytes changed under a pinned version.
    """
    folder, out_dir, export = paths.trained(model_id), paths.bundle(model_id), params.export
    trained = read_trained(folder)
    reason = refusal(trained)
    if reason is not None:
        _write_refusal(trained, folder, reason, export.version, out_dir)
        return None
    settings = ExportSettings(
        version=export.version,
        golden_rows=export.golden_rows,
        golden_rows_max=export.golden_rows_max,
        libraries=read_lock(LOCK),
        pinned=read_versions(VERSIONS),
    )
    # A category's model has several beginnings to choose golden rows from; that of all needs the change between them.
    pool = export.golden_rows_max * (1 if trained.category is None else BEGINNINGS)
    requests = golden_requests(params, trained.category, pool)
    metrics = read_metrics(Path(), trained, needed=True)
    metrics = metrics if metrics.inputs else replace(metrics, inputs=learned(params, trained))
    return write_bundle(folder, requests, metrics, settings, out_dir)

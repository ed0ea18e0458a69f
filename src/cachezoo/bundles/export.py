"""Stage export@model: a trained model, its metrics and golden requests become a bundle, or a refusal."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo import paths
from cachezoo.bundles.protocol import REFUSED
from cachezoo.bundles.requests import Requests, join, requests_of
from cachezoo.bundles.writer import BEGINNINGS, ExportSettings, refusal, write_bundle
from cachezoo.errors import BundleError, no_trace
from cachezoo.io import atomic_dir, read_json, read_metrics, sha256_file, write_json
from cachezoo.models.trained import FILE, TrainedModel, read_trained
from cachezoo.traces.store import read_trace

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

LOCK = Path("requirements.lock")
VERSIONS = Path("VERSIONS.json")
PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)\s*==\s*([^\s;+\\]+)", re.MULTILINE)


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
        message = f"{path}: pins no name==version; generate it again"
        raise BundleError(message)
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
        message = f"{path}: is not {{model id: {{version: sha256}}}}; restore it from Git"
        raise BundleError(message)
    return dict(content)


def golden_requests(params: "Params", category: str | None, rows: int) -> Requests:
    """The first requests of a category's first validation trace, to choose golden rows among.

    A model of all categories gets an equal share of every category's, one after the other.

    Raises:
        BundleError: there is no validation trace.
    """
    categories = [category] if category is not None else params.page_categories
    parts = []
    for name in categories:
        keys = params.traces_of(name, "validation")
        if keys:
            share = max(1, rows // len(categories))
            parts.append(requests_of(read_trace(paths.requests(name, keys[0])), share))
    if not parts:
        raise BundleError(no_trace(categories[0], "validation"))
    return join(parts)


def _metrics(trained: TrainedModel) -> Mapping[str, Any]:
    """What was measured in the page cache, and under `flash` in the flash cache; of the workload model its own."""
    if trained.category is None:
        return read_metrics(paths.metrics(trained.kind))
    flash = read_metrics(paths.flash_metrics(trained.category))
    return {**read_metrics(paths.metrics(trained.category)), "flash": flash}


def _write_refusal(trained: TrainedModel, folder: Path, reason: str, version: str, out_dir: Path) -> None:
    content = {
        "id": trained.model_id,
        "kind": trained.kind,
        "version": version,
        "reason": reason,
        "trained_sha256": sha256_file(folder / FILE),
    }
    with atomic_dir(out_dir) as temporary:
        write_json(temporary / REFUSED, content)


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
    return write_bundle(folder, requests, _metrics(trained), settings, out_dir)

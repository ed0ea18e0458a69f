"""Verifies a bundle: integrity, then the golden rows recomputed through the Python runtime."""

import os
from typing import Any

from cachezoo.bundles.golden import compare
from cachezoo.bundles.reader import load


def verify(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Check every file of a bundle and recompute its golden rows.

    Args:
        path: a bundle's folder or .zip.

    Returns:
        `id`, `version`, `kind`, `digest`, `files` (count), `bytes`, `golden_rows`, `branches`, and
        `output_difference`, the largest between a golden output and this runtime's.

    Raises:
        BundleError: the first thing that is wrong, in one line.
    """
    bundle = load(path)
    golden = bundle.golden()
    recomputed = bundle.recompute(golden.requests)
    worst = compare(golden, recomputed, bundle.manifest["golden"], bundle.where)
    return {
        "ok": True,
        "id": bundle.id,
        "version": bundle.version,
        "kind": bundle.kind,
        "digest": bundle.digest,
        "files": len(bundle.files),
        "bytes": sum(len(data) for data in bundle.files.values()),
        "golden_rows": len(golden.requests),
        "branches": recomputed.branches,
        "output_difference": worst,
    }

"""Verifies a bundle: integrity, then its golden sets recomputed."""

import os
from typing import Any

from cachezoo.bundles.golden import compare
from cachezoo.bundles.reader import Bundle, load
from cachezoo.zoo.registry import bundling_of


def verify(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Check every file of a bundle and recompute its golden rows.

    Args:
        path: a bundle's folder or .zip.

    Returns:
        `id`, `version`, `kind`, `profile`, `digest`, `model_digest`, `files` (count), `bytes`, `golden_rows`,
        `synthetic_rows`, `branches` of the golden rows, and `output_difference`, the largest between a golden output
        and this runtime's.

    Raises:
        BundleError: the first thing that is wrong, in one line.
    """
    return verify_loaded(load(path))


def verify_loaded(bundle: Bundle) -> dict[str, Any]:
    """The same of a bundle that is loaded."""
    golden, *synthetic = bundle.golden_sets()
    weights = bundling_of(bundle.kind).weights
    worst = max(compare(one, bundle.replay(one), bundle.where, weights) for one in (golden, *synthetic))
    return {
        "ok": True,
        "id": bundle.id,
        "version": bundle.version,
        "kind": bundle.kind,
        "profile": bundle.profile,
        "digest": bundle.digest,
        "model_digest": bundle.model_digest,
        "files": len(bundle.files),
        "bytes": sum(len(data) for data in bundle.files.values()),
        "golden_rows": len(golden.requests),
        "synthetic_rows": sum(len(one.requests) for one in synthetic),
        "branches": golden.stated["branches"],
        "output_difference": worst,
    }

"""Verifies a bundle: integrity, then its golden sets recomputed on every file that a runtime may read."""

import os
from typing import Any

from cachezoo.bundles.golden import Golden, compare
from cachezoo.bundles.protocol import MODEL
from cachezoo.bundles.reader import Bundle, load
from cachezoo.zoo.registry import bundling_of


def verify(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Check every file of a bundle and recompute its golden rows.

    Args:
        path: a bundle's folder or .zip.

    Returns:
        `id`, `version`, `kind`, `profile`, `digest`, `model_digest`, `files` (count), `bytes`, `golden_rows`,
        `synthetic_rows`, `branches` of the golden rows, and `output_difference`, the largest between a golden output
        and this runtime's, whichever file it reads.

    Raises:
        BundleError: the first thing that is wrong, in one line.
    """
    return verify_loaded(load(path))


def verify_loaded(bundle: Bundle) -> dict[str, Any]:
    """The same of a bundle that is loaded."""
    golden, *synthetic = bundle.golden_sets()
    worst = max(_hold(bundle, one) for one in (golden, *synthetic))
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


def _hold(bundle: Bundle, golden: Golden) -> float:
    """Recompute a set on the files that decide and, where the model computes its outputs, on the others.

    Forests' decisions are those of the files that decide; of an LSTM both have to give the same. A kind without an ONNX
    file has no others.
    """
    bundling = bundling_of(bundle.kind)
    if bundling.onnx is None:
        return compare(golden, bundle.replay(golden, bundle.engine), bundle.where, bundling.weights)
    weights, onnx = bundling.weights, (MODEL,)
    deciding, other = (weights, onnx) if bundle.by_weights else (onnx, weights)
    worst = compare(golden, bundle.replay(golden, bundle.engine), bundle.where, deciding)
    if golden.given is not None:
        return worst
    engine = bundle.session if bundle.by_weights else bundle.weights
    alike = not bundling.kind.load().weights_decide
    return max(worst, compare(golden, bundle.replay(golden, engine), bundle.where, other, decisions=alike))

"""Golden files: raw requests, features, outputs and decisions that every conformant consumer reproduces."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.bundles.protocol import (
    GOLDEN_DECISIONS,
    GOLDEN_FEATURES,
    GOLDEN_OUTPUTS,
    GOLDEN_REQUESTS,
    one_line,
)
from cachezoo.errors import BundleError
from cachezoo.serving.kind import F32, I32, OUTPUT_TOLERANCE, Recomputed
from cachezoo.serving.requests import RequestBatch, from_csv, to_csv
from cachezoo.traces.table import PAGE_BYTES, bad_rows

MOST_PAGES = 1 << 22  # accesses, of all golden requests together
# What numpy raises on headers that are no Python literal of the right keys, or name more than there is.
UNREADABLE = (
    *(ValueError, TypeError, SyntaxError, TokenError, RecursionError),
    *(EOFError, OverflowError, MemoryError),
)


@dataclass(frozen=True)
class Golden:
    """The golden folder, read."""

    requests: RequestBatch
    features: F32
    outputs: F32
    decisions: I32


def golden_files(requests: RequestBatch, recomputed: Recomputed) -> dict[str, bytes]:
    """The golden folder's files by path."""
    return {
        GOLDEN_REQUESTS: to_csv(requests),
        GOLDEN_FEATURES: _npy(recomputed.features.astype("<f4")),
        GOLDEN_OUTPUTS: _npy(recomputed.outputs.astype("<f4")),
        GOLDEN_DECISIONS: _npy(recomputed.decisions.astype("<i4")),
    }


def _npy(array: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _read_npy(name: str, data: bytes, dtype: str, columns: int, where: str) -> npt.NDArray[Any]:
    buffer = io.BytesIO(data)
    try:
        array = np.lib.format.read_array(buffer, allow_pickle=False)
    except UNREADABLE as error:
        message = f"{where}: {name} is not a readable .npy file ({one_line(error)}); export the bundle again"
        raise BundleError(message) from error
    fits = array.dtype == np.dtype(dtype) and array.ndim == 2 and array.shape[1] == columns
    if not fits or buffer.tell() != len(data) or not np.isfinite(array).all():
        shape = "x".join(str(side) for side in array.shape)
        message = f"{where}: {name} is {array.dtype} {shape}, not finite {dtype} with {columns} columns"
        raise BundleError(message)
    return array


def read_golden(manifest: Mapping[str, Any], files: Mapping[str, bytes], where: str) -> Golden:
    """Read the golden files.

    Raises:
        BundleError: they do not fit each other or the manifest.
    """
    stated = manifest["golden"]
    requests = from_csv(files[GOLDEN_REQUESTS], f"{where}/{GOLDEN_REQUESTS}")
    features = _read_npy(GOLDEN_FEATURES, files[GOLDEN_FEATURES], "<f4", len(manifest["features"]), where)
    outputs = _read_npy(GOLDEN_OUTPUTS, files[GOLDEN_OUTPUTS], "<f4", len(stated["outputs"]), where)
    decisions = _read_npy(GOLDEN_DECISIONS, files[GOLDEN_DECISIONS], "<i4", len(stated["decisions"]), where)
    if len(requests) != stated["rows"]:
        message = f"{where}: {GOLDEN_REQUESTS} has {len(requests)} rows, the manifest says {stated['rows']}"
        raise BundleError(message)
    wrong = bad_rows(requests.op, requests.offset, requests.size)
    if wrong:
        message = f"{where}/{GOLDEN_REQUESTS}: row {wrong[0][0] + 1}: {wrong[0][1]}"
        raise BundleError(message)
    if int(-(-requests.size // PAGE_BYTES).sum()) > MOST_PAGES:
        message = f"{where}/{GOLDEN_REQUESTS}: touches more than {MOST_PAGES} pages; export the bundle again"
        raise BundleError(message)
    return Golden(requests, features, outputs, decisions)


def compare(golden: Golden, recomputed: Recomputed, stated: Mapping[str, Any], where: str) -> float:
    """Hold what was recomputed against the golden files: features and decisions exactly, outputs within 1e-5.

    Returns:
        The largest difference of an output.

    Raises:
        BundleError: what differs first, with its row.
    """
    pairs: list[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]] = [
        (GOLDEN_FEATURES, golden.features, recomputed.features),
        (GOLDEN_OUTPUTS, golden.outputs, recomputed.outputs),
        (GOLDEN_DECISIONS, golden.decisions, recomputed.decisions),
    ]
    worst = 0.0
    for name, want, have in pairs:
        if want.shape != have.shape:
            message = f"{where}: the runtime gives {have.shape} where {name} has {want.shape}; export it again"
            raise BundleError(message)
        difference = np.abs(want.astype(np.float64) - have.astype(np.float64))
        limit = OUTPUT_TOLERANCE if name == GOLDEN_OUTPUTS else 0.0
        if not (difference <= limit).all():
            row = int(np.argmax(~(difference <= limit).all(axis=1)))
            message = f"{where}: row {row + 1} of {name} is not what this runtime computes; export the bundle again"
            raise BundleError(message)
        if name == GOLDEN_OUTPUTS and difference.size:
            worst = float(difference.max())
    if dict(stated["branches"]) != recomputed.branches:
        message = f"{where}: the golden rows pass other branches than the manifest counts; export the bundle again"
        raise BundleError(message)
    return worst

"""Golden files: raw requests, features, outputs and decisions that every conformant consumer reproduces."""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, I32
from cachezoo.bundles.protocol import GOLDEN, GOLDEN_FILES, SYNTHETIC
from cachezoo.errors import BundleError
from cachezoo.serving.kind import OUTPUT_TOLERANCE, Recomputed
from cachezoo.serving.requests import RequestBatch, from_csv, to_csv
from cachezoo.serving.synthetic import GIVEN
from cachezoo.traces.table import PAGE_BYTES, bad_rows

MOST_PAGES = 1 << 22  # accesses, of all golden requests together
# The one form in which numpy writes such arrays: version 1.0, C order, two sides, blanks up to a line end.
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(..)(\{'descr': '(<f4|<i4)', 'fortran_order': False, 'shape': "
    rb"\(0*([0-9]{1,19}), 0*([0-9]{1,19})\), \} *\n)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Golden:
    """A golden set, read."""

    folder: str  # `golden`, or that of a synthetic set
    entry: Mapping[str, Any]  # the manifest's
    requests: RequestBatch
    features: F32
    outputs: F32
    decisions: I32

    @property
    def changes(self) -> Mapping[str, Any]:
        """New values by place; none of the real rows."""
        changes: Mapping[str, Any] = self.entry.get("changes", {})
        return changes

    @property
    def given(self) -> F32 | None:
        """The outputs that the runtime acts on, where they are given and not computed."""
        return self.outputs if self.entry["context"].get("outputs") == GIVEN else None


def paths_of(folder: str) -> tuple[str, str, str, str]:
    """Requests, features, outputs and decisions of a golden folder."""
    requests, features, outputs, decisions = (f"{folder}/{name}" for name in GOLDEN_FILES)
    return requests, features, outputs, decisions


def synthetic_folder(name: str) -> str:
    """The folder of a synthetic set."""
    return f"{SYNTHETIC}/{name}"


def golden_files(requests: RequestBatch, recomputed: Recomputed, folder: str = GOLDEN) -> dict[str, bytes]:
    """A golden folder's files by path."""
    contents = (
        to_csv(requests),
        _npy(recomputed.features.astype("<f4")),
        _npy(recomputed.outputs.astype("<f4")),
        _npy(recomputed.decisions.astype("<i4")),
    )
    return dict(zip(paths_of(folder), contents, strict=True))


def _npy(array: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _read_npy(name: str, data: bytes, dtype: str, columns: int, where: str) -> npt.NDArray[Any]:
    head = HEADER.match(data)
    if head is None or int.from_bytes(head[1], "little") != len(head[2]):
        message = f"{where}: {name} is not a readable .npy file of version 1.0 with two sides; export the bundle again"
        raise BundleError(message)
    found, rows, sides, body = head[3].decode(), int(head[4]), int(head[5]), data[head.end() :]
    fits = (found, sides) == (dtype, columns) and len(body) == rows * sides * 4
    array: npt.NDArray[Any] = np.frombuffer(body, found) if fits else np.array(np.nan)
    if not np.isfinite(array).all():
        message = f"{where}: {name} is {found} {rows}x{sides}, not finite {dtype} of {columns} columns and their bytes"
        raise BundleError(message)
    return array.reshape(rows, columns)


def read_golden(manifest: Mapping[str, Any], files: Mapping[str, bytes], where: str) -> list[Golden]:
    """Read all golden sets: the real rows, then the synthetic ones.

    Raises:
        BundleError: files are missing, or do not fit each other or the manifest.
    """
    stated = manifest["golden"]
    sets = [(GOLDEN, stated), *((synthetic_folder(one["name"]), one) for one in stated["synthetic"])]
    if len({folder for folder, _ in sets}) < len(sets):
        raise BundleError(f"{where}: two synthetic golden sets have one name; export the bundle again")
    found, pages = [], 0
    for folder, one in sets:
        found.append(_read_set(folder, one, len(manifest["features"]), files, where))
        pages += int(-(-found[-1].requests.size // PAGE_BYTES).sum())
        if pages > MOST_PAGES:
            message = f"{where}/{folder}/requests.csv: touches more than {MOST_PAGES} pages; export the bundle again"
            raise BundleError(message)
    return found


def _read_set(folder: str, entry: Mapping[str, Any], width: int, files: Mapping[str, bytes], where: str) -> Golden:
    names = paths_of(folder)
    if missing := [name for name in names if name not in files]:
        raise BundleError(f"{where}: {missing[0]} of a golden set is missing; export the bundle again")
    requests = from_csv(files[names[0]], f"{where}/{names[0]}")
    sides = (("<f4", width), ("<f4", len(entry["outputs"])), ("<i4", len(entry["decisions"])))
    arrays = [
        _read_npy(name, files[name], dtype, columns, where)
        for name, (dtype, columns) in zip(names[1:], sides, strict=True)
    ]
    if len(requests) != entry["rows"]:
        raise BundleError(f"{where}: {names[0]} has {len(requests)} rows, the manifest says {entry['rows']}")
    wrong = bad_rows(requests.op, requests.offset, requests.size)
    if wrong:
        raise BundleError(f"{where}/{names[0]}: row {wrong[0][0] + 1}: {wrong[0][1]}")
    return Golden(folder, entry, requests, *arrays)


def compare(golden: Golden, recomputed: Recomputed, where: str, sources: Sequence[str]) -> float:
    """Hold what was recomputed against a golden set: features and decisions exactly, outputs within 1e-5.

    Args:
        golden: the set.
        recomputed: the same of this runtime.
        where: the bundle, for the message.
        sources: files that the outputs were computed from: one, or one for each column.

    Returns:
        The largest difference of an output.

    Raises:
        BundleError: what differs first, with its row.
    """
    _, features, outputs, decided = paths_of(golden.folder)
    of = ", ".join(sources)
    _equal(features, golden.features, recomputed.features, 0.0, where, "")
    for column, source in enumerate(sources):
        part = slice(column, column + 1) if len(sources) == recomputed.outputs.shape[-1] else slice(None)
        pair = [array[:, part] for array in (golden.outputs, recomputed.outputs)]
        _equal(outputs, pair[0], pair[1], OUTPUT_TOLERANCE, where, f" of {source}")
    _equal(decided, golden.decisions, recomputed.decisions, 0.0, where, f" of {of}")
    if dict(golden.entry["branches"]) != recomputed.branches:
        message = f"{where}: {golden.folder} passes other branches than the manifest counts; export the bundle again"
        raise BundleError(message)
    return float(np.abs(golden.outputs.astype(np.float64) - recomputed.outputs).max(initial=0.0))


def _equal(name: str, want: npt.NDArray[Any], have: npt.NDArray[Any], limit: float, where: str, source: str) -> None:
    """Raises BundleError: two arrays of rows differ by more than a limit."""
    if want.shape != have.shape:
        raise BundleError(f"{where}: the runtime gives {have.shape} where {name} has {want.shape}; export it again")
    near = np.abs(want.astype(np.float64) - have.astype(np.float64)) <= limit
    if not near.all():
        row = int(np.argmax(~near.all(axis=1)))
        message = f"{where}: row {row + 1} of {name} is not what this runtime computes{source}; export the bundle again"
        raise BundleError(message)

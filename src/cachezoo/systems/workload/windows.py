"""Training windows of the workload classifier: consecutive requests of one category's traces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.features.sequence import COMMON_NAMES, WINDOW_WIDTH, Columns, open_inputs
from cachezoo.io import read_rows, sha256_file
from cachezoo.kernels.sequence import N_SIZED
from cachezoo.models.trained import Feature
from cachezoo.settings.data import Role, Roles
from cachezoo.systems.workload.tree import window_statistics
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace
from cachezoo.training.volumes import check_one_volume

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prepared:
    """A trace with its raw inputs.

    Attributes:
        key: the trace.
        category: its category.
        trace: its requests.
        columns: raw inputs of the requests, without any capacity.
    """

    key: str
    category: str
    trace: Trace
    columns: Columns


@dataclass(frozen=True)
class Windows:
    """Windows of all traces, in time order within each.

    Attributes:
        rows: float32[n, F] model inputs, trace after trace.
        starts: int64[w], the first row of each window; none crosses from trace to trace.
        labels: int64[w], the category's place among the classes.
        statistics: float64[w, 5] of the raw requests, for the baseline.
        length: requests in a window.
    """

    rows: F32
    starts: I64
    labels: I64
    statistics: F64
    length: int

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, index: I64) -> F32:
        """Windows float32[b, length, F]."""
        taken: F32 = self.rows[self.starts[index][:, None] + np.arange(self.length)]
        return taken

    def counts(self, n_classes: int) -> I64:
        """Windows of each category."""
        return np.bincount(self.labels, minlength=n_classes)


def cut_windows(
    parts: Sequence[Prepared],
    features: Sequence[Feature],
    classes: Sequence[str],
    clip: float,
    length: int,
    stride: int,
) -> Windows:
    """Cut traces into windows.

    Args:
        parts: traces, at least one.
        features: the model's.
        classes: categories in the order of the outputs.
        clip: normalised inputs are cut to ± this.
        length: requests in a window.
        stride: requests between the beginnings of windows.
    """
    entries = [feature.model_dump() for feature in features]
    rows, starts, labels, statistics, first = [], [], [], [], 0
    for part in parts:
        rows.append(open_inputs(part.columns, 0, entries, clip))
        begins = np.arange(0, len(rows[-1]) - length + 1, stride, dtype=np.int64)
        starts.append(first + begins)
        labels.append(np.full(len(begins), list(classes).index(part.category), np.int64))
        statistics.append(window_statistics(part.columns.common, begins, length))
        first += len(rows[-1])
    return Windows(*(np.concatenate(column) for column in (rows, starts, labels, statistics)), length)  # type: ignore[arg-type, call-arg]


def _read_columns(path: Path, rows: int) -> Columns:
    table, _ = read_rows(path, "features", rows, list(COMMON_NAMES[:WINDOW_WIDTH]))
    common = np.stack([table.column(name).to_numpy() for name in COMMON_NAMES[:WINDOW_WIDTH]], axis=1)
    return Columns(common, np.zeros((0, rows, N_SIZED), np.float32), np.zeros(0, np.float64))


def read_prepared(
    categories: Sequence[str], roles: Mapping[str, Roles], role: Role
) -> tuple[list[Prepared], dict[str, str]]:
    """Traces of one role with their raw inputs, category after category, and sha256 of what was read, by path.

    Raises:
        TraceError: a file is missing or damaged.
        TrainingError: a trace is of several volumes.
    """
    parts, inputs = [], {}
    for category in categories:
        for key in roles.get(category, {}).get(role, []):
            requests, features = paths.requests(category, key), paths.features(category, key)
            trace = read_trace(requests)
            check_one_volume(trace, key)
            parts.append(Prepared(key, category, trace, _read_columns(features, len(trace))))
            inputs.update({str(path): sha256_file(path) for path in (requests, features)})
    return parts, inputs

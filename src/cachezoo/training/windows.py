"""Training windows of the workload classifier: consecutive requests of one category's traces."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.features.sequence import Columns, open_inputs
from cachezoo.models.trained import TrainedModel
from cachezoo.models.window_tree import window_statistics

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A trace with its raw inputs.

    Attributes:
        key: the trace.
        category: its category.
        columns: raw inputs of the requests, without any capacity.
        sha256: of the trace's source.
        licence: the trace's.
    """

    key: str
    category: str
    columns: Columns
    sha256: str
    licence: str


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


def cut_windows(parts: Sequence[Part], model: TrainedModel, stride: int) -> Windows:
    """Cut traces into windows.

    Args:
        parts: traces, at least one.
        model: its features, and the classes, window and clip of its policy.
        stride: requests between the beginnings of windows.
    """
    features = [feature.model_dump() for feature in model.features]
    classes, length = list(model.policy["classes"]), int(model.policy["window"])
    rows, starts, labels, statistics, first = [], [], [], [], 0
    for part in parts:
        rows.append(open_inputs(part.columns, 0, features, float(model.policy["clip"])))
        begins = np.arange(0, len(rows[-1]) - length + 1, stride, dtype=np.int64)
        starts.append(first + begins)
        labels.append(np.full(len(begins), classes.index(part.category), np.int64))
        statistics.append(window_statistics(part.columns.common, begins, length))
        first += len(rows[-1])
    return Windows(*(np.concatenate(column) for column in (rows, starts, labels, statistics)), length)  # type: ignore[arg-type, call-arg]

"""Windows of the workload classifier: consecutive requests of one category's traces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.arrays import F32, I64
from cachezoo.contest.blocks import BLOCKS
from cachezoo.features.window import normalised, training_columns
from cachezoo.io import sha256_file
from cachezoo.models.trained import Feature
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.settings.data import Role, Roles
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace


@dataclass(frozen=True)
class Prepared:
    """A trace as the fit and the judge read it."""

    key: str  # the trace
    category: str  # its category
    trace: Trace  # its requests


@dataclass(frozen=True)
class Inputs:
    """Windows as the network takes them.

    Attributes:
        rows: float32[w, length, F] normalised inputs.
        labels, traces: as in `Windows`.
    """

    rows: F32
    labels: I64
    traces: I64

    def __len__(self) -> int:
        return len(self.labels)

    def of(self, chosen: npt.NDArray[np.bool_]) -> "Inputs":
        """Those chosen by bool[w]."""
        return Inputs(self.rows[chosen], self.labels[chosen], self.traces[chosen])


@dataclass(frozen=True)
class Windows:
    """Windows of all traces, in time order within each."""

    columns: F32  # float32[w, length, WIDTH + 3] raw inputs, trace after trace; no window crosses from trace to trace
    labels: I64  # int64[w], the category's place among the classes
    traces: I64  # int64[w], the place of each window's trace among those that were cut

    def __len__(self) -> int:
        return len(self.labels)

    def of(self, chosen: npt.NDArray[np.bool_]) -> "Windows":
        """Those chosen by bool[w]."""
        return Windows(self.columns[chosen], self.labels[chosen], self.traces[chosen])

    def counts(self, n_classes: int) -> I64:
        """Windows of each category."""
        return np.bincount(self.labels, minlength=n_classes)

    def inputs(self, features: Sequence[Feature], clip: float) -> Inputs:
        """Normalised; `clip` cuts to ±."""
        rows = normalised(self.columns, [one.model_dump() for one in features], clip)
        return Inputs(rows, self.labels, self.traces)

    def halves(self, blocks: int = BLOCKS) -> tuple["Windows", "Windows"]:
        """Windows that choose and windows that judge: blocks of time of each trace by turns, as many of either."""
        judging = np.zeros(len(self), np.bool_)
        for trace in np.unique(self.traces):
            for part in np.array_split(np.flatnonzero(self.traces == trace), 2 * blocks)[1::2]:
                judging[part] = True
        return self.of(~judging), self.of(judging)


def window_columns_of(batch: RequestBatch, length: int, stride: int) -> F32:
    """Raw inputs float32[w, length, WIDTH + 3] of a batch's whole windows, one every `stride` requests."""
    starts = np.arange(0, len(batch) - length + 1, stride, dtype=np.int64)
    return training_columns(batch, starts, length)


def cut_windows(parts: Sequence[Prepared], classes: Sequence[str], length: int, stride: int) -> Windows:
    """Cut traces into windows."""
    columns = [window_columns_of(batch_of(part.trace), length, stride) for part in parts]
    counts = [len(one) for one in columns]
    labels = np.array([list(classes).index(part.category) for part in parts], np.int64)
    return Windows(
        np.concatenate(columns), np.repeat(labels, counts), np.repeat(np.arange(len(parts), dtype=np.int64), counts)
    )


def read_prepared(
    categories: Sequence[str], roles: Mapping[str, Roles], role: Role
) -> tuple[list[Prepared], dict[str, str]]:
    """Traces of one role, category after category, and sha256 of what was read, by path.

    Raises:
        TraceError: a file is missing or damaged.
    """
    parts, inputs = [], {}
    for category in categories:
        for key in roles.get(category, {}).get(role, []):
            path = paths.requests(category, key)
            parts.append(Prepared(key, category, read_trace(path)))
            inputs[str(path)] = sha256_file(path)
    return parts, inputs

"""The features file of a trace: raw inputs of each request, before any normalisation."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from cachezoo.config.rcrnn import BenefitLabel, SequenceFeatures
from cachezoo.errors import TraceError
from cachezoo.features.sequence import COMMON_NAMES, SIZED_NAMES, Columns, Memory, raw_columns
from cachezoo.io import read_rows, write_table
from cachezoo.labels.benefit import capacity_pages, percent
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace


def trace_columns(
    trace: Trace, pages: PageAccesses, params: SequenceFeatures, capacities: list[int]
) -> Columns:
    """Raw inputs of a canonical trace at capacities in pages."""
    return raw_columns(
        trace.time_us, trace.op, trace.offset, trace.size, pages.request_start, pages.page_ids, capacities,
        Memory.of(params.model_dump()),
    )  # fmt: skip


def write_features(
    trace: Trace, pages: PageAccesses, params: SequenceFeatures, label: BenefitLabel, path: Path
) -> None:
    """Write float32 columns: the common ones, and `NAME_CC` for each labelled capacity of CC percent."""
    capacities = [capacity_pages(fraction, pages.n_pages) for fraction in label.capacities]
    columns = trace_columns(trace, pages, params, capacities)
    table = {name: pa.array(columns.common[:, k]) for k, name in enumerate(COMMON_NAMES)}
    for lane, fraction in enumerate(label.capacities):
        for k, name in enumerate(SIZED_NAMES):
            table[f"{name}_{percent(fraction):02d}"] = pa.array(columns.sized[lane, :, k])
    metadata = {"cachezoo.trace_id": trace.meta.trace_id, "cachezoo.n_pages": str(pages.n_pages)}
    write_table(path, pa.table(table), metadata)


def read_features(path: Path, label: BenefitLabel, requests: int | None = None) -> Columns:
    """Read what `write_features` wrote.

    Raises:
        TraceError: the file is damaged, has not as many rows as there are `requests`, or holds other capacities than
            `label` asks for.
    """
    table, metadata = read_rows(path, "features", requests)
    suffixes = [f"{percent(fraction):02d}" for fraction in label.capacities]
    wanted = [*COMMON_NAMES, *(f"{name}_{suffix}" for suffix in suffixes for name in SIZED_NAMES)]
    missing = [name for name in wanted if name not in table.column_names]
    if missing or "cachezoo.n_pages" not in metadata:
        message = f"{path}: holds no column {(missing or ['n_pages'])[0]}; run the stage features"
        raise TraceError(message)

    def stack(names: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return np.stack([table.column(name).to_numpy() for name in names], axis=1)

    n_pages = int(metadata["cachezoo.n_pages"])
    sized = np.stack([stack([f"{name}_{suffix}" for name in SIZED_NAMES]) for suffix in suffixes])
    sizes = np.array([capacity_pages(fraction, n_pages) for fraction in label.capacities], np.float64)
    return Columns(stack(list(COMMON_NAMES)), sized, sizes)

"""The features file of a trace: raw inputs of each request, before any normalisation."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from cachezoo.errors import TraceError
from cachezoo.features.sequence import COMMON_NAMES, SIZED_NAMES, Columns, Memory, RawColumns, raw_columns
from cachezoo.io import read_rows
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.serving.requests import batch_of
from cachezoo.settings.page_cache import BenefitLabel, SequenceFeatures
from cachezoo.traces.pages import PageAccesses, capacity_pages, percent
from cachezoo.traces.rows import is_read_in_pieces, row_writer
from cachezoo.traces.store import paged_pieces, pages_in, read_meta, read_pages, read_trace
from cachezoo.traces.table import Trace

RAW = ", capacity not yet taken off"
SIZED = " at that capacity, in % of the distinct pages"
COLUMNS = {
    "gap": Column("float32", Means("formula time.log1p_gap", "ln µs")),
    "delta": Column("float32", Means("formula address.slog_delta", "log2 sectors")),
    "address": Column("float32", Means("formula address.page", "pages")),
    "size": Column("float32", Means("formula size.log2_bytes", "log2 bytes")),
    "op": Column("float32", Means("formula request.op")),
    "run": Column("float32", Means("formula address.run", "log2 requests")),
    "age": Column("float32", Means(f"formula history.age{RAW}", "log2 page accesses")),
    "fresh": Column("float32", Means("formula history.fresh", "share")),
    "count": Column("float32", Means("formula history.count", "log2 accesses")),
    "past_gap": Column("float32", Means(f"formula history.past_gap{RAW}", "log2 page accesses")),
    "written": Column("float32", Means("formula history.written", "share")),
    "region_age": Column("float32", Means(f"formula region.age{RAW}", "log2 page accesses")),
    "ratio_<capacity>": Column("float32", Means(f"formula capacity.ratio{SIZED}", "log2")),
    "heat_<capacity>": Column("float32", Means(f"formula history.heat{SIZED}", "log2 accesses")),
    "long_heat_<capacity>": Column("float32", Means(f"formula history.long_heat{SIZED}", "log2 accesses")),
    "region_heat_<capacity>": Column("float32", Means(f"formula region.heat{SIZED}", "log2 accesses")),
}
FEATURES = Table(
    Each(
        "one request", "row number, as in data/requests",
        text="raw inputs of the LSTMs before normalisation; formulas in cachezoo.features.sequence",
    ),
    COLUMNS,
    {
        "cachezoo.trace_id": Column("text", Means("the trace")),
        "cachezoo.n_pages": Column("text", Means("distinct pages", "4 KiB pages")),
    },
)  # fmt: skip


def trace_columns(trace: Trace, pages: PageAccesses, params: SequenceFeatures, capacities: list[int]) -> Columns:
    """Raw inputs of a canonical trace at capacities in pages."""
    return raw_columns(batch_of(trace), pages, capacities, Memory.of(params.model_dump()))


def write_features(
    trace: Trace, pages: PageAccesses, params: SequenceFeatures, label: BenefitLabel, path: Path
) -> None:
    """Write float32 columns: the common ones, and `NAME_CC` for each labelled capacity of CC percent."""
    _write([(trace, pages)], pages.n_pages, trace.meta.trace_id, params, label, path)


def feature_requests(requests: Path, params: SequenceFeatures, label: BenefitLabel, path: Path) -> None:
    """Write the features of a canonical trace, of a long one a row group at a time.

    Args:
        requests: the trace, with page ids.
        params: what is remembered.
        label: whose capacities are taken.
        path: the table.

    Raises:
        TraceError: the trace cannot be read, or its time runs backwards.
    """
    if is_read_in_pieces(requests):
        trace_id = read_meta(requests).trace_id
        _write(paged_pieces(requests), pages_in(requests), trace_id, params, label, path)
    else:
        write_features(read_trace(requests), read_pages(requests), params, label, path)


def _write(
    pieces: Iterable[tuple[Trace, PageAccesses]], n_pages: int, trace_id: str, params: SequenceFeatures,
    label: BenefitLabel, path: Path,
) -> None:  # fmt: skip
    capacities = [capacity_pages(fraction, n_pages) for fraction in label.capacities]
    raw = RawColumns(n_pages, capacities, Memory.of(params.model_dump()))
    with row_writer(path, COLUMNS) as writer:
        for trace, pages in pieces:
            columns = raw.serve(batch_of(trace), pages)
            rows = {name: columns.common[:, k] for k, name in enumerate(COMMON_NAMES)}
            for lane, fraction in enumerate(label.capacities):
                for k, name in enumerate(SIZED_NAMES):
                    rows[f"{name}_{percent(fraction):02d}"] = columns.sized[lane, :, k]
            writer.add(rows)
        writer.close({"cachezoo.trace_id": trace_id, "cachezoo.n_pages": str(n_pages)})


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
        raise TraceError(f"{path}: holds no column {(missing or ['n_pages'])[0]}; run the stage features")

    def stack(names: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return np.stack([table.column(name).to_numpy() for name in names], axis=1)

    n_pages = int(metadata["cachezoo.n_pages"])
    sized = np.stack([stack([f"{name}_{suffix}" for name in SIZED_NAMES]) for suffix in suffixes])
    sizes = np.array([capacity_pages(fraction, n_pages) for fraction in label.capacities], np.float64)
    return Columns(stack(list(COMMON_NAMES)), sized, sizes)

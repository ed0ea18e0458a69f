"""The labels of the chunks that one trace writes, from that trace alone: their features, how long their writes live."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.documents import Document
from cachezoo.errors import TraceError
from cachezoo.features.fios import DEFAULT, ChunkFeatures, Theta, chosen, chunk_features, theta_of
from cachezoo.kernels.chunks import HISTORY, lifetimes
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.settings.wear import StreamsLabel
from cachezoo.traces.chunks import CHUNK_BYTES, WINDOWS, ChunkWrites, chunk_writes
from cachezoo.traces.clock import has_clock
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import OP_WRITE, Trace

METADATA_KEY = "cachezoo.streams"
LOG2 = "log2(page writes)"
COLUMNS = {
    "volume": Column("coded text", Means("the chunk's volume; rows are sorted by its name, then by chunk")),
    "chunk": Column("int64", Means("byte offset in the volume // 32768", "chunks")),
    "writes": Column("int64", Means("write requests that touch the chunk", "requests")),
    "pages": Column("int64", Means("pages of 8 KiB that they write", "page writes")),
    "f": Column("bool", Means("FIOS's feature F, frequency: more writes than the median of the written chunks")),
    "s": Column(
        "bool",
        Means("S, sequentiality: at least half of its writes begin where the volume's request before ended"),
    ),
    "a_<window>": Column(
        "bool",
        Means("A, adjacent access: written in the same window as the chunk before or behind it; windows of 1s, 60s, "
              "5min, and 100th (a hundredth of the trace; of the requests, for all four, without a clock)"),
    ),
    "c_<window>": Column("bool", Means("C, coherency: written in at least two windows")),
    "c_pair_<window>": Column(
        "bool",
        Means(f"written along with one same other chunk in at least two windows, sought in the {HISTORY} latest "
              "windows of each"),
    ),
    "coherence_<window>": Column(
        "float32", Means("of the windows it is written in, those where it meets such a chunk again", "share")
    ),
    "log2_writes": Column("float32", Means("log2 of writes", "log2(requests)")),
    "log2_interval": Column(
        "float32",
        Means("log2 of the trace's mean page writes from one of the chunk's writes to the next; of all page writes "
              "where it is written once", LOG2),
    ),
    "log2_recency": Column("float32", Means("log2 of the trace's page writes from its last write on", LOG2)),
    "sequential": Column("float32", Means("its writes that begin where the volume's request before ended", "share")),
    "log2_pages": Column("float32", Means("log2 of the mean pages a write", "log2(pages)")),
    "life_mean": Column(
        "float64",
        Means("mean over its page writes of the log2 of the trace's page writes until the same page is written "
              "again; a page's last write counts as all page writes of the trace", LOG2),
    ),
    "life_median": Column("float64", Means("the median of the same", LOG2)),
    "never": Column("float64", Means("its page writes that are their page's last", "share")),
}  # fmt: skip
LABELS = Table(
    Each("one written chunk of 32 KiB", "volume and chunk", text="FIOS's features of chunks, and how long writes live"),
    COLUMNS,
    {
        "cachezoo.trace_id": Column("text", Means("the trace")),
        METADATA_KEY: Column(
            "text",
            Means("JSON of cachezoo.labels.streams.StreamFigures: counts of the trace, the characteristics that choose "
                  "FIOS's features, and what they choose"),
        ),
    },
)  # fmt: skip


class StreamFigures(Document):
    """Figures of a trace's writes; `theta` holds the fields of `cachezoo.features.fios.Theta`."""

    requests: Annotated[int, Means("in the trace", "requests")]
    writes: Annotated[int, Means("of them", "requests")]
    page_writes: Annotated[int, Means("pages of 8 KiB that they write", "page writes")]
    chunks: Annotated[int, Means("that are written", "chunks")]
    clock: Annotated[bool, Means("the trace's times are times")]
    windows: Annotated[dict[str, int], Means("length of each window; requests without a clock", "us")]
    theta: Annotated[dict[str, float | None], Means("characteristics that choose, as in FIOS's Table II")]
    high: Annotated[str, Means("which of them are high, bits in their order")]
    features: Annotated[str, Means("what FIOS chooses, of F, A, S and C in this order; may be none")]


@dataclass(frozen=True)
class StreamLabels:
    """Labels of a trace, m rows."""

    volume: Coded  # each chunk's
    chunk: I64  # [m] byte offset in the volume // `CHUNK_BYTES`
    columns: Mapping[str, npt.NDArray[Any]]  # by name, as `COLUMNS`, without these two
    figures: StreamFigures  # of the whole trace

    def __len__(self) -> int:
        return len(self.chunk)

    def drive_chunks(self, starts: Mapping[str, int]) -> I64:
        """int64[m]: chunk numbers in the addresses of a drive.

        Args:
            starts: first bytes of the volumes in them, each a chunk's (`cachezoo.flash_drive.writes.volume_starts`).
        """
        first = np.array([starts[name] // CHUNK_BYTES for name in self.volume.names], np.int64)
        found: I64 = first[self.volume.codes] + self.chunk
        return found


def label_streams(
    writes: ChunkWrites, features: ChunkFeatures, theta: Theta, selected: tuple[str, str]
) -> StreamLabels:
    """Put together what one trace alone says of its chunks.

    Args:
        writes: of the trace.
        features: of its chunks; the labels have the windows that these have.
        theta: its characteristics.
        selected: what FIOS selects by them, see `cachezoo.features.fios.chosen`.
    """
    mean, median, died = lifetimes(writes.rows, features.pages, features.total)
    shared = features.shared.items()
    columns = {
        "writes": features.writes, "pages": features.pages, "f": features.frequent, "s": features.sequential,
        **{f"a_{name}": one.adjacent for name, one in shared},
        **{f"c_{name}": one.coherent for name, one in shared},
        **{f"c_pair_{name}": one.coherent_pair for name, one in shared},
        **{f"coherence_{name}": one.coherence for name, one in shared},
        **features.real, "life_mean": mean, "life_median": median, "never": 1 - died / features.pages,
    }  # fmt: skip
    figures = StreamFigures(
        requests=writes.requests, writes=len(writes.size), page_writes=features.total, chunks=len(writes.chunk),
        clock=writes.clock, windows={name: writes.window_length(name) for name in features.shared}, theta=asdict(theta),
        high=selected[0], features=selected[1],
    )  # fmt: skip
    return StreamLabels(Coded(writes.volume, writes.volumes), writes.chunk, columns, figures)


def labels_of(trace: Trace, pages: PageAccesses, thresholds: StreamsLabel = DEFAULT) -> StreamLabels:
    """The labels of a trace's chunks; of a trace that writes nothing no rows.

    Args:
        trace: requests.
        pages: their page accesses.
        thresholds: of the bits.

    Raises:
        TraceError: the writes are too many.
    """
    if not (trace.op == OP_WRITE).any():
        return _no_labels(trace)
    writes = chunk_writes(trace)
    theta = theta_of(writes, trace, pages)
    return label_streams(writes, chunk_features(writes, thresholds=thresholds), theta, chosen(theta))


def _no_labels(trace: Trace) -> StreamLabels:
    empty = {
        name.replace("<window>", window): np.zeros(0, column.type)
        for name, column in COLUMNS.items()
        for window in (WINDOWS if "<window>" in name else ("",))
        if name not in ("volume", "chunk")
    }
    bits, features = chosen(None)
    figures = StreamFigures(
        requests=len(trace), writes=int((trace.op == OP_WRITE).sum()), page_writes=0, chunks=0, clock=has_clock(trace),
        windows={}, theta={}, high=bits, features=features,
    )  # fmt: skip
    return StreamLabels(Coded(np.zeros(0, np.int32), ()), np.zeros(0, np.int64), empty, figures)


def label_trace(requests: Path, path: Path, thresholds: StreamsLabel = DEFAULT) -> None:
    """Write the labels of a trace of canonical requests.

    Raises:
        TraceError: the requests cannot be read, or are too many.
    """
    trace = read_trace(requests)
    write_stream_labels(labels_of(trace, read_pages(requests), thresholds), trace.meta.trace_id, path)


def write_stream_labels(labels: StreamLabels, trace_id: str, path: Path) -> None:
    """Write labels, rows by volume's name and chunk, figures as JSON text in the metadata."""
    import pyarrow as pa

    from cachezoo.io import dump_json, table_of, write_table

    volume = pa.DictionaryArray.from_arrays(pa.array(labels.volume.codes), pa.array(labels.volume.names, pa.string()))
    values = {"volume": volume, "chunk": labels.chunk, **labels.columns}
    metadata = {METADATA_KEY: dump_json(labels.figures.model_dump(mode="json")), "cachezoo.trace_id": trace_id}
    write_table(path, table_of(values, COLUMNS), metadata, ("chunk",))


def read_stream_labels(path: Path) -> StreamLabels:
    """Read what `write_stream_labels` wrote.

    Raises:
        TraceError: missing, damaged, or of another kind.
    """
    from pydantic import ValidationError

    from cachezoo.io import read_rows

    table, metadata = read_rows(path, "label_streams")
    try:
        figures = StreamFigures.model_validate_json(metadata.get(METADATA_KEY, ""))
        volume = table.column("volume").combine_chunks()
        columns = {
            name: table.column(name).to_numpy() for name in table.column_names if name not in ("volume", "chunk")
        }
        names = tuple(volume.dictionary.to_pylist())
        codes = volume.indices.to_numpy().astype(np.int32)
        return StreamLabels(Coded(codes, names), table.column("chunk").to_numpy(), columns, figures)
    except (ValidationError, KeyError, AttributeError) as error:
        raise TraceError(f"{path}: holds no labels of streams; run the stage label_streams again") from error

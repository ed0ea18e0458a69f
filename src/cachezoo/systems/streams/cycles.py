"""The cycles of a category's drive: its writes while a model learns, while it is judged, and while it is tested."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.errors import ConfigError
from cachezoo.settings.data import WRITES
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_WRITE, Trace

if TYPE_CHECKING:
    from cachezoo.config.schema import Params
    from cachezoo.settings.data import TraceEntry


def entry_of(params: "Params", key: str) -> "TraceEntry":
    """A trace's row among those that are for streams alone.

    Raises:
        ConfigError: there is none of that key.
    """
    if key not in params.data.writes:
        said = ", ".join(params.data.writes) or "none"
        message = f"params.yaml: holds no trace {key[:60]!r} for streams alone; it has {said}"
        raise ConfigError(message)
    return params.data.writes[key]


def requests_of(params: "Params", key: str) -> Path:
    """Canonical requests of a trace that streams are learned from: of a page trace, or of one for streams alone.

    Raises:
        ConfigError: there is none of that key.
    """
    if key in params.data.traces:
        return paths.requests(params.data.traces[key].category, key)
    return Path(WRITES) / entry_of(params, key).category / f"{key}.parquet"


def metrics_of(category: str) -> Path:
    """Write amplification on a category's test cycle (stage evaluate_streams)."""
    return paths.METRICS / "streams" / f"{category}.json"


def read_cycle(files: Sequence[str]) -> dict[str, Trace]:
    """The traces of one role that write anything, by key, in order.

    Raises:
        TraceError: a file is no readable trace.
    """
    found = {Path(file).stem: read_trace(Path(file)) for file in files}
    return {key: trace for key, trace in found.items() if (trace.op == OP_WRITE).any()}

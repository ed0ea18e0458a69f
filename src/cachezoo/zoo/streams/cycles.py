"""The cycles of a category's drive: its writes while a model learns, while it is judged, and while it is tested."""

from collections.abc import Sequence
from pathlib import Path

from cachezoo import paths
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_WRITE, Trace


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

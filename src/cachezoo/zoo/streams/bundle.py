"""Kind `streams`: a table that says which stream of a multi-stream SSD a write belongs to."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.serving.kind import BLOCK, EXACT_TABLE, Cost, Kind, Recomputed, State
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.streams import synthetic
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, FILE, MOST_STREAMS, Dictionary
from cachezoo.zoo.streams.serve import NOT_PLACED, StreamsServing, TableSession

NUMBERS_OF_RANGE = 2  # where it begins, its stream


def _open(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> TableSession:
    return TableSession(Dictionary.from_bytes(files[FILE]))


def _serve(manifest: Mapping[str, Any], session: Any) -> StreamsServing:  # noqa: ANN401 - a TableSession
    return StreamsServing(arch=manifest["arch"], session=session)


def _recompute(serving: StreamsServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    decided = serving.decide(batch)
    passed = {"learned": decided > 0, "stream_0": decided == 0, "read": decided == NOT_PLACED}
    counts = {name: int(np.count_nonzero(rows)) for name, rows in passed.items()}
    return synthetic.recomputed(serving, batch, counts)


def _check(manifest: Mapping[str, Any]) -> None:
    """Rules between values.

    Raises:
        ConfigError: the training's writes are counted for more or fewer ids than there are.
    """
    counted, streams = len(manifest["calibration"]["writes_by_stream"]), manifest["arch"]["streams"]
    if counted != streams:
        raise ConfigError(f"calibration.writes_by_stream has {counted} numbers, arch.streams is {streams}")


def _cost(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> Cost:
    """A binary search among the ranges."""
    ranges = len(Dictionary.from_bytes(files[FILE]))
    return Cost(0, (ranges - 1).bit_length(), NUMBERS_OF_RANGE * ranges, len(files[FILE]))


KIND = Kind(
    outputs=lambda manifest: ("stream",),
    decisions=("stream",),
    sizes={"arch.streams": (1, MOST_STREAMS), "geometry.chunk_bytes": (CHUNK_BYTES, CHUNK_BYTES)},
    wanted=("learned", "stream_0", "read"),
    serve=_serve,
    recompute=_recompute,
    contexts=lambda manifest, batch: [{}],
    open_weights=_open,
    check=_check,
    profile=lambda manifest: BLOCK,
    conformance=EXACT_TABLE,
    state=lambda manifest: State(0, 0, "none"),
    synthetic=synthetic.sets,
    synthetic_wanted=synthetic.wanted,
    synthetic_decisions=synthetic.decisions,
    recompute_synthetic=synthetic.recompute,
    cost=_cost,
)

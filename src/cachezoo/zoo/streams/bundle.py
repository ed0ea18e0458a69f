"""Kind `streams`: says which stream of a multi-stream SSD a write belongs to, by a dictionary or by a forest.

`policy.type` says which. The dictionary's synthetic golden sets, which write to every sort of edge that one has, are
here; the forest's are in `lifetime_sets`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.serving.forest import forests_cost
from cachezoo.serving.history import open_forests
from cachezoo.serving.kind import BLOCK, EXACT_FOREST, EXACT_TABLE, Cost, Kind, Recomputed, Session, State
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import READ, WRITE, Script, SyntheticSet, changed
from cachezoo.traces.table import OP_WRITE
from cachezoo.zoo.streams import lifetime_sets
from cachezoo.zoo.streams.dictionary import (
    CHUNK_BYTES,
    FILE,
    MOST_CHUNKS,
    MOST_STREAMS,
    NOT_PLACED,
    Dictionary,
    StreamsServing,
    TableSession,
)
from cachezoo.zoo.streams.serve import FOREST, LifetimeServing, by_lifetime, check, state_bytes

Serve = Callable[[Mapping[str, Any]], Any]
NUMBERS_OF_RANGE = 2  # where it begins, its stream
SECTOR, PAGE = 512, 4096
SHOWN = 16  # ranges at the beginning, as many at the end, and as many evenly between them
WRAPPED = 8  # chunks of learned streams that come again, 2**32 bytes, sectors and chunks later
HIGHEST = (1 << 62) - SECTOR  # the last sector that a golden request may have
BRANCHES = (
    *("read", "learned", "stream_0", "offset_0", "first_of_range", "last_of_range", "below_range", "above_range"),
    *("beyond_last_range", "highest_address", "several_chunks", "several_streams", "unaligned"),
    *("past_2_gib", "past_4_gib", "beyond_128_tib"),
)


def _places(count: int) -> list[int]:
    """Ranges that are shown: all of a few; of many the first, the last, and some between them."""
    between = np.linspace(0, count - 1, SHOWN).astype(int).tolist()
    return sorted({*range(min(SHOWN, count)), *between, *range(max(0, count - SHOWN), count)})


def _boundaries(own: Dictionary) -> RequestBatch:
    """The first and the last byte of ranges, of the chunk below and of the chunk above each beginning."""
    script = Script(("sda",))
    for place in _places(len(own)):
        start = int(own.starts[place]) * CHUNK_BYTES
        for offset in (start - CHUNK_BYTES, start - 1, start, start + CHUNK_BYTES - 1, start + CHUNK_BYTES):
            if offset >= 0:
                script.add(WRITE, offset, SECTOR if offset % SECTOR == 0 else 1)
    return script.batch()


def _spans(own: Dictionary) -> RequestBatch:
    """Writes and reads of several chunks, which begin on, before and within a range, aligned or not."""
    script = Script(("sda", "sdb"))
    for turn, place in enumerate(_places(len(own))):
        start = int(own.starts[place]) * CHUNK_BYTES
        offset = max(0, start - (0, PAGE, SECTOR, 1, CHUNK_BYTES + PAGE)[turn % 5])
        script.add(WRITE, offset, (2 * CHUNK_BYTES, 3 * PAGE, 5 * CHUNK_BYTES + SECTOR)[turn % 3], turn % 2)
        script.add(READ, offset, CHUNK_BYTES + PAGE, turn % 2)
        script.add(WRITE, start + CHUNK_BYTES // 2, CHUNK_BYTES, turn % 2)
    return script.batch()


def _far(own: Dictionary) -> RequestBatch:
    """Offset 0, the highest address, and offsets that come out small in a runtime whose numbers are too short."""
    script = Script(("sda",))
    top = (MOST_CHUNKS - 1) * CHUNK_BYTES
    end = int(own.starts[-1]) * CHUNK_BYTES
    plain = [0, end - 1, end, end + CHUNK_BYTES, end + (1 << 30), top, top + CHUNK_BYTES - SECTOR, top + CHUNK_BYTES]
    powers = [(1 << bits) + away for bits in (31, 32, 40, 41, 46, 47, 48, 56, 61) for away in (-SECTOR, 0, CHUNK_BYTES)]
    learned = own.starts[np.flatnonzero(own.streams)][:: max(1, np.count_nonzero(own.streams) // WRAPPED)][:WRAPPED]
    shorts = [1 << 32, 1 << 41, MOST_CHUNKS * CHUNK_BYTES]  # of bytes, of sectors, of chunks
    wrapped = [int(start) * CHUNK_BYTES + more for start in learned for more in shorts]
    for offset in (*plain, *powers, *wrapped, HIGHEST):
        if offset >= 0:
            script.add(WRITE, offset, SECTOR)
    return script.batch()


def sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    """The sets of a manifest's dictionary or forest; see `Kind.synthetic`."""
    if by_lifetime(manifest):
        return lifetime_sets.sets(manifest, serve)
    own = serve(manifest).dictionary
    made = {"boundaries": _boundaries, "spans": _spans, "far": _far}
    return [SyntheticSet(name, make(own)) for name, make in made.items()]


def branches(serving: StreamsServing, batch: RequestBatch) -> dict[str, int]:
    """How often requests lie on each sort of edge."""
    own, decided = serving.dictionary, serving.decide(batch)
    first = batch.offset // CHUNK_BYTES
    last = (batch.offset + batch.size - 1) // CHUNK_BYTES
    write = batch.op == OP_WRITE
    starts = own.starts.astype(np.int64)
    inner = starts[1:]  # where one range ends and the next begins
    found = {
        "read": ~write,
        "learned": decided > 0,
        "stream_0": decided == 0,
        "offset_0": batch.offset == 0,
        "first_of_range": np.isin(first, inner),
        "last_of_range": np.isin(first, inner - 1),
        "below_range": np.isin(first, inner - 1) & (batch.offset % CHUNK_BYTES == CHUNK_BYTES - 1),
        "above_range": np.isin(first, inner + 1),
        "beyond_last_range": first > starts[-1],
        "highest_address": batch.offset == HIGHEST,
        "several_chunks": write & (last > first),
        "several_streams": write & (own.look_up(last) != own.look_up(first)),
        "unaligned": batch.offset % SECTOR != 0,
        "past_2_gib": batch.offset >= 1 << 31,
        "past_4_gib": batch.offset >= 1 << 32,
        "beyond_128_tib": first >= MOST_CHUNKS,
    }
    return {name: int(np.count_nonzero(passed)) for name, passed in found.items()}


def _serve(manifest: Mapping[str, Any], session: Any) -> Any:  # noqa: ANN401 - of both forms
    if by_lifetime(manifest):
        return LifetimeServing(arch=manifest["arch"], policy=manifest["policy"], session=session)
    return StreamsServing(arch=manifest["arch"], session=session)


def _recomputed(serving: StreamsServing, batch: RequestBatch, passed: dict[str, int]) -> Recomputed:
    streams = serving.placements(batch.offset).astype(np.float32)[:, None]
    return Recomputed(serving.features(batch), streams, serving.decide(batch)[:, None], passed)


def _recompute(serving: Any, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:  # noqa: ANN401 - likewise
    if isinstance(serving, LifetimeServing):
        return lifetime_sets.recomputed(serving, batch, lifetime_sets.real_branches(batch))
    decided = serving.decide(batch)
    passed = {"learned": decided > 0, "stream_0": decided == 0, "read": decided == NOT_PLACED}
    return _recomputed(serving, batch, {name: int(np.count_nonzero(rows)) for name, rows in passed.items()})


def _recompute_synthetic(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    serving: Any = serve(changed(manifest, one.changes))
    if isinstance(serving, LifetimeServing):
        return lifetime_sets.recomputed(serving, one.requests, lifetime_sets.branches(serving, one.requests))
    return _recomputed(serving, one.requests, branches(serving, one.requests))


def _check(manifest: Mapping[str, Any]) -> None:
    """Rules between values.

    Raises:
        ConfigError: writes are counted for more or fewer ids than there are; and see `serve.check`.
    """
    counted, streams = len(manifest["calibration"]["writes_by_stream"]), manifest["arch"]["streams"]
    if counted != streams:
        raise ConfigError(f"calibration.writes_by_stream has {counted} numbers, arch.streams is {streams}")
    if by_lifetime(manifest):
        check(manifest["arch"], manifest["policy"])


def _cost(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> Cost:
    """A binary search among the ranges, or the forest, for each flash page."""
    if by_lifetime(manifest):
        return forests_cost([files[FOREST]], len(manifest["features"]))
    ranges = len(Dictionary.from_bytes(files[FILE]))
    return Cost(0, (ranges - 1).bit_length(), NUMBERS_OF_RANGE * ranges, len(files[FILE]))


def _open(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> Session:
    if by_lifetime(manifest):
        return open_forests(manifest, files, (FOREST,))
    return TableSession(Dictionary.from_bytes(files[FILE]))


def _state(manifest: Mapping[str, Any]) -> State:
    return State(state_bytes(manifest["policy"]["memory"]["pages"]) if by_lifetime(manifest) else 0, 0, "none")


KIND = Kind(
    outputs=lambda manifest: ("life",) if by_lifetime(manifest) else ("stream",),
    decisions=("stream",),
    sizes={"arch.streams": (1, MOST_STREAMS), "geometry.chunk_bytes": (CHUNK_BYTES, CHUNK_BYTES)},
    wanted=("learned", "stream_0", "read"),
    serve=_serve,
    recompute=_recompute,
    contexts=lambda manifest, batch: [{}],
    open_weights=_open,
    check=_check,
    profile=lambda manifest: BLOCK,
    conformance=lambda manifest: EXACT_FOREST if by_lifetime(manifest) else EXACT_TABLE,
    state=_state,
    synthetic=sets,
    synthetic_wanted=lambda manifest: lifetime_sets.BRANCHES if by_lifetime(manifest) else BRANCHES,
    synthetic_decisions=lambda context: ("stream",),
    recompute_synthetic=_recompute_synthetic,
    cost=_cost,
)

"""Features of the admission model: one code for training and serving, numpy only.

Every value is a whole number (codes, segments, counts) of at most 2**22, so float32 holds it exactly and a
tree ensemble in float32 takes the same branches as LightGBM in float64.

Formulas (`Feature.formula`):
    request.op              0 read, 1 write
    code.namespace          code of the namespace (the volume where a trace names none), -1 unknown
    code.user               code of the process name up to its first "/" or ":", -1 unknown
                            codes are by falling count of reads, and compared as numbers (an ordinal encoding)
    block.start             index of the request's first segment within its block
    block.end               index of its last segment, counted from the same block's start
    request.segments        segments touched
    history.block.read.W    reads of the block in the last W buckets, before this request; `.write.` likewise
    history.segment.read.W  the same, summed over the request's segments
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cachezoo.arrays import F32, I32, I64, U8, Bool
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.history import KINDS, MAX_FEATURE, NONE, empty_log, forget, update_history
from cachezoo.kernels.segments import SEGMENT_BITS, Geometry, IdTable, segment_keys
from cachezoo.serving.requests import RequestBatch

UNKNOWN = -1
MAX_CODES = 64
CHUNK_REQUESTS = 1 << 16
STATIC = (
    ("op", "request.op", "0 read, 1 write", "number"),
    ("namespace", "code.namespace", "code", "ordinal"),
    ("user", "code.user", "code", "ordinal"),
    ("start", "block.start", "segments", "number"),
    ("end", "block.end", "segments", "number"),
    ("size", "request.segments", "segments", "number"),
)
HISTORIES = ("block", "segment")
KIND_NAMES = ("read", "write")
READS = tuple(f"history.{key}.read." for key in HISTORIES)  # formulas of counts of reads begin so


def feature_list(windows: Sequence[int]) -> list[dict[str, Any]]:
    """The model's inputs in order, as plain dicts of `cachezoo.models.trained.Feature`."""
    rows = [dict(zip(("name", "formula", "unit", "encoding"), entry, strict=True)) for entry in STATIC]
    for key in HISTORIES:
        for kind in KIND_NAMES:
            for window in windows:
                name, formula = f"{key}_{kind}s_{window}", f"history.{key}.{kind}.{window}"
                rows.append({"name": name, "formula": formula, "unit": "accesses", "encoding": "number"})
    return rows


def user_key(name: str) -> str:
    """A process name without what numbers its instance: text before the first "/" or ":", e.g. `kworker`."""
    return name.split("/", 1)[0].split(":", 1)[0]


def encode(counts: Mapping[str, int]) -> dict[str, int]:
    """Codes by falling count, ties by name; at most `MAX_CODES`, the rest stays unknown."""
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    return {name: code for code, name in enumerate(ordered[:MAX_CODES])}


class _Counts:
    """History of one kind of key (segments or blocks), growing with what is counted in the longest window."""

    def __init__(self, windows: I64) -> None:
        self._windows = windows
        self._table = IdTable()
        self._log = empty_log(0, 0)

    def update(self, start: I64, keys: I64, read: Bool, rank: int, bucket_width: int) -> F32:
        """Features of the requests (float32[n, 2 w]); afterwards they are counted."""
        if int(self._log.used[0]) + len(keys) > len(self._log.older):
            self._forget(rank // bucket_width, len(keys))
        ids = self._table.lookup(keys)
        self._grow(self._table.count)
        out = np.zeros((len(read), KINDS * len(self._windows)), np.float32)
        update_history(start, ids, read, rank, bucket_width, self._windows, self._log, out)
        return out

    def _grow(self, rows: int) -> None:
        newest = self._log.newest
        if rows > len(newest):
            more = np.full(max(rows, len(newest) + len(newest) // 2) - len(newest), NONE, np.int32)
            self._log = self._log._replace(newest=np.concatenate([newest, more]))

    def _forget(self, bucket: int, room: int) -> None:
        """Drop what has aged out of all windows: it would read zeros anyway."""
        keys = self._table.keys()
        log = self._log._replace(newest=self._log.newest[: len(keys)])
        self._log, alive = forget(log, bucket - int(self._windows[-1]) + 1, room)
        self._table.rebuild(keys[alive])


class AdmissionFeatures:
    """Turns requests into the admission model's inputs; its state carries on from call to call.

    Any split of a trace into calls gives the same values, bit for bit.
    """

    def __init__(
        self,
        features: Sequence[Mapping[str, Any]],
        encodings: Mapping[str, Mapping[str, int]],
        geometry: Mapping[str, int],
        history: Mapping[str, Any],
    ) -> None:
        """Build from plain JSON values, as `train.json` and a bundle's manifest hold them.

        Args:
            features: the inputs in order; `formula` decides what each is.
            encodings: codes of `namespace` and `user`.
            geometry: `block_bytes` and `segment_bytes`.
            history: `bucket_requests` and `windows` (buckets, rising).

        Raises:
            ConfigError: a formula that this release does not know, or windows that do not rise.
        """
        self._geometry = Geometry(geometry["block_bytes"], geometry["segment_bytes"])
        self._encodings = encodings
        self._bucket = int(history["bucket_requests"])
        windows = [int(window) for window in history["windows"]]
        if self._bucket < 1 or not windows or windows[0] < 1 or sorted(set(windows)) != windows:
            message = f"history {dict(history)}: bucket_requests must be 1 or more and windows rise from 1 or more"
            raise ConfigError(message)
        known = [entry["formula"] for entry in feature_list(windows)]
        formulas = [feature["formula"] for feature in features]
        unknown = [formula for formula in formulas if formula not in known]
        if unknown:
            raise ConfigError(f"feature formula {unknown[0]} is unknown to this release; known are {', '.join(known)}")
        self._columns = np.array([known.index(formula) for formula in formulas], np.int64)
        self._counts = {key: _Counts(np.array(windows, np.int64)) for key in HISTORIES}
        self._volumes: dict[str, int] = {}
        self._rank = 0

    def rows(self, batch: RequestBatch) -> F32:
        """Features of the next requests; afterwards they are part of the history.

        Where the batch has no namespace, its volumes' names stand for it; where it has no user, that is unknown. The
        clock is the number of requests: their times are not looked at.

        Returns:
            float32[n, F], C order.

        Raises:
            TraceError: more volumes or a larger address than ids can hold.
        """
        names = [self._volumes.setdefault(name, len(self._volumes)) for name in batch.volume.names]
        number = np.array(names, np.int32)[batch.volume.codes]
        space = self._codes("namespace", batch.volume if batch.namespace is None else batch.namespace, len(batch))
        who = self._codes("user", batch.user, len(batch))
        op, offset, size = batch.op, batch.offset, batch.size
        out = np.empty((len(batch), len(self._columns)), np.float32)
        for low in range(0, len(batch), CHUNK_REQUESTS):
            part = slice(low, low + CHUNK_REQUESTS)
            out[part] = self._chunk(op[part], offset[part], size[part], number[part], space[part], who[part])
        return out

    def _codes(self, column: str, coded: Coded | None, n: int) -> I32:
        if coded is None:
            return np.full(n, UNKNOWN, np.int32)
        encoding = self._encodings.get(column, {})
        key = user_key if column == "user" else str
        return np.array([encoding.get(key(name), UNKNOWN) for name in coded.names], np.int32)[coded.codes]

    def _chunk(self, op: U8, offset: I64, size: I64, volume: I32, space: I32, who: I32) -> F32:
        geometry, read = self._geometry, op == 0
        start, keys = segment_keys(volume, offset, size, geometry)
        block = (offset // geometry.segment_bytes) // geometry.per_block
        first = offset // geometry.segment_bytes - block * geometry.per_block
        touched = np.diff(start)
        static = np.stack(
            [op, space, who, first, first + touched - 1, touched], axis=1, dtype=np.float32, casting="unsafe"
        )
        np.minimum(static, MAX_FEATURE, out=static)
        block_keys = (volume.astype(np.int64) << SEGMENT_BITS) + block
        one_each = np.arange(len(op) + 1, dtype=np.int64)
        blocks = self._counts["block"].update(one_each, block_keys, read, self._rank, self._bucket)
        segments = self._counts["segment"].update(start, keys, read, self._rank, self._bucket)
        self._rank += len(op)
        return np.concatenate([static, blocks, segments], axis=1)[:, self._columns]

"""What the synthetic sets of the flash models share: their requests, and the flash cache behind their decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, I32, Bool
from cachezoo.features.history import user_key
from cachezoo.flash_cache.modes import NONE, plain_prefetch
from cachezoo.kernels.flash import FlashRun, Prefetch, WriteRate, simulate_controlled, simulate_flash
from cachezoo.kernels.flash_queue import Eviction
from cachezoo.kernels.segments import SEGMENT_BITS, Geometry, expand_segments, segment_keys
from cachezoo.kernels.write_budget import Controller
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import READ, WRITE, Script, draws_of
from cachezoo.traces.table import OP_READ
from cachezoo.zoo.admission.serve import HistoryServing

COLUMNS = ("hits", "written", "prefetched", "io_segments", "evicted")
CACHE = ("hit", "partial_hit", "miss", "evicted", "write_invalidates", "lru_is_not_fifo", "kept_out")
TOUCH, BLOCK, SEGMENT, OTHER_TOUCH = "policy.touch", "block", "segment", "other_touch"
WRITE_RATE = "write_bytes_s"  # of a context
PREFETCHED = ("prefetched", "prefetched_used")
BUCKET = "policy.history.bucket_requests"
BUCKET_REQUESTS = 3
AT_ONCE = 16
COUNTS_REQUESTS = 260  # a bucket of `counts_script`: more than a byte counts
CAPACITY = 10  # segments, of the sets whose outputs are given
FLASH_PER_BLOCK = 8
LARGE_PER_BLOCK, LARGE_CAPACITY, LARGE_REQUEST = 300, 700, 530  # segments: more than a byte counts
LARGE_FROM = (0, 1 << 33, 1 << 18, 1 << 33)  # segments from which on requests of the large sets are, in turns
LARGE_VOLUMES = tuple(f"disk{number**2}" for number in range(12))  # some meet in a table of names
STRANGE = "synthetic"  # a name that no model knows
HISTORY = (
    "second_turn", "stale_part", "stale_whole", "twice_in_bucket", "windows_apart", "across_blocks", "unaligned",
    "several_segments", "same_offset_elsewhere", "history_of_write",
)  # fmt: skip
NAMES = ("unknown_name", "namespace_absent", "user_absent")


def mode_name(mode: str) -> str:
    """Of a set and of a branch: `next(3)` is `next_3`."""
    return mode.replace("(", "_").rstrip(")")


def known_names(manifest: Mapping[str, Any], column: str) -> list[str]:
    """Names that the model has codes of, in their order."""
    return list(manifest["encodings"].get(column, {}))


def _names(manifest: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Namespaces and users: known and unknown ones, and users with what `user_key` takes off."""
    namespaces, users = known_names(manifest, "namespace"), known_names(manifest, "user")
    endings = ("", "/3:1", ":x/y", "/")
    return [*namespaces, STRANGE], [*(f"{user}{end}" for user in users for end in endings), STRANGE, f"{STRANGE}/1"]


def history_script(manifest: Mapping[str, Any]) -> Script:
    """Requests that turn the rings of the history twice, with keys that come back on either side of a whole turn.

    One in three goes to a hot block, whose counts differ from window to window. Lone blocks come back once: in the last
    bucket of a window, and in the first one after it, for every window.
    """
    history, geometry = manifest["policy"]["history"], manifest["geometry"]
    block, segment = int(geometry["block_bytes"]), int(geometry["segment_bytes"])
    windows = [int(window) for window in history["windows"]]
    draws, depth = draws_of("history"), windows[-1]
    namespaces, users = _names(manifest)
    script = Script(("one", "two"), namespaces, users)
    lone: dict[int, list[int]] = {}  # bucket: blocks that are read in its first request
    gaps = sorted({1, depth + 1, *windows, *(window - 1 for window in windows)} - {0})
    for k, gap in enumerate(gaps):
        for bucket in (2 + k, 2 + k + gap):
            lone.setdefault(bucket, []).append(100 + k)
    buckets = max(2 * depth + depth // 4 + 4, *lone)
    for bucket in range(buckets + 1):
        for place in range(BUCKET_REQUESTS):
            waiting = lone.get(bucket, [])
            if waiting:
                script.add(READ, waiting.pop() * block + segment, segment)
                continue
            kind = WRITE if draws.random() < 0.3 else READ
            hot = place == 0 or draws.random() < 0.3
            number = 1 if hot else int(draws.integers(4))
            start = number * block + int(draws.integers(3)) * segment
            if place == 2 and draws.random() < 0.2:
                start = (number + 1) * block - segment  # the last segment, and on into the next block
            start += int(draws.integers(segment // 512)) * 512
            script.add(kind, start, int(draws.integers(1, 2 * segment)), int(draws.random() < 0.3))
    return script


def nameless_script(manifest: Mapping[str, Any]) -> Script:
    """Requests without namespace and user, to volumes one of which has the name of a namespace that is known."""
    known = known_names(manifest, "namespace")
    script = Script((STRANGE, *known[:1]))
    segment, draws = int(manifest["geometry"]["segment_bytes"]), draws_of("nameless")
    for _ in range(24):
        volume = int(draws.integers(len(script.volumes)))
        script.add(int(draws.random() < 0.2), int(draws.integers(12)) * segment, segment, volume)
    return script


def counts_script(manifest: Mapping[str, Any]) -> Script:
    """A bucket of reads and one of writes, all of one segment, and what is left of them a bucket later."""
    segment = int(manifest["geometry"]["segment_bytes"])
    script = Script(("one",), known_names(manifest, "namespace")[:1], known_names(manifest, "user")[:1])
    for kind in (READ, WRITE):
        for _ in range(COUNTS_REQUESTS):
            script.add(kind, 0, segment)
    script.add(READ, 0, segment)
    script.add(WRITE, 0, segment)
    return script


def flash_script(manifest: Mapping[str, Any], per_block: int, rows: int = 60) -> Script:
    """Requests to the first two blocks, of so many segments, of two volumes; some go on beyond their block."""
    segment, draws = int(manifest["geometry"]["segment_bytes"]), draws_of("flash")
    namespaces, users = _names(manifest)
    script = Script(("one", "two"), namespaces[:1], users[:1])
    for _ in range(rows):
        size = int(draws.choice([1, segment, 2 * segment, 3 * segment]))
        start = int(draws.integers(2 * per_block)) * segment
        if draws.random() < 0.1:
            start = per_block * segment - segment // 2
            size = int(draws.integers(1, per_block + 3)) * segment  # beyond the next block's end, perhaps
        kind = WRITE if draws.random() < 0.2 else READ
        script.add(kind, start, size, int(draws.random() < 0.25))
    return script


def large_script(manifest: Mapping[str, Any]) -> Script:
    """Requests of 1 to 530 segments, so that few of them fill tables of keys, near the first segment and far from it.

    Some end just before their block's last segment; the longest overlap each other.
    """
    segment, draws = int(manifest["geometry"]["segment_bytes"]), draws_of("large")
    namespaces, users = _names(manifest)
    script = Script(LARGE_VOLUMES, namespaces[:1], users[:1])
    for k in range(80):
        size = int(draws.choice([1, 2, 5, 17, 40, 90, 160]))
        start = int(draws.integers(200 if draws.random() < 0.6 else 1200)) + LARGE_FROM[k % len(LARGE_FROM)]
        if k % 10 == 9:
            start, size = start // LARGE_PER_BLOCK * LARGE_PER_BLOCK, LARGE_PER_BLOCK - 1
        if k % 16 == 12:
            start, size = 100 + k, LARGE_REQUEST
        kind = WRITE if draws.random() < 0.2 else READ
        volume = int(draws.integers(len(LARGE_VOLUMES))) if draws.random() < 0.25 else 0
        script.add(kind, start * segment, size * segment, volume)
    return script


HISTORIES = (
    ("history", history_script, BUCKET_REQUESTS),
    ("nameless", nameless_script, 1),
    ("counts", counts_script, COUNTS_REQUESTS),
)  # sets that the model's own outputs decide: name, requests, those of a bucket


def block_of(manifest: Mapping[str, Any], segments: int) -> dict[str, Any]:
    """Changes that make a block of so many segments."""
    return {"geometry.block_bytes": segments * int(manifest["geometry"]["segment_bytes"])}


def rows_in_calls(serving: HistoryServing, batch: RequestBatch) -> F32:
    """Features of a fresh serving object that is passed `AT_ONCE` requests a call: the history carries on."""
    parts = [batch.part(low, low + AT_ONCE) for low in range(0, len(batch), AT_ONCE)]
    return np.concatenate([serving.features(part) for part in parts])


def _returns(keys: list[int], buckets: list[int], depth: int) -> dict[str, int]:
    """How often a key came back within its bucket, before a whole turn of the ring, and later."""
    last: dict[int, int] = {}
    found = {"twice_in_bucket": 0, "stale_part": 0, "stale_whole": 0}
    for key, bucket in zip(keys, buckets, strict=True):
        if key in last:
            gap = bucket - last[key]
            found["twice_in_bucket" if gap == 0 else "stale_part" if gap < depth else "stale_whole"] += 1
        last[key] = bucket
    return found


def history_branches(batch: RequestBatch, rows: F32, manifest: Mapping[str, Any]) -> dict[str, int]:
    """How many requests or segments passed each branch of `HISTORY` and `NAMES`.

    Args:
        batch: requests of a set, all served from a fresh history.
        rows: float32[n, F], their features.
        manifest: `features`, `encodings`, `geometry` and `policy` of the set.
    """
    geometry = Geometry(manifest["geometry"]["block_bytes"], manifest["geometry"]["segment_bytes"])
    history = manifest["policy"]["history"]
    depth, width = int(history["windows"][-1]), int(history["bucket_requests"])
    start, keys = segment_keys(batch.volume.codes, batch.offset, batch.size, geometry)
    touched, bucket = np.diff(start), np.arange(len(batch)) // width
    first = (keys[start[:-1]] & ((1 << SEGMENT_BITS) - 1)) % geometry.per_block
    segments: dict[int, set[int]] = {}
    for key in keys.tolist():
        segments.setdefault(key & ((1 << SEGMENT_BITS) - 1), set()).add(key >> SEGMENT_BITS)
    formulas = [entry["formula"] for entry in manifest["features"]]

    def columns(start: str) -> F32:
        return rows[:, [place for place, formula in enumerate(formulas) if formula.startswith(start)]]

    reads = columns("history.block.read.")
    found = {
        "second_turn": int((bucket >= 2 * depth).sum()),
        **_returns(keys.tolist(), np.repeat(bucket, touched).tolist(), depth),
        "windows_apart": int((np.diff(reads, axis=1) > 0).all(axis=1).sum()),
        "across_blocks": int((first + touched > geometry.per_block).sum()),
        "unaligned": int((batch.offset % geometry.segment_bytes > 0).sum()),
        "several_segments": int((touched > 1).sum()),
        "same_offset_elsewhere": sum(len(volumes) > 1 for volumes in segments.values()),
        "history_of_write": int((columns("history.block.write.") > 0).any(axis=1).sum()),
        "namespace_absent": len(batch) * (batch.namespace is None),
        "user_absent": len(batch) * (batch.user is None),
    }
    return found | _name_branches(batch, manifest["encodings"])


def _name_branches(batch: RequestBatch, encodings: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Requests by what their names are to the model."""
    found = {"unknown_name": 0, "known_namespace": 0, "known_user": 0, "user_shortened": 0, "volume_stands_for": 0}
    spaces, users = encodings.get("namespace", {}), encodings.get("user", {})
    for k in range(len(batch)):
        coded = batch.volume if batch.namespace is None else batch.namespace
        space = coded.names[coded.codes[k]]
        found["known_namespace"] += space in spaces
        found["volume_stands_for"] += batch.namespace is None and space in spaces
        found["unknown_name"] += space not in spaces
        if batch.user is not None:
            user = batch.user.names[batch.user.codes[k]]
            found["known_user"] += user_key(user) in users
            found["user_shortened"] += user_key(user) in users and user not in users
    return found


def wanted_history(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Branches of the history that the sets of a manifest pass: of names only where the model knows any."""
    spaces = ("known_namespace", "volume_stands_for") if known_names(manifest, "namespace") else ()
    users = ("known_user", "user_shortened") if known_names(manifest, "user") else ()
    return *HISTORY, *NAMES, *spaces, *users


def wanted_cache(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Branches of the cache behind that the sets of a manifest pass."""
    return (*CACHE, OTHER_TOUCH) if "touch" in manifest["policy"] else CACHE


def with_other_touch(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Changes that make a cache touch what its bundle's does not."""
    return {TOUCH: _other(manifest["policy"]["touch"])}


def _other(touch: str | None) -> str:
    return SEGMENT if touch == BLOCK else BLOCK


def _run(
    batch: RequestBatch, admit: Bool, prefetch: Prefetch | None, where: "Where", eviction: Eviction = "lru"
) -> FlashRun:
    accesses = expand_segments(batch.volume.codes, batch.offset, batch.size, where.geometry)
    return simulate_flash(
        accesses, batch.op == OP_READ, admit, where.capacity,
        eviction=eviction, prefetch=prefetch, whole_block=where.touch == BLOCK,
    )  # fmt: skip


@dataclass(frozen=True)
class Where:
    """A set's cache.

    Attributes:
        geometry: blocks and segments.
        touch: what a read makes the newest, `segment` or `block`; None of a bundle of before, which is the former.
        capacity: segments.
    """

    geometry: Geometry
    touch: str | None
    capacity: int

    @classmethod
    def of(cls, manifest: Mapping[str, Any], context: Mapping[str, Any]) -> "Where":
        """By a manifest's values and a set's context."""
        sizes, touch = manifest["geometry"], manifest["policy"].get("touch")
        return cls(Geometry(sizes["block_bytes"], sizes["segment_bytes"]), touch, int(context["capacity_segments"]))

    def otherwise(self) -> "Where":
        """The same cache with the other touch."""
        return replace(self, touch=_other(self.touch))


def controlled(
    batch: RequestBatch, scores: F64, threshold: float, controller: Controller, prefetch: Prefetch | None,
    context: Mapping[str, Any], where: "Where",
) -> F64:  # fmt: skip
    """float64[n]: the thresholds with which the cache behind keeps the write rate of a set's context."""
    accesses = expand_segments(batch.volume.codes, batch.offset, batch.size, where.geometry)
    rate = WriteRate(*controller.per_us(float(context[WRITE_RATE]), where.geometry.segment_bytes), batch.time_us)
    read = batch.op == OP_READ
    return simulate_controlled(
        accesses, read, scores, threshold, controller, rate, where.capacity,
        prefetch=prefetch, whole_block=where.touch == BLOCK,
    ).thresholds  # fmt: skip


def plain_ahead(batch: RequestBatch, mode: str, where: Where) -> Prefetch | None:
    """What a mode that asks no model fetches beside; None of `none`."""
    accesses = expand_segments(batch.volume.codes, batch.offset, batch.size, where.geometry)
    last = accesses.first + accesses.sizes - 1
    return None if mode == NONE else plain_prefetch(mode, last, where.geometry.per_block)


def _head(prefetch: Prefetch | None, n: int) -> Prefetch | None:
    return None if prefetch is None else replace(prefetch, low=prefetch.low[:n], high=prefetch.high[:n])


def _evicted(batch: RequestBatch, admit: Bool, prefetch: Prefetch | None, where: Where) -> I32:
    """int32[n]: segments that each request evicted: those of all requests up to it, less those up to the one before."""
    totals = [_run(batch.part(0, n), admit[:n], _head(prefetch, n), where).evictions for n in range(1, len(batch) + 1)]
    return np.diff(totals, prepend=0).astype(np.int32)


def behind(batch: RequestBatch, admit: Bool, prefetch: Prefetch | None, where: Where) -> tuple[I32, dict[str, int]]:
    """Run the flash cache behind decisions.

    `admit` bool[n] decides on what reads miss; `prefetch` None fetches nothing beside it.

    Returns:
        int32[n, 5], columns `COLUMNS`, and how many requests passed each branch of `CACHE` and `PREFETCHED`.
    """
    run, read = _run(batch, admit, prefetch, where), batch.op == OP_READ
    evicted = _evicted(batch, admit, prefetch, where)
    table = np.stack([run.hits, run.written, run.prefetched, run.io_segments, evicted], axis=1).astype(np.int32)
    missed = read & (run.io_segments > 0)

    def hits_if(other: FlashRun) -> int:
        return int((other.hits != run.hits).sum())

    branches = {
        "hit": int((read & ~missed).sum()),
        "partial_hit": int((missed & (run.hits > 0)).sum()),
        "miss": int((missed & (run.hits == 0)).sum()),
        "kept_out": int((missed & (run.written == 0)).sum()),
        "evicted": int(evicted.sum()),
        "write_invalidates": hits_if(_without_writes(batch, admit, prefetch, where)),
        "lru_is_not_fifo": hits_if(_run(batch, admit, prefetch, where, "fifo")),
        "prefetched": int(run.prefetched.sum()),
        "prefetched_used": run.prefetched_used,
    }
    if where.touch is not None:
        branches[OTHER_TOUCH] = hits_if(_run(batch, admit, prefetch, where.otherwise()))
    return table, branches


def _without_writes(batch: RequestBatch, admit: Bool, prefetch: Prefetch | None, where: Where) -> FlashRun:
    """The same where writes go to a place of their own, so that they invalidate nothing."""
    beyond = int((batch.offset + batch.size).max()) + where.geometry.block_bytes
    away = -(-beyond // where.geometry.block_bytes) * where.geometry.block_bytes
    moved = replace(batch, offset=np.where(batch.op == OP_READ, batch.offset, batch.offset + away))
    return _run(moved, admit, prefetch, where)

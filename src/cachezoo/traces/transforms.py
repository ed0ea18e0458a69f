"""Cuts, samples and splits of a trace; `cachezoo.traces.mixing` puts several together.

Each is a function of its arguments alone, and records what it did in the metadata (`extra["transforms"]`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from math import isfinite, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64, U64
from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces.clock import Clock
from cachezoo.traces.objects import AnyTrace, Either, ObjectTrace
from cachezoo.traces.provenance import recorded
from cachezoo.traces.table import CODED_COLUMNS, PAGE_BYTES, UNKNOWN_LATENCY, Trace, TraceMeta

SAMPLE_BLOCK_BYTES = 65_536
PIECE_PARTS = 1 << 22
HASH_BITS = 53
SPLIT_COLUMNS = tuple(name for name in CODED_COLUMNS if name != "flags")


def _said(trace: Either, said: str) -> str:
    return f"{trace.meta.trace_id}: {said}"


def _microseconds(trace: Either, name: str, seconds: float) -> int:
    if not isfinite(seconds) or not 0 <= seconds < 2**62 / 1e6:
        raise ConfigError(_said(trace, f"{name} is {seconds}; give seconds from the trace's start, at 0 or later"))
    return round(seconds * 1e6)


def cut(
    trace: AnyTrace,
    start_s: float | None = None,
    stop_s: float | None = None,
    first: int | None = None,
    last: int | None = None,
) -> AnyTrace:
    """The requests of a time window and a range of rows; of both where both are given.

    Args:
        trace: any.
        start_s: keep requests at this time or later, in seconds on the trace's clock.
        stop_s: and before this time.
        first: keep requests from this row on, the trace's first being 0.
        last: and before this row.

    Returns:
        The requests, with times counted from the first of them and the names that occur in them.

    Raises:
        ConfigError: nothing is asked, or no window can be like this.
        TraceError: no request is in it.
    """
    if start_s is None and stop_s is None and first is None and last is None:
        raise ConfigError(_said(trace, "nothing to cut: give a first or last time or row"))
    if (first is not None and first < 0) or (last is not None and last <= (first or 0)):
        message = _said(trace, f"rows [{first}, {last}) are none; give a first row of 0 or more and a later last one")
        raise ConfigError(message)
    start_us = 0 if start_s is None else _microseconds(trace, "start", start_s)
    stop_us = None if stop_s is None else _microseconds(trace, "stop", stop_s)
    if stop_us is not None and stop_us <= start_us:
        raise ConfigError(_said(trace, f"seconds [{start_s or 0}, {stop_s}) are none; give a stop after the start"))
    n = len(trace)
    a = max(first or 0, int(np.searchsorted(trace.time_us, start_us)))
    b = min(n if last is None else last, n if stop_us is None else int(np.searchsorted(trace.time_us, stop_us)))
    if a >= b:
        span = f"it has {n} requests in {trace.time_us[-1] / 1e6 if n else 0} seconds"
        raise TraceError(_said(trace, f"the cut keeps no request; {span}: choose a window within"))
    said = {"start_s": start_s, "stop_s": stop_s, "first": first, "last": last, "rows": [a, b]}
    return replace(trace.rows(a, b), meta=recorded(trace.meta, "cut", said))


def _volume_keys(trace: Trace, seed: int) -> U64:
    """A 64-bit number for each volume, of its name and the seed alone; the last one stands for an unnamed volume."""
    return _digests([json.dumps([seed, name]) for name in trace.volume.names] + [json.dumps([seed, None])])


def _mixed(keys: U64, blocks: I64) -> U64:
    """Hash of each (volume, block): SplitMix64's mixer (Steele et al., OOPSLA '14), one-to-one in a volume."""
    z: U64 = keys + blocks.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True)
class _Parts:
    """Requests cut at the borders of blocks: the row, bytes [start, stop), and hash of the block of each part."""

    row: I64
    block: I64
    start: I64
    stop: I64
    hash: U64

    @property
    def pages(self) -> I64:
        """4 KiB pages that each part touches."""
        return (self.stop - 1) // PAGE_BYTES - self.start // PAGE_BYTES + 1


def _parts(trace: Trace, rows: slice, keys: U64, block_bytes: int) -> _Parts:
    offset, end = trace.offset[rows], trace.offset[rows] + trace.size[rows]
    low = offset // block_bytes
    count = (end - 1) // block_bytes - low + 1
    row = np.repeat(np.arange(len(offset)), count)
    block = low[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    hashed = _mixed(keys[trace.volume.codes[rows][row]], block)
    start, stop = np.maximum(offset[row], block * block_bytes), np.minimum(end[row], (block + 1) * block_bytes)
    return _Parts(row + (rows.start or 0), block, start, stop, hashed)


def _pieces(trace: Trace, block_bytes: int) -> list[slice]:
    """Ranges of rows of about `PIECE_PARTS` parts each, which bounds the memory taken beside the trace."""
    parts = (trace.offset + trace.size - 1) // block_bytes - trace.offset // block_bytes + 1
    total = np.cumsum(parts)
    inner = np.searchsorted(total, np.arange(PIECE_PARTS, int(total[-1]), PIECE_PARTS))
    edges = np.unique(np.concatenate([[0], inner, [len(trace)]])).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]


def _runs(parts: _Parts, chosen: npt.NDArray[np.bool_]) -> tuple[I64, I64, I64]:
    """Row, start and stop of the chosen parts, with neighbours of one request joined."""
    row, block, start, stop = (column[chosen] for column in (parts.row, parts.block, parts.start, parts.stop))
    apart = (np.diff(row) != 0) | (np.diff(block) != 1)
    heads = np.flatnonzero(np.concatenate([np.ones(min(1, len(row)), bool), apart]))
    tails = np.append(heads[1:], len(row))[: len(heads)] - 1
    return row[heads], start[heads], stop[tails]


def _blocks(tallies: list[tuple[U64, I64]]) -> tuple[U64, I64]:
    """Hash and page accesses of each distinct block."""
    hashes, pages = (np.concatenate(column) for column in zip(*tallies, strict=True))
    distinct, inverse = np.unique(hashes, return_inverse=True)
    accesses: I64 = np.bincount(inverse, pages, len(distinct)).astype(np.int64)
    return distinct, accesses


def _chosen(hashes: U64, rate: float) -> npt.NDArray[np.bool_]:
    """Blocks whose hash falls below the rate; at a lower rate a subset of those at a higher one."""
    return (hashes >> np.uint64(64 - HASH_BITS)).astype(np.float64) < rate * 2.0**HASH_BITS


def sample(trace: Trace, rate: float, seed: int, block_bytes: int = SAMPLE_BLOCK_BYTES) -> Trace:
    """Spatial sampling: all accesses of a part of the address space, chosen by a hash of the block.

    A block is in or out by volume name, index and seed alone, so the same blocks are chosen in every trace of the
    same volumes. Requests are cut at the borders of blocks, parts outside the chosen blocks dropped, neighbouring
    parts of one request joined again. So the page accesses of the sample are those of the trace within the chosen
    blocks, in their order, and a cache of rate * C pages behaves on the sample about as one of C pages on the trace.
    Source: SHARDS, Waldspurger et al., FAST '15.

    Args:
        trace: any.
        rate: expected part of the blocks, above 0 and at most 1.
        seed: another seed, another choice.
        block_bytes: unit of the choice, a multiple of 4,096; small blocks lower the error, large ones leave more
            requests whole.

    Returns:
        The sample on the trace's clock. The latency of a request that lost a part is unknown. Recorded: blocks and
        page accesses seen and chosen, and `expected_error`, the relative standard error of the number of page accesses
        over all seeds, sqrt((1 - rate) / rate * sum(a^2)) / sum(a) for a_b accesses to block b. It bounds, to first
        order, the standard error of any ratio per access, as the hit ratio, that is due to the choice of blocks.

    Raises:
        ConfigError: rate or block size out of range.
        TraceError: the trace is empty, or no block is chosen.
    """
    if not 0 < rate <= 1:
        raise ConfigError(_said(trace, f"rate is {rate}; give a number above 0, at most 1"))
    if block_bytes < PAGE_BYTES or block_bytes % PAGE_BYTES:
        raise ConfigError(_said(trace, f"blocks of {block_bytes} bytes; give a multiple of {PAGE_BYTES}"))
    if len(trace) == 0:
        raise TraceError(_said(trace, "the trace is empty; give one with at least one request"))
    keys = _volume_keys(trace, seed)
    tallies, runs = [], []
    for rows in _pieces(trace, block_bytes):
        parts = _parts(trace, rows, keys, block_bytes)
        tallies.append(_blocks([(parts.hash, parts.pages)]))
        runs.append(_runs(parts, _chosen(parts.hash, rate)))
    row, start, stop = (np.concatenate(column) for column in zip(*runs, strict=True))
    hashes, accesses = _blocks(tallies)
    said: dict[str, Any] = {"rate": float(rate), "seed": seed, "block_bytes": block_bytes, "requests": len(trace)}
    chosen = _chosen(hashes, rate)
    if len(row) == 0:
        message = _said(trace, f"none of its {len(hashes)} blocks is chosen: raise rate {rate} or use smaller blocks")
        raise TraceError(message)
    total, spread = float(accesses.sum()), sqrt(float((accesses.astype(np.float64) ** 2).sum()))
    said |= {"blocks": len(hashes), "blocks_chosen": int(chosen.sum())}
    said |= {"page_accesses": int(total), "page_accesses_chosen": int(accesses[chosen].sum())}
    said["expected_error"] = sqrt((1 - rate) / rate) * spread / total
    return pieces(trace, row, start, stop, recorded(trace.meta, "sample", said))


def faster(trace: Trace, speed: float) -> Trace:
    """The same requests in a `speed`-th of the time; below 1 they take longer. Latencies are as they were.

    Raises:
        ConfigError: no speed above 0.
        TraceError: the trace has no clock.
    """
    if not (isfinite(speed) and speed > 0):
        raise ConfigError(_said(trace, f"speed is {speed}; give a number above 0, such as 2"))
    clock = Clock()
    clock.add(trace.time_us)
    if not clock.ticks(trace.meta.extra):
        raise TraceError(_said(trace, "there is no clock, so that it has no speed; give a trace with times"))
    time_us = np.rint(trace.time_us / speed).astype(np.int64)
    return replace(trace, time_us=time_us, meta=recorded(trace.meta, "faster", {"speed": float(speed)}))


def pieces(trace: Trace, row: I64, start: I64, stop: I64, meta: TraceMeta) -> Trace:
    """Parts of requests, on the trace's clock; the latency of a part that is not a whole request is unknown.

    Args:
        trace: any.
        row: int64[k] the request of each part, never falling.
        start: int64[k] its first byte.
        stop: int64[k] past its last.
        meta: of the result.
    """
    part = _picked(trace, row)
    if part.latency_us is not None:
        whole = trace.size[row] == stop - start
        part = replace(part, latency_us=np.where(whole, part.latency_us, UNKNOWN_LATENCY))
    return replace(part, offset=start, size=stop - start, meta=meta)


def sample_objects(trace: ObjectTrace, rate: float, seed: int) -> ObjectTrace:
    """All requests of a part of the objects, chosen by a hash of the key.

    An object is in or out by its key and the seed alone, so that the same objects are chosen in every trace that names
    them alike. A cache of rate * C bytes behaves on the sample about as one of C bytes on the trace. Source: SHARDS,
    Waldspurger et al., FAST '15.

    Args:
        trace: any of objects.
        rate: expected part of the objects, above 0 and at most 1.
        seed: another seed, another choice.

    Returns:
        The sample on the trace's clock. Recorded: objects and accesses seen and chosen, and `expected_error` as of
        `sample`, of accesses to objects.

    Raises:
        ConfigError: the rate is out of range.
        TraceError: the trace is empty, or no object is chosen.
    """
    if not 0 < rate <= 1:
        raise ConfigError(_said(trace, f"rate is {rate}; give a number above 0, at most 1"))
    if len(trace) == 0:
        raise TraceError(_said(trace, "the trace is empty; give one with at least one request"))
    hashes = _key_hashes(trace, seed)
    chosen = _chosen(hashes, rate)
    ids, objects = trace.numbered()
    each = np.ones(len(trace), np.int64) if trace.count is None else trace.count.astype(np.int64)
    accesses = np.bincount(ids, each, objects)
    if not chosen.any():
        raise TraceError(_said(trace, f"none of its {objects} objects is chosen: raise rate {rate}"))
    total, spread = float(accesses.sum()), sqrt(float((accesses**2).sum()))
    said = {"rate": float(rate), "seed": seed, "requests": len(trace), "objects": objects}
    said |= {"objects_chosen": len(np.unique(ids[chosen])), "accesses": int(total)}
    said |= {"accesses_chosen": int(each[chosen].sum()), "expected_error": sqrt((1 - rate) / rate) * spread / total}
    part = _picked(trace, np.flatnonzero(chosen))
    return replace(part, meta=recorded(trace.meta, "sample", said))


def _key_hashes(trace: ObjectTrace, seed: int) -> U64:
    """A 64-bit number for each request, of its key and the seed alone."""
    if trace.key_names is None:
        return _mixed(_digests([json.dumps([seed, "key"])]), trace.key)
    return _digests([json.dumps([seed, name]) for name in trace.key_names])[trace.key]


def _digests(texts: Sequence[str]) -> U64:
    """A 64-bit number for each text, of it alone."""
    digests = [sha256(text.encode()).digest()[:8] for text in texts]
    return np.array([int.from_bytes(digest, "little") for digest in digests], np.uint64)


def _picked(trace: AnyTrace, rows: I64) -> AnyTrace:
    """The rows at their times, with the names that occur in them."""
    part = trace.take(rows)
    if isinstance(part, ObjectTrace):
        return part.trimmed()
    columns = {name: getattr(part, name) for name in CODED_COLUMNS}
    return replace(part, **{name: column.part(0, len(rows)) for name, column in columns.items() if column is not None})


def split(trace: AnyTrace, at: Sequence[float], unit: str = "fraction") -> list[AnyTrace]:
    """Parts in time, one after the other.

    Args:
        trace: any.
        at: where to cut, rising: (0.7, 0.85) makes three parts.
        unit: ``fraction`` of the number of requests, or ``seconds`` on the trace's clock.

    Returns:
        One part more than there are cuts, called `<trace id>.1`, `<trace id>.2`, …; each with times counted from
        its first request and the names that occur in it.

    Raises:
        ConfigError: unknown unit, cuts that do not rise or lie outside.
        TraceError: a part would be empty.
    """
    if unit not in ("fraction", "seconds"):
        raise ConfigError(_said(trace, f"unit {unit} is unknown; give fraction or seconds"))
    top = 1.0 if unit == "fraction" else float("inf")
    if not at or not all(a < b for a, b in zip([0.0, *at], [*at, top], strict=True)):
        raise ConfigError(_said(trace, f"cuts at {list(at)} {unit}; give one or more, rising, above 0 and below {top}"))
    n = len(trace)
    if unit == "fraction":
        inner: list[int] = [int(fraction * n) for fraction in at]  # as the parts of a trace by role
    else:
        inner = np.searchsorted(trace.time_us, [_microseconds(trace, "a cut", value) for value in at]).tolist()
    edges, parts = [0, *inner, n], []
    for index, (a, b) in enumerate(pairwise(edges), 1):
        if a >= b:
            raise TraceError(_said(trace, f"part {index} of cuts at {list(at)} {unit} has no request: move the cuts"))
        said = {"at": [float(value) for value in at], "unit": unit, "part": index, "rows": [a, b]}
        meta = recorded(replace(trace.meta, trace_id=f"{trace.meta.trace_id}.{index}"), "split", said)
        parts.append(replace(trace.rows(a, b), meta=meta))
    return parts


def split_by(trace: AnyTrace, column: str) -> dict[str, AnyTrace]:
    """The requests of each value of a coded column.

    Args:
        trace: any.
        column: ``volume``, ``namespace``, ``user``, ``host`` or ``source``.

    Returns:
        By value, in the order of the column's names: a trace called `<trace id>.<value>` on the clock of the whole.
        Values that do not occur are left out, as are requests without one.

    Raises:
        ConfigError: no such column, or the trace has none.
    """
    coded = getattr(trace, column, None) if column in SPLIT_COLUMNS else None
    if coded is None:
        has = ", ".join(name for name in SPLIT_COLUMNS if getattr(trace, name, None) is not None)
        raise ConfigError(_said(trace, f"there is no column {column} to split by; the trace has {has}"))
    order = np.argsort(coded.codes, kind="stable")
    edges = np.searchsorted(coded.codes[order], np.arange(len(coded.names) + 1)).tolist()
    parts = {}
    for name, a, b in zip(coded.names, edges[:-1], edges[1:], strict=True):
        if a < b:
            meta = recorded(trace.meta, "split_by", {"column": column, "value": name})
            parts[name] = replace(_picked(trace, order[a:b]), meta=replace(meta, trace_id=f"{meta.trace_id}.{name}"))
    return parts

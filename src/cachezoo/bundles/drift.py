"""How far a trace has drifted from what a bundle's model learned: each input is compared with training.

Of kind streams that is the stream of each write: chunks that hold other data than in training, or none that was seen,
move the shares of the streams. Of kind virtual it is the place of each page access in the model's queue. A workload
classifier is held against the category whose training the trace is most like.

The distance of a number is the largest by which its cumulative distribution leaves the deciles of training
(Kolmogorov and Smirnov's, as far as eleven values know it: ties in training never count as drift). That of a code is
the share of requests that would have to carry another one (total variation). Names of namespaces and users that a trace
cannot have, as one of a block device has none, are no drift: such inputs are left out, and said to be.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.arrays import F32, F64
from cachezoo.bundles.reader import Bundle
from cachezoo.bundles.watched import CACHING, WORKLOAD, learned_name, watched, watched_features
from cachezoo.errors import BundleError
from cachezoo.kernels.deaths import AGE
from cachezoo.kernels.virtual.queues import moves
from cachezoo.serving.history import NAMED
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.table import OP_READ, OP_WRITE
from cachezoo.zoo.streams.serve import PAGE_BYTES, by_lifetime
from cachezoo.zoo.virtual.serve import fitted_to, profile_of

if TYPE_CHECKING:
    from rich.table import Table

TENTHS = 10
MOVED, DRIFTED = 0.1, 0.25
SERVED, STREAMS, VIRTUAL = "admission", "streams", "virtual"
IN_QUEUE = "place in the queue"
KINDS = (SERVED, CACHING, WORKLOAD, STREAMS, VIRTUAL)


@dataclass(frozen=True)
class Input:
    """One input on a trace."""

    name: str
    distance: float  # from training, in [0, 1]
    outside: float  # share of requests below the least or above the largest value of training; of a code, unknown ones
    outside_before: float  # the same in training: 0, or the unknown ones

    @property
    def verdict(self) -> str:
        """Same, moved or drifted."""
        return "drifted" if self.distance > DRIFTED else "moved" if self.distance > MOVED else "same"


@dataclass(frozen=True)
class Drift:
    """A trace compared with a bundle's training."""

    reads: int  # looked at; 0 of a kind that looks at all requests, or at writes
    inputs: tuple[Input, ...]  # by falling distance
    admitted: float | None  # share of the reads that the model would admit; None of a kind that admits nothing
    placed: "Placed | None" = None  # of kind streams, which looks at writes; None of the others
    left_out: tuple[str, ...] = ()  # inputs that the trace cannot have
    requests: int = 0  # looked at, by a kind that looks at reads and writes
    like: str | None = None  # of kind workload, the category whose training the trace is most like


@dataclass(frozen=True)
class Placed:
    """Where a dictionary of streams puts a trace's writes."""

    writes: int  # write requests
    stream_0: float  # share of them that goes to stream 0: its own chunks, and those that were not learned
    stream_0_before: float  # the same in training
    beyond: (
        float  # share that begins beyond the last chunk that was learned; by lifetime, in a page never written before
    )
    several_chunks: (
        float  # share that spans more than one chunk, by lifetime page; a chunk's first byte decides for all
    )
    by_lifetime: bool  # a forest places each page by what was written before
    other_streams: float  # share whose last byte's chunk or page is of another stream than the first byte's


def drift(bundle: Bundle, batch: RequestBatch) -> Drift:
    """Compute a model's inputs on what it decides on in a trace, and compare each with training.

    These are the reads of kind admission, the writes of streams, all requests of the others.

    Args:
        bundle: of one of `KINDS`.
        batch: the trace, from its first request on.

    Raises:
        BundleError: the bundle states no distribution, or is of another kind; or the trace has nothing to decide on.
    """
    if bundle.kind == STREAMS:
        return _placed(bundle, batch)
    if bundle.kind == VIRTUAL:
        return _queued(bundle, batch)
    deciles = bundle.manifest["measured"].get("inputs")
    if bundle.kind not in KINDS or not deciles:
        message = f"states no distribution of its inputs; give a bundle of this release or later, of kind {_any_of()}"
        raise BundleError(f"{bundle.where}: {message}")
    return _served(bundle, batch, deciles) if bundle.kind == SERVED else _stepped(bundle, batch, deciles)


def _any_of() -> str:
    *most, last = KINDS
    return f"{', '.join(most)} or {last}"


def _served(bundle: Bundle, batch: RequestBatch, deciles: Mapping[str, Sequence[float]]) -> Drift:
    """Compare a forest's inputs on reads.

    Raises:
        BundleError: the trace has no reads.
    """
    read = batch.op == OP_READ
    if not read.any():
        raise BundleError(f"{bundle.where}: the trace has no reads, which the model decides on")
    serving = bundle.serving()
    rows = serving.features(batch)
    admitted = float(serving.decide(rows)[read].mean()) if bundle.kind == "admission" else None
    own, left_out = [], []
    for k, entry in enumerate(bundle.manifest["features"]):
        if _cannot_be(entry, batch, rows[read, k]):
            left_out.append(str(entry["name"]))
        else:
            own.append(_input(entry, deciles[entry["name"]], rows[read, k]))
    return Drift(int(read.sum()), _ordered(own), admitted, left_out=tuple(left_out))


def _stepped(bundle: Bundle, batch: RequestBatch, deciles: Mapping[str, Sequence[float]]) -> Drift:
    """Compare an LSTM's inputs on all requests; of one that tells categories apart, with the likest.

    Raises:
        BundleError: the trace has no request, or of kind workload no whole window of them.
    """
    rows = watched(bundle.manifest, batch)
    if not len(rows):
        what = f"window of {bundle.manifest['policy']['window']} requests" if bundle.kind == WORKLOAD else "request"
        raise BundleError(f"{bundle.where}: the trace has no whole {what}, which the model looks at; give a longer one")
    entries = [feature.model_dump() for feature in watched_features(bundle.manifest)]
    stated = {name.rpartition("/")[0] or None for name in deciles}
    found = {
        category: _ordered(
            _input(entry, deciles[learned_name(category, entry["name"])], rows[:, k]) for k, entry in enumerate(entries)
        )
        for category in sorted(stated, key=str)
    }
    like = min(found, key=lambda category: sum(one.distance for one in found[category]))
    return Drift(0, found[like], None, requests=len(rows), like=like)


def _queued(bundle: Bundle, batch: RequestBatch) -> Drift:
    """Compare where page accesses find their page in a virtual cache's queue.

    Raises:
        BundleError: the trace has no request, or the model has no profile.
    """
    serving, pages = bundle.serving(), batch.pages()
    if not len(pages.page_ids) or not serving.profile.any():
        what = "the trace has no page access" if serving.profile.any() else "states no profile of its queue"
        raise BundleError(f"{bundle.where}: {what}, so there is nothing to compare")
    fragment = serving.settings.fragment
    fragments = serving.pages // fragment
    position = moves(serving.queue, pages.page_ids, pages.n_pages, serving.pages).position
    before, now = fitted_to(serving.profile, fragments), profile_of(position, fragments, fragment)
    absent, absent_before = (max(0.0, 1.0 - float(rates.sum())) for rates in (now, before))
    distance = (float(np.abs(now - before).sum()) + abs(absent - absent_before)) / 2
    return Drift(0, (Input(IN_QUEUE, distance, absent, absent_before),), None, requests=len(batch))


def _ordered(found: Iterable[Input]) -> tuple[Input, ...]:
    return tuple(sorted(found, key=lambda one: -one.distance))


def _cannot_be(entry: Mapping[str, object], batch: RequestBatch, column: F32) -> bool:
    """Whether an input reads names that the trace has not; volumes stand for namespaces where the model knows them."""
    name = str(entry["formula"]).partition(".")[2]
    return entry["formula"] in NAMED and getattr(batch, name) is None and bool((column < 0).all())


def _placed(bundle: Bundle, batch: RequestBatch) -> Drift:
    """Compare the streams of a trace's writes with those of training.

    Raises:
        BundleError: the trace has no writes.
    """
    write = batch.op == OP_WRITE
    if not write.any():
        raise BundleError(f"{bundle.where}: the trace has no writes, which the model places")
    serving, offset, size = bundle.serving(), batch.offset[write], batch.size[write]
    if by_lifetime(bundle.manifest):
        rows = serving.features(batch)
        streams = serving.decide(batch, rows)
        ends_at = np.cumsum((offset + size - 1) // PAGE_BYTES - offset // PAGE_BYTES + 1)
        begins_at = np.append(0, ends_at[:-1])
        first, last, counted = streams[begins_at], streams[ends_at - 1], streams
        chunks, ends, beyond = begins_at, ends_at - 1, rows[begins_at, AGE] < 0
    else:
        first, last = serving.placements(offset), serving.placements(offset + size - 1)
        chunks, ends = serving.chunks(offset), serving.chunks(offset + size - 1)
        beyond, counted = chunks >= serving.learned_end, first
    before = np.asarray(bundle.manifest["calibration"]["writes_by_stream"], np.float64)
    before = before / max(before.sum(), 1.0)
    now = np.bincount(counted, minlength=len(before)) / len(counted)
    placed = Placed(
        writes=len(first),
        stream_0=float(now[0]),
        stream_0_before=float(before[0]),
        beyond=float(beyond.mean()),
        by_lifetime=by_lifetime(bundle.manifest),
        several_chunks=float((ends > chunks).mean()),
        other_streams=float((last != first).mean()),
    )
    stream = Input("stream", float(np.abs(now - before).sum() / 2), placed.stream_0, placed.stream_0_before)
    return Drift(0, (stream,), None, placed)


def retrain_command(traces: str, category: str) -> str:
    """The command that fits traces in and lets the models made of it challenge.

    Args:
        traces: files, with spaces between them.
        category: what they are of.
    """
    return f'make retrain TRACES="{traces}" CATEGORY={category}'


def _input(entry: Mapping[str, object], learned: Sequence[float], column: F32) -> Input:
    name = str(entry["name"])
    values = np.asarray(learned, np.float64)
    if entry["encoding"] == "number":
        below, above = float((column < values[0]).mean()), float((column > values[-1]).mean())
        return Input(name, decile_distance(values, column), below + above, 0.0)
    counts = np.bincount(column.astype(np.int64) + 1, minlength=len(values)).astype(np.float64)
    before = np.append(values, np.zeros(len(counts) - len(values))) / values.sum()
    now = counts / counts.sum()
    return Input(name, float(np.abs(now - before).sum() / 2), float(now[0]), float(before[0]))


def decile_distance(deciles: F64, column: F32) -> float:
    """How far a column's cumulative distribution leaves eleven values of another's.

    Args:
        deciles: float64[11], least, deciles, largest: at least k tenths are at or below the k-th, no more below it.
        column: float32[n].
    """
    ordered = np.sort(column)
    below = np.searchsorted(ordered, deciles.astype(np.float32), "left") / len(column)
    up_to = np.searchsorted(ordered, deciles.astype(np.float32), "right") / len(column)
    shares = np.arange(TENTHS + 1) / TENTHS
    return float(np.maximum(np.maximum(shares - up_to, below - shares), 0.0).max())


def table_of(found: Drift, title: str) -> "Table":
    """For the terminal."""
    from rich.table import Table

    from cachezoo.show.formats import number, percent

    outside_is = "outside training" if found.placed is None else "stream 0: its own, or not learned"
    outside_is = "not in the queue" if found.inputs[0].name == IN_QUEUE else outside_is
    table = Table("input", "distance", outside_is, "verdict", title=title)
    for one in found.inputs:
        outside = percent(one.outside) + (f" (was {percent(one.outside_before)})" if one.outside_before else "")
        table.add_row(one.name, number(one.distance, 2), outside, one.verdict)
    return table

"""Inputs of the caching LSTM: one code for training and serving, numpy only.

A workload classifier takes some of `REQUEST_FORMULAS`, as the paper's does, or those of `cachezoo.features.window`.

Every value comes from the present request and the ones before it. Formulas (`Feature.formula`):
    time.log1p_gap          ln(1 + µs since the previous request)
    address.slog_delta      ± log2(1 + sectors between the previous request's end and this one's start)
    address.page            4 KiB page of the start; mean and scale make it the fraction of the trained range
    size.log2_bytes         log2 of the size
    request.op              0 read, 1 write
    address.run             log2(1 + requests so far that each began where the one before ended)
    history.age             log2 of the page accesses since a page's last, over the capacity
    history.fresh           share of the request's pages never seen, or forgotten
    history.count           log2(1 + accesses so far)
    history.past_gap        log2 of the page accesses between a page's last two, over the capacity
    history.written         share of pages whose last access was a write
    region.age              log2 of the page accesses since the address region's last, over the capacity
    capacity.ratio          log2(capacity / distinct pages of the recent window)
    history.heat            log2(1 + accesses so far, each halved every capacity of page accesses)
    history.long_heat       the same, halved every eight capacities
    region.heat             log2(1 + page accesses of the address region, halved every capacity)
    feedback.cached         1 if the previous request was cached, or was a hit
    feedback.soon .mean .late   1 for the queue its page is in

A request's pages are averaged. A page without history counts as last used `memory` page accesses ago. Ages, counts
and heats go beyond the paper's five inputs: without a page's past no model can know its reuse.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, F64
from cachezoo.errors import ConfigError
from cachezoo.kernels import sequence as kernel
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.pages import PageAccesses

# name, formula, unit, column of the kernel's common table (or, from 100, of the capacity's), minus log2(capacity)?
_SIZED = 100
_REQUEST = (
    ("gap", "time.log1p_gap", "ln µs", kernel.GAP, False),
    ("delta", "address.slog_delta", "log2 sectors", kernel.DELTA, False),
    ("address", "address.page", "pages", kernel.ADDRESS, False),
    ("size", "size.log2_bytes", "log2 bytes", kernel.SIZE, False),
    ("op", "request.op", "0 read, 1 write", kernel.OP, False),
)
_HISTORY = (
    ("run", "address.run", "log2 requests", kernel.RUN, False),
    ("age", "history.age", "log2 capacities", kernel.AGE, True),
    ("fresh", "history.fresh", "share", kernel.FRESH, False),
    ("count", "history.count", "log2 accesses", kernel.COUNT, False),
    ("past_gap", "history.past_gap", "log2 capacities", kernel.PAST_GAP, True),
    ("written", "history.written", "share", kernel.WRITTEN, False),
    ("region_age", "region.age", "log2 capacities", kernel.REGION_AGE, True),
    ("ratio", "capacity.ratio", "log2", _SIZED + kernel.RATIO, False),
    ("heat", "history.heat", "log2 accesses", _SIZED + kernel.HEAT, False),
    ("long_heat", "history.long_heat", "log2 accesses", _SIZED + kernel.LONG_HEAT, False),
    ("region_heat", "region.heat", "log2 accesses", _SIZED + kernel.REGION_HEAT, False),
)
_FEEDBACK = tuple((f"previous_{name}", f"feedback.{name}", "0 or 1") for name in ("cached", "soon", "mean", "late"))
REQUEST_FORMULAS = tuple(entry[1] for entry in _REQUEST)
OPEN_FORMULAS = tuple(entry[1] for entry in (*_REQUEST, *_HISTORY))
OPEN_WIDTH = len(OPEN_FORMULAS)
FEEDBACK_WIDTH = len(_FEEDBACK)
COMMON_NAMES = ("gap", "delta", "address", "size", "op", "run", "age", "fresh", "count", "past_gap", "written",
                "region_age")  # fmt: skip
SIZED_NAMES = ("ratio", "heat", "long_heat", "region_heat")
_ENTRIES = {entry[1]: entry for entry in (*_REQUEST, *_HISTORY)}
MIN_SCALE = 1e-3


@dataclass(frozen=True)
class Memory:
    """What a runtime has to remember, part of a bundle's `policy.memory`; fields as in `SequenceFeatures`."""

    memory_accesses: int
    window_accesses: int
    region_bytes: int
    region_bits: int
    clip: float

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Memory":
        """From a bundle's dict."""
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Columns:
    """Raw inputs of a trace's requests."""

    common: F32  # [n, 12], columns `COMMON_NAMES`
    sized: F32  # [K, n, 4] for each capacity, columns `SIZED_NAMES`
    capacities: F64  # [K] pages


def _in_one_piece(batch: RequestBatch) -> RequestBatch:
    """The batch with columns of numbers that the kernels can take: none skips from entry to entry."""
    return replace(
        batch,
        time_us=np.ascontiguousarray(batch.time_us),
        op=np.ascontiguousarray(batch.op),
        offset=np.ascontiguousarray(batch.offset),
        size=np.ascontiguousarray(batch.size),
    )


class RawColumns:
    """The raw inputs of requests, a piece of a trace after the other."""

    def __init__(self, n_pages: int, capacities: Sequence[float], memory: Memory) -> None:
        """Begin.

        Args:
            n_pages: distinct pages of all pieces.
            capacities: cache sizes in pages.
            memory: what is remembered.

        Raises:
            ConfigError: a capacity below 1.
        """
        self._sizes = np.asarray(capacities, np.float64)
        if not (self._sizes >= 1).all():
            raise ConfigError(f"capacities {list(capacities)}: a cache has at least one page")
        horizons = memory.memory_accesses, memory.window_accesses, memory.region_bytes, memory.region_bits
        self._columns = kernel.RequestColumns(n_pages, self._sizes, kernel.Horizons(*horizons))

    def serve(self, batch: RequestBatch, pages: PageAccesses) -> Columns:
        """Those of the next requests.

        Args:
            batch: requests.
            pages: their page accesses.
        """
        own = _in_one_piece(batch)
        requests = kernel.Requests(
            own.time_us, own.op, own.offset, own.size,
            np.ascontiguousarray(pages.request_start), np.ascontiguousarray(pages.page_ids),
        )  # fmt: skip
        return Columns(*self._columns.serve(requests), self._sizes)


def raw_columns(batch: RequestBatch, pages: PageAccesses, capacities: Sequence[float], memory: Memory) -> Columns:
    """The raw inputs of requests, from the first on, all at once.

    Args:
        batch: the requests.
        pages: their page accesses.
        capacities: cache sizes in pages.
        memory: what is remembered.

    Raises:
        ConfigError: a capacity below 1.
    """
    return RawColumns(pages.n_pages, capacities, memory).serve(batch, pages)


def request_columns(batch: RequestBatch) -> Columns:
    """Raw inputs that need no page's history, for models of kind ``workload``; no capacity enters them."""
    own = _in_one_piece(batch)
    common = kernel.plain_columns(own.time_us, own.op, own.offset, own.size)
    return Columns(common, np.zeros((0, len(common), kernel.N_SIZED), np.float32), np.zeros(0, np.float64))


def _column(columns: Columns, lane: int, formula: str) -> F64:
    _, _, _, place, relative = _ENTRIES[formula]
    values = columns.common[:, place] if place < _SIZED else columns.sized[lane, :, place - _SIZED]
    shift = math.log2(columns.capacities[lane]) if relative else 0.0
    return values.astype(np.float64) - shift


def moments(parts: list[F64], formula: str) -> tuple[float, float]:
    """Mean and scale of a column; an address is placed in the range it was trained on."""
    joined = np.concatenate(parts)
    if formula == "address.page":
        low, high = float(joined.min()), float(joined.max())
        return low, max(high - low, 1.0)
    mean = float(joined.mean())
    return mean, max(float(np.sqrt(np.mean((joined - mean) ** 2))), MIN_SCALE)


def _every_lane(parts: Sequence[Columns], formula: str) -> list[F64]:
    """A column of every trace, at every capacity where it depends on that."""
    _, _, _, place, relative = _ENTRIES[formula]
    lanes_differ = relative or place >= _SIZED
    return [
        _column(part, lane, formula) for part in parts for lane in range(len(part.capacities) if lanes_differ else 1)
    ]


def check_inputs(formulas: Sequence[str]) -> None:
    """Refuse inputs of a caching model that are none or come twice; tags are fed back by `model.caching.feedback`.

    Raises:
        ConfigError: it names the first.
    """
    for place, formula in enumerate(formulas):
        if formula not in _ENTRIES or formula in formulas[:place]:
            why = "twice" if formula in _ENTRIES else "no input of a request"
            raise ConfigError(f"model.caching.inputs: {formula} is {why}; choose among {', '.join(OPEN_FORMULAS)}")


def fit_features(parts: Sequence[Columns], formulas: Sequence[str], fed_back: bool = False) -> list[dict[str, Any]]:
    """The inputs in order with their normalisation, as plain dicts of `cachezoo.models.trained.Feature`.

    Args:
        parts: raw inputs of the train traces, and of no other.
        formulas: those to take, of `OPEN_FORMULAS`.
        fed_back: the previous request's tags are inputs too, behind the others.

    Raises:
        ConfigError: a formula that is none of `OPEN_FORMULAS`, or comes twice.
    """
    check_inputs(formulas)
    rows: list[dict[str, Any]] = []
    for formula in formulas:
        name, _, unit, _, _ = _ENTRIES[formula]
        mean, scale = moments(_every_lane(parts, formula), formula)
        rows.append({"name": name, "formula": formula, "unit": unit, "mean": mean, "scale": scale})
    if fed_back:
        rows += [{"name": n, "formula": f, "unit": u, "mean": 0.0, "scale": 1.0} for n, f, u in _FEEDBACK]
    return [{"encoding": "number", **row} for row in rows]


def input_ranges(parts: Sequence[Columns], features: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """The least and the greatest value of each input, in its unit, by its name; fed-back tags have none.

    Args:
        parts: raw inputs of the train traces, and of no other.
        features: the model's inputs, as `fit_features` gives them.
    """
    ranges = {}
    for entry in features:
        if entry["formula"] in _ENTRIES:
            columns = _every_lane(parts, entry["formula"])
            low, high = min(float(values.min()) for values in columns), max(float(values.max()) for values in columns)
            ranges[str(entry["name"])] = [low, high]
    return ranges


def check_formulas(features: Sequence[Mapping[str, Any]], known: Iterable[str] | None = None) -> None:
    """Refuse inputs that this release cannot compute.

    Args:
        features: the model's inputs, as in train.json or a manifest.
        known: formulas to accept; None takes every one that the module lists, the fed-back tags too.

    Raises:
        ConfigError: a formula that is not known.
    """
    accepted = {*_ENTRIES, *(entry[1] for entry in _FEEDBACK)} if known is None else set(known)
    for entry in features:
        if entry["formula"] not in accepted:
            raise ConfigError(f"feature {entry['name']}: formula {entry['formula']} is unknown; use a newer release")


def open_inputs(
    columns: Columns, lane: int, features: Sequence[Mapping[str, Any]], clip: float,
    ranges: Mapping[str, Sequence[float]] | None = None,
) -> F32:  # fmt: skip
    """Normalised inputs of one capacity, without the previous requests' tags.

    Args:
        columns: raw inputs.
        lane: which of its capacities.
        features: the model's inputs, as in train.json or a manifest.
        clip: normalised values are cut to ± this.
        ranges: least and greatest value of an input, in its unit, by its name; what lies outside is cut to them, so
            that a network meets no input beyond those it was trained on. An input without one is not cut.

    Returns:
        float32[n, F']: every feature that is not fed back, in order.

    Raises:
        ConfigError: a formula that this release does not know.
    """
    check_formulas(features)
    wanted = [entry for entry in features if not str(entry["formula"]).startswith("feedback.")]
    out = np.empty((len(columns.common), len(wanted)), np.float32)
    for place, entry in enumerate(wanted):
        values = _column(columns, lane, entry["formula"])
        if ranges is not None and entry["name"] in ranges:
            low, high = ranges[entry["name"]]
            values = np.clip(values, low, high)
        out[:, place] = np.clip((values - entry["mean"]) / entry["scale"], -clip, clip)
    return out


def feedback(tags_cached: npt.NDArray[Any], queue: npt.NDArray[Any]) -> F32:
    """The inputs that a tag becomes at the next request.

    Args:
        tags_cached: [n] 1 where cached or a hit.
        queue: [n] 0 none or unknown, 1 soon, 2 mean, 3 late.

    Returns:
        float32[n, 4].
    """
    out = np.zeros((len(queue), FEEDBACK_WIDTH), np.float32)
    out[:, 0] = tags_cached
    for place in (1, 2, 3):
        out[:, place] = queue == place
    return out

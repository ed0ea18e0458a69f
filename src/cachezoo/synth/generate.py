"""Requests drawn from a model."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I32, I64, Bool
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.slots import COLD, HOT, NEAR_BYTES, NEAR_COLD, NEAR_REUSE
from cachezoo.kernels.synth import chain, generate
from cachezoo.seeds import derive_seed
from cachezoo.synth.fit import LEAST
from cachezoo.synth.hot import copies, draw_hot
from cachezoo.synth.model import (
    CLASSES,
    KINDS,
    Counts,
    HotPlace,
    SynthModel,
    distance_of,
    log2_of_count,
    octave_of_size,
)
from cachezoo.synth.times import draw_times
from cachezoo.traces.table import PAGE_BYTES, Trace, TraceMeta

MOST_REQUESTS = 2**30
APART_PAGES = NEAR_BYTES // PAGE_BYTES + 2  # so that no run seems to go on from one stretch to another


def synthetic(
    model: SynthModel, seed: int, requests: int | None = None, seconds: float | None = None, scale: float = 1.0
) -> Trace:
    """A trace with a model's statistics.

    Args:
        model: fitted to a trace.
        seed: another seed, another trace; the same seed, the same bytes.
        requests: how many; None: as many as the trace had, times the scale.
        seconds: its span; None: the trace's.
        scale: times as many requests over times as many pages.

    Raises:
        ConfigError: too few or too many requests, or a model whose parts do not go together.
    """
    n = round(model.requests * scale) if requests is None else requests
    if not LEAST <= n <= MOST_REQUESTS:
        raise ConfigError(f"{n} requests: give {LEAST} to {MOST_REQUESTS} with --requests or --scale")
    classes = _classes(model, _random(seed, "classes"), n)
    kind = (classes % KINDS).astype(np.uint8)
    drawn = _drawn(model, classes, _random(seed, "requests"))
    hot = _Places.of(copies(model.hot, scale), len(model.volumes))
    fixed, into = _hot(hot, classes, drawn, _random(seed, "hot"))
    page, shift, own, begun = generate(
        kind, drawn.size, drawn.align, drawn.distance * scale, drawn.wanted, drawn.lag.astype(np.int32), drawn.ahead,
        drawn.aligned.astype(np.uint8), drawn.whole.astype(np.uint8), drawn.alike.astype(np.uint8),
        drawn.volume.astype(np.int32), _random(seed, "regions").random(n), fixed, hot.reserved,
    )  # fmt: skip
    span = round(model.span * scale)
    span_us = round((model.seconds if seconds is None else seconds) * 1e6)
    regions = np.concatenate([page[begun], (page - into)[kind == HOT]])
    offset = placed(page, shift, drawn.size, own, regions, span, _random(seed, "places"))
    digest = hashlib.sha256(json.dumps(model.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()
    asked = {"seed": str(seed), "requests": str(n), "scale": f"{scale:g}"}
    return Trace(
        time_us=draw_times(model.times, n, span_us, _random(seed, "times")),
        op=(classes // KINDS).astype(np.uint8),
        offset=offset,
        size=drawn.size,
        volume=Coded(own, tuple(f"volume{k}" for k in range(len(model.volumes)))),
        meta=TraceMeta("synthetic", "synthetic", "synth", digest, "unstated", asked),
    )


def placed(page: I64, shift: I64, size: I64, volume: I32, regions: I64, span: int, random: np.random.Generator) -> I64:
    """Offsets of requests whose regions lie packed: regions that no request leaves are shuffled over each volume.

    Args:
        page: int64[n] first pages, in one space for all volumes.
        shift: int64[n] bytes from the page's start on.
        size: int64[n] bytes.
        volume: int32[n].
        regions: int64[r] pages at which regions begin, that of each request among them; each holds a request.
        span: pages from the lowest address of a trace to its highest, all volumes; held where it has the room.
        random: draws the order.

    Returns:
        int64[n] bytes.
    """
    stop = page + (shift + size - 1) // PAGE_BYTES + 1
    starts = np.unique(regions)
    first, final = (np.searchsorted(starts, at, side="right") - 1 for at in (page, stop - 1))
    of_volume = np.zeros(len(starts), np.int32)
    of_volume[first] = volume
    tied = np.zeros(len(starts) + 1, np.int64)  # to the region before, by a request that lies in both
    across = final > first
    np.add.at(tied, first[across] + 1, 1)
    np.add.at(tied, final[across] + 1, -1)
    apart = np.cumsum(tied)[:-1] == 0
    group = np.cumsum(apart) - 1
    low = starts[apart]
    high = np.zeros(len(low), np.int64)
    np.maximum.at(high, group[final], stop)
    hole = max(APART_PAGES, (span - int((high - low).sum())) // len(low))
    shuffled = np.lexsort((random.random(len(low)), of_volume[apart]))
    lengths = (high - low + hole)[shuffled]
    place = np.cumsum(lengths) - lengths
    same = of_volume[apart][shuffled]
    place -= place[np.searchsorted(same, same, side="left")]  # each volume begins at 0
    begin = np.empty(len(low), np.int64)
    begin[shuffled] = place
    own = group[first]
    found: I64 = (begin[own] + page - low[own]) * PAGE_BYTES + shift
    return found


def _random(seed: int, part: str) -> np.random.Generator:
    return np.random.default_rng(derive_seed(seed, "synth", part))


def _choice(weights: list[float] | list[int], draw: F64) -> I64:
    """An index for each draw, by weight."""
    cumulative = np.cumsum(np.asarray(weights, np.float64))
    found = np.searchsorted(cumulative, draw * cumulative[-1], side="right")
    index: I64 = np.minimum(found.astype(np.int64), len(cumulative) - 1)
    return index


def _classes(model: SynthModel, random: np.random.Generator, n: int) -> I64:
    """Classes in order; a class that a phase never left goes on as the phase's classes do altogether.

    Raises:
        ConfigError: a class follows that the model does not describe.
    """
    counts = np.asarray(model.phases, np.float64)
    if counts.shape[1:] != (CLASSES, CLASSES) or not counts.any():
        raise ConfigError(f"the model's phases hold no counts of {CLASSES} classes; make it with trace synth --model")
    whole = counts.sum(axis=(0, 1))
    of_phase = counts.sum(axis=1)
    of_phase = np.where(of_phase.sum(axis=1, keepdims=True) > 0, of_phase, whole)
    rows = np.where(counts.sum(axis=2, keepdims=True) > 0, counts, of_phase[:, None, :])
    cumulative = np.cumsum(rows, axis=2)
    cumulative /= cumulative[:, :, -1:]
    first = next((own for own in range(CLASSES) if own % KINDS == COLD and whole[own] > 0), 0)
    found = chain(cumulative, first, random.random(n)).astype(np.int64)
    used = {use.op for place in model.hot for use in place.uses}
    for own in np.unique(found).tolist():
        if str(own) not in model.classes and not (own % KINDS == HOT and own // KINDS in used):
            raise ConfigError(f"the model's phases lead to class {own}, which it does not describe; make it again")
    return found


@dataclass(frozen=True)
class _Places:
    """Hot places, one behind the other at the begin of their volumes."""

    known: list[HotPlace]  # of the model, `begin` and `volume` as many
    begin: I64  # int64[k] pages from the volume's begin on
    volume: I64  # int64[k]
    reserved: I64  # int64[v] pages of each volume

    @classmethod
    def of(cls, known: list[HotPlace], volumes: int) -> "_Places":
        """Lay them out."""
        volume = np.array([min(place.volume, volumes - 1) for place in known], np.int64)
        begin, reserved = np.zeros(len(known), np.int64), np.zeros(volumes, np.int64)
        for own, place in enumerate(known):
            begin[own] = reserved[volume[own]]
            reserved[volume[own]] += place.pages
        return cls(known, begin, volume, reserved)


def _hot(places: _Places, classes: I64, drawn: "_Drawn", random: np.random.Generator) -> tuple[I64, I64]:
    """Fill in what hot requests ask for; returns bytes from their volume's begin on, and pages from the place's."""
    fixed, into = np.zeros((2, len(classes)), np.int64)
    for op in (0, 1):
        of = np.flatnonzero(classes == op * KINDS + HOT)
        if not len(of):
            continue
        found = draw_hot(places.known, op, of / len(classes), random)
        fixed[of] = places.begin[found.place] * PAGE_BYTES + found.offset
        into[of] = found.offset // PAGE_BYTES
        drawn.size[of], drawn.volume[of] = found.size, places.volume[found.place]
    return fixed, into


@dataclass(frozen=True)
class _Drawn:
    """What n requests ask for, see `cachezoo.kernels.synth.generate`."""

    size: I64
    align: I64
    lag: I64
    ahead: I64
    volume: I64
    distance: F64
    wanted: F64
    aligned: Bool
    whole: Bool
    alike: Bool

    @classmethod
    def nothing(cls, n: int) -> "_Drawn":
        """To be filled in."""
        size, align, lag, ahead, volume = np.zeros((5, n), np.int64)
        aligned, whole, alike = np.zeros((3, n), np.bool_)
        return cls(size, align, lag, ahead, volume, np.zeros(n), np.zeros(n), aligned, whole, alike)


def _drawn(model: SynthModel, classes: I64, random: np.random.Generator) -> _Drawn:
    """What each request asks for, by its class."""
    found = _Drawn.nothing(len(classes))
    for own in range(CLASSES):
        of = np.flatnonzero(classes == own)
        if not len(of) or own % KINDS == HOT:
            continue
        known = model.classes[str(own)]
        found.size[of], found.align[of] = _pair(known.sizes, random.random(len(of)))
        found.volume[of] = np.minimum(_choice(known.volumes, random.random(len(of))), len(model.volumes) - 1)
        if own % KINDS in (NEAR_COLD, NEAR_REUSE):
            found.lag[of], found.ahead[of] = _pair(known.runs, random.random(len(of)))
        octaves = octave_of_size(found.size[of])
        found.aligned[of] = random.random(len(of)) < _by_octave(known.aligned, octaves)
        found.whole[of] = random.random(len(of)) < _by_octave(known.whole, octaves)
        found.alike[of] = random.random(len(of)) < _by_octave(known.alike, octaves)
        if known.reuse:
            bins, counts = _reuse(known.reuse, octaves, random)
            found.distance[of] = distance_of(bins, random.random(len(of)))
            found.wanted[of] = log2_of_count(counts)
    return found


def _pair(counts: Counts, draw: F64) -> tuple[I64, I64]:
    table = np.asarray(counts, np.int64).reshape(-1, 3)
    chosen = table[_choice(table[:, 2].tolist(), draw)]
    return chosen[:, 0], chosen[:, 1]


def _nearest(known: Iterable[str], octaves: I64) -> I64:
    """The known octave nearest to each: a pair counted to its neighbour may have another."""
    keys = np.asarray(sorted(map(int, known)), np.int64)
    found: I64 = keys[np.argmin(np.abs(keys[None, :] - octaves[:, None]), axis=1)]
    return found


def _by_octave(shares: Mapping[str, float], octaves: I64) -> F64:
    nearest = _nearest(shares, octaves)
    of = np.zeros(int(nearest.max()) + 1)
    for key, value in shares.items():
        if int(key) < len(of):
            of[int(key)] = value
    found: F64 = of[nearest]
    return found


def _reuse(known: Mapping[str, Counts], octaves: I64, random: np.random.Generator) -> tuple[I64, I64]:
    bins, counts = np.zeros(len(octaves), np.int64), np.zeros(len(octaves), np.int64)
    nearest = _nearest(known, octaves)
    for octave, table in sorted(known.items()):
        of = np.flatnonzero(nearest == int(octave))
        if len(of):
            bins[of], counts[of] = _pair(table, random.random(len(of)))
    return bins, counts

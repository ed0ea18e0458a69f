"""A trace's statistics as a model that others like it are drawn from."""

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64
from cachezoo.errors import TraceError
from cachezoo.kernels.slots import HOT, NEAR_COLD, NEAR_REUSE, REUSE, observe
from cachezoo.synth.hot import find_hot, fit_hot
from cachezoo.synth.model import CLASSES, KINDS, Counts, OfClass, SynthModel, count_bin, distance_bin, octave_of_size
from cachezoo.synth.times import fit_times
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import PAGE_BYTES, Trace

PHASES, REQUESTS_A_PHASE = 32, 1000
SIZES, RUNS = 2048, 1024
LEAST = 2


def fit(trace: Trace, pages: PageAccesses) -> SynthModel:
    """Fit a model.

    Args:
        trace: the requests; at least two.
        pages: their page accesses.

    Raises:
        TraceError: too few requests.
    """
    n = len(trace)
    if n < LEAST:
        raise TraceError(f"{trace.meta.trace_id}: {n} requests, and a synthetic trace is fitted to {LEAST} at least")
    seen = observe(pages.request_start, pages.page_ids, pages.n_pages, trace.volume.codes, trace.offset, trace.size)
    kind, distance, earlier, lag, ahead, aligned, whole, alike = seen
    hot = find_hot(trace, pages, lag > 0)
    classes = trace.op.astype(np.int64) * KINDS + np.where(hot.place >= 0, HOT, kind)
    bins = np.where(distance < 0, 0, distance_bin(np.maximum(distance, 0)))
    octaves, counts = octave_of_size(trace.size), count_bin(earlier.astype(np.int64))
    volume, count = _ranked(trace.volume.codes)
    found = {}
    for own in np.unique(classes[hot.place < 0]).tolist():
        of = classes == own
        near = own % KINDS in (NEAR_COLD, NEAR_REUSE)
        found[str(own)] = OfClass(
            sizes=_pairs(trace.size[of], trace.offset[of] % PAGE_BYTES, SIZES),
            volumes=_volumes(volume[of], count),
            runs=_pairs(lag[of].astype(np.int64), ahead[of], RUNS) if near else [],
            reuse=_by_octave(octaves[of], bins[of], counts[of]) if own % KINDS in (NEAR_REUSE, REUSE) else {},
            aligned=_shares(octaves[of], aligned[of]),
            whole=_shares(octaves[of], whole[of]),
            alike=_shares(octaves[of], alike[of]),
        )
    phases = int(np.clip(n // REQUESTS_A_PHASE, 1, PHASES))
    return SynthModel(
        requests=n,
        seconds=float(trace.time_us[-1] - trace.time_us[0]) / 1e6,
        pages=pages.n_pages,
        span=_span(trace),
        times=fit_times(trace.time_us),
        phases=_transitions(classes, phases),
        classes=found,
        hot=fit_hot(trace, hot, volume, phases),
        volumes=_volumes(volume, count),
    )


def _span(trace: Trace) -> int:
    """Pages from each volume's lowest address to its highest."""
    lowest = np.full(len(trace.volume.names), np.iinfo(np.int64).max)
    highest = np.zeros(len(trace.volume.names), np.int64)
    np.minimum.at(lowest, trace.volume.codes, trace.offset // PAGE_BYTES)
    np.maximum.at(highest, trace.volume.codes, (trace.offset + trace.size - 1) // PAGE_BYTES + 1)
    return int((highest - lowest)[highest > 0].sum())


def _ranked(codes: npt.NDArray[np.int32]) -> tuple[I64, int]:
    """Volumes numbered by their requests, the busiest first, and how many have any."""
    counts = np.bincount(codes)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], int(np.count_nonzero(counts))


def _volumes(volume: I64, count: int) -> list[float]:
    return [round(float(share), 6) for share in np.bincount(volume, minlength=count) / len(volume)]


def _pairs(first: I64, second: I64, most: int) -> Counts:
    """The most frequent pairs and how often; of the others, those of the nearest kept first value are counted to it."""
    pairs, inverse, counts = np.unique(np.stack([first, second], 1), axis=0, return_inverse=True, return_counts=True)
    if len(pairs) > most:
        kept = np.sort(np.argsort(-counts, kind="stable")[:most])
        values = pairs[kept, 0]
        right = np.clip(np.searchsorted(values, pairs[:, 0]), 0, len(values) - 1)
        left = np.maximum(right - 1, 0)
        nearer = np.abs(values[left] - pairs[:, 0]) < np.abs(values[right] - pairs[:, 0])
        to = np.where(nearer, left, right)
        to[kept] = np.arange(len(kept))
        counts = np.bincount(to[inverse.reshape(-1)], minlength=len(kept))
        pairs = pairs[kept]
    return [(int(a), int(b), int(count)) for (a, b), count in zip(pairs, counts, strict=True)]


def _by_octave(octaves: I64, bins: I64, counts: I64) -> dict[str, Counts]:
    found = {}
    for octave in np.unique(octaves).tolist():
        of = octaves == octave
        found[str(octave)] = _pairs(bins[of], counts[of], len(bins))
    return found


def _shares(octaves: I64, flags: npt.NDArray[np.uint8]) -> dict[str, float]:
    found = np.unique(octaves).tolist()
    return {str(octave): round(float(flags[octaves == octave].mean()), 6) for octave in found}


def _transitions(classes: I64, phases: int) -> list[list[list[int]]]:
    """Counts of class after class in each phase."""
    n = len(classes)
    phase = (np.arange(1, n) * phases) // n
    flat = (phase * CLASSES + classes[:-1]) * CLASSES + classes[1:]
    counts = np.bincount(flat, minlength=phases * CLASSES * CLASSES)
    found: list[list[list[int]]] = counts.reshape(phases, CLASSES, CLASSES).tolist()
    return found

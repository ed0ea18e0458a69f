"""Hot places: the few stretches of pages that are used over and over, such as a log, a doublewrite buffer, a root."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.synth.model import USE_STEPS, Counts, HotPlace, HotUse
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import PAGE_BYTES, Trace

LEAST = 32
"""Accesses of a page, and requests to a place, from which on they are hot."""
MOST = 256
"""Places kept, those with the most accesses."""
PAIRS = 64


@dataclass(frozen=True)
class Hot:
    """Hot requests of a trace."""

    place: I64  # int64[n], the place of each request, -1 of none
    offset: I64  # int64[n] bytes from its place's first page on
    pages: I64  # int64[k] of each place


def find_hot(trace: Trace, pages: PageAccesses, near: Bool) -> Hot:
    """Requests that begin at a hot page, and of whose pages at least half are hot.

    Pages that one hot request touches together are one place.

    Args:
        trace: the requests.
        pages: their page accesses.
        near: bool[n], the request goes on with a run, and is left to it.
    """
    n, start, ids = len(trace), pages.request_start, pages.page_ids
    touched = np.diff(start)
    warm = np.bincount(ids, minlength=pages.n_pages) >= LEAST
    share = np.add.reduceat(warm[ids].astype(np.int64), start[:-1]) / touched
    hot = warm[ids[start[:-1]]] & (share >= 0.5) & ~near
    own = np.repeat(np.arange(n), touched)
    address, volume = np.zeros((2, pages.n_pages), np.int64)
    address[ids] = trace.offset[own] // PAGE_BYTES + np.arange(len(ids)) - start[own]
    volume[ids] = trace.volume.codes[own]
    order = np.lexsort((address, volume))
    at = np.empty(pages.n_pages, np.int64)
    at[order] = np.arange(pages.n_pages)
    first, last = at[ids[start[:-1]]], at[ids[start[1:] - 1]]
    joined = np.zeros(pages.n_pages + 1, np.int64)  # to the page before, by a hot request of both
    np.add.at(joined, first[hot] + 1, 1)
    np.add.at(joined, last[hot] + 1, -1)
    group = np.cumsum(np.cumsum(joined)[:-1] == 0) - 1
    place = np.where(hot, group[first], -1)
    groups = int(group[-1]) + 1
    heat = np.bincount(place[hot], touched[hot], groups)
    heat[np.bincount(place[hot], minlength=groups) < LEAST] = 0
    kept = np.argsort(-heat, kind="stable")[:MOST]
    kept = kept[heat[kept] > 0]
    rank = np.full(groups + 1, -1, np.int64)
    rank[kept] = np.arange(len(kept))
    begin = np.searchsorted(group, np.arange(groups), side="left")
    found = rank[place]
    offset = np.where(found >= 0, (first - begin[group[first]]) * PAGE_BYTES + trace.offset % PAGE_BYTES, 0)
    return Hot(found, offset, np.bincount(group, minlength=groups)[kept])


def fit_hot(trace: Trace, hot: Hot, volume: I64, phases: int) -> list[HotPlace]:
    """How often each place is used in each part of the trace, how evenly, and by which requests.

    Args:
        trace: the requests.
        hot: which of them are hot, and where.
        volume: int64[n], the rank of each request's volume.
        phases: equal parts of the requests.
    """
    n, found = len(trace), []
    when = np.zeros(n, np.int64)
    for op in (0, 1):
        of = np.flatnonzero((hot.place >= 0) & (trace.op == op))
        when[of] = np.arange(len(of))
    for own, pages in enumerate(hot.pages.tolist()):
        of_place = np.flatnonzero(hot.place == own)
        uses = []
        for op in np.unique(trace.op[of_place]).tolist():
            for here in _by_start(of_place[trace.op[of_place] == op], hot.offset):
                gaps = np.diff(when[here])
                gaps = gaps / gaps.mean() if len(gaps) else np.ones(1)
                uses.append(HotUse(
                    op=op,
                    phases=np.bincount(here * phases // n, minlength=phases).tolist(),
                    gaps=[float(f"{value:.4g}") for value in np.quantile(gaps, USE_STEPS)],
                    requests=_most_frequent(hot.offset[here], trace.size[here]),
                ))  # fmt: skip
        found.append(HotPlace(pages=pages, volume=int(volume[of_place[0]]), uses=uses))
    return found


def _by_start(of: I64, offset: I64) -> list[I64]:
    """Requests that often begin at one byte, apart from the others: a place may hold things used in turn."""
    _, own, counts = np.unique(offset[of], return_inverse=True, return_counts=True)
    often = counts >= LEAST
    parts = [of[own == start] for start in np.flatnonzero(often).tolist()]
    rest = of[~often[own]]
    return [*parts, rest] if len(rest) else parts


def _most_frequent(offset: I64, size: I64) -> Counts:
    pairs, counts = np.unique(np.stack([offset, size], 1), axis=0, return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:PAIRS])
    return [(int(a), int(b), int(count)) for (a, b), count in zip(pairs[kept], counts[kept], strict=True)]


@dataclass(frozen=True)
class Drawn:
    """Hot requests drawn."""

    place: I64  # int64[h], which place of those drawn
    offset: I64  # int64[h] bytes from its first page on
    size: I64  # int64[h] bytes


def copies(places: list[HotPlace], scale: float) -> list[HotPlace]:
    """The places of a trace with times as many pages: as many of each, or every so manyth.

    Where places are left out, at least one that is read and one that is written is kept, if there are such.
    """
    many = round(len(places) * scale)
    found = [places[k * len(places) // many] for k in range(many)]
    for op in (0, 1):
        used = [place for place in places if any(use.op == op for use in place.uses)]
        if not any(place in used for place in found):
            found += used[:1]
    return found


def draw_hot(places: list[HotPlace], op: int, when: F64, random: np.random.Generator) -> Drawn:
    """Which place each hot request of an op goes to, and how.

    Args:
        places: as `copies` gives them.
        op: of the requests.
        when: float64[h] in [0, 1) rising, the parts of the trace at which they come.
        random: draws.
    """
    uses = [(own, use) for own, place in enumerate(places) for use in place.uses if use.op == op]
    number = np.concatenate([np.full(sum(use.phases), k) for k, (_, use) in enumerate(uses)])
    moment = np.concatenate([_moments(use, random) for _, use in uses])
    in_order = number[np.argsort(moment, kind="stable")]
    # As the trace's requests of a phase come in their order, so do those drawn, as many as there are.
    sorted_moments = np.sort(moment)
    phases = len(uses[0][1].phases)
    theirs = np.searchsorted(sorted_moments * phases, np.arange(phases + 1))
    mine = np.searchsorted(when * phases, np.arange(phases + 1))
    at = np.interp(np.arange(len(when)) + 0.5, mine.astype(np.float64), theirs.astype(np.float64))
    drawn = in_order[np.minimum(at.astype(np.int64), len(in_order) - 1)]
    offset, size = np.zeros((2, len(when)), np.int64)
    for k, (_, use) in enumerate(uses):
        of = np.flatnonzero(drawn == k)
        table = np.asarray(use.requests, np.int64)
        cumulative = np.cumsum(table[:, 2])
        chosen = np.searchsorted(cumulative, random.random(len(of)) * cumulative[-1], side="right")
        offset[of], size[of] = table[chosen, 0], table[chosen, 1]
    return Drawn(np.array([own for own, _ in uses])[drawn], offset, size)


def _moments(use: HotUse, random: np.random.Generator) -> F64:
    """When a place is used, in [0, 1): as often in each phase as it was, at gaps spread as they were."""
    counts = np.asarray(use.phases, np.int64)
    found = []
    for phase in np.flatnonzero(counts).tolist():
        k = int(counts[phase])
        gaps = np.interp((random.permutation(k + 1) + random.random(k + 1)) / (k + 1), USE_STEPS, use.gaps) + 1e-9
        within = np.cumsum(gaps)[:-1] / gaps.sum()
        found.append((phase + within) / len(counts))
    return np.concatenate(found)

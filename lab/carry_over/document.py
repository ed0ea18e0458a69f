"""lab/results/carry_over.json: the forest's cache on traces whose program or set-up its fit has not seen."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Literal

import numpy as np

from cachezoo.contest.gap import gap
from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from cachezoo.zoo.reuse.judge import NEAR

Split = Literal["program", "set-up"]
Way = Literal["alone", "followed"]
WAYS: tuple[Way, ...] = ("alone", "followed")
FILE, PLOT = Path("lab/results/carry_over.json"), Path("lab/results/carry_over.png")


class Fold(Document):
    """A fit, and what it was kept from."""

    split: Annotated[Split, Means("what was left out: all of a program, or a set-up of every program")]
    left_out: Annotated[str, Means("its name")]
    fitted: Annotated[list[str], Means("keys of the traces that it was fitted on")]
    chosen: Annotated[str, Means("the classic with the best mean hit ratio on these")]


class Ours(Document):
    """The forest's cache on a trace, alone or with its follower; means are over the seeds."""

    hit_ratios: Annotated[list[float], Means("page hits per page access of each seed's forest", "ratio")]
    gap_closed: Annotated[
        float | None,
        Means("from the best classic to the optimum, the mean; null where that is below 0.02", "share"),
    ]
    gap_closed_sd: Annotated[float | None, Means("its standard deviation over the seeds, likewise", "share")]
    lead: Annotated[float, Means("mean hit ratio less the best classic's", "points of 0.01")]
    lead_over_chosen: Annotated[float, Means("mean hit ratio less the chosen classic's", "points of 0.01")]
    above_floor: Annotated[bool, Means("at most 0.01 and one reload of the cache below the best classic")]
    near_chosen: Annotated[bool, Means("at most 0.005 below the chosen classic, or above it")]


class Row(Document):
    """A trace and the fit that has not seen it, counted after the warm-up."""

    trace: Annotated[str, Means("key")]
    program: Annotated[str, Means("what was captured")]
    split: Annotated[Split, Means("what was left out of the fit")]
    left_out: Annotated[str, Means("its name")]
    capacity: Annotated[int, Means("of the cache", "4 KiB pages")]
    counted: Annotated[int, Means("page accesses after the warm-up")]
    best_classic: Annotated[str, Means("best of the classics with their defaults, in hindsight")]
    best_classic_hit_ratio: Annotated[float, Means("its page hits per page access", "ratio")]
    chosen: Annotated[str, Means("the fold's classic")]
    chosen_hit_ratio: Annotated[float, Means("its page hits per page access", "ratio")]
    chosen_gap_closed: Annotated[float | None, Means("as gap_closed, of the chosen classic", "share")]
    optimum_hit_ratio: Annotated[float, Means("that of Belady with bypass", "ratio")]
    alone: Annotated[Ours, Each("the forest's cache alone", "trace and split")]
    followed: Annotated[Ours, Each("the forest's cache with its follower", "trace and split")]


class Summary(Document):
    """All traces of a split, one way to use the forest."""

    split: Annotated[Split, Means("what was left out of the fits")]
    way: Annotated[Way, Means("the forest's cache alone, or with its follower")]
    traces: Annotated[int, Means("rows")]
    median_gap_closed: Annotated[float | None, Means("of the traces; null where none has a gap", "share")]
    lowest_gap_closed: Annotated[float | None, Means("likewise", "share")]
    median_lead: Annotated[float, Means("over the best classic", "points of 0.01")]
    lowest_lead: Annotated[float, Means("likewise", "points of 0.01")]
    median_lead_over_chosen: Annotated[float, Means("over the chosen classic", "points of 0.01")]
    lowest_lead_over_chosen: Annotated[float, Means("likewise", "points of 0.01")]
    above_floor: Annotated[float, Means("part of the traces that are", "share")]
    near_chosen: Annotated[float, Means("part of the traces that are", "share")]
    chosen_median_gap_closed: Annotated[float | None, Means("what the chosen classic closes", "share")]


class CarryOver(Document):
    """What becomes of the forest's cache on programs and set-ups that it was not fitted on; train traces alone."""

    capacity_fraction: Annotated[float, Means("of a trace's distinct pages", "share")]
    weight: Annotated[float, Means("of the fitted traces' counts, for each class and age", "accesses")]
    folds: Annotated[list[Fold], Each("one fit", "split and left_out")]
    rows: Annotated[list[Row], Each("one trace left out", "split and trace")]
    summary: Annotated[list[Summary], Each("one split and way", "split and way")]


def ours(hit_ratios: Sequence[float], best: float, chosen: float, optimum: float, allowed: float) -> Ours:
    """What seeds' hit ratios come to beside those of the classics; `allowed` is how far below is above the floor."""
    mean = fmean(hit_ratios)
    closed, lead = gap(mean, best, optimum)
    each = [share for share, _ in (gap(ratio, best, optimum) for ratio in hit_ratios) if share is not None]
    return Ours(
        hit_ratios=list(hit_ratios),
        gap_closed=closed,
        gap_closed_sd=None if closed is None else float(np.std(each, ddof=1)) if len(each) > 1 else 0.0,
        lead=lead,
        lead_over_chosen=100 * (mean - chosen),
        above_floor=mean >= best - allowed,
        near_chosen=mean >= chosen - NEAR,
    )


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def summary_of(rows: Sequence[Row], split: Split, way: Way) -> Summary:
    """The summary of a split's rows, of which there is at least one."""
    chosen = _known([row.chosen_gap_closed for row in rows if row.split == split])
    own: list[Ours] = [getattr(row, way) for row in rows if row.split == split]
    closed = _known([one.gap_closed for one in own])
    return Summary(
        split=split,
        way=way,
        traces=len(own),
        median_gap_closed=median(closed) if closed else None,
        lowest_gap_closed=min(closed, default=None),
        median_lead=median(one.lead for one in own),
        lowest_lead=min(one.lead for one in own),
        median_lead_over_chosen=median(one.lead_over_chosen for one in own),
        lowest_lead_over_chosen=min(one.lead_over_chosen for one in own),
        above_floor=fmean(one.above_floor for one in own),
        near_chosen=fmean(one.near_chosen for one in own),
        chosen_median_gap_closed=median(chosen) if chosen else None,
    )


def read_carry_over(path: Path) -> CarryOver:
    """lab/results/carry_over.json, see `cachezoo.metrics.files.read`."""
    return read(path, CarryOver, MAKE)

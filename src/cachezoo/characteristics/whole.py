"""All characteristics of a trace."""

from dataclasses import dataclass

import numpy as np

from cachezoo.characteristics.arrivals import Arrivals, arrivals, ticks
from cachezoo.characteristics.latency import Latency, latency
from cachezoo.characteristics.papers import FiosRow, RcRnnRow, fios_row, rc_rnn_row
from cachezoo.characteristics.patterns import Patterns, patterns
from cachezoo.characteristics.places import HeatMap, WorkingSet, heat_map, working_set
from cachezoo.characteristics.popularity import Popularity, popularity
from cachezoo.characteristics.reuse import Reuse, reuse
from cachezoo.characteristics.sizes import Sizes, sizes
from cachezoo.characteristics.summary import Footprint, Summary, footprint, summary, uses
from cachezoo.characteristics.who import Senders, who
from cachezoo.console import Advance
from cachezoo.curves.curve import LRU, Curve, capacities_of, lru_curve
from cachezoo.curves.measure import curves
from cachezoo.curves.sampling import sampled_pages
from cachezoo.traces.chunks import continues
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

WINDOWS = 160  # of everything over time, or as many as the clock ticks
OPTIMUM = "belady_bypass"
POLICIES = (LRU, "arc", "s3fifo", OPTIMUM)
POINTS, FINER = 14, 4  # cache sizes of a curve; LRU's, which one pass measures at all sizes, has so many times more
# Page accesses up to which all are looked at; of longer traces a sample of the pages is, and errors are given. A sample
# for curves is simulated twice, whole and in groups, so it saves nothing unless it is much smaller.
MOST_FOR_DISTANCES, MOST_FOR_CURVES, SAMPLE_DIVISOR = 20_000_000, 2_000_000, 2.5
SEED = 0
CURVES_SHARE = 0.8  # of the work, for the progress bar


@dataclass(frozen=True)
class Characteristics:
    """What a trace is; each part is explained where it is defined.

    `arrivals` is None without a clock, `latency` where none was traced, `fios_table_2` where nothing is written.
    `curves` are LRU, two classics and the optimum, whose every access is a read of one page.
    """

    summary: Summary
    footprint: Footprint
    curves: tuple[Curve, ...]
    sizes: dict[str, Sizes | None]
    arrivals: Arrivals | None
    heat_map: HeatMap
    working_set: WorkingSet
    reuse: Reuse
    popularity: Popularity
    patterns: Patterns
    who: dict[str, Senders]
    latency: dict[str, Latency | None] | None
    rc_rnn_table_4: RcRnnRow
    fios_table_2: FiosRow | None


def _curves(pages: PageAccesses, most: int, advance: Advance | None) -> tuple[Curve, ...]:
    sizes = capacities_of(pages, POINTS)
    points = len(sizes) * len(POLICIES[1:])

    def told(done: float, note: str = "") -> None:
        if advance is not None:
            advance(1 - CURVES_SHARE + CURVES_SHARE * done / points, note)

    fine = np.union1d(sizes, capacities_of(pages, FINER * POINTS))
    sampled = max(1, round(most / SAMPLE_DIVISOR)) if len(pages.page_ids) > most else None
    others = curves(pages, POLICIES[1:], sizes, most_accesses=sampled, seed=SEED, advance=told)
    return (lru_curve(pages, fine), *others)


def _sample(pages: PageAccesses, rate: float) -> tuple[PageAccesses, float]:
    """Some of the pages, and which part of all they are."""
    sample = sampled_pages(pages, rate, SEED)
    return sample, sample.n_pages / pages.n_pages


def characterise(
    trace: Trace,
    pages: PageAccesses,
    *,
    most_for_distances: int = MOST_FOR_DISTANCES,
    most_for_curves: int = MOST_FOR_CURVES,
    advance: Advance | None = None,
) -> Characteristics:
    """Describe a trace.

    Args:
        trace: requests, at least one.
        pages: their page accesses.
        most_for_distances: of a trace with more page accesses, reuse distances are of a sample of about so many.
        most_for_curves: likewise the curves of all policies but LRU, which stays exact; the sample has so many page
            accesses over `SAMPLE_DIVISOR`.
        advance: told the part of the work done.
    """
    counted, used = summary(trace, pages), uses(trace, pages)
    touched, rate = footprint(trace, used), most_for_distances / len(pages.page_ids)
    sample = _sample(pages, rate) if rate < 1 else None
    windows = min(WINDOWS, ticks(trace.time_us)) if counted.clock else WINDOWS
    return Characteristics(
        summary=counted,
        footprint=touched,
        sizes=sizes(trace),
        arrivals=arrivals(trace, windows) if counted.clock else None,
        heat_map=heat_map(trace, counted.clock),
        working_set=working_set(trace, pages, counted.clock, windows),
        reuse=reuse(trace, pages, counted.clock, sample),
        popularity=popularity(used),
        patterns=patterns(trace),
        who=who(trace, pages),
        latency=latency(trace),
        rc_rnn_table_4=rc_rnn_row(counted),
        fios_table_2=fios_row(trace, counted, touched, used, continues(trace)),
        curves=_curves(pages, most_for_curves, advance),
    )

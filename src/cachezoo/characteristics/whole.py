"""All characteristics of a trace."""

from dataclasses import dataclass

from cachezoo.characteristics.arrivals import Arrivals, arrivals
from cachezoo.characteristics.latency import Latency, latency
from cachezoo.characteristics.papers import FiosRow, RcRnnRow, fios_row, rc_rnn_row
from cachezoo.characteristics.patterns import Patterns, continues, patterns
from cachezoo.characteristics.places import HeatMap, WorkingSet, heat_map, working_set
from cachezoo.characteristics.popularity import Popularity, popularity
from cachezoo.characteristics.reuse import Reuse, reuse
from cachezoo.characteristics.sizes import Sizes, sizes
from cachezoo.characteristics.summary import Footprint, Summary, footprint, summary, uses
from cachezoo.characteristics.who import Senders, who
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

WINDOWS = 160  # of everything over time


@dataclass(frozen=True)
class Characteristics:
    """What a trace is; each part is explained where it is defined.

    `arrivals` is None without a clock, `latency` where none was traced, `fios_table_2` where nothing is written.
    """

    summary: Summary
    footprint: Footprint
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


def characterise(
    trace: Trace, pages: PageAccesses, sample: tuple[PageAccesses, float] | None = None
) -> Characteristics:
    """Describe a trace; some four arrays of a number a page access are held at most, beside the trace itself.

    Args:
        trace: requests, at least one.
        pages: their page accesses.
        sample: page accesses of a sample of the pages, and its rate, for the reuse distances; None: all of them.
    """
    counted, used = summary(trace, pages), uses(trace, pages)
    touched = footprint(trace, used)
    return Characteristics(
        summary=counted,
        footprint=touched,
        sizes=sizes(trace),
        arrivals=arrivals(trace, WINDOWS) if counted.clock else None,
        heat_map=heat_map(trace, counted.clock),
        working_set=working_set(trace, pages, counted.clock, WINDOWS),
        reuse=reuse(trace, pages, counted.clock, sample),
        popularity=popularity(used),
        patterns=patterns(trace),
        who=who(trace, pages),
        latency=latency(trace),
        rc_rnn_table_4=rc_rnn_row(counted),
        fios_table_2=fios_row(trace, counted, touched, used, continues(trace)),
    )

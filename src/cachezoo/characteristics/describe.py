"""All characteristics of a trace, and the rows that two papers would give it.

RC-RNN, Table 4: requests, read/write ratio, mean request size. FIOS, Table II: what chooses the features by which
writes are put into streams of a multi-stream SSD (`cachezoo.features.fios`), and three columns more.
"""

from dataclasses import asdict, dataclass

import numpy as np

from cachezoo.characteristics.arrivals import Arrivals, arrivals, counts_of, ticks
from cachezoo.characteristics.pages import (
    Footprint,
    HeatMap,
    Popularity,
    Reuse,
    Uses,
    WorkingSet,
    footprint,
    heat_map,
    popularity,
    reuse,
    uses,
    working_set,
)
from cachezoo.characteristics.patterns import Patterns, patterns
from cachezoo.characteristics.requests import (
    Latency,
    Senders,
    Sizes,
    Summary,
    latency,
    senders_by_column,
    sizes,
    summary,
)
from cachezoo.console import Advance
from cachezoo.curves.curve import LRU, Curve, capacities_of, lru_curve
from cachezoo.curves.measure import curves
from cachezoo.curves.sampling import sampled_pages
from cachezoo.features.fios import choose_features, theta
from cachezoo.traces.chunks import chunk_writes
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
PEAK_WINDOW_US = 300_000_000
CURVES_SHARE = 0.8  # of the work, for the progress bar


@dataclass(frozen=True)
class RcRnnRow:
    """RC-RNN, Table 4."""

    requests: int  # number of requests
    read_write_ratio: float | None  # reads over writes; None where all are reads ("all read" in the paper)
    mean_request_kb: float  # mean size, KiB


@dataclass(frozen=True)
class FiosRow:
    """FIOS, Table II."""

    # autocorrelation at lag one of the times between two writes of a chunk of 32 KiB, in the order in which they end;
    # None below ten of them, or where they never differ
    acf: float | None
    # writes that do not begin where their volume's last request ended, of all writes; percent
    random_write_percent: float
    reuse_ratio: float  # page writes that update a page, over those that write a page for the first time
    mean_write_kb: float  # mean size of a write, KiB
    working_volume_kb: float  # from each volume's lowest to its highest address, summed, KiB
    written_gb_per_day: float | None  # bytes written a day, GB; None without a clock
    # requests a second of the busiest whole five minutes; of the mean where it is shorter; None without a clock
    peak_iops: float | None
    throughput_iops: float | None  # requests a second; None without a clock
    high: str  # which of the five that choose (`HIGH`) are high, as bits in their order
    features: str  # what FIOS would choose: A adjacent access, C coherency, F frequency, S sequentiality


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


def rc_rnn_row(summary: Summary) -> RcRnnRow:
    """RC-RNN's Table 4."""
    ratio = summary.reads / summary.writes if summary.writes else None
    return RcRnnRow(summary.requests, ratio, (summary.read_bytes + summary.written_bytes) / summary.requests / 1024)


def fios_row(trace: Trace, summary: Summary, footprint: Footprint, used: Uses) -> FiosRow | None:
    """FIOS's Table II; None where nothing is written.

    Args:
        trace: requests.
        summary: its counts.
        footprint: its footprint.
        used: its pages' uses.
    """
    if not summary.writes:
        return None
    found = theta(chunk_writes(trace), used.writes)
    peak = None
    if summary.span_s is not None:
        whole = summary.span_s * 1e6 >= PEAK_WINDOW_US
        peak = float(counts_of(trace.time_us, PEAK_WINDOW_US).max()) / 300 if whole else summary.requests_per_s
    values = asdict(found)
    high, features = choose_features(values)
    return FiosRow(
        **values, working_volume_kb=footprint.address_span_bytes / 1024, peak_iops=peak,
        throughput_iops=summary.requests_per_s, high=high, features=features,
    )  # fmt: skip


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
        who=senders_by_column(trace, pages),
        latency=latency(trace),
        rc_rnn_table_4=rc_rnn_row(counted),
        fios_table_2=fios_row(trace, counted, touched, used),
        curves=_curves(pages, most_for_curves, advance),
    )

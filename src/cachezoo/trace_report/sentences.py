"""What the numbers mean for a cache: a sentence for each section, by rules that docs/trace-report.md lists.

Every limit stands in a constant; a sentence says the figure that it rests on.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from cachezoo.characteristics.arrivals import Arrivals, Scale
from cachezoo.characteristics.describe import OPTIMUM, Characteristics
from cachezoo.characteristics.pages import Popularity
from cachezoo.characteristics.requests import Latency
from cachezoo.curves.curve import LRU, Curve
from cachezoo.show.formats import duration, number, share, significant, size
from cachezoo.sizes import PAGE_BYTES

MOSTLY, HARDLY = 0.7, 0.3
LITTLE_REUSE, MUCH_REUSE = 0.1, 0.5
NEAR_BEST = 0.9  # of the hits that LRU gets with a cache for all pages
FEW_POINTS, MANY_POINTS = 0.02, 0.08
SMALL_BYTES, LARGE_BYTES = 16 << 10, 128 << 10
BURSTY, UNEVEN = 10.0, 3.0
LASTING = 0.65  # Hurst's exponent from which busy stretches last at all scales
DAILY = 3.0
CONCENTRATED, HALF, SPREAD = 0.5, 0.5, 0.3
WARM, GROWING = 0.05, 0.2
GOOD_FIT, FAIR_FIT = 0.05, 0.1
ONE_SENDER = 0.8
NO_CLOCK = "The trace has no clock (all times are equal, or are row numbers): nothing is said of load or of times."


def curve_of(found: Characteristics, policy: str) -> Curve:
    """The curve of a policy."""
    return next(curve for curve in found.curves if curve.policy == policy)


def near_best(curve: Curve, ratio: float) -> int | None:
    """The least size in pages, of those measured, at which a curve reaches a hit ratio; None where none does."""
    reached = np.flatnonzero(curve.hit_ratio >= ratio)
    return int(curve.capacities[reached[0]]) if len(reached) else None


def curve_sentence(found: Characteristics) -> str:
    """How much cache LRU needs, and what a better policy can win."""
    lru, optimum = curve_of(found, LRU), curve_of(found, OPTIMUM)
    best = float(lru.hit_ratio.max())
    if best < LITTLE_REUSE:
        return (
            f"In the trace's second half LRU of any size hits on at most {share(best)} of the page accesses: pages "
            "hardly come again, so a cache pays for writes at most."
        )
    enough = near_best(lru, NEAR_BEST * best) or int(lru.capacities[-1])
    lead = optimum.hit_ratio - lru.hit_ratio[np.searchsorted(lru.capacities, optimum.capacities)]
    at = int(np.argmax(lead))
    told = (
        f"In the trace's second half LRU needs {size(enough * PAGE_BYTES)} "
        f"({share(enough / int(lru.capacities[-1]))} of the footprint) for hits "
        f"on {share(float(lru.hit_ratio[lru.capacities == enough][0]))} of the page accesses; LRU of any size hits "
        f"on at most {share(best)}"
    )
    if lead[at] < FEW_POINTS:
        return f"{told}; no other policy can win {significant(100 * FEW_POINTS)} points more, so keep LRU."
    worth = "a better policy is worth looking for" if lead[at] >= MANY_POINTS else "a better policy wins a little"
    return (
        f"{told}; the optimum is up to {significant(100 * float(lead[at]))} points above LRU (at "
        f"{size(int(optimum.capacities[at]) * PAGE_BYTES)}), so {worth}."
    )


def mix_sentence(found: Characteristics) -> str:
    """Reads and writes, and what of the footprint each touches."""
    summary, footprint = found.summary, found.footprint
    reads = summary.read_share
    both = footprint.both_bytes / footprint.bytes
    if reads >= MOSTLY:
        told = f"{share(reads)} of the requests are reads: a cache serves mostly reads"
    elif reads <= HARDLY:
        told = f"{share(1 - reads)} of the requests are writes: a cache pays if it may hold back writes (write-back)"
    else:
        told = f"{share(reads)} of the requests are reads: a cache serves both reads and writes"
    if summary.writes and summary.reads:
        told += f"; {share(both)} of the {size(footprint.bytes)} touched are both read and written"
    return f"{told}."


def sizes_sentence(found: Characteristics) -> str:
    """Whether a hit saves seeks or transfers."""
    own = found.sizes["all"]
    assert own is not None  # a trace has a request
    median = own.median_bytes
    if median <= SMALL_BYTES:
        means = "a hit saves a disk nearly a whole seek, so hits count more than bytes"
    elif median >= LARGE_BYTES:
        means = "one request fills many pages, so what is let into the cache counts more than what is evicted"
    else:
        means = "a hit saves a seek and a transfer"
    told = f"Half of the requests have at most {size(median)}: {means}"
    if own.aligned_share < HALF:
        told += (
            f"; only {share(own.aligned_share)} begin and end on a page's edge, so writes of parts of pages are common"
        )
    return f"{told}."


def base_scale(arrivals: Arrivals) -> Scale | None:
    """The windows of a second; else the shortest above it, else the longest below."""
    above = [scale for scale in arrivals.scales if scale.window_s >= 1]
    return above[0] if above else (arrivals.scales[-1] if arrivals.scales else None)


def load_sentence(arrivals: Arrivals | None) -> str:
    """Whether the cache and what is behind it must be sized for peaks."""
    if arrivals is None:
        return NO_CLOCK
    scale = base_scale(arrivals)
    if scale is None:
        return "The trace is too short to tell bursts from chance."
    ratio = scale.peak_to_mean
    busiest = f"the busiest {duration(scale.window_s)} has {significant(ratio)} times the mean load"
    if ratio >= BURSTY:
        told = f"Bursty: {busiest}, so size for peaks, not for the mean"
    elif ratio >= UNEVEN:
        told = f"Uneven: {busiest}, so leave room above the mean"
    else:
        told = f"Even: {busiest}, so the mean says what to expect"
    hurst, daily = arrivals.hurst, arrivals.daily
    if hurst is not None and hurst.exponent - 2 * hurst.error >= LASTING:
        told += (
            f"; busy stretches last (Hurst's exponent is {significant(hurst.exponent)}, by chance it would be 0.5), so "
            "averaging longer does not smooth them"
        )
    if daily is not None and (daily.busiest_to_quietest is None or daily.busiest_to_quietest >= DAILY):
        told += "; load follows the hour of the day"
    return f"{told}."


def heat_sentence(found: Characteristics) -> str:
    """Whether the same addresses stay busy."""
    heat = found.heat_map
    if len(heat.requests) < 2:
        return "All requests go to one small region."
    told = f"A tenth of the addresses touched get {share(heat.busiest_share)} of the requests"
    if heat.busiest_share < SPREAD:
        return f"{told}: they spread over the volume, so pinning a region does not pay."
    if heat.stays_share >= HALF * heat.busiest_share:
        return f"{told}, and those busiest in the first half still get {share(heat.stays_share)} later: they stay."
    moved = f"but those busiest in the first half get only {share(heat.stays_share)} later: they move"
    return f"{told}, {moved}, so a cache must adapt."


def working_sentence(found: Characteristics) -> str:
    """How much is in use at a time, and whether a cache ever has it all."""
    own = found.working_set
    total, typical = int(own.total_bytes[-1]), float(np.median(own.bytes[own.accesses > 0]))
    quarter = own.accesses.cumsum() > 0.75 * own.accesses.sum()
    late = float(own.new_bytes[quarter].sum() / PAGE_BYTES / max(1, own.accesses[quarter].sum()))
    window = f"In {duration(own.window_s)}" if own.window_s is not None else "In a window"
    told = f"{window} the trace typically touches {size(typical)}, in all {size(total)}"
    if late >= GROWING:
        return f"{told}; near its end {share(late)} of the accesses are still to new pages, so no cache holds it all."
    if late >= WARM:
        return f"{told}; near its end {share(late)} of the accesses are to new pages, which any cache misses."
    return f"{told}; near its end only {share(late)} of the accesses are to new pages, so a warm cache stays warm."


def reuse_sentence(found: Characteristics) -> str:
    """Whether and how soon pages come again."""
    own = found.reuse
    if own.again.share == 0:
        return "No page is accessed twice: a cache of any size gets no hit."
    told = f"{share(own.again.share)} of the whole trace's page accesses are to pages accessed before"
    within = []
    if own.distances.below_bytes:  # a sample of the pages may hold none that comes again
        within.append(f"{size(own.distances.below_bytes['50%'])} of other pages")
    if own.times is not None:
        within.append(duration(own.times.below_s["50%"]))
    soon = f", half of those within {' and '.join(within)}" if within else ""
    means = "little to cache" if own.again.share < LITTLE_REUSE else "a cache can hit at most these"
    means = "much to cache" if own.again.share >= MUCH_REUSE else means
    return f"{told}{soon}: {means}."


@dataclass(frozen=True)
class Named:
    """What a trace's popularity is of, and what each is counted by."""

    thing: str  # `page`
    uses: str  # `accesses`

    @property
    def things(self) -> str:
        """Several of them."""
        return f"{self.thing}s"


PAGES = Named("page", "accesses")


def popularity_sentence(own: Popularity, of: Named = PAGES) -> str:
    """Whether a small cache pays."""
    one, ten = own.top_share["1.0%"], own.top_share["10.0%"]
    if one >= CONCENTRATED:
        told = f"The busiest 1 % of the {of.things} take {share(one)} of the {of.uses}: a small cache pays"
    elif ten >= CONCENTRATED:
        told = f"The busiest 10 % of the {of.things} take {share(ten)} of the {of.uses}: a cache of middling size pays"
    else:
        told = (
            f"The busiest 10 % of the {of.things} take only {share(ten)} of the {of.uses}: a cache must be large to pay"
        )
    if own.once_share >= HALF:
        told += f"; {share(own.once_share)} of the {of.things} are used once, so keep them out (an admission filter)"
    return f"{told}."


def zipf_sentences(own: Popularity, of: Named = PAGES) -> list[str]:
    """Whether Zipf's law says how unevenly they are used; nothing where it is not fitted."""
    if own.zipf is None:
        return []
    return [
        f"Zipf's law with s = {number(own.zipf.exponent, 2)} fits {fit_words(own.zipf.distance)}: where it is worst, "
        f"it is off by {significant(100 * own.zipf.distance)} points of the {of.uses}. "
        f"{share(own.half_of_accesses_share)} of the {of.things} get half of the {of.uses}."
    ]


def fit_words(distance: float) -> str:
    """How well Zipf's law fits."""
    return "well" if distance <= GOOD_FIT else "fairly" if distance <= FAIR_FIT else "badly"


MEANT = {
    "sequential": "reading ahead pays, and scans should not push hot pages out (use a policy that resists scans)",
    "strided": "reading ahead within a region may pay",
    "overlapped": "the same bytes come again within 100 requests, so even a small cache gets hits",
    "random": "reading ahead does not pay; only pages that come again do",
}


def patterns_sentence(found: Characteristics) -> str:
    """Whether reading ahead pays."""
    own = found.patterns.twsd["all"]
    assert own is not None  # a trace has a request
    shares: Mapping[str, float] = asdict(own)
    kind = max(MEANT, key=lambda name: shares[name])
    return f"{share(shares[kind])} of the requests are {kind}, more than of any other kind: {MEANT[kind]}."


SENDERS = {
    "user": "process or user", "volume": "volume", "namespace": "namespace", "host": "host", "source": "trace merged",
}  # fmt: skip


def sender_kind(found: Characteristics) -> str | None:
    """The column that tells most: the first of `SENDERS` with several senders, or None."""
    return next((name for name in SENDERS if name in found.who and found.who[name].count > 1), None)


def sender_sentence(found: Characteristics) -> str:
    """Whether one sender decides."""
    kind = sender_kind(found)
    if kind is None:
        return "All requests come from one sender: one cache, one rule."
    own = found.who[kind]
    first, named = own.top[0], SENDERS[kind]
    count, sends = number(own.count), f"sends {share(first.request_share)} of the requests"
    if first.request_share >= ONE_SENDER:
        return f"Of {count} senders one {named} ({first.name}) {sends}: what suits it suits the cache."
    return (
        f"The busiest {named} ({first.name}) of {count} {sends}: they share the cache, so one may push another's pages "
        "out."
    )


def latency_sentence(latency: Mapping[str, Latency | None] | None) -> str:
    """What a hit could save."""
    own = latency and (latency["reads"] or latency["all"])
    if not own:
        return "The trace has no response times: what a hit saves must come from a device's model."
    kind = "reads" if latency and latency["reads"] else "requests"
    told = f"Half of the {kind} took at most {duration(own.median_us / 1e6)}, one in a hundred more than"
    return f"{told} {duration(own.p99_us / 1e6)}: that is what a hit saves, less the cache's own time."


FEATURES = {"A": "neighbours written together", "C": "written at the same times", "F": "how often written",
            "S": "written in sequence"}  # fmt: skip


FIOS = "FIOS (a method that puts writes of a like lifetime into one stream)"


def papers_sentence(found: Characteristics) -> str:
    """What FIOS would do with the writes that reach an SSD."""
    row = found.fios_table_2
    if row is None:
        return "Nothing is written: there is nothing to put into streams of an SSD."
    if not row.features:
        return (
            f"On our reading, the rule of {FIOS} chooses none of its features for these writes. That is the rule "
            "alone: `cachezoo recommend --only wear` tells whether streams pay."
        )
    named = " and ".join(f"{FEATURES[feature]} ({feature})" for feature in row.features)
    return f"On a multi-stream SSD, {FIOS}, on our reading, would tell these writes apart by: {named}."


def lead(found: Characteristics) -> list[str]:
    """The page's answer: how much cache, and who profits."""
    return [curve_sentence(found), popularity_sentence(found.popularity)]


PARTS: Mapping[str, Callable[[Characteristics], str]] = {
    "how much cache": curve_sentence, "popularity": lambda found: popularity_sentence(found.popularity),
    "when pages come again": reuse_sentence,
    "working set": working_sentence, "reads, writes": mix_sentence,
    "load": lambda found: load_sentence(found.arrivals), "sizes": sizes_sentence,
    "addresses": heat_sentence, "order": patterns_sentence, "who": sender_sentence,
    "response times": lambda found: latency_sentence(found.latency), "papers": papers_sentence,
}  # fmt: skip


def sentences_of(found: Characteristics) -> list[tuple[str, str]]:
    """Every part's sentence, with its name."""
    return [(name, sentence(found)) for name, sentence in PARTS.items()]

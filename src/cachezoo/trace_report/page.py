"""A trace's page: sections in the order in which one asks."""

from collections.abc import Mapping, Sequence

import numpy as np

from cachezoo.characteristics.arrivals import Arrivals
from cachezoo.characteristics.describe import Characteristics, FiosRow, RcRnnRow
from cachezoo.characteristics.pages import Footprint, Popularity
from cachezoo.characteristics.requests import Latency, Senders, Sizes
from cachezoo.curves.curve import Curve
from cachezoo.features.fios import HIGH
from cachezoo.show.formats import NONE, duration, number, share, significant, size
from cachezoo.show.page import Page, render
from cachezoo.show.section import Drawing, Section
from cachezoo.show.style import settings
from cachezoo.show.table import Cell, Column, Table, number_cell
from cachezoo.sizes import PAGE_BYTES
from cachezoo.trace_report import plots, sentences
from cachezoo.trace_report.plots import NAMES
from cachezoo.trace_report.sentences import PAGES, SENDERS, Named

ROWS = 7  # of the curves' table
TERMS = {
    "page access, page": "A page is the cache's unit of 4 KiB. A request touches one or more; each touch is an access.",
    "page hit ratio, hits": "Share of the page accesses of the trace's second half that find their page in the cache.",
    "warm-up": "A cache begins empty, so the first half of a trace warms it up and is not counted.",
    "LRU": "Least recently used: what was used longest ago is evicted first. The usual policy.",
    "ARC, S3-FIFO": "Policies that tell pages used once from pages used again, and resist scans better than LRU.",
    "optimum": (
        "Belady's rule with bypass: it knows the future, evicts what is used again last, and lets in no page that is "
        "not worth it. No cache can get more page hits."
    ),
    "footprint": "The distinct pages that the trace touches: the cache size from which nothing is ever evicted.",
    "working set": "The distinct pages touched in a window of time.",
    "reuse distance": (
        "How many other pages were accessed since a page's last access. LRU serves exactly the accesses whose "
        "distance is below the cache's size."
    ),
    "index of dispersion": (
        "Variance over mean of the requests in a window. 1 by chance (Poisson); larger: bursts; growing with the "
        "window: bursts of bursts."
    ),
    "Hurst": (
        "Hurst's exponent: 0.5 where load averages out as it does by chance; towards 1 the longer busy and quiet "
        "stretches last. From the variance of means over 1 to 128 of 8,192 windows."
    ),
    "Zipf": (
        "Zipf's law: the page of rank k gets accesses in proportion to k to the power of -s. The larger s, the more "
        "uneven."
    ),
    "sequential": (
        "Of 128 KiB or more, or beginning or ending where an earlier request of its window of 100 ends or begins."
    ),
    "strided": "Up to 64 KiB away from an earlier request of its window of 100.",
    "overlapped": "Sharing bytes with an earlier request of its window of 100.",
    "random": "None of the others: neither sequential, strided nor overlapped.",
    "TWSD": "Temporal Working Set Distribution: a way to sort requests into four kinds, as RC-RNN describes it.",
    "run": "Requests of one volume in a row, each beginning where the one before ended.",
    "write-back": "A write is answered from the cache and reaches the disk later, when its page is evicted.",
    "admission filter": "A rule that keeps pages out of the cache that are unlikely to come again.",
    "RC-RNN": "Ebrahimi et al.: a cache for storage that is reconfigured by recurrent neural networks.",
    "FIOS": "Bhimani et al.: puts writes of a like lifetime into one stream of an SSD by features of the workload.",
    "ACF": "Autocorrelation of the times between neighbouring writes; near 1: a short one follows a short one.",
}


def facts(found: Characteristics) -> list[tuple[str, str]]:
    """The trace in a few numbers."""
    own = found.summary
    span = duration(own.span_s) if own.span_s is not None else "no clock"
    rate = [] if own.requests_per_s is None else [("requests a second", significant(own.requests_per_s, 3))]
    return [
        ("trace", own.trace_id), ("format", own.source_format), ("requests", number(own.requests)),
        ("span", span), *rate,
        ("reads", f"{share(own.read_share)} of requests"), ("read", size(own.read_bytes)),
        ("written", size(own.written_bytes)), ("footprint", size(found.footprint.bytes)),
        ("page accesses", number(own.page_accesses)), ("volumes", number(own.volumes)),
        ("SHA-256", own.source_sha256[:12]),
    ]  # fmt: skip


def section(
    anchor: str, title: str, sentence: str, drawings: Sequence[Drawing | None] = (), own: Sequence[Table] = (),
    more: Sequence[str] = (),
) -> Section:  # fmt: skip
    """A sentence, drawings, and the figures behind them folded away."""
    shown = tuple(drawing for drawing in drawings if drawing is not None)
    folded = (Section(f"{anchor}-figures", "Figures", tables=own, folded=True),) if own else ()
    return Section(anchor, title, (sentence, *more), figures=shown, parts=folded)


def load_section(own: Arrivals | None) -> Section:
    """When requests come; without a clock, that nothing is said of it."""
    if own is None:
        return section("load", "Load and bursts", sentences.load_sentence(own))
    daily = plots.daily_drawing(own.daily) if own.daily else None
    drawings = (plots.load_drawing(own), plots.bursts_drawing(own), daily)
    own_tables = [*([bursts_table(own)] if own.scales else []), gaps_table(own)]
    return section("load", "Load and bursts", sentences.load_sentence(own), drawings, own_tables)


def popularity_section(own: Popularity, of: Named = PAGES) -> Section:
    """How unevenly they are used."""
    return section(
        "popularity", "Popularity", sentences.popularity_sentence(own, of), [plots.popularity_drawing(own, of)],
        more=sentences.zipf_sentences(own, of),
    )  # fmt: skip


def _patterns(found: Characteristics) -> Section:
    own = found.patterns.runs
    run = (
        f"{share(own.continues_share)} of the requests begin where their volume's last one ended; a run has "
        f"{significant(own.mean_requests, 3)} requests and {size(own.mean_bytes)} on average, the longest "
        f"{number(own.longest_requests)} requests."
    )
    drawing = plots.patterns_drawing(found.patterns)
    return section("patterns", "Order of addresses", sentences.patterns_sentence(found), [drawing], more=[run])


def _who(found: Characteristics) -> Section:
    own = [senders_table(kind, found.who[kind]) for kind in sentences.SENDERS if kind in found.who]
    return Section("who", "Who", (sentences.sender_sentence(found),), own)


def latency_section(latency: Mapping[str, Latency | None] | None) -> Section:
    """How long requests took, where that was traced."""
    sentence = sentences.latency_sentence(latency)
    if latency is None:
        return section("latency", "Response times", sentence)
    drawing, own = plots.latency_drawing(latency), latency_table(latency)
    return section("latency", "Response times", sentence, [drawing], [own])


def _papers(found: Characteristics) -> Section:
    name = found.summary.trace_id
    own = [rc_rnn_table(name, found.rc_rnn_table_4)]
    if found.fios_table_2 is not None:
        own.append(fios_table(name, found.fios_table_2))
    return Section("papers", "As papers have it", (sentences.papers_sentence(found),), own)


def _how(found: Characteristics) -> Section:
    """How the figures were made, and what the trace's source said."""
    sampled = [curve for curve in found.curves if curve.error_90 is not None]
    texts = ["Hit ratios are of the trace's second half; everything else is counted over the whole trace."]
    if sampled:
        texts.append(
            f"Curves but LRU's: simulated on {significant(100 * sampled[0].rate)} % of the pages, chosen by a hash "
            "(SHARDS); tables give their 90 % intervals."
        )
    distances = found.reuse.distances
    if distances.error_90 is not None:
        texts.append(
            f"Reuse distances: of {significant(100 * distances.rate)} % of the pages; shares are off by "
            f"{significant(100 * distances.error_90)} points (90 %) at most."
        )
    if len(texts) == 1:
        texts.append("Nothing is sampled.")
    told = [line[:1].upper() + line[1:] for line in found.summary.remarks]
    texts += [f"How the file was read: {'; '.join(told)}."] if told else []
    return Section("how", "How this was made", texts, folded=True)


def sections(found: Characteristics) -> list[Section]:
    """The page's sections; draw within `cachezoo.show.style.settings`."""
    reuse = [reuse_table(found), *([marks_table(found)] if found.reuse.distances.below_bytes else [])]
    every = found.sizes["all"]
    common = [common_table(every)] if every is not None else []
    return [
        section(
            "curve", "How much cache", sentences.curve_sentence(found), [plots.curves_drawing(found.curves)],
            [curves_table(found.curves)],
        ),
        popularity_section(found.popularity),
        section(
            "reuse", "When pages come again", sentences.reuse_sentence(found), [plots.reuse_drawing(found.reuse)], reuse
        ),
        section(
            "working-set", "Working set", sentences.working_sentence(found), [plots.working_drawing(found.working_set)]
        ),
        section(
            "mix", "Reads, writes, footprint", sentences.mix_sentence(found), (),
            [footprint_table(found.footprint)],
        ),
        load_section(found.arrivals),
        section(
            "sizes", "Request sizes", sentences.sizes_sentence(found), [plots.sizes_drawing(found.sizes)],
            [sizes_table(found.sizes), *common],
        ),
        section("addresses", "Addresses", sentences.heat_sentence(found), [plots.heat_drawing(found.heat_map)]),
        _patterns(found),
        _who(found),
        latency_section(found.latency),
        _papers(found),
        _how(found),
    ]  # fmt: skip


def trace_page(found: Characteristics) -> str:
    """The HTML of a trace's page; its bytes depend on the characteristics alone."""
    with settings(narrow=True):
        own = sections(found)
    doubts = [f"Warning: {warning}" for warning in found.summary.warnings]
    lead = [*doubts, *sentences.lead(found)]
    return render(Page(f"Trace {found.summary.trace_id}", lead, facts(found), own, TERMS))


def _size(n_bytes: float | None) -> Cell:
    return Cell(NONE) if n_bytes is None else Cell(size(n_bytes), n_bytes)


def _time(value: float | None) -> Cell:
    return Cell(NONE) if value is None else Cell(duration(value), value)


def _share(value: float | None) -> Cell:
    return Cell(NONE) if value is None else Cell(share(value), value)


def _number(value: float | None) -> Cell:
    return Cell(NONE) if value is None else Cell(significant(value, 3), value)


def curves_table(curves: Sequence[Curve]) -> Table:
    """Page hit ratios at some of the sizes that all curves have."""
    sizes = curves[-1].capacities
    most = int(sizes[-1])
    rows = []
    for k in range(len(sizes) - 1, -1, -max(1, len(sizes) // ROWS)):
        pages = int(sizes[k])
        rows.append([Cell(size(pages * PAGE_BYTES), note=f"{number(pages)} p, {share(pages / most)} of all")])
        for curve in curves:
            at = int(np.searchsorted(curve.capacities, pages))
            error = "" if curve.error_90 is None else f"± {significant(100 * float(curve.error_90[at]))}"
            rows[-1].append(Cell(share(float(curve.hit_ratio[at])), float(curve.hit_ratio[at]), error))
    columns = [Column("cache size", numeric=False), *(Column(NAMES.get(own.policy, own.policy)) for own in curves)]
    sampled = any(curve.error_90 is not None for curve in curves)
    caption = "Page hit ratio in the second half of the trace"
    return Table(f"{caption}; ± 90 %, in points" if sampled else caption, columns, rows[::-1])


def footprint_table(own: Footprint) -> Table:
    """What was touched, by type."""
    named = {
        "touched": own.bytes, "read": own.read_bytes, "written": own.written_bytes, "read and written": own.both_bytes,
        "read only": own.read_only_bytes, "written only": own.written_only_bytes,
    }  # fmt: skip
    rows = [[Cell(name), _size(value), _share(value / own.bytes)] for name, value in named.items()]
    rows.append([Cell("from lowest to highest address"), _size(own.address_span_bytes), Cell(NONE)])
    columns = [Column("pages", numeric=False), Column("size"), Column("share")]
    return Table("Footprint: distinct pages of 4 KiB", columns, rows)


def sizes_table(sizes: Mapping[str, Sizes | None]) -> Table:
    """Sizes by type."""
    columns = [Column(title) for title in ("requests", "mean", "median", "90 %", "99 %", "largest", "on page edges")]
    rows = [
        [
            Cell(name), number_cell(own.requests), _size(own.mean_bytes), _size(own.median_bytes), _size(own.p90_bytes),
            _size(own.p99_bytes), _size(own.max_bytes), _share(own.aligned_share),
        ]
        for name, own in sizes.items() if own is not None
    ]  # fmt: skip
    return Table("Sizes", [Column("requests of", numeric=False), *columns], rows)


def common_table(own: Sizes) -> Table:
    """The most common sizes."""
    rows = [[Cell(size(one.size_bytes), one.size_bytes), _share(one.share)] for one in own.common]
    return Table("Most common sizes", [Column("size", numeric=False), Column("share of requests")], rows)


def bursts_table(own: Arrivals) -> Table:
    """Load at each scale of time."""
    titles = ("windows", "busiest, requests/s", "busiest over mean", "index of dispersion", "idle", "autocorrelation")
    rows = [
        [
            Cell(duration(scale.window_s)), number_cell(scale.windows), _number(scale.peak_per_s),
            _number(scale.peak_to_mean), _number(scale.index_of_dispersion), _share(scale.idle_share),
            Cell(NONE) if scale.autocorrelation is None else number_cell(scale.autocorrelation, 2),
        ]
        for scale in own.scales
    ]  # fmt: skip
    return Table("Load in windows of each width", [Column("window", numeric=False), *map(Column, titles)], rows)


def gaps_table(own: Arrivals) -> Table:
    """Times between requests, and Hurst's exponent."""
    gaps, hurst = own.gaps, own.hurst
    rows = [
        [Cell("mean"), _time(gaps.mean_us / 1e6)], [Cell("median"), _time(gaps.median_us / 1e6)],
        [Cell("99 %"), _time(gaps.p99_us / 1e6)], [Cell("longest"), _time(gaps.max_us / 1e6)],
        [Cell("standard deviation over mean", note="1 by chance"), _number(gaps.variation)],
        [Cell("at the same time as the one before"), _share(gaps.zero_share)],
    ]  # fmt: skip
    if hurst is not None:
        note = f"± {significant(hurst.error)}, R² {number(hurst.r2, 2)}"
        rows.append(
            [Cell("Hurst's exponent", note="0.5 by chance"), Cell(number(hurst.exponent, 2), hurst.exponent, note)]
        )
    return Table("Time to the next request", [Column("", numeric=False), Column("")], rows)


def reuse_table(found: Characteristics) -> Table:
    """What follows what, and how soon."""
    again = found.reuse.again
    rows = [
        [Cell("first access of a page"), _share(1 - again.share)],
        [Cell("read of a page that was read before"), _share(again.read_after_read)],
        [Cell("read of a page that was written before"), _share(again.read_after_write)],
        [Cell("write of a page that was written before"), _share(again.write_after_write)],
        [Cell("write of a page that was read before"), _share(again.write_after_read)],
    ]
    return Table("Page accesses by the page's last use", [Column("access", numeric=False), Column("share")], rows)


def marks_table(found: Characteristics) -> Table:
    """Reuse distances and times at some shares."""
    own = found.reuse
    rows = [
        [Cell(f"{mark[:-1]} % within"), _size(value), _time(own.times.below_s[mark] if own.times else None)]
        for mark, value in own.distances.below_bytes.items()
    ]
    columns = [Column("of accesses that come again", numeric=False), Column("other pages"), Column("time")]
    return Table("How soon", columns, rows)


def senders_table(kind: str, own: Senders) -> Table:
    """The busiest of one kind."""
    rows = [
        [
            Cell(one.name, code=True), number_cell(one.requests), _share(one.request_share), _size(one.bytes),
            _share(one.read_share), _size(one.footprint_bytes),
        ]
        for one in own.top
    ]  # fmt: skip
    titles = ("requests", "of all", "bytes", "reads", "footprint")
    more = f", the busiest {len(own.top)} of {number(own.count)}" if own.count > len(own.top) else ""
    return Table(f"By {SENDERS[kind]}{more}", [Column(SENDERS[kind], numeric=False), *map(Column, titles)], rows)


def latency_table(own: Mapping[str, Latency | None]) -> Table:
    """Response times."""
    rows = [
        [
            Cell(name), number_cell(one.known),
            _time(one.mean_us / 1e6), _time(one.median_us / 1e6), _time(one.p90_us / 1e6), _time(one.p99_us / 1e6),
            _time(one.p999_us / 1e6), _time(one.max_us / 1e6),
        ]
        for name, one in own.items() if one is not None
    ]  # fmt: skip
    titles = ("known", "mean", "median", "90 %", "99 %", "99.9 %", "longest")
    return Table("Response times as traced", [Column("requests", numeric=False), *map(Column, titles)], rows)


def rc_rnn_table(name: str, row: RcRnnRow) -> Table:
    """RC-RNN's Table 4 with this trace."""
    ratio = Cell("all read") if row.read_write_ratio is None else _number(row.read_write_ratio)
    cells = [
        Cell(name, code=True),
        number_cell(row.requests),
        ratio,
        Cell(f"{number(row.mean_request_kb, 2)} KB", row.mean_request_kb),
    ]
    titles = ("# of reqs.", "R/W ratio", "avg. req. size")
    return Table("RC-RNN, Table 4", [Column("trace", numeric=False), *map(Column, titles)], [cells])


def fios_table(name: str, row: FiosRow) -> Table:
    """FIOS's Table II with this trace."""
    high = dict(zip(HIGH, row.high, strict=True))
    values = {
        "ACF": ("acf", row.acf), "RW (%)": ("random_write_percent", row.random_write_percent),
        "R": ("reuse_ratio", row.reuse_ratio), "S (KB)": ("mean_write_kb", row.mean_write_kb),
        "WV (KB)": ("", row.working_volume_kb), "λ (GB/day)": ("written_gb_per_day", row.written_gb_per_day),
        "peak rate (IOPS)": ("", row.peak_iops), "throughput (IOPS)": ("", row.throughput_iops),
    }  # fmt: skip
    cells = [Cell(name, code=True)]
    for key, value in values.values():
        note = "high" if high.get(key) == "1" else ""
        cells.append(Cell(NONE) if value is None else Cell(significant(value, 3), value, note))
    cells.append(Cell(row.features or "none"))
    hints = {"ACF": "of update intervals", "RW (%)": "random writes", "R": "updates over new", "S (KB)": "mean write",
             "WV (KB)": "address span", "λ (GB/day)": "written", "peak rate (IOPS)": "of 5 minutes"}  # fmt: skip
    columns = [Column("trace", numeric=False), *(Column(title, hints.get(title, "")) for title in values)]
    columns.append(Column("features", numeric=False))
    return Table("FIOS, Table II, and the features that it would choose", columns, [cells])

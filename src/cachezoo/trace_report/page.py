"""A trace's page: sections in the order in which one asks."""

from collections.abc import Sequence

from cachezoo.characteristics.whole import Characteristics
from cachezoo.show.formats import duration, number, share, significant, size
from cachezoo.show.page import Page, render
from cachezoo.show.section import Drawing, Section
from cachezoo.show.style import settings
from cachezoo.show.table import Table
from cachezoo.trace_report import plots, sentences, tables
from cachezoo.trace_report.terms import TERMS


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


def _section(
    anchor: str, title: str, sentence: str, drawings: Sequence[Drawing | None] = (), own: Sequence[Table] = (),
    more: Sequence[str] = (),
) -> Section:  # fmt: skip
    """A sentence, drawings, and the figures behind them folded away."""
    shown = tuple(drawing for drawing in drawings if drawing is not None)
    folded = (Section(f"{anchor}-figures", "Figures", tables=own, folded=True),) if own else ()
    return Section(anchor, title, (sentence, *more), figures=shown, parts=folded)


def _load(found: Characteristics) -> Section:
    own = found.arrivals
    if own is None:
        return _section("load", "Load and bursts", sentences.load_sentence(found))
    daily = plots.daily_drawing(own.daily) if own.daily else None
    drawings = (plots.load_drawing(own), plots.bursts_drawing(own), daily)
    own_tables = [*([tables.bursts_table(own)] if own.scales else []), tables.gaps_table(own)]
    return _section("load", "Load and bursts", sentences.load_sentence(found), drawings, own_tables)


def _popularity(found: Characteristics) -> Section:
    own, more = found.popularity, []
    if own.zipf is not None:
        fits = sentences.fit_words(own.zipf.distance)
        more.append(
            f"Zipf's law with s = {own.zipf.exponent:.2f} fits {fits}: where it is worst, it is off by "
            f"{significant(100 * own.zipf.distance)} points of the accesses. {share(own.half_of_accesses_share)} "
            "of the pages get half of the accesses."
        )
    return _section(
        "popularity", "Popularity", sentences.popularity_sentence(found), [plots.popularity_drawing(own)], more=more
    )


def _patterns(found: Characteristics) -> Section:
    own = found.patterns.runs
    run = (
        f"{share(own.continues_share)} of the requests begin where their volume's last one ended; a run has "
        f"{significant(own.mean_requests, 3)} requests and {size(own.mean_bytes)} on average, the longest "
        f"{number(own.longest_requests)} requests."
    )
    drawing = plots.patterns_drawing(found.patterns)
    return _section("patterns", "Order of addresses", sentences.patterns_sentence(found), [drawing], more=[run])


def _who(found: Characteristics) -> Section:
    own = [tables.senders_table(kind, found.who[kind]) for kind in sentences.WHO if kind in found.who]
    return Section("who", "Who", (sentences.who_sentence(found),), own)


def _latency(found: Characteristics) -> Section:
    sentence = sentences.latency_sentence(found)
    if found.latency is None:
        return _section("latency", "Response times", sentence)
    drawing, own = plots.latency_drawing(found.latency), tables.latency_table(found.latency)
    return _section("latency", "Response times", sentence, [drawing], [own])


def _papers(found: Characteristics) -> Section:
    name = found.summary.trace_id
    own = [tables.rc_rnn_table(name, found.rc_rnn_table_4)]
    if found.fios_table_2 is not None:
        own.append(tables.fios_table(name, found.fios_table_2))
    return Section("papers", "As papers have it", (sentences.papers_sentence(found),), own)


def _how(found: Characteristics) -> Section:
    """How the figures were made, and what the trace's source said."""
    sampled = [curve for curve in found.curves if curve.error is not None]
    texts = ["Everything is counted over the whole trace, but what follows."]
    if sampled:
        texts.append(
            f"Curves but LRU's: simulated on {significant(100 * sampled[0].rate)} % of the pages, chosen by a hash "
            "(SHARDS); tables give their standard errors."
        )
    distances = found.reuse.distances
    if distances.error is not None:
        texts.append(
            f"Reuse distances: of {significant(100 * distances.rate)} % of the pages; shares are off by "
            f"{significant(100 * distances.error)} points (one standard error) at most."
        )
    if len(texts) == 1:
        texts = ["Everything is counted over the whole trace; nothing is sampled."]
    told = [line[:1].upper() + line[1:] for line in found.summary.remarks]
    texts += [f"How the file was read: {'; '.join(told)}."] if told else []
    return Section("how", "How this was made", texts, folded=True)


def sections(found: Characteristics) -> list[Section]:
    """The page's sections; draw within `cachezoo.show.style.settings`."""
    reuse = [tables.reuse_table(found), *([tables.marks_table(found)] if found.reuse.distances.below_bytes else [])]
    every = found.sizes["all"]
    common = [tables.common_table(every)] if every is not None else []
    return [
        _section(
            "curve", "How much cache", sentences.curve_sentence(found), [plots.curves_drawing(found.curves)],
            [tables.curves_table(found.curves)],
        ),
        _popularity(found),
        _section(
            "reuse", "When pages come again", sentences.reuse_sentence(found), [plots.reuse_drawing(found.reuse)], reuse
        ),
        _section(
            "working-set", "Working set", sentences.working_sentence(found), [plots.working_drawing(found.working_set)]
        ),
        _section(
            "mix", "Reads, writes, footprint", sentences.mix_sentence(found), (),
            [tables.footprint_table(found.footprint)],
        ),
        _load(found),
        _section(
            "sizes", "Request sizes", sentences.sizes_sentence(found), [plots.sizes_drawing(found.sizes)],
            [tables.sizes_table(found.sizes), *common],
        ),
        _section("addresses", "Addresses", sentences.heat_sentence(found), [plots.heat_drawing(found.heat_map)]),
        _patterns(found),
        _who(found),
        _latency(found),
        _papers(found),
        _how(found),
    ]  # fmt: skip


def trace_page(found: Characteristics) -> str:
    """The HTML of a trace's page; its bytes depend on the characteristics alone."""
    with settings():
        own = sections(found)
    doubts = [f"Warning: {warning}" for warning in found.summary.warnings]
    lead = [*doubts, *sentences.lead(found)]
    return render(Page(f"Trace {found.summary.trace_id}", lead, facts(found), own, TERMS))

"""The page of a trace of objects: what it means, how its quantities are spread in one table, and the plots."""

from collections.abc import Callable
from dataclasses import replace

from cachezoo.questions.objects.description import ObjectCharacteristics, ObjectCurve, Spread
from cachezoo.show.formats import NONE, duration, number, share, significant, size
from cachezoo.show.page import Page, render
from cachezoo.show.section import Section
from cachezoo.show.style import settings
from cachezoo.show.table import Cell, Column, Table, share_cell
from cachezoo.trace_report import object_sentences as sentences
from cachezoo.trace_report import plots
from cachezoo.trace_report.object_sentences import OBJECTS, capacity_words
from cachezoo.trace_report.page import TERMS as TERMS_OF_PAGES
from cachezoo.trace_report.page import latency_section, load_section, popularity_section, section

TERMS = {
    "key": "What a request names its object by. It says which object, and nothing else: keys have no order.",
    "object hits, hits": "Share of the requests that find their object in the cache. Deletes are no requests for one.",
    "byte hit ratio, byte hits": "Share of the bytes asked for that the cache had.",
    "time to live": "How long what is written may be used; after it the object is void.",
    "GDSF, AdaptSize": "Policies that weigh an object's size: a large one must be asked for more often to be kept.",
    **{name: TERMS_OF_PAGES[name] for name in ("warm-up", "LRU", "index of dispersion", "Hurst", "admission filter")},
    "Zipf": (
        "Zipf's law: the object of rank k gets requests in proportion to k to the power of -s. The larger s, the more "
        "uneven."
    ),
}
MANY = 1e6  # requests above which a number is shortened


def _count(value: float) -> str:
    return number(value) if value < MANY else f"{significant(value / 1e6, 3)} million"


def facts(found: ObjectCharacteristics) -> list[tuple[str, str]]:
    """The trace in a few numbers."""
    own, sizes = found.summary, found.sizes
    rate = own["requests_per_s"]
    known = [
        ("read", size(own["bytes_read"])), ("written", size(own["bytes_written"])),
        ("all objects", size(sizes.whole_bytes)),
    ] if sizes is not None else []  # fmt: skip
    return [
        ("trace", own["trace_id"]), ("format", own["source_format"]), ("requests", number(own["requests"])),
        ("span", "no clock" if own["span_s"] is None else duration(own["span_s"])),
        *([] if rate is None else [("requests a second", significant(rate, 3))]),
        ("reads", number(own["reads"])), ("writes", number(own["writes"])), ("deletes", number(own["deletes"])),
        ("objects", number(own["objects"])), ("requested once", f"{share(own['one_hit_share'])} of objects"), *known,
        ("SHA-256", own["source_sha256"][:12]),
    ]  # fmt: skip


def spreads_table(found: ObjectCharacteristics) -> Table:
    """Sizes, reuse and times to live at some shares."""
    sizes, reuse, lifetimes = found.sizes, found.reuse, found.lifetimes
    rows: list[tuple[str, Spread | None, Callable[[float], str]]] = [
        ("object size", sizes.object_bytes if sizes else None, size),
        ("request size", sizes.request_bytes if sizes else None, size),
        ("other requests until again", reuse.requests_between, _count),
        ("their bytes", reuse.bytes_between, size),
        ("time until again", reuse.time_between_s, duration),
        ("time to live", lifetimes.ttl_s if lifetimes else None, duration),
    ]
    there = [(name, own, shown) for name, own, shown in rows if own is not None]
    marks = list(there[0][1].at_most) if there else []
    heads = [*(f"{mark[:-1]} %" for mark in marks), "largest", "mean"]
    return Table(
        "What so many per cent do not exceed; again: when an object is requested again",
        [Column("", numeric=False), *map(Column, heads)],
        [
            [Cell(name), *(Cell(shown(value), value) for value in (*own.at_most.values(), own.largest, own.mean))]
            for name, own, shown in there
        ],
    )


def curve_table(own: ObjectCurve) -> Table:
    """Hit ratios at each size."""
    of_bytes = own.byte_hit_ratio
    rows = [
        [
            Cell(capacity_words(own, capacity), capacity, f"{share(capacity / own.whole)} of all"),
            share_cell(float(own.hit_ratio[k])),
            Cell(NONE) if of_bytes is None else share_cell(float(of_bytes[k])),
        ]
        for k, capacity in enumerate(own.capacities.tolist())
    ]
    columns = [Column("cache size", numeric=False), Column("object hit ratio"), Column("byte hit ratio")]
    return Table("LRU in the second half of the trace", columns, rows)


def _how(found: ObjectCharacteristics) -> Section:
    """How the figures were made, and what the trace's source said."""
    texts = [
        "Hit ratios are of the trace's second half; everything else is counted over the whole trace.",
        "Nothing is sampled.",
        "Objects have no addresses: nothing is said of order, runs, regions or reading ahead.",
    ]
    told = [line[:1].upper() + line[1:] for line in found.summary["remarks"]]
    texts += [f"How the file was read: {'; '.join(told)}."] if told else []
    return Section("how", "How this was made", texts, folded=True)


def _drawn(found: ObjectCharacteristics) -> list[Section]:
    """The sections of plots, each with its sentence, which the page has before all plots."""
    own = [
        section(
            "curve", "How much cache", sentences.curve_sentence(found), [plots.object_curve_drawing(found.curve)],
            [curve_table(found.curve)],
        ),
        popularity_section(found.popularity, OBJECTS),
        section(
            "reuse", "When objects come again", sentences.reuse_sentence(found),
            [plots.object_reuse_drawing(found.reuse)],
        ),
        load_section(found.arrivals),
    ]  # fmt: skip
    if found.sizes is not None:
        own.insert(
            3, section("sizes", "Sizes", sentences.sizes_sentence(found), [plots.object_sizes_drawing(found.sizes)])
        )
    if found.lifetimes is not None:
        said_of_lives = sentences.lifetimes_sentence(found)
        own.append(section("lifetimes", "Times to live", said_of_lives, [plots.ttl_drawing(found.lifetimes)]))
    if found.latency is not None:
        own.append(latency_section(found.latency))
    return own


def sections(found: ObjectCharacteristics) -> list[Section]:
    """The page's sections: all sentences, one table, then the plots; draw within `cachezoo.show.style.settings`."""
    meaning = Section(
        "meaning", "What it means", [text for _, text in sentences.others(found)], [spreads_table(found)]
    )  # fmt: skip
    drawn = [replace(own, texts=own.texts[1:]) for own in _drawn(found) if own.figures]
    return [meaning, *drawn, _how(found)]


def object_page(found: ObjectCharacteristics) -> str:
    """The HTML of a trace's page; its bytes depend on the characteristics alone."""
    with settings(narrow=True):
        own = sections(found)
    doubts = [f"Warning: {warning}" for warning in found.summary["warnings"]]
    lead = [*doubts, *sentences.lead(found)]
    return render(Page(f"Trace {found.summary['trace_id']}", lead, facts(found), own, TERMS))

"""A comparison of hierarchies, and the advice what to buy, in sentences and in the cells of tables."""

import math
import shlex
from dataclasses import replace
from typing import Any

from cachezoo.contest.choice import Goal
from cachezoo.contest.lead import Mean
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.contest.words import saves
from cachezoo.flash_cache.load import DAY_S
from cachezoo.questions.page.candidates import name_of as policy_name
from cachezoo.questions.page.sentences import SAVED
from cachezoo.questions.page.sizes import typed
from cachezoo.questions.tiers.advice import Advice, Offer
from cachezoo.questions.tiers.bench import NOTHING, Comparison, Scored
from cachezoo.questions.tiers.budget import Point
from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.questions.tiers.options import name_of
from cachezoo.questions.tiers.purchase import Bought
from cachezoo.questions.tiers.search import MOST_LOAD
from cachezoo.questions.tiers.table import FORMATS
from cachezoo.settings.prices import Prices
from cachezoo.show.formats import (
    NONE,
    duration,
    latency,
    lifetime,
    money,
    number,
    ordinary,
    percent,
    share,
    significant,
    span,
    words,
)
from cachezoo.sizes import PAGE_BYTES, human
from cachezoo.traces.clock import has_clock

COLUMNS = [
    "hierarchy", "AMAT", "than RAM alone", "no waiting", "P99", "IOPS", "RAM", "SSD", "disk", "to buy", "a month",
    "SSD written", "WAF", "SSD lasts", "buffer", "$ per I/O",
]  # fmt: skip
"""Of a comparison."""
OFFERS = ["", "RAM", "SSD", "as", "AMAT", "than the disk alone", "by RAM", "by SSD", "by disk", "SSD lasts", "to buy",
          "a month", "as parts"]  # fmt: skip
"""Of what to buy."""
TITLES = {"AMAT": "amat_us", "no waiting": "alone_us", "P99": "p99_us", "IOPS": "iops"}
SERVED = ("RAM", "rhr"), ("SSD", "shr"), ("disk", "dhr")
TURNED = 1.5
"""Times that one half's mean time is the other's, from which on a sentence says so."""


def _figures(scored: Scored, served: str = "") -> dict[str, str]:
    """The columns that both tables have; `served` begins the titles of who serves reads."""
    titles = TITLES | {f"{served}{tier}": name for tier, name in SERVED}
    values = scored.metrics()
    found = {title: FORMATS[name](values[name]) for title, name in titles.items()}
    if "amat_us" in scored.errors:
        found["AMAT"] += f" ± {latency(scored.errors['amat_us'])}"
    return found


def lasting(bought: Bought) -> str:
    """How long the SSD lasts, for a cell."""
    return lifetime(bought.ssd_years) if bought.ssd else NONE


def _change(lead: Mean) -> str:
    """A lead as a change of time, for a cell: `+12.3 % [10.6, 14.0]`."""
    ends = None if lead.interval is None else (-lead.interval[1], -lead.interval[0])
    return f"{percent(-lead.value, signed=True)} {span(ends, 1)}".rstrip()


def _saves(lead: Mean, rival: str = "") -> str:
    return saves(lead.value, lead.interval, LEAST_SAVING, rival)


def _than(lead: Mean) -> str:
    """What the answer saves against an offer, which the sentence has named; its lead over it."""
    return ", as fast as the answer." if lead.interval == (0, 0) else f"; against that the answer {_saves(lead)}."


def cells(row: Scored, found: Comparison) -> dict[str, str]:
    """A row of the table of a comparison."""
    tiered, bought = row.tiered, found.bought(row)
    return {
        **_figures(row),
        "hierarchy": "the disk alone" if row.point == NOTHING else str(row.point.hierarchy),
        "than RAM alone": NONE if row is found.reference else _change(found.saved(row)),
        "to buy": money(bought.usd),
        "a month": money(bought.month_usd),
        "SSD written": human(tiered.ssd_written * PAGE_BYTES),
        "WAF": f"{'' if row.wear.simulated else '≤ '}{number(row.wear.waf, 2)}" if row.wear.written else NONE,
        "SSD lasts": lasting(bought),
        "buffer": percent(tiered.bhr),
        "$ per I/O": significant(row.usd_per_io, 3),
    }


def offer_cells(found: Advice, offer: Offer) -> dict[str, str]:
    """A row of the table of what each sum buys."""
    point = offer.point
    able = "" if offer.able else " (too little)" if offer.bought.ssd else ""
    return {
        **_figures(offer.scored, "by "),
        "": ">" if point == found.answer.point else "",
        "as": name_of(point),
        "RAM": size(found, point.ram_pages) if point.ram_pages else NONE,
        "SSD": f"{size(found, point.ssd_pages)}{_sold(offer)}" if point.ssd_pages else NONE,
        "than the disk alone": NONE if offer.nothing else _change(offer.over(found.nothing)),
        "SSD lasts": lasting(offer.bought) + able,
        "to buy": money(offer.bought.usd),
        "a month": money(offer.month),
        "as parts": money(_otherwise(found, offer, parts=True).month_usd),
    }


def _sold(offer: Offer) -> str:
    drives = offer.bought.ssd
    return f", {drives.kind}" if drives else ""


def _otherwise(found: Advice, offer: Offer, *, parts: bool) -> Bought:
    """What an offer takes bought whole, or in parts."""
    terms = replace(found.shop.terms, parts=parts)
    written = offer.scored.wear
    rate = written.written * PAGE_BYTES / written.days if written.days else None
    return replace(found.shop, terms=terms).buy(offer.point, rate)


def answer(found: Comparison) -> str:
    """Which hierarchy is fastest, if any is, and what it saves of the fastest RAM alone; sentences."""
    best, *others = found.rows
    leading, base = found.leading, found.reference
    own = _title(best)
    takes = f"a page read takes {latency(best.mean)} on average"
    if verdict(best.lead(others[0], Goal.COST), LEAST_SAVING) == Verdict.SHORT:
        text = f"The trace is too short to say which is fastest; with {own} {takes}, the least of all"
    elif len(leading) > 1:
        names = words([_title(row) for row in leading[1:]])
        last = leading[-1]
        text = (
            f"No one is surely fastest: with {own} {takes}, and {names} {'takes' if len(leading) == 2 else 'take'} up "
            f"to {latency(last.mean)}, which may be chance or is too little to matter"
        )
    else:
        second = others[0]
        text = f"{own} is fastest: {takes}; against {_title(second)}, the next ({latency(second.mean)}), it "
        text += _saves(best.lead(second, Goal.COST))
    able = "" if best.point == NOTHING else f" {runs(best.point, found.bench.footprint)}"
    if best is base:
        return f"{text}. No SSD makes it faster.{able}"
    return (
        f"{text}. Against {_title(base)} in RAM alone ({latency(base.mean)}) {own} {_saves(found.saved(best))}.{able}"
    )


def runs(point: Point, footprint: int) -> str:
    """What runs a hierarchy of some sizes, in a sentence: cachezoo itself runs none.

    Args:
        point: the hierarchy.
        footprint: distinct pages of the trace.
    """
    hierarchy = point.hierarchy
    if hierarchy.kind == "l2arc":
        return "ZFS runs it, with the commands of --for zfs."
    if not point.ssd_pages and point.ram_pages >= footprint:
        return "So much RAM evicts nothing, so that the policy does not matter: any page cache does, such as Linux's."
    if not point.ssd_pages:
        return (
            f"Simulation only: cachezoo cannot run {policy_name(hierarchy.ram)} in RAM; use a page cache that has it."
        )
    return (
        f"Simulation only: cachezoo cannot run {quoted(hierarchy)}. For what bcache, dm-cache, Open CAS or ZFS make of "
        "these sizes, with commands, give --for NAME."
    )


def _title(row: Scored) -> str:
    return "the disk alone" if row.point == NOTHING else quoted(row.point.hierarchy)


def quoted(hierarchy: Hierarchy) -> str:
    """A hierarchy in a sentence: between quotes where its text has blanks, and so could be read as part of it."""
    name = str(hierarchy)
    return f'"{name}"' if " " in name else name


def caption(found: Comparison, device: str) -> str:
    """What the table's figures are of."""
    bench, row, base = found.bench, found.rows[0], found.reference
    parts = [
        f"counted from page access {bench.counted_from:,} of {bench.accesses:,} on",
        "AMAT: mean time of a page read; no waiting: if none had to wait",
        f"than RAM alone: than {base.point.hierarchy} in RAM alone ({latency(base.mean)}), the fastest of them",
        "RAM, SSD, disk: who serves page reads, RAM with its buffer",
        f"to buy: {'parts of ' if found.shop.terms.parts else ''}the modules and drives that are sold, $ of "
        f"{dated(bench.prices)}; a month: over {_years(found.shop.terms.lifetime_years)}, with wear and power",
        f"the disk, {money(row.cost.hdd_usd)}, comes on top",
        f"times: {device}, {_loop_words(row)}",
    ]
    if any(own.wear.written and not own.wear.simulated for own in found.rows):
        parts.append("≤: the SSD is too small to simulate its write amplification")
    if any(own.point.hierarchy.kind == "l2arc" for own in found.rows) and not has_clock(bench.ts.trace):
        parts.append("l2arc is fed by the clock, which the trace does not have")
    if bench.sample is not None:
        cut = "; requests as cut" if bench.uncut is None else ""
        parts.append(f"estimated from {percent(bench.rate)} of the pages; ±: half a 90 % interval{cut}")
    return "; ".join(parts)


def dated(prices: Prices) -> str:
    """A price list by its name, with its date."""
    return prices.name if prices.dated[:4] in prices.name else f"{prices.name} ({prices.dated})"


def _years(years: float) -> str:
    return f"{years:g} year{'s' * (years != 1)}"


def _loop_words(row: Scored) -> str:
    tiered = row.tiered
    if tiered.provenance == "real":
        return "measured one I/O at a time"
    if tiered.loop == "closed":
        return f"{tiered.depth} request{'s' * (tiered.depth > 1)} outstanding, as captured"
    if tiered.loop == "alone":
        return "one request at a time"
    if tiered.stretched > 1:
        return f"arrivals spread out {tiered.stretched:.2f} times, so that the disk alone could keep up"
    return "arrivals as in the trace"


def size(found: Advice, pages: int) -> str:
    """Pages as what they stand for."""
    return human(pages * PAGE_BYTES * found.scale)


def built(found: Advice, offer: Offer) -> str:
    """What is bought, in words: `8 GiB of RAM and a 960 GB read-intensive SSD, used as HCA`."""
    if offer.nothing:
        return "nothing"
    whole, ram, ssd = found.bench.footprint, offer.bought.ram, offer.bought.ssd
    assert ram is not None
    if found.shop.terms.parts:
        parts = [f"{size(found, offer.point.ram_pages)} of RAM"]
        if ssd:
            parts.append(f"{size(found, offer.point.ssd_pages)} of a {ssd.kind} SSD")
    else:
        parts = [f"{human(ram.bytes)} of RAM" + (f" ({ram.count} x {human(ram.each_bytes)})" if ram.count > 1 else "")]
        if ssd:
            gb = f"{number(ssd.each_bytes / 1e9)} GB"
            parts.append(
                f"{'an' if gb[0] == '8' else 'a'} {gb} {ssd.kind} SSD"
                if ssd.count == 1
                else f"{ssd.count} {ssd.kind} SSDs of {gb}"
            )
    every = ", which hold all that is touched" if max(offer.point.ram_pages, offer.point.ssd_pages) >= whole else ""
    if not ssd:
        return (
            f"{words(parts)} with {name_of(offer.point).removesuffix(' in RAM alone')}{every.replace('hold', 'holds')}"
        )
    return f"{words(parts)}{every}, run as {name_of(offer.point)}"


def does(offer: Offer) -> str:
    """What it does: who serves, and how fast."""
    tiered = offer.scored.tiered
    ssd = f" and the SSD {share(tiered.shr)}" if offer.point.ssd_pages else ""
    takes = f"a page read takes {latency(tiered.amat_us)} on average"
    return f"RAM serves {share(tiered.rhr)} of page reads{ssd}; {takes}"


def headline(found: Advice) -> str:
    """The advice in one line."""
    own, options, chosen = found.answer, found.options, found.chosen
    alone = no_cache(found)
    if found.why == "needless":
        aim = f"{options.ms:g} ms" if options.ms is not None else f"{share(options.hit or 0)} of reads"
        return f"Buy nothing: the disk alone takes {alone} for a page read, and {aim} was asked for."
    if found.why == "idle":
        return (
            f"Buy nothing: page reads wait {share(found.waits)} of the time, so that no cache can save more of it. If "
            f"each wait matters, give --target-ms: with {built(found, chosen)}, a page read takes "
            f"{latency(chosen.amat_us)} instead of {alone}."
        )
    if own.nothing:
        best = f"what the half that chose would buy, {built(found, chosen)}, for {money(chosen.month)} a month, "
        if chosen.nothing:
            best = "nothing that can be bought for that makes page reads faster on the half that chose"
            return f"Buy nothing: {best}. A page read takes {alone}."
        saved = _saves(chosen.over(found.nothing))
        return f"Buy nothing: {best}{saved}, against the {alone} that a page read takes without a cache."
    costs = f"{money(own.month)} a month ({money(own.bought.usd)} to buy)"
    tail = f"{does(own)}, waits included, instead of {alone} without a cache"
    if found.why == "unreachable":
        aim = f"{options.ms:g} ms" if options.ms is not None else f"{share(options.hit or 0)} of reads"
        return f"{aim} cannot be reached on these devices. Nearest comes {built(found, own)}, for {costs}: {tail}."
    return f"Buy {built(found, own)}, for {costs}: {tail}."


def no_cache(found: Advice) -> str:
    """What a page read takes on the disk alone, and what of that is no waiting for other requests."""
    disk = found.nothing.scored.tiered
    alone = latency(disk.alone_us)
    return latency(disk.amat_us) + (f" ({alone} if nothing waited)" if alone != latency(disk.amat_us) else "")


def why(found: Advice) -> list[str]:
    """Why this sum, and what the half that chose would have bought; sentences."""
    budget = found.options.budget
    most = f"{money(budget.amount)}{' a month' if budget.monthly else ''}" if budget else ""
    reasons = {
        "sum": f"It is the fastest that {most} buys, on the half that chose",
        "enough": f"Of {most} that is enough: what the half that chose would buy for it is no better on the other half",
        "knee": "The sum is the knee of time over money: beyond it a further dollar a month brings less than half of "
        "what the average one does",
        "whole": "Beyond this sum, money buys little",
        "reached": "It is the cheapest that reaches the aim, to within 5 %",
        "needless": "The aim is reached without",
        "nothing": "",
        "idle": "",
        "unreachable": "First accesses to pages come from the disk whatever is bought",
    }
    text = [f"{reasons[found.why]}."] if reasons[found.why] else []
    if not found.answer.nothing:
        text.append(f"Against the disk alone it {_saves(found.answer.over(found.nothing))}.")
    if found.chosen.point != found.answer.point and found.why not in ("nothing", "idle"):
        lead = found.chosen.over(found.answer)
        text.append(
            f"The half that chose would buy {built(found, found.chosen)}, for {money(found.chosen.month)} a month; on "
            f"the other half that {_saves(lead, 'the answer')}."
        )
    return text


def spending(found: Advice) -> list[str]:
    """What the money is for; sentences."""
    own = found.answer
    if own.nothing:
        return []
    years, bought = _years(found.shop.terms.lifetime_years), own.bought
    text = [
        f"Of {money(own.month)} a month {money(bought.purchase_month_usd)} is the purchase over {years}, "
        f"{money(bought.wear_month_usd)} wear and {money(bought.power_month_usd)} power. The disk behind, "
        f"{money(own.scored.cost.hdd_usd * found.scale)}, comes on top."
    ]
    parts = not found.shop.terms.parts
    other = money(_otherwise(found, own, parts=parts).month_usd)
    text.append(
        f"As parts of a module and a drive that are there anyway these sizes cost {other} a month (--parts)."
        if parts
        else f"Where whole modules and drives have to be bought for it, that is {other} a month (leave out --parts)."
    )
    return text


def versus(found: Advice, offer: Offer) -> str:
    """Another compared with the answer."""
    sizes = built(found, offer)
    return f"{sizes}, for {money(offer.month)} a month: {latency(offer.amat_us)}"


def comparisons(found: Advice) -> list[str]:
    """RAM alone, an SSD, and the next-best for the same sum; sentences."""
    text, own = list[str](), found.answer
    if found.ram_alone is not None and own.point.ssd_pages and found.ram_alone.point != own.point:
        lead = own.over(found.ram_alone)
        alone = f"RAM alone for at most {money(found.chosen.month)} a month: {versus(found, found.ram_alone)}"
        text.append(f"{alone}{_than(lead)}")
    if found.ssd is not None and not own.point.ssd_pages:
        text.append(f"With an SSD: {versus(found, found.ssd)}{_unable(found.ssd)}.")
    elif found.ssd is None and not own.point.ssd_pages:
        text.append("No SSD is of use: the smallest RAM that is sold holds all that is touched.")
    if found.next_best is not None:
        lead = own.over(found.next_best)
        second = f"Next-best on the half that chose: {versus(found, found.next_best)}"
        text.append(f"{second}{_than(lead)}")
    return text + _unfed(found)


def _unable(offer: Offer) -> str:
    """Why an SSD is no advice; empty where it may be."""
    years, drives = offer.bought.ssd_years, offer.bought.ssd
    if drives is None:
        return ""
    if years is None:
        return ", and how long it would last is unknown, as the trace has no clock"
    if years < offer.bought.lifetime_years:
        return f", and of all drives that are sold the best for it is worn out after {lifetime(years)}"
    if offer.load is not None and offer.load > MOST_LOAD:
        return f", and it cannot do the load: it would take {number(offer.load, 1)} times as long as the trace"
    return ""


def _unfed(found: Advice) -> list[str]:
    """What is wrong with L2ARC's figures on a trace without a clock; a sentence, or none."""
    shown = [*found.rows, *([found.next_best] if found.next_best else [])]
    if has_clock(found.bench.ts.trace) or not any(one.point.hierarchy.kind == "l2arc" for one in shown):
        return []
    return [
        "L2ARC is fed by the clock, which the trace does not have: its feed hardly ever ran, so nothing here says how "
        "good it is."
    ]


def lasts(found: Advice) -> list[str]:
    """How long the SSD lasts and how busy it is, where there is one; sentences."""
    own = found.answer
    if found.bench.days is None:
        return [
            "The trace has no clock, so that nothing is known of an SSD's life and load: none is advised. Record one "
            "with times."
        ]
    if own.bought.ssd is None or own.bought.ssd_years is None:
        return []
    if math.isinf(own.bought.ssd_years):
        return ["Nothing is written to the SSD in what is counted."]
    busy = f"; it works {share(own.load)} of the time" if own.load is not None else ""
    days = found.bench.days * found.scale
    short = days < 1
    every = f", if every day is as the {duration(days * DAY_S)} that count" if short else ""
    return [f"At this rate of writes the SSD lasts {lifetime(own.bought.ssd_years)}{every}{busy}."]


def holds(found: Advice) -> str:
    """Whether other prices give another advice; a sentence."""
    moved = found.moved
    if not moved:
        return "The advice holds at half and at double the price of RAM, and of SSD."
    differ = "; ".join(
        f"at {how}: {built(found, one)}" + ("" if one.nothing else f", {money(one.month)} a month")
        for how, one in moved.items()
    )
    kept = "" if len(moved) == len(found.elsewhere) else " Otherwise it holds."
    return f"Prices move it: {differ}.{kept}"


def how_sure(found: Advice) -> list[str]:
    """What the figures rest on; sentences."""
    sampled, full = found.counts
    whole = "in full" if found.bench.sample is None else f"on all of the {percent(found.bench.rate)} that were read"
    begun = f"{found.bench.counted_from:,}"
    half = f"the first half of the trace chose; every figure is of the second, from page access {begun} on"
    text = [f"{sampled:,} choices were simulated on {_sample(found)}, and {full:,} {whole}; {half}."]
    if found.bench.sample is not None:
        text.append(
            f"All figures are estimates from {percent(found.bench.rate)} of the pages, chosen by a hash, in as small a "
            "part of each size; intervals heed that."
        )
        if found.bench.uncut is None:
            text.append("The disk's times are those of requests as cut: what was read in sequence takes longer so.")
    if found.why in ("needless", "reached"):
        text.append("Which sum reaches the aim is read from the second half too.")
    if found.rate < 1:
        mean, most = (number(100 * off, 1) for off in found.off)
        text.append(f"The sample was off by {mean} points of reads from the disk on average, {most} at most.")
    own = found.answer
    slip = own.amat_us / own.found.amat_us
    if not 1 / TURNED < slip < TURNED:
        text.append(
            f"The halves differ: on the first a page read would take {latency(own.found.amat_us)}; so look at a longer "
            "trace before you buy."
        )
    return text


def _sample(found: Advice) -> str:
    return "all pages" if found.rate >= 1 else f"a sample of {share(found.rate)} of the pages"


def assumed(found: Advice) -> list[str]:
    """What was assumed; sentences."""
    prices = found.prices
    ratio = prices.ram.usd_per_gb / prices.ssd.usd_per_gb
    text = [
        f"Prices are of {dated(prices)}: RAM ${prices.ram.usd_per_gb:g}, SSD from ${prices.ssd.usd_per_gb:g} a GB (RAM "
        f"{significant(ratio, 3)} times as dear), ${prices.power.usd_per_kwh:g} a kWh. Give yours: --prices FILE, "
        "--ram-price, --ssd-price."
    ]
    if found.waits is not None and found.waits > 1:
        text.append(
            f"The disk that is modelled is slower than what the trace was recorded on: alone it takes "
            f"{number(found.waits, 1)} times as long for the page reads."
        )
    if found.scale > 1:
        seconds = (found.bench.days or 0) * DAY_S
        time = f", and to take {duration(seconds * found.scale)} for what the trace does in the {duration(seconds)} "
        text.append(
            f"The trace touches {human(found.bench.footprint * PAGE_BYTES)}. A working set of "
            f"{size(found, found.bench.footprint)} is assumed to have the same hit ratios in proportionally "
            f"larger caches{f'{time}that count' if seconds else ''}."
        )
    return text + _buffer(found)


def _buffer(found: Advice) -> list[str]:
    """What is paid for transient buffers; a sentence, or none where no hierarchy of the front has one."""
    every = {one.point.hierarchy.buffer_bytes for one in found.rows} - {0}
    if not every:
        return []
    sizes = [f"{human(size)} (tb={size >> 10}K)" for size in sorted(every)]
    scaled = [human(size * found.scale) for size in sorted(every)]
    more = f", scaled as the rest to {' or '.join(scaled)}" if found.scale > 1 else ""
    return [f"A transient buffer of {' or '.join(sizes)} is paid for as RAM{more}; no size above has it in."]


def command(found: Advice) -> str:
    """What to run next: it repeats the answer's figures, but for what `unrepeated` says."""
    point, options = found.answer.point, found.options
    shown = found.chosen.point if found.answer.nothing and not found.chosen.nothing else point
    if shown == NOTHING:
        shown = found.all_ram.point
    name = SAVED if options.piped else shlex.quote(found.name)
    terms = [] if found.scale > 1 else options.termed
    parts = [
        f"cachezoo recommend --only tiers {name} --hierarchy {shlex.quote(str(shown.hierarchy))}",
        f"--ram {typed(shown.ram_pages)}",
        f"--ssd {typed(shown.ssd_pages)}" if shown.ssd_pages else "",
        f"--device {shlex.quote(options.device)}" if options.device else "",
        f"--prices {shlex.quote(options.prices)}" if options.prices else "",
        *terms,
        options.reading,
        "" if options.sample == "auto" else f"--sample {options.sample}",
    ]
    return " ".join(filter(None, parts))


def left_out(found: Advice) -> list[str]:
    """Options that move the answer's figures and that the command does not take."""
    return [*found.options.replaced, *(["--working-set"] if found.options.working_set is not None else [])]


def unrepeated(found: Advice) -> list[str]:
    """What the command cannot repeat; sentences."""
    text = dict.fromkeys(found.options.replaced, "its costs are by the price list")
    text["--working-set"] = "its sizes and costs are the trace's own"
    return [f"The next command takes no {option}: {text[option]}." for option in left_out(found)]


def lines(found: Advice) -> list[str]:
    """The sentences below the table."""
    point = found.answer.point
    return [
        *why(found),
        *([] if point == NOTHING else [runs(point, found.bench.footprint)]),
        *spending(found),
        *comparisons(found),
        *lasts(found),
        holds(found),
        *assumed(found),
        *how_sure(found),
        *unrepeated(found),
    ]


def values(found: Advice) -> dict[str, Any]:
    """The advice as JSON values, with its first line and the next command."""
    point = found.answer.point
    able = None if point == NOTHING else runs(point, found.bench.footprint)
    more = {
        "advice": ordinary(headline(found)), "runs": able, "next": command(found), "next_leaves_out": left_out(found),
    }  # fmt: skip
    return {**found.values(), **more}

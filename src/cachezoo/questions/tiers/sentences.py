"""A comparison of hierarchies, and the advice what to buy, in sentences and in the cells of tables."""

import math
import shlex
from typing import Any

from cachezoo.contest.choice import Goal
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.questions.page.sentences import SAVED
from cachezoo.questions.page.sizes import typed
from cachezoo.questions.tiers.advice import Advice, Offer
from cachezoo.questions.tiers.bench import Comparison, Scored
from cachezoo.questions.tiers.options import name_of
from cachezoo.questions.tiers.table import FORMATS
from cachezoo.show.formats import NONE, latency, lifetime, money, number, ordinary, percent, share, significant, span
from cachezoo.sizes import PAGE_BYTES, human
from cachezoo.traces.clock import has_clock

COLUMNS = [
    "hierarchy", "AMAT", "than RAM alone", "no waiting", "P99", "IOPS", "RAM", "SSD", "disk", "cost", "a month",
    "SSD written", "WAF", "SSD lasts", "buffer", "$ per I/O",
]  # fmt: skip
"""Of a comparison."""
OFFERS = ["", "cost", "hierarchy", "RAM", "SSD", "AMAT", "P99", "by RAM", "by SSD", "by disk", "SSD lasts", "a month"]
"""Of what to buy."""
TITLES = {"AMAT": "amat_us", "no waiting": "alone_us", "P99": "p99_us", "IOPS": "iops"}
SERVED = ("RAM", "rhr"), ("SSD", "shr"), ("disk", "dhr")
SHORT_LIFE_YEARS = 3.0
"""Of an SSD; below this a sentence names what would last."""
LASTING_YEARS = 5.0
TURNED = 1.5
"""Times that one half's mean time is the other's, from which on a sentence says so."""
LESS_A_MONTH = 0.8
"""Of what the answer costs a month: what costs less than that is named."""
LITTLE = 0.02
"""Of the mean time: what is nearer is about the same."""


def _figures(scored: Scored, served: str = "") -> dict[str, str]:
    """The columns that both tables have; `served` begins the titles of who serves reads."""
    titles = TITLES | {f"{served}{tier}": name for tier, name in SERVED}
    values = scored.metrics()
    return {title: FORMATS[name](values[name]) for title, name in titles.items()}


def cells(row: Scored, found: Comparison) -> dict[str, str]:
    """A row of the table of a comparison."""
    tiered = row.tiered
    return {
        **_figures(row),
        "hierarchy": str(row.point.hierarchy),
        "than RAM alone": NONE if row is found.reference else percent(-found.saved(row), signed=True),
        "cost": money(row.cost.cache_usd),
        "a month": money(row.cost.month_usd),
        "SSD written": human(tiered.ssd_written * PAGE_BYTES),
        "WAF": f"{'' if row.wear.simulated else '≤ '}{number(row.wear.waf, 2)}" if row.wear.written else NONE,
        "SSD lasts": lifetime(row.wear.years),
        "buffer": percent(tiered.bhr),
        "$ per I/O": significant(row.usd_per_io, 3),
    }


def offer_cells(found: Advice, offer: Offer) -> dict[str, str]:
    """A row of the table of what each sum buys."""
    point = offer.point
    return {
        **_figures(offer.scored, "by "),
        "": ">" if point == found.answer.point and found.why != "needless" else "",
        "cost": money(offer.cost),
        "hierarchy": str(point.hierarchy),
        "RAM": size(found, point.ram_pages),
        "SSD": size(found, point.ssd_pages) if point.ssd_pages else NONE,
        "SSD lasts": lifetime(offer.scored.wear.years) if point.ssd_pages else NONE,
        "a month": money(offer.scored.cost.month_usd * found.scale),
    }


def answer(found: Comparison) -> str:
    """Which hierarchy is fastest, in a sentence."""
    best, *others = found.rows
    text = f"{best.point.hierarchy} is fastest: a page read takes {latency(best.tiered.amat_us)} on average"
    base = found.reference
    if best is not base:
        less = percent(found.saved(best))
        text += f", {less} less than with {base.point.hierarchy} in RAM alone ({latency(base.mean)})"
    return text + (f". {_next(best, others[0])}." if others else ".")


def _next(best: Scored, second: Scored) -> str:
    """How far the second is behind, and how sure that is."""
    own = best.lead(second, Goal.COST)
    text = f"Next is {second.point.hierarchy} with {latency(second.tiered.amat_us)}"
    if own.low is None or own.high is None:
        return f"{text}; the trace is too short to say how sure that is"
    blocks = f"the first was faster in {own.won} of {own.blocks} blocks of time"
    saved = f"{percent(own.value)} {span((own.low, own.high), 1)}"
    found = verdict(own, LEAST_SAVING)
    if found == Verdict.BETTER:
        return f"{text}, of which the first saves {saved}: {blocks}"
    if found == Verdict.TRIFLE:
        return f"{text}, of which the first saves too little to matter, {saved}: {blocks}"
    return f"{text}, too near to tell them apart, {saved}: {blocks}"


def caption(found: Comparison, device: str) -> str:
    """What the table's figures are of."""
    bench, row, base = found.bench, found.rows[0], found.reference
    parts = [
        f"counted from page access {bench.first:,} of {len(bench.ts):,} on",
        "AMAT: mean time of a page read; no waiting: if none had to wait",
        f"than RAM alone: than {base.point.hierarchy} in RAM alone ({latency(base.mean)}), the fastest of them",
        "RAM, SSD, disk: who serves page reads, RAM with its buffer",
        f"cost: RAM and SSD, $ of {bench.prices.name}",
        f"a month: with the disk ({money(row.cost.hdd_usd)}), replacements and power",
        f"times: {device}, {_loop_words(row)}",
    ]
    if any(own.wear.written and not own.wear.simulated for own in found.rows):
        parts.append("≤: the SSD is too small to simulate its wear")
    if any(own.point.hierarchy.kind == "l2arc" for own in found.rows) and not has_clock(bench.ts.trace):
        parts.append("l2arc is fed by the clock, which the trace does not have")
    return "; ".join(parts)


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
    """What is bought, in words: `1.5 GiB of RAM and 12 GiB of SSD as HCA`."""
    ram = f"{size(found, offer.point.ram_pages)} of RAM"
    whole = found.stream.pages.n_pages
    if offer.point.ram_pages >= whole:
        ram += ", all that is touched,"
    name = name_of(offer.point.hierarchy)
    if not offer.point.ssd_pages:
        return f"{ram} as {name}"
    ssd = f"{size(found, offer.point.ssd_pages)} of SSD"
    if offer.point.ssd_pages >= whole:
        ssd += ", all that is touched,"
    return f"{ram} and {ssd} as {name}"


def does(offer: Offer) -> str:
    """What it does: who serves, and how fast."""
    tiered = offer.scored.tiered
    ssd = f" and the SSD {share(tiered.shr)}" if offer.point.ssd_pages else ""
    return f"RAM serves {share(tiered.rhr)} of page reads{ssd}, and one takes {latency(tiered.amat_us)} on average"


def headline(found: Advice) -> str:
    """The advice in one line."""
    answer, options = found.answer, found.options
    buys = f"buy {built(found, answer)} for {money(answer.cost)}"
    tail = f"{does(answer)}, waits included, {no_cache(found)} without a cache{_soon_worn(found)}"
    if found.why == "needless":
        return f"{options.ms:g} ms needs neither RAM nor SSD: the disk alone takes {no_cache(found)}."
    if found.why == "everything":
        return (
            f"{money(found.budget or 0)} buys everything: RAM for all {size(found, found.stream.pages.n_pages)} that "
            f"is touched costs {money(found.everything)}. Still, {buys}: {tail}."
            if answer.point.ram_pages < found.stream.pages.n_pages
            else f"{money(found.budget or 0)} buys everything: {buys}: {tail}."
        )
    if found.why == "unreachable":
        aim = f"{options.ms:g} ms" if options.ms is not None else f"{share(options.hit or 0)} of reads"
        return (
            f"{aim} cannot be reached on these devices. Nearest comes {built(found, answer)}, for "
            f"{money(answer.cost)}: {tail}."
        )
    return f"{buys[0].upper()}{buys[1:]}: {tail}."


def no_cache(found: Advice) -> str:
    """What a page read takes on the disk alone, and what of that is no waiting for other requests."""
    disk = found.disk
    alone = latency(disk.alone_us)
    return latency(disk.amat_us) + (f" ({alone} if nothing waited)" if alone != latency(disk.amat_us) else "")


def _soon_worn(found: Advice) -> str:
    """That the SSD does not last, and what does; empty where it lasts, or that is unknown."""
    years = found.answer.scored.wear.years
    if not found.answer.point.ssd_pages or years is None or years >= SHORT_LIFE_YEARS:
        return ""
    text = f"; but at these writes that SSD is worn out after {lifetime(years)}"
    best = cheapest_by_month(found)
    if best is None:
        return text
    own, less = (money(one.scored.cost.month_usd * found.scale) for one in (found.answer, best))
    return f"{text}, and as fast is {built(found, best)}, for {less} a month, not {own}"


def why(found: Advice) -> str:
    """Why this sum."""
    budget = found.budget or 0
    reasons = {
        "budget": f"It is the fastest that {money(budget)} buys, on the half that chose",
        "enough": f"Of {money(budget)} that is enough: no sum within it that was tried brings a hundredth more",
        "everything": "No larger sum that was tried brings a hundredth more",
        "knee": "The sum is the knee of time over money, not of hits over size: beyond it a further dollar brings less "
        "than half of the average one",
        "whole": "The front has no knee: every further dollar is worth it until all is in RAM",
        "reached": "It is the cheapest that reaches the aim, to within 5 %",
        "needless": f"What follows is of the least of the sums that double, {money(found.answer.cost)}, with which a "
        f"page read takes {latency(found.answer.amat_us)}",
        "unreachable": "First accesses to pages come from the disk whatever is bought; more money brings less than a "
        "hundredth",
    }
    return f"{reasons[found.why]}."


def versus(found: Advice, offer: Offer) -> str:
    """Another for the same sum, compared with the answer."""
    more = offer.amat_us / found.answer.amat_us - 1
    sizes = size(found, offer.point.ram_pages) + (
        f" + {size(found, offer.point.ssd_pages)}" if offer.point.ssd_pages else ""
    )
    how = "is about as fast" if abs(more) < LITTLE else f"takes {latency(offer.amat_us)}, {_times(more)}"
    return f"{name_of(offer.point.hierarchy)} ({sizes}) {how}"


def _times(more: float) -> str:
    """How much longer a page read takes, in words."""
    if abs(more) < LITTLE:
        return "about as fast"
    if more >= 1:
        return f"{number(more + 1, 1)} times as long"
    return f"{share(abs(more))} {'more' if more > 0 else 'less'}"


def comparisons(found: Advice) -> list[str]:
    """The next-best, the next-best for less, and others for the same sum; sentences."""
    text, named = list[str](), {found.answer.point}
    if found.next_best is not None:
        second = found.next_best
        slower = second.found.amat_us / found.answer.found.amat_us - 1
        text.append(f"Next-best on the half that chose ({_times(slower)} there): {versus(found, second)}.")
        named.add(second.point)
    if found.less is not None and found.less.point not in named:
        less = found.less
        share_less = share(1 - less.cost / found.answer.cost)
        text.append(
            f"For {share_less} less, {money(less.cost)}: {built(found, less)}; a page read takes "
            f"{latency(less.amat_us)} ({_times(less.amat_us / found.answer.amat_us - 1)})."
        )
    others = [versus(found, one) for one in found.others if one.point not in named]
    if others:
        text.append(f"For the same sum {'; '.join(others)}.")
    return text + _unfed(found)


def _unfed(found: Advice) -> list[str]:
    """What is wrong with L2ARC's figures on a trace without a clock; a sentence, or none."""
    more = [one for one in (found.next_best, found.less) if one is not None]
    shown = (found.answer, *more, *found.others, *found.front)
    if has_clock(found.stream.trace) or not any(one.point.hierarchy.kind == "l2arc" for one in shown):
        return []
    return [
        "L2ARC is fed by the clock, which the trace does not have: its feed hardly ever ran, so nothing here says how "
        "good it is."
    ]


def lasts(found: Advice) -> list[str]:
    """How long the SSD lasts, where there is one; sentences."""
    answer = found.answer
    wear, cost = answer.scored.wear, answer.scored.cost
    if not answer.point.ssd_pages:
        return []
    if wear.years is None:
        return ["How long the SSD lasts is unknown: the trace has no clock."]
    month = f"With power and what wears out, RAM, SSD and disk cost {money(cost.month_usd * found.scale)} a month."
    if math.isinf(wear.years):
        return [f"Nothing is written to the SSD in what is counted. {month}"]
    if wear.years >= SHORT_LIFE_YEARS:
        return [f"At these writes the SSD is worn out after {lifetime(wear.years)}. {month}"]
    larger = human(answer.point.ssd_pages * PAGE_BYTES * found.scale * LASTING_YEARS / wear.years)
    return [
        f"At these writes the SSD is worn out after {lifetime(wear.years)}; a drive of {larger}, of which the cache "
        f"uses this part, lasts {LASTING_YEARS:g} years. {month}"
    ]


def cheapest_by_month(found: Advice) -> Offer | None:
    """What is as fast as the answer and costs the least in the long run; None where nothing is clearly cheaper."""
    answer = found.answer
    month = answer.scored.cost.month_usd
    rivals = [
        one
        for one in (*found.front, *found.alone)
        if one.amat_us <= (1 + LITTLE) * answer.amat_us and one.scored.cost.month_usd < LESS_A_MONTH * month
    ]
    return min(rivals, key=lambda one: one.scored.cost.month_usd, default=None)


def cheaper_by_month(found: Advice) -> list[str]:
    """What is as fast and costs less in the long run, as it wears out less; a sentence, or none."""
    best = cheapest_by_month(found)
    if best is None:
        return []
    return [
        f"In the long run {built(found, best)} is as fast and costs less, as it wears out less: {money(best.cost)} to "
        f"buy, {money(best.scored.cost.month_usd * found.scale)} a month."
    ]


def how_sure(found: Advice) -> list[str]:
    """What the figures rest on; sentences."""
    sampled, full = found.counts
    half = f"the first half of the trace chose; every figure is of the second, from page access {found.first:,} on"
    text = [f"{sampled:,} points were simulated on {_sample(found)} and {full} of them in full; {half}."]
    if found.rate < 1:
        mean, most = (number(100 * off, 1) for off in found.off)
        text.append(f"The sample was off by {mean} points of reads from the disk on average, {most} at most.")
    slip = found.answer.amat_us / found.answer.found.amat_us
    if not 1 / TURNED < slip < TURNED:
        text.append(
            f"The halves differ: on the first a page read would take {latency(found.answer.found.amat_us)}; so look "
            "at a longer trace before you buy."
        )
    return text


def _sample(found: Advice) -> str:
    return "all pages" if found.rate >= 1 else f"a sample of {share(found.rate)} of the pages"


def assumed(found: Advice) -> list[str]:
    """What was assumed; sentences."""
    prices = found.prices
    ratio = prices.ram.usd_per_gb / prices.ssd.usd_per_gb
    text = [
        f"Prices: {prices.name}: RAM ${prices.ram.usd_per_gb:g}, SSD ${prices.ssd.usd_per_gb:g} a GB (RAM "
        f"{significant(ratio, 3)} times as dear). The disk behind, "
        f"{money(found.answer.scored.cost.hdd_usd * found.scale)}, comes on top."
    ]
    if found.scale > 1:
        text.append(
            f"The trace touches {human(found.stream.pages.n_pages * PAGE_BYTES)}, which stands for "
            f"{size(found, found.stream.pages.n_pages)}: the same parts of it are taken to hit as often."
        )
    text += _buffer(found)
    years = found.answer.scored.wear.years
    if found.scale > 1 and found.answer.point.ssd_pages and years is not None and math.isfinite(years):
        text.append("The SSD's life is that of writes which grow as its size does.")
    return text


def _buffer(found: Advice) -> list[str]:
    """What is paid for transient buffers; a sentence, or none where no hierarchy of the front has one."""
    every = {one.point.hierarchy.buffer_bytes for one in (found.answer, *found.front)} - {0}
    if not every:
        return []
    sizes = [f"{human(size)} (tb={size >> 10}K)" for size in sorted(every)]
    scaled = [human(size * found.scale) for size in sorted(every)]
    more = f", scaled as the rest to {' or '.join(scaled)}" if found.scale > 1 else ""
    return [f"A transient buffer of {' or '.join(sizes)} is paid for as RAM{more}; no size above has it in."]


def command(found: Advice) -> str:
    """What to run next: it repeats the answer's figures, but for what `unrepeated` says."""
    point, options = found.answer.point, found.options
    name = SAVED if options.piped else shlex.quote(found.name)
    words = [
        f"cachezoo recommend --only tiers {name} --by {shlex.quote(str(point.hierarchy))}",
        f"--ram {typed(point.ram_pages)}",
        f"--ssd {typed(point.ssd_pages)}" if point.ssd_pages else "",
        f"--device {shlex.quote(options.device)}" if options.device else "",
        f"--prices {shlex.quote(options.prices)}" if options.prices else "",
        options.reading,
    ]
    return " ".join(filter(None, words))


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
    return [
        why(found),
        *comparisons(found),
        *lasts(found),
        *cheaper_by_month(found),
        *assumed(found),
        *how_sure(found),
        *unrepeated(found),
    ]


def values(found: Advice) -> dict[str, Any]:
    """The advice as JSON values, with its first line and the next command."""
    more = {"advice": ordinary(headline(found)), "next": command(found), "next_leaves_out": left_out(found)}
    return {**found.values(), **more}

"""The advice in plain words: one line, why, what others would do, how sure, what was assumed, and what to run next."""

import math
import shlex
from typing import TYPE_CHECKING

from cachezoo.questions.page.sentences import SAVED
from cachezoo.questions.page.sizes import typed
from cachezoo.questions.tiers.sizing.candidates import name_of
from cachezoo.show.formats import latency, lifetime, money, number, share, significant
from cachezoo.sizes import PAGE_BYTES, human
from cachezoo.traces.clock import has_clock

if TYPE_CHECKING:
    from cachezoo.questions.tiers.sizing.advice import Advice, Offer

SHORT_LIFE_YEARS = 3.0
"""Of an SSD; below this it is said what would last."""
LASTING_YEARS = 5.0
TURNED = 1.5
"""Times that one half's mean time is the other's, from which on it is said."""
LESS_A_MONTH = 0.8
"""Of what the answer costs a month: what costs less than that is said to cost less."""
LITTLE = 0.02
"""Of the mean time: what is nearer is said to be about the same."""


def size(found: "Advice", pages: int) -> str:
    """Pages as what they stand for."""
    return human(pages * PAGE_BYTES * found.scale)


def built(found: "Advice", offer: "Offer") -> str:
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


def does(offer: "Offer") -> str:
    """What it does: who serves, and how fast."""
    tiered = offer.judged.tiered
    ssd = f" and the SSD {share(tiered.shr)}" if offer.point.ssd_pages else ""
    return f"RAM serves {share(tiered.rhr)} of page reads{ssd}, and one takes {latency(tiered.amat_us)} on average"


def headline(found: "Advice") -> str:
    """The advice in one line."""
    answer, asked = found.answer, found.asked
    buys = f"buy {built(found, answer)} for {money(answer.cost)}"
    tail = f"{does(answer)}, waits included, {latency(found.disk_us)} without a cache{_soon_worn(found)}"
    if found.why == "needless":
        return f"{asked.ms:g} ms needs neither RAM nor SSD: the disk alone takes {latency(found.disk_us)}."
    if found.why == "everything":
        return (
            f"{money(found.budget or 0)} buys everything: RAM for all {size(found, found.stream.pages.n_pages)} that "
            f"is touched costs {money(found.everything)}. Still, {buys}: {tail}."
            if answer.point.ram_pages < found.stream.pages.n_pages
            else f"{money(found.budget or 0)} buys everything: {buys}: {tail}."
        )
    if found.why == "unreachable":
        aim = f"{asked.ms:g} ms" if asked.ms is not None else f"{share(asked.hit or 0)} of reads"
        return (
            f"{aim} cannot be reached on these devices. Nearest comes {built(found, answer)}, for "
            f"{money(answer.cost)}: {tail}."
        )
    return f"{buys[0].upper()}{buys[1:]}: {tail}."


def _soon_worn(found: "Advice") -> str:
    """That the SSD does not last, and what does; empty where it lasts, or that is unknown."""
    years = found.answer.judged.worn.years
    if not found.answer.point.ssd_pages or years is None or years >= SHORT_LIFE_YEARS:
        return ""
    said = f"; but at these writes that SSD is worn out after {lifetime(years)}"
    best = cheapest_by_month(found)
    if best is None:
        return said
    own, less = (money(one.judged.cost.month_usd * found.scale) for one in (found.answer, best))
    return f"{said}, and as fast is {built(found, best)}, for {less} a month, not {own}"


def why(found: "Advice") -> str:
    """Why this sum."""
    budget = found.budget or 0
    said = {
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
    return f"{said[found.why]}."


def versus(found: "Advice", offer: "Offer") -> str:
    """Another for the same sum, beside the answer."""
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


def comparisons(found: "Advice") -> list[str]:
    """The next-best, the next-best for less, and others for the same sum; sentences."""
    said, told = list[str](), {found.answer.point}
    if found.next_best is not None:
        second = found.next_best
        slower = second.found.amat_us / found.answer.found.amat_us - 1
        said.append(f"Next-best on the half that chose ({_times(slower)} there): {versus(found, second)}.")
        told.add(second.point)
    if found.less is not None and found.less.point not in told:
        less = found.less
        share_less = share(1 - less.cost / found.answer.cost)
        said.append(
            f"For {share_less} less, {money(less.cost)}: {built(found, less)}; a page read takes "
            f"{latency(less.amat_us)} ({_times(less.amat_us / found.answer.amat_us - 1)})."
        )
    others = [versus(found, one) for one in found.others if one.point not in told]
    if others:
        said.append(f"For the same sum {'; '.join(others)}.")
    return said + _unfed(found)


def _unfed(found: "Advice") -> list[str]:
    """What is wrong with L2ARC's figures on a trace without a clock; a sentence, or none."""
    beside = [one for one in (found.next_best, found.less) if one is not None]
    shown = (found.answer, *beside, *found.others, *found.front)
    if has_clock(found.stream.trace) or not any(one.judged.hierarchy.kind == "l2arc" for one in shown):
        return []
    return [
        "L2ARC is fed by the clock, which the trace does not have: its feed hardly ever ran, so nothing here says how "
        "good it is."
    ]


def lasts(found: "Advice") -> list[str]:
    """How long the SSD lasts, where there is one; sentences."""
    answer = found.answer
    worn, cost = answer.judged.worn, answer.judged.cost
    if not answer.point.ssd_pages:
        return []
    if worn.years is None:
        return ["How long the SSD lasts is unknown: the trace has no clock."]
    month = f"With power and what wears out, RAM, SSD and disk cost {money(cost.month_usd * found.scale)} a month."
    if math.isinf(worn.years):
        return [f"Nothing is written to the SSD in what is counted. {month}"]
    if worn.years >= SHORT_LIFE_YEARS:
        return [f"At these writes the SSD is worn out after {lifetime(worn.years)}. {month}"]
    larger = human(answer.point.ssd_pages * PAGE_BYTES * found.scale * LASTING_YEARS / worn.years)
    return [
        f"At these writes the SSD is worn out after {lifetime(worn.years)}; a drive of {larger}, of which the cache "
        f"uses this part, lasts {LASTING_YEARS:g} years. {month}"
    ]


def cheapest_by_month(found: "Advice") -> "Offer | None":
    """What is as fast as the answer and costs the least in the long run; None where nothing is clearly cheaper."""
    answer = found.answer
    month = answer.judged.cost.month_usd
    rivals = [
        one
        for one in (*found.front, *found.alone)
        if one.amat_us <= (1 + LITTLE) * answer.amat_us and one.judged.cost.month_usd < LESS_A_MONTH * month
    ]
    return min(rivals, key=lambda one: one.judged.cost.month_usd, default=None)


def cheaper_by_month(found: "Advice") -> list[str]:
    """What is as fast and costs less in the long run, as it wears out less; a sentence, or none."""
    best = cheapest_by_month(found)
    if best is None:
        return []
    return [
        f"In the long run {built(found, best)} is as fast and costs less, as it wears out less: {money(best.cost)} to "
        f"buy, {money(best.judged.cost.month_usd * found.scale)} a month."
    ]


def how_sure(found: "Advice") -> list[str]:
    """What the figures rest on; sentences."""
    sampled, full = found.counts
    half = f"the first half of the trace chose; every figure is of the second, from page access {found.first:,} on"
    said = [f"{sampled:,} points were simulated on {_sample(found)} and {full} of them in full; {half}."]
    if found.rate < 1:
        mean, most = (number(100 * off, 1) for off in found.off)
        said.append(f"The sample was off by {mean} points of reads from the disk on average, {most} at most.")
    slip = found.answer.amat_us / found.answer.found.amat_us
    if not 1 / TURNED < slip < TURNED:
        said.append(
            f"The halves differ: on the first a page read would take {latency(found.answer.found.amat_us)}; so look "
            "at a longer trace before you buy."
        )
    return said


def _sample(found: "Advice") -> str:
    return "all pages" if found.rate >= 1 else f"a sample of {share(found.rate)} of the pages"


def assumed(found: "Advice") -> list[str]:
    """What was assumed; sentences."""
    prices = found.prices
    ratio = prices.ram.usd_per_gb / prices.ssd.usd_per_gb
    said = [
        f"Prices: {prices.name}: RAM ${prices.ram.usd_per_gb:g}, SSD ${prices.ssd.usd_per_gb:g} a GB (RAM "
        f"{significant(ratio, 3)} times as dear). The disk behind, "
        f"{money(found.answer.judged.cost.hdd_usd * found.scale)}, comes on top."
    ]
    if found.scale > 1:
        said.append(
            f"The trace touches {human(found.stream.pages.n_pages * PAGE_BYTES)}, which stands for "
            f"{size(found, found.stream.pages.n_pages)}: the same parts of it are taken to hit as often."
        )
    said += _buffer(found)
    years = found.answer.judged.worn.years
    if found.scale > 1 and found.answer.point.ssd_pages and years is not None and math.isfinite(years):
        said.append("The SSD's life is that of writes which grow as its size does.")
    return said


def _buffer(found: "Advice") -> list[str]:
    """What is paid for transient buffers; a sentence, or none where no hierarchy of the front has one."""
    every = {one.judged.hierarchy.buffer_bytes for one in (found.answer, *found.front)} - {0}
    if not every:
        return []
    sizes = [f"{human(size)} (tb={size >> 10}K)" for size in sorted(every)]
    scaled = [human(size * found.scale) for size in sorted(every)]
    more = f", scaled as the rest to {' or '.join(scaled)}" if found.scale > 1 else ""
    return [f"A transient buffer of {' or '.join(sizes)} is paid for as RAM{more}; no size above has it in."]


def command(found: "Advice") -> str:
    """What to run next: it repeats the answer's figures, but for what `unrepeated` says."""
    point, asked = found.answer.point, found.asked
    name = SAVED if asked.piped else shlex.quote(found.name)
    words = [
        f"cachezoo recommend --only tiers {name} --by {shlex.quote(point.hierarchy)} --ram {typed(point.ram_pages)}",
        f"--ssd {typed(point.ssd_pages)}" if point.ssd_pages else "",
        f"--device {shlex.quote(asked.device)}" if asked.device else "",
        f"--prices {shlex.quote(asked.prices)}" if asked.prices else "",
        asked.reading,
    ]
    return " ".join(filter(None, words))


def left_out(found: "Advice") -> list[str]:
    """Options that move the answer's figures and that the command does not take."""
    return [*found.asked.replaced, *(["--working-set"] if found.asked.working_set is not None else [])]


def unrepeated(found: "Advice") -> list[str]:
    """What the command cannot repeat; sentences."""
    said = dict.fromkeys(found.asked.replaced, "its costs are by the price list")
    said |= {"--working-set": "its sizes and costs are the trace's own"}
    return [f"The next command takes no {option}: {said[option]}." for option in left_out(found)]

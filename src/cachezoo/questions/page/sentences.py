"""A recommendation in plain words: one line, why, how sure, what was assumed, and what to run next."""

import shlex

import numpy as np

from cachezoo.contest.verdict import LEAST_HITS, Verdict
from cachezoo.devices.built_in import DEFAULT, DEFAULT_IS
from cachezoo.flash_cache.load import DAY_S
from cachezoo.questions.page.candidates import SIMPLEST, name_of
from cachezoo.questions.page.likeness import Likeness
from cachezoo.questions.page.recommendation import Recommendation
from cachezoo.questions.page.sizes import CLOSE, SHORT_LIFE_YEARS, Row, typed
from cachezoo.show.formats import duration, latency, lifetime, number, percent, points, share, span
from cachezoo.sizes import human
from cachezoo.traces.clock import TIME_SCALE_KEY, are_numbered, time_scale
from cachezoo.traces.table import OP_WRITE, PAGE_BYTES

MUCH_FASTER = 4  # times as fast as the modelled disk, from which on that is noted
SAVED = "FILE"
NO_GAIN = 0.02
MUCH_LESS = 2  # times that a size holds a lesser one, from which on the lesser is named


def size(found: Recommendation, row: Row) -> str:
    """A row's size in sentences."""
    whole = row.capacity >= found.bench.n_pages
    return human(row.capacity * PAGE_BYTES) + (", all pages of the trace" if whole else "")


def headline(found: Recommendation) -> str:
    """The recommendation in one line."""
    row, why, options = found.row, found.picked.why, found.options
    name, how_much = name_of(row.ran.policy), size(found, row)
    if why == "useless":
        once, best = share(found.bench.first_share), found.picked.most
        hit = f"at most {percent(best)} hit" if best else "none hits"
        return f"A cache will not help: {once} of the page accesses are the page's first, and {hit}."
    if why == "needless":
        return needs_none(found)
    hits = f"{share(row.ran.hit_ratio)} of page accesses hit"
    if why == "unreachable":
        if options.hit is not None:
            once, most = percent(found.bench.first_share), percent(row.ran.hit_ratio)
            return (
                f"A hit ratio of {options.hit:g} cannot be reached: {most} is the most, with {name} and {how_much}; "
                f"{once} of page accesses are the page's first."
            )
        return (
            f"{options.ms:g} ms cannot be reached on these devices: the least is {latency(row.ran.response_us)}, with "
            f"{name} and {how_much}."
        )
    if why == "on average":
        hits = f"{percent(row.ran.hit_ratio)} of page accesses hit on average, though not in every stretch"
    if slower(found):
        return (
            f"By the model a cache makes requests slower: {waits(found)}. For hits alone, run {name} with {how_much}: "
            f"{hits}.{on_average(found)}"
        )
    times = f"{waits(found)} without a cache, queues not counted"
    return f"Run {name} with {how_much}: {hits}, and {times}.{on_average(found)}"


def waits(found: Recommendation) -> str:
    """How long a request takes with the recommended cache, and on the disk alone; without a capital and a full stop."""
    return f"a request takes {latency(found.row.ran.response_us)} instead of {latency(found.bench.no_cache_us)}"


def slower(found: Recommendation) -> bool:
    """Whether requests take longer with the recommended cache than without one."""
    return found.row.ran.response_us > (1 + NO_GAIN) * found.bench.no_cache_us


def needs_none(found: Recommendation) -> str:
    """That the disk alone reaches the target time."""
    return f"{found.options.ms:g} ms needs no cache: the disk alone takes {latency(found.bench.no_cache_us)}."


def on_average(found: Recommendation) -> str:
    """Of a size for a hit ratio with confidence, that it is for that, and how much less reaches it on average."""
    hit, row, why = found.options.hit, found.row, found.picked.why
    if hit is None or why not in ("reached", "on average"):
        return ""
    least = next((one for one in found.picked.rows if one.ran.hit_ratio >= hit), row)
    hardly_less = MUCH_LESS * least.capacity > row.capacity
    if hardly_less and why == "on average":
        return ""
    sure = "It comes nearest to" if why == "on average" else "The size reaches"
    less = f"; on average {human(least.capacity * PAGE_BYTES)} reaches it ({percent(least.ran.hit_ratio)})"
    return f" {sure} {hit:g} with 90 % confidence{'' if hardly_less else less}."


def sampled(found: Recommendation) -> str:
    """Of a sample, how much of the trace it is, and how far its hit ratios may be off; else empty."""
    if found.bench.sample is None or found.error_90 is None:
        return ""
    off = number(100 * found.error_90, 1)
    return f"; estimated from {percent(found.bench.rate)} of the pages, hit ratios to ± {off} points (90 %)"


def where_knee(found: Recommendation) -> str:
    """Where the curve's knee is; without a capital and a full stop."""
    if found.knee is None:
        return "the curve has no knee below all pages"
    return f"the knee of the curve is at {human(found.knee.capacity * PAGE_BYTES)}"


def aim_in_vain(found: Recommendation) -> str:
    """What becomes of the aim where no cache helps; empty without one."""
    options, most, bench = found.options, found.picked.most, found.bench
    if options.hit is not None:
        if most < options.hit:
            return f"A hit ratio of {options.hit:g} cannot be reached."
        return f"A hit ratio of {options.hit:g} can be reached, but is not worth a cache."
    if options.ms is None:
        return ""
    if bench.no_cache_us <= 1e3 * options.ms:
        return needs_none(found)
    alone = f"the disk alone takes {latency(bench.no_cache_us)}"
    least = min(row.ran.response_us for row in found.picked.rows)
    if least > 1e3 * options.ms:
        return f"{options.ms:g} ms cannot be reached on these devices: the least is {latency(least)}, and {alone}."
    return f"{options.ms:g} ms can be reached, but not by hits: the least is {latency(least)}, and {alone}."


def reasons(found: Recommendation) -> list[str]:
    """Why this size and this policy; where no cache helps, what becomes of the aim."""
    if found.picked.why == "needless":
        return []
    if not found.picked.useful:
        return list(filter(None, [aim_in_vain(found)]))
    return [why_size(found), why_policy(found)]


def why_size(found: Recommendation) -> str:
    """Why this size."""
    picked, row, options, bend = found.picked, found.row, found.options, where_knee(found)
    if picked.why == "whole":
        return "The curve has no knee: every further MiB is worth it in hits, until all pages of the trace are in."
    if picked.why == "knee":
        return (
            "The size is the knee of hits over size: beyond it a further MiB brings less than half of what the average "
            "MiB brings up to all pages."
        )
    if picked.why == "budget":
        if options.budget is not None and row.capacity < min(
            options.budget.pages(found.bench.n_pages), found.bench.n_pages
        ):
            return f"Of the budget of {options.budget}, this is enough: the rest brings less than half a point of hits."
        return f"It is the whole budget; {bend}."
    if picked.why == "reached":
        aim = f"a hit ratio of {options.hit:g} with 90 % confidence" if options.hit else f"{options.ms:g} ms"
        return f"It is the least size that reaches {aim}, to within {percent(CLOSE - 1)}; {bend}."
    if picked.why == "on average":
        return f"No size reaches {options.hit:g} with 90 % confidence; the hit ratio changes too much over time."
    return f"{bend[0].upper()}{bend[1:]}."


def why_policy(found: Recommendation) -> str:
    """Why this policy: how it did against LRU on blocks of time that did not choose it."""
    row = found.row
    lead, name = row.lead, name_of(row.chosen)
    if row.capacity >= found.bench.n_pages:
        return "LRU, the simplest: where nothing is evicted, all policies are alike."
    if lead.low is None or lead.high is None:
        return "LRU, the simplest, for want of time blocks to compare policies on."
    if row.chosen == SIMPLEST:
        return "LRU had the most hits of the candidates on the first half of the trace."
    figures = f"{points(100 * lead.value)}, 90 % interval {span((lead.low, lead.high), 1)}"
    if row.ran.policy == row.chosen:
        unsure = "" if row.verdict == Verdict.BETTER else "; it is advised for that lead, but LRU may do as well"
        return (
            f"{name} had the most hits on the first half. On the second it hit more than LRU in {lead.won} of "
            f"{lead.blocks} time blocks; lead {figures}{unsure}."
        )
    least = f"leads by under {points(100 * LEAST_HITS).lstrip('+')}" if lead.value > 0 else "has no more hits"
    return f"LRU, the simplest: {name}, which the first half chose, {least} on the second ({figures})."


def how_sure(found: Recommendation) -> str:
    """The trust, with all that speaks against it."""
    own = found.confidence
    doubts = f": {'; '.join(own.reasons)}" if own.reasons else ""
    return f"Trust is {own.level}{doubts}."


def _gains(found: Recommendation) -> list[str]:
    """What the recommended cache does for response times, and to its SSD."""
    bench, row, lines = found.bench, found.row, []
    if slower(found):
        lines.append("The modelled disk serves these requests faster than the SSD: a cache only takes work off it.")
    elif row.ran.response_us > (1 - NO_GAIN) * bench.no_cache_us:
        lines.append(
            "Response times hardly change: what hits is what the disk serves fast anyway, or waits for misses."
        )
    if row.years is not None and found.admitted is not None:
        other = found.admitted
        cost = points(100 * (other.ran.hit_ratio - row.ran.hit_ratio))
        lines.append(
            f"The SSD lasts {lifetime(row.years)} only. With {other.ran.policy}, which lets a page in at its second "
            f"miss, it lasts {lifetime(other.years)}, at {cost} of hit ratio."
        )
    elif row.years is not None and row.years < SHORT_LIFE_YEARS:
        lines.append(f"The SSD lasts {lifetime(row.years)} only, though the policy writes little already.")
    return lines


def notes(found: Recommendation) -> list[str]:
    """What an operator has to know besides; sentences."""
    bench, lines = found.bench, []
    if (bench.trace.op == OP_WRITE).all():
        lines.append("All requests are writes: a cache helps only if it may hold writes back from the disk.")
    if found.picked.useful:
        lines += [*_gains(found), _modelled(found)]
    days = bench.span_days
    if days is None:
        numbered = are_numbered(bench.trace.meta.extra)
        why = "The trace has no clock" if numbered else "All requests of the second half bear the same time"
        lines.append(f"{why}: SSD writes a day and the SSD's lifetime are unknown.")
    elif bench.short:
        lines.append(f"What is counted lasted {duration(DAY_S * days)}: too short to say what a day writes to the SSD.")
    elif days < 1:
        lines.append(f"SSD writes a day are extrapolated from {duration(DAY_S * days)}.")
    return lines


def _modelled(found: Recommendation) -> str:
    """That milliseconds are a model's, and whether the storage that was recorded is much faster than the model's."""
    device = DEFAULT_IS if found.device == DEFAULT else found.device
    return f"Milliseconds are a model's, of {device}; --device takes yours.{faster(found)}"


def faster(found: Recommendation) -> str:
    """Whether the storage that was recorded is much faster than the model's; empty where it is not, or unknown."""
    recorded = found.bench.trace.latency_us
    known = recorded[recorded >= 0] if recorded is not None else None
    if known is None or not len(known) or (median := float(np.median(known))) >= found.bench.no_cache_us / MUCH_FASTER:
        return ""
    half = f"half of the requests took at most {latency(median)}"
    return f" Times assume a slower disk than the recorded one ({half}): expect to save less."


def model_words(found: Recommendation) -> list[str]:
    """What the workload classifier says; nothing where it did not run. It decides nothing."""
    if not found.picked.useful or found.likeness is None:
        return []
    return [_looked(found.likeness)]


def _looked(like: Likeness) -> str:
    if not like.stretches:
        reason = "the trace is shorter than a stretch" if like.stretch else "there is no workload classifier"
        return f"Whether the trace is like what the zoo's models learned from is unknown: {reason}."
    parts = [f"{share(part)} {name}" for name, part in like.shares.items()]
    looked = f"{like.stretches} stretches of {like.stretch:,} requests"
    return f"The zoo's workload classifier looked at {looked}: {', '.join(parts)}."


def elsewhere(like: Likeness) -> str:
    """What the page cache gained where it was measured; empty where its bundle does not say."""
    if like.home is None or like.away is None:
        return ""
    return (
        f"Where it was measured, against the way to run a classic that was best on each stream's first half: "
        f"{points(like.home)} of hit ratio in the mean on later days of what it learned from, {points(like.away)} on "
        f"programs that it never saw."
    )


def assumptions(found: Recommendation) -> list[str]:
    """What the figures rest on; sentences."""
    bench, ranking = found.bench, found.ranking
    device = f"{DEFAULT}, {DEFAULT_IS}" if found.device == DEFAULT else found.device
    lines = [
        f"Pages of 4 KiB, write-back. The first half of the page accesses (to {bench.first:,}) warms the caches and "
        "chooses the policy; every figure is of the second half.",
        f"Response times are a model's, not measured: service times of {device}, one request at a time, without "
        "queues. A request with all pages in the cache takes the SSD's time; otherwise its missing part costs one disk "
        "I/O. Changed pages are written back in the background.",
        f"The SSD takes {found.options.endurance_tb:,.0f} TB of writes in its life. What the drive moves within itself "
        "comes on top, and is not counted.",
    ]
    if TIME_SCALE_KEY in bench.trace.meta.extra:
        scale = time_scale(bench.trace)
        lines.append(f"A second of the trace is {scale:g} seconds of the load, as its metadata say.")
    if bench.sample is not None:
        lines.append(
            f"All figures are estimates from {percent(bench.rate)} of the pages, chosen by a hash, in as small a part "
            "of each size; intervals heed that."
        )
    if ranking.rate < bench.rate:
        rest = "the whole trace" if bench.sample is None else "the sample"
        lines.append(
            f"Policies were compared on {percent(ranking.rate)} of the pages, drawn by a hash, in as small a part of "
            f"each size; the figures in the table are of {rest}."
        )
    return lines


def commands(found: Recommendation) -> list[str]:
    """Commands to run next: the first repeats the recommended row.

    A trace that came by a pipe is gone; they name `SAVED`, the file in which it has to be saved first.
    """
    name = SAVED if found.options.piped else shlex.quote(found.name)
    part = "" if found.options.sample == "auto" else f"--sample {found.options.sample}"
    trace = " ".join(filter(None, [name, found.options.reading, part]))
    if not found.picked.useful:
        return [f"cachezoo trace info {' '.join(filter(None, [name, found.options.reading]))}"]
    row, own = found.row, found.options
    policy = shlex.quote(row.ran.policy)
    device = f" --device {shlex.quote(own.device)}" if own.device else ""
    whole = row.capacity >= found.bench.n_pages
    again = f"--size {'100%' if whole else typed(row.capacity)}"
    return [
        f"cachezoo simulate {trace} --policy {policy} {again}{device}",
        f"cachezoo compare {trace} {again}{device}",
        *_read_commands(found, trace, again),
    ]


def _read_commands(found: Recommendation, trace: str, again: str) -> list[str]:
    """The same for the read cache."""
    own = found.reads
    if own is None:
        return []
    return [f"cachezoo simulate {trace} --policy {shlex.quote(own.policy)} {again} --writes {own.writes}"]

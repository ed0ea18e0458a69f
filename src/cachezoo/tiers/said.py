"""A contest of hierarchies in words and cells."""

import math

from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.sizes import PAGE_BYTES, human
from cachezoo.tiers.judged import Contest, Judged, lead
from cachezoo.tiers.paper import reduction
from cachezoo.tiers.stream import TierStream
from cachezoo.traces.clock import has_clock

COLUMNS = [
    "hierarchy", "AMAT", "than RAM alone", "no waiting", "P99", "IOPS", "RAM", "SSD", "disk", "cost", "a month",
    "SSD written", "WAF", "SSD lasts", "buffer", "$ per I/O",
]  # fmt: skip
LONG_YEARS = 100.0
DAYS_A_YEAR = 365.25
HOURS_A_DAY = 24


def time_text(us: float) -> str:
    """µs as `0.1 µs`, `46 µs`, `681 µs` or `4.43 ms`."""
    if us >= 1e5:
        return f"{us / 1e3:,.0f} ms"
    if us >= 1e3:
        return f"{us / 1e3:.2f} ms"
    return f"{us:.0f} µs" if us >= 10 else f"{us:.1f} µs"


def money(usd: float) -> str:
    """Dollars, with the digits that a small sum needs."""
    if usd >= 100 or usd == 0:
        return f"${usd:,.0f}"
    digits = 2 if usd >= 1 else 2 + max(0, -math.floor(math.log10(usd)) - 1)
    return f"${usd:.{digits}f}"


def life_text(years: float | None) -> str:
    """A lifetime: `4.2 years`, `12.0 days`, `5.3 hours`, `less than an hour`; `-` where nothing is written."""
    if years is None:
        return "unknown"
    if math.isinf(years):
        return "-"
    if years > LONG_YEARS:
        return f"over {LONG_YEARS:.0f} years"
    days = DAYS_A_YEAR * years
    if years >= 1:
        return f"{years:.1f} years"
    if days >= 1:
        return f"{days:.1f} days"
    return f"{HOURS_A_DAY * days:.1f} hours" if HOURS_A_DAY * days >= 1 else "less than an hour"


def reference(found: Contest) -> Judged:
    """The fastest RAM alone, which all rows are held against: each against its own would not rank as AMAT does."""
    return min(found.baselines.values(), key=lambda own: own.tiered.amat_us)


def cells(row: Judged, found: Contest) -> dict[str, str]:
    """A row of the table."""
    tiered, base = row.tiered, reference(found).tiered
    return {
        "hierarchy": str(row.hierarchy),
        "AMAT": time_text(tiered.amat_us),
        "than RAM alone": "-" if tiered is base else f"{-100 * reduction(base.amat_us, tiered.amat_us):+.1f} %",
        "no waiting": time_text(tiered.alone_us),
        "P99": time_text(tiered.p99_us),
        "IOPS": f"{tiered.iops:,.0f}",
        "RAM": f"{100 * tiered.rhr:.1f} %",
        "SSD": f"{100 * tiered.shr:.1f} %",
        "disk": f"{100 * tiered.dhr:.1f} %",
        "cost": money(row.cost.cache_usd),
        "a month": money(row.cost.month_usd),
        "SSD written": human(tiered.ssd_written * PAGE_BYTES),
        "WAF": f"{row.worn.waf:.2f}" if row.worn.simulated else f"≤ {row.worn.waf:.2f}" if row.worn.written else "-",
        "SSD lasts": life_text(row.worn.years),
        "buffer": f"{100 * tiered.bhr:.1f} %",
        "$ per I/O": f"{row.usd_per_io:.3g}",
    }


def answer(found: Contest) -> str:
    """Which hierarchy is fastest, in a sentence."""
    best, *others = found.rows
    said = f"{best.hierarchy} is fastest: a page read takes {time_text(best.tiered.amat_us)} on average"
    base = reference(found)
    if best is not base:
        less = reduction(base.tiered.amat_us, best.tiered.amat_us)
        said += f", {100 * less:.0f} % less than with {base.hierarchy} in RAM alone ({time_text(base.tiered.amat_us)})"
    return said + (f". {_next(best, others[0])}." if others else ".")


def _next(best: Judged, second: Judged) -> str:
    """How far the second is behind, and how sure that is."""
    own = lead(best, second)
    said = f"Next is {second.hierarchy} with {time_text(second.tiered.amat_us)}"
    if own.low is None or own.high is None:
        return f"{said}; the trace is too short to say how sure that is"
    blocks = f"the first was faster in {own.won} of {own.blocks} blocks of time"
    saved = f"{100 * own.value:.1f} % ({100 * own.low:.1f} to {100 * own.high:.1f} %)"
    judged = verdict(own, LEAST_SAVING)
    if judged == Verdict.BETTER:
        return f"{said}, of which the first saves {saved}: {blocks}"
    if judged == Verdict.TRIFLE:
        return f"{said}, of which the first saves too little to matter, {saved}: {blocks}"
    return f"{said}, too near to tell them apart, {saved}: {blocks}"


def caption(found: Contest, ts: TierStream, device: str) -> str:
    """What the table's figures are of."""
    terms, row, base = found.terms, found.rows[0], reference(found)
    parts = [
        f"counted from page access {terms.first:,} of {len(ts):,} on",
        "AMAT: mean time of a page read; no waiting: if none had to wait",
        f"than RAM alone: than {base.hierarchy} in RAM alone ({time_text(base.tiered.amat_us)}), the fastest of them",
        "RAM, SSD, disk: who serves page reads, RAM with its buffer",
        f"cost: RAM and SSD, $ of {terms.prices.name}",
        f"a month: with the disk ({money(row.cost.hdd_usd)}), replacements and power",
        f"times: {device}, {_loop_words(row)}",
    ]
    if any(own.worn.written and not own.worn.simulated for own in found.rows):
        parts.append("≤: the SSD is too small to simulate its wear")
    if any(own.hierarchy.kind == "l2arc" for own in found.rows) and not has_clock(ts.trace):
        parts.append("l2arc is fed by the clock, which the trace does not have")
    return "; ".join(parts)


def _loop_words(row: Judged) -> str:
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

"""A contest of hierarchies in words and cells."""

from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.questions.tiers.judged import Contest, Judged, lead
from cachezoo.questions.tiers.paper import reduction
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.show.formats import NONE, latency, lifetime, money, number, percent, share, significant, span
from cachezoo.sizes import PAGE_BYTES, human
from cachezoo.traces.clock import has_clock

COLUMNS = [
    "hierarchy", "AMAT", "than RAM alone", "no waiting", "P99", "IOPS", "RAM", "SSD", "disk", "cost", "a month",
    "SSD written", "WAF", "SSD lasts", "buffer", "$ per I/O",
]  # fmt: skip


def reference(found: Contest) -> Judged:
    """The fastest RAM alone, which all rows are held against: each against its own would not rank as AMAT does."""
    return min(found.baselines.values(), key=lambda own: own.tiered.amat_us)


def cells(row: Judged, found: Contest) -> dict[str, str]:
    """A row of the table."""
    tiered, base = row.tiered, reference(found).tiered
    written = row.worn.simulated or row.worn.written
    return {
        "hierarchy": str(row.hierarchy),
        "AMAT": latency(tiered.amat_us),
        "than RAM alone": NONE if tiered is base else percent(-reduction(base.amat_us, tiered.amat_us), signed=True),
        "no waiting": latency(tiered.alone_us),
        "P99": latency(tiered.p99_us),
        "IOPS": number(tiered.iops),
        "RAM": percent(tiered.rhr),
        "SSD": percent(tiered.shr),
        "disk": percent(tiered.dhr),
        "cost": money(row.cost.cache_usd),
        "a month": money(row.cost.month_usd),
        "SSD written": human(tiered.ssd_written * PAGE_BYTES),
        "WAF": f"{'' if row.worn.simulated else '≤ '}{number(row.worn.waf, 2)}" if written else NONE,
        "SSD lasts": lifetime(row.worn.years),
        "buffer": percent(tiered.bhr),
        "$ per I/O": significant(row.usd_per_io, 3),
    }


def answer(found: Contest) -> str:
    """Which hierarchy is fastest, in a sentence."""
    best, *others = found.rows
    said = f"{best.hierarchy} is fastest: a page read takes {latency(best.tiered.amat_us)} on average"
    base = reference(found)
    if best is not base:
        less = reduction(base.tiered.amat_us, best.tiered.amat_us)
        said += f", {share(less)} less than with {base.hierarchy} in RAM alone ({latency(base.tiered.amat_us)})"
    return said + (f". {_next(best, others[0])}." if others else ".")


def _next(best: Judged, second: Judged) -> str:
    """How far the second is behind, and how sure that is."""
    own = lead(best, second)
    said = f"Next is {second.hierarchy} with {latency(second.tiered.amat_us)}"
    if own.low is None or own.high is None:
        return f"{said}; the trace is too short to say how sure that is"
    blocks = f"the first was faster in {own.won} of {own.blocks} blocks of time"
    saved = f"{percent(own.value)} {span((own.low, own.high), 1)}"
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
        f"than RAM alone: than {base.hierarchy} in RAM alone ({latency(base.tiered.amat_us)}), the fastest of them",
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

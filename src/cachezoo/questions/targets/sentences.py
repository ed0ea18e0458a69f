"""What `recommend --for` says: the answer, the table, how sure it is, the commands."""

from collections.abc import Sequence

from cachezoo.contest.lead import Lead
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.contest.words import saves
from cachezoo.questions.targets.bench import Ran
from cachezoo.questions.targets.choice import Advice, Answer, Row
from cachezoo.show.formats import NONE, latency, number, percent, size
from cachezoo.sizes import PAGE_BYTES

COLUMNS = [
    "", "cache", "mode", "request", "read", "write", "than none", "reads hit", "SSD written", "disk works", "later",
    "at risk",
]  # fmt: skip
MEANINGS = {
    "request": "request: mean response time, with its part of what was still to be written back at the end",
    "write": "read, write: without that part",
    "SSD written": "SSD written: pages for each page of a request",
    "disk works": "disk works: for a request, in all",
    "later": "later: of the disk's work, what no request waits for",
    "at risk": "at risk: most data that only the SSD holds",
}
"""What columns are, said below a table that shows them."""
MUCH = 1.25
"""Times what the defaults write to the SSD, from which on a sentence says so."""
WAYS = {"through": "write-through", "back": "write-back", "around": "write-around", "none": ""}


def answer(found: Advice) -> str:
    """What to run, in a sentence or two."""
    target, own = found.target, found.advised
    if found.answer is Answer.NOTHING:
        return f"Do not put {target.title} before this disk: {_nothing(found)}."
    mode = target.mode(own.mode)
    text = f"Run {target.title} in mode {own.mode} ({mode.says}) with {size(found.sizes.ssd * PAGE_BYTES)} of SSD"
    text += f" behind {size(found.sizes.ram * PAGE_BYTES)} of RAM" if found.sizes.ram else ""
    text += f", {_changed(found, own)}: a request takes {latency(own.ran.mean)} on average, {latency(found.none.mean)} "
    text += f"without {'the SSD' if found.sizes.ram else 'a cache'}"
    if own is not found.default:
        text += f" and {latency(found.default.ran.mean)} with {target.title} as it comes"
    return f"{text}. {_loss(found)}."


def _nothing(found: Advice) -> str:
    less = f"a request takes {latency(found.none.mean)} without {'the SSD' if found.sizes.ram else 'a cache'}"
    return f"{less}, and the best that was found {_saves(found.over_none)}"


def _saves(lead: Lead, rival: str = "") -> str:
    return saves(lead.value, lead.interval, LEAST_SAVING, rival)


def _changed(found: Advice, row: Row) -> str:
    changed = found.target.changed(row.settings)
    return ", ".join(found.target.said(changed)) if changed else "all settings as they come"


def _named(found: Advice, row: Row) -> str:
    return f"mode {row.mode} with {_changed(found, row) if found.target.changed(row.settings) else 'its defaults'}"


def _loss(found: Advice) -> str:
    """How far the zoo's best is ahead."""
    lead, rival = found.loss, found.rival
    who = f"Of cachezoo's policies the fastest on the first half, {rival.label} {WAYS[rival.writes]}"
    ours = f"{found.target.title}'s {latency(found.advised.ran.mean)}"
    return f"{who}, takes {latency(rival.ran.mean)}: it {_saves(lead, ours)}"


def risk(found: Advice) -> str:
    """What a write-back cache puts at risk; empty where nothing is."""
    own = found.advised
    if found.answer is Answer.NOTHING or own.writes != "back":
        return ""
    through = [row for row in found.rows if row.writes in ("through", "around")]
    text = f"Write-back: up to {size(own.ran.at_risk * PAGE_BYTES)} are on the SSD alone, and lost with it: mirror it."
    if own.ran.owed:
        text += f" {size(own.ran.owed * PAGE_BYTES)} more than at first were still to be written back at the end, "
        text += f"which is {latency(own.ran.owed_us)} of each request."
    if through:
        best = min(through, key=lambda row: row.ran.mean)
        text += f" What loses nothing with the SSD, mode {best.mode} ({_changed(found, best)}), takes "
        text += f"{latency(best.ran.mean)}."
    return text


def labelled(found: Advice, row: Row) -> str:
    """A row's name in the table: its settings, if it has any that are not the system's own."""
    changed = found.target.changed(row.settings) if row.mode else {}
    return f"{row.label}: {', '.join(f'{name} {value}' for name, value in changed.items())}" if changed else row.label


def cells(found: Advice) -> list[dict[str, str]]:
    """The table's rows."""
    rows = [{"": "", "cache": "no SSD" if found.sizes.ram else "no cache", "mode": "", **_figures(found, found.none)}]
    for row in (*found.rows, *found.zoo):
        chosen = found.answer is not Answer.NOTHING and row is found.advised
        mode = row.mode or WAYS[row.writes]
        label = labelled(found, row) if row.mode else f"zoo: {row.label}"
        rows.append({"": ">" if chosen else "", "cache": label, "mode": mode, **_figures(found, row.ran)})
    if found.answer is Answer.NOTHING:
        rows[0][""] = ">"
    return rows


def _figures(found: Advice, ran: Ran) -> dict[str, str]:
    return {
        "request": latency(ran.mean),
        "read": latency(ran.read_us),
        "write": latency(ran.write_us),
        "than none": NONE if ran is found.none else percent(ran.mean / found.none.mean - 1, signed=True),
        "reads hit": percent(ran.hits),
        "SSD written": number(ran.ssd_written, 2),
        "disk works": latency(ran.disk_us),
        "later": percent(ran.later),
        "at risk": size(ran.at_risk * PAGE_BYTES) if ran.at_risk else NONE,
    }


def caption(found: Advice, device: str) -> str:
    """What the table's figures are of."""
    bench = found.bench
    outstanding = f"{bench.depth} request{'s' * (bench.depth > 1)} outstanding"
    counted = f"counted from request {bench.first:,} of {len(bench.ts.trace):,} on; what was found was chosen before"
    return f"{counted}; times: models of {device}, {outstanding}"


def times(found: Advice) -> str:
    """What the times are, and why those without --for differ."""
    depth = found.bench.depth
    waits = "requests outstanding, which wait for each other and" if depth > 1 else "request outstanding, which waits"
    return (
        f"Times are with {depth} {waits} for what is written back. Without --for a request is served by itself, "
        "nothing that is written back takes time, and the policy is chosen by hits: both times and policy may differ."
    )


def _not_taken(lead: Lead) -> str:
    """Why a change is not made; empty where it saves enough."""
    found = verdict(lead, LEAST_SAVING)
    if found is Verdict.BETTER:
        return ""
    if found is Verdict.SHORT:
        why = "the trace is too short for an interval"
    elif lead.value <= 0:
        why = "it saves nothing"
    elif found is Verdict.TRIFLE:
        why = f"a change must save {percent(LEAST_SAVING, 0)} or more"
    else:
        why = "its interval is not all above 0"
    return f" It is not taken: {why}."


def sureness(found: Advice) -> Sequence[str]:
    """The leads behind the answer."""
    lines, usual = [], found.default
    for row in found.tried:
        best = f"Best of the modes with their defaults on the first half: {row.mode}"
        if row is found.found:
            best = f"Best found on the first half: {_named(found, row)}"
        lead = found.over_default(row)
        line = f"{best}. On the second half it {_saves(lead, _named(found, usual))}."
        lines.append(line if row is found.advised else line + _not_taken(lead))
    if lines and found.answer is Answer.DEFAULTS:
        lines.append("So the defaults stay.")
    named = [*found.tried, found.advised]
    others = [row for row in found.rows if all(row is not one for one in named)]
    lower = any(row.ran.mean < found.advised.ran.mean for row in others)
    if lower and found.answer is not Answer.NOTHING:
        lines.append("Other rows that take less time were not the best on the first half, which chooses.")
    own = found.advised
    if own is not usual and own.ran.ssd_written > MUCH * usual.ran.ssd_written:
        lines.append(
            f"It writes {number(own.ran.ssd_written, 2)} pages to the SSD for each page asked, "
            f"{number(usual.ran.ssd_written, 2)} as it comes: see that the SSD endures that."
        )
    against = f"Against no {'SSD' if found.sizes.ram else 'cache'}"
    return [*lines, f"{against} {_named(found, found.best)} {_saves(found.over_none)}."]


def before_commands(found: Advice) -> list[str]:
    """What to know before the commands are run; sentences."""
    target, ssd = found.target, size(found.sizes.ssd * PAGE_BYTES)
    if found.answer is Answer.NOTHING:
        return []
    if found.simulated:
        least = size(target.least_ram_bytes)
        return [f"Simulation only: {target.title} takes no cache in RAM below {least}; give a larger --ram."]
    if target.id == "nbdkit":
        return []
    lines = ["The commands take the disk and the SSD: what is on them is lost."]
    whole = found.options.devices.ssd_is_whole
    if target.whole_ssd or (target.splits_ssd and not whole):
        fix = f"give a partition of {ssd} as --ssd" if whole else f"it should have {ssd}"
        lines.append(f"The {'SSD' if whole else 'device of --ssd'} is used whole: {fix}.")
    return lines

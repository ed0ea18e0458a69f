"""What `recommend --for` says: the answer, the table, how sure it is, the commands."""

from collections.abc import Sequence

from cachezoo.contest.lead import Lead
from cachezoo.contest.verdict import LEAST_SAVING
from cachezoo.contest.words import saves
from cachezoo.questions.targets.bench import Ran
from cachezoo.questions.targets.choice import Advice, Answer, Row
from cachezoo.show.formats import NONE, latency, number, percent, size
from cachezoo.sizes import PAGE_BYTES

COLUMNS = [
    "", "cache", "mode", "request", "read", "write", "than none", "reads hit", "SSD written", "disk works", "later",
    "at risk",
]  # fmt: skip
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
    if found.answer is Answer.FOUND:
        text += f" and {latency(found.default.ran.mean)} with {target.title} as it comes"
    return f"{text}. {_loss(found)}."


def _nothing(found: Advice) -> str:
    less = f"a request takes {latency(found.none.mean)} without {'the SSD' if found.sizes.ram else 'a cache'}"
    return f"{less}, and the best that was found {_saves(found.over_none)}"


def _saves(lead: Lead) -> str:
    return saves(lead.value, lead.interval, LEAST_SAVING)


def _changed(found: Advice, row: Row) -> str:
    changed = found.target.changed(row.settings)
    return ", ".join(f"{name} {value}" for name, value in changed.items()) if changed else "all settings as they come"


def _loss(found: Advice) -> str:
    """How far the zoo's best is ahead."""
    lead, rival = found.loss, found.rival
    who = f"Of cachezoo's policies the fastest on the first half, {rival.label} {WAYS[rival.writes]}"
    return f"{who}, takes {latency(rival.ran.mean)}: it {_saves(lead)}"


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
    return "; ".join([
        f"counted from request {bench.first:,} of {len(bench.ts.trace):,} on; what was found was chosen before",
        "request: mean response time, with what was still to be written back at the end; read, write: without",
        "SSD written: pages for each page asked",
        "disk works: for a request, in all; later: of that, what no request waits for",
        "at risk: most data that only the SSD holds",
        f"times: models of {device}, {outstanding}",
    ])  # fmt: skip


def sureness(found: Advice) -> Sequence[str]:
    """The leads behind the answer."""
    lines = []
    if found.found is not found.default:
        lead = found.over_default
        lines.append(
            f"Best found on the first half: mode {found.found.mode}, {_changed(found, found.found)}; against the "
            f"defaults it {_saves(lead)}."
        )
        if found.answer is Answer.DEFAULTS:
            least, this = percent(LEAST_SAVING, 0), percent(lead.value, 2, signed=lead.value < 0)
            lines.append(
                f"The defaults stay: on the second half a change must save {least} or more, with an interval above 0; "
                f"this one saves {this}."
            )
    lower = [row for row in found.rows if row is not found.found and row.ran.mean < found.advised.ran.mean]
    if lower and found.answer is not Answer.NOTHING:
        lines.append("Other rows that take less time were not the best on the first half, which chooses.")
    own, usual = found.advised.ran, found.default.ran
    if found.answer is Answer.FOUND and own.ssd_written > MUCH * usual.ssd_written:
        lines.append(
            f"It writes {number(own.ssd_written, 2)} pages to the SSD for each page asked, "
            f"{number(usual.ssd_written, 2)} as it comes: see that the SSD endures that."
        )
    lines.append(f"Against no {'SSD' if found.sizes.ram else 'cache'} it {_saves(found.over_none)}.")
    depth = found.bench.depth
    return [
        *lines,
        f"Times are with {depth} request{'s' * (depth > 1)} outstanding, which wait for each other and for what is "
        "written back. Without --for a request is served by itself, nothing that is written back takes time, and the "
        "policy is chosen by hits: both times and policy may differ.",
    ]


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

"""What a reader left out, sorted, inferred or joined: a line each, made of what it noted in the trace's metadata."""

import json
from collections.abc import Callable, Mapping

from cachezoo.traces.wording import many


def _counted(line: str, what: str) -> Callable[[str], str]:
    return lambda count: line.format(many(int(count), what))


SYNTHETIC = "synthetic"  # of a trace that no host made
LEFT_OUT = {
    "flush": "flushes, which move no data",
    "discard": "discards, which move no data",
    "trim": "trims, which move no data",
    "zero": "zeroes, which are written without data",
    "hint": "hints on what may be read, which move no data",
    "no_file": "reads and writes of what is no known file, such as pipes and terminals",
    "no_bytes": "calls that failed, or moved no byte",
    "copy": "copies inside the kernel, whose ranges are not traced",
    "extents": "questions on extents, which move no data",
    "sync": "syncs, which move no data",
    "datasync": "syncs of data, which move none",
    "other": "events of other commands",
    "other_events": "events that are no reads or writes",
    "unmatched_complete": "completions of requests whose issue is not in the trace",
    "lost_events": "events that the tracer itself lost",
    "suspectio": "records that the tracer marked as suspect",
}
LINES: dict[str, Callable[[str], str]] = {
    SYNTHETIC: "synthetic: {}".format,
    "inferred": "inferred: read as {}".format,
    "time_unit": "unit: times count {}".format,
    "unit_bytes": lambda said: f"unit: addresses count {'bytes' if said == '1' else f'units of {said} bytes'}",
    "columns": "columns: {}".format,
    "layout": "layout: {}".format,
    "ids": "inferred: an id is {}".format,
    "op": "inferred: {}".format,
    "time": "inferred: times are {}".format,
    "size": "inferred: sizes are {}".format,
    "columns_not_read": "left out: the columns {}".format,
    "wait": "unit: waits are {}".format,
    "one_volume": "inferred: one volume, as {}".format,
    "event": "joined: a request is made where an event says {}".format,
    "matched": _counted("joined: {} with a completion", "request"),
    "unmatched_issue": _counted("joined: {} without a completion, so of no known latency", "request"),
    "requeued": _counted("joined: {} requeued, kept at the first issue", "request"),
    "failed": _counted("joined: {} failed on the device, and kept", "request"),
    "skipped_rows": _counted("skipped: {}", "bad row"),
    "out_of_order_rows": _counted("sorted by time: {} earlier than the row before", "row"),
    "first_time_jump": "jump in time: the first at {}".format,
}


def remarks_of(extra: Mapping[str, str]) -> list[str]:
    """The lines, in a fixed order.

    Args:
        extra: a trace's metadata, as `cachezoo.traces.read.OpenTrace` and the readers fill it.
    """
    found = [line(extra[key]) for key, line in LINES.items() if key in extra]
    for key, count in sorted(extra.items()):
        what, dot, kind = key.partition(".")
        if dot and what == "left_out":
            found.append(f"left out: {int(count):,} ({LEFT_OUT.get(kind, f'{kind}: no reads or writes of data')})")
        elif dot and what == "rounded":
            found.append(f"rounded: {kind}, {count}")
        elif dot and what == "sector_bytes":
            found.append(f"unit: sectors of disk {kind} have {count} bytes, by the header")
    events = json.loads(extra.get("events", "{}"))  # what a capture counted
    for kind, count in sorted(events.items()):
        if count and kind in LEFT_OUT:
            found.append(f"left out: {count:,} ({LEFT_OUT[kind]})")
    return found


def is_remarked(key: str) -> bool:
    """Whether a metadata key is said by a line of `remarks_of`."""
    return key in LINES or key == "time_jumps" or key.startswith(("left_out.", "rounded.", "sector_bytes."))

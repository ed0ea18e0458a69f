"""What a reader left out, sorted, inferred or joined: a line each, made of what it noted in the trace's metadata."""

import json
from collections.abc import Callable, Mapping

from cachezoo.traces.wording import many


def _many(count: str, what: str) -> str:
    return many(int(count), what)


LEFT_OUT = {
    "flush": "flushes, which move no data",
    "discard": "discards, which move no data",
    "trim": "trims, which move no data",
    "sync": "syncs, which move no data",
    "datasync": "syncs of data, which move none",
    "other": "events of other commands",
    "other_events": "events that are no reads or writes",
    "unmatched_complete": "completions of requests whose issue is not in the trace",
    "lost_events": "events that the tracer itself lost",
    "suspectio": "records that the tracer marked as suspect",
}
LINES: dict[str, Callable[[str], str]] = {
    "inferred": lambda said: f"inferred: read as {said}",
    "time_unit": lambda said: f"unit: times count {said}",
    "unit_bytes": lambda said: f"unit: addresses count {'bytes' if said == '1' else f'units of {said} bytes'}",
    "columns": lambda said: f"columns: {said}",
    "layout": lambda said: f"layout: {said}",
    "ids": lambda said: f"inferred: an id is {said}",
    "op": lambda said: f"inferred: {said}",
    "time": lambda said: f"inferred: times are {said}",
    "size": lambda said: f"inferred: sizes are {said}",
    "wait": lambda said: f"unit: waits are {said}",
    "one_volume": lambda said: f"inferred: one volume, as {said}",
    "event": lambda said: f"joined: a request is made where an event says {said}",
    "matched": lambda said: f"joined: {many(int(said), 'request')} with a completion",
    "unmatched_issue": lambda said: (
        f"joined: {many(int(said), 'request')} without a completion, so of no known latency"
    ),
    "requeued": lambda said: f"joined: {many(int(said), 'request')} requeued, kept at the first issue",
    "failed": lambda said: f"joined: {many(int(said), 'request')} failed on the device, and kept",
    "skipped_rows": lambda said: f"skipped: {many(int(said), 'bad row')}",
    "out_of_order_rows": lambda said: f"sorted by time: {many(int(said), 'row')} earlier than the row before",
    "first_time_jump": lambda said: f"jump in time: the first at {said}",
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
        elif dot and what == "sector_bytes":
            found.append(f"unit: sectors of disk {kind} have {count} bytes, by the header")
    events = json.loads(extra.get("events", "{}"))  # what a capture counted
    for kind, count in sorted(events.items()):
        if count and kind in LEFT_OUT:
            found.append(f"left out: {count:,} ({LEFT_OUT[kind]})")
    return found


def is_remarked(key: str) -> bool:
    """Whether a metadata key is said by a line of `remarks_of`."""
    return key in LINES or key == "time_jumps" or key.startswith(("left_out.", "sector_bytes."))

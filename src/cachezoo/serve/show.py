"""What people read: the answer first, then one table."""

from __future__ import annotations

from typing import Any

from cachezoo.serve.attach import how
from cachezoo.serve.metrics import AROUND, BACK, LATENCIES
from cachezoo.serve.words import percent, rate_text, size_text, span_text

WIDTH = 11


def _lines(rows: list[tuple[str, str]]) -> list[str]:
    return [f"{head:{WIDTH}}{text}".rstrip() for head, text in rows]


def started(note: dict[str, Any]) -> list[str]:
    """Lines as a disk begins to be served."""
    rows = [
        ("Serving", f"{note['disk']} as {note['name']}, {_what(note)}"),
        ("Use it", note["device"] or f"{note['uri']}   (no block device: {note['no_device']})"),
    ]
    if note["device"] is None:
        rows += [("", line) for line in how(note["uri"], note["socket"])]
    else:
        rows.append(("URI", note["uri"]))
    if note["metrics"]:
        rows.append(("Metrics", note["metrics"]))
    if note["promised"] is not None:
        rows.append(("Promised", f"{percent(note['promised'])} hits"))
    return _lines([*rows, ("Look", f"serve status {note['name']}")])


def _what(note: dict[str, Any]) -> str:
    mode = {AROUND: "writes go around it", "through": "writes go through it", BACK: "writes reach the disk later"}
    return f"{size_text(note['size'])} on {note['ssd']}, {note['policy']}, mode {note['mode']}: {mode[note['mode']]}"


def answer(note: dict[str, Any]) -> str:
    """The one sentence: does it work, and as well as was promised?"""
    counters, name = note["counters"], note["name"]
    if not counters:
        return f"{name}: served, but the filter does not answer."
    if counters.get("writes_refused"):
        if note["mode"] == BACK:
            return f"{name}: WRITES ARE REFUSED: the SSD fails. Next: serve stop {name}, which says whether it may go"
        return f"{name}: WRITES ARE REFUSED: the SSD cannot be marked invalid. Stop it, and replace SSD and label."
    if counters.get("bypassed"):
        reason = counters.get("bypass_reason") or "the SSD failed"
        if note["mode"] == BACK:
            return f"{name}: BYPASSED: {reason}. Next: serve stop {name}, then start it with another SSD"
        return f"{name}: BYPASSED, the disk answers alone: {reason}. Next: serve attach {name} --ssd DEV"
    if note["measured"] is None:
        return f"{name}: served, too few accesses yet to measure hits{_promise(note)}."
    of = "reads and writes" if note["mode"] == BACK else "reads"
    over = f"{note['measured_accesses']:,} {of} in {span_text(note['measured_seconds'])}"
    return f"{name}: {percent(note['measured'])} of {of} hit ({over}){_promise(note)}."


def _promise(note: dict[str, Any]) -> str:
    if note["promised"] is None:
        return ""
    kept = "" if note["measured"] is None else ", MISSED" if note["promise_missed"] else ", kept"
    return f"; promised {percent(note['promised'])}{kept}"


def status(note: dict[str, Any]) -> list[str]:
    """The answer, then one table."""
    counters = note["counters"]
    rows = [
        ("Cache", f"{note['disk']} behind {_what(note)}"),
        ("Device", note["device"] or note["uri"]),
        ("Up", f"{span_text(note['seconds'])}, process {note['pid']}"),
    ]
    if counters:
        held, unit = counters.get("resident", 0), counters.get("unit_bytes", 0)
        dirty = f", {size_text(counters['dirty'] * unit)} not on the disk yet" if counters.get("dirty") else ""
        rows.append(("Holds", f"{size_text(held * unit)} of {size_text(counters.get('cache_bytes', 0))}{dirty}"))
        rows += _requests(counters)
        rows.append(("SSD", _writes(note)))
        rows += _faults(counters)
    if note["metrics"]:
        rows.append(("Metrics", note["metrics"]))
    return [answer(note), "", *_lines(rows)]


def _requests(counters: dict[str, Any]) -> list[tuple[str, str]]:
    names = {f"read_{by}": f"by {by}" for by in LATENCIES.values()} | {"write": "writes"}
    rows, head = [], "Reads"
    for key, text in names.items():
        found = (counters.get("latency") or {}).get(key)
        if not found or not found["count"]:
            continue
        times = f"half within {span_text(found['p50'])}, 99 % within {span_text(found['p99'])}"
        if key == "write":
            rows.append(("Writes", f"{found['count']:,}, {times}"))
        else:
            rows.append((head, f"{found['count']:,} {text}, {times}"))
            head = ""
    return rows


def _writes(note: dict[str, Any]) -> str:
    counters = note["counters"]
    written = f"{size_text(counters.get('ssd_write_bytes', 0))} written"
    now = f", {rate_text(counters.get('ssd_write_rate', 0.0))} in the last minute"
    if not note["write_rate"]:
        return written + now
    turned = counters.get("ssd_writes_over_budget", 0)
    kept = f" ({turned:,} units not written to keep it)" if turned else ""
    return f"{written}{now}; the most is {rate_text(note['write_rate'])}{kept}"


def _faults(counters: dict[str, Any]) -> list[tuple[str, str]]:
    keys = {
        "ssd_errors": "errors of the SSD",
        "ssd_corrupt": "corrupt units",
        "lost_units": "units lost",
        "policy_failures": "failures of the policy",
        "ssd_writes_cancelled": "writes to the SSD cancelled",
    }
    found = [f"{counters[key]:,} {text}" for key, text in keys.items() if counters.get(key)]
    return [("Faults", ", ".join(found) or "none")]

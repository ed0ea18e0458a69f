"""The kernel's trace text of block events: `trace` and `trace_pipe` of tracefs, `trace-cmd report`, `perf script`.

`PROCESS-PID [CPU] FLAGS SECONDS: EVENT: MAJOR,MINOR RWBS BYTES () SECTOR + SECTORS [PROCESS]`; sectors are 512 bytes.
Events read: block_rq_issue, block_rq_complete and block_rq_requeue, with and without the I/O priority of newer
kernels, and block_bio_queue and block_bio_complete of devices without requests; others are passed over. All events
are held in memory, see `cachezoo.traces.events`. Source: the `TP_printk` of include/trace/events/block.h.
"""

import re
from collections.abc import Iterator

from cachezoo.traces.event_text import Line
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head
from cachezoo.traces.formats.event_requests import EventOptions, Judge, read_text
from cachezoo.traces.reading import Chunk, Reading
from cachezoo.traces.source import Source

EVENT = re.compile(r"(^|\s)\d+\.\d{1,9}:\s+(\w+:)?(block_(rq|bio)_\w+):\s")
HEADING = re.compile(r"^(version = |cpus=|trace\.dat|CPU \d+ is empty|CPU:\d+ buffer started)|^#")


def recognise(head: Head) -> Fit:
    """At least half of the lines are block events, or some are under the header of a tracer."""
    rows = [line for line in head.lines if not HEADING.search(line.strip())]
    events = sum(bool(EVENT.search(line)) for line in rows)
    traced = bool(head.lines) and head.lines[0].startswith("# tracer:")
    return Fit.SURE if rows and (2 * events >= len(rows) or (traced and events)) else Fit.NO


def _judge(reading: Reading, source: Source) -> Judge:
    def judged(line: Line, last_event: int) -> None:
        del last_event
        if line.lost_events is not None:
            reading.left_out["lost_events"] += line.lost_events
        elif line.damaged or not HEADING.search(line.text):
            reading.bad(source, line.row, f"is no event of the kernel ({line.text[:80]!r}); fix or drop the row")

    return judged


def read(reading: Reading, options: EventOptions) -> Iterator[Chunk]:
    """Requests in the order of their first issue; `volume` is MAJOR,MINOR."""
    return read_text(reading, options, blkparse=False, judge=_judge)


FORMAT = Format(
    id="tracefs",
    title="Linux block events as trace text (seconds, 512-byte sectors)",
    recognise=recognise,
    read=read,
    needs="lines with block_rq_issue, block_rq_complete or block_bio events",
    name="trace_pipe|ftrace|perf",
    sectors=BOTH,
    options=EventOptions,
    keeps=("latency_us", "user", "flags"),
)

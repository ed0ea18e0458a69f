"""The text that `blkparse` prints: `MAJOR,MINOR CPU SEQUENCE SECONDS PID ACTION RWBS SECTOR + SECTORS [PROCESS]`.

Sectors are 512 bytes. Actions read are D (issued), C (completed), R (requeued) and Q (queued); the others are further
steps of the same requests. The summary after the events is passed over. All events are held in memory, see
`cachezoo.traces.events`. Source: blkparse(1) and its blkparse_fmt.c.
"""

import re
from collections.abc import Iterator

from cachezoo.traces.event_text import Line
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head
from cachezoo.traces.formats.blkparse_written import write
from cachezoo.traces.formats.event_requests import EventOptions, Judge, read_text
from cachezoo.traces.reading import Chunk, Reading
from cachezoo.traces.source import Source

EVENT = re.compile(r"^\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d{9}\s+\d+\s+[ABCDFGIMPQRSTUXm]T?\s")
SUMMARY = re.compile(r"^(CPU\s*\d+|Total) \(.*\):$|^(Reads|Read) ")
INPUT = re.compile(r"^Input file .* added$")


def recognise(head: Head) -> Fit:
    """At least half of the lines up to the summary are events."""
    rows = []
    for line in head.lines:
        if SUMMARY.search(line.strip()):
            break
        rows.append(line)
    events = sum(bool(EVENT.search(line)) for line in rows)
    return Fit.SURE if rows and 2 * events >= len(rows) else Fit.NO


def judge(reading: Reading, source: Source) -> Judge:
    """What is called with each line of a file that is no event: the summary is passed over, the others are bad rows."""
    summary_row = 0

    def judged(line: Line, last_event: int) -> None:
        nonlocal summary_row
        # A summary is over where events follow: the file holds the outputs of several runs.
        in_summary = summary_row > last_event
        # Without CPU lines (option -s) a process name stands over the first counts.
        if not in_summary and (SUMMARY.search(line.text) or line.following.lstrip().startswith(b"Reads Queued:")):
            summary_row, in_summary = line.row, True
        if line.damaged or not (in_summary or INPUT.search(line.text)):
            reading.bad(source, line.row, f"is no event of blkparse ({line.text[:80]!r}); fix or drop the row")

    return judged


def read(reading: Reading, options: EventOptions) -> Iterator[Chunk]:
    """Requests in the order of their first issue; `volume` is MAJOR,MINOR."""
    return read_text(reading, options, blkparse=True, judge=judge)


FORMAT = Format(
    id="blkparse",
    title="blkparse text (seconds with 9 digits, 512-byte sectors)",
    recognise=recognise,
    read=read,
    needs="lines such as '8,0 1 1 0.000000000 101 Q R 8 + 8 [dd]'",
    name="blkparse|blktrace",
    sectors=BOTH,
    options=EventOptions,
    keeps=("latency_us", "user", "flags"),
    write=write,
)

"""The text of the kernel's block events, as arrays.

Format: `print fmt` of block_rq_issue, block_rq_complete and block_rq_requeue in tracefs, with and without the I/O
priority that Linux 6.9 added.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.errors import CaptureError

ISSUE = 0
COMPLETE = 1
REQUEUE = 2
KINDS = {"issue": ISSUE, "complete": COMPLETE, "requeue": REQUEUE}
SECTOR_BYTES = 512
_LINE = re.compile(
    r"^\s*.+-\d+\s+\[\d+\]\s+(?:\S+\s+)?(?P<s>\d+)\.(?P<us>\d{6}): block_rq_(?P<kind>issue|complete|requeue): "
    r"(?P<major>\d+),(?P<minor>\d+) (?P<rwbs>\S+) (?:\d+ )?\(.*?\) (?P<sector>\d+) \+ (?P<n>\d+)"
    r"(?: \w+,\d+,\d+)? \[(?P<tail>.*)\]$"
)
_LOST = re.compile(r"LOST (\d+) EVENTS")

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Events:
    """Block events in the order of their time, one entry each.

    Attributes:
        time_us: int64, the trace clock.
        kind: uint8, `ISSUE`, `COMPLETE` or `REQUEUE`.
        sector, sectors: int64, units of 512 bytes; 0 sectors is a flush.
        error: int64, 0 but for a failed completion.
        rwbs: the kernel's letters of operation and flags.
        comm: the issuing process; empty where the event names none.
    """

    time_us: I64
    kind: npt.NDArray[np.uint8]
    sector: I64
    sectors: I64
    error: I64
    rwbs: tuple[str, ...]
    comm: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.time_us)


def process_name(comm: str) -> str:
    """A process name without the parts that number a thread: ``kworker/u8:3`` is ``kworker``."""
    return comm.split("/", 1)[0] if comm.startswith(("kworker/", "jbd2/", "ksoftirqd/")) else comm


def parse_events(lines: Iterable[str], device: tuple[int, int]) -> Events:
    """Read the text of a trace pipe.

    Args:
        lines: its lines; comments and empty lines are skipped.
        device: (major, minor) whose events are kept.

    Raises:
        CaptureError: the kernel lost events, or a line is no block event.
    """
    rows: list[tuple[int, int, int, int, int, str, str]] = []
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        found = _LINE.match(line)
        if found is None:
            lost = _LOST.search(line)
            message = (
                f"line {number} of the trace: the kernel lost {lost[1]} events; raise buffer_kib in the recipe"
                if lost
                else f"line {number} of the trace is no block event: {line.strip()[:100]!r}"
            )
            raise CaptureError(message)
        if (int(found["major"]), int(found["minor"])) != device:
            continue
        kind, sectors = KINDS[found["kind"]], int(found["n"])
        tail = found["tail"]
        rows.append(
            (
                int(found["s"]) * 1_000_000 + int(found["us"]),
                kind,
                # A flush has no address; the kernel prints -1 as unsigned.
                int(found["sector"]) if sectors else 0,
                sectors,
                0 if kind == ISSUE else int(tail),
                found["rwbs"],
                process_name(tail) if kind == ISSUE else "",
            )
        )
    # The pipe joins the processors' buffers page by page, so neighbours may be a little out of order.
    rows.sort(key=lambda row: row[0])
    numbers = np.array([row[:5] for row in rows], np.int64).reshape(-1, 5)
    return Events(
        time_us=numbers[:, 0].copy(),
        kind=numbers[:, 1].astype(np.uint8),
        sector=numbers[:, 2].copy(),
        sectors=numbers[:, 3].copy(),
        error=numbers[:, 4].copy(),
        rwbs=tuple(row[5] for row in rows),
        comm=tuple(row[6] for row in rows),
    )

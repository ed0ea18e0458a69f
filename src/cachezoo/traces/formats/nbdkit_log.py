"""What nbdkit's filter `log` writes: a line for each request, and a line for its answer.

`DATE connection=N Read id=N offset=0x… count=0x… ...` and `DATE connection=N ...Read id=N return=0`, in bytes; writes
have flags as well. A number belongs to one connection, and comes again in the next run of a log that is appended to.
Trims, zeroes, flushes, hints and questions on extents move no data; lines on the server and its connections are passed
over, but for the export that a connection names. All requests of a file are held in memory until it ends, at about 120
bytes each. Source: nbdkit-log-filter(1).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.formats.other_ops import data_only
from cachezoo.traces.lines import MISSING, Parts, how_many, lines_of
from cachezoo.traces.memory import memory_left
from cachezoo.traces.reading import BAD_OP, READ_OR_WRITE, Chunk, Reading
from cachezoo.traces.source import Source
from cachezoo.traces.table import UNKNOWN_LATENCY

KINDS = {"trim": "trim", "zero": "zero", "flush": "flush", "cache": "hint", "extents": "extents"}
ACTIONS = "Read|Write|Trim|Zero|Flush|Cache|Extents"
DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
BEGIN = rf"^(?P<date>{DATE}) connection=(?P<connection>[0-9]{{1,9}}) "
RANGE = r"offset=(?P<offset>0x[0-9a-fA-F]{1,15}) count=(?P<count>0x[0-9a-fA-F]{1,15})"
REQUEST = rf"{BEGIN}(?P<action>{ACTIONS}) id=(?P<id>[0-9]{{1,9}})(?: {RANGE})?(?: [a-z_]+=[0-9]+)* \.\.\.$"
ANSWER = rf"{BEGIN}\.\.\.(?:{ACTIONS}) id=(?P<id>[0-9]{{1,9}}) (?:.* )?return=(?P<result>-?[0-9]{{1,9}})\b"
CONNECT = rf'{BEGIN}Connect export="(?P<export>[^"]*)"'
OTHER = (
    rf"^{DATE} (?:connection=[0-9]+ )?(?:\.\.\.)?(?:Ready|Load|Unload|Fork|AfterFork|Cleanup|ListExports|DefaultExport|"
    r"ExportDescription|Preconnect|Connect|Open|Close|Disconnect)(?: |$)"
)
IDS = 10**9
REQUEST_BYTES = 120
UNNAMED = "0"


def recognise(head: Head) -> Fit:
    """At least half of the lines are such requests, answers, or lines on connections."""
    rows = [line.strip() for line in head.lines if not line.startswith("#")]
    fits = sum(how_many(rows, pattern) for pattern in (REQUEST, ANSWER, OTHER))
    return Fit.SURE if rows and 2 * fits >= len(rows) and any("connection=" in line for line in rows) else Fit.NO


def answers_of(request_key: I64, request_row: I64, answer_key: I64, answer_row: I64) -> I64:
    """The answer to each request: the next line of its key, where that is an answer.

    Args:
        request_key: int64, the same as that of the request's answer; may come again later.
        request_row: int64 places in the file, no two alike, also not of a request and an answer.
        answer_key: as `request_key`.
        answer_row: as `request_row`.

    Returns:
        int64 the index of each request's answer; -1 where there is none.
    """
    key = np.concatenate([request_key, answer_key])
    order = np.lexsort((np.concatenate([request_row, answer_row]), key))
    count = len(request_key)
    before, after = order[:-1], order[1:]
    pairs = (key[before] == key[after]) & (before < count) & (after >= count)
    found = np.full(count, -1, np.int64)
    found[before[pairs]] = after[pairs] - count
    return found


def _keys(parts: Parts) -> I64:
    return parts.ints("connection") * IDS + parts.ints("id")


def _joined(parts: Sequence[I64]) -> I64:
    return np.concatenate([np.empty(0, np.int64), *parts])


class _File:
    """One log."""

    def __init__(self, reading: Reading, source: Source) -> None:
        self.reading, self.source = reading, source
        self.requests: list[tuple[I64, Chunk]] = []  # keys, and requests whose latencies are not known
        self.answers: list[tuple[I64, I64, I64, I64]] = []  # keys, lines, times and results
        self.exports: dict[int, list[tuple[int, str]]] = defaultdict(list)  # of a connection: from which line on
        self.held, self.most = 0, memory_left() // REQUEST_BYTES

    def take(self) -> None:
        """Read the file's lines.

        Raises:
            TraceError: more rows are bad than may be skipped, or there is no memory for them.
        """
        for lines in lines_of(self.source):
            requests, rest = lines.parts(REQUEST)
            answers, rest = rest.parts(ANSWER)
            connects, rest = rest.parts(CONNECT)
            odd = rest.where(~rest.like(OTHER))
            for row, text in zip(odd.row.tolist(), odd.text.to_pylist(), strict=True):
                self.reading.bad(self.source, row, f"is no line of the log ({text[:80]!r}); fix or drop the row")
            named = (connects.row.tolist(), connects.ints("connection").tolist(), connects.texts("export").to_pylist())
            for row, connection, export in zip(*named, strict=True):
                self.exports[connection].append((row, export))
            time_us = answers.dates("date")
            good = time_us != MISSING
            for row in answers.row[~good].tolist():
                self.reading.bad(self.source, row, "its date is none of the calendar; fix or drop the row")
            named_so = (_keys(answers), answers.row, time_us, answers.ints("result"))
            self.answers.append(tuple(column[good] for column in named_so))  # type: ignore[arg-type]
            self.requests.append((_keys(requests), self.chunk(requests)))
            self.held += len(requests) + len(answers)
            if self.held > self.most:
                message = f"{self.source.path}: has more requests than there is memory for; cut the log by time"
                raise TraceError(message)

    def chunk(self, parts: Parts) -> Chunk:
        """Requests without latencies."""
        action = parts.coded("action")
        op = np.array([READ_OR_WRITE.get(name.lower(), BAD_OP) for name in action.names], np.uint8)[action.codes]
        offset, size = parts.ints("offset"), parts.ints("count")
        return Chunk(
            row=parts.row,
            time_us=parts.dates("date"),
            op=op,
            offset=np.where(offset == MISSING, 0, offset),
            size=np.where(size == MISSING, 0, size),
            coded={"volume": self.volumes(parts)},
            op_text=action,
        )

    def volumes(self, parts: Parts) -> Coded:
        """The export of each request's connection."""
        names = {name for found in self.exports.values() for _, name in found}
        if len(names) <= 1:
            return Coded.constant("".join(names) or UNNAMED, len(parts))
        texts = []
        for row, connection in zip(parts.row.tolist(), parts.ints("connection").tolist(), strict=True):
            found = self.exports[connection]
            at = bisect_right(found, row, key=lambda entry: entry[0])
            texts.append((found[at - 1][1] if at else "") or UNNAMED)
        return Coded.of(texts)

    def chunks(self) -> Iterator[Chunk]:
        """The reads and writes, with the time to their answers."""
        key, row, time_us, result = (_joined([part[place] for part in self.answers]) for place in range(4))
        asked = _joined([key for key, _ in self.requests])
        found = answers_of(asked, _joined([chunk.row for _, chunk in self.requests]), key, row)
        self.reading.left_out["unmatched_complete"] += len(key) - int(np.count_nonzero(found >= 0))
        start = 0
        for keys, chunk in self.requests:
            of = found[start : start + len(keys)]
            start += len(keys)
            latency = np.full(len(of), UNKNOWN_LATENCY, np.int64)
            known = np.flatnonzero(of >= 0)
            latency[known] = time_us[of[known]] - chunk.time_us[known]
            data = chunk.op != BAD_OP
            self.note("matched", data & (of >= 0))
            self.note("unmatched_issue", data & (of < 0))
            self.note("failed", result[of[known]][data[known]] != 0)
            yield data_only(self.reading, replace(chunk, latency_us=latency), KINDS)

    def note(self, name: str, which: npt.NDArray[np.bool_]) -> None:
        """Count requests of a kind."""
        if count := int(np.count_nonzero(which)):
            self.reading.notes[name] = str(int(self.reading.notes.get(name, "0")) + count)


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the order of the log; `volume` is the export that the connection names."""
    del options
    for source in reading.sources:
        file = _File(reading, source)
        file.take()
        for chunk in file.chunks():
            yield reading.checked(source, chunk)


FORMAT = Format(
    id="nbdkit_log",
    title="nbdkit's filter log (dates, bytes)",
    recognise=recognise,
    read=read,
    needs="lines such as '2024-05-02 10:11:12.001505 connection=1 Read id=1 offset=0x0 count=0x1000 ...'",
    name="nbdkit",
    keeps=("latency_us",),
)

"""Microsoft's ETW CSV (SNIA's Microsoft Enterprise and Production Server): disk events among many others.

`DiskRead|DiskWrite, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum,
IrpFlags, DiskSvcTime, I/O Pri[, VolSnap], FileObject, FileName`, padded with blanks. The file may begin with a block
from BeginHeader to EndHeader, which lists each event's columns, and a line on the system. TimeStamp is microseconds
since the trace's start at the *completion*, and ElapsedTime the response in microseconds, so a request arrived at
TimeStamp - ElapsedTime; offset and size are bytes in hexadecimal. What follows IrpFlags is not read; the file's name,
last and in quotes, may hold commas. Rows are numbered by the file's lines after EndHeader, or from its first line.

Written from the collections' descriptions, not from a file of theirs: that all of the sets have their columns in this
order up to IrpFlags, and how the header's lines read, is assumed. Source: SNIA's readmes; Kavalanekar et al.,
"Characterization of storage workload traces from production Windows Servers" (IISWC 2008).
"""

import re
from collections.abc import Iterator

import numpy as np

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Column, Layout, delimited, merged
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.reading import BAD_TIME, Chunk, Reading, microseconds
from cachezoo.traces.source import Source, line_feeds
from cachezoo.traces.table import OP_READ, OP_WRITE

LAYOUT = Layout(
    (
        Column("Event", "text"),
        Column("TimeStamp", "int"),
        Column("Process Name", "text"),
        Column("ThreadID", "skip"),
        Column("IrpPtr", "skip"),
        Column("ByteOffset", "hex"),
        Column("IOSize", "hex"),
        Column("ElapsedTime", "int"),
        Column("DiskNum", "text"),
        Column("IrpFlags", "text"),
    )
)
OPS = {"diskread": OP_READ, "diskwrite": OP_WRITE}
# A line is found by the end of the line before it, which is what regular expressions look for fast.
REQUEST = re.compile(rb"\n[ \t]*(Disk(?:Read|Write)[ \t]*,(?![ \t]*TimeStamp)[^,\n]*(?:,[^,\n]*){0,8})")
FLUSH = re.compile(rb"\n[ \t]*DiskFlush[ \t]*,(?![ \t]*TimeStamp)")
NO_EVENT = re.compile(rb"\n(?:[ \t]*(?:(?=\n)|OS Version\b|BeginHeader\b|\w+[ \t]*,[ \t]*TimeStamp\b)|[ \t]+\Z)")
HEADER_BEGIN = re.compile(rb"(?m)^[ \t]*BeginHeader\b")
HEADER_END = re.compile(rb"(?m)^[ \t]*EndHeader\b[^\n]*(?:\n|\Z)")
ROW_LIKE = re.compile(
    rb"(?m)^[ \t]*Disk(?:Read|Write)[ \t]*,[ \t]*\d+[ \t]*,(?:[^,\n]*,){3}(?:[ \t]*0x[0-9a-fA-F]+[ \t]*,){2}"
)
COLUMNS = re.compile(rb"(?m)^[ \t]*Disk(?:Read|Write)[ \t]*,[ \t]*TimeStamp[ \t]*,[ \t]*Process Name")
PROCESS = re.compile(r"\s+\(\s*(-?\d+)\s*\)$")


def recognise(head: Head) -> Fit:
    """A header block, or its lines on disk events, or rows of such events."""
    if head.text is None:
        return Fit.NO
    fits = HEADER_BEGIN.match(head.plain) or COLUMNS.search(head.plain) or ROW_LIKE.search(head.plain)
    return Fit.SURE if fits else Fit.NO


class _Lines:
    """The lines of read and write events in a reading's files; the others are counted."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def body(self, source: Source) -> Iterator[bytes]:
        """Blocks of lines after the header.

        Raises:
            TraceError: the header does not end.
        """
        head = line_feeds(source.head())
        waiting = bool(HEADER_BEGIN.search(head) or HEADER_END.search(head))
        for block in source.lines():
            if waiting and (end := HEADER_END.search(block)):
                waiting = False
                yield block[end.end() :]
            elif not waiting:
                yield block
        if waiting:
            raise TraceError(f"{source.path}: its header has no end (EndHeader); fix the file")

    def picked(self, source: Source) -> Iterator[tuple[bytes, I64]]:
        """Read and write events without what follows their flags, and their lines' numbers."""
        before = 0
        for block in self.body(source):
            if not block:
                continue
            text = b"\n" + block
            lines = block.count(b"\n") + (not block.endswith(b"\n"))
            found = list(REQUEST.finditer(text))
            flushes = len(FLUSH.findall(text)) if b"DiskFlush" in text else 0
            others = lines - len(found) - flushes - len(NO_EVENT.findall(text))
            self.reading.left_out.update({"flush": flushes, "other_events": others})
            if found:
                ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
                places = np.searchsorted(ends, np.array([match.start() for match in found]))
                yield b"\n".join([match[1] for match in found]) + b"\n", before + 1 + places
            before += lines


def process_name(text: str) -> str:
    """The process without its number: `System (   4)` is System."""
    return PROCESS.sub("", text)


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the order of completion; `user` is the process's name, `volume` the disk's number."""
    del options
    for rows in delimited(reading, LAYOUT, picked=_Lines(reading).picked):
        op, text = rows.op("Event", OPS)
        process = rows.coded("Process Name")
        user = merged(Coded(process.codes, tuple(process_name(name) for name in process.names)))
        ended_us, elapsed_us = (microseconds(rows.ints(name), "us") for name in ("TimeStamp", "ElapsedTime"))
        known = (ended_us != BAD_TIME) & (elapsed_us != BAD_TIME)
        chunk = Chunk(
            row=rows.row,
            time_us=np.where(known, ended_us - elapsed_us, BAD_TIME),
            op=op,
            offset=rows.ints("ByteOffset"),
            size=rows.ints("IOSize"),
            latency_us=elapsed_us,
            coded={"volume": rows.coded("DiskNum"), "user": user, "flags": rows.coded("IrpFlags")},
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="etw",
    title="Microsoft ETW CSV, disk events (microseconds, bytes)",
    recognise=recognise,
    read=read,
    needs="rows that begin with DiskRead or DiskWrite, perhaps after BeginHeader … EndHeader",
    name=r"\betw|\.csv\.csv",
    keeps=("latency_us", "user", "flags"),
)

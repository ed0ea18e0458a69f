"""The output of `strace -f -ttt -T` or `-f -tt -T`, with or without `-y` and `-o`: reads and writes of files.

A line is `[PID] TIME CALL(ARGUMENTS) = RESULT <SECONDS>`; a call that others interrupt is two, `… <unfinished ...>` and
`<... CALL resumed> …`. Read are read, pread64, readv, preadv, preadv2 and their writes; their size is the result. Where
a call gives no offset, it is the descriptor's, which is followed through open, lseek, dup, fork and clone; writes to
what is opened with O_APPEND go behind the last byte that was seen of the file. The volume is the file, by `-y`'s name
or the name that was opened. Descriptors of no known file, calls that fail or move no byte, and syncs are left out and
counted. Times are those of the call's start, of `-tt` since the first midnight. Source: strace(1) and its output.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from cachezoo.coded import Coded
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.lines import lines_of
from cachezoo.traces.reading import Chunk, Reading
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, OP_WRITE, UNKNOWN_LATENCY

LINE = re.compile(
    r"(?:\[pid +(?P<other>\d{1,10})\] |(?P<pid>\d{1,10}) +)?"
    r"(?:(?P<epoch>\d{1,12}\.\d{1,9})|(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d(?:\.\d{1,9})?)) +(?P<rest>\S.*)"
)
ATTACHED = re.compile(r"strace: Process (\d+) (?:attached|detached)(?: .*)?$")
CALL = re.compile(r"(\w+)\(")
RESUMED = re.compile(r"<\.\.\. (\w+) resumed>,? ?")
UNFINISHED = "<unfinished ...>"
RESULT = re.compile(r"\)\s*= (-?\d{1,19}|0x[0-9a-f]+|\?)(?:<((?:[^<>\\]|\\.)*)>)?([^<>]*)(?:<(\d{1,9}\.\d{1,9})>)?$")
SOUGHT = re.compile(r"\[(\d{1,18})\]$")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?|<(?:[^<>\\]|\\.)*>|[^"<,()\[\]{}]+|.', re.DOTALL)
DESCRIPTOR = re.compile(r"(\d{1,9})(?:<((?:[^<>\\]|\\.)*)>)?$")
ANYTHING = re.compile(r"\w+\(|<\.\.\. \w+ resumed>|\+\+\+ |--- ")
AT_POSITION = {"read": OP_READ, "readv": OP_READ, "write": OP_WRITE, "writev": OP_WRITE}
AT_OFFSET = {
    **dict.fromkeys(("pread64", "pread", "preadv", "preadv2"), OP_READ),
    **dict.fromkeys(("pwrite64", "pwrite", "pwritev", "pwritev2"), OP_WRITE),
}
OPENS = {"open": 0, "creat": 0, "openat": 1, "openat2": 1}  # which argument is the name
FORKS = ("clone", "clone3", "fork", "vfork")
SYNCS = ("fsync", "fdatasync", "sync_file_range", "msync", "syncfs")
COPIES = ("sendfile", "sendfile64", "copy_file_range", "splice")
OTHERS = ("close", "lseek", "_llseek", "dup", "dup2", "dup3", "fcntl", "fcntl64")
CALLS = {*AT_POSITION, *AT_OFFSET, *OPENS, *FORKS, *SYNCS, *COPIES, *OTHERS}
NO_FILE = re.compile(
    r"(pipe|socket|anon_inode|TCP|TCPv6|UDP|UDPv6|UNIX|UNIX-STREAM|UNIX-DGRAM|NETLINK|signalfd|pidfd):"
    r"|/memfd:|/proc(/|$)|/sys(/|$)|/dev/(pts/|shm/|tty|null$|zero$|full$|u?random$|ptmx$)"
)
DAY_S = 86_400
MIDNIGHT_S = 2 * 3600  # a clock that goes back further has passed midnight; an hour is summer time's
OFFSET_ARGUMENT = 3
MOST = 2**62  # no result is larger, and no position
BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def recognise(head: Head) -> Fit:
    """At least half of the lines are calls, or what else strace says, after a time."""
    rows = [line.strip() for line in head.lines if not line.startswith("#")]
    good = sum((found := LINE.match(line)) is not None and bool(ANYTHING.match(found["rest"])) for line in rows)
    calls = any(f"{name}(" in line for name in CALLS for line in rows)
    return Fit.SURE if rows and 2 * good >= len(rows) and calls else Fit.NO


def arguments(text: str) -> tuple[list[str], str] | None:
    """The arguments of a call, and what follows them from the closing bracket on.

    Args:
        text: after the opening bracket.

    Returns:
        None where the bracket does not close.
    """
    found: list[str] = []
    parts: list[str] = []
    depth = 0
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign == ")" and depth == 0:
            return [*found, "".join(parts).strip()], text[token.start() :]
        if sign == "," and depth == 0:
            found.append("".join(parts).strip())
            parts = []
            continue
        depth += BRACKETS.get(sign, 0)
        parts.append(sign)
    return None


@dataclass
class _Open:
    """A file that is open: its name, where the next read or write is, and whether writes go to its end."""

    name: str
    at: int = 0
    appends: bool = False


@dataclass
class _Columns:
    """Requests of some lines, a list a column."""

    row: list[int] = field(default_factory=list)
    time_us: list[int] = field(default_factory=list)
    op: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    latency_us: list[int] = field(default_factory=list)
    volume: list[str] = field(default_factory=list)

    def chunk(self) -> Chunk:
        """The requests."""
        return Chunk(
            row=np.array(self.row, np.int64),
            time_us=np.array(self.time_us, np.int64),
            op=np.array(self.op, np.uint8),
            offset=np.array(self.offset, np.int64),
            size=np.array(self.size, np.int64),
            latency_us=np.array(self.latency_us, np.int64),
            coded={"volume": Coded.of(self.volume)},
        )


@dataclass(frozen=True)
class _Call:
    """A call that ended."""

    name: str
    arguments: list[str]
    result: int | None  # None where strace did not see it
    opened: str  # the name that -y gives the result
    latency_us: int

    def descriptor(self, place: int = 0) -> tuple[int, str]:
        """A descriptor among the arguments, and the name that -y gives it; -1 where it is none."""
        found = DESCRIPTOR.match(self.arguments[place]) if place < len(self.arguments) else None
        return (int(found[1]), found[2] or "") if found else (-1, "")

    def number(self, place: int) -> int | None:
        """A whole number among the arguments."""
        text = self.arguments[place] if place < len(self.arguments) else ""
        return int(text) if re.fullmatch(r"-?\d{1,18}", text) else None


class _Strace:
    """One output, line by line."""

    def __init__(self, reading: Reading, source: Source) -> None:
        self.reading, self.source = reading, source
        self.days, self.last_s = 0, 0.0
        self.tables: dict[str, dict[int, _Open]] = {}
        self.pending: dict[str, tuple[int, str]] = {}  # of a process: when its call began, and how
        self.ends: dict[str, int] = {}  # of a file: the end of what was seen of it
        self.columns = _Columns()
        self.torn = ""  # the beginning of a line that a message on a process cut in two
        self.alive: set[str] = set()  # processes that strace gave numbers
        self.only = ""  # whose lines have no number

    def line(self, row: int, text: str) -> None:
        """Take the next line."""
        if attached := ATTACHED.search(text):
            self.alive.add(attached[1])
            self.torn = text[: attached.start()] or self.torn
            return
        found = LINE.match(text)
        if found is None and self.torn:
            found, self.torn = LINE.match(self.torn + text), ""
        if found is None:
            self.bad(row, text)
            return
        pid = self.process(found)
        time_us = self.time(found)
        rest = found["rest"]
        if rest.startswith("+++"):
            self.alive.discard(pid)
            self.only = next(iter(self.alive)) if len(self.alive) == 1 else self.only
            return
        if rest.endswith(UNFINISHED):
            self.pending[pid] = (time_us, rest.removesuffix(UNFINISHED))
            return
        if resumed := RESUMED.match(rest):
            if pid not in self.pending:
                if resumed[1] in CALLS:
                    self.reading.left_out["unmatched_complete"] += 1
                return
            time_us, begun = self.pending.pop(pid)
            rest = begun + rest[resumed.end() :]
        called = CALL.match(rest)
        if called is None:
            if not ANYTHING.match(rest):
                self.bad(row, text)
        elif called[1] in CALLS:
            call = self.call(called[1], rest[called.end() :])
            if call is None:
                self.bad(row, text)
            else:
                self.follow(row, time_us, pid, call)

    def process(self, found: re.Match[str]) -> str:
        """The process of a line; the first has no number as long as it is alone."""
        pid: str = found["other"] or found["pid"] or self.only
        if found["other"] and pid not in self.alive:
            self.alive.add(pid)
            if not self.only:
                self.only = pid
                self.tables |= {pid: self.tables.pop("")} if "" in self.tables else {}
                self.pending |= {pid: self.pending.pop("")} if "" in self.pending else {}
        return pid

    def bad(self, row: int, text: str) -> None:
        """Count a line that is none of strace's."""
        self.reading.bad(
            self.source, row, f"is no whole line of strace -f -ttt -T ({text[:80]!r}); fix or drop the row"
        )

    def time(self, found: re.Match[str]) -> int:
        """Microseconds of a line; a clock that starts again is that of the next day."""
        if found["epoch"]:
            return round(float(found["epoch"]) * 1e6)
        of_day = int(found["hour"]) * 3600 + int(found["minute"]) * 60 + float(found["second"])
        self.days += of_day < self.last_s - MIDNIGHT_S
        self.last_s = of_day
        return self.days * DAY_S * 1_000_000 + round(of_day * 1e6)

    @staticmethod
    def call(name: str, text: str) -> _Call | None:
        """A call, from its arguments on; None where it is not whole."""
        parted = arguments(text)
        found = RESULT.match(parted[1]) if parted else None
        if parted is None or found is None:
            return None
        result = int(found[1]) if found[1].lstrip("-").isdigit() else None
        sought = name != "_llseek" or result != 0 or (len(parted[0]) > 2 and SOUGHT.match(parted[0][2]))
        if (result is not None and abs(result) > MOST) or not sought:
            return None
        latency_us = round(float(found[4]) * 1e6) if found[4] else UNKNOWN_LATENCY
        return _Call(name, parted[0], result, found[2] or "", latency_us)

    def table(self, pid: str) -> dict[int, _Open]:
        """The descriptors of a process; one that was not heard of is the child of a fork that is under way, if any."""
        if pid not in self.tables:
            forks = [(parent, text) for parent, (_, text) in self.pending.items() if text.partition("(")[0] in FORKS]
            self.tables[pid] = self.inherited(*forks[0]) if forks else {}
        return self.tables[pid]

    def inherited(self, parent: str, how: str) -> dict[int, _Open]:
        """A child's descriptors: the parent's own for a thread, else the same files by descriptors of its own."""
        table = self.table(parent)
        return table if "CLONE_FILES" in how else dict(table)

    def follow(self, row: int, time_us: int, pid: str, call: _Call) -> None:
        """What a call does to descriptors, and the request that it is."""
        table = self.table(pid)
        if call.name in AT_POSITION or call.name in AT_OFFSET:
            self.request(row, time_us, table, call)
        elif call.name in SYNCS:
            self.reading.left_out["sync"] += 1
        elif call.name in COPIES:
            self.reading.left_out["copy"] += 1
        elif call.result is None or call.result < 0:
            return
        elif call.name in OPENS:
            self.opened(table, call)
        elif call.name in FORKS:
            self.tables.setdefault(str(call.result), self.inherited(pid, " ".join(call.arguments)))
        elif call.name == "close":
            table.pop(call.descriptor()[0], None)
        elif call.name.startswith("dup") or "F_DUPFD" in " ".join(call.arguments[1:2]):
            self.copied(table, call)
        elif "lseek" in call.name and (entry := self.entry(table, call)) is not None:
            entry.at = call.result
            if call.name == "_llseek" and (found := SOUGHT.match(call.arguments[2])):
                entry.at = int(found[1])

    def opened(self, table: dict[int, _Open], call: _Call) -> None:
        """A file is opened."""
        place = OPENS[call.name]
        said = call.arguments[place] if place < len(call.arguments) else ""
        name = call.opened or said.removesuffix("...").strip('"')
        flags = " ".join(call.arguments[place + 1 :])
        if "O_TRUNC" in flags or call.name == "creat":
            self.ends[name] = 0
        table[call.result or 0] = _Open(name, appends="O_APPEND" in flags)

    @staticmethod
    def copied(table: dict[int, _Open], call: _Call) -> None:
        """A descriptor is another's copy."""
        entry = table.get(call.descriptor()[0])
        if entry is None:
            table.pop(call.result or 0, None)
        else:
            table[call.result or 0] = entry

    @staticmethod
    def entry(table: dict[int, _Open], call: _Call) -> _Open | None:
        """What the first argument has open; None where no file is known."""
        number, name = call.descriptor()
        if number < 0:
            return None
        entry = table.get(number)
        if name and (entry is None or entry.name != name):
            entry = table[number] = _Open(name)
        return entry

    def request(self, row: int, time_us: int, table: dict[int, _Open], call: _Call) -> None:
        """A read or a write."""
        entry = self.entry(table, call)
        offset = call.number(OFFSET_ARGUMENT) if call.name in AT_OFFSET else -1
        if entry is None and offset is not None and offset >= 0:  # a file it is: nothing else has offsets
            entry = table[call.descriptor()[0]] = _Open(f"descriptor {call.descriptor()[0]}")
        if entry is None or offset is None or NO_FILE.match(entry.name):
            self.reading.left_out["no_file"] += 1
            return
        if call.result is None or call.result <= 0:
            self.reading.left_out["no_bytes"] += 1
            return
        op = AT_OFFSET.get(call.name, AT_POSITION.get(call.name, OP_READ))
        if offset < 0:
            offset = self.ends.get(entry.name, 0) if entry.appends and op == OP_WRITE else entry.at
            entry.at = min(offset + call.result, MOST)
        self.ends[entry.name] = min(max(self.ends.get(entry.name, 0), offset + call.result), MOST)
        columns = self.columns
        columns.row.append(row)
        columns.time_us.append(time_us)
        columns.op.append(op)
        columns.offset.append(offset)
        columns.size.append(call.result)
        columns.latency_us.append(call.latency_us)
        columns.volume.append(entry.name)


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the order in which their calls end; `volume` is the file."""
    del options
    for source in reading.sources:
        strace = _Strace(reading, source)
        for lines in lines_of(source):
            strace.columns = _Columns()
            for row, text in zip(lines.row.tolist(), lines.text.to_pylist(), strict=True):
                strace.line(row, text)
            yield reading.checked(source, strace.columns.chunk())


FORMAT = Format(
    id="strace",
    title="strace -f -ttt -T (seconds, bytes in files)",
    recognise=recognise,
    read=read,
    needs="lines such as '101 1700000000.000001 pread64(3, ..., 4096, 0) = 4096 <0.000012>'",
    name="strace",
    keeps=("latency_us",),
)

r"""Text that `blkparse -f FORMAT` prints: the option `f` is that FORMAT, such as ``%T.%t %a %d %S %N``.

Read of it are %T and %t (seconds and nanoseconds), %a (the action), %d (the kernel's letters of operation and flags),
%S (sector of 512 bytes), %n (sectors) or %N (bytes), %D or %M and %m (the device), %e (the error) and %C (the process);
widths and a minus before it change nothing, and blanks stand for any blanks. Without `f`, files are read whose columns
tell themselves: one time with nine digits after its point, one column of actions, one of such letters, and a sector
with its length after it. Which actions make requests, and what is joined, is as with `blkparse`. Source: blkparse(1).
"""

import re
from collections.abc import Callable, Iterator

import numpy as np
from pydantic import Field

from cachezoo.arrays import I32, I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.kernels.match import COMPLETE, ISSUE, QUEUE, REQUEUE
from cachezoo.traces.event_text import Line
from cachezoo.traces.events import EventLog, Events, Room, sound
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head, is_int
from cachezoo.traces.formats.blkparse import judge
from cachezoo.traces.formats.event_requests import EventOptions, request_chunks
from cachezoo.traces.lines import Lines, Parts, lines_of
from cachezoo.traces.reading import SECTOR_BYTES, Chunk, Reading
from cachezoo.traces.source import Source

FIELDS = {
    "T": "(?P<seconds>[0-9]{1,9})",
    "t": "(?P<ns>[0-9]{1,9})",
    "a": "(?P<action>[A-Za-z]{1,3})",
    "d": "(?P<rwbs>[A-Z]{1,8})",
    "S": "(?P<sector>[0-9]{1,20})",
    "n": "(?P<sectors>[0-9]{1,9})",
    "N": "(?P<bytes>[0-9]{1,12})",
    "D": r"(?P<major>[0-9]{1,4})\s*,\s*(?P<minor>[0-9]{1,7})",
    "M": "(?P<major>[0-9]{1,4})",
    "m": "(?P<minor>[0-9]{1,7})",
    "e": "(?P<error>-?[0-9]{1,9})",
    "C": "(?P<comm>.*?)",
    **dict.fromkeys("cpsu", "[0-9]+"),
    **dict.fromkeys("PU", ".*?"),
    "%": "%",
}
DIRECTIVE = re.compile(r"%-?[0-9]*([A-Za-z%])|(\\[nt]|\s)+|(.)", re.DOTALL)
KINDS = {"Q": QUEUE, "D": ISSUE, "C": COMPLETE, "R": REQUEUE}
NO_EVENT = 255
MOST_SECTOR = 2**62
MOST_SECTORS = 2**31 - 1  # of a request, in a column of 32 bits
TIME = re.compile(r"\d{1,9}\.\d{9}")
ACTION = re.compile(r"[ABCDFGIMPQRSTUXm]|UT")
RWBS = re.compile(r"(F?[RWD]|FF|FN|N)[FASMVP]{0,4}")
MOST_OUT = 0.1


class FormatOptions(EventOptions):
    """`f`: the text after -f; empty: as the columns tell."""

    f: str = Field(default="", max_length=200)


def pattern_of(text: str) -> str:
    """The pattern (of RE2) of lines that a -f text makes.

    Raises:
        ValueError: it has a directive that is unknown or comes twice, or lacks one that requests need.
    """
    parts, used = ["^"], []
    for found in DIRECTIVE.finditer(text.strip()):
        letter, blanks, other = found.groups()
        if letter is not None:
            if letter not in FIELDS:
                message = f"%{letter} is none that blkparse knows"
                raise ValueError(message)
            used.append(letter)
            parts.append(rf"\s*{FIELDS[letter]}")
        elif blanks:
            parts.append(r"\s+")
        else:
            parts.append(re.escape(other))
    twice = [letter for letter in set(used) & set("TtadSnNDMmeC") if used.count(letter) > 1]
    if twice or ("D" in used and {"M", "m"} & set(used)):
        message = f"%{(twice or ['D'])[0]} comes twice"
        raise ValueError(message)
    for letters, what in (("T", "time"), ("S", "sector"), ("nN", "length"), ("d", "operation")):
        if not set(letters) & set(used):
            message = f"it lacks the {what} (%{' or %'.join(letters)})"
            raise ValueError(message)
    return "".join(parts).removesuffix(r"\s+") + r"\s*$"


def _column(texts: list[str], fits: Callable[[str], object]) -> bool:
    """Whether nearly all of a column are of a kind; a few may be damaged."""
    return sum(not fits(text) for text in texts) <= MOST_OUT * len(texts)


def inferred(lines: list[str]) -> str:
    """The -f text that made some lines, as their columns tell; empty where they do not."""
    comma = 2 * sum("," in line for line in lines) > len(lines)
    rows = [[text.strip() for text in line.split("," if comma else None)] for line in lines]
    width = max({len(row) for row in rows}, key=lambda count: sum(len(row) == count for row in rows), default=0)
    rows = [row for row in rows if len(row) == width]
    if 2 * len(rows) < len(lines) or not rows:
        return ""
    columns = list(zip(*rows, strict=True))
    letters = [""] * width
    numbers: dict[int, list[int]] = {}
    for place, column in enumerate(map(list, columns)):
        if _column(column, TIME.fullmatch):
            letters[place] = "T.%t"
        elif _column(column, is_int):
            letters[place] = "p"
            numbers[place] = [int(text) for text in column if is_int(text)]
        elif _column(column, RWBS.fullmatch) and any(text[:1] in "RW" for text in column):
            letters[place] = "d"
        elif _column(column, ACTION.fullmatch):
            letters[place] = "a"
        else:
            letters[place] = "P"
    pairs = {place: max(values) for place, values in numbers.items() if len(set(values)) > 1 and place + 1 in numbers}
    if any(letters.count(letter) != 1 for letter in ("T.%t", "a", "d")) or not pairs:
        return ""
    sector = max(pairs, key=lambda place: pairs[place])
    letters[sector] = "S"
    in_bytes = all(size % SECTOR_BYTES == 0 for size in numbers[sector + 1]) and any(numbers[sector + 1])
    letters[sector + 1] = "N" if in_bytes else "n"
    if "P" in letters:
        letters[letters.index("P")] = "C"
    return (", " if comma else " ").join(f"%{letter}" for letter in letters)


def _rows(lines: list[str]) -> list[str]:
    return [line.strip() for line in lines if not line.startswith("#")]


def recognise(head: Head) -> Fit:
    """Columns of which one is a time with nine digits after its point, one of actions, one of rwbs letters."""
    return Fit.LIKELY if inferred(_rows(head.lines)) else Fit.NO


def _format(source: Source, options: FormatOptions) -> tuple[str, str]:
    """The -f text of a file, and its pattern.

    Raises:
        TraceError: it is not said and cannot be told, or is none that lines can be read by.
    """
    text = options.f or inferred(_rows(source.first_lines()[:200]))
    if not text:
        message = "its columns do not tell what blkparse -f made it; give the option f='%T.%t %a %d %S %N' or the like"
        raise TraceError(f"{source.path}: {message}")
    try:
        return text, pattern_of(text)
    except ValueError as error:
        raise TraceError(f"{source.path}: option f={text!r}: {error}") from error


def _numbers(parts: Parts, name: str) -> I64:
    """Whole numbers of a group; 0 where the format has none."""
    return parts.ints(name) if name in parts else np.zeros(len(parts), np.int64)


def _texts(parts: Parts, name: str) -> Coded:
    return parts.coded(name) if name in parts else Coded.constant("", len(parts))


def _events(parts: Parts) -> tuple[Events, I64]:
    """The events that make or end requests, and their rows."""
    action = parts.coded("action") if "action" in parts else Coded.constant("D", len(parts))
    kind = np.array([KINDS.get(name, NO_EVENT) for name in action.names], np.uint8)[action.codes]
    if "bytes" in parts:
        size = parts.ints("bytes")
        sectors = -(-size // SECTOR_BYTES)
    else:
        sectors = parts.ints("sectors")
    # A flush has no address; the kernel prints -1 as unsigned.
    sector = np.array([min(int(text), MOST_SECTOR) for text in parts.texts("sector").to_pylist()], np.int64)
    device: I32 = (_numbers(parts, "major") << 20 | _numbers(parts, "minor")).astype(np.int32)
    events = Events(
        time_ns=parts.ints("seconds") * 10**9 + _numbers(parts, "ns"),
        kind=kind,
        device=device,
        sector=np.where(sectors > 0, sector, 0),
        sectors=np.minimum(sectors, MOST_SECTORS).astype(np.int32),
        error=_numbers(parts, "error").astype(np.int32),
        rwbs=parts.coded("rwbs"),
        comm=_texts(parts, "comm"),
    )
    known = kind != NO_EVENT
    return (events, parts.row) if known.all() else (events.take(known), parts.row[known])


def read(reading: Reading, options: FormatOptions) -> Iterator[Chunk]:
    """Requests in the order of their first issue; `volume` is MAJOR,MINOR where the format has it.

    Raises:
        TraceError: what blkparse -f printed cannot be told, or as `cachezoo.traces.formats.event_requests.read_text`.
    """
    log, room = EventLog(options.number), Room(reading.sources[0])
    for source in reading.sources:
        text, pattern = _format(source, options)
        reading.notes["columns"] = text
        judged, last_event = judge(reading, source), 0
        for lines in lines_of(source):
            parts, odd = lines.parts(pattern)
            _judge(judged, odd, parts.row, last_event)
            last_event = int(parts.row[-1]) if len(parts) else last_event
            events, rows = _events(parts)
            log.add(sound(reading, source, rows, events))
            room.hold(log.events)
    yield from request_chunks(reading, log.close(), options, room)


def _judge(judged: Callable[[Line, int], None], odd: Lines, rows: I64, last_event: int) -> None:
    """Say what each line that is no event is, with the row of the last event before it."""
    for row, text in zip(odd.row.tolist(), odd.text.to_pylist(), strict=True):
        at = int(np.searchsorted(rows, row))
        judged(Line(row, text, False, b""), int(rows[at - 1]) if at else last_event)


FORMAT = Format(
    id="blkparse_f",
    title="blkparse -f text, columns by the option f (seconds with 9 digits, 512-byte sectors)",
    recognise=recognise,
    read=read,
    needs="columns with a time of 9 digits after its point, an action, R or W, a sector and its length; or option f",
    name="blkparse",
    sectors=BOTH,
    options=FormatOptions,
    keeps=("latency_us", "user", "flags"),
)

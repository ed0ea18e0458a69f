"""Scans of the text of block events: blkparse's output and the kernel's trace text, line by line over whole blocks."""

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.match import COMPLETE, ISSUE, QUEUE, REQUEUE

PASSED = 4  # a well-formed line of an event that makes no request

# Columns of a scan: one row a line.
START = 0
END = 1
FOUND = 2
TIME_NS = 3
DEVICE = 4
SECTOR = 5
SECTORS = 6
ERROR = 7
RWBS = 8
RWBS_END = 9
COMM = 10
COMM_END = 11
COLUMNS = 12

# What a line is, besides the kind of an event.
NOTHING = -1  # blank or a comment
UNKNOWN = -2  # no event
DAMAGED = -3  # begins as an event that makes requests, but does not go on so

_TOO_LARGE = 2**62
_NAMES = np.zeros((5, 18), np.uint8)
_NAME_KINDS = np.array([ISSUE, COMPLETE, REQUEUE, QUEUE, COMPLETE], np.int64)
for _row, _name in enumerate(
    (b"block_rq_issue", b"block_rq_complete", b"block_rq_requeue", b"block_bio_queue", b"block_bio_complete")
):
    _NAMES[_row, : len(_name)] = np.frombuffer(_name, np.uint8)
_NAME_BYTES = (_NAMES > 0).sum(axis=1)


@njit
def _digits(data: U8, at: int, end: int) -> tuple[int, int]:
    """A number and where it ends; what 10^17 exceeds is `_TOO_LARGE`."""
    value = 0
    while at < end and 48 <= data[at] <= 57:
        value = value * 10 + (int(data[at]) - 48) if value < 10**16 else _TOO_LARGE
        at += 1
    return value, at


@njit
def _blanks(data: U8, at: int, end: int) -> int:
    while at < end and (data[at] == 32 or data[at] == 9):
        at += 1
    return at


@njit
def _word(data: U8, at: int, end: int) -> int:
    """Where the run of no blanks ends."""
    while at < end and data[at] != 32 and data[at] != 9:
        at += 1
    return at


@njit
def _seconds(data: U8, at: int, end: int) -> tuple[int, int]:
    """Nanoseconds of `seconds.fraction`, and where it ends; -1 where there is none."""
    whole, point = _digits(data, at, end)
    if point == at or point >= end or data[point] != 46 or whole > 9 * 10**9:
        return -1, at
    part, stop = _digits(data, point + 1, end)
    places = stop - point - 1
    if places < 1 or places > 9:
        return -1, at
    return whole * 10**9 + part * 10 ** (9 - places), stop


@njit
def _device(data: U8, at: int, end: int, fields: I64) -> int:
    """Read `major,minor`; returns where it ends, -1 where there is none."""
    major, comma = _digits(data, at, end)
    if comma == at or comma >= end or data[comma] != 44 or major >= 1 << 20:
        return -1
    minor, stop = _digits(data, comma + 1, end)
    if stop == comma + 1 or minor >= 1 << 20:
        return -1
    fields[DEVICE] = major << 20 | minor
    return stop


@njit
def _tail(data: U8, at: int, end: int, kind: int, fields: I64) -> bool:
    """Read the last bracket, from its first ` [` on: an error number or a process name."""
    while at < end and data[at] != 91:
        at += 1
    if at >= end or data[end - 1] != 93:
        return False
    at += 1
    stop = end - 1
    if kind == ISSUE or kind == QUEUE:
        fields[COMM] = at
        fields[COMM_END] = stop
        return True
    sign = 1
    if at < stop and data[at] == 45:
        sign = -1
        at += 1
    value, done = _digits(data, at, stop)
    if done == at or done != stop or value > 2**31 - 1:
        return False
    fields[ERROR] = sign * value
    return True


@njit
def _where(data: U8, at: int, end: int, fields: I64) -> int:
    """Read `[bytes] [(command)] sector + sectors`, any of it but the end missing; returns where it ends, -1 damaged.

    A command without sectors, in parentheses that are not empty, has -1 sectors.
    """
    command = False
    number, stop = _digits(data, at, end)
    numbers = stop > at
    at = _blanks(data, stop, end)
    if at < end and data[at] == 40:
        close = at + 1
        while close < end and data[close] != 41:
            close += 1
        if close >= end:
            return -1
        command = close > at + 1
        at = _blanks(data, close + 1, end)
        number, stop = _digits(data, at, end)
        if stop == at:
            fields[SECTORS] = -1 if command else 0
            return at
        at = _blanks(data, stop, end)
    elif not numbers:
        return at
    if at >= end or data[at] != 43:
        return at if at < end and data[at] == 91 else -1
    at = _blanks(data, at + 1, end)
    sectors, stop = _digits(data, at, end)
    if stop == at:
        return -1
    fields[SECTOR] = number
    fields[SECTORS] = sectors if sectors or not command else -1
    return stop


@njit
def _named(data: U8, at: int, end: int) -> int:
    """The kind of an event's name."""
    for row in range(len(_NAMES)):
        if end - at != _NAME_BYTES[row]:
            continue
        same = 0
        while same < end - at and data[at + same] == _NAMES[row, same]:
            same += 1
        if same == end - at:
            return int(_NAME_KINDS[row])
    return PASSED


@njit
def _tracefs(data: U8, at: int, end: int, fields: I64) -> int:
    """What a line of the kernel's trace text is."""
    colon = at
    time_ns = -1
    # The head is `process-pid [cpu] flags seconds.fraction:`; names may hold anything, so look for the time.
    while time_ns < 0:
        while colon < end and data[colon] != 58:
            colon += 1
        if colon >= end:
            return UNKNOWN
        begin = colon
        while begin > at and (48 <= data[begin - 1] <= 57 or data[begin - 1] == 46):
            begin -= 1
        if begin == at or data[begin - 1] == 32 or data[begin - 1] == 9:
            time_ns, stop = _seconds(data, begin, colon)
            if stop != colon:
                time_ns = -1
        colon += 1
    at = _blanks(data, colon, end)
    name = at
    stop = at
    # `system:event:`, as perf prints it, has another colon at once.
    while stop < end and data[stop] != 32 and data[stop] != 9:
        stop += 1
        if data[stop - 1] == 58 and stop < end and data[stop] != 32 and data[stop] != 9:
            name = stop
    if stop - name < 2 or data[stop - 1] != 58:
        return UNKNOWN
    kind = _named(data, name, stop - 1)
    if kind == PASSED:
        return PASSED
    fields[TIME_NS] = time_ns
    at = _device(data, _blanks(data, stop, end), end, fields)
    if at < 0:
        return DAMAGED
    fields[RWBS] = _blanks(data, at, end)
    at = _word(data, fields[RWBS], end)
    fields[RWBS_END] = at
    at = _blanks(data, at, end)
    stop = _where(data, at, end, fields)
    if stop <= at or data[at] == 91 or fields[RWBS] == fields[RWBS_END]:
        return DAMAGED
    return kind if _tail(data, stop, end, kind, fields) else DAMAGED


@njit
def _action(data: U8, at: int, end: int) -> int:
    """The kind of blkparse's action letters."""
    if end - at == 2:
        return PASSED if data[at] == 85 and data[at + 1] == 84 else DAMAGED  # UT
    if end - at != 1:
        return DAMAGED
    letter = data[at]
    if letter == 81:
        return QUEUE
    if letter == 68:
        return ISSUE
    if letter == 67:
        return COMPLETE
    if letter == 82:
        return REQUEUE
    for other in (65, 66, 70, 71, 73, 77, 80, 83, 84, 85, 88, 109):  # A B F G I M P S T U X m
        if letter == other:
            return PASSED
    return DAMAGED


@njit
def _blkparse(data: U8, at: int, end: int, fields: I64) -> int:
    """What a line of blkparse is."""
    at = _device(data, _blanks(data, at, end), end, fields)
    if at < 0:
        return UNKNOWN
    for _ in range(2):  # processor and sequence
        at = _blanks(data, at, end)
        _, stop = _digits(data, at, end)
        if stop == at:
            return DAMAGED
        at = stop
    time_ns, at = _seconds(data, _blanks(data, at, end), end)
    fields[TIME_NS] = time_ns
    begin = _blanks(data, at, end)
    _, at = _digits(data, begin, end)  # process number
    if time_ns < 0 or at == begin:
        return DAMAGED
    begin = _blanks(data, at, end)
    at = _word(data, begin, end)
    kind = _action(data, begin, at)
    if kind == DAMAGED or kind == PASSED:
        return kind
    fields[RWBS] = _blanks(data, at, end)
    at = _word(data, fields[RWBS], end)
    fields[RWBS_END] = at
    begin = _blanks(data, at, end)
    fields[SECTORS] = -2
    at = _where(data, begin, end, fields)
    if at < 0 or fields[RWBS] == fields[RWBS_END]:
        return DAMAGED
    if fields[SECTORS] == -2:
        # Without sectors a flush shows only its bracket, a pass-through command its bytes.
        fields[SECTORS] = 0 if at == begin else -1
    return kind if _tail(data, at, end, kind, fields) else DAMAGED


@njit
def scan(data: U8, blkparse: bool) -> I64:
    """Scan lines of events.

    Args:
        data: uint8 whole lines of text; the last may lack its end.
        blkparse: of blkparse; else of the kernel's trace text.

    Returns:
        int64[lines, COLUMNS], without the empty lines: start and end in the data; the kind of event, `PASSED`,
        `NOTHING`, `UNKNOWN` or `DAMAGED`; nanoseconds, device (major << 20 | minor), sector, sectors (-1: a command
        that is no data request), error, and where the letters of the operation and the process name start and end.
    """
    ends = np.flatnonzero(data == 10)
    if len(data) and data[len(data) - 1] != 10:
        ends = np.append(ends, len(data))
    lines = 0
    for i in range(len(ends)):
        lines += ends[i] > (ends[i - 1] + 1 if i else 0)
    found = np.zeros((lines, COLUMNS), np.int64)
    at = 0
    line = 0
    for i in range(len(ends)):
        stop = ends[i]
        if stop == at:
            at = stop + 1
            continue
        end = stop
        while end > at and (data[end - 1] == 32 or data[end - 1] == 13 or data[end - 1] == 9):
            end -= 1
        fields = found[line]
        line += 1
        fields[START] = at
        fields[END] = end
        if at == end or data[at] == 35:
            fields[FOUND] = NOTHING
        elif blkparse:
            fields[FOUND] = _blkparse(data, at, end, fields)
        else:
            fields[FOUND] = _tracefs(data, at, end, fields)
        at = stop + 1
    return found


@njit
def numbered(data: U8, start: I64, end: I64) -> tuple[I32, I64]:
    """Number pieces of text by their first appearance.

    Args:
        data: uint8 text.
        start: int64[n] where each piece starts.
        end: int64[n] where it ends.

    Returns:
        int32[n] the number of each; int64[k] the first piece of each number.
    """
    slots = 256
    table = np.full(slots, -1, np.int64)
    codes = np.empty(len(start), np.int32)
    first = np.empty(len(start), np.int64)
    count = 0
    for i in range(len(start)):
        if 2 * count >= slots:
            slots *= 2
            table = np.full(slots, -1, np.int64)
            for code in range(count):
                at = _hash(data, start[first[code]], end[first[code]]) & (slots - 1)
                while table[at] >= 0:
                    at = (at + 1) & (slots - 1)
                table[at] = code
        at = _hash(data, start[i], end[i]) & (slots - 1)
        while table[at] >= 0 and not _same(data, start[i], end[i], start[first[table[at]]], end[first[table[at]]]):
            at = (at + 1) & (slots - 1)
        if table[at] < 0:
            table[at] = count
            first[count] = i
            count += 1
        codes[i] = table[at]
    return codes, first[:count].copy()


@njit
def _hash(data: U8, start: int, end: int) -> int:
    value = 17
    for at in range(start, end):
        value = (value * 31 + int(data[at])) & 0xFFFFFFFF
    return value ^ (value >> 15)


@njit
def _same(data: U8, start: int, end: int, other: int, other_end: int) -> bool:
    if end - start != other_end - other:
        return False
    for i in range(end - start):
        if data[start + i] != data[other + i]:
            return False
    return True

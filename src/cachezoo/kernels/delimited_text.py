"""Blocks of delimited text whose rows are all plain: numbers and names found in one pass over the bytes."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import step, unlocked

SKIPPED, NUMBER, NAME = 0, 1, 2
MOST_DIGITS = 18  # which int64 has room for, whatever they are
MOST_NAMES = 1 << 10  # of a column in a block
SLOTS = 4 * MOST_NAMES
LF, BLANK, MINUS, ZERO = b"\n -0"
NINE = 9
DELETE = 127  # beyond the signs of ASCII that can be seen
FACTOR = 0x01000193


@dataclass(frozen=True)
class PlainRows:
    """What n plain rows hold."""

    numbers: I64  # int64[c, n], by column of numbers
    codes: I32  # int32[d, n], by column of names
    names: list[list[str]]  # by column of names, in the order in which they first occur


@unlocked
@njit
def _lines(text: U8) -> int:
    lines = 0
    for i in range(1, len(text)):
        lines += (text[i] == LF) & (text[i - 1] != LF)
    return lines


def lines_of(block: bytes) -> int:
    """How many lines of a block are not empty; the last may have no end."""
    return int(_lines(np.frombuffer(block, np.uint8))) + (len(block) > 0 and block[-1] != LF)


@step
def _code(text: U8, first: int, end: int, slot: int, name: int, slots: I32, spans: I32, counts: I64) -> np.int64:
    """The number of a text in the column `name`; the slot is the first where it may be, spans begin and end."""
    while slots[name, slot] >= 0:
        code = np.int64(slots[name, slot])
        begin = spans[name, code, 0]
        if spans[name, code, 1] - begin == end - first:
            k = 0
            while k < end - first and text[begin + k] == text[first + k]:
                k += 1
            if k == end - first:
                return code
        slot = (slot + 1) & (SLOTS - 1)
    code = np.int64(counts[name])
    if code == MOST_NAMES:
        return np.int64(-1)
    counts[name] += 1
    slots[name, slot] = code
    spans[name, code, 0] = first
    spans[name, code, 1] = end
    return code


@unlocked
@njit
def _scan(text: U8, delimiter: int, kinds: U8, rows: int, numbers: I64, codes: I32, spans: I32, counts: I64) -> bool:
    slots = np.full((len(codes), SLOTS), -1, np.int32)
    at = 0
    for row in range(rows):
        if at == len(text):
            return False
        number, name = 0, 0
        for column in range(len(kinds)):
            stop = LF if column == len(kinds) - 1 else delimiter
            first = at
            if kinds[column] == NUMBER:
                negative = text[at] == MINUS
                at += negative
                digits, value, digit = at, 0, int(text[at]) - ZERO
                while 0 <= digit <= NINE:
                    value = value * 10 + digit
                    at += 1
                    digit = int(text[at]) - ZERO
                if at == digits or at - digits > MOST_DIGITS:
                    return False
                numbers[number, row] = -value if negative else value
                number += 1
            elif kinds[column] == NAME:
                hashed, sign = 0, int(text[at])
                while BLANK <= sign < DELETE and sign != delimiter:
                    hashed = hashed * FACTOR + sign
                    at += 1
                    sign = int(text[at])
                slot = (hashed ^ (hashed >> 15)) & (SLOTS - 1)
                code = _code(text, first, at, slot, name, slots, spans, counts)
                if code < 0:
                    return False
                codes[name, row] = code
                name += 1
            else:
                while text[at] != LF and text[at] != delimiter:
                    at += 1
            if text[at] != stop or (at == first and len(kinds) == 1):
                return False
            at += 1
    return at == len(text)


def plain_rows(block: bytes, delimiter: str, kinds: list[int], rows: int) -> PlainRows | None:
    """The columns of a block of rows, where all of them are plain.

    A plain row has exactly as many fields as there are columns; its numbers have at most 18 digits and perhaps a minus,
    its names consist of signs of ASCII that can be seen, and of blanks.

    Args:
        block: text in UTF-8, without a carriage return.
        delimiter: one sign of ASCII, between fields; nothing is quoted.
        kinds: of the columns, `NUMBER`, `NAME` or `SKIPPED`.
        rows: the block's lines that are not empty.

    Returns:
        None where a row is not plain, a line is empty, or a column has more than `MOST_NAMES` names.
    """
    if not block.endswith(b"\n"):
        return None
    n_names = kinds.count(NAME)
    numbers, codes = np.empty((kinds.count(NUMBER), rows), np.int64), np.empty((n_names, rows), np.int32)
    spans, counts = np.empty((n_names, MOST_NAMES, 2), np.int32), np.zeros(n_names, np.int64)
    text = np.frombuffer(block, np.uint8)
    if not _scan(text, ord(delimiter), np.array(kinds, np.uint8), rows, numbers, codes, spans, counts):
        return None
    names = [
        [block[first:end].decode("ascii") for first, end in own[:count].tolist()]
        for own, count in zip(spans, counts.tolist(), strict=True)
    ]
    return PlainRows(numbers, codes, names)

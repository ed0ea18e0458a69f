"""Changes to valid inputs that keep most of their structure: what damages a reader is seldom noise.

Every function takes its choices from the generator that it is given, so that a seed gives the same inputs anywhere.
"""

import bz2
import gzip
import lzma
import re
import struct
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

import pyarrow as pa

Change = Callable[[bytes, Random], bytes]
MOST_BYTES = 1 << 16
MOST_CHANGES = 4
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
SIGNS = (b",", b" ", b"\t", b";", b"|", b":", b"+", b"[", b"]", b"(", b")", b"=")
NUMBERS = (
    *(
        b"0",
        b"-0",
        b"-1",
        b"1",
        b"+1",
        b"1.5",
        b".5",
        b"1.",
        b"1e5",
        b"1e308",
        b"1e309",
        b"-1e309",
        b"1e-400",
        b"1_000",
    ),
    *(b"nan", b"NaN", b"inf", b"-inf", b"Infinity", b"null", b"None", b"true", b"0x10", b"0X1f", b"0x", b"1,5"),
    *(
        str(sign * 2**bits + more).encode()
        for bits in (15, 31, 32, 53, 62, 63, 64)
        for sign in (-1, 1)
        for more in (-1, 0, 1)
    ),
    *(b"9" * 40, b"9" * 5000, b"0" * 300 + b"7", "\u0663".encode(), "\uff11".encode(), b" 12 ", b""),
)
TEXTS = (
    *(
        b"\r",
        b"\r\n",
        b"\n",
        b"\n\n",
        b"\n \n",
        b"\n\r",
        b"\x00",
        b"\x0b",
        b"\x0c",
        b"\x1c",
        b"\x85",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
    ),
    *(b'"', b'""', b'"\n', b',"', b'",', b'"a,b"', b'"a\nb"', b"'", b"\\", b"#", b"\n#", b"# ", b"  ", b"\t", b" \t"),
    *("\u2028".encode(), "\u00a0".encode(), "\U0001f600".encode(), b"\xc3", b"\xed\xa0\x80", b"%s%n", b"a" * 300),
)
INTEGERS = (
    0,
    1,
    2,
    7,
    8,
    127,
    128,
    255,
    256,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)


def _place(data: bytes, rng: Random) -> int:
    return rng.randint(0, len(data))


def _span(data: bytes, rng: Random, most: int = 64) -> tuple[int, int]:
    """Two places in the data, the second at most `most` after the first."""
    low = _place(data, rng)
    return low, min(low + rng.randint(1, most), len(data))


def _put(data: bytes, low: int, high: int, new: bytes) -> bytes:
    return data[:low] + new + data[high:]


# Of lines.


def _lines(change: Callable[[list[bytes], int, Random], None], data: bytes, rng: Random) -> bytes:
    lines = data.split(b"\n")
    change(lines, rng.randrange(len(lines)), rng)
    return b"\n".join(lines)


def _swap(lines: list[bytes], at: int, rng: Random) -> None:
    other = rng.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]


def _double(lines: list[bytes], at: int, rng: Random) -> None:
    lines[at:at] = [lines[at]] * rng.choice((1, 2, 30))


def _drop(lines: list[bytes], at: int, rng: Random) -> None:
    del lines[at : at + rng.choice((1, 1, 2, 30))]


def _blank(lines: list[bytes], at: int, rng: Random) -> None:
    lines.insert(
        at, rng.choice((b"", b" ", b"\t ", b"\r", b"#", b"# 1,2,3", b" # x", b"\xef\xbb\xbf", b"\x0c", b"\xc2\xa0"))
    )


def _join(lines: list[bytes], at: int, rng: Random) -> None:
    lines[at : at + 2] = [rng.choice((b"", b"\r", b" ", b",", b"\x00")).join(lines[at : at + 2])]


def _ends(lines: list[bytes], at: int, rng: Random) -> None:
    del at
    end = rng.choice((b"\r", b"\r\r", b" ", b",", b"\t"))
    lines[:] = [line + end for line in lines]


LINES = (_swap, _double, _drop, _blank, _join, _ends)


def _fields(data: bytes, rng: Random) -> bytes:
    """Swap, drop, double or replace a field of a line."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    sign = max(SIGNS[:5], key=lines[at].count)
    fields = lines[at].split(sign)
    one, two = rng.randrange(len(fields)), rng.randrange(len(fields))
    how = rng.randrange(5)
    if how == 0:
        fields[one], fields[two] = fields[two], fields[one]
    elif how == 1:
        del fields[one]
    elif how == 2:
        fields.insert(one, fields[two])
    elif how == 3:
        fields[one] = rng.choice(NUMBERS)
    else:
        fields[one] = rng.choice((b'"', b" ", b"\r")) + fields[one] + rng.choice((b'"', b" ", b"\r", b""))
    lines[at] = sign.join(fields)
    return b"\n".join(lines)


def _number(data: bytes, rng: Random) -> bytes:
    """Replace a number."""
    found = [match.span() for match in NUMBER.finditer(data)]
    if not found:
        return data
    return _put(data, *rng.choice(found), rng.choice(NUMBERS))


def _sign(data: bytes, rng: Random) -> bytes:
    """Delete or double a delimiter."""
    sign = rng.choice(SIGNS)
    places = [match.start() for match in re.finditer(re.escape(sign), data)]
    if not places:
        return data
    at = rng.choice(places)
    return _put(data, at, at + 1, rng.choice((b"", sign * 2, rng.choice(SIGNS))))


def _insert(data: bytes, rng: Random) -> bytes:
    at = _place(data, rng)
    return _put(data, at, at, rng.choice(TEXTS))


# Of bytes.


def _cut(data: bytes, rng: Random) -> bytes:
    return data[: _place(data, rng)] if rng.random() < 0.8 else data[_place(data, rng) :]


def _flip(data: bytes, rng: Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return _put(data, at, at + 1, bytes([data[at] ^ 1 << rng.randrange(8)]))


def _noise(data: bytes, rng: Random) -> bytes:
    low, high = _span(data, rng, 8)
    return _put(data, low, high, rng.randbytes(rng.randint(0, 8)))


def _copy(data: bytes, rng: Random) -> bytes:
    """Copy, move or delete a part."""
    low, high = _span(data, rng, rng.choice((4, 64, 4096)))
    part, at = data[low:high], _place(data, rng)
    how = rng.randrange(3)
    if how == 0:
        return _put(data, at, at, part)
    return _put(data, low, high, b"") if how == 1 else _put(data, at, at + len(part), part)


def _integer(data: bytes, rng: Random) -> bytes:
    """Overwrite an integer of 1 to 8 bytes, at a place that is a multiple of its width or not."""
    letter = rng.choice("BHIQ")
    width = struct.calcsize(letter)
    at = _place(data, rng)
    at -= at % width if rng.random() < 0.7 else 0
    value = rng.choice(INTEGERS) % (1 << 8 * width)
    return _put(data, at, at + width, struct.pack(rng.choice("<>") + letter, value))


TEXT_CHANGES: tuple[Change, ...] = (*(partial(_lines, change) for change in LINES), _fields, _number, _sign, _insert)
BYTE_CHANGES: tuple[Change, ...] = (_cut, _flip, _noise, _copy, _integer)


def _several(changes: Sequence[Change], data: bytes, rng: Random, most: int) -> bytes:
    for _ in range(rng.randint(1, MOST_CHANGES)):
        data = rng.choice(changes)(data, rng)
    return data[:most]


def text(data: bytes, rng: Random, most: int = MOST_BYTES) -> bytes:
    """A text of at most so many bytes, with some lines, fields, numbers or ends changed, and now and then a byte."""
    return _several((*TEXT_CHANGES, *TEXT_CHANGES, *BYTE_CHANGES), data, rng, most)


def binary(data: bytes, rng: Random, most: int = MOST_BYTES) -> bytes:
    """Bytes with some integers or parts changed, copied or cut off; at most so many."""
    return _several(BYTE_CHANGES, data, rng, most)


# Of compressed files.


def framed(codec: str, data: bytes) -> bytes:
    """One frame of zstd or LZ4."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": partial(gzip.compress, mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": partial(framed, "zstd"),
    "lz4": partial(framed, "lz4"),
}

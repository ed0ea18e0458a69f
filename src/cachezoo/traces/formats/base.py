"""What a trace format is: how it is recognised, read and written."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from cachezoo.traces.delimited import Layout, split_line
from cachezoo.traces.objects import OBJECT_CODED, ObjectTrace
from cachezoo.traces.reading import SECTOR_BYTES, Reading, Requests
from cachezoo.traces.source import line_feeds
from cachezoo.traces.table import CODED_COLUMNS, Trace
from cachezoo.traces.values import MOST_DIGITS, whole_of

HEAD_LINES = 200
QUOTED = re.compile(r'\A"([^"]*)"\Z')


class Fit(IntEnum):
    """How well the beginning of a file fits a format."""

    NO = 0
    POSSIBLE = 1  # the rows could be, as could be much else
    LIKELY = 2  # the rows have the format's columns, with values in their ranges
    SURE = 3  # a signature or header that no other format has


class Options(BaseModel):
    """A format's options; the base has none. Values come as text."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Head:
    """The beginning of a trace's file, decompressed, without a byte-order mark."""

    data: bytes  # its first bytes
    whole: bool  # whether that is all of it
    size: int | None  # bytes of the whole file where it is stored uncompressed, else None
    stored: Path | None = None  # the file where it is stored uncompressed, for formats that begin at its end

    @cached_property
    def plain(self) -> bytes:
        """The bytes with a line feed for each line end."""
        return line_feeds(self.data)

    @cached_property
    def text(self) -> str | None:
        """The bytes as text, with a line feed for each line end; None where they are none."""
        if b"\0" in self.data:
            return None
        return self.plain.decode("utf-8", "replace")

    @cached_property
    def lines(self) -> list[str]:
        """Its first whole lines, without blank ones; empty where the file is no text."""
        parts = (self.text or "").split("\n")
        parts = parts if self.whole else parts[:-1]
        return [line for line in parts[:HEAD_LINES] if line.strip(" \t")]

    def rows(self, delimiter: str | None = ",") -> list[list[str]]:
        """Fields of the lines that are no comments (#), blanks and quotes around them off.

        Args:
            delimiter: one character; None splits at runs of blanks.
        """
        lines = [line for line in self.lines if not line.lstrip().startswith("#")]
        return [_fields(line, delimiter) for line in lines]


def _fields(line: str, delimiter: str | None) -> list[str]:
    """The fields of a line."""
    if '"' not in line:
        return [field.strip() for field in line.split(delimiter)]
    if delimiter is None:
        return [QUOTED.sub(r"\1", field) for field in line.split()]
    return split_line(line, delimiter)[0]


class Way(NamedTuple):
    """A way to read files of a format."""

    options: Mapping[str, str]  # what it sets that the file and the user leave open
    # how unusual it is, before the requests are looked at: 0 as the format is meant, 1 a tenth as usual …
    doubt: float = 0.0
    said: str = ""  # what it was inferred from; empty where it is the format's own default


BYTES_DOUBT = 1.5  # of a file that counts bytes where its format counts sectors


def one_way(head: Head, given: Mapping[str, str]) -> list[Way]:
    """The format as it is meant."""
    del head, given
    return [Way({})]


def unit_ways(head: Head, given: Mapping[str, str]) -> list[Way]:
    """Sectors, or bytes."""
    del head
    if "unit_bytes" in given:
        return [Way({})]
    return [Way({}), Way({"unit_bytes": "1"}, BYTES_DOUBT)]


@dataclass(frozen=True)
class Format:
    """A registered format."""

    id: str  # its name on the command line and in `source_format`
    title: str  # what people call it, with its units
    recognise: Callable[[Head], Fit]  # how well a head fits
    # requests of the files of a `Reading`, in the files' order, bad rows already out; takes the format's options
    read: Callable[[Reading, Any], Iterator[Requests]]
    options: type[Options] = Options  # schema of those options
    layout: Layout | None = None  # the columns, of delimited text that has always the same
    binary: bool = False  # whether its files are no text
    needs: str = ""  # what a file of the format has, to say why another is none
    name: str = ""  # a pattern of such files' usual names, in lower case and without suffixes of compression
    # how a file may be meant, as it leaves open, by its beginning and the options given
    ways: Callable[[Head, Mapping[str, str]], list[Way]] = one_way
    # which of ``offset`` and ``size`` are in sectors unless an option says otherwise
    sectors: frozenset[str] = field(default=frozenset())
    clock: bool = True  # whether it has times
    large: bool = False  # whether requests of MiB, and addresses beyond a disk, are usual
    keeps: tuple[str, ...] = ()  # columns it has besides time, op, offset, size and volume
    objects: bool = False  # whether its requests may be of objects, which have keys and no addresses
    # False where times are as stored since the trace's start, and are not counted anew from the first
    has_clock: bool = True
    # writes a trace in this format to a path, if the format can be written, whole or not at all; takes the options of
    # `write_options`, and returns what the format could not say: how many requests lost what
    write: Callable[[Trace, Path, Any], dict[str, int]] | None = None
    write_objects: Callable[[ObjectTrace, Path, Any], dict[str, int]] | None = None  # the same of requests of objects
    write_options: type[Options] = Options  # schema of those

    def in_sectors(self, options: Mapping[str, str]) -> frozenset[str]:
        """Which of ``offset`` and ``size`` some options leave in sectors of 512 bytes."""
        return self.sectors if options.get("unit_bytes", str(SECTOR_BYTES)) == str(SECTOR_BYTES) else frozenset()


BOTH = frozenset({"offset", "size"})
OFFSET = frozenset({"offset"})


def lost_columns(trace: Trace) -> dict[str, int]:
    """Requests of each column that a format without optional columns cannot say, but for volumes."""
    names = ("latency_us", "count", *(name for name in CODED_COLUMNS if name != "volume"))
    return {name: len(trace) for name in names if getattr(trace, name) is not None}


def lost_of_objects(trace: ObjectTrace) -> dict[str, int]:
    """Requests of each column that a format without optional columns cannot say of objects."""
    found = {name: len(trace) for name in ("latency_us", *OBJECT_CODED) if getattr(trace, name) is not None}
    if trace.ttl_s is not None:
        found["ttl_s"] = int(np.count_nonzero(trace.ttl_s))
    return {what: rows for what, rows in found.items() if rows}


def most_fit(rows: list[list[str]], width: int, fits: Callable[[list[str]], bool]) -> bool:
    """Whether at least half of the rows have `width` fields that `fits` accepts: a few bad rows hide no format."""
    good = sum(len(row) == width and fits(row) for row in rows)
    return bool(rows) and 2 * good >= len(rows)


def is_int(text: str) -> bool:
    """Whether a field is a whole number, in plain digits."""
    return len(text) <= MOST_DIGITS and text.isascii() and text.removeprefix("-").isdigit()


def is_whole(text: str) -> bool:
    """Whether a field is a whole number as columns of such numbers take it: in digits, or `15421440.0`, `1.28E+17`."""
    return is_int(text) or whole_of(text) is not None


def is_number(text: str) -> bool:
    """Whether a field is a finite decimal number."""
    whole, _, part = text.removeprefix("-").partition(".")
    return len(text) <= MOST_DIGITS and text.isascii() and (whole + part).isdigit()

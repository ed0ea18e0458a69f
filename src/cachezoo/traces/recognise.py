"""How a trace's file is to be read: its format by content, what that leaves open by what each reading would mean.

The beginning is read in every way that its content allows. Each way has doubts, as powers of ten: how unusual it is,
and what of the result no disk can have done. The file's name takes `NAME_CREDIT` off, and so decides where content does
not. The least doubtful way is taken, and said; where another that means something else is within
`MARGIN`, none is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import Any, BinaryIO, cast

import numpy as np

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.kernels.segments import IdTable
from cachezoo.traces.clock import are_numbered
from cachezoo.traces.formats import FORMATS, fits_of, format_of, head_of, options_of
from cachezoo.traces.formats.base import Fit, Format, Head, Way, one_way
from cachezoo.traces.formats.columns import parsed
from cachezoo.traces.formats.id_ways import id_doubts
from cachezoo.traces.glance import NO_CLOCK, Doubt, Glance, Means, means_of
from cachezoo.traces.guess import NOTHING, guessed
from cachezoo.traces.nearest import looks_like, near, refusal
from cachezoo.traces.reading import Chunk, Names, ObjectChunk, Reading, Requests
from cachezoo.traces.source import SUFFIXES, Source
from cachezoo.traces.tabular import is_table

NAME_CREDIT = 1.0
MARGIN = 1.0
UNREADABLE = 12.0
MOST_BAD = 0.1
BAD_ROWS_DOUBT = 6.0
MOST_LISTED = 2
ABSURD = 6.0
BRIEF = ("", "read as", "span", "rate", "mean size", "footprint", "reads")
ANY_ROWS = 1 << 40


@dataclass
class Beginning(Source):
    """A file's beginning as if it were the whole."""

    data: bytes = b""

    @contextmanager
    def _stream(self) -> Iterator[BinaryIO]:
        yield cast(BinaryIO, BytesIO(self.data))


@dataclass(frozen=True)
class Candidate:
    """One way to read a file."""

    format: Format  # the format
    options: Mapping[str, str]  # of the format, as text: those given, and those that the way sets
    way: Way  # the way
    named: bool  # whether the file's name is one of the format's
    beginning: Beginning | None  # the file's beginning, in whole rows; None where it cannot be read apart from the file

    @cached_property
    def _read(self) -> tuple[Requests, Glance, int, Mapping[str, str]] | TraceError | None:
        """The requests of the beginning, how many rows are bad, and what was found out; or why there are none."""
        if self.beginning is None:
            return None
        reading = Reading([self.beginning], ANY_ROWS)
        try:
            options = options_of(self.format, dict(self.options))
            chunks = [part for part in self.format.read(reading, options) if len(part)]
        except TraceError as error:
            return error
        if not chunks:
            return TraceError(f"{self.beginning.path}: the trace is empty; give a file with at least one request")
        glance = Glance()
        for part in chunks:
            if isinstance(part, ObjectChunk):
                glance.add_objects(part.time_us, part.op, part.size)
            else:
                glance.add(part.time_us, part.op, part.offset, part.size)
        return _joined(chunks), glance, len(reading.skipped), reading.notes

    @property
    def means(self) -> Means | None:
        """What the beginning means read so; None where it cannot be."""
        return means_of(*self._read) if isinstance(self._read, tuple) else None

    @property
    def doubts(self) -> list[Doubt]:
        """What of it is implausible."""
        if isinstance(self._read, TraceError):
            return [Doubt(UNREADABLE, "it cannot be read so", "")]
        if self._read is None:
            return []
        chunk, glance, bad, notes = self._read
        entry = self.format
        found = glance.doubts(entry.in_sectors(self.options), entry.clock and not are_numbered(notes), entry.large)
        if self.way.options.get("unit_bytes") == "1" and not glance.whole_sectors:
            found.append(Doubt(2.0, "sizes and offsets are no multiples of 512 bytes", ""))
        if "ids" in entry.options.model_fields:
            found += id_doubts(chunk)
        if bad > MOST_BAD * (len(chunk) + bad):
            found.append(Doubt(BAD_ROWS_DOUBT, f"{bad} of the first {len(chunk) + bad} rows cannot be read so", ""))
        return found

    @property
    def doubt(self) -> float:
        """Powers of ten against it."""
        return self.way.doubt - NAME_CREDIT * self.named + sum(doubt.weight for doubt in self.doubts)

    @property
    def meaning(self) -> tuple[object, ...]:
        """The same for candidates that give the same requests."""
        if not isinstance(self._read, tuple):
            return (self.format.id, *sorted(self.options.items()))
        chunk, glance, *_ = self._read
        # Formats round times differently, by a microsecond: their span tells units apart.
        what = chunk.offset if isinstance(chunk, Chunk) else _numbered(chunk)
        return (f"{glance.span_s:.3g}", *(column.tobytes() for column in (chunk.op, what, chunk.size)))

    @property
    def said(self) -> str:
        """The format and what is said of it: `disksim with time_unit=us`."""
        words = " ".join(f"{name}={value}" for name, value in sorted(self.options.items()))
        return f"{self.format.id} with {words}" if words else self.format.id

    @property
    def asks(self) -> str:
        """The options of the command line that choose it."""
        return " ".join([f"--format {self.format.id}", *(f"--option {k}={v}" for k, v in sorted(self.options.items()))])

    @property
    def brief(self) -> str:
        """What it would mean, in a few words."""
        if (means := self.means) is None:
            return "cannot be read so"
        return f"{means.rate_said}, mean size {means.mean_bytes / 1024:,.1f} KiB"


def _joined(chunks: Sequence[Requests]) -> Requests:
    """The chunks' main columns; the volumes or keys of each are told apart."""
    numbers: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in chunks]) for name in ("row", "time_us", "op", "size")
    }
    names = Names()
    objects = [part.key for part in chunks if isinstance(part, ObjectChunk)]
    if objects:
        texts = [names.add(key) if isinstance(key, Coded) else key for key in objects]
        return ObjectChunk(**numbers, key=np.concatenate(texts).astype(np.int64))
    codes = [names.add(part.coded.get("volume") or Coded.constant("0", len(part))) for part in chunks]
    offset = np.concatenate([part.offset for part in chunks if isinstance(part, Chunk)])
    return Chunk(**numbers, offset=offset, coded={"volume": Coded(np.concatenate(codes), names.names)})


def _numbered(chunk: ObjectChunk) -> I64:
    """The keys of joined requests, numbered by first appearance: texts and numbers of the same objects are alike."""
    key = chunk.key.codes if isinstance(chunk.key, Coded) else chunk.key
    return IdTable().lookup(key.astype(np.int64)).astype(np.int64)


def row_of(candidate: Candidate) -> dict[str, str]:
    """A row of a table of readings: what the file's beginning would mean."""
    means = candidate.means
    row = dict.fromkeys(
        ("read as", "span", "rate", "median size", "mean size", "footprint", "last address", "reads"), ""
    )
    row["read as"] = candidate.said
    if means is not None:
        row |= {
            "span": _duration(means.span_s) if means.clock else NO_CLOCK,
            "rate": means.rate_said,
            "median size": _bytes(means.median_bytes),
            "mean size": _bytes(means.mean_bytes),
            "footprint": _bytes(means.footprint_bytes),
            "last address": _bytes(means.end_bytes) if means.end_bytes else "",
            "reads": f"{means.read_share:.0%}",
        }
    row["against it"] = "; ".join(doubt.said for doubt in candidate.doubts)
    return row


def _duration(seconds: float) -> str:
    for unit, length in (("years", 365 * 86_400.0), ("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.3g} s"


def _bytes(count: float) -> str:
    for unit, length in (("PiB", 2**50), ("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= length:
            return f"{count / length:,.1f} {unit}"
    return f"{count:,.0f} B"


class UnclearTrace(TraceError):
    """A file that can be read in several ways, none clearly the likeliest.

    Attributes:
        candidates: the ways, the likeliest first.
    """

    def __init__(self, message: str, candidates: list[Candidate]) -> None:
        super().__init__(message)
        self.candidates = candidates
        self.rows = _tabled(candidates)


class UnknownTrace(TraceError):
    """A file of no known format.

    Attributes:
        rows: the guesses at its columns in one table, where there are several.
    """

    def __init__(self, message: str, guesses: Sequence[Candidate] = ()) -> None:
        super().__init__(message)
        self.rows = _tabled(guesses) if len(guesses) > 1 else []


def _tabled(candidates: Sequence[Candidate]) -> list[dict[str, str]]:
    """Rows of a table of readings: what fits a terminal; the others say the same of all, or nothing."""
    rows = [{"": str(number), **row_of(one)} for number, one in enumerate(candidates, 1)]
    return [{name: row[name] for name in (*BRIEF, "against it") if any(one[name] for one in rows)} for row in rows]


@dataclass(frozen=True)
class Choice:
    """How a file is read."""

    format: Format  # the format
    options: dict[str, str] = field(default_factory=dict)  # its options, as text
    # what was chosen although neither file nor user say it, with the other readings; empty if nothing
    inferred: str = ""


def named(source: Source, entry: Format) -> bool:
    """Whether a file's name is one of a format's usual ones."""
    name = source.path.name.lower()
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return bool(entry.name) and re.search(entry.name, name) is not None


def _beginning(source: Source, head: Head) -> Beginning:
    data = head.data
    if not head.whole and head.text is not None:
        data = head.plain[: head.plain.rfind(b"\n") + 1]
    return Beginning(source.path, data)


def candidates_of(source: Source, fmt: str, given: Mapping[str, str]) -> list[Candidate]:
    """The ways to read a file that its content allows, those of the best fitting formats.

    Args:
        source: the file.
        fmt: ``auto``, or the one format to think of.
        given: options that are given.

    Raises:
        TraceError: the file cannot be read or is empty, or an option is none of the format's.
        UnknownTrace: no format fits.
    """
    if fmt != "auto":
        entries = [format_of(fmt)]
    else:
        fits = _fits(source, given)
        entries = [FORMATS[name] for name, fit in fits.items() if fit == max(fits.values())]
    taken = [entry for entry in entries if set(given) <= set(entry.options.model_fields)]
    if not taken and len(entries) > 1:
        raise TraceError(_no_option(source, entries, given))
    taken = taken or entries
    for entry in taken:
        options_of(entry, dict(given))
    if len(taken) == 1 and taken[0].ways is one_way:
        # What has one way alone is not looked at: it may be damaged, which its reader says better.
        return [Candidate(taken[0], dict(given), Way({}), named(source, taken[0]), None)]
    return _ways(source, taken, given)


def _no_option(source: Source, entries: list[Format], given: Mapping[str, str]) -> str:
    """That none of the formats that a file may be has the options given."""
    known = {name for entry in entries for name in entry.options.model_fields}
    wrong = [name for name in given if name not in known] or list(given)
    have = "; ".join(f"{entry.id} has {', '.join(entry.options.model_fields) or 'none'}" for entry in entries)
    said = (
        f"option {', '.join(wrong)}: none of the formats that the file may be has {'it' if len(wrong) == 1 else 'all'}"
    )
    return f"{source.path}: {said}: {have}"


def unlike(source: Source, entry: Format) -> str:
    """That a file is not of a format that it was said to be of, and what it is instead; empty where it may be.

    Raises:
        TraceError: the file cannot be read or is empty.
    """
    head = head_of(source)
    if not entry.needs or entry.recognise(head) > Fit.NO:
        return ""
    try:
        looks = f"it looks like {choose(source, 'auto', {}).format.id}: leave --format out"
    except UnclearTrace as unclear:
        names = dict.fromkeys(one.format.id for one in unclear.candidates)
        looks = f"it looks like {' or '.join(names)}: give that as --format"
    except UnknownTrace:
        looks = "nor like any other known format: name its columns with --columns"
    return f"{source.path}: does not look like {entry.id}, which {near(entry, head).why}; {looks}"


def _fits(source: Source, given: Mapping[str, str]) -> dict[str, Fit]:
    """How well formats fit; one that fits for sure and has no row that can be read makes way for another or a guess.

    Raises:
        UnknownTrace: no format fits.
    """
    fits, head = fits_of(source), head_of(source)
    wrong = {name: why for name, fit in fits.items() if fit == Fit.SURE and (why := _all_bad(source, name, given))}
    rest = {name: fit for name, fit in fits.items() if name not in wrong}
    if rest and not (wrong and all(_all_bad(source, name, given) for name in rest)):
        return rest
    found = NOTHING if looks_like(head) or head.text is None else guessed(head.lines)
    if fits and not (wrong and "op=" in found.columns and by_columns(source, parsed(found.columns)).means):
        return fits
    texts = [columns for columns in (found.columns, *found.others) if "op=" in columns] if found.others else []
    guesses = [by_columns(source, parsed(columns)) for columns in texts]
    said = "".join(f"; as {name}, which it looks like, no row can be read: {why}" for name, why in wrong.items())
    raise UnknownTrace(refusal(source, head, lambda entry: named(source, entry), found) + said, guesses)


def _all_bad(source: Source, name: str, given: Mapping[str, str]) -> str:
    """Why no row of a text's beginning can be read in any way of a format; empty where one can, or there is none.

    Of several ways the format's own says why.
    """
    entry, head = FORMATS[name], head_of(source)
    if head.text is None:
        return ""
    known = {key: value for key, value in given.items() if key in entry.options.model_fields}
    said = []
    for way in entry.ways(head, known):
        reading = Reading([_beginning(source, head)], ANY_ROWS)
        try:
            if any(len(part) for part in entry.read(reading, options_of(entry, {**way.options, **known}))):
                return ""
        except TraceError as error:
            said.append(str(error))
            continue
        if not reading.skipped:
            return ""
        said.append(reading.skipped[0])
    return said[0].removeprefix(f"{source.path}: ")


def _ways(source: Source, entries: list[Format], given: Mapping[str, str]) -> list[Candidate]:
    """The ways of some formats; the beginning of Parquet and Arrow cannot be read without the end."""
    head = head_of(source)
    fixed = {name: value for name, value in given.items() if (name, value) != ("time_unit", "auto")}
    return [
        Candidate(
            format=entry,
            options={**way.options, **fixed},
            way=way,
            named=named(source, entry),
            beginning=None if is_table(head.data) else _beginning(source, head),
        )
        for entry in entries
        for way in entry.ways(head, given)
    ]


def readings(source: Source) -> list[Candidate]:
    """What a file could be, the likeliest first; what means the same stands once, and no absurd reading but the first.

    Raises:
        TraceError: the file cannot be read or is empty.
        UnknownTrace: no format fits.
    """
    fits = _fits(source, {})
    found = _ways(source, [FORMATS[name] for name in fits], {})
    first, *others = _distinct(sorted(found, key=lambda one: (-fits[one.format.id], one.doubt)))
    return [first, *(other for other in others if other.doubt < ABSURD)]


def by_columns(source: Source, options: Mapping[str, str]) -> Candidate:
    """A delimited file read by named columns, to see what its beginning then means.

    Args:
        source: the file.
        options: as `cachezoo.traces.formats.columns.parsed` gives them.

    Raises:
        TraceError: the file cannot be read, is empty, or an option is none.
    """
    entry = FORMATS["columns"]
    options_of(entry, dict(options))
    return Candidate(entry, dict(options), Way({}), False, _beginning(source, head_of(source)))


def _distinct(candidates: list[Candidate]) -> list[Candidate]:
    """The first of those that mean the same."""
    first: dict[tuple[object, ...], Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.meaning, candidate)
    return list(first.values())


def choose(source: Source, fmt: str, given: Mapping[str, str]) -> Choice:
    """How to read a file, see `candidates_of`.

    Raises:
        UnclearTrace: several readings are about as likely, and mean different things.
    """
    found = candidates_of(source, fmt, given)
    if len(found) == 1:
        return Choice(found[0].format, dict(found[0].options))
    first, *others = _distinct(sorted(found, key=lambda candidate: candidate.doubt))
    close = [other for other in others if other.doubt - first.doubt < MARGIN]
    if close:
        raise UnclearTrace(_unclear(source, [first, *close]), [first, *close])
    usual = next(candidate for candidate in found if candidate.format is first.format)
    rivals = any(other.format is not first.format for other in others)
    open_ = bool(first.way.said) or first is not usual or rivals
    return Choice(first.format, dict(first.options), _inferred(first, others) if open_ and others else "")


def _inferred(first: Candidate, others: list[Candidate]) -> str:
    """What was taken, why not the others, and how to say otherwise."""
    against = [f"{other.said} ({_against(other)})" for other in others[:MOST_LISTED]]
    return f"{first.said} ({first.brief}); less likely: {', '.join(against)}; --format and --option choose another"


def _against(other: Candidate) -> str:
    doubts = other.doubts
    return doubts[0].said if doubts else other.brief


def _unclear(source: Source, close: list[Candidate]) -> str:
    listed = "; ".join(f"{one.asks} ({one.brief})" for one in close)
    return (
        f"{source.path}: can be read in {len(close)} ways that mean different things; say which: {listed}; or name the "
        "columns and their units with --columns"
    )

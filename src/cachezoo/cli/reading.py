"""What every command that reads a raw trace shares: format, options and columns, asked for at a terminal."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachezoo.cli.options import pairs
from cachezoo.errors import ConfigError, TraceError
from cachezoo.show.output import drawn
from cachezoo.show.table import text_table

if TYPE_CHECKING:
    from cachezoo.traces.formats.columns import Table
    from cachezoo.traces.objects import Either
    from cachezoo.traces.read import Drawn, TraceFiles
    from cachezoo.traces.recognise import UnclearTrace
    from cachezoo.traces.sampling import Part
    from cachezoo.traces.table import Trace

READER = "trace ingest"  # in whose help these options are
FormatName = Annotated[
    str,
    typer.Option("--format", metavar="ID", help="Input format, see `cachezoo trace formats`.", rich_help_panel=READER),
]
FormatOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="Of the format; repeatable.", rich_help_panel=READER),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="ROLE=COLUMN,…",
        help="Columns of delimited text: time=ts:ms,offset=lba:512,size=len,op=rw.",
        rich_help_panel=READER,
    ),
]
Reading = tuple[str, tuple[tuple[str, str], ...]]
AUTO: Reading = ("auto", ())
SHOWN_ROWS = 5
WIDTH = 140
SHOWN_COLUMNS, LONGEST_VALUE = 12, 40
TRIES = 3
ASKED = {
    "time": "time, with its unit (ns, 100ns, us, ms, s), such as #1:ms; row:us numbers the rows",
    "offset": "offset, with the bytes it counts, such as #2:512 for sectors or #2:1 for bytes",
    "size": "size, with the bytes it counts, such as #3:1; 4096B for a constant",
    "op": "op, or read or write if all are; own values such as #4:1/0 (read/write)",
}
KEY = "key that names an object, a number or a text, such as #2"
ASKED_OF_SOME = {
    "volume": "volume, or none where it names no disk",
    "count": "count of accesses that a row stands for, or none",
    "ttl": "time to live, or none",
}
NONE = "none"


def chosen(fmt: str, option: list[str] | None, columns: str | None) -> tuple[str, dict[str, str]]:
    """Format and options, of `--format`, `--option` and `--columns` together.

    Raises:
        ConfigError: an option is no KEY=VALUE, or columns are given for another format.
        TraceError: the columns are none.
    """
    options = pairs(option)
    if columns is None:
        return fmt, options
    from cachezoo.traces.formats.columns import parsed

    if fmt not in ("auto", "columns"):
        raise ConfigError(f"--columns: format {fmt} has columns of its own; leave --format or --columns out")
    return "columns", {**parsed(columns), **options}


def given_files(
    paths: Sequence[Path],
    fmt: str = "auto",
    option: list[str] | None = None,
    columns: str | None = None,
    *,
    category: str = "unknown",
    trace_id: str | None = None,
    skip_bad_rows: int = 0,
    ask: bool = True,
) -> "TraceFiles":
    """The files of a trace as the command line gives them; a person at a terminal is asked what they leave open.

    `fmt`, `option` and `columns` are of the options of these names, the others as in `TraceFiles`; `ask` is False under
    `--json`.

    Raises:
        ConfigError, TraceError: as `chosen`, or what recognises the file says.
    """
    from cachezoo.traces.read import TraceFiles

    name, options = chosen(fmt, option, columns)
    if ask and paths and paths[0].is_file() and _at_terminal():
        name, options = _settled(paths[0], name, options)
    return TraceFiles(list(paths), name, category, trace_id, options, skip_bad_rows)


def reading_of(
    paths: Sequence[Path], fmt: str, option: list[str] | None, columns: str | None, *, ask: bool = True
) -> Reading:
    """Format and options of raw traces, for commands that read a trace in several processes; see `given_files`."""
    given = given_files(paths, fmt, option, columns, ask=ask)
    return given.fmt, tuple(sorted(given.options.items()))


def as_typed(fmt: str, options: Mapping[str, str]) -> str:
    """How a trace is read, for a command to run next; empty where its content says it."""
    given = [] if fmt == "auto" else ["--format", fmt]
    return shlex.join([*given, *(word for pair in options.items() for word in ("--option", "=".join(pair)))])


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def read_given(
    path: Path, fmt: str = "auto", option: list[str] | None = None, columns: str | None = None,
    *, ask: bool = True, pages: bool = True, replay: bool = False,
) -> "Trace":  # fmt: skip
    """A trace read whole into memory, as the command line gives it, see `given_files` and `read_files`."""
    from cachezoo.traces.read import read_files

    return read_files(given_files([path], fmt, option, columns, ask=ask), pages=pages, replay=replay)


def read_given_either(
    path: Path, fmt: str = "auto", option: list[str] | None = None, columns: str | None = None, *, ask: bool = True
) -> "Either":
    """As `read_given` without pages, of addresses or of objects."""
    from cachezoo.traces.read import read_either

    return read_either(given_files([path], fmt, option, columns, ask=ask), pages=False)


def read_several(
    paths: Sequence[Path], fmt: str = "auto", option: list[str] | None = None, columns: str | None = None,
    *, ask: bool = True, part: "Part" = "exact", column: str | None = None,
) -> "list[Trace] | list[Drawn]":  # fmt: skip
    """Traces of a command that simulates several, whole as `read_given` replays them, or samples of all at one rate.

    The others are as of `given_files`; --columns is of all of them. `part` is how much is read: `auto` takes samples
    where all together have many page accesses. `column` is what these are taken apart by, see
    `cachezoo.traces.read.read_together`.

    Raises:
        TraceError: what the reader says; of a file of no known format beside others, to ingest it first.
    """
    from cachezoo.traces.read import OpenTrace, read_together, silent
    from cachezoo.traces.recognise import UnknownTrace

    found = []
    for path in paths:
        try:
            found.append(OpenTrace(given_files([path], fmt, option, columns, ask=ask), silent))
        except UnknownTrace as error:
            if len(paths) == 1:
                raise
            message = (
                f"{error}; --columns here is of all {len(paths)} files: give it to cachezoo trace ingest {path}, and "
                "name here what that writes"
            )
            raise TraceError(message) from error
    return read_together(found, part, column)


def _settled(path: Path, fmt: str, options: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Format and options after asking, where content leaves them open."""
    from cachezoo.traces.recognise import UnclearTrace, UnknownTrace, choose
    from cachezoo.traces.source import Source

    try:
        choose(Source(path), fmt, options)
    except UnclearTrace as error:
        return _pick(path, error)
    except UnknownTrace as error:
        return _ask_columns(path, error)
    return fmt, options


def _pick(path: Path, error: "UnclearTrace") -> tuple[str, dict[str, str]]:
    """One of several readings, by its number."""
    from cachezoo.console import err

    show_rows(error.rows)
    number = 0
    while not 1 <= number <= len(error.candidates):
        number = typer.prompt(f"Which is it? (1 to {len(error.candidates)})", type=int, err=True)
    candidate = error.candidates[number - 1]
    err().print(f"without asking: {shlex.quote(str(path))} {candidate.asks}", soft_wrap=True, markup=False)
    return candidate.format.id, dict(candidate.options)


def _ask_columns(path: Path, error: TraceError) -> tuple[str, dict[str, str]]:
    """The columns of a delimited file of no known format.

    Raises:
        TraceError: it is not delimited, or no columns were named that fit.
    """
    from cachezoo.console import err, plain
    from cachezoo.traces.formats.base import Head
    from cachezoo.traces.formats.columns import ColumnsOptions, parsed, table_of
    from cachezoo.traces.guess import NOTHING, guessed
    from cachezoo.traces.nearest import looks_like
    from cachezoo.traces.recognise import choose
    from cachezoo.traces.source import HEAD_BYTES, Source

    data = Source(path).head()
    head = Head(data, len(data) < HEAD_BYTES, None)
    table = table_of(head.lines, ColumnsOptions())
    found = NOTHING if looks_like(head) else guessed(head.lines)
    guess = dict(part.split("=", 1) for part in found.columns.split(",") if part and plain(part) == part)
    if looks_like(head) or (table.width < 2 and not guess):
        raise error
    err().print(f"{path}: no known format; its first rows:", soft_wrap=True, markup=False)
    _show_table(table)
    if guess:
        err().print("in brackets stands a guess by names and values: check it")
    if found.op:
        err().print(found.op, soft_wrap=True, markup=False, highlight=False)
    asked = {"key" if role == "offset" and "key" in guess else role: said for role, said in ASKED.items()}
    asked |= {"key": KEY} if "key" in guess else {}
    asked |= {role: said for role, said in ASKED_OF_SOME.items() if role in guess}
    for attempt in range(TRIES):
        answers = {role: typer.prompt(said, default=guess.get(role), err=True) for role, said in asked.items()}
        given = {role: answer.strip() for role, answer in answers.items()}
        text = ",".join(
            f"{role}={answer}" for role, answer in given.items() if role not in ASKED_OF_SOME or answer != NONE
        )
        try:
            options = parsed(text)
            _check(path, options)
        except TraceError as wrong:
            if attempt == TRIES - 1:
                raise
            err().print(str(wrong), soft_wrap=True, markup=False)
            continue
        err().print(f"without asking: {path} --columns {shlex.quote(text)}", soft_wrap=True, markup=False)
        return choose(Source(path), "columns", options).format.id, options
    raise error


def _check(path: Path, options: dict[str, str]) -> None:
    """Read the first rows by some columns.

    Raises:
        TraceError: they cannot be read so.
    """
    from cachezoo.traces.read import OpenTrace, TraceFiles, silent

    next(OpenTrace(TraceFiles([path], "columns", options=options), silent).chunks())


def _show_table(table: "Table") -> None:
    from cachezoo.console import err

    width = min(table.width, SHOWN_COLUMNS)
    names = (*table.header, *[""] * width)
    heads = [f"#{place + 1} {names[place]}".rstrip() for place in range(width)]
    rows = ([value[:LONGEST_VALUE] for value in row[:width]] for row in table.rows[:SHOWN_ROWS])
    err().print(drawn(text_table("", heads, rows)))


def show_rows(rows: Sequence[dict[str, str]]) -> None:
    """A table on standard error, of an error that has one; wide where there is no terminal."""
    from cachezoo.console import wide_err

    wide_err(WIDTH).print(drawn(text_table("", list(rows[0]), (list(row.values()) for row in rows))))

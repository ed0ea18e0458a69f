"""Traces changed: `cachezoo trace cut|sample|split|merge|anonymise`."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cachezoo.cli.common import Json, print_values, refuse_same
from cachezoo.cli.options import turn as parse_turn
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, read_given
from cachezoo.cli.trace import Output, TracePath, check_output
from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from cachezoo.traces.table import Trace

app = typer.Typer()
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def _write(trace: "Trace", output: Path) -> dict[str, Any]:
    """Write a trace with its pages; returns its figures."""
    from cachezoo.traces.memory import hold_pages
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.stats import describe
    from cachezoo.traces.store import write_trace

    hold_pages(trace, trace.meta.trace_id)
    pages = expand_pages(trace)
    write_trace(trace, output, pages)
    return {**describe(trace, pages), "output": str(output)}


@app.command("cut")
def cut(
    trace: TracePath,
    output: Output,
    start: Annotated[float | None, typer.Option("--from", help="Keep requests from this second on.")] = None,
    stop: Annotated[float | None, typer.Option("--to", help="And before this second.")] = None,
    first: Annotated[int | None, typer.Option("--first-row", help="Keep requests from this row on, from 0.")] = None,
    last: Annotated[int | None, typer.Option("--last-row", help="And before this row.")] = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Keep a window of time, a range of rows, or what lies in both."""
    from cachezoo.traces.transforms import cut as run

    check_output([trace], output)
    part = run(read_given(trace, fmt, option, columns, ask=not as_json, pages=False), start, stop, first, last)
    print_values(_write(part, output), as_json, f"cut from {trace.name}")


@app.command("sample")
def sample(
    trace: TracePath,
    output: Output,
    rate: Annotated[float, typer.Option(help="Part of the blocks to keep, above 0 and at most 1.")],
    seed: Annotated[int, typer.Option(help="Another seed, another choice of blocks.")] = 0,
    block_bytes: Annotated[int, typer.Option(help="Unit of the choice, a multiple of 4096.")] = 65_536,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Keep all accesses to a part of the address space, chosen by a hash of the block (SHARDS)."""
    from cachezoo.traces.transforms import sample as run

    check_output([trace], output)
    part = run(read_given(trace, fmt, option, columns, ask=not as_json, pages=False), rate, seed, block_bytes)
    print_values(_write(part, output), as_json, f"sampled from {trace.name}")


@app.command("split")
def split(
    trace: TracePath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the parts.")],
    at: Annotated[list[float] | None, typer.Option(help="A fraction of the requests, repeatable.")] = None,
    at_second: Annotated[list[float] | None, typer.Option(help="Where to cut: a second, repeatable.")] = None,
    by: Annotated[str | None, typer.Option(help="Or by volume, namespace, user, host or source.")] = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Split a trace into parts in time, or by one of its columns."""
    from cachezoo.traces.transforms import split as in_time
    from cachezoo.traces.transforms import split_by

    if sum(bool(choice) for choice in (at, at_second, by)) != 1:
        raise ConfigError("nothing to split by: give --at, --at-second or --by, one of them")
    if not output.is_dir():
        check_output([], output)
    whole = read_given(trace, fmt, option, columns, ask=not as_json, pages=False)
    if by:
        parts = list(split_by(whole, by).values())
    else:
        parts = in_time(whole, at, "fraction") if at else in_time(whole, at_second or [], "seconds")
    names = [NOT_IN_NAMES.sub("_", part.meta.trace_id) for part in parts]
    if len(set(names)) < len(names):
        raise ConfigError(f"{trace}: two parts would be called {max(names, key=names.count)}; split by another column")
    paths = [output / f"{name}.parquet" for name in names]
    for path in paths:
        refuse_same([trace], path)
    rows = [_write(part, path) for part, path in zip(parts, paths, strict=True)]
    if as_json:
        typer.echo(json.dumps(rows, allow_nan=False))
        return
    print_values({row["output"]: f"{row['requests']:,} requests" for row in rows}, as_json, f"split {trace.name}")


@app.command("merge")
def merge(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Two or more traces.")],
    output: Output,
    share: Annotated[list[float] | None, typer.Option(help="Weight of each trace's requests, in their order.")] = None,
    turn: Annotated[
        list[str] | None, typer.Option(metavar="NAME[=N|=Ns]", help="Instead in turns: N requests or N seconds.")
    ] = None,
    periods: Annotated[int, typer.Option(min=1, help="How many times the turns are gone through.")] = 1,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Merge traces as concurrent streams, or let them take turns; `source` keeps where each request comes from.

    Without --share every request stays at its traced time; with it the traces are cut and their clocks stretched so
    that the shares hold and all end together. A trace's NAME is its id, which `cachezoo trace info` shows.
    """
    from cachezoo.traces.mixing import in_turns, interleave, sources

    if share and turn:
        raise ConfigError("give --share or --turn, not both: traces run at the same time or one after the other")
    check_output(traces, output)
    given = [read_given(path, fmt, option, columns, ask=not as_json, pages=False) for path in traces]
    name = NOT_IN_NAMES.sub("_", output.stem)
    if turn:
        mixture = in_turns(given, name, [parse_turn(text) for text in turn], periods)
    else:
        mixture = interleave(given, name, share or None)
    source = sources(mixture)
    counts = {f"requests of {key}": int((source.codes == code).sum()) for code, key in enumerate(source.names)}
    print_values({**_write(mixture, output), **counts}, as_json, f"merged {len(given)} traces")


@app.command("anonymise")
def anonymise(
    trace: TracePath,
    output: Output,
    key: Annotated[
        Path | None, typer.Option(help="A file with a secret, 16 bytes or more; default: one that is forgotten again.")
    ] = None,
    name: Annotated[str, typer.Option("--id", help="Name to record.")] = "anonymous",
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Take names and places out of a trace, so that it can be handed on; a cache does on it what it did.

    Volumes, programs, users and hosts get pseudonyms, and regions of 1 MiB another order, by the key. Times, sizes and
    operations stay: docs/anonymise.md says what they reveal.
    """
    from cachezoo.traces.anonymous import REGION_BYTES, anonymous, drawn_key, read_key

    check_output([trace, *([key] if key is not None else [])], output)
    secret = read_key(key) if key is not None else drawn_key()
    found = anonymous(read_given(trace, fmt, option, columns, ask=not as_json, pages=False), secret, name)
    longest = {"groups_moved": found.groups, "longest_group_bytes": found.longest * REGION_BYTES}
    print_values({**_write(found.trace, output), **longest}, as_json, f"anonymised {trace.name}")

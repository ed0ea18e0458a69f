"""Synthetic traces: `cachezoo trace synth`."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachezoo.cli.common import Json
from cachezoo.cli.options import pairs
from cachezoo.cli.reading import FormatName, FormatOptions
from cachezoo.cli.trace import Output, check_output
from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from cachezoo.synth.compare import Row, Statistics
    from cachezoo.synth.model import SynthModel
    from cachezoo.traces.table import Trace

app = typer.Typer()
WHOLE = 1000  # from which on numbers are shown without decimals
STEPS = 3  # fit, draw, compare


@app.command("synth")
def synth(
    output: Output,
    trace: Annotated[
        Path | None, typer.Argument(metavar="[TRACE]", help="The trace to be like; without it, --model is read.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Write the statistics here (JSON); without TRACE, read them from here.")
    ] = None,
    requests: Annotated[int | None, typer.Option(min=2, max=2**30, help="How many; default as many as TRACE.")] = None,
    duration: Annotated[float | None, typer.Option(min=0.0, max=1e9, help="Seconds; default as long as TRACE.")] = None,
    scale: Annotated[
        float, typer.Option(min=1e-3, max=1e3, help="Times as many requests over times as many pages.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed, another trace of the same statistics.")] = 0,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    as_json: Json = False,
) -> None:
    """Draw a trace that is like another, for load tests: no address, name or time of it is kept."""
    from cachezoo.console import progress
    from cachezoo.synth.compare import compare, statistics
    from cachezoo.synth.generate import synthetic
    from cachezoo.synth.model import load_model, save_model
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.store import write_trace

    if trace is None and model is None:
        raise ConfigError("trace synth: give a trace to be like, or --model of one made before")
    given = [path for path in (trace, model) if path is not None]
    check_output(given, output)
    if trace is not None and model is not None:
        check_output([trace], model)
    original = None
    with progress("synthetic trace", STEPS) as advance:
        if trace is None:
            found = load_model(given[0])
        else:
            original, found = _fitted(trace, fmt, option)
            if model is not None:
                save_model(found, model)
        advance(1, "drawing")
        drawn = synthetic(found, seed, requests, duration, scale)
        pages = expand_pages(drawn)
        write_trace(drawn, output, pages)
        advance(2, "comparing")
        theirs = statistics(drawn, pages)
    rows = compare(original, theirs) if original is not None else []
    if as_json:
        typer.echo(json.dumps({
            "output": str(output), "original": None if original is None else original.numbers,
            "synthetic": theirs.numbers, "rows": [dataclasses.asdict(row) for row in rows],
        }, allow_nan=False))  # fmt: skip
        return
    _print(rows or _alone(theirs), str(output), trace.name if trace is not None else None)


def _fitted(path: Path, fmt: str, option: list[str] | None) -> "tuple[Statistics, SynthModel]":
    """A trace's statistics, and the model of it."""
    from cachezoo.synth.compare import statistics
    from cachezoo.synth.fit import fit
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import TraceFiles, read_files

    own: Trace = read_files(TraceFiles([path], fmt, options=pairs(option)))
    pages = expand_pages(own)
    found = fit(own, pages)  # refuses a trace too short, before anything is counted
    return statistics(own, pages), found


def _alone(theirs: "Statistics") -> "list[Row]":
    from cachezoo.synth.compare import RATIOS, Row

    kinds = {name: "ratio" if name in RATIOS else "points" for name in theirs.numbers}
    return [Row(name, None, value, None, kinds[name]) for name, value in theirs.numbers.items()]


def _print(rows: "Sequence[Row]", output: str, like: str | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out

    table = Table(title=escape(f"{output}, like {like}" if like else output))
    for head in ("", *(("original",) if like else ()), "synthetic", *(("error",) if like else ())):
        table.add_column(head, justify="right" if head else "left", overflow="fold")
    for row in rows:
        values = [_value(row.name, row.synthetic, row.kind)]
        if like:
            values = [_value(row.name, row.original, row.kind), *values, _error(row)]
        table.add_row(escape(row.name), *values)
    out().print(table)
    if like:
        said = (
            "LRU hits: page hit ratio with a cache of so many per cent of each trace's distinct pages, from the first "
        )
        said += (
            "access on. Sizes and requests over time: the largest difference of the shares (Kolmogorov-Smirnov), and "
        )
        said += "the share of the requests that lie in another of 100 windows."
        out().print(said, markup=False)


def _value(name: str, value: float | None, kind: str) -> str:
    from cachezoo.show.formats import number, percent
    from cachezoo.sizes import human

    if value is None:
        return ""
    if kind == "points":
        return percent(value)
    if name in ("bytes", "mean read", "mean write"):
        return human(value)
    return number(value) if value >= WHOLE else number(value, 2).rstrip("0").rstrip(".")


def _error(row: "Row") -> str:
    from cachezoo.show.formats import NONE, percent, points

    if row.error is None:
        return NONE
    if row.kind == "points":
        return points(100 * row.error)
    return percent(row.error, signed=row.kind == "ratio")

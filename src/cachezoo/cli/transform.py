"""Traces made of others: `cachezoo trace cut|sample|split|merge|anonymise|synth`."""

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cachezoo.cli.common import Json, hand_out, print_values, refuse_same, shows
from cachezoo.cli.options import pairs
from cachezoo.cli.options import turn as parse_turn
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, given_files, read_given, read_given_either
from cachezoo.cli.trace import Output, TracePath, check_output
from cachezoo.console import progress
from cachezoo.errors import ConfigError
from cachezoo.remote import located
from cachezoo.show.formats import NONE, number, percent, points
from cachezoo.show.output import print_lines, print_table
from cachezoo.show.table import text_table
from cachezoo.sizes import Size, human, refused

if TYPE_CHECKING:
    from cachezoo.synth.compare import Row, Statistics
    from cachezoo.synth.model import SynthModel
    from cachezoo.traces.objects import Either

app = typer.Typer()
WHOLE = 1000  # from which on numbers are shown without decimals
STEPS = 3  # of synth: fit, draw, compare
TECTONIC = "tectonic"  # generator of `cachezoo.synth.tectonic`
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def _write(trace: "Either", output: Path) -> dict[str, Any]:
    """Write a trace, with its pages where it has addresses; returns its figures."""
    from cachezoo.traces.memory import hold_pages
    from cachezoo.traces.object_stats import describe_objects
    from cachezoo.traces.objects import ObjectTrace
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.stats import describe
    from cachezoo.traces.store import write_trace

    if isinstance(trace, ObjectTrace):
        write_trace(trace, output)
        return {**describe_objects(trace), "output": str(output)}
    hold_pages(trace, trace.meta.trace_id)
    pages = expand_pages(trace)
    write_trace(trace, output, pages)
    return {**describe(trace, pages), "output": str(output)}


@app.command("cut", cls=shows("trace cut trace.parquet -o hour.parquet --from 0 --to 3600"))
def cut(
    trace: TracePath,
    output: Output,
    start: Annotated[float | None, typer.Option("--from", metavar="S", help="First second.")] = None,
    stop: Annotated[float | None, typer.Option("--to", metavar="S", help="End before this second.")] = None,
    first: Annotated[int | None, typer.Option("--first-row", metavar="N", help="First row, from 0.")] = None,
    last: Annotated[int | None, typer.Option("--last-row", metavar="N", help="End before this row.")] = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Cut out a time window, a range of rows, or both."""
    from cachezoo.traces.transforms import cut as run

    check_output([trace], output)
    part = run(read_given_either(trace, fmt, option, columns, ask=not as_json), start, stop, first, last)
    print_values(_write(part, output), as_json, f"cut from {trace.name}")


@app.command("sample", cls=shows("trace sample trace.parquet -o small.parquet --rate 0.01"))
def sample(
    trace: TracePath,
    output: Output,
    rate: Annotated[float | None, typer.Option(metavar="SHARE", help="Share of the blocks to keep.")] = None,
    accesses: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Or halve the rate until at most N accesses are kept.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Choose other blocks.")] = 0,
    block_bytes: Annotated[int, typer.Option(help="Block size, a multiple of 4096.")] = 65_536,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Keep a share of the blocks, chosen by hash (SHARDS).

    Of an object trace it keeps objects. The sample must fit into memory.
    """
    from cachezoo.traces.objects import ObjectTrace
    from cachezoo.traces.read import read_sampled
    from cachezoo.traces.sampling import SAMPLE_BLOCK_BYTES, Plan, SampledTrace, Tally, as_recorded, sample_objects

    if (rate is None) == (accesses is None):
        raise ConfigError("trace sample: give --rate or --accesses, one of them")
    check_output([trace], output)
    try:
        plan = Plan(1.0 if rate is None else rate, accesses, seed, block_bytes)
    except ConfigError as error:
        raise ConfigError(f"{trace}: {error}") from error
    tally = Tally(plan)
    found = read_sampled(given_files([trace], fmt, option, columns, ask=not as_json), plan, tally=tally)
    if isinstance(found, ObjectTrace):
        if block_bytes != SAMPLE_BLOCK_BYTES or rate is None:
            beside = "--accesses" if rate is None else "--block-bytes"
            raise ConfigError(f"{trace}: names objects by keys, which are chosen whole: leave {beside} out")
        assert rate is not None
        part: Either = sample_objects(found, rate, seed)
    else:
        assert isinstance(found, SampledTrace)
        part = as_recorded(found, tally)
    print_values(_write(part, output), as_json, f"sampled from {trace.name}")


@app.command(
    "split",
    cls=shows(
        "trace split trace.parquet -o parts --at 0.5",
        "trace split trace.parquet -o parts --by volume",
    ),
)
def split(
    trace: TracePath,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the parts.")],
    at: Annotated[
        list[float] | None, typer.Option(metavar="SHARE", help="At this fraction of the requests; repeatable.")
    ] = None,
    at_second: Annotated[list[float] | None, typer.Option(metavar="S", help="At this second; repeatable.")] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="By volume, namespace, user, host or source.")
    ] = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Split a trace in time, or by a column."""
    from cachezoo.traces.transforms import split as in_time
    from cachezoo.traces.transforms import split_by

    if sum(bool(choice) for choice in (at, at_second, by)) != 1:
        raise ConfigError("nothing to split by: give --at, --at-second or --by, one of them")
    if not output.is_dir():
        check_output([], output)
    whole = read_given_either(trace, fmt, option, columns, ask=not as_json)
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
    if not hand_out(rows, as_json):
        print_values({row["output"]: f"{row['requests']:,} requests" for row in rows}, False, f"split {trace.name}")


@app.command("merge", cls=shows("trace merge web.parquet mail.parquet -o mixture.parquet"))
def merge(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", parser=located, help="Two or more traces.")],
    output: Output,
    share: Annotated[
        list[float] | None, typer.Option(metavar="X", help="Weight of each trace, in order; repeatable.")
    ] = None,
    turn: Annotated[
        list[str] | None, typer.Option(metavar="NAME[=N|=Ns]", help="Take turns of N requests or N seconds.")
    ] = None,
    periods: Annotated[int, typer.Option(metavar="N", min=1, help="Repetitions of the turns.")] = 1,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Merge traces, concurrently or in turns.

    Without --share, requests keep their times; with it, traces are cut and stretched to end together. NAME is the id
    of `trace info`; the column `source` names each request's trace.
    """
    from cachezoo.traces.mixing import in_turns, interleave, sources

    if share and turn:
        raise ConfigError("give --share or --turn, not both: traces run at the same time or one after the other")
    check_output(traces, output)
    given = [read_given_either(path, fmt, option, columns, ask=not as_json) for path in traces]
    name = NOT_IN_NAMES.sub("_", output.stem)
    if turn:
        mixture = in_turns(given, name, [parse_turn(text) for text in turn], periods)
    else:
        mixture = interleave(given, name, share or None)
    source = sources(mixture)
    counts = {f"requests of {key}": int((source.codes == code).sum()) for code, key in enumerate(source.names)}
    print_values({**_write(mixture, output), **counts}, as_json, f"merged {len(given)} traces")


@app.command("anonymise", cls=shows("trace anonymise trace.parquet -o anonymous.parquet"))
def anonymise(
    trace: TracePath,
    output: Output,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Secret of 16 bytes or more; default random, not kept.")
    ] = None,
    name: Annotated[str, typer.Option("--id", metavar="NAME", help="Name of the new trace.")] = "anonymous",
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Remove names and addresses; caches that ignore both hit as before.

    Volumes, programs, users and hosts get pseudonyms; regions of 1 MiB are reordered. Times, sizes and operations stay:
    docs/anonymise.md says what they reveal.
    """
    from cachezoo.traces.anonymous import REGION_BYTES, anonymous, drawn_key, read_key

    check_output([trace, *([key] if key is not None else [])], output)
    secret = read_key(key) if key is not None else drawn_key()
    found = anonymous(read_given(trace, fmt, option, columns, ask=not as_json, pages=False), secret, name)
    longest = {"groups_moved": found.groups, "longest_group_bytes": found.longest * REGION_BYTES}
    print_values({**_write(found.trace, output), **longest}, as_json, f"anonymised {trace.name}")


@app.command("synth", cls=shows("trace synth trace.parquet -o like.parquet --scale 2"))
def synth(
    output: Output,
    trace: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TRACE]",
            help="Trace to imitate, or tectonic: Meta's clusters as published; default --model.",
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Statistics (JSON): written, or read without TRACE.")
    ] = None,
    requests: Annotated[
        int | None, typer.Option(metavar="N", min=2, max=2**30, help="Default as TRACE; of tectonic 10 million.")
    ] = None,
    duration: Annotated[
        float | None, typer.Option(metavar="S", min=0.0, max=1e9, help="Default as TRACE; of tectonic a week.")
    ] = None,
    scale: Annotated[float, typer.Option(metavar="X", min=1e-3, max=1e3, help="X times the requests and pages.")] = 1.0,
    overwrite: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Space limit (100%: all pages of TRACE): new pages replace the least recently used.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draw another trace.")] = 0,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    as_json: Json = False,
) -> None:
    """Generate a trace with another's statistics, but no addresses, names or times of it."""
    from cachezoo.synth.compare import compare, statistics
    from cachezoo.synth.generate import synthetic
    from cachezoo.synth.model import load_model, save_model
    from cachezoo.synth.overwrite import overwriting
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.store import write_trace

    if trace is not None and str(trace) == TECTONIC and not trace.exists():
        beside = {
            "--model": model is not None, "--overwrite": overwrite is not None, "--scale": scale != 1,
            "--format": fmt != "auto", "--option": bool(option),
        }  # fmt: skip
        return _tectonic(output, requests, duration, seed, [name for name, own in beside.items() if own], as_json)
    if trace is None and model is None:
        raise ConfigError("trace synth: give a trace to be like, or --model of one made before")
    room = None if overwrite is None else Size.parse(overwrite, "--overwrite")
    if room is not None and room.unit == "%" and trace is None:
        raise refused("--overwrite", overwrite or "", "there is no trace to take a part of; give bytes, such as 4GiB")
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
        if room is not None:
            distinct = 1 if original is None else int(original.numbers["distinct pages"])
            drawn = overwriting(drawn, pages, room.pages(distinct))
            pages = expand_pages(drawn)
        write_trace(drawn, output, pages)
        advance(2, "comparing")
        theirs = statistics(drawn, pages)
    rows = compare(original, theirs) if original is not None else []
    values = {
        "output": str(output), "original": None if original is None else original.numbers,
        "synthetic": theirs.numbers, "rows": [dataclasses.asdict(row) for row in rows],
    }  # fmt: skip
    if not hand_out(values, as_json):
        _print(rows or _alone(theirs), str(output), trace.name if trace is not None else None)


def _tectonic(
    output: Path, requests: int | None, duration: float | None, seed: int, beside: list[str], as_json: bool
) -> None:
    """A load like that of Meta's storage clusters; its pages, which are too many, are not numbered.

    Raises:
        ConfigError: an option that is of a trace to be like.
    """
    from cachezoo.synth.tectonic import SECONDS, statistics, tectonic
    from cachezoo.traces.store import write_trace

    if beside:
        raise ConfigError(f"trace synth {TECTONIC}: it is like no trace of yours; leave {beside[0]} out")
    check_output([], output)
    with progress("synthetic trace", 2) as advance:
        drawn = tectonic(10_000_000 if requests is None else requests, seed, SECONDS if duration is None else duration)
        advance(1, "writing")
        write_trace(drawn, output)
        rows = statistics(drawn)
    values = {"output": str(output), "synthetic": True, "rows": [dataclasses.asdict(row) for row in rows]}
    if hand_out(values, as_json):
        return

    def shown(value: float) -> str:
        return human(value) if value > 1 else percent(value)

    cells = ((row.name, shown(row.value), shown(row.published)) for row in rows)
    print_table(text_table(f"{output}, synthetic", ("", "synthetic", "published"), cells, 1))
    print_lines("Published: the median of the seven traces of Wong et al., FAST 2024, or read off its figures.")


def _fitted(path: Path, fmt: str, option: list[str] | None) -> "tuple[Statistics, SynthModel]":
    """A trace's statistics, and the model of it."""
    from cachezoo.synth.compare import statistics
    from cachezoo.synth.fit import fit
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import TraceFiles, read_files

    own = read_files(TraceFiles([path], fmt, options=pairs(option)))
    pages = expand_pages(own)
    found = fit(own, pages)  # refuses a trace too short, before anything is counted
    return statistics(own, pages), found


def _alone(theirs: "Statistics") -> "list[Row]":
    from cachezoo.synth.compare import RATIOS, Row

    kinds = {name: "ratio" if name in RATIOS else "points" for name in theirs.numbers}
    return [Row(name, None, value, None, kinds[name]) for name, value in theirs.numbers.items()]


def _print(rows: "list[Row]", output: str, like: str | None) -> None:
    if like is None:
        print_table(text_table(output, ("", "synthetic"), ((row.name, _value(row, row.synthetic)) for row in rows), 1))
        return
    cells = ((row.name, _value(row, row.original), _value(row, row.synthetic), _error(row)) for row in rows)
    print_table(text_table(f"{output}, like {like}", ("", "original", "synthetic", "error"), cells, 1))
    print_lines(
        "LRU hits: page hit ratio with a cache of so many per cent of each trace's distinct pages, from the first "
        "access on. Sizes and requests over time: the largest difference of the shares (Kolmogorov-Smirnov), and "
        "the share of the requests that lie in another of 100 windows."
    )


def _value(row: "Row", value: float | None) -> str:
    if value is None:
        return ""
    if row.kind == "points":
        return percent(value)
    if row.name in ("bytes", "mean read", "mean write"):
        return human(value)
    return number(value) if value >= WHOLE else number(value, 2).rstrip("0").rstrip(".")


def _error(row: "Row") -> str:
    if row.error is None:
        return NONE
    return points(100 * row.error) if row.kind == "points" else percent(row.error, signed=row.kind == "ratio")

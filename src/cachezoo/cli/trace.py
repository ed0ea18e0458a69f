"""Traces in and out: `cachezoo trace …`."""

import dataclasses
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from cachezoo.cli.common import Group, Json, hand_out, output_option, outputs, print_values, project, refuse_same, shows
from cachezoo.cli.options import pairs
from cachezoo.cli.reading import READER, Columns, FormatName, FormatOptions, given_files, read_given_either
from cachezoo.console import err, out, progress
from cachezoo.errors import ConfigError, InterruptedCaptureError
from cachezoo.remote import located
from cachezoo.show.output import drawn, print_lines, print_table
from cachezoo.show.table import text_table

app = typer.Typer(cls=Group, no_args_is_help=True, help="Read, describe, change and record traces.")

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...", parser=located, help="Files of one trace, in one format.", rich_help_panel=READER
    ),
]
TracePath = Annotated[
    Path, typer.Argument(metavar="TRACE", parser=located, help="Trace of any known format.", rich_help_panel=READER)
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Parquet file to write.")]
SkipBadRows = Annotated[int, typer.Option(metavar="N", min=0, help="Skip up to N bad rows.", rich_help_panel=READER)]
READING = 0.3  # of the work of a report, for the progress bar
CLOCKED = ("span_s", "requests_per_s")
Category = Annotated[str, typer.Option(metavar="NAME", help="Workload category.")]


def check_output(files: list[Path], output: Path) -> None:
    """Refuse an output that would replace what is read, or cannot be written, before anything is read."""
    from cachezoo.io import check_file

    refuse_same(files, output)
    check_file(output)


@app.command(
    "ingest",
    cls=shows(
        "trace ingest a.csv.gz -o trace.parquet",
        "trace ingest any.csv -o any.parquet --columns time=ts:ms,offset=lba:512,size=len,op=rw",
    ),
)
def ingest(
    files: Files,
    output: Output,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    category: Category = "unknown",
    trace_id: Annotated[
        str | None, typer.Option("--id", metavar="NAME", help="Name; default the first file's.")
    ] = None,
    skip_bad_rows: SkipBadRows = 0,
    as_json: Json = False,
) -> None:
    """Convert a trace into canonical Parquet.

    TRACE and FILE may have any known format, and be compressed or on S3. Negative latencies count as unknown.
    """
    from cachezoo.traces.ingest import ingest as run

    check_output(files, output)
    trace = given_files(
        files,
        fmt,
        option,
        columns,
        category=category,
        trace_id=trace_id,
        skip_bad_rows=skip_bad_rows,
        ask=not as_json,
    )
    with progress(f"ingesting {files[0].name}", 1.0) as advance:
        figures = run(trace, output, advance=advance)
    title = f"ingested {files[0].name} as {figures['source_format']}"
    _print_figures({**figures, "output": str(output)}, as_json, title)


def _print_figures(figures: dict[str, Any], as_json: bool, title: str) -> None:
    """A trace's figures, then a line each on what its reader left out, sorted, inferred or joined.

    Warnings stand on standard error already; on a terminal, what was skipped stands out there, too.
    """
    if hand_out(figures, as_json):
        return
    from cachezoo.traces.glance import NO_CLOCK
    from cachezoo.traces.remarks import is_remarked
    from cachezoo.traces.wording import many

    said = {"remarks", "warnings"}
    shown = {key: value for key, value in figures.items() if key not in said and not is_remarked(key)}
    print_values(shown | {key: NO_CLOCK for key in CLOCKED if figures[key] is None}, False, title)
    print_lines(*figures["remarks"])
    if "skipped_rows" in figures:
        count = int(figures["skipped_rows"])
        err().print(f"warning: {many(count, 'bad row')} {'was' if count == 1 else 'were'} skipped")


@app.command("info", cls=shows("trace info trace.parquet"))
def info(
    files: Files,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    skip_bad_rows: SkipBadRows = 0,
    as_json: Json = False,
) -> None:
    """Print a trace's requests, bytes, working set and rates."""
    from cachezoo.traces.ingest import describe_files

    given = given_files(files, fmt, option, columns, skip_bad_rows=skip_bad_rows, ask=not as_json)
    with progress(f"reading {files[0].name}", 1.0) as advance:
        figures = describe_files(given, advance)
    _print_figures(figures, as_json, f"{files[0]}: {figures['source_format']}")


@app.command("report", cls=shows("trace report trace.parquet -o trace.html"))
def report(
    files: Files,
    output: Annotated[list[Path] | None, output_option("The page (.html), or all figures (.json); repeatable.")] = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    skip_bad_rows: SkipBadRows = 0,
    as_json: Json = False,
) -> None:
    """Describe a workload, in sentences or a page of plots.

    The trace must fit into memory.
    """
    from cachezoo.trace_report.reported import reported
    from cachezoo.traces.read import read_either

    wanted = outputs(output, ("page", "json"), files)
    page = wanted.get("page")
    given = given_files(files, fmt, option, columns, skip_bad_rows=skip_bad_rows, ask=not as_json)
    with progress(f"describing {files[0].name}", 1.0) as advance:
        trace = read_either(given, lambda done, note="": advance(READING * done, note or "reading"), replay=True)
        found = reported(trace, lambda done, note="": advance(READING + (1 - READING) * done, note))
    if page is not None:
        from cachezoo.io import atomic_file

        html = found.page()
        with atomic_file(page) as temporary:
            temporary.write_text(html, encoding="utf-8", errors="replace")
    if as_json or "json" in wanted:
        from cachezoo.characteristics.values import json_values

        if hand_out(json_values(found.figures), as_json, wanted):
            return
    table = text_table(f"{found.trace_id}: what it asks of a cache", ("", ""), found.sentences)
    out().print(drawn(table, rules=True))
    if page is not None:
        print_lines(f"page: {page}")


@app.command("add", cls=shows("trace add orders.csv.gz --category orders --role train --part 0 0.5"))
def add(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Trace file.")],
    category: Annotated[str, typer.Option(metavar="NAME", help="Workload category, existing or new.")],
    role: Annotated[str, typer.Option(metavar="train|validation|test", help="Use of the trace.")],
    key: Annotated[str | None, typer.Option(metavar="NAME", help="Name; default CATEGORY_ROLE, numbered.")] = None,
    part: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="FIRST LAST", help="Use this fraction of the trace, e.g. 0 0.5."),
    ] = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    skip_bad_rows: SkipBadRows = 0,
    reference: Annotated[bool, typer.Option("--reference", help="Do not copy the file into the project.")] = False,
    objects: Annotated[
        bool, typer.Option("--objects", help="New category of large objects, for flash caches.")
    ] = False,
    writes: Annotated[bool, typer.Option("--writes", help="New category of overwrites, for SSD streams.")] = False,
    as_json: Json = False,
) -> None:
    """Add a trace to the pipeline.

    Run it in the project's root, then `make repro`. A category needs traces for train, validation and test.
    """
    from cachezoo.config.matrix import NewTrace, add_trace

    root = project()
    given = given_files([file], fmt, option, columns, ask=not as_json)
    taken = {"copy": not reference, "objects": objects, "writes": writes}
    new = NewTrace(file, category, role, key, given.fmt, part, given.options, skip_bad_rows, **taken)
    added = add_trace(root, new)
    if hand_out(dataclasses.asdict(added), as_json):
        return
    print_values({"key": added.key, **added.entry}, False, "added to conf/matrix.yaml")
    print_lines(*added.notes, f"next: {added.next_command}")


@app.command("formats", cls=shows("trace formats a.csv.gz"))
def formats(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A file to recognise.")] = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """List the trace formats, or those that fit a file.

    The first one is used, unless several are about as likely. Unknown delimited text gets a guess at its columns.
    """
    if columns is not None and file is None:
        raise ConfigError("--columns: of which file? name one")
    rows = _readings(file, columns) if file else _all_formats()
    if hand_out(rows, as_json):
        return
    if file is None:
        _print_rows(rows, "trace formats")
        return
    hidden = ("id", "what", "command", "why", "against it")
    shown = [
        {key: f"{value}: {row['why']}" if key == "fit" and row["why"] else value for key, value in row.items()}
        for row in rows
    ]
    shown = [{key: value for key, value in row.items() if key not in hidden} for row in shown]
    _print_rows(shown, f"what {file} could be, by its beginning")
    if rows[0]["fit"] == "unreadable":
        print_lines(f"{file}: {rows[0]['why']}")
    elif rows[0]["fit"] != "taken":
        print_lines("none is taken: say which with --format and --option, or name the columns with --columns")
    print_lines(*(f"{row['command']}: {row['what']}" for row in rows))


def _print_rows(rows: list[dict[str, Any]], title: str) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    print_table(text_table(title, names, ([_cell(row.get(name, "")) for name in names] for row in rows)))


def _all_formats() -> list[dict[str, Any]]:
    from cachezoo.traces.formats import FORMATS

    return [
        {
            "id": entry.id,
            "what": entry.title,
            "keeps": list(entry.keeps),
            "options": list(entry.options.model_fields),
            "written": entry.write is not None or entry.write_objects is not None,
        }
        for entry in FORMATS.values()
    ]


def _readings(file: Path, columns: str | None) -> list[dict[str, Any]]:
    """How a file can be read, the likeliest first."""
    from cachezoo.traces.formats import FORMATS
    from cachezoo.traces.recognise import row_of
    from cachezoo.traces.source import Source
    from cachezoo.traces.standings import standings, standings_by

    return [
        {
            "id": one.candidate.format.id,
            "what": FORMATS[one.candidate.format.id].title,
            "fit": one.fit,
            "why": one.why,
            "command": one.asks,
            **row_of(one.candidate),
        }
        for one in (standings(Source(file)) if columns is None else standings_by(Source(file), columns))
    ]


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return {True: "yes", False: ""}.get(value, str(value)) if isinstance(value, bool) else str(value)


@app.command("convert", cls=shows("trace convert trace.parquet -o trace.csv --to csv"))
def convert(
    trace: TracePath,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.")],
    to: Annotated[str, typer.Option(metavar="ID", help="Output format; see `cachezoo trace formats`.")],
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    write_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Of the output format; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Convert a trace into another format."""
    from cachezoo.traces.formats import write_as

    check_output([trace], output)
    rows = read_given_either(trace, fmt, option, columns, ask=not as_json)
    lost = write_as(rows, output, to, pairs(write_option, "--write-option"))
    value = {"requests": len(rows), "format": to, "output": str(output)}
    print_values(value | {f"lost: {what}": count for what, count in lost.items()}, as_json, f"converted {trace.name}")


@app.command("capture", cls=shows("trace capture --device /dev/sdb --seconds 3600 -o trace.parquet"))
def capture(
    output: Output,
    workload: Annotated[str | None, typer.Argument(hidden=True)] = None,
    recipe: Annotated[str | None, typer.Option(hidden=True)] = None,
    device: Annotated[
        Path | None,
        # Not looked at here: to whoever is not root a disk is not readable, which is not what is wrong.
        typer.Option(metavar="DEV", readable=False, help="Disk or partition."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", min=0.1, help="Duration; Ctrl-C ends it earlier.")
    ] = None,
    category: Category = "unknown",
    as_json: Json = False,
) -> None:
    """Record the block requests of a disk, as root.

    Nothing is written to the disk. The trace contains times, addresses, sizes and program names, but no data.
    """
    if workload is not None or recipe is not None or device is None:
        message = (
            "name the disk to watch with --device; programs are captured by recipes in a clone of the project: "
            "python -m tools.capture RECIPE"
        )
        raise ConfigError(message)
    try:
        _capture_device(device, seconds, output, category, as_json)
    except KeyboardInterrupt as error:  # before the recording, or while it is joined
        from cachezoo.capture.live import NOTHING

        raise InterruptedCaptureError(NOTHING) from error


def _capture_device(device: Path, seconds: float | None, output: Path, category: str, as_json: bool) -> None:
    from cachezoo.capture.live import check_rights, on_device, record_device, watched

    check_rights(device)
    found = watched(device)
    if seconds is None:
        raise ConfigError(f"--device {device}: say with --seconds how long to watch it, such as --seconds 600")
    check_output([], output)
    if on_device(output, found):
        text = f"note: {output} lies on {device} itself, so a few writes of this recording are in it"
        err().print(text, soft_wrap=True, markup=False)
    with progress(f"watching {device}", seconds) as advance:
        report = record_device(device, seconds, output, category, advance)
    if report.lost_events:
        text = f"warning: the kernel lost {report.lost_events:,} events, so some requests are missing"
        err().print(text, soft_wrap=True, markup=False)
    value = dataclasses.asdict(report)
    value |= value.pop("counts")
    print_values(value, as_json, f"recorded {device}")
    _offer(output, as_json)


def _offer(trace: Path, as_json: bool) -> None:
    """Say how a captured trace, which has names of programs and devices, is made fit to be handed on."""
    if not as_json:
        command = shlex.join(["cachezoo", "trace", "anonymise", str(trace), "-o", "anonymous.parquet"])
        print_lines(f"to hand it on, without names and addresses: {command}")

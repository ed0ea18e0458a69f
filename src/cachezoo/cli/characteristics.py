"""What a trace is, as a page: `cachezoo trace report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachezoo.cli.common import Json, hand_out, outputs
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, given_files
from cachezoo.cli.trace import Files, SkipBadRows

if TYPE_CHECKING:
    from cachezoo.characteristics.whole import Characteristics

app = typer.Typer()
READING = 0.3  # of the work, for the progress bar


@app.command("report")
def report(
    files: Files,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page (.html), or all figures (.json); repeatable."),
    ] = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    skip_bad_rows: SkipBadRows = 0,
    as_json: Json = False,
) -> None:
    """Say what a trace asks of a cache: in a page of plots (-o trace.html), and in sentences here.

    How much cache, popularity, reuse, working set, reads and writes, bursts, sizes, addresses, patterns, who, response
    times, and the rows that two papers would give the trace. The trace is read into memory.
    """
    from cachezoo.characteristics.whole import characterise
    from cachezoo.console import progress
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import read_files

    wanted = outputs(output, ("page", "json"), files)
    page = wanted.get("page")
    given = given_files(files, fmt, option, columns, skip_bad_rows=skip_bad_rows, ask=not as_json)
    with progress(f"describing {files[0].name}", 1.0) as advance:
        trace = read_files(given, lambda done, note="": advance(READING * done, note or "reading"))
        found = characterise(
            trace,
            expand_pages(trace),
            advance=lambda done, note="": advance(READING + (1 - READING) * done, note),
        )
    if page is not None:
        from cachezoo.io import atomic_file
        from cachezoo.trace_report.page import trace_page

        html = trace_page(found)
        with atomic_file(page) as temporary:
            temporary.write_text(html, encoding="utf-8", errors="replace")
    if as_json or "json" in wanted:
        from cachezoo.characteristics.values import json_values

        if hand_out(json_values(found), as_json, wanted):
            return
    _print(found, page)


def _print(found: "Characteristics", page: Path | None) -> None:
    """A sentence for each part, and where the page is."""
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out
    from cachezoo.trace_report.sentences import said

    table = Table(
        title=escape(f"{found.summary.trace_id}: what it asks of a cache"), show_header=False, show_lines=True
    )
    for title, sentence in said(found):
        table.add_row(escape(title), escape(sentence))
    out().print(table)
    if page is not None:
        out().print(f"page: {page}", markup=False, highlight=False, soft_wrap=True)

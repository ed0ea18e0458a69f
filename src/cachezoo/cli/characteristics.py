"""What a trace is, as a page: `cachezoo trace report`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachezoo.cli.common import Json
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, given_files
from cachezoo.cli.trace import Files, SkipBadRows, refuse_same
from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from cachezoo.characteristics.characterise import Characteristics

app = typer.Typer()
SUFFIX = ".html"
READING = 0.3  # of the work, for the progress bar


def _page_path(output: Path | None) -> Path | None:
    """Where to write the page; refused before anything is read where it is no HTML, or cannot be written."""
    if output is not None:
        from cachezoo.io import check_file

        if output.suffix != SUFFIX:
            raise ConfigError(f"{output}: a trace's page is HTML; give a name that ends in {SUFFIX}")
        check_file(output)
    return output


@app.command("report")
def report(
    files: Files,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="HTML page to write, one file.")] = None,
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
    from cachezoo.characteristics.characterise import characterise
    from cachezoo.console import progress
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import read_files

    page = _page_path(output)
    if page is not None:
        refuse_same(files, page)
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
    _say(found, page, as_json)


def _say(found: "Characteristics", page: Path | None, as_json: bool) -> None:
    """All figures as JSON; or a table with a sentence for each part, and where the page is."""
    if as_json:
        from cachezoo.characteristics.values import json_values

        typer.echo(json.dumps(json_values(found), allow_nan=False))
        return
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out
    from cachezoo.trace_report.sentences import by_part

    table = Table(
        title=escape(f"{found.summary.trace_id}: what it asks of a cache"), show_header=False, show_lines=True
    )
    for title, sentence in by_part(found):
        table.add_row(escape(title), escape(sentence))
    out().print(table)
    if page is not None:
        out().print(f"page: {page}", markup=False, highlight=False, soft_wrap=True)

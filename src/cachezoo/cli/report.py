"""`cachezoo models report`: where the page is, and whether it shows the figures as they stand."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from cachezoo.cli.common import Json, outputs, project
from cachezoo.errors import CachezooError

app = typer.Typer()
MAKE = ".venv/bin/dvc repro report"


def is_current(root: Path, page: Path) -> bool:
    """Whether a page was made from the metrics, trained models and cards that now lie below a project's root."""
    from cachezoo.report.gather import inputs_digest
    from cachezoo.show.plots import INPUTS

    found = re.search(rf'<meta name="{INPUTS}" content="(\w+)">', page.read_text(encoding="utf-8"))
    return found is not None and found[1] == inputs_digest(root)


@app.command()
def report(
    open_page: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A copy (.html), one file with its plots, the commit and this machine.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say where the report is: what to run for which workload, and whether a model is worth it."""
    from cachezoo import paths
    from cachezoo.console import out
    from cachezoo.show.plots import PAGE

    copy = outputs(output, ("page",)).get("page")
    root = project()
    page = root / paths.REPORT / PAGE
    if not page.is_file():
        raise CachezooError(f"{paths.REPORT / PAGE}: not made yet; run `{MAKE}`, or `make repro` for everything")
    current = is_current(root, page)
    if copy is not None:
        from cachezoo.report.copied import write_copy

        write_copy(root, page, copy)
    copied = None if copy is None else str(copy)
    if as_json:
        found = {"page": str(page), "uri": page.as_uri(), "current": current, "make": MAKE, "copy": copied}
        typer.echo(json.dumps(found))
    else:
        out().print(page.as_uri(), soft_wrap=True, markup=False, highlight=False)
        if not current:
            out().print(f"It is out of date: metrics or models have changed since. Run {MAKE}", markup=False)
        if copy is not None:
            out().print(f"Copied into {copy}", soft_wrap=True, markup=False, highlight=False)
    if open_page:
        typer.launch(page.as_uri())

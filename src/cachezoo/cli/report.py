"""`cachezoo report`: where the page is, and whether it shows the figures as they stand."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from cachezoo.cli.common import Json, project
from cachezoo.errors import CachezooError

app = typer.Typer()
MAKE = ".venv/bin/dvc repro report"


def is_current(root: Path, page: Path) -> bool:
    """Whether a page was made from the metrics, trained models and cards that now lie below a project's root."""
    from cachezoo.plots import INPUTS
    from cachezoo.report.gather import inputs_digest

    found = re.search(rf'<meta name="{INPUTS}" content="(\w+)">', page.read_text(encoding="utf-8"))
    return found is not None and found[1] == inputs_digest(root)


@app.command()
def report(
    open_page: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False, as_json: Json = False
) -> None:
    """Say where the report is: which model to deploy for which workload, and whether it is worth it."""
    from cachezoo import paths
    from cachezoo.console import out
    from cachezoo.plots import PAGE

    root = project()
    page = root / paths.REPORT / PAGE
    if not page.is_file():
        message = f"{paths.REPORT / PAGE}: not made yet; run `{MAKE}`, or `make repro` for everything"
        raise CachezooError(message)
    current = is_current(root, page)
    if as_json:
        typer.echo(json.dumps({"page": str(page), "uri": page.as_uri(), "current": current, "make": MAKE}))
    else:
        out().print(page.as_uri(), soft_wrap=True, markup=False, highlight=False)
        if not current:
            out().print(f"It is out of date: metrics or models have changed since. Run {MAKE}", markup=False)
    if open_page:
        typer.launch(page.as_uri())

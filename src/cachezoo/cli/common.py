"""What the commands share: options, tables, and the working folder."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cachezoo.errors import ConfigError

LONGEST_CELL = 240
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def print_values(value: dict[str, Any], as_json: bool, title: str) -> None:
    """Print a table of two columns, or one line of JSON."""
    if as_json:
        typer.echo(json.dumps(value, allow_nan=False))
        return
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out

    table = Table(title=escape(title), show_header=False)
    for key, item in value.items():
        table.add_row(escape(key), escape(cell(item)))
    out().print(table)


def cell(value: object) -> str:
    """A value as a table shows it: long texts, such as a capture's recipe, cut short."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def project() -> Path:
    """The working folder, if a project lies there."""
    folder = Path.cwd()
    if not (folder / "dvc.yaml").is_file() and not (folder / "conf").is_dir():
        message = f"{folder}: no project here (neither dvc.yaml nor conf/); run this in the project's folder"
        raise ConfigError(message)
    return folder


def png_path(plot: Path | None) -> Path | None:
    """Where to draw; refused before anything runs where it is no PNG, or cannot be written."""
    if plot is not None and plot.suffix != ".png":
        message = f"{plot}: plots are PNG files; give a name that ends in .png"
        raise ConfigError(message)
    if plot is not None:
        from cachezoo.io import check_file

        check_file(plot)
    return plot

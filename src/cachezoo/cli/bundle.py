"""Bundles: `cachezoo bundle …`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cachezoo.cli.common import Group, Json, print_values

app = typer.Typer(cls=Group, no_args_is_help=True, help="Verify and inspect bundles.")
BundlePath = Annotated[Path, typer.Argument(metavar="DIR", help="A bundle's folder or .zip.")]


@app.command("verify")
def bundle_verify(path: BundlePath, as_json: Json = False) -> None:
    """Check every file of a bundle and replay its golden rows."""
    from cachezoo.bundles.verification import verify

    print_values(verify(path), as_json, f"{path}: verified")


@app.command("inspect")
def bundle_inspect(path: BundlePath, as_json: Json = False) -> None:
    """Show what a bundle says of itself."""
    from cachezoo.bundles.inspect import inspect, render
    from cachezoo.console import out

    report = inspect(path)
    if as_json:
        typer.echo(json.dumps(report, allow_nan=False))
    else:
        out().print(render(report))

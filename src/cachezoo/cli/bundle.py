"""Bundles: `cachezoo bundle …`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cachezoo.cli.common import Group, Json, print_values, project

app = typer.Typer(cls=Group, no_args_is_help=True, help="Verify, inspect, sign and release bundles.")
BundlePath = Annotated[Path, typer.Argument(metavar="DIR", help="A bundle's folder or .zip.")]


@app.command("verify")
def bundle_verify(
    path: BundlePath,
    key: Annotated[Path | None, typer.Option("--key", help="Check its signature by this public key (PEM) too.")] = None,
    as_json: Json = False,
) -> None:
    """Check every file of a bundle and recompute its golden rows."""
    from cachezoo.bundles.signature import check
    from cachezoo.bundles.verification import verify

    report = verify(path)
    if key is not None:
        check(path, key)
        report["signed_by"] = str(key)
    print_values(report, as_json, f"{path}: verified")


@app.command("sign")
def bundle_sign(
    path: BundlePath,
    key: Annotated[Path, typer.Option("--key", help="An Ed25519 private key as PEM, without a password.")],
) -> None:
    """Write DIR.sig, the signature of a bundle, beside it."""
    from cachezoo.bundles.signature import sign

    typer.echo(str(sign(path, key)))


@app.command("release")
def bundle_release(
    out_dir: Annotated[Path, typer.Argument(metavar="OUT", help="The folder that the archives are written to.")],
    key: Annotated[Path | None, typer.Option("--key", help="Sign each with this Ed25519 private key (PEM).")] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write the table of all bundles here, as Markdown.")
    ] = None,
) -> None:
    """Pack every bundle of the project as one archive each, with SHA256SUMS."""
    from rich.table import Table

    from cachezoo import paths
    from cachezoo.bundles.release import bundles_below, release, zoo_page
    from cachezoo.console import out
    from cachezoo.io import atomic_file

    found = release(bundles_below(project() / paths.BUNDLES), out_dir, key)
    if page is not None:
        with atomic_file(page) as temporary:
            temporary.write_text(zoo_page(found), encoding="utf-8")
    table = Table("archive", "bytes", "sha256", title=str(out_dir))
    for one in found:
        table.add_row(one.archive.name, f"{one.size:,}", one.sha256)
    out().print(table)


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

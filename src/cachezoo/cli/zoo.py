"""`cachezoo models zoo`, `promote`, `rollback`: which bundles run."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from cachezoo.cli.common import Json, project
from cachezoo.console import plain

app = typer.Typer()
Gain = Annotated[float, typer.Option("--min-gain", help="The 90 % interval of the gain must lie above this.")]
Budget = Annotated[float | None, typer.Option("--budget-us", help="Most microseconds that a decision may take.", min=0)]


@app.command()
def promote(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE", help="The challenger: a bundle's folder or .zip.")],
    min_gain: Gain = 0.0,
    budget_us: Budget = None,
    as_json: Json = False,
) -> None:
    """Let a bundle challenge the champion of its seat on the validation traces; zoo.json says who runs.

    Exit 1 where the champion stays.
    """
    from cachezoo.config.load import load_params
    from cachezoo.tracking.zoo import promote as challenge

    root = project()
    good, why, zoo = challenge(root, load_params(), path, min_gain, budget_us)
    if as_json:
        typer.echo(json.dumps({"champion": good, "why": why, **zoo.model_dump(mode="json")}, allow_nan=False))
    else:
        typer.echo(plain(f"{path}: {'is champion' if good else 'stays challenger'}: {why}"))
    if not good:
        raise typer.Exit(1)


@app.command()
def rollback(
    seat: Annotated[
        str, typer.Argument(metavar="SEAT", help="page/CATEGORY or flash/CATEGORY; all for every category.")
    ],
    as_json: Json = False,
) -> None:
    """Give a seat back to the champion before."""
    from cachezoo.config.load import load_params
    from cachezoo.tracking.zoo import rollback as back

    root = project()
    zoo = back(root, load_params(), seat)
    champion = zoo.seats[seat].champion
    if as_json:
        typer.echo(json.dumps(zoo.model_dump(mode="json"), allow_nan=False))
    elif champion is not None:
        typer.echo(plain(f"{seat}: {champion.id} {champion.version} ({champion.model_digest[:16]}) is champion again"))


@app.command()
def zoo(as_json: Json = False) -> None:
    """Show which bundles run, and every bundle of the project: those that MLflow and docs/zoo.md list."""
    from rich.table import Table

    from cachezoo.console import out
    from cachezoo.tracking.listed import listed
    from cachezoo.tracking.seats import read_zoo

    root = project()
    found, bundles = read_zoo(root), listed(root)
    if as_json:
        rows = [dataclasses.asdict(one) for one in bundles]
        typer.echo(json.dumps({**found.model_dump(mode="json"), "bundles": rows}, allow_nan=False))
        return
    table = Table("seat", "champion", "version", "model digest", "prefetch", "why", title="zoo.json")
    for name, seat in found.seats.items():
        one = seat.champion or seat.challenger
        if one is not None:
            who = one.id if seat.champion else f"nobody ({one.id} challenges)"
            table.add_row(name, who, one.version, one.model_digest[:16], one.prefetch or "-", one.why)
    out().print(table if found.seats else "Nobody runs yet: cachezoo models promote models/bundles/ID.")
    if not bundles:
        out().print("No bundles here: make repro exports them. docs/zoo.md lists those of the release.")
        return
    table = Table("bundle", "version", "seat", "is", "promoted", "headline", title="models/bundles")
    for own in bundles:
        told = "-" if own.headline is None else f"{own.headline[0]} {own.headline[1]:.3f}"
        promoted = "yes" if own.promoted else "no"
        table.add_row(own.id, own.version, own.seat or "-", own.standing or "-", promoted, told)
    out().print(table)

"""`cachezoo models zoo|promote|rollback|report|track`: which bundles run, and the project's pages."""

import dataclasses
import os
import re
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from cachezoo.cli.common import Group, Json, hand_out, output_option, outputs, print_values, project, shows
from cachezoo.console import plain
from cachezoo.errors import CachezooError
from cachezoo.show.formats import NONE, number
from cachezoo.show.output import print_lines, print_table
from cachezoo.show.table import text_table

app = typer.Typer()
track = typer.Typer(cls=Group, no_args_is_help=True, help="Show the pipeline's results in MLflow.")
Gain = Annotated[float, typer.Option("--min-gain", metavar="X", help="Least gain, of its 90 % interval.")]
Budget = Annotated[float | None, typer.Option("--budget-us", metavar="US", help="Longest time of a decision.", min=0)]
MAKE = ".venv/bin/dvc repro report"


@app.command(cls=shows("models promote models/bundles/admission.web.lgbm --budget-us 20"))
def promote(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE", help="Folder or .zip of the challenger.")],
    min_gain: Gain = 0.0,
    budget_us: Budget = None,
    as_json: Json = False,
) -> None:
    """Replace the current champion by a bundle, if that is better.

    Validation traces decide. zoo.json lists the champions. The exit status is 1 if the champion stays.
    """
    from cachezoo.config.load import load_params
    from cachezoo.tracking.zoo import promote as challenge

    root = project()
    good, why, zoo = challenge(root, load_params(), path, min_gain, budget_us)
    if not hand_out({"champion": good, "why": why, **zoo.model_dump(mode="json")}, as_json):
        typer.echo(plain(f"{path}: {'is champion' if good else 'stays challenger'}: {why}"))
    if not good:
        raise typer.Exit(1)


@app.command(cls=shows("models rollback flash/web"))
def rollback(
    seat: Annotated[str, typer.Argument(metavar="SEAT", help="page/CATEGORY or flash/CATEGORY; CATEGORY may be all.")],
    as_json: Json = False,
) -> None:
    """Restore the previous champion."""
    from cachezoo.config.load import load_params
    from cachezoo.tracking.zoo import rollback as back

    root = project()
    zoo = back(root, load_params(), seat)
    champion = zoo.seats[seat].champion
    if not hand_out(zoo.model_dump(mode="json"), as_json) and champion is not None:
        typer.echo(plain(f"{seat}: {champion.id} {champion.version} ({champion.model_digest[:16]}) is champion again"))


@app.command(cls=shows("models zoo"))
def zoo(as_json: Json = False) -> None:
    """List the champions and all bundles."""
    from cachezoo.tracking.seats import read_zoo
    from cachezoo.tracking.zoo import exported

    root = project()
    found, bundles = read_zoo(root), exported(root)
    values = {**found.model_dump(mode="json"), "bundles": [dataclasses.asdict(one) for one in bundles]}
    if hand_out(values, as_json):
        return
    rows = []
    for name, seat in found.seats.items():
        one = seat.champion or seat.challenger
        if one is not None:
            champion = one.id if seat.champion else f"nobody ({one.id} challenges)"
            rows.append((name, champion, one.version, one.model_digest[:16], one.prefetch or NONE, one.why))
    if found.seats:
        print_table(text_table("zoo.json", ("seat", "champion", "version", "model digest", "prefetch", "why"), rows))
    else:
        print_lines("Nobody runs yet: cachezoo models promote models/bundles/ID.")
    if not bundles:
        print_lines("No bundles here: make repro exports them. docs/zoo.md lists those of the release.")
        return
    heads = ("bundle", "version", "seat", "is", "promoted", "headline")
    rows = [
        (
            own.id, own.version, own.seat or NONE, own.standing or NONE, "yes" if own.promoted else "no",
            NONE if own.headline is None else f"{own.headline[0]} {number(own.headline[1], 3)}",
        )
        for own in bundles
    ]  # fmt: skip
    print_table(text_table("models/bundles", heads, rows))


def is_current(root: Path, page: Path) -> bool:
    """Whether a page was made from the metrics, trained models and cards that now lie below a project's root."""
    from cachezoo.report.gather import inputs_digest
    from cachezoo.show.plots import INPUTS

    found = re.search(rf'<meta name="{INPUTS}" content="(\w+)">', page.read_text(encoding="utf-8"))
    return found is not None and found[1] == inputs_digest(root)


@app.command(cls=shows("models report --open"))
def report(
    open_page: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    output: Annotated[list[Path] | None, output_option("Write a copy (.html): one file with all plots.")] = None,
    as_json: Json = False,
) -> None:
    """Show or open the report of the pipeline."""
    from cachezoo import paths
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
    found = {"page": str(page), "uri": page.as_uri(), "current": current, "make": MAKE, "copy": copy and str(copy)}
    if not hand_out(found, as_json):
        print_lines(page.as_uri())
        if not current:
            print_lines(f"It is out of date: metrics or models have changed since. Run {MAKE}")
        if copy is not None:
            print_lines(f"Copied into {copy}")
    if open_page:
        typer.launch(page.as_uri())


@track.command("sync", cls=shows("models track sync"))
def track_sync(as_json: Json = False) -> None:
    """Update MLflow."""
    from cachezoo.tracking.sync import sync

    report = dataclasses.asdict(sync(project()))
    if not as_json:
        aliases = report.pop("aliases").values()
        report = {name: value if isinstance(value, int) else len(value) for name, value in report.items()}
        report |= {f"models with the alias {alias}": n for alias, n in sorted(Counter(filter(None, aliases)).items())}
    print_values(report, as_json, "MLflow runs; --json has their names")


@track.command("ui", cls=shows("models track ui --port 5001"))
def track_ui(
    port: Annotated[int, typer.Option(metavar="N", min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Serve MLflow on this machine until Ctrl-C."""
    from cachezoo.console import err
    from cachezoo.tracking.sync import ui_address, ui_command

    folder = project()
    command = ui_command(folder, port)
    err().print(f"MLflow: {ui_address(folder, port)} (Ctrl-C ends it)", soft_wrap=True)
    os.execvp(command[0], command)

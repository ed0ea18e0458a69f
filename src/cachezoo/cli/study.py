"""`cachezoo study`: settings of a system compared over seeds."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cachezoo.cli.common import Json, project

app = typer.Typer()


@app.command()
def study(
    category: Annotated[list[str] | None, typer.Option(help="Repeat for several; all without it.")] = None,
    system: Annotated[str, typer.Option(help="caching, admission, prefetch or workload.")] = "caching",
    change: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE,VALUE of params.yaml or a group of conf/; repeatable.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Trainings of each setting.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time.")] = 2,
    out: Annotated[Path | None, typer.Option(help="Write the figures to this file as JSON.")] = None,
    track: Annotated[bool, typer.Option("--track", help="Show the study in MLflow too.")] = False,
    as_json: Json = False,
) -> None:
    """Train settings of a system with several seeds and print their spread.

    Only the system's fit and judge run, on what `make repro` made before them. What is done is kept in .cache/study:
    the same command goes on where it was interrupted.
    """
    from cachezoo.io import check_file, write_json
    from cachezoo.study.study import study as run_study
    from cachezoo.study.summary import tables

    root = project()
    if out is not None:
        check_file(out)
    found = run_study(root, system, category or [], change or [], seeds, jobs)
    if out is not None:
        write_json(out, found)
    if track:
        from cachezoo.tracking.study import log_study

        log_study(root, found)
    if as_json:
        typer.echo(json.dumps(found, allow_nan=False))
        return
    from cachezoo.console import out as console

    console().print(*tables(found))

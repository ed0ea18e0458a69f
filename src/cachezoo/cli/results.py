"""`cachezoo results`: the pipeline's figures in the terminal."""

import json
from pathlib import Path
from typing import Annotated

import typer

from cachezoo.cli.common import Json, project

app = typer.Typer()


@app.command()
def results(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Every policy, and why each model.")] = False,
    as_json: Json = False,
) -> None:
    """Print what the pipeline found: for each test trace the best classic, the best promoted model and the optimum."""
    from cachezoo import paths
    from cachezoo.config.load import load_params
    from cachezoo.console import out
    from cachezoo.evaluation import results as found
    from cachezoo.params import categories_of
    from cachezoo.report.gather import gather
    from cachezoo.report.traces import listed_facts
    from cachezoo.report.verdict import page_choice

    params = load_params() if paths.PARAMS.exists() else None
    run = found.read_results(categories_of(params) if params else None)
    if not run:
        project()
    rows, flash, bundles = run.page_rows(), run.flash_rows(), run.bundles()
    if as_json:
        typer.echo(json.dumps(run.as_json(), allow_nan=False))
    elif rows or flash or run.systems:
        chosen = page_choice(gather(Path(), params, listed_facts)) if params else None
        if not verbose:
            from cachezoo.evaluation.summary import lines, summary_table

            out().print(summary_table(lines(run)))
            print_steps(
                found.next_steps(bundles, chosen), "  .venv/bin/cachezoo results -v    every policy, and why each model"
            )
            return
        width = out().width
        tables = [found.results_table(some) for some in found.narrow(rows, width)]
        tables += [found.flash_table(some, run.flash_saved()) for some in found.narrow(flash, width)]
        tables += [found.beside_table(beside)] if (beside := run.beside_rows()) else []
        tables += [found.printed(table, width) for table in run.system_tables()]
        out().print(*tables, found.bundles_table(bundles))
        for text in run.summaries():
            out().print(text, soft_wrap=True, markup=False, highlight=False)
        print_steps(found.next_steps(bundles, chosen))
    else:
        out().print("No results yet: list traces in conf/matrix.yaml (see README), then run `make repro`.")


def print_steps(*steps: str) -> None:
    """Print commands that a reader may want, each in a line that can be copied."""
    from cachezoo.console import out

    for text in steps:
        out().print(text, soft_wrap=True, markup=False, highlight=False)

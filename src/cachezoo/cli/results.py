"""`cachezoo results`: the pipeline's figures in the terminal."""

import json

import typer

from cachezoo.cli.common import Json, project

app = typer.Typer()


@app.command()
def results(as_json: Json = False) -> None:
    """Print what the pipeline found: policies by test traces, the bundles, and what to do with them."""
    from cachezoo import paths
    from cachezoo.config.load import load_params
    from cachezoo.console import out
    from cachezoo.evaluation import results as found
    from cachezoo.params import categories_of

    run = found.read_results(categories_of(load_params()) if paths.PARAMS.exists() else None)
    if not run:
        project()
    rows, flash, bundles = run.page_rows(), run.flash_rows(), run.bundles()
    if as_json:
        typer.echo(json.dumps(run.as_json(), allow_nan=False))
    elif rows or flash or run.systems:
        tables = [found.results_table(rows)] * bool(rows) + [found.flash_table(flash, run.flash_saved())] * bool(flash)
        tables += [found.beside_table(beside)] if (beside := run.beside_rows()) else []
        out().print(*tables, *map(found.printed, run.system_tables()), found.bundles_table(bundles))
        for text in run.summaries():
            out().print(text, soft_wrap=True, markup=False, highlight=False)
        out().print(found.next_steps(bundles), soft_wrap=True, markup=False, highlight=False)
    else:
        out().print("No results yet: list traces in conf/matrix.yaml (see README), then run `make repro`.")

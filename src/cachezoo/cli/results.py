"""`cachezoo models results`: the pipeline's figures in the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachezoo.cli.common import Json, hand_out, output_option, outputs, project, shows

if TYPE_CHECKING:
    from cachezoo.questions.results import Results

app = typer.Typer()


@app.command(cls=shows("models results", "models results -o all.csv"))
def results(
    category: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Repeatable; default all.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every policy, and reasons.")] = False,
    output: Annotated[
        list[Path] | None,
        output_option("Write policies (.csv) or all results (.json); repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the best policies and models of each test trace.

    With --category and in CSV files, results over all categories are absent.
    """
    from cachezoo import paths
    from cachezoo.config.load import load_params
    from cachezoo.console import out
    from cachezoo.params import categories_of
    from cachezoo.questions.results import of_categories, read_results, write_csv
    from cachezoo.report.gather import gather, listed_facts
    from cachezoo.report.verdict import page_choice
    from cachezoo.show.output import print_lines

    files = outputs(output, ("csv", "json"))
    written = ", ".join(map(str, files.values()))
    params = load_params() if paths.PARAMS.exists() else None
    run = read_results([*categories_of(params), *params.data.cycles] if params else None)
    if not run:
        project()
    if category and run:
        run = of_categories(run, category)
    if "csv" in files:
        write_csv(run, files.pop("csv"))
    if hand_out(run.as_json(), as_json, files):
        return
    if run:
        cached = bool(run.page_rows() or run.flash_rows())
        chosen = page_choice(gather(Path(), params, listed_facts)) if params else None
        (_print_summary if cached and not verbose else _print_all)(run, chosen)  # the summary is of caches alone
    else:
        out().print("No results yet: list traces in conf/matrix.yaml (see README), then run `make repro`.")
    if written:
        print_lines(f"written: {written}")


def _print_summary(run: "Results", chosen: str | None) -> None:
    """A line for each test trace."""
    from cachezoo.console import out
    from cachezoo.questions.result_tables import next_steps, summary_table
    from cachezoo.questions.results import lines
    from cachezoo.show.output import print_lines

    out().print(summary_table(lines(run)))
    more = "  .venv/bin/cachezoo models results -v    every policy, and why each model"
    print_lines(next_steps(run.bundles(), chosen), more)


def _print_all(run: "Results", chosen: str | None) -> None:
    """Every policy, the tables of systems, what to buy, and the models."""
    from cachezoo.console import out
    from cachezoo.questions import result_tables as found
    from cachezoo.show.output import drawn, print_lines

    width, bundles = out().width, run.bundles()
    tables = [found.results_table(some) for some in found.narrow(run.page_rows(), width)]
    tables += [found.flash_table(some, run.flash_saved()) for some in found.narrow(run.flash_rows(), width)]
    tables += [found.admissions_table(rows)] if (rows := run.admission_rows()) else []
    tables += [drawn(table, width) for table in run.own_tables()]
    out().print(*tables, found.bundles_table(bundles))
    print_lines(*run.summaries(), found.next_steps(bundles, chosen))

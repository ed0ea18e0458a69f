"""`cachezoo models study`: settings of a system over seeds, compared or searched for, and two studies compared."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from cachezoo.cli.common import (
    INTERRUPT_STATUS,
    Address,
    Engine,
    Group,
    Json,
    PlotFiles,
    engage,
    fail,
    hand_out,
    outputs,
    project,
)  # fmt: skip
from cachezoo.console import out
from cachezoo.errors import ConfigError, interrupts_as_such
from cachezoo.show.output import print_lines

if TYPE_CHECKING:
    from rich.table import Table
    from typer._click import Context

EXAMPLES = """\b
Examples:
  The settings of params.yaml with five seeds, two trainings at a time:
    cachezoo models study --category web
  A grid of four settings, with a plot and a file that `compare` reads:
    cachezoo models study --category web --set fit.caching.max_epochs=3,6 \\
        --set fit.caching.batch=16,32 -o web.png -o web.json
  A search over ranges, whose result seeds that no trial had confirm:
    cachezoo models study --system admission --category web --optimize --trials 20 \\
        --set model.admission.learning_rate=0.01..0.3:log \\
        --set model.admission.num_leaves=15..127

These are 5 trainings, 20, and up to 59. An admission forest of web takes 15 s of one processor to fit and judge, a
caching network minutes. Lines say how many trainings there are, and how long the rest takes.

docs/study.md says what may choose a setting, and what a result is worth.
"""
# Those of the registry that can be studied, which a test holds this to: importing it takes a third of `--help`'s time.
SYSTEMS = ("caching", "reuse", "admission", "streams", "virtual", "workload")
# Options that a search alone has, as typed.
SEARCH_ONLY = {"trials": "--trials", "trial_seeds": "--trial-seeds"}
TRIALS, TRIAL_SEEDS = 20, 2


class Studies(Group):
    """`study` with its own options, or with a command, which has others."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Read the words; before a command's no options are looked for, as what they lack is asked of pydantic."""
        if not args or args[0] not in self.commands:
            return super().parse_args(ctx, args)
        own, self.params = self.params, []
        try:
            return super().parse_args(ctx, args)
        finally:
            self.params = own


app = typer.Typer(cls=Studies, invoke_without_command=True, subcommand_metavar="[compare A.json B.json]")


@app.callback(epilog=EXAMPLES)
def study(
    context: typer.Context,
    category: Annotated[list[str] | None, typer.Option(help="Repeat for several; all without it.")] = None,
    system: Annotated[str, typer.Option(help=f"One of {', '.join(SYSTEMS)}.")] = "caching",
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUES",
            help="VALUE,VALUE for a key of params.yaml or a group of conf/; with --optimize also LOW..HIGH (with "
            "decimal points for fractions) or LOW..HIGH:log. Repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Trainings of each setting.")] = 5,
    optimize: Annotated[bool, typer.Option("--optimize", help="Search with Optuna instead of trying all.")] = False,
    trials: Annotated[int | None, typer.Option(help="Settings that the search tries: 20 without it.")] = None,
    trial_seeds: Annotated[
        int | None, typer.Option(help="Trainings of each trial: 2 without it; the best three get --seeds.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time here; a cluster does all it can.")] = 2,
    engine: Engine = None,
    address: Address = None,
    output: PlotFiles = None,
    track: Annotated[bool, typer.Option("--track", help="Show the study in MLflow too.")] = False,
    as_json: Json = False,
) -> None:
    """Train settings of a system with several seeds and print their spread, or search for a setting.

    Only the system's fit and judge run, on what `make repro` made before them. What is done is kept in .cache/study:
    the same command goes on where it was interrupted.
    """
    if context.invoked_subcommand is not None:
        if context.params:
            raise ConfigError(f"study {context.invoked_subcommand}: takes its options after its name")
        return
    if not optimize and (trials is not None or trial_seeds is not None):
        message = f"{SEARCH_ONLY['trials' if trials is not None else 'trial_seeds']}: is of a search; add --optimize"
        raise ConfigError(message)
    engage(engine, address)
    files = outputs(output, ("plot", "json"))
    asked = (project(), system, category or [], change or [])
    try:
        with interrupts_as_such():
            if optimize:
                from cachezoo.study.optimize import Budget
                from cachezoo.study.optimize import optimize as search

                budget = Budget(
                    TRIALS if trials is None else trials,
                    min(TRIAL_SEEDS, seeds) if trial_seeds is None else trial_seeds,
                    seeds,
                )
                found = search(*asked, budget, jobs)
            else:
                from cachezoo.study.run import study as run_study

                found = run_study(*asked, seeds, jobs)
    except KeyboardInterrupt as error:
        _interrupted(str(error))
    from cachezoo.study.tables import advice, tables

    if "plot" in files:
        from cachezoo.study.plot import draw_study

        draw_study(found, files["plot"])
    if track:
        from cachezoo.tracking.sync import track_study

        track_study(asked[0], found)
    _print(found, tables(found), list(advice(found)), files, as_json)


def _interrupted(done: str) -> NoReturn:
    """Say in one line how to go on."""
    said = f"{done} and kept" if done else "what is done is kept"
    fail(f"interrupted; {said} in .cache/study: the same command goes on from there", INTERRUPT_STATUS)


def _print(
    found: dict[str, Any], tables: "list[Table]", lines: list[str], files: dict[str, Path], as_json: bool
) -> None:
    """Figures as JSON, or tables with lines below them."""
    if not hand_out(found, as_json, files):
        out().print(*tables)
        print_lines(*lines)


@app.command("compare")
def compare(
    first: Annotated[Path, typer.Argument(metavar="A.json", help="A file that `cachezoo models study -o` wrote.")],
    second: Annotated[Path, typer.Argument(metavar="B.json", help="Another one of the same system.")],
    output: PlotFiles = None,
    as_json: Json = False,
) -> None:
    """Compare two studies of a system, setting by setting: which differ, and what the studies were made from.

    Trainings of one seed are compared in pairs. The interval is Student's t at 90 %.
    """
    from cachezoo.study.compare import compare as compared
    from cachezoo.study.compare import lines, tables

    files = outputs(output, ("plot", "json"))
    found = compared(first, second)
    if "plot" in files:
        from cachezoo.study.plot import draw_comparison

        draw_comparison(found, files["plot"])
    _print(found, tables(found), list(lines(found)), files, as_json)

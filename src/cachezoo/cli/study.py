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
    shows,
)  # fmt: skip
from cachezoo.console import out
from cachezoo.errors import ConfigError, interrupts_as_such
from cachezoo.show.output import print_lines

if TYPE_CHECKING:
    from rich.table import Table
    from typer._click import Context

EXAMPLES = """\b
Examples:
  cachezoo models study --category web
  cachezoo models study --category web --set fit.caching.max_epochs=3,6 \\
      --set fit.caching.batch=16,32 -o web.png -o web.json
  cachezoo models study --system admission --category web --optimize --trials 20 \\
      --set model.admission.learning_rate=0.01..0.3:log --set model.admission.num_leaves=15..127
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
    category: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Repeatable; default all.")] = None,
    system: Annotated[str, typer.Option(metavar="SYSTEM", help=f"One of {', '.join(SYSTEMS)}.")] = "caching",
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUES",
            help="VALUE,VALUE of a key in params.yaml or conf/; with --optimize also LOW..HIGH (fractions: 0.1..0.5) "
            "or LOW..HIGH:log; repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", help="Trainings of each setting.")] = 5,
    optimize: Annotated[bool, typer.Option("--optimize", help="Search with Optuna.")] = False,
    trials: Annotated[int | None, typer.Option(metavar="N", help="Settings to try; default 20.")] = None,
    trial_seeds: Annotated[
        int | None, typer.Option(metavar="N", help="Trainings of each trial; default 2; the best three get --seeds.")
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Parallel trainings on this machine.")] = 2,
    engine: Engine = None,
    address: Address = None,
    output: PlotFiles = None,
    track: Annotated[bool, typer.Option("--track", help="Show the study in MLflow.")] = False,
    as_json: Json = False,
) -> None:
    """Compare settings over several seeds, or search for one.

    Run `make repro` first. The same command resumes after an interruption. See docs/study.md.
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


@app.command("compare", cls=shows("models study compare before.json after.json"))
def compare(
    first: Annotated[Path, typer.Argument(metavar="A.json", help="Output of `models study -o`.")],
    second: Annotated[Path, typer.Argument(metavar="B.json", help="Another, of the same system.")],
    output: PlotFiles = None,
    as_json: Json = False,
) -> None:
    """Compare two studies of a system, setting by setting.

    Trainings with equal seeds are paired. The interval is Student's t at 90 %.
    """
    from cachezoo.study.compare import compare as compared
    from cachezoo.study.compare import lines, tables

    files = outputs(output, ("plot", "json"))
    found = compared(first, second)
    if "plot" in files:
        from cachezoo.study.plot import draw_comparison

        draw_comparison(found, files["plot"])
    _print(found, tables(found), list(lines(found)), files, as_json)

"""`cachezoo …`, the command line for people.

Each command has `--json`, but `track ui`, which serves pages. Bad input ends in one clear line.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
import typer.main

from cachezoo import __version__
from cachezoo.cli import (
    bundle,
    curves,
    demo,
    device,
    flash,
    models,
    recommend,
    results,
    serve,
    share,
    simulation,
    size,
    study,
    targets,
    tiers,
    trace,
    transform,
    wear,
)  # fmt: skip
from cachezoo.cli.common import INTERRUPT_STATUS, Group, fail
from cachezoo.cli.reading import show_rows
from cachezoo.errors import CachezooError, interrupts_as_such, os_message
from cachezoo.serve.words import ServeError

if TYPE_CHECKING:
    from typer._click import Command, Context

# The deep answers of recommend, by what its option --only calls them.
ONLY = {
    "ram-ssd": "size", "tiers": "tiers", "flash": "flash", "wear": "wear", "cache-wear": "cache-wear", "share": "share",
}  # fmt: skip
FOR = "--for"
"""What makes `recommend` answer for a system that people run, with options of its own."""
MODELS = {
    "Results": ("results", "report", "zoo", "track"),
    "Deployment": ("promote", "rollback", "bundle"),
    "Hyperparameters": ("study",),
}
ANSWERS = {f"recommend --only {name}": command for name, command in ONLY.items()}
ANSWERS["recommend --for SYSTEM"] = "targets"
"""Answers with options of their own, by what is typed; their commands."""


class Models(Group):
    """What is of models."""

    panels: ClassVar[Mapping[str, Sequence[str]]] = MODELS


class Root(Group):
    """All commands, by the question that they answer, and those of before."""

    panels: ClassVar[Mapping[str, Sequence[str]]] = {
        "Which cache, which size": (
            "recommend", "curve", "compare", "simulate", "sweep", "bounds", "policies",
        ),
        "RAM, SSD and disk": ("recommend --only ram-ssd", "recommend --only tiers", "device"),
        "SSD writes and wear": (
            "recommend --only flash", "recommend --only wear", "recommend --only cache-wear",
        ),
        "Several applications": ("recommend --only share",),
        "Traces": ("trace",),
        "Running a cache": ("demo", "serve", "recommend --for SYSTEM"),
        "Models": ("models",),
    }  # fmt: skip
    named: ClassVar[Mapping[str, str]] = ANSWERS
    moved: ClassVar[Mapping[str, str]] = {command: f"recommend --only {name}" for name, command in ONLY.items()} | {
        name: f"models {name}" for names in MODELS.values() for name in names
    }

    def resolve_command(self, ctx: "Context", args: list[str]) -> "tuple[str | None, Command | None, list[str]]":
        """The command that is meant; of `recommend --only NAME` and `--for NAME` the one that they mean."""
        only = _only(args) if args[0] == "recommend" else None
        if args[0] == "recommend" and any(word.partition("=")[0] == FOR for word in args):
            return "recommend", self.get_command(ctx, "targets"), args[1:]
        if only is None:
            return super().resolve_command(ctx, args)
        name, rest = only
        return f"recommend --only {name}", self.get_command(ctx, ONLY[name]), rest


def _only(args: list[str]) -> tuple[str, list[str]] | None:
    """The deep answer that is asked for, and the other words; None where none is, or one that is not there."""
    for k, word in enumerate(args):
        name, sign, value = word.partition("=")
        if name == "--only":
            chosen, after = (value, k + 1) if sign else ("".join(args[k + 1 : k + 2]), k + 2)
            return (chosen, [*args[1:k], *args[after:]]) if chosen in ONLY else None
    return None


# Help is plain text: rich, which draws it in boxes, is a third of the time that the command line takes to begin.
app = typer.Typer(cls=Root, no_args_is_help=True, rich_markup_mode=None)
zoo = typer.Typer(cls=Models, no_args_is_help=True, help="Show, compare, deploy and tune the trained models.")
trace.app.add_typer(transform.app)
for part in (demo, recommend, simulation, curves, size, tiers, flash, wear, share, targets):
    app.add_typer(part.app)
app.add_typer(serve.app, name="serve")
app.add_typer(zoo, name="models")
app.add_typer(trace.app, name="trace")
app.add_typer(device.app, name="device")
for own in (zoo, app):  # the latter as before, which says the new words
    own.add_typer(results.app)
    own.add_typer(models.app)
    own.add_typer(bundle.app, name="bundle")
    own.add_typer(study.app, name="study")
    own.add_typer(models.track, name="track")


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"cachezoo {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Choose, simulate, run and train storage caches; each command has --help and --json."""


USAGE_STATUS = 2
INTERRUPTED = "interrupted"  # study says itself how to go on: other commands keep nothing


def _run(command: "Command") -> object:
    """The command's status; an interrupt that says itself what it left ends here."""
    try:
        return command.main(prog_name="cachezoo", standalone_mode=False)
    except CachezooError as error:
        if getattr(error, "status", 1) != INTERRUPT_STATUS:
            raise
        fail(str(error), INTERRUPT_STATUS)


def main() -> None:
    """Run the command line; an expected error is one line on standard error.

    The exit status is 1 after an error, 2 after a command line that cannot be understood, 130 after Ctrl-C.
    """
    command = typer.main.get_command(app)
    try:
        with interrupts_as_such():
            status = _run(command)
    except CachezooError as error:
        if error.rows:
            show_rows(error.rows)
        fail(str(error), getattr(error, "status", 1))
    except ServeError as error:
        fail(str(error), 1)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        asked = context.command_path if context else "cachezoo"
        message = error.format_message()
        if context and message == context.get_help():  # a group without a command
            typer.echo(message)
            raise SystemExit(USAGE_STATUS) from error
        fail(f"{message.strip().rstrip('.')}; see {asked} --help", USAGE_STATUS)
    except OSError as error:
        fail(os_message(error), 1)
    except ModuleNotFoundError as error:  # of what a light installation leaves out
        if str(error.name).partition(".")[0] == "cachezoo":
            raise
        fail(
            f"{error.name} is not installed, and this needs it: pip install '.[models]' in the clone, or '.[pipeline]'",
            1,
        )
    except MemoryError:
        fail("there is too little memory for this; give a part of the trace, or run it where there is more", 1)
    except (KeyboardInterrupt, typer.Abort):
        fail(INTERRUPTED, INTERRUPT_STATUS)
    if status == INTERRUPT_STATUS:
        fail(INTERRUPTED, INTERRUPT_STATUS)
    raise SystemExit(status if isinstance(status, int) else 0)

"""`cachezoo …`, the command line for people.

Each command has `--json`, but `track ui`, which serves pages. Bad input ends in one clear line.
"""

from typing import TYPE_CHECKING, Annotated

import typer
import typer.main

from cachezoo import __version__
from cachezoo.cli import (
    bundle,
    characteristics,
    curves,
    device,
    flash,
    recommend,
    report,
    results,
    share,
    simulation,
    size,
    study,
    synth,
    tiers,
    trace,
    track,
    transform,
    wear,
    zoo,
)  # fmt: skip
from cachezoo.cli.common import INTERRUPT_STATUS, Group, fail
from cachezoo.cli.reading import show_rows
from cachezoo.errors import CachezooError, interrupts_as_such, os_message

if TYPE_CHECKING:
    from typer._click import Command

# Help is plain text: rich, which draws it in boxes, is a third of the time that the command line takes to begin.
app = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None)
trace.app.add_typer(transform.app)
trace.app.add_typer(characteristics.app)
trace.app.add_typer(synth.app)
app.add_typer(recommend.app)
app.add_typer(size.app)
app.add_typer(results.app)
app.add_typer(trace.app, name="trace")
app.add_typer(device.app, name="device")
app.add_typer(simulation.app)
app.add_typer(curves.app)
app.add_typer(flash.app)
app.add_typer(wear.app)
app.add_typer(tiers.app)
app.add_typer(share.app)
app.add_typer(report.app)
app.add_typer(bundle.app, name="bundle")
app.add_typer(study.app, name="study")
app.add_typer(track.app, name="track")
app.add_typer(zoo.app)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"cachezoo {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version, and end.")
    ] = False,
) -> None:
    """Training pipeline and model zoo for storage caches."""


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
    except MemoryError:
        fail("there is too little memory for this; give a part of the trace, or run it where there is more", 1)
    except (KeyboardInterrupt, typer.Abort):
        fail(INTERRUPTED, INTERRUPT_STATUS)
    if status == INTERRUPT_STATUS:
        fail(INTERRUPTED, INTERRUPT_STATUS)
    raise SystemExit(status if isinstance(status, int) else 0)

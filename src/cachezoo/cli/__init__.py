"""`cachezoo …`, the command line for people. Each command has `--json`; bad input ends in one clear line."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
import typer.main

from cachezoo.cli import device, report, simulation, trace, transform
from cachezoo.cli.common import Json, print_values, project
from cachezoo.errors import CachezooError, os_message

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Training pipeline and model zoo for storage caches."
)
trace.app.add_typer(transform.app)
app.add_typer(trace.app, name="trace")
app.add_typer(device.app, name="device")
app.add_typer(simulation.app)
app.add_typer(report.app)
bundle_app = typer.Typer(no_args_is_help=True, help="Verify and inspect bundles.")
app.add_typer(bundle_app, name="bundle")
track_app = typer.Typer(no_args_is_help=True, help="MLflow as a view of the stage outputs.")
app.add_typer(track_app, name="track")

BundlePath = Annotated[Path, typer.Argument(metavar="DIR", help="A bundle's folder or .zip.")]
USAGE_STATUS = 2
INTERRUPT_STATUS = 130


@bundle_app.command("verify")
def bundle_verify(path: BundlePath, as_json: Json = False) -> None:
    """Check every file of a bundle and replay its golden rows."""
    from cachezoo.bundles.verify import verify

    print_values(verify(path), as_json, f"{path}: verified")


@bundle_app.command("inspect")
def bundle_inspect(path: BundlePath, as_json: Json = False) -> None:
    """Show what a bundle says of itself."""
    from cachezoo.bundles.inspect import inspect, render
    from cachezoo.console import out

    report = inspect(path)
    if as_json:
        typer.echo(json.dumps(report, allow_nan=False))
    else:
        out().print(render(report))


@track_app.command("sync")
def track_sync(as_json: Json = False) -> None:
    """Bring the project's MLflow up to date with the stage outputs, or build it anew."""
    import dataclasses

    from cachezoo.tracking.sync import sync

    report = dataclasses.asdict(sync(project()))
    print_values(report, as_json, "MLflow runs")


@track_app.command("ui")
def track_ui(port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 5000) -> None:
    """Serve MLflow's pages on 127.0.0.1 until interrupted."""
    from cachezoo.console import err
    from cachezoo.tracking.sync import ui_address, ui_command

    folder = project()
    command = ui_command(folder, port)
    err().print(f"MLflow: {ui_address(folder, port)} (Ctrl-C ends it)", soft_wrap=True)
    os.execvp(command[0], command)


@app.command()
def results(as_json: Json = False) -> None:
    """Print what the pipeline found: policies by test traces, the bundles, and what to do with them."""
    from cachezoo.console import out
    from cachezoo.evaluation import results as found

    files, flash_files = found.metrics_files("*.json"), found.metrics_files("flash/*.json")
    if not files:
        project()
    rows, flash = found.rows_of_tests(files), found.flash_rows(flash_files)
    bundles = found.bundles_of([*files, *flash_files])
    if as_json:
        typer.echo(json.dumps({"rows": rows, "flash": flash, "bundles": bundles}, allow_nan=False))
    elif rows or flash:
        tables = [table(part) for table, part in ((found.results_table, rows), (found.flash_table, flash)) if part]
        out().print(*tables, found.bundles_table(bundles))
        out().print(found.next_steps(bundles), soft_wrap=True, markup=False, highlight=False)
    else:
        out().print("No results yet: list traces in conf/matrix.yaml (see README), then run `make repro`.")


def _fail(message: str, status: int) -> NoReturn:
    sys.stderr.write(f"cachezoo: {' '.join(message.split())}\n")
    raise SystemExit(status)


def main() -> None:
    """Run the command line; an expected error is one line on standard error.

    The exit status is 1 after an error, 2 after a command line that cannot be understood, 130 after Ctrl-C.
    """
    command = typer.main.get_command(app)
    try:
        status = command.main(prog_name="cachezoo", standalone_mode=False)
    except CachezooError as error:
        _fail(str(error), 1)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        asked = context.command_path if context else "cachezoo"
        message = error.format_message()
        if not message.strip():  # a group without a command has printed its help
            raise SystemExit(USAGE_STATUS) from error
        _fail(f"{message.strip().rstrip('.')}; see {asked} --help", USAGE_STATUS)
    except OSError as error:
        _fail(os_message(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPT_STATUS)
    if status == INTERRUPT_STATUS:
        _fail("interrupted", INTERRUPT_STATUS)
    raise SystemExit(status if isinstance(status, int) else 0)

"""MLflow: `cachezoo models track …`."""

import dataclasses
import os
from collections import Counter
from typing import Annotated

import typer

from cachezoo.cli.common import Group, Json, print_values, project

app = typer.Typer(cls=Group, no_args_is_help=True, help="MLflow as a view of the stage outputs.")


@app.command("sync")
def track_sync(as_json: Json = False) -> None:
    """Bring the project's MLflow up to date with the stage outputs, or build it anew."""
    from cachezoo.tracking.sync import sync

    report = dataclasses.asdict(sync(project()))
    if not as_json:
        aliases = report.pop("aliases").values()
        report = {name: value if isinstance(value, int) else len(value) for name, value in report.items()}
        report |= {f"models with the alias {alias}": n for alias, n in sorted(Counter(filter(None, aliases)).items())}
    print_values(report, as_json, "MLflow runs; --json has their names")


@app.command("ui")
def track_ui(port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 5000) -> None:
    """Serve MLflow's pages on this machine until interrupted."""
    from cachezoo.console import err
    from cachezoo.tracking.sync import ui_address, ui_command

    folder = project()
    command = ui_command(folder, port)
    err().print(f"MLflow: {ui_address(folder, port)} (Ctrl-C ends it)", soft_wrap=True)
    os.execvp(command[0], command)

"""What the commands share: options, tables, and the working folder."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_args

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from cachezoo import numerals
from cachezoo.console import complain, drop_lost_output
from cachezoo.errors import ConfigError
from cachezoo.show.formats import NONE, number

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter, Parameter

INTERRUPT_STATUS = 130
LONGEST_CELL = 240
PICTURES = (".png", ".svg")
COMPLETION = ("install_completion", "show_completion")
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


class Group(TyperGroup):
    """A group whose help shows the first paragraph of each command's help whole; typer's cuts it to one line."""

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the list of commands."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [(name, (child.help or "").split("\n\n")[0]) for name, child in commands.items() if child]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """A command; each number that it takes is one of `cachezoo.numerals`."""
        command = super().get_command(ctx, cmd_name)
        for parameter in command.params if command is not None else ():
            if isinstance(parameter, TyperOption | TyperArgument) and "process_value" not in vars(parameter):
                vars(parameter)["process_value"] = partial(_with_plain_numbers, parameter, parameter.process_value)
        return command

    def get_params(self, ctx: "Context") -> "list[Parameter]":
        """The parameters; the options of shell completion are False where they are not given, as `--help` is."""
        params = super().get_params(ctx)
        for parameter in params:
            if parameter.name in COMPLETION:
                parameter.default = False
        return params

    def get_help_option(self, ctx: "Context") -> TyperOption | None:
        """`--help`, which is False where it is not given: of None typer asks pydantic, a long import, what it is."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


def _with_plain_numbers(
    parameter: TyperOption | TyperArgument, own: Callable[["Context", Any], Any], ctx: "Context", value: object
) -> object:
    """The value of a parameter, none of whose numbers is in other digits than ASCII's.

    Raises:
        typer.BadParameter: one is, or the parameter does not take it.
    """
    given = parameter.type_descriptor.annotation
    kinds = {int, float} & {given, *get_args(given)}
    for text in value if isinstance(value, list | tuple) else (value,):
        if kinds and isinstance(text, str) and (numerals.whole if kinds == {int} else numerals.number)(text) is None:
            message = f"{text[:40]!r} is no {'whole number' if kinds == {int} else 'number'}"
            raise typer.BadParameter(message, ctx=ctx, param=parameter)
    return own(ctx, value)


def fail(message: str, status: int) -> NoReturn:
    """End with one line on standard error, and a status."""
    drop_lost_output()
    complain(f"cachezoo: {' '.join(message.split())}")
    raise SystemExit(status)


def print_values(value: dict[str, Any], as_json: bool, title: str) -> None:
    """Print a table of two columns, or one line of JSON."""
    if as_json:
        typer.echo(json.dumps(value, allow_nan=False))
        return
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out

    table = Table(title=escape(title), show_header=False)
    for key, item in value.items():
        table.add_row(escape(key), escape(cell(item)))
    out().print(table)


def cell(value: object) -> str:
    """A value as a table shows it: long texts, such as a capture's recipe, cut short."""
    if value is None:
        return NONE
    if isinstance(value, float):
        return number(value, 0 if abs(value) >= 1000 else 4)
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    text = str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def project() -> Path:
    """The working folder, if a project lies there."""
    folder = Path.cwd()
    if not (folder / "dvc.yaml").is_file() and not (folder / "conf").is_dir():
        raise ConfigError(f"{folder}: no project here (neither dvc.yaml nor conf/); run this in the project's folder")
    return folder


def png_path(plot: Path | None) -> Path | None:
    """Where to draw; refused before anything runs where it is neither PNG nor SVG, or cannot be written."""
    if plot is not None and plot.suffix not in PICTURES:
        raise ConfigError(f"{plot}: plots are PNG or SVG files; give a name that ends in .png or .svg")
    if plot is not None:
        from cachezoo.io import check_file

        check_file(plot)
    return plot

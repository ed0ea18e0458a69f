"""What the commands share: options, tables, and the working folder."""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn, get_args

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from cachezoo import numerals
from cachezoo.cli.options import OLD_OPTIONS
from cachezoo.console import complain, drop_lost_output
from cachezoo.errors import ConfigError
from cachezoo.show.output import print_table, value_text, write_csv
from cachezoo.show.table import text_table

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter, Parameter

INTERRUPT_STATUS = 130
ENDINGS = {
    "plot": (".png", ".svg"), "csv": (".csv",), "json": (".json",), "page": (".html",), "markdown": (".md",),
    "profile": (".yaml", ".yml"),
}  # fmt: skip
OF_THIS_RUN = ("requests_per_s",)  # not in CSV files, which are the same wherever they are made
COMPLETION = {"install_completion": "Install shell completion.", "show_completion": "Print its script."}
EXTRAS = re.compile(r" *\[([^\]]*)\]$")  # what typer writes behind an option's help
TYPES = {"str": "TEXT", "list[str]": "TEXT", "path": "FILE", "Path": "FILE", "list[Path]": "FILE", "int": "N",
         "int range": "N", "float": "X", "float range": "X", "list[float]": "X"}  # fmt: skip
TYPE = re.compile(rf"<({'|'.join(map(re.escape, TYPES))})>")
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def output_option(writes: str) -> Any:  # noqa: ANN401 - typer's option
    """`--output FILE`, which what a name ends with says the kind of."""
    return typer.Option("--output", "-o", metavar="FILE", help=writes)


ENDS = "Write {} or .json; repeatable."
PlotFiles = Annotated[list[Path] | None, output_option(ENDS.format(".png, .svg"))]
TableFiles = Annotated[list[Path] | None, output_option(ENDS.format(".csv"))]
AllFiles = Annotated[list[Path] | None, output_option(ENDS.format(".png, .svg, .csv"))]


Engine = Annotated[str | None, typer.Option("--engine", metavar="local|dask", help="Run here, or on a cluster.")]
Address = Annotated[
    str | None, typer.Option("--address", metavar="tcp://HOST:PORT", help="Scheduler of --engine dask.")
]


def engage(engine: str | None, address: str | None) -> None:
    """Let what follows in this process be done as `--engine` and `--address` say, or else their variables.

    Raises:
        ConfigError: no such engine, one that lacks its address, or an address of none.
    """
    from cachezoo.jobs import ENGINE, SCHEDULER, scheduler

    given = {ENGINE: engine, SCHEDULER: address}
    os.environ.update({name: value for name, value in given.items() if value is not None})
    if scheduler() is None and address is not None:
        raise ConfigError(f"--address {address}: is of a cluster; add --engine dask")


class Documented(TyperCommand):
    """A command whose help ends with examples; types, ranges and `required` are left to its errors.

    The `rich_help_panel` of an option is the command whose help explains it: that of the others names it alone.
    """

    examples: ClassVar[Sequence[str]] = ()  # what follows `cachezoo`

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write arguments and options; that there is `--help` whoever reads it knows."""
        write_options(self.params, ctx, formatter)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the examples, each on a line of its own."""
        super().format_epilog(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for words in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}cachezoo {words}\n")


def shows(*examples: str) -> type[Documented]:
    """The class of a command with these examples, without `cachezoo`, in its help."""
    return type(Documented.__name__, (Documented,), {"examples": examples})


def write_options(parameters: "Sequence[Parameter]", ctx: "Context", formatter: "HelpFormatter") -> None:
    """Write arguments and options, and which of them another command's help explains."""
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    elsewhere = dict[str, list[str]]()
    for parameter in parameters:
        explained = getattr(parameter, "rich_help_panel", None)
        if explained is not None and ctx.command_path.partition(" ")[2] != explained:
            elsewhere.setdefault(explained, []).append(_called(parameter))
        elif record := parameter.get_help_record(ctx):
            title = "Arguments" if parameter.param_type_name == "argument" else "Options"
            sections[title].append(_plain_record(parameter, *record))
    for title, records in sections.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)
    if elsewhere:
        formatter.write_paragraph()
    for command, names in elsewhere.items():
        formatter.write_text(f"As in {command}: {', '.join(names)}.")


def _called(parameter: "Parameter") -> str:
    """An option's first name, or what stands for an argument."""
    return (parameter.param_type_name == "argument" and parameter.metavar) or parameter.opts[0]


def _plain_record(parameter: "Parameter", name: str, text: str) -> tuple[str, str]:
    """Name and help without Python's words: a metavar in place of a type, and of what is in brackets the default."""
    found = EXTRAS.search(text)
    if found:
        kept = [part for part in found[1].split("; ") if part.startswith("default: ") or part == "required"]
        if parameter.param_type_name == "argument":
            kept = []
        text = text[: found.start()] + (f"  [{'; '.join(kept)}]" if kept else "")
    if parameter.param_type_name == "argument":
        return name.partition(" <")[0], text
    return TYPE.sub(lambda own: TYPES[own[1]], name), text


class Group(TyperGroup):
    """A group whose help shows its commands by panels, the first paragraph of each command's help whole."""

    # commands by the title that they are listed below; without it all are, below one
    panels: ClassVar[Mapping[str, Sequence[str]]] = {}
    named: ClassVar[Mapping[str, str]] = {}  # of the panels: what is no command's name, by the command that it means
    moved: ClassVar[Mapping[str, str]] = {}  # words of before, by those that stand for them now

    def list_commands(self, ctx: "Context") -> list[str]:
        """The commands that help shows and a shell completes."""
        listed = [name for names in self.panels.values() for name in names if name not in self.named]
        return listed or super().list_commands(ctx)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the options and the lists of commands."""
        write_options(self.get_params(ctx), ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the lists of commands."""
        for title, names in (self.panels or {"Commands": self.list_commands(ctx)}).items():
            commands = {name: self.get_command(ctx, self.named.get(name, name)) for name in names}
            with formatter.section(title):
                formatter.write_dl([
                    (name, (child.help or "").split("\n\n")[0]) for name, child in commands.items() if child
                ])  # fmt: skip

    def resolve_command(self, ctx: "Context", args: list[str]) -> "tuple[str | None, Command | None, list[str]]":
        """The command that is meant, and what is left; one of before says in a line what it is called now."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.moved:
            name = self.moved[name]
            complain(f"note: {ctx.command_path} {args[0]} is now {ctx.command_path} {name}")
        return name, command, rest

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """A command; its numbers are those of `cachezoo.numerals`, and options of before are those of now."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and "parse_args" not in vars(command):
            vars(command)["parse_args"] = partial(_with_new_words, command, command.parse_args)
        for parameter in command.params if command is not None else ():
            if isinstance(parameter, TyperOption | TyperArgument) and "process_value" not in vars(parameter):
                vars(parameter)["process_value"] = partial(_with_plain_numbers, parameter, parameter.process_value)
        return command

    def get_params(self, ctx: "Context") -> "list[Parameter]":
        """The parameters; the options of shell completion are False where they are not given, as `--help` is."""
        params = super().get_params(ctx)
        for parameter in params:
            if parameter.name in COMPLETION:
                parameter.default, parameter.help = False, COMPLETION[parameter.name]  # type: ignore[attr-defined]
        return params

    def get_help_option(self, ctx: "Context") -> TyperOption | None:
        """`--help`, which is False where it is not given: of None typer asks pydantic, a long import, what it is."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default, option.help = False, "Show this help."
        return option


def _with_new_words(
    command: "Command", own: Callable[["Context", list[str]], list[str]], ctx: "Context", args: list[str]
) -> list[str]:
    """Read a command's words, options of before in the names that they have now, which a line says."""
    has = {name for parameter in command.params for name in parameter.opts}
    words = list[str]()
    for k, word in enumerate(args):
        if word == "--":
            words += args[k:]
            break
        name, sign, value = word.partition("=")
        new = None if name in has else next((now for now in OLD_OPTIONS.get(name, ()) if now in has), None)
        if new is not None:
            complain(f"note: {name} is now {new}")
        words.append(word if new is None else f"{new}{sign}{value}")
    return own(ctx, words)


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
    if not hand_out(value, as_json):
        print_table(text_table(title, ("", ""), ((key, value_text(item, key)) for key, item in value.items())))


def project() -> Path:
    """The working folder, if a project lies there."""
    folder = Path.cwd()
    if not (folder / "dvc.yaml").is_file() and not (folder / "conf").is_dir():
        raise ConfigError(f"{folder}: no project here (neither dvc.yaml nor conf/); run this in the project's folder")
    return folder


def outputs(given: Sequence[Path] | None, kinds: Sequence[str], inputs: Sequence[Path] = ()) -> dict[str, Path]:
    """What to write, by its kind, which its name's end says; refused before anything runs where it cannot be written.

    Args:
        given: of `--output`.
        kinds: keys of `ENDINGS` that the command writes.
        inputs: files that are read, and must not be replaced.

    Raises:
        ConfigError: another ending, two files of one kind, or an input.
        CachezooError: a file that cannot be written.
    """
    from cachezoo.io import check_file

    found = dict[str, Path]()
    for path in given or ():
        refuse_same(inputs, path)
        kind = next((kind for kind in kinds if path.suffix in ENDINGS[kind]), None)
        if kind is None:
            ends = [ending for kind in kinds for ending in ENDINGS[kind]]
            raise ConfigError(f"--output {path}: give a name that ends in {' or '.join(ends)}")
        if kind in found:
            raise ConfigError(f"--output {path}: {found[kind]} is written already; give one of each kind")
        check_file(path)
        found[kind] = path
    return found


def refuse_same(inputs: Sequence[Path], output: Path) -> None:
    """Refuse an output that would replace what is read."""
    for path in inputs:
        if path.exists() and output.exists() and output.samefile(path):
            raise ConfigError(f"{output}: is the raw trace itself and would be replaced; name another output file")


def hand_out(
    value: object, as_json: bool, files: Mapping[str, Path] | None = None, rows: Sequence[Mapping[str, Any]] = ()
) -> bool:
    """Write the figures into the files that are asked for; whether they are printed as JSON, too, and not as a table.

    Args:
        value: all figures, for JSON.
        as_json: of `--json`.
        files: of `outputs`.
        rows: of the table, for CSV.
    """
    for kind, path in (files or {}).items():
        if kind == "json":
            from cachezoo.io import write_json

            write_json(path, value)
        elif kind == "csv":
            write_csv(path, rows, OF_THIS_RUN)
    if as_json:
        typer.echo(json.dumps(value, allow_nan=False))
    return as_json

"""`cachezoo serve`: a cache on an SSD before a disk, as `cachezoo-serve` runs it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from cachezoo.cli.common import Group, Json, shows
from cachezoo.serve.__main__ import (
    BACKGROUND_HELP,
    CHECK_HELP,
    COMMANDS,
    CONFIG_HELP,
    HELP,
    OPTION_HELP,
    START_HELP,
)
from cachezoo.serve.options import OPTIONS

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

START = "start"


def _option(name: str) -> Any:  # noqa: ANN401 - typer's option
    return typer.Option(
        f"--{name}", metavar=OPTIONS[name].metavar, help=OPTIONS[name].help, rich_help_panel=f"serve {START}"
    )


Name = Annotated[str | None, typer.Argument(metavar="NAME", help="Served disk; default the only one.")]


class Serve(Group):
    """`serve DISK` is `serve start DISK`."""

    panels: ClassVar[Mapping[str, Sequence[str]]] = {"Commands": COMMANDS}

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Read the words; those that begin with no command are those of a start."""
        return super().parse_args(ctx, args if args and args[0] in (*self.commands, "--help") else [START, *args])

    def format_usage(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write how a disk is served, and that there are commands."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] [DISK]")
        formatter.write_usage(ctx.command_path, f"{'|'.join(COMMANDS)} [NAME]", prefix="   or: ")

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the arguments and options of a start, then the commands."""
        command = self.get_command(ctx, START)
        assert command is not None
        own = command.context_class(command, ctx, START)
        command.format_options(own, formatter)
        self.format_commands(ctx, formatter)
        command.format_epilog(own, formatter)


app = typer.Typer(cls=Serve, no_args_is_help=False, help=START_HELP)


@app.command(
    START,
    help=START_HELP,
    cls=shows("serve /dev/disk/by-id/ata-DISK --ssd /dev/disk/by-id/nvme-SSD-part4 --size 64G --policy s3fifo"),
)
def start(
    disk: Annotated[str | None, typer.Argument(metavar="DISK", help="Block device or file to cache.")] = None,
    ssd: Annotated[str | None, _option("ssd")] = None,
    size: Annotated[str | None, _option("size")] = None,
    policy: Annotated[str | None, _option("policy")] = None,
    mode: Annotated[str | None, _option("mode")] = None,
    write_rate: Annotated[str | None, _option("write-rate")] = None,
    promise: Annotated[str | None, _option("promise")] = None,
    metrics: Annotated[str | None, _option("metrics")] = None,
    metrics_file: Annotated[str | None, _option("metrics-file")] = None,
    name: Annotated[str | None, _option("name")] = None,
    label: Annotated[str | None, _option("label")] = None,
    format: Annotated[str | None, _option("format")] = None,
    attach: Annotated[str | None, _option("attach")] = None,
    filter: Annotated[str | None, _option("filter")] = None,
    config: Annotated[str | None, typer.Option("--config", metavar="FILE", help=CONFIG_HELP)] = None,
    option: Annotated[list[str] | None, typer.Option("--option", metavar="cz-KEY=VALUE", help=OPTION_HELP)] = None,
    check: Annotated[bool, typer.Option("--check", help=CHECK_HELP)] = False,
    background: Annotated[bool, typer.Option("--background", help=BACKGROUND_HELP)] = False,
    as_json: Json = False,
) -> None:
    """`START_HELP`."""
    from cachezoo.serve import run
    from cachezoo.serve.options import settings

    given = {
        "ssd": ssd, "size": size, "policy": policy, "mode": mode, "write-rate": write_rate, "promise": promise,
        "metrics": metrics, "metrics-file": metrics_file, "name": name, "label": label, "format": format,
        "attach": attach, "filter": filter,
    }  # fmt: skip
    wanted = settings(disk, given, option or [], config)
    if check:
        _say(run.check(wanted), "command", as_json)
        return
    raise typer.Exit(run.start(wanted, as_json, background))


@app.command("status", help=HELP["status"], cls=shows("serve status"))
def status(name: Name = None, as_json: Json = False) -> None:
    """`HELP`."""
    from cachezoo.serve import run

    run.status(name, as_json)


@app.command("stop", help=HELP["stop"], cls=shows("serve stop"))
def stop(name: Name = None, as_json: Json = False) -> None:
    """`HELP`."""
    from cachezoo.serve import run

    _say(run.stop(name), "done", as_json)


@app.command("reload", help=HELP["reload"], cls=shows("serve reload --policy reuse.follow"))
def reload(
    name: Name = None,
    policy: Annotated[str | None, _option("policy")] = None,
    promise: Annotated[str | None, _option("promise")] = None,
    as_json: Json = False,
) -> None:
    """`HELP`."""
    from cachezoo.serve import run

    _say(run.reload(name, policy, promise), "done", as_json)


@app.command("attach", help=HELP["attach"], cls=shows("serve attach --ssd /dev/disk/by-id/nvme-OTHER-part1"))
def attach(
    name: Name = None,
    ssd: Annotated[str | None, _option("ssd")] = None,
    size: Annotated[str | None, _option("size")] = None,
    format: Annotated[str | None, _option("format")] = None,
    label: Annotated[str | None, _option("label")] = None,
    as_json: Json = False,
) -> None:
    """`HELP`."""
    from cachezoo.serve import run

    if ssd is None:
        raise typer.BadParameter("name the new SSD by --ssd")
    _say(run.attach(name, ssd, size, format, label), "done", as_json)


def _say(text: str, key: str, as_json: bool) -> None:
    import json

    from cachezoo.console import plain

    typer.echo(json.dumps({key: text}) if as_json else plain(text))

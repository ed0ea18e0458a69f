"""A cache that people run before a disk, for one trace: `cachezoo recommend --for SYSTEM`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from cachezoo.cli.common import Json, TableFiles, hand_out, outputs, shows
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, read_given
from cachezoo.cli.runs import TracePath
from cachezoo.show.output import print_lines, print_rows

app = typer.Typer()
System = Literal["bcache", "dm-cache", "open-cas", "zfs", "nbdkit"]


@app.command(cls=shows("recommend trace.parquet --for bcache --size 10%"))
def targets(
    trace: TracePath,
    system: Annotated[System, typer.Option("--for", help="System to configure.")],
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Largest SSD: 64GiB, 10% (of distinct pages) or 4096p.")
    ] = None,
    ram: Annotated[str | None, typer.Option(metavar="SIZE", help="RAM of zfs's ARC; default 2%.")] = None,
    modes: Annotated[
        str | None, typer.Option(metavar="MODE,…", help="Allowed modes of the system; default all.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="PROFILE", help="YAML file, or name in conf/device."),
    ] = None,
    disk: Annotated[str, typer.Option(metavar="PATH", help="Disk in the commands.")] = "/dev/disk/by-id/DISK",
    ssd: Annotated[str, typer.Option(metavar="PATH", help="SSD in the commands.")] = "/dev/disk/by-id/SSD",
    name: Annotated[str, typer.Option(help="Pool, volume group or cache in the commands.")] = "cachezoo",
    output: TableFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Configure bcache, dm-cache, Open CAS, ZFS or nbdkit for a trace.

    It prints commands if a cache saves time; defaults stay unless a change surely saves more.
    """
    from cachezoo.console import out, progress
    from cachezoo.devices.built_in import DEFAULT
    from cachezoo.questions.page.recommendation import models_of
    from cachezoo.questions.targets import sentences
    from cachezoo.questions.targets.choice import advise, commands, trials
    from cachezoo.questions.targets.options import TargetOptions, checked
    from cachezoo.questions.targets.registry import TARGETS
    from cachezoo.questions.targets.target import Devices
    from cachezoo.questions.tiers.stream import tier_stream
    from cachezoo.sizes import Size

    files = outputs(output, ("csv", "json"), [trace])
    options = TargetOptions(
        TARGETS[system],
        None if size is None else Size.parse(size),
        None if ram is None else Size.parse(ram, "--ram"),
        () if modes is None else tuple(word.strip() for word in modes.split(",") if word.strip()),
        checked(Devices(disk, ssd, name)),
    )
    models = models_of(device)
    ts = tier_stream(read_given(trace, fmt, option, columns, ask=not as_json, replay=True))
    with progress(f"{options.target.title} on {trace.name}", trials(options)) as advance:
        found = advise(ts, models, options, advance)
    values = {"trace": trace.name, **found.values()}
    if hand_out(values, as_json, files, values["rows"]):
        return
    out().print(sentences.answer(found), style="bold", soft_wrap=True, markup=False)
    rows = sentences.cells(found)
    title = f"{trace.name}: {options.target.title} before a disk"
    print_lines(sentences.times(found))
    print_rows(rows, title, sentences.caption(found, Path(device).stem if device else DEFAULT), sentences.COLUMNS,
               tuple(sentences.COLUMNS), sentences.MEANINGS)  # fmt: skip
    print_lines(*sentences.sureness(found), *filter(None, [sentences.risk(found)]))
    lines = commands(found)
    print_lines(*sentences.before_commands(found))
    print_lines(*(["Commands:", *(f"    {line}" for line in lines)] if lines else []))

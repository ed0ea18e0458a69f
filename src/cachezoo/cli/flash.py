"""Baleen's flash cache for one trace: `cachezoo recommend --only flash`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachezoo.cli.common import AllFiles, Json, hand_out, outputs, shows
from cachezoo.cli.options import in_bytes, names, parts, sizes, write_rates
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, given_files
from cachezoo.cli.runs import Counted, Ignore, Sampled, Speed, TracePath, at_speed, part_of, refuse_of_samples
from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from cachezoo.kernels.segments import Geometry
    from cachezoo.questions.flash.model import FlashModel
    from cachezoo.questions.flash.options import FlashOptions
    from cachezoo.questions.flash.table import FlashTable
    from cachezoo.traces.table import Trace

app = typer.Typer()
SEED = 0
NAMED = 3  # drifted inputs


@app.command(
    cls=shows(
        "recommend --only flash trace.parquet",
        "recommend --only flash trace.parquet --write-rate 10,20MB/s -o flash.png",
    )
)
def flash(
    trace: TracePath,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY,…",
            help="accept_all,coin_flip,rejectx,baleen,opt by default; also bloom_rejectx, rejectx+s3fifo; by_size on "
            "objects.",
        ),
    ] = None,
    bundle: Annotated[
        list[Path] | None,
        typer.Option(metavar="BUNDLE", help="Admission bundle for baleen; repeatable."),
    ] = None,
    write_rate: Annotated[
        str,
        typer.Option(metavar="RATE,…", help="SSD write limit: 10,20MB/s, 500GiB/day, or 25% of accept_all's writes."),
    ] = "25%",
    prefetch: Annotated[
        str | None,
        typer.Option(
            metavar="MODE,…", help="none, all_on_miss, all_on_partial, next(8); default none and those of the bundles."
        ),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(metavar="SIZE,…", help="64GiB, or 10% (of distinct segments); default 10%."),
    ] = None,
    segment: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Unit of caching; default from the bundle or reads.")
    ] = None,
    block: Annotated[str | None, typer.Option(metavar="SIZE", help="Largest prefetch, in whole segments.")] = None,
    counted: Counted = "half",
    speed: Speed = None,
    disk: Annotated[
        str | None,
        typer.Option(metavar="wdredpro2tb|baleen", help="Model (default), or Baleen's constants."),
    ] = None,
    seek_ms: Annotated[
        float | None, typer.Option(metavar="MS", min=0.001, max=1e6, help="Constant seek time. Baleen's is 11.5.")
    ] = None,
    disk_mib_s: Annotated[
        float | None, typer.Option(metavar="X", min=0.001, max=1e9, help="Constant disk bandwidth. Baleen's is 143.")
    ] = None,
    rated_dwpd: Annotated[float, typer.Option(metavar="X", min=0.001, max=1e6, help="Rated drive writes a day.")] = 1.0,
    prices: Annotated[
        str | None,
        typer.Option("--prices", metavar="PRICES", help="YAML file, or name in conf/prices."),
    ] = None,
    most_busy: Annotated[
        float, typer.Option(metavar="SHARE", min=0.01, max=1.0, help="Highest disk use at the peak.")
    ] = 0.7,
    try_it: Annotated[
        bool,
        typer.Option("--try", help="Train a model on the first day; test it on the rest."),
    ] = False,
    ignore: Ignore = None,
    sample: Sampled = "auto",
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Compare admission policies of a flash cache (Baleen's): disk load at an SSD write rate."""
    from cachezoo.cli import objects
    from cachezoo.console import progress
    from cachezoo.contest.counting import Count
    from cachezoo.questions.flash.model import decide, geometry_of, open_bundles
    from cachezoo.questions.flash.options import MODELLED, RIVALS, FlashOptions, disk_given, geometry_by_reads
    from cachezoo.questions.flash.sampled import geometry_of_sample, read_requests
    from cachezoo.questions.flash.sentences import values_of
    from cachezoo.questions.flash.table import flash_tables, runs_of
    from cachezoo.questions.tiers.prices import load_prices
    from cachezoo.traces.objects import ObjectTrace
    from cachezoo.traces.sampling import SampledTrace

    files = outputs(output, ("plot", "csv", "json"), [trace])
    part = part_of(sample)
    given, (cost, behind) = geometry_given(segment, block), disk_given(disk, seek_ms, disk_mib_s)
    if try_it:
        refuse_beside_try(
            {"--policy": policy is not None, "--bundle": bool(bundle), "--prefetch": prefetch is not None,
             "--output with a plot": "plot" in files}
        )  # fmt: skip
    options = FlashOptions(
        sizes=sizes(size, "10%"), rates=write_rates(write_rate), policies=policies_of(policy, bool(bundle)),
        rivals=RIVALS if policy is None else (), prefetch=modes_of(prefetch), cost=cost, disk=behind,
        count=Count(counted), rated_dwpd=rated_dwpd, prices=load_prices(prices), most_busy=most_busy,
    )  # fmt: skip
    opened = open_bundles(bundle or [])
    geometry = geometry_of(opened, given)
    own = read_requests(given_files([trace], fmt, option, columns, ask=not as_json), part, geometry)
    if isinstance(own, ObjectTrace):
        objects.refuse_of_pages(
            {"--bundle": bool(bundle), "--prefetch": prefetch is not None, "--segment": segment is not None,
             "--block": block is not None, "--disk": behind == disk == MODELLED,
             "--count": counted != "half", "--speed": speed is not None, "--try": try_it,
             "--sample": not isinstance(part, str)}
        )  # fmt: skip
        asked = objects.Asked(own, trace.name, objects.rules_of(ignore))
        return objects.flash(asked, options, policy is not None, files, as_json)
    objects.refuse_of_objects(ignore)
    refuse_unbundled(options, bool(bundle))
    if isinstance(own, SampledTrace):
        refuse_of_samples(of_whole(options, bool(bundle), try_it) | {"--speed": speed is not None})
        models, geometry = [], geometry_of_sample(own)
    else:
        own = at_speed(own, speed)
        geometry = geometry or geometry_by_reads(own)
        if try_it:
            return _try(trace.name, own, geometry, options, files, as_json)
        models = [decide(one, own) for one in opened]
    with progress(f"flash cache on {trace.name}", runs_of(own, models, options)) as advance:
        found = flash_tables(own, geometry, models, options, SEED, advance)
    if "plot" in files:
        from cachezoo.questions.flash.plot import draw_flash

        draw_flash(found, trace.name, files["plot"])
    values = values_of(trace.name, found, models)
    if hand_out(values, as_json, files, values["rows"]):
        return
    _print(trace.name, found, options)
    for model in models:
        warn_of_drift(model)


def of_whole(options: "FlashOptions", bundles: bool, try_it: bool) -> dict[str, bool]:
    """Which options that need all requests were given: what models see, and some counts, are by their number."""
    count = options.count.text
    return {"--bundle": bundles, "--try": try_it, f"--count {count}": count.isdecimal()}


def refuse_beside_try(given: Mapping[str, bool]) -> None:
    """Refuse what `--try` decides itself.

    Args:
        given: whether each option was.

    Raises:
        ConfigError: one was.
    """
    for option, is_given in given.items():
        if is_given:
            raise ConfigError(f"{option}: --try trains and chooses by itself; leave one of the two out")


def _try(
    name: str, trace: "Trace", geometry: "Geometry", options: "FlashOptions", files: Mapping[str, Path], as_json: bool
) -> None:
    """`--try`: the answer, the rows, and what was trained on what."""
    from cachezoo.console import out, progress
    from cachezoo.questions.flash.fitness import COLUMNS, cells, steps_of, try_model
    from cachezoo.show.output import print_rows

    cases = len(options.sizes) * len(options.rates)
    with progress(f"training on the first day of {name}", cases * steps_of()) as advance:
        found = try_model(trace, geometry, options, advance=advance)
    values = found.values(name)
    rows = [row for one in values["trials"] for row in one["rows"]]
    if hand_out(values, as_json, files, rows):
        return
    for line in found.answers():
        out().print(line, markup=False)
    columns = [*(["cache", "may write"] if cases > 1 else []), *COLUMNS]
    print_rows([cells(row) for row in rows], f"{name}, after its first day", "", columns, columns)
    for line in found.notes():
        out().print(line, markup=False)


def policies_of(text: str | None, bundles: bool) -> list[str]:
    """The policies as given, each once, a bundle's always; an unknown one is refused before anything is read.

    Raises:
        ConfigError: unknown.
    """
    from cachezoo.questions.flash.options import BALEEN, MORE, POLICIES
    from cachezoo.questions.objects.flash import BY_SIZE

    if text is None:
        return [name for name in POLICIES if bundles or name != BALEEN]
    known = (*POLICIES, *MORE, BY_SIZE)
    return names(text, "--policy", known, f"the flash cache has {', '.join(known)}; page caches are compare's")


def refuse_unbundled(options: "FlashOptions", bundles: bool) -> None:
    """Refuse on addresses what is of objects alone: an admission by size, and a model that is trained as it runs.

    Raises:
        ConfigError: by_size, or baleen without a bundle.
    """
    from cachezoo.questions.flash.options import BALEEN
    from cachezoo.questions.objects.flash import BY_SIZE

    if BY_SIZE in options.policies:
        raise ConfigError(f"--policy {BY_SIZE}: objects have sizes, and this trace has addresses; leave it out")
    if BALEEN in options.policies and not bundles:
        fix = "name its bundle, --bundle models/bundles/admission.CATEGORY.lgbm"
        raise ConfigError(f"--policy baleen: that is a trained model; {fix}")


def modes_of(text: str | None) -> list[str] | None:
    """Prefetch modes as given, each once.

    Raises:
        ConfigError: no mode.
    """
    from cachezoo.flash_cache.modes import ALL, is_mode

    if text is None:
        return None
    modes = parts(text)
    return names(text, "--prefetch", [mode for mode in modes if is_mode(mode)], f"use {ALL}, such as next(8)")


def geometry_given(segment: str | None, block: str | None) -> "Geometry | None":
    """Segments and blocks as given; both or none.

    Raises:
        ConfigError: one without the other, no size in bytes, or a block that is not a whole number of segments.
    """
    from cachezoo.kernels.segments import Geometry

    if segment is None and block is None:
        return None
    if segment is None or block is None:
        raise ConfigError("--segment and --block: give both, such as --segment 4KiB --block 256KiB, or neither")
    return Geometry(in_bytes(block, "--block", example="256KiB"), in_bytes(segment, "--segment", example="4KiB"))


def _print(name: str, tables: "Sequence[FlashTable]", options: "FlashOptions") -> None:
    """The answer, the table, and how it was counted."""
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out
    from cachezoo.questions.flash.sentences import answers, cells, heads_of, notes, title_of

    for line in answers(tables, options):
        out().print(line, markup=False)
    table = Table(title=escape(title_of(name, tables)))
    for head, of_words in heads_of(tables).items():
        table.add_column(head, justify="left" if of_words else "right", overflow="fold")
    kind = ""
    for row in (row for found in tables for row in found.rows):
        if kind and row.kind != kind:
            table.add_section()
        kind = row.kind
        table.add_row(*map(escape, cells(row, tables)))
    out().print(table)
    for line in notes(tables, options):
        out().print(line, markup=False)


def warn_of_drift(model: "FlashModel") -> None:
    """One line where the trace is unlike what the bundle learned from."""
    from cachezoo.console import err

    if model.drifted:
        named = ", ".join(model.drifted[:NAMED]) + (" …" if len(model.drifted) > NAMED else "")
        text = f"warning: this trace is unlike what {model.name} learned from: {len(model.drifted)} of "
        text += f"{model.inputs} inputs have drifted ({named}); see bundle drift, or train on traces like it"
        err().print(text, markup=False, soft_wrap=True)

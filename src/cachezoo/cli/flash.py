"""Baleen's flash cache for one trace: `cachezoo recommend --only flash`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cachezoo.cli.common import AllFiles, Json, hand_out, outputs
from cachezoo.cli.options import in_bytes, names, parts, write_rates
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, given_files
from cachezoo.cli.runs import Counted, Ignore, Speed, at_speed
from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from cachezoo.kernels.segments import Geometry
    from cachezoo.metrics.flash import RateRow
    from cachezoo.questions.flash.model import FlashBundles, FlashModel
    from cachezoo.questions.flash.options import FlashOptions
    from cachezoo.questions.flash.table import FlashTable
    from cachezoo.traces.table import Trace

app = typer.Typer()
SEED = 0
NAMED = 3  # drifted inputs


@app.command()
def flash(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A canonical Parquet file, or a raw trace.")],
    policy: Annotated[
        str | None,
        typer.Option(
            help="Of accept_all, coin_flip, rejectx, baleen, opt (these by default), bloom_rejectx, rejectx+s3fifo and "
            "the like; by_size on objects; with commas."
        ),
    ] = None,
    bundle: Annotated[
        list[Path] | None,
        typer.Option(help="An admission bundle, or a prefetch bundle beside its admission; repeatable: policy baleen."),
    ] = None,
    write_rate: Annotated[
        str,
        typer.Option(
            help="What the SSD may be written at most: 10,20,30MB/s, 500GiB/day, or 25% of accept_all's writes."
        ),
    ] = "25%",
    prefetch: Annotated[
        str | None,
        typer.Option(
            help="Modes with commas: none, all_on_miss, all_on_partial, next(8), ml_range, ml_range_when. "
            "Default none, and what the bundles name."
        ),
    ] = None,
    size: Annotated[str, typer.Option(help="Of the cache: 64GiB, or 10% of the trace's distinct segments.")] = "10%",
    segment: Annotated[
        str | None, typer.Option(help="What is cached at a time, such as 4KiB. Default: the bundle's, or by the reads.")
    ] = None,
    block: Annotated[
        str | None, typer.Option(help="What is prefetched at most, such as 256KiB; whole segments.")
    ] = None,
    counted: Counted = "half",
    speed: Speed = None,
    seek_ms: Annotated[float, typer.Option(min=0.001, max=1e6, help="Of a disk's I/O.")] = 11.5,
    disk_mib_s: Annotated[float, typer.Option(min=0.001, max=1e9, help="MiB a second that a disk transfers.")] = 143.0,
    rated_dwpd: Annotated[
        float, typer.Option(min=0.001, max=1e6, help="Drive writes a day that the SSD is rated for over five years.")
    ] = 1.0,
    ignore: Ignore = None,
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Run Baleen's flash cache before hard disks: how busy the disks are at each write rate of the SSD, by policy."""
    from cachezoo.cli import objects
    from cachezoo.console import progress
    from cachezoo.contest.counting import Count
    from cachezoo.kernels.flash import DiskHead
    from cachezoo.questions.flash.model import geometry_of, open_bundles
    from cachezoo.questions.flash.options import FlashOptions, flash_problem_of, geometry_by_reads
    from cachezoo.questions.flash.table import cases_of, flash_table
    from cachezoo.sizes import Size
    from cachezoo.traces.objects import ObjectTrace
    from cachezoo.traces.read import read_either

    files = outputs(output, ("plot", "csv", "json"), [trace])
    given = geometry_given(segment, block)
    options = FlashOptions(
        capacity=Size.parse(size), rates=write_rates(write_rate), policies=policies_of(policy, bool(bundle)),
        prefetch=modes_of(prefetch), cost=DiskHead(seek_ms, disk_mib_s), count=Count(counted), rated_dwpd=rated_dwpd,
    )  # fmt: skip
    opened = open_bundles(bundle or [])
    geometry = geometry_of(opened, given)
    refuse_learned(options, any(own.prefetch is not None for own in opened))
    own = read_either(given_files([trace], fmt, option, columns, ask=not as_json), pages=False)
    if isinstance(own, ObjectTrace):
        objects.refuse_of_pages(
            {"--bundle": bool(bundle), "--prefetch": prefetch is not None, "--segment": segment is not None,
             "--block": block is not None, "--count": counted != "half", "--speed": speed is not None}
        )  # fmt: skip
        asked = objects.Asked(own, trace.name, objects.rules_of(ignore))
        return objects.flash(asked, options, policy is not None, files, as_json)
    objects.refuse_of_objects(ignore)
    refuse_unbundled(options, bool(bundle))
    own = at_speed(own, speed)
    problem = flash_problem_of(own, geometry or geometry_by_reads(own), options)
    models = [decided(one, own, options) for one in opened]
    with progress(f"flash cache on {trace.name}", len(cases_of(options, models))) as advance:
        found = flash_table(own, problem, models, options, SEED, advance)
    if "plot" in files:
        from cachezoo.questions.flash.table import draw_flash

        draw_flash(found, trace.name, files["plot"])
    values = values_of(trace.name, own, found, models)
    if hand_out(values, as_json, files, values["rows"]):
        return
    _print(trace.name, found, options)
    for model in models:
        warn_of_drift(model)


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


def refuse_learned(options: "FlashOptions", ranged: bool) -> None:
    """A learned mode needs a prefetch bundle; without other modes the policies without a model have none to run in."""
    from cachezoo.flash_cache.modes import ML_MODES

    learned = [mode for mode in options.prefetch or () if mode in ML_MODES]
    if learned and not ranged:
        raise ConfigError(f"--prefetch {learned[0]}: it asks a prefetch model; give --bundle of one too, or next(8)")


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


def decided(bundles: "FlashBundles", trace: "Trace", options: "FlashOptions") -> "FlashModel":
    """What an opened bundle decides on a trace, in the modes that are requested."""
    from cachezoo.flash_cache.modes import ML_MODES
    from cachezoo.questions.flash.model import decide

    return decide(bundles, trace, [mode for mode in options.prefetch or () if mode in ML_MODES])


def values_of(name: str, trace: "Trace", found: "FlashTable", models: Sequence["FlashModel"]) -> dict[str, Any]:
    """What `--json` prints."""
    windows, geometry = found.windows, found.geometry
    return {
        "trace": name,
        "trace_id": trace.meta.trace_id,
        "requests": found.requests,
        "warmup_requests": windows.first,
        "seconds": found.seconds,
        "clock": found.clock,
        "time_scale": found.scale,
        "windows": {"count": windows.count, "seconds": windows.seconds},
        "segment_bytes": geometry.segment_bytes,
        "block_bytes": geometry.block_bytes,
        "capacity_segments": found.capacity,
        "capacity_bytes": found.capacity * geometry.segment_bytes,
        "write_disks_busy": found.write_disks_busy,
        "rows": [row.values() for row in found.rows],
        "leads": [lead.values() for lead in found.leads],
        "bundles": [{"id": own.name, "inputs": own.inputs, "drifted": own.drifted} for own in models],
    }


def _print(name: str, found: "FlashTable", options: "FlashOptions") -> None:
    """The table, what it says, and how it was counted."""
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out
    from cachezoo.sizes import human

    cache = human(found.capacity * found.geometry.segment_bytes)
    table = Table(title=escape(f"{name}: a flash cache of {cache} before hard disks"))
    lived = any(row.lifetime_years is not None for row in found.rows)
    busy = ["disks busy", "at peak"] if found.clock else ["disk ms a read"]
    heads = ["policy", "prefetch", "may write", "writes", *busy, "reads hit"]
    for head in [*heads, *(["a day", "SSD lives"] if lived else [])]:
        table.add_column(head, justify="left" if head in heads[:3] else "right", overflow="fold")
    kind = ""
    for row in found.rows:
        if kind and row.kind != kind:
            table.add_section()
        kind = row.kind
        table.add_row(*map(escape, _cells(row, lived)))
    out().print(table)
    for line in (*leads_of(found), *shipped_of(found), *_notes(found, options)):
        out().print(line, markup=False)


def _cells(row: "RateRow", lived: bool) -> list[str]:
    from cachezoo.questions.flash.bench import MODEL
    from cachezoo.show.formats import NONE, lifetime, number, percent
    from cachezoo.sizes import human

    limit = row.asked or ("as shipped" if row.kind == MODEL else "no limit")
    below = "" if row.reached in (None, True) else " *" if row.more_helps else " +"
    cells = [row.policy, row.prefetch, limit, _written(row.written_bytes_s, row.written_share) + below]
    if row.disks_busy is None or row.disks_busy_peak is None:
        cells.append(f"{row.disk_ms_per_read:.3f}")
    else:
        cells += [number(row.disks_busy, 3), number(row.disks_busy_peak, 2)]
    cells.append(percent(row.io_hit_ratio))
    if lived:
        day, years = row.ssd_bytes_a_day, row.lifetime_years
        cells += [NONE if day is None else human(day), NONE if years is None else lifetime(years)]
    return cells


def _written(bytes_s: float | None, share: float) -> str:
    """What is written: by the second where there is a clock, else as a share of what accept_all writes."""
    from cachezoo.show.formats import percent, rate

    return percent(share) if bytes_s is None else rate(bytes_s)


def leads_of(found: "FlashTable") -> list[str]:
    """A sentence a rate: the best policy without a model, and what the best bundle saves against it."""
    from cachezoo.contest.verdict import Verdict
    from cachezoo.show.formats import percent, span

    lines = []
    for lead in found.leads:
        rival, model, saved = lead.rival, lead.model, lead.saved
        wrote = _written(rival.written_bytes_s, rival.written_share)
        text = (
            f"At {lead.asked}: of the policies without a model {rival.policy}{_with(rival)} keeps the disks least busy"
        )
        text += "" if lead.more_helps else f"; more writes do not help it beyond {wrote}"
        if model is not None and saved is not None:
            text += f"; {model.policy}{_with(model)} {'saves' if saved.value > 0 else 'costs'} "
            text += f"{percent(abs(saved.value))} of that time (90 % interval {span(saved.ends, 1)} saved) within the "
            text += f"same limit, writing {_written(model.written_bytes_s, model.written_share)} against {wrote}"
            text += "" if lead.verdict in (Verdict.BETTER, Verdict.WORSE) else f": {lead.verdict}"
        lines.append(text + ".")
    return lines


def _with(row: "RateRow") -> str:
    from cachezoo.flash_cache.modes import NONE

    return f" with prefetch {row.prefetch}" if row.prefetch != NONE else ""


def shipped_of(found: "FlashTable") -> list[str]:
    """A sentence a bundle: what it does with the threshold and the prefetch mode that a cache runs it with.

    A bundle's modes are in its rows as shipped; the one that prefetches is what a runtime takes.
    """
    from cachezoo.flash_cache.modes import NONE
    from cachezoo.questions.flash.bench import MODEL

    lines = []
    shipped = [row for row in found.rows if row.kind == MODEL and row.asked is None]
    for name in dict.fromkeys(row.policy for row in shipped):
        own = [row for row in shipped if row.policy == name]
        row = next((row for row in own if row.prefetch != NONE), own[0])
        cost = f"costs {row.disk_ms_per_read:.3f} disk ms a read"
        cost = cost if row.disks_busy is None else f"keeps {row.disks_busy:.3f} disks busy"
        wrote = _written(row.written_bytes_s, row.written_share)
        lines.append(f"As a cache would run it, as shipped{_with(row)}: {name} {cost}, writing {wrote}.")
    return lines


def _notes(found: "FlashTable", options: "FlashOptions") -> list[str]:
    from cachezoo.questions.flash.bench import ORACLE
    from cachezoo.sizes import human

    geometry, windows = found.geometry, found.windows
    busy = (
        "disk ms a read: milliseconds of seek and transfer that reads which miss take, over all reads. The trace has "
        "no clock (its times are row numbers, or all equal): nothing is said by the second or the day."
    )
    if found.write_disks_busy is not None:
        busy = (
            "disks busy: disks that reads which miss keep busy all the time (seek and transfer), mean and peak of "
            f"{windows.count} windows of {windows.seconds:,.3g} s; the trace's writes keep "
            f"{found.write_disks_busy:.3f} more busy whatever is cached."
        )
    lines = [
        busy,
        f"Counted after {windows.first:,} of {found.requests:,} requests, SSD writes from the first on; cached in "
        f"segments of {human(geometry.segment_bytes)}, prefetched within blocks of {human(geometry.block_bytes)}; "
        "each policy's setting is the best on this very trace that keeps the limit, of those set to the limit and to "
        "halves of it until that no longer helps.",
    ]
    if any(row.kind == ORACLE for row in found.rows):
        lines.append("opt knows the future: Baleen's oracle, an estimate of what is within reach, and no strict bound.")
    below = [row for row in found.rows if row.reached is False]
    if any(not row.more_helps for row in below):
        lines.append("+: writes less than it may; settings that write more keep the disks no less busy.")
    if any(row.more_helps for row in below):
        lines.append("*: writes less than it may; of those tried no setting within the limit writes more.")
    days = windows.days
    if any(row.lifetime_years is not None for row in found.rows):
        much = "" if days >= 1 else f"; extrapolated from {24 * days:.1f} h"
        lines.append(f"SSD lives: of one rated for {options.rated_dwpd:g} drive writes a day over five years{much}.")
    if found.scale != 1 and found.clock:
        lines.append(
            f"Rates are of the trace's clock; one second of it stands for {found.scale:g} s of a recorded day."
        )
    return lines


def warn_of_drift(model: "FlashModel") -> None:
    """One line where the trace is unlike what the bundle learned from."""
    from cachezoo.console import err

    if model.drifted:
        named = ", ".join(model.drifted[:NAMED]) + (" …" if len(model.drifted) > NAMED else "")
        text = f"warning: this trace is unlike what {model.name} learned from: {len(model.drifted)} of "
        text += f"{model.inputs} inputs have drifted ({named}); see bundle drift, or train on traces like it"
        err().print(text, markup=False, soft_wrap=True)

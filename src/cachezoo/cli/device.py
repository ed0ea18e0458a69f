"""Devices: `cachezoo device …`."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cachezoo.cli import calibrate
from cachezoo.cli.common import Group, Json, PlotFiles, cell, hand_out, outputs, print_values, refuse_same
from cachezoo.cli.options import device_bytes
from cachezoo.console import progress
from cachezoo.errors import ConfigError

app = typer.Typer(cls=Group, no_args_is_help=True, help="Disks and SSDs: models, response times under load, replays.")
app.add_typer(calibrate.app)

PROFILE_HELP = "A device profile's YAML file, or its name in conf/device."
MS = 1000.0
PLOT_STEPS = 1
HEADS = {f"{name}_us": f"{name}, µs" for name in ("mean", "p50", "p90", "p99", "max")}
HEADS |= {"iops": "IOPS", "mb_s": "MB/s", "duration_s": "duration, s"}


@app.command("profile")
def profile(
    given: Annotated[str, typer.Argument(metavar="PROFILE", help=PROFILE_HELP)],
    output: PlotFiles = None,
    as_json: Json = False,
) -> None:
    """Show what a profile's models say: response times by size and distance, random and sequential throughput.

    All at queue depth 1. Of a disk that knows the angle of its addresses, the mean over a revolution.
    """
    from cachezoo.devices import profile as models

    device, files, name = models.load_profile(given), outputs(output, ("plot", "json")), Path(given).stem
    rows = len(models.OPS) * len(models.SIZES)
    found: dict[str, list[dict[str, Any]]] = {"distances": [], "accesses": []}
    with progress(f"profile {name}", 5 * rows + PLOT_STEPS) as advance:
        made = (("distances", models.distance_rows(device.hdd)), ("accesses", models.access_rows(device)))
        for kind, source in made:
            for row in source:
                found[kind].append(row)
                advance(sum(map(len, found.values())), kind)
        if "plot" in files:
            from cachezoo.devices.profile_plot import draw_profile

            draw_profile(device, found["accesses"], f"{name}: what its models say", files["plot"])
    seeks = {op: models.average_seek_us(device.hdd, op == "write") for op in models.OPS}
    about = {"profile": name, "source": device.source, "average_seek_us": seeks}
    if hand_out(about | found, as_json, files):
        return
    _print_distances(name, found["distances"], seeks)
    _print_accesses(name, found["accesses"])


def _print_distances(name: str, rows: list[dict[str, Any]], seeks: dict[str, float]) -> None:
    """The disk's response times in ms: a row for each operation and size, a column for each distance."""
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out
    from cachezoo.devices.profile import size_text

    said = " · ".join(f"{op} {seek / MS:.2f} ms" for op, seek in seeks.items())
    table = Table(
        title=escape(f"{name}, disk: response times in ms by distance, in parts of the capacity"),
        caption=f"average seek: {said} · distance 0: back to back in a run",
    )
    table.add_column("")
    table.add_column("size", justify="right")
    for distance in rows[0]["response_us"]:
        table.add_column(distance, justify="right")
    for row in rows:
        if row["op"] != rows[0]["op"] and row["size_bytes"] == rows[0]["size_bytes"]:
            table.add_section()
        times = ("-" if time is None else f"{time / MS:.3f}" for time in row["response_us"].values())
        table.add_row(row["op"], size_text(row["size_bytes"]), *times)
    out().print(table)


def _print_accesses(name: str, rows: list[dict[str, Any]]) -> None:
    """Throughput: a row for each device, pattern and size; reads and writes side by side."""
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out
    from cachezoo.devices.profile import OPS, size_text

    table = Table(title=escape(f"{name}: throughput at queue depth 1"))
    for column in ("", "", "size"):
        table.add_column(column, justify="right" if column else "left")
    for op in OPS:
        for unit in ("µs", "IOPS", "MB/s"):
            table.add_column(f"{op}, {unit}", justify="right")
    keys = ("device", "pattern", "size_bytes")
    by_key = {(row["op"], *(row[key] for key in keys)): row for row in rows}
    order = {(row["device"], row["pattern"]): None for row in rows}
    sizes = sorted({row["size_bytes"] for row in rows})
    for device, pattern in order:
        for size in sizes:
            own = (by_key[op, device, pattern, size] for op in OPS)
            figures = (_rate(row[key]) for row in own for key in ("response_us", "iops", "mb_s"))
            table.add_row(device, pattern, size_text(size), *figures)
        table.add_section()
    out().print(table)


def _rate(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= MS else f"{value:.4g}"


@app.command("prepare")
def prepare(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A block device, or a file on it; may be new.")],
    size: Annotated[
        str | None, typer.Option(help="Bytes, or such as 512MiB or 20GiB; else the whole device, or the file as it is.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Destroy what is in it; take one on the root filesystem's disk.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Fill a device or file with data that nobody needs, and mark it: replays write to nothing else.

    Everything in it is lost. What is in use is refused always; without --force, so is a device or a file with content
    that was not prepared before.
    """
    from cachezoo.devices.fio.prepare import prepare as run

    data = run(target, None if size is None else device_bytes(size), force)
    print_values({"target": target, "data_bytes": data}, as_json, "prepared for replays")


@app.command("replay")
def replay(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A canonical Parquet file, or a raw trace.")],
    given: Annotated[str, typer.Option("--device", metavar="PROFILE", help=PROFILE_HELP)],
    out: Annotated[Path, typer.Option("--output", "-o", help="Parquet to write; the record comes beside it.")],
    mode: Annotated[
        Literal["service", "closed", "response"],
        typer.Option(help="service: each request when the one before is done; closed: --depth at a time; response: at "
                          "the trace's own times, at most --depth at a time."),
    ] = "service",
    depth: Annotated[int, typer.Option(min=1, max=4096, help="Requests outstanding at once.")] = 1,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Measure the response time of each request on the devices of a profile, on its disk and on its SSD.

    With `source: real` fio replays the trace on your devices; conf/device/real.yaml is a template. Reads alone, unless
    the profile says otherwise, and writes go to what device prepare has made. A record of how it was measured is
    written beside the times, as .json.
    """
    from cachezoo.devices.loaded import check_mode, write_loaded
    from cachezoo.devices.profile import load_device
    from cachezoo.devices.replaying import write_responses
    from cachezoo.io import check_file, read_json
    from cachezoo.settings.device import RealDevice
    from cachezoo.traces.read import read_any

    device = load_device(given)
    check_mode(device, mode, depth)
    record_path = out.with_suffix(".json")
    if out == record_path:
        raise ConfigError(f"{out}: the record gets this name; give the times one that ends in .parquet")
    for path in (out, record_path):
        refuse_same([trace], path)
        check_file(path)
    rows = read_any(trace, pages=False)
    if isinstance(device, RealDevice) and mode != "service":
        write_loaded(rows, device, mode, depth, out, record_path)
    else:
        write_responses(rows, device, out, record_path)
    record = read_json(record_path)
    if as_json:
        typer.echo(json.dumps({**record, "output": str(out), "record": str(record_path)}, allow_nan=False))
        return
    values = {"requests": record["requests"], "provenance": record["provenance"]}
    for name in ("hdd", "ssd"):
        values |= _measured(name, record.get(name, {}))
    print_values({**values, "output": str(out), "record": str(record_path)}, False, f"replayed {trace.name}")


def _measured(name: str, record: dict[str, Any]) -> dict[str, Any]:
    """What of a device's record is worth a line; that a disk is virtual is."""
    lines: dict[str, Any] = {}
    said = record.get("measured", {})
    if "target.name" in said:
        lines[name] = said["target.name"]
    notes = {"target.virtual": "note", "target.note": "filesystem", "warning": "warning"}
    lines |= {f"{name}: {title}": said[key] for key, title in notes.items() if key in said}
    if "means_us" in record:
        lines[f"{name}: mean µs, by repetition"] = ", ".join(f"{mean:,.1f}" for mean in record["means_us"])
        lines[f"{name}: spread"] = record["spread"]
    changed = {key: count for key, count in record.get("rows_changed", {}).items() if key != "requests" and count}
    return lines | {f"{name}: rows {key.replace('_', ' ')}": count for key, count in changed.items()}


@app.command("response")
def response(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A canonical Parquet file, or a raw trace.")],
    given: Annotated[str, typer.Option("--device", metavar="PROFILE", help=PROFILE_HELP)],
    depth: Annotated[
        int | None,
        typer.Option(min=1, max=4096, help="Requests outstanding in a closed loop, else as captured; in an open loop "
                                           "how many the disk chooses from, else 32."),
    ] = None,
    loop: Annotated[
        Literal["closed", "open"],
        typer.Option(help="closed: a fixed number outstanding; open: the trace's own arrivals."),
    ] = "closed",
    scheduler: Annotated[
        Literal["fcfs", "sstf"] | None, typer.Option(help="Of the disk; else the profile's.")
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Response times of a trace under load, waiting included, on a profile's disk and on its SSD.

    The captured depth is how many requests were outstanding on average while any was. An open loop that would keep a
    device busy for more than 90 % of the time is stretched until it does not.
    """
    from cachezoo.devices.profile import load_profile
    from cachezoo.devices.queueing import Asked
    from cachezoo.devices.queueing import response as run
    from cachezoo.traces.read import read_any

    asked = Asked(loop, depth, scheduler)
    device = load_profile(given)
    rows = read_any(trace, pages=False)
    with progress(f"response times of {trace.name}", 2.0) as advance:
        found = run(rows, device, asked, advance)
    about = {"trace": trace.name, "profile": Path(given).stem}
    if as_json:
        typer.echo(json.dumps({**about, **found}, allow_nan=False))
        return
    _print_response(about, found)


def _print_response(about: dict[str, str], found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out

    table = Table(title=escape(f"{about['trace']} on {about['profile']}"))
    table.add_column("")
    for name in found["devices"]:
        table.add_column(name, justify="right")
    for key in next(iter(found["devices"].values())):
        table.add_row(HEADS.get(key, key), *(cell(own[key]) for own in found["devices"].values()))
    out().print(table)
    queue = f"{found['loop']} loop, depth {found['depth']:,}, disk {found['scheduler']}"
    said = [f"{found['requests']:,} requests, {queue}"]
    if found["captured_depth"] is not None:
        said.append(f"captured: {found['captured_depth']:.2f} requests outstanding on average while any was")
    for name, own in found["devices"].items():
        if own.get("stretched", 1.0) > 1.0:
            said.append(f"{name}: arrivals stretched {own['stretched']:.4g} times, to a load of {own['load']:.2f}")
    for line in said:
        out().print(line, soft_wrap=True, markup=False, highlight=False)

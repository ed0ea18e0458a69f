"""Devices: `cachezoo device …`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cachezoo.cli import calibrate
from cachezoo.cli.common import Group, Json, PlotFiles, hand_out, outputs, print_values, refuse_same, shows
from cachezoo.cli.options import device_bytes
from cachezoo.cli.runs import TracePath
from cachezoo.console import progress
from cachezoo.errors import ConfigError
from cachezoo.show.formats import number, significant
from cachezoo.show.output import print_lines, print_table, value_text
from cachezoo.show.table import text_table

app = typer.Typer(cls=Group, no_args_is_help=True, help="Model and measure disks and SSDs.")
app.add_typer(calibrate.app)

PROFILE_HELP = "YAML file, or name in conf/device."
MS = 1000.0
PLOT_STEPS = 1
HEADS = {f"{name}_us": f"{name}, µs" for name in ("mean", "p50", "p90", "p99", "max")}
HEADS |= {"iops": "IOPS", "mb_s": "MB/s", "duration_s": "duration, s"}


@app.command("profile", cls=shows("device profile wdredpro2tb_850pro"))
def profile(
    given: Annotated[str, typer.Argument(metavar="PROFILE", help=PROFILE_HELP)],
    output: PlotFiles = None,
    as_json: Json = False,
) -> None:
    """Show a profile's response times and throughput, at queue depth 1."""
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
    from cachezoo.devices.profile import size_text

    cells = [
        (
            row["op"],
            size_text(row["size_bytes"]),
            *(number(time and time / MS, 3) for time in row["response_us"].values()),
        )
        for row in rows
    ]
    title = f"{name}, disk: response times in ms by distance, in parts of the capacity"
    print_table(text_table(title, ("", "size", *rows[0]["response_us"]), cells, 1))
    average = " · ".join(f"{op} {number(seek / MS, 2)} ms" for op, seek in seeks.items())
    print_lines(f"average seek: {average} · distance 0: back to back in a run")


def _print_accesses(name: str, rows: list[dict[str, Any]]) -> None:
    """Throughput: a row for each device, pattern and size; reads and writes side by side."""
    from cachezoo.devices.profile import OPS, size_text

    found: dict[tuple[str, str, int], list[str]] = {}
    for row in sorted(rows, key=lambda row: OPS.index(row["op"])):
        key = (row["device"], row["pattern"], row["size_bytes"])
        found.setdefault(key, []).extend(significant(row[figure], 4) for figure in ("response_us", "iops", "mb_s"))
    heads = ("", "", "size", *(f"{op}, {unit}" for op in OPS for unit in ("µs", "IOPS", "MB/s")))
    cells = ((device, pattern, size_text(size), *own) for (device, pattern, size), own in found.items())
    print_table(text_table(f"{name}: throughput at queue depth 1", heads, cells, 2))


@app.command("prepare", cls=shows("device prepare /mnt/ssd/scratch --size 20GiB"))
def prepare(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Block device or file; the file may be new.")],
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="512MiB or 20GiB; default the whole device or file.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Destroy its content; allow the root filesystem's disk.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Fill a device or file with scratch data, for replays with writes.

    Everything in it is lost. A device in use is always refused; without --force, so is other content.
    """
    from cachezoo.devices.fio.prepare import prepare as run

    data = run(target, None if size is None else device_bytes(size), force)
    print_values({"target": target, "data_bytes": data}, as_json, "prepared for replays")


@app.command("replay", cls=shows("device replay trace.parquet --device conf/device/real.yaml -o times.parquet"))
def replay(
    trace: TracePath,
    given: Annotated[str, typer.Option("--device", metavar="PROFILE", help=PROFILE_HELP)],
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Response times (Parquet), with a record (.json).")
    ],
    mode: Annotated[
        Literal["service", "closed", "response"],
        typer.Option(help="service: one at a time; closed: --depth at a time; response: as traced, up to --depth."),
    ] = "service",
    depth: Annotated[int, typer.Option(metavar="N", min=1, max=4096, help="Outstanding requests.")] = 1,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Measure response times on a profile's disk and SSD.

    With `source: real`, fio replays the trace: see conf/device/real.yaml. Only reads run, unless the profile allows
    writes to targets of `device prepare`.
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
    rows = read_any(trace, pages=False, replay=True)
    if isinstance(device, RealDevice) and mode != "service":
        write_loaded(rows, device, mode, depth, out, record_path)
    else:
        write_responses(rows, device, out, record_path)
    record = read_json(record_path)
    if hand_out({**record, "output": str(out), "record": str(record_path)}, as_json):
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
        lines[f"{name}: mean µs, by repetition"] = ", ".join(number(mean, 1) for mean in record["means_us"])
        lines[f"{name}: spread"] = record["spread"]
    changed = {key: count for key, count in record.get("rows_changed", {}).items() if key != "requests" and count}
    return lines | {f"{name}: rows {key.replace('_', ' ')}": count for key, count in changed.items()}


@app.command("response", cls=shows("device response trace.parquet --device wdredpro2tb_850pro"))
def response(
    trace: TracePath,
    given: Annotated[str, typer.Option("--device", metavar="PROFILE", help=PROFILE_HELP)],
    depth: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=4096, help="Outstanding requests; default as captured; open: 32."),
    ] = None,
    loop: Annotated[
        Literal["closed", "open"],
        typer.Option(help="closed: --depth at a time; open: as traced."),
    ] = "closed",
    scheduler: Annotated[
        Literal["fcfs", "sstf"] | None, typer.Option(help="Disk scheduler; default the profile's.")
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Predict response times under load on a profile's disk and SSD.

    An open loop is slowed down to at most 90 % load.
    """
    from cachezoo.devices.profile import load_profile
    from cachezoo.devices.queueing import Asked
    from cachezoo.devices.queueing import response as run
    from cachezoo.traces.read import read_any

    asked = Asked(loop, depth, scheduler)
    device = load_profile(given)
    rows = read_any(trace, pages=False, replay=True)
    with progress(f"response times of {trace.name}", 2.0) as advance:
        found = run(rows, device, asked, advance)
    about = {"trace": trace.name, "profile": Path(given).stem}
    if not hand_out({**about, **found}, as_json):
        _print_response(about, found)


def _print_response(about: dict[str, str], found: dict[str, Any]) -> None:
    devices = found["devices"]
    rows = (
        (HEADS.get(key, key), *(value_text(own[key]) for own in devices.values()))
        for key in next(iter(devices.values()))
    )
    print_table(text_table(f"{about['trace']} on {about['profile']}", ("", *devices), rows, 1))
    queue = f"{found['loop']} loop, depth {found['depth']:,}, disk {found['scheduler']}"
    print_lines(f"{found['requests']:,} requests, {queue}")
    if found["captured_depth"] is not None:
        outstanding = number(found["captured_depth"], 2)
        print_lines(f"captured: {outstanding} requests outstanding on average while any was")
    for name, own in devices.items():
        if own.get("stretched", 1.0) > 1.0:
            times, load = significant(own["stretched"], 4), number(own["load"], 2)
            print_lines(f"{name}: arrivals stretched {times} times, to a load of {load}")

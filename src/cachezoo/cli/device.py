"""Devices: `cachezoo device …`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cachezoo.cli import calibrate
from cachezoo.cli.common import Group, Json, PlotFiles, hand_out, outputs, print_values, refuse_same
from cachezoo.cli.options import device_bytes
from cachezoo.cli.runs import TracePath
from cachezoo.console import progress
from cachezoo.errors import ConfigError
from cachezoo.show.formats import number, significant
from cachezoo.show.output import print_lines, print_table, value_text
from cachezoo.show.table import text_table

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
    trace: TracePath,
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


@app.command("response")
def response(
    trace: TracePath,
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

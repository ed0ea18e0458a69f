"""Stage calibrate: models fitted to what the stage replay measured, so that one measurement serves later traces too."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import yaml

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.devices.calibration import Calibration, calibrate
from cachezoo.devices.fio.iolog import Rules, clean
from cachezoo.devices.profile_plot import draw
from cachezoo.devices.responses import read_responses
from cachezoo.devices.samples import FEWEST, Samples, join
from cachezoo.errors import DeviceError
from cachezoo.io import read_json, write_json
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.params import categories_of, traces_of
from cachezoo.settings.device import AnalyticDevice, Device, Hdd, RealDevice, Ssd
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import MAX_END_BYTES, OP_READ, Trace

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

Kind = Literal["hdd", "ssd"]
MOST_FITTED = 100_000
FAR_APART = 0.5  # a spread above it is
REPORT = Table(
    Each("the devices", "the file", text="models fitted to measured response times and how near they come"),
    {
        "provenance": Column("text", Means("device.source: analytic, emulated or real")),
        "why": Column("text", Means("why nothing was fitted"), "sometimes"),
        "hdd|ssd.**": Column(
            "any",
            Means(
                "of a measurement: what cachezoo device calibrate writes beside a profile, or why it could not be "
                "fitted"
            ),
            "sometimes",
        ),
    },
)
# What a fit to a real device begins with; it says what service times do not show.
HDD = Hdd(
    capacity_bytes=1,
    rotation_us=8333.3,
    seek_base_us=800.0,
    seek_root_us=13000.0,
    outer_mb_s=200.0,
    inner_mb_s=100.0,
)
SSD = Ssd(read_us=100.0, write_us=50.0, read_mb_s=500.0, write_mb_s=500.0)


@dataclass(frozen=True)
class Replayed:
    """What was asked of a device, and how long it took."""

    samples: Samples  # back to back
    # of the repetitions whose medians the times are, see `fio.replay.Measured`; of many traces their median
    spread: float
    data_bytes: int  # of the target; 0 where the record does not say
    left_out: tuple[str, ...] = ()  # why some categories have no part in it


def replayed(params: "Params", category: str, key: str, kind: Kind) -> Replayed:
    """What the stage replay measured for one trace; rows as the replay made them fit.

    Raises:
        DeviceError: addresses were folded.
    """
    trace = read_trace(paths.requests(category, key))
    times = read_responses(paths.responses(category, key), len(trace))[kind == "ssd"]
    return as_replayed(trace, times, read_json(paths.replay_record(category, key))[kind], params.device)


def as_replayed(trace: Trace, times: F64, record: dict[str, Any], device: Device) -> Replayed:
    """A trace's requests as a device served them.

    Args:
        trace: the requests.
        times: float64[n] µs that the device took for each.
        record: of the device's replay, as `cachezoo.devices.replaying.recorded` makes it.
        device: what both replays were configured by.

    Raises:
        DeviceError: addresses were folded.
    """
    changed, name = record["rows_changed"], trace.meta.trace_id
    if changed["folded"]:
        raise DeviceError(f"{name}: {changed['folded']} addresses were folded, so that distances are not the trace's")
    block = device.logical_block_bytes if isinstance(device, RealDevice) else 1
    rules = Rules(block, 0, MAX_END_BYTES, False, "as_reads" if changed["writes_as_reads"] else "replay", name)
    asked, _ = clean(trace.time_us, trace.op, trace.offset, trace.size, rules)
    write = (asked.op != OP_READ).astype(np.uint8)
    samples = Samples(asked.offset, asked.size, write, times[asked.row], np.zeros(len(asked)))
    return Replayed(samples, record["spread"], record.get("data_bytes", 0))


def together(params: "Params", kind: Kind) -> Replayed:
    """A first half from train traces, and a second, as long, from validation traces; of each category alike many.

    A category whose addresses were folded is left out.

    Raises:
        DeviceError: no category has both, or too few requests.
    """
    roles = ("train", "validation")
    pairs, left_out = list[list[Replayed]](), list[str]()
    for category in categories_of(params):
        if not all(traces_of(params, category, role) for role in roles):
            continue
        try:
            pairs.append([replayed(params, category, traces_of(params, category, role)[0], kind) for role in roles])
        except DeviceError as error:
            left_out.append(str(error))
    halves: tuple[list[Replayed], ...] = ([], [])
    for pair in pairs:
        length = min(MOST_FITTED // len(pairs), *(len(one.samples) for one in pair))
        for half, one in zip(halves, pair, strict=True):
            half.append(replace(one, samples=one.samples.part(0, length)))
    parts = [*halves[0], *halves[1]]
    if sum(len(part.samples) for part in parts) < 2 * FEWEST:
        few = f"fewer than {2 * FEWEST} requests in train and validation traces of one category"
        raise DeviceError("; ".join([few, *left_out]))
    return Replayed(
        join([part.samples for part in parts]),
        float(np.median([part.spread for part in parts])),
        max(part.data_bytes for part in parts),
        tuple(left_out),
    )


def start_of(kind: Kind, found: Replayed) -> Hdd | Ssd:
    """What the fit begins with: for an emulated disk not what it was made from, which would be no test."""
    if kind == "ssd":
        return SSD
    reach = int((found.samples.offset + found.samples.size).max())
    return HDD.model_copy(update={"capacity_bytes": max(found.data_bytes, reach)})


def _report(params: "Params", kind: Kind) -> tuple[Calibration | None, dict[str, Any]]:
    """The calibration and what is said of it, or why there is none."""
    try:
        found = together(params, kind)
        calibration = calibrate(found.samples, start_of(kind, found))
    except DeviceError as error:
        return None, {"why": str(error)}
    report = {**calibration.as_json(), "spread": found.spread}
    if found.left_out:
        report["left_out"] = list(found.left_out)
    if found.spread > FAR_APART:
        report["warning"] = (
            f"repetitions of one request lay {found.spread:.0%} of its time apart (median): their medians, which this "
            "is fitted to, lie nearer together than single times, and the rotation may come out too short; "
            "cachezoo device calibrate --target measures each request once"
        )
    return calibration, report


def calibrate_responses(params: "Params", folder: Path) -> None:
    """Fit a model of each device to its replayed times on train traces, test it on validation traces, write both.

    Args:
        params: of the pipeline; with `device.source: analytic` nothing was measured, and the folder says so.
        folder: gets calibration.json, and for each device that could be fitted a plot; with both profile.yaml too,
            which may go to conf/device.
    """
    device = params.device
    report: dict[str, Any] = {"provenance": device.source}
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(device, AnalyticDevice):
        report["why"] = "response times come from models; nothing was measured"
        write_json(folder / "calibration.json", report)
        return
    fitted: dict[str, Any] = {}
    for kind in ("hdd", "ssd"):
        found, report[kind] = _report(params, kind)
        if found is None:
            continue
        fitted[kind] = found.after.model_dump(mode="json")
        name = getattr(device, kind).name if isinstance(device, RealDevice) else f"the emulated {kind.upper()}"
        draw(found, name, folder / f"{kind}.png")
    write_json(folder / "calibration.json", report)
    if len(fitted) == 2:
        text = "# @package device\n# Fitted by the stage calibrate; calibration.json says how near it comes.\n"
        profile = AnalyticDevice.model_validate({"source": "analytic", **fitted})
        text += yaml.safe_dump(profile.model_dump(mode="json"), sort_keys=False)
        (folder / "profile.yaml").write_text(text, encoding="utf-8")

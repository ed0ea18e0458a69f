"""Stage calibrate: models fitted to what the stage replay measured, so that one measurement serves later traces too."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml

from cachezoo import paths
from cachezoo.config.device import AnalyticDevice, Hdd, RealDevice, Ssd
from cachezoo.config.schema import Params
from cachezoo.devices.calibration import Calibration, calibrate
from cachezoo.devices.calibration_plot import draw
from cachezoo.devices.responses import read_responses
from cachezoo.devices.samples import FEWEST, Samples
from cachezoo.errors import DeviceError
from cachezoo.io import read_json, write_json
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ

Kind = Literal["hdd", "ssd"]
MOST_FITTED = 100_000
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


def replayed(params: Params, category: str, key: str, kind: Kind) -> Samples:
    """What was asked of a device for one trace, and how long it took, back to back."""
    trace = read_trace(paths.requests(category, key))
    times = read_responses(paths.responses(category, key), len(trace))[kind == "ssd"]
    changed = read_json(paths.replay_record(category, key))[kind]["rows_changed"]
    if changed["folded"]:
        message = f"{key}: {changed['folded']} addresses were folded, so that distances are not the trace's"
        raise DeviceError(message)
    as_reads = bool(changed["writes_as_reads"])
    write = np.zeros(len(trace), np.uint8) if as_reads else (trace.op != OP_READ).astype(np.uint8)
    return Samples(trace.offset, trace.size, write, times, np.zeros(len(trace)))


def together(params: Params, kind: Kind) -> Samples:
    """A first half from train traces, and a second, as long, from validation traces; of each category alike many.

    Raises:
        DeviceError: no category has both, or too few requests.
    """
    halves: dict[str, list[Samples]] = {"train": [], "validation": []}
    both = [name for name in params.categories if all(params.traces_of(name, role) for role in halves)]
    for category in both:
        found = {role: replayed(params, category, params.traces_of(category, role)[0], kind) for role in halves}
        length = min(MOST_FITTED // len(both), *(len(samples) for samples in found.values()))
        for role, samples in found.items():
            halves[role].append(samples.part(0, length))
    parts = [*halves["train"], *halves["validation"]]
    if sum(len(part) for part in parts) < 2 * FEWEST:
        message = f"fewer than {2 * FEWEST} requests in train and validation traces of one category"
        raise DeviceError(message)
    names = ("offset", "size", "write", "time_us", "think_us")
    return Samples(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _start(params: Params, kind: Kind, samples: Samples) -> Hdd | Ssd:
    """What the fit begins with: for an emulated disk not what it was made from, which would be no test."""
    if kind == "ssd":
        return SSD
    return HDD.model_copy(update={"capacity_bytes": int((samples.offset + samples.size).max())})


def _calibrated(params: Params, kind: Kind) -> Calibration | str:
    """The calibration, or why there is none."""
    try:
        samples = together(params, kind)
        return calibrate(samples, _start(params, kind, samples))
    except DeviceError as error:
        return str(error)


def calibrate_responses(params: Params, folder: Path) -> None:
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
        found = _calibrated(params, kind)
        if isinstance(found, str):
            report[kind] = {"why": found}
            continue
        report[kind] = found.as_json()
        fitted[kind] = found.after.model_dump(mode="json")
        name = getattr(device, kind).name if isinstance(device, RealDevice) else f"the emulated {kind.upper()}"
        draw(found, name, folder / f"{kind}.png")
    write_json(folder / "calibration.json", report)
    if len(fitted) == 2:
        text = "# @package device\n# Fitted by the stage calibrate; calibration.json says how near it comes.\n"
        profile = AnalyticDevice.model_validate({"source": "analytic", **fitted})
        text += yaml.safe_dump(profile.model_dump(mode="json"), sort_keys=False)
        (folder / "profile.yaml").write_text(text, encoding="utf-8")

"""Response times of a trace from whatever `device` names: models, emulated disks, or the user's own devices."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.arrays import F64
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.emulated import emulate
from cachezoo.devices.real import measure_real, recorded
from cachezoo.devices.responses import COLUMNS
from cachezoo.errors import DeviceError
from cachezoo.io import dump_json, table_of, write_json, write_table
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.private import cache_root, make_closed
from cachezoo.settings.device import AnalyticDevice, Device, EmulatedDevice
from cachezoo.traces.table import Trace

FACTS = ("name", "kind", "model", "identity", "virtual")
UNIT = "microseconds at queue depth 1"
RECORD = Table(
    Each("one trace", "trace", text="where the trace's response times come from"),
    {
        "provenance": Column("text", Means("device.source: analytic, emulated or real")),
        "trace": Column("text", Means("the trace")),
        "requests": Column("integer", Means("rows of the responses")),
        "<device>.rows_changed.folded": Column(
            "integer", Means("requests whose address was past the end and was folded into it")
        ),
        "<device>.rows_changed.<change>": Column(
            "integer",
            Means(
                "of a measurement: requests cleaned for it (requests, zero_length, rounded, folded, writes_as_reads)"
            ),
            "sometimes",
        ),
        "<device>.measured.**": Column(
            "text", Means("of a measurement: the target, fio, how it was run, kernel, host, date"), "sometimes"
        ),
        "<device>.means_us": Column(
            "list of number", Means("of a measurement: mean time of each repetition", "µs"), "sometimes"
        ),
        "<device>.spread": Column(
            "number",
            Means("of a measurement: median over the requests of (longest - shortest) / median of their repetitions"),
            "sometimes",
        ),
        "<device>.data_bytes": Column(
            "integer", Means("of a measurement: how much of the target a request can address", "bytes"), "sometimes"
        ),
    },
)


def respond(trace: Trace, device: Device) -> tuple[F64, F64, dict[str, Any]]:
    """Service times of each request on both devices, and the record of where they come from.

    Args:
        trace: the requests; volumes share one disk and one SSD.
        device: where times come from.

    Returns:
        `t_hdd_us` and `t_ssd_us`, float64[n] µs in the order of the trace, and the record: for models what they are,
        which is the same everywhere; for a measurement how, when and on what it was made, and how many rows were
        changed for it.

    Raises:
        DeviceError: a measurement is refused or fails.
    """
    record: dict[str, Any] = {"provenance": device.source, "trace": trace.meta.trace_id, "requests": len(trace)}
    if isinstance(device, AnalyticDevice):
        folded = int(np.count_nonzero(trace.offset >= device.hdd.capacity_bytes))
        record["hdd"] = {"rows_changed": {"folded": folded}}
        return t_hdd_us(trace, device.hdd), t_ssd_us(trace, device.ssd), record
    with _alone():
        hdd, ssd = emulate(trace, device) if isinstance(device, EmulatedDevice) else measure_real(trace, device)
    return hdd.times_us, ssd.times_us, {**record, "hdd": recorded(hdd), "ssd": recorded(ssd)}


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other stage measures: two run at a time, and on one device they would measure each other."""
    make_closed(cache_root())
    with (cache_root() / "measuring.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _device_facts(record: dict[str, Any]) -> dict[str, str]:
    """What a measured device is; nothing for a model."""
    measured = record.get("measured", {})
    return {name: measured[f"target.{name}"] for name in FACTS if f"target.{name}" in measured}


def write_responses(trace: Trace, device: Device, path: Path, record_path: Path) -> None:
    """Write `t_hdd_us` and `t_ssd_us`, rows as in the requests, and beside them the record of `respond`.

    The responses' own metadata say the configuration and what the device is, without the day: what was measured on one
    device with one configuration may be put together.

    Raises:
        DeviceError: as for `respond`, or a time that is not above 0.
    """
    hdd, ssd, record = respond(trace, device)
    for name, times in (("t_hdd_us", hdd), ("t_ssd_us", ssd)):
        wrong = ~((times > 0) & np.isfinite(times))
        if wrong.any():
            row = int(wrong.argmax())
            message = f"{trace.meta.trace_id}: row {row + 1}: {name} comes to {times[row]:g}; fix the device's profile"
            raise DeviceError(message)
    metadata = {
        "cachezoo.trace_id": trace.meta.trace_id,
        "cachezoo.provenance": device.source,
        "cachezoo.device": dump_json(device.model_dump(mode="json")),
        "cachezoo.measured_on": dump_json({name: _device_facts(record.get(name, {})) for name in ("hdd", "ssd")}),
        "cachezoo.unit.t_hdd_us": UNIT,
        "cachezoo.unit.t_ssd_us": UNIT,
    }
    write_table(path, table_of({"t_hdd_us": hdd, "t_ssd_us": ssd}, COLUMNS), metadata)
    write_json(record_path, record)

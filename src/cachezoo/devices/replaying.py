"""Response times of a trace from whatever `device` names: models, emulated disks, or the user's own devices."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.arrays import F64
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.fio.command import Mode
from cachezoo.devices.fio.replay import Measured, Settings, check_replay, replay
from cachezoo.devices.fio.replay import replay as replay_with_fio
from cachezoo.devices.fio.target import Use, open_target
from cachezoo.devices.nbd.server import check_model, serving
from cachezoo.devices.responses import COLUMNS
from cachezoo.errors import DeviceError
from cachezoo.io import dump_json, table_of, write_json, write_table
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.private import cache_root, make_closed
from cachezoo.settings.device import AnalyticDevice, Device, EmulatedDevice, Hdd, RealDevice, Ssd
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


MOST_REQUESTS = 10_000
MOST_BYTES = 64 << 20  # what a request of the protocol carries
OVERHEAD_US = 200.0  # of the way to an emulated disk and back
SLACK = 1.5  # how much longer than foreseen a replay may take on a busy machine
MIB = 1 << 20


def emulate(trace: Trace, device: EmulatedDevice) -> tuple[Measured, Measured]:
    """Replay a trace on the emulated HDD, then on the emulated SSD, at queue depth 1; writes as well.

    Args:
        trace: at most 10,000 requests; volumes share the one disk.
        device: the models, which must have no buffers and no scheduler; the disk folds addresses, as its model does.

    Returns:
        What fio measured on the HDD and on the SSD, rows as in the trace.

    Raises:
        DeviceError: too many or too large requests, a model that cannot be emulated, too little time, a program that
            is missing, or a replay that failed.
    """
    for model in (device.hdd, device.ssd):
        check_model(model)
    foreseen = t_hdd_us(trace, device.hdd), t_ssd_us(trace, device.ssd)
    _check_trace(trace, foreseen, device)
    folded = replace(trace, offset=trace.offset % device.hdd.capacity_bytes)
    hdd = _replay(folded, device.hdd, device)
    cleaning = replace(hdd.cleaning, folded=int((folded.offset != trace.offset).sum()))
    return replace(hdd, cleaning=cleaning), _replay(trace, device.ssd, device)


def _seconds(times: F64) -> float:
    return float(times.sum() + OVERHEAD_US * len(times)) / 1e6


def _check_trace(trace: Trace, foreseen: tuple[F64, F64], device: EmulatedDevice) -> None:
    name, count = trace.meta.trace_id, len(trace)
    if count > MOST_REQUESTS:
        hours = sum(_seconds(times) for times in foreseen) * device.repetitions / 3600
        message = (
            f"{name}: its {count} requests would take {hours:.1f} h on emulated disks, which are for {MOST_REQUESTS}; "
            "use a shorter trace, or device.source: analytic"
        )
        raise DeviceError(message)
    large = trace.size > MOST_BYTES
    if large.any():
        row = int(large.argmax())
        message = (
            f"{name}: row {row + 1} is a request of {trace.size[row]} bytes, and a network block device's have at most "
            f"{MOST_BYTES}; leave it out, or use device.source: analytic"
        )
        raise DeviceError(message)
    longest = max(_seconds(times) for times in foreseen) * SLACK
    if longest > device.timeout_s:
        message = (
            f"device.timeout_s: {device.timeout_s:g}: one replay of {name} takes up to {longest:.0f} s; "
            f"set it to {longest:.0f} or more"
        )
        raise DeviceError(message)


def _replay(trace: Trace, model: Hdd | Ssd, device: EmulatedDevice) -> Measured:
    # The replay must not move what ends past the capacity: there is room behind it, and requests need no rounding.
    size = -(-int(np.max(trace.offset + trace.size, initial=1)) // MIB) * MIB
    settings = Settings(
        logical_block_bytes=1,
        writes="replay",
        repetitions=device.repetitions,
        timeout_s=device.timeout_s,
        # Reads ahead of the trace's own would move the head.
        lead_in=0 if isinstance(model, Hdd) else Settings.lead_in,
    )
    with serving(model, size) as target:
        return replay_with_fio(trace, target, settings)


def measure_real(trace: Trace, device: RealDevice, mode: Mode = "service", depth: int = 1) -> tuple[Measured, Measured]:
    """Replay a trace on the disk, then on the SSD. What would be refused of either is, before one is touched.

    Args:
        trace: the requests; volumes share one target.
        device: the targets.
        mode: `service`, `closed` or `response`, see `fio.command.Way`.
        depth: queue depth.

    Raises:
        DeviceError: a target is refused, the trace does not fit one, or a replay fails.
    """
    if os.path.realpath(device.hdd.path) == os.path.realpath(device.ssd.path):
        message = f"device.hdd and device.ssd are both {device.hdd.path}; name two devices, or what stands for each"
        raise DeviceError(message)
    use = Use(device.engine, device.logical_block_bytes, device.writes == "replay", device.force)
    hdd, ssd = (open_target(target.path, target.name, use) for target in (device.hdd, device.ssd))
    settings = Settings.of(device, mode, depth)
    for target in (hdd, ssd):
        check_replay(trace, target, settings)
    # The SSD waits for the disk, for hours: it is kept from others as well.
    with hdd.held(use.writes) as disk, ssd.held(use.writes) as flash:
        return replay(trace, disk, settings), replay(trace, flash, settings)


def recorded(measured: Measured) -> dict[str, Any]:
    """What a record says of one device's replay."""
    return {
        "measured": measured.provenance,
        "data_bytes": int(measured.provenance["target.data_bytes"]),
        "means_us": list(measured.means_us),
        "spread": measured.spread,
        "rows_changed": measured.cleaning.counts(),
    }

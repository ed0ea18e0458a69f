"""Response times under load from the user's own devices: fio keeps a queue, or keeps to the trace's times."""

from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa

from cachezoo.config.device import Device, RealDevice
from cachezoo.devices.fio.command import Mode
from cachezoo.devices.fio.replay import Measured, Settings, replay
from cachezoo.devices.fio.target import Use, open_target
from cachezoo.errors import ConfigError
from cachezoo.io import dump_json, write_json, write_table
from cachezoo.traces.table import Trace

Names = Literal["hdd", "ssd"]
NAMES: tuple[Names, ...] = get_args(Names)


def known_mode(given: str) -> Mode:
    """The mode of that name.

    Raises:
        ConfigError: there is none.
    """
    modes: tuple[Mode, ...] = get_args(Mode)
    for mode in modes:
        if given == mode:
            return mode
    message = f"mode {given[:40]!r}: use {', '.join(modes)}"
    raise ConfigError(message)


def check_mode(device: Device, mode: Mode, depth: int) -> None:
    """Refuse what cannot be asked together, before anything is read.

    Raises:
        ConfigError: a queue where service times are measured, or before models.
    """
    if mode == "service" and depth != 1:
        message = f"depth {depth}: service times are those at depth 1; use the mode closed, or response"
        raise ConfigError(message)
    if mode != "service" and not isinstance(device, RealDevice):
        message = f"mode {mode}: is of real devices, and the source is {device.source}; use cachezoo device response"
        raise ConfigError(message)


def measure_loaded(trace: Trace, device: RealDevice, mode: Mode, depth: int) -> dict[Names, Measured]:
    """Replay a trace on the user's disk, then on the user's SSD; both are looked at before either is touched.

    Args:
        trace: the requests; volumes share the one target.
        device: the targets.
        mode: `closed`: `depth` requests at a time; `response`: at the trace's own times, at most `depth` at a time.
        depth: queue depth.

    Raises:
        DeviceError: a target is refused, or a replay fails.
    """
    use = Use(device.engine, device.logical_block_bytes, device.writes == "replay", device.force)
    hdd, ssd = (open_target(target.path, target.name, use) for target in (device.hdd, device.ssd))
    settings = Settings.of(device, mode, depth)
    return {"hdd": replay(trace, hdd, settings), "ssd": replay(trace, ssd, settings)}


def write_loaded(
    trace: Trace, device: RealDevice, mode: Mode, depth: int, path: Path, record_path: Path
) -> dict[str, Any]:
    """Write `response_hdd_us` and `response_ssd_us`, rows as in the requests, and a record beside them.

    The columns are not named as those of service times are, which labels are made of, so that none is taken for the
    other.

    Returns:
        The record.
    """
    measured = measure_loaded(trace, device, mode, depth)
    record: dict[str, Any] = {"provenance": device.source, "trace": trace.meta.trace_id, "requests": len(trace)}
    for name, found in measured.items():
        record[name] = {
            "measured": found.provenance,
            "means_us": list(found.means_us),
            "spread": found.spread,
            "rows_changed": found.cleaning.counts(),
        }
    metadata = {
        "cachezoo.trace_id": trace.meta.trace_id,
        "cachezoo.provenance": device.source,
        "cachezoo.device": dump_json(device.model_dump(mode="json")),
        "cachezoo.mode": mode,
        "cachezoo.depth": str(depth),
    }
    columns = {f"response_{name}_us": found.times_us for name, found in measured.items()}
    write_table(path, pa.table(columns), metadata)
    write_json(record_path, record)
    return record

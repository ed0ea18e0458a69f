"""Response times under load from the user's own devices: fio keeps a queue, or keeps to the trace's times."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from cachezoo.devices.fio.command import Mode
from cachezoo.devices.replaying import measure_real, recorded
from cachezoo.errors import ConfigError
from cachezoo.io import dump_json, write_json, write_table
from cachezoo.settings.device import Device, RealDevice
from cachezoo.traces.table import Trace


def check_mode(device: Device, mode: Mode, depth: int) -> None:
    """Refuse what cannot be asked together, before anything is read.

    Raises:
        ConfigError: a queue where service times are measured, or before models.
    """
    if mode == "service" and depth != 1:
        raise ConfigError(f"depth {depth}: service times are those at depth 1; use the mode closed, or response")
    if mode != "service" and not isinstance(device, RealDevice):
        message = f"mode {mode}: is of real devices, and the source is {device.source}; use cachezoo device response"
        raise ConfigError(message)


def write_loaded(
    trace: Trace, device: RealDevice, mode: Mode, depth: int, path: Path, record_path: Path
) -> dict[str, Any]:
    """Write `response_hdd_us` and `response_ssd_us`, rows as in the requests, and a record beside them.

    The columns are not named as those of service times are, which labels are made of, so that none is taken for the
    other.

    Returns:
        The record.
    """
    hdd, ssd = measure_real(trace, device, mode, depth)
    record: dict[str, Any] = {"provenance": device.source, "trace": trace.meta.trace_id, "requests": len(trace)}
    record |= {"hdd": recorded(hdd), "ssd": recorded(ssd)}
    metadata = {
        "cachezoo.trace_id": trace.meta.trace_id,
        "cachezoo.provenance": device.source,
        "cachezoo.device": dump_json(device.model_dump(mode="json")),
        "cachezoo.mode": mode,
        "cachezoo.depth": str(depth),
    }
    table = pa.table({"response_hdd_us": hdd.times_us, "response_ssd_us": ssd.times_us})
    write_table(path, table, metadata)
    write_json(record_path, record)
    return record

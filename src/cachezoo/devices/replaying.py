"""Response times of a trace from whatever `device` names: models, emulated disks, or the user's own devices."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachezoo.config.device import AnalyticDevice, Device, EmulatedDevice
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.emulated import emulate
from cachezoo.devices.real import measure_real, recorded
from cachezoo.io import dump_json, write_json, write_table
from cachezoo.traces.table import Trace

F64 = npt.NDArray[np.float64]
UNIT = "microseconds at queue depth 1"


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
    hdd, ssd = emulate(trace, device) if isinstance(device, EmulatedDevice) else measure_real(trace, device)
    return hdd.times_us, ssd.times_us, {**record, "hdd": recorded(hdd), "ssd": recorded(ssd)}


def write_responses(trace: Trace, device: Device, path: Path, record_path: Path) -> None:
    """Write `t_hdd_us` and `t_ssd_us`, rows as in the requests, and beside them the record of `respond`.

    The responses' own metadata say `device` alone: what was measured on one device with one configuration may be put
    together, whatever the day.
    """
    hdd, ssd, record = respond(trace, device)
    metadata = {
        "cachezoo.trace_id": trace.meta.trace_id,
        "cachezoo.provenance": device.source,
        "cachezoo.device": dump_json(device.model_dump(mode="json")),
        "cachezoo.unit.t_hdd_us": UNIT,
        "cachezoo.unit.t_ssd_us": UNIT,
    }
    write_table(path, pa.table({"t_hdd_us": hdd, "t_ssd_us": ssd}), metadata)
    write_json(record_path, record)

"""The analytic device models: response times of each request on an HDD and an SSD, at queue depth 1."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachezoo.config.device import AnalyticDevice, Hdd, Ssd
from cachezoo.io import dump_json, write_table
from cachezoo.kernels.devices import hdd_service_us
from cachezoo.traces.table import OP_READ, Trace

F64 = npt.NDArray[np.float64]


def t_hdd_us(trace: Trace, hdd: Hdd) -> F64:
    """float64[n] µs of each request on the disk, in trace order; volumes share the one disk."""
    rates = np.array([hdd.outer_mb_s, hdd.inner_mb_s])  # 1 MB/s is 1 byte/µs
    times: F64 = hdd_service_us(
        trace.offset,
        trace.size,
        hdd.capacity_bytes,
        hdd.rotation_us,
        hdd.seek_base_us,
        hdd.seek_root_us,
        rates,
    )
    return times


def t_ssd_us(trace: Trace, ssd: Ssd) -> F64:
    """float64[n] µs of each request on the SSD."""
    read = trace.op == OP_READ
    fixed = np.where(read, ssd.read_us, ssd.write_us)
    return fixed + trace.size / np.where(read, ssd.read_mb_s, ssd.write_mb_s)


def write_responses(trace: Trace, device: AnalyticDevice, path: Path) -> None:
    """Write `t_hdd_us` and `t_ssd_us`, rows as in the requests, with the profile as provenance."""
    table = pa.table({"t_hdd_us": t_hdd_us(trace, device.hdd), "t_ssd_us": t_ssd_us(trace, device.ssd)})
    metadata = {
        "cachezoo.trace_id": trace.meta.trace_id,
        "cachezoo.provenance": device.source,
        "cachezoo.device": dump_json(device.model_dump(mode="json")),
        "cachezoo.unit.t_hdd_us": "microseconds at queue depth 1",
        "cachezoo.unit.t_ssd_us": "microseconds at queue depth 1",
    }
    write_table(path, table, metadata)

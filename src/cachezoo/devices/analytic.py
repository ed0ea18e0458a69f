"""The analytic device models: service times of each request on an HDD and an SSD, the same on every machine."""

import numpy as np

from cachezoo.arrays import F64, U8
from cachezoo.kernels import hdd as hdd_kernel
from cachezoo.kernels import ssd as ssd_kernel
from cachezoo.settings.device import Hdd, Ssd
from cachezoo.traces.table import OP_READ, Trace

NONE: F64 = np.empty(0)


def disk_at_rest(hdd: Hdd) -> hdd_kernel.Disk:
    """What the HDD kernels take: the disk with its head at address 0 and empty buffers."""
    buffer = hdd.read_buffer
    return hdd_kernel.make_disk(
        buffer.segments,
        capacity=hdd.capacity_bytes,
        rotation=hdd.rotation_us,
        by_position=hdd.rotation == "position",
        seek_base=hdd.seek_base_us,
        seek_root=hdd.seek_root_us,
        seek_linear=hdd.seek_linear_us,
        cylinder=hdd.cylinder_bytes,
        switch=hdd.switch_us,
        write_settle=hdd.write_settle_us,
        outer=hdd.outer_mb_s,
        inner=hdd.inner_mb_s,
        zones=hdd.zones,
        read_fixed=hdd.read_us,
        write_fixed=hdd.write_us,
        interface=hdd.interface_mb_s,
        overlap=hdd.overlap,
        segment=buffer.segment_bytes,
        track=buffer.track_bytes,
        write_buffer=hdd.write_buffer_bytes,
    )


def drive_at_rest(ssd: Ssd) -> tuple[ssd_kernel.Drive, ssd_kernel.State]:
    """What the SSD kernels take: the drive, and its state with every channel free and an empty write buffer."""
    drive = ssd_kernel.Drive(
        ssd.read_us,
        ssd.write_us,
        ssd.read_mb_s,
        ssd.write_mb_s,
        ssd.stripe_bytes,
        ssd.write_buffer_bytes,
        ssd.program_mb_s / ssd.waf,
        (ssd.waf - 1) / ssd.program_mb_s,
    )
    return drive, ssd_kernel.make_state(ssd.channels)


def writes(trace: Trace) -> U8:
    """uint8[n], 1 for writes."""
    marks: U8 = (trace.op != OP_READ).astype(np.uint8)
    return marks


def t_hdd_us(trace: Trace, hdd: Hdd, think_us: F64 = NONE) -> F64:
    """Service times on the disk at queue depth 1, in trace order; volumes share the one disk.

    Args:
        trace: the requests.
        hdd: the disk.
        think_us: float64[n] µs before each request in which the disk is idle, reads ahead and writes back; or none.

    Returns:
        float64[n] µs.
    """
    times: F64 = hdd_kernel.hdd_service_us(disk_at_rest(hdd), trace.offset, trace.size, writes(trace), think_us)
    return times


def t_ssd_us(trace: Trace, ssd: Ssd, think_us: F64 = NONE) -> F64:
    """Service times on the SSD at queue depth 1; arguments and result as for `t_hdd_us`."""
    times: F64 = ssd_kernel.ssd_service_us(*drive_at_rest(ssd), trace.offset, trace.size, writes(trace), think_us)
    return times

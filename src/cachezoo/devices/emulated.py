"""Response times from emulated disks: the models' mechanics in real time, behind fio's real requests.

What comes out is the analytic model's time and what the way through fio, the socket and nbdkit costs. So this is the
test of the replay, and a rehearsal for a device that is not there yet; nothing is learned of a device from it.
"""

from dataclasses import replace

import numpy as np

from cachezoo.arrays import F64
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.fio.replay import Measured, Settings
from cachezoo.devices.fio.replay import replay as replay_with_fio
from cachezoo.devices.nbd.server import check_model, serving
from cachezoo.errors import DeviceError
from cachezoo.settings.device import EmulatedDevice, Hdd, Ssd
from cachezoo.traces.table import Trace

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

"""A trace on the user's own disk and SSD, with fio, and what is recorded of it."""

import os
from typing import Any

from cachezoo.devices.fio.command import Mode
from cachezoo.devices.fio.replay import Measured, Settings, check_replay, replay
from cachezoo.devices.fio.target import Use, open_target
from cachezoo.errors import DeviceError
from cachezoo.settings.device import RealDevice
from cachezoo.traces.table import Trace


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

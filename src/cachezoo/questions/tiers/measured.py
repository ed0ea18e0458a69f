"""Response times of a hierarchy from the user's own disk and SSD: fio replays the reduced trace of each.

One I/O at a time, so that a time is the device's and no queue's of ours. Measured times are never mixed with the
models': how busy a tier is follows from its measured times as well.
"""

import os
from typing import Any

import numpy as np

from cachezoo.devices.fio.replay import Settings, check_replay, replay
from cachezoo.devices.fio.target import Use, open_target
from cachezoo.devices.replaying import recorded
from cachezoo.errors import DeviceError
from cachezoo.questions.tiers.reduced import reduce
from cachezoo.questions.tiers.response import Response
from cachezoo.questions.tiers.run import TierRun
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.settings.device import RealDevice


def measure(ts: TierStream, run: TierRun, device: RealDevice, first: int = 0) -> tuple[Response, dict[str, Any]]:
    """Replay a run's reduced traces on real devices.

    Args:
        ts: what the hierarchy was run on.
        run: what it did.
        device: the targets, and what becomes of writes: the disk's are the trace's, the SSD's what the cache writes.
        first: page access from which on reads count; nothing before it is replayed.

    Returns:
        The response, and a record of how it was measured: `hdd` and `ssd`, each None where the device was not asked.

    Raises:
        DeviceError: a target is refused, a reduced trace does not fit one, or a replay fails.
        TraceError: the run contradicts itself.
    """
    if os.path.realpath(device.hdd.path) == os.path.realpath(device.ssd.path):
        message = f"device.hdd and device.ssd are both {device.hdd.path}; name two devices, or what stands for each"
        raise DeviceError(message)
    reduced = reduce(ts, run, first)
    use = Use(device.engine, device.logical_block_bytes, device.writes == "replay", device.force)
    settings = Settings.of(device)
    asked = {"hdd": (reduced.disk, device.hdd), "ssd": (reduced.ssd, device.ssd)}
    targets = {name: open_target(own.path, own.name, use) for name, (_, own) in asked.items()}
    for name, (tier, _) in asked.items():
        if len(tier):
            check_replay(tier.trace, targets[name], settings)
    times, record = {}, dict[str, Any]()
    # The SSD waits for the disk, for hours: it is kept from others as well.
    with targets["hdd"].held(use.writes) as disk, targets["ssd"].held(use.writes) as flash:
        for name, target in (("hdd", disk), ("ssd", flash)):
            tier = asked[name][0]
            found = replay(tier.trace, target, settings) if len(tier) else None
            times[name] = found.times_us if found else np.empty(0)
            record[name] = recorded(found) if found else None
    span_us = float(times["hdd"].sum() + times["ssd"].sum())
    return Response(ts, run, reduced, times["hdd"], times["ssd"], None, 1.0, "alone", 1, span_us), record

"""Device models: speed of the kernels, how far emulated disks are from them, and demerit figures of real disks.

The published service times of five real disks are read from $CACHEZOO_PUBLIC_TRACES/hdd, where that is set.
"""

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from timing import least

from cachezoo.coded import Coded
from cachezoo.devices.analytic import disk_at_rest, drive_at_rest, t_hdd_us, t_ssd_us
from cachezoo.devices.calibration import Calibration, Score, calibrate
from cachezoo.devices.profile import load_models
from cachezoo.devices.replaying import emulate
from cachezoo.devices.samples import Samples, join, read_disk_trace
from cachezoo.kernels.hdd import hdd_response_us, hdd_service_us
from cachezoo.kernels.ssd import ssd_response_us, ssd_service_us
from cachezoo.settings.device import EmulatedDevice, Hdd, ReadBuffer
from cachezoo.traces.table import Trace, TraceMeta

REPEATS = 3
NONE = np.empty(0)
PROFILE, FAST = "wdredpro2tb_850pro", "exosx20_990pro"
Requests = tuple[np.ndarray, np.ndarray, np.ndarray]


def requests(count: int, capacity: int, seed: int = 0) -> Requests:
    """Offsets, sizes and writes: half anywhere, half where the request before ended; a third writes."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 33, count) * 4096
    ends = np.cumsum(size)
    anywhere = rng.integers(0, capacity // 4096 - 64, count) * 4096
    since = np.maximum.accumulate(np.where(rng.random(count) < 0.5, np.arange(count), 0))
    offset = (anywhere[since] + ends - size - (ends - size)[since]) % capacity
    return offset, size, (rng.random(count) < 1 / 3).astype(np.uint8)


def kernels(count: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """(name, call) of every kernel, in the settings that cost most and least."""
    device = load_models(PROFILE)
    buffer = ReadBuffer(segments=16, segment_bytes=1 << 20, track_bytes=0)
    turning = device.hdd.model_copy(update={"rotation": "position", "zones": 16})
    full = turning.model_copy(update={"read_buffer": buffer, "write_buffer_bytes": 64 << 20})
    trace = requests(count, device.hdd.capacity_bytes)
    disks = {"mean rotation": device.hdd, "rotation by position, 16 zones": turning, "and both buffers": full}
    for name, hdd in disks.items():
        yield f"HDD, {name}", lambda hdd=hdd: hdd_service_us(disk_at_rest(hdd), *trace, NONE)
    for name, shortest in (("FCFS", False), ("SSTF", True)):
        yield (
            f"HDD, closed loop of 32, {name}",
            lambda shortest=shortest: hdd_response_us(disk_at_rest(device.hdd), *trace, NONE, 32, shortest),
        )
    buffered = device.ssd.model_copy(update={"channels": 8, "write_buffer_bytes": 1 << 30, "waf": 2.0})
    for name, ssd in (("plain", device.ssd), ("8 channels, write buffer", buffered)):
        yield f"SSD, {name}", lambda ssd=ssd: ssd_service_us(*drive_at_rest(ssd), *trace, NONE)
    yield "SSD, closed loop of 32", lambda: ssd_response_us(*drive_at_rest(buffered), *trace, NONE, 32)


def speed(count: int) -> None:
    """A row for each kernel."""
    print(f"\n{count:,} requests, one thread, best of {REPEATS}")
    print(f"{'kernel':<44}{'M requests/s':>14}{'peak MiB':>10}")
    for name, call in kernels(count):
        call()
        best, _ = least(call, REPEATS, time.perf_counter)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"{name:<44}{count / best / 1e6:>14.1f}{peak:>10,}", flush=True)


def floor(count: int) -> None:
    """What real requests to emulated disks take longer than their models say: nbdkit's and fio's part."""
    print(f"\nemulated - analytic, {count} random reads of 4 KiB and 64 KiB, medians of 3 repetitions, µs")
    print(f"{'device':<32}{'p10':>8}{'median':>8}{'p90':>8}{'p99':>9}{'correlation':>13}")
    rng = np.random.default_rng(1)
    for profile in (PROFILE, FAST):
        models = load_models(profile)
        device = EmulatedDevice(source="emulated", hdd=models.hdd, ssd=models.ssd)
        offset = rng.integers(0, models.hdd.capacity_bytes // 65536 - 1, count) * 65536
        size = np.where(rng.random(count) < 0.5, 4096, 65536)
        trace = Trace(
            np.arange(count), np.zeros(count, np.uint8), offset, size, Coded.constant("0", count),
            TraceMeta("random", "benchmark", "csv", "0"),
        )  # fmt: skip
        models_us = t_hdd_us(trace, device.hdd), t_ssd_us(trace, device.ssd)
        found = zip(("disk", "SSD"), emulate(trace, device), models_us, strict=True)
        for name, measured, model in found:
            parts = np.quantile(measured.times_us - model, [0.1, 0.5, 0.9, 0.99])
            alike = float(np.corrcoef(measured.times_us, model)[0, 1])
            figures = "".join(f"{part:>8.0f}" for part in parts)
            print(f"{f'{profile}, {name}':<32}{figures}{alike:>14.5f}", flush=True)


def _scored(samples: Samples, start: Hdd) -> tuple[Calibration, Score]:
    found = calibrate(samples, start)
    return found, found.test


def disks(folder: Path) -> None:
    """Demerit figures: fitted on the first half and tested on the second; swapped, on the second and on the first."""
    print("\ndemerit figures of five disks; DiskSim's published ones on such sets are 2 to 15 %")
    print("squares, demerit: of two constants on the tested half, fitted on the other by least squares and for demerit")
    heads = ("fitted", "tested", "swapped", "squares", "demerit", "rpm found", "seconds")
    print(f"{'disk':<14}" + "".join(f"{head:>11}" for head in heads))
    base, tested = load_models(PROFILE).hdd, []
    for path in sorted(folder.glob("*.trace.gz")):
        samples = read_disk_trace(path)
        reach = int((samples.offset + samples.size).max())
        disk = base.model_copy(update={"capacity_bytes": reach})
        begin = time.perf_counter()
        found, test = _scored(samples, disk)
        seconds = time.perf_counter() - begin
        _, swapped = _scored(join(samples.halves()[::-1]), disk)
        assert isinstance(found.after, Hdd)
        tested.append((test.demerit, swapped.demerit))
        print(
            f"{path.name.split('.')[0]:<14}{found.fit.demerit:>11.1%}{test.demerit:>11.1%}{swapped.demerit:>11.1%}"
            f"{test.baseline_demerit:>11.1%}{test.tuned_demerit:>11.1%}{60e6 / found.after.rotation_us:>11,.0f}"
            f"{seconds:>11.1f}",
            flush=True,
        )
    means = (statistics.fmean(column) for column in zip(*tested, strict=True))
    print(f"{'mean':<14}{'':>11}" + "".join(f"{mean:>11.1%}" for mean in means))


def main() -> None:
    """Print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=5_000_000, help="for the kernels")
    parser.add_argument("--emulated", type=int, default=300, help="for the emulated disks; 0: leave them out")
    asked = parser.parse_args()
    speed(asked.requests)
    if asked.emulated:
        floor(asked.emulated)
    traces = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    if traces:
        disks(Path(traces) / "hdd")


if __name__ == "__main__":
    main()

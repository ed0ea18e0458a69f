"""Response times under load: a queue in front of the models' disk and SSD.

Service times at depth 1 say what a device does; what an application sees is waiting as well. A closed loop keeps a
fixed number of requests outstanding, as the captured system did; an open loop lets them arrive when the trace says. An
open queue that gets more work than it can do grows as long as the trace lasts and measures just that, so arrivals are
spread out until they bring work for 90 % of their span at most.
"""

import heapq
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cachezoo.arrays import F64
from cachezoo.console import Advance
from cachezoo.devices.analytic import NONE, disk_at_rest, drive_at_rest, t_hdd_us, writes
from cachezoo.errors import DeviceError
from cachezoo.kernels.hdd import hdd_response_us
from cachezoo.kernels.ssd import ssd_response_us
from cachezoo.settings.device import AnalyticDevice, EmulatedDevice, Hdd, Ssd
from cachezoo.traces.clock import Outstanding, covered_us
from cachezoo.traces.table import Trace

Loop = Literal["closed", "open"]
Scheduler = Literal["fcfs", "sstf"]

MOST_LOAD = 0.9
NATIVE_QUEUE = 32  # of SATA's native command queuing: what a disk chooses from in an open loop
MOST_DEPTH = 4096
QUANTILES = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99}


@dataclass(frozen=True)
class Asked:
    """How the queue is fed and served.

    Attributes:
        loop: `closed` keeps `depth` requests outstanding; `open` takes the trace's arrivals.
        depth: of a closed loop: None: as captured. Of an open loop: how many waiting requests the disk chooses from;
            None: 32.
        scheduler: of the disk: first come, first served, or shortest seek first; None: what the profile says.
    """

    loop: Loop = "closed"
    depth: int | None = None
    scheduler: Scheduler | None = None


def captured_depth(trace: Trace) -> float:
    """How many requests were outstanding on average while any was, by the trace's own issue times and latencies.

    Requests of unknown latency count as if there were none.

    Raises:
        DeviceError: the trace has no latencies.
    """
    outstanding = Outstanding()
    if trace.latency_us is not None:
        outstanding.add(trace.time_us, trace.latency_us)
    if (found := outstanding.mean) is None:
        message = f"{trace.meta.trace_id}: the trace has no latencies to tell the captured depth from; give --depth"
        raise DeviceError(message)
    return found


def hdd_load(trace: Trace, hdd: Hdd) -> float:
    """µs of work for the disk: its service times at depth 1. A write buffer delays work and spares none: it is off."""
    return float(t_hdd_us(trace, hdd.model_copy(update={"write_buffer_bytes": 0})).sum())


def ssd_load(trace: Trace, ssd: Ssd) -> float:
    """µs of work for that part of the SSD which has most: a channel, the interface, or the flash behind the buffer."""
    write = writes(trace) != 0
    size = trace.size.astype(np.float64)
    flash = ssd.waf / ssd.program_mb_s
    fixed = np.where(write, ssd.write_us, ssd.read_us)
    if ssd.write_buffer_bytes:
        fixed[write] = 0.0
    else:
        fixed[write] += size[write] * (ssd.waf - 1) / ssd.program_mb_s
    channels = np.bincount((trace.offset // ssd.stripe_bytes) % ssd.channels, fixed, ssd.channels)
    interface = (size / np.where(write, ssd.write_mb_s, ssd.read_mb_s)).sum()
    buffered = size[write].sum() * flash if ssd.write_buffer_bytes else 0.0
    return float(max(channels.max(), interface, buffered))


def arrivals_us(trace: Trace, work_us: float) -> tuple[F64, float]:
    """A trace's arrivals, stretched where they bring more work than 90 % of their span.

    Args:
        trace: the requests.
        work_us: µs that they keep the device busy.

    Returns:
        float64[n] µs from the first arrival, and the factor they were stretched by, 1 or more.

    Raises:
        DeviceError: all requests arrive at once.
    """
    arrive = (trace.time_us - trace.time_us[0]).astype(np.float64)
    if arrive[-1] <= 0:
        message = f"{trace.meta.trace_id}: all requests have the same time, so an open loop has no load; use closed"
        raise DeviceError(message)
    factor = max(1.0, work_us / (MOST_LOAD * float(arrive[-1])))
    return arrive * factor, factor


def closed_arrivals(times: F64, depth: int) -> F64:
    """When each request of a closed loop was issued: the first at 0, later ones at the end of an earlier one each."""
    issued, ends = np.zeros(times.size), list[float]()
    for i, time in enumerate(times.tolist()):
        if i >= depth:
            issued[i] = heapq.heappop(ends)
        heapq.heappush(ends, float(issued[i]) + time)
    return issued


def hdd_times(trace: Trace, hdd: Hdd, arrive: F64, depth: int, scheduler: Scheduler) -> F64:
    """float64[n] µs from arrival to end on the disk, `arrive` and `depth` as for `hdd_response_us`."""
    marks, shortest = writes(trace), scheduler == "sstf"
    times: F64 = hdd_response_us(disk_at_rest(hdd), trace.offset, trace.size, marks, arrive, depth, shortest)
    return times


def ssd_times(trace: Trace, ssd: Ssd, arrive: F64, depth: int) -> F64:
    """float64[n] µs from arrival to end on the SSD, `arrive` and `depth` as for `ssd_response_us`."""
    times: F64 = ssd_response_us(*drive_at_rest(ssd), trace.offset, trace.size, writes(trace), arrive, depth)
    return times


def figures(trace: Trace, times: F64, issued: F64) -> dict[str, float]:
    """What a run says of itself.

    Args:
        trace: the requests.
        times: float64[n] µs from arrival to end.
        issued: float64[n] µs, their arrivals, rising.

    Returns:
        mean, p50, p90, p99 and max of the response times in µs; `utilisation`, the part of the run in which a request
        was waiting or in service; `iops` and `mb_s` (10**6 bytes/s) over the run; `duration_s`.
    """
    ends = issued + times
    duration = float(ends.max() - issued[0])
    quantiles = np.quantile(times, list(QUANTILES.values()))
    return {
        "mean_us": float(times.mean()),
        **dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
        "max_us": float(times.max()),
        "utilisation": covered_us(issued, ends) / duration if duration > 0 else 0.0,
        "iops": 1e6 * len(trace) / duration if duration > 0 else 0.0,
        "mb_s": float(trace.size.sum()) / duration if duration > 0 else 0.0,
        "duration_s": duration / 1e6,
    }


def response(
    trace: Trace, device: AnalyticDevice | EmulatedDevice, asked: Asked, advance: Advance | None = None
) -> dict[str, Any]:
    """Response times of a trace under load, on the disk and on the SSD.

    Args:
        trace: the requests.
        device: the models.
        asked: the queue.
        advance: told of progress, from 0 to 2.

    Returns:
        `loop`, `scheduler`, `depth`, `captured_depth` (None where not asked for), `requests`, and `devices`: for `hdd`
        and `ssd` the `figures`, and in an open loop `stretched` and `load` (work over the arrivals' span).

    Raises:
        DeviceError: no requests; no latencies and no depth in a closed loop; no span in an open one.
    """
    if len(trace) == 0:
        raise DeviceError(f"{trace.meta.trace_id}: the trace has no requests")
    scheduler = asked.scheduler or device.hdd.scheduler
    captured = captured_depth(trace) if asked.loop == "closed" and asked.depth is None else None
    if captured is not None:
        depth = min(max(int(captured + 0.5), 1), MOST_DEPTH)
    else:
        depth = asked.depth or NATIVE_QUEUE
    found: dict[str, dict[str, float]] = {}
    for done, name in enumerate(("hdd", "ssd")):
        if advance is not None:
            advance(done, name)
        arrive, extra = NONE, dict[str, float]()
        if asked.loop == "open":
            work = hdd_load(trace, device.hdd) if name == "hdd" else ssd_load(trace, device.ssd)
            arrive, factor = arrivals_us(trace, work)
            extra = {"stretched": factor, "load": work / float(arrive[-1])}
        if name == "hdd":
            times = hdd_times(trace, device.hdd, arrive, depth, scheduler)
        else:
            times = ssd_times(trace, device.ssd, arrive, depth)
        found[name] = figures(trace, times, arrive if arrive.size else closed_arrivals(times, depth)) | extra
    run = {"loop": asked.loop, "scheduler": scheduler, "depth": depth, "captured_depth": captured}
    return {**run, "requests": len(trace), "devices": found}

"""Policies by capacities by traces, in processes: the same rows in the same order however many there are."""

import os
from collections.abc import Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo.console import Advance
from cachezoo.contest.counting import SECOND_HALF, Count, first_access
from cachezoo.devices.service import ServiceTimes
from cachezoo.jobs import processes
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.registry import policy
from cachezoo.policies.simulate import Simulator, capacity_of
from cachezoo.policies.stream import Unit, Writes
from cachezoo.settings.device import AnalyticDevice

Row = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """How every policy of a sweep is run.

    Attributes:
        count: from where on a trace counts.
        writes: what a write does, see `cachezoo.policies.stream.Stream`.
        unit: what one admission decision covers.
        device: whose response times to report; None reports none.
        decision_us: time of one decision, charged to every request.
        reading: how raw traces are read: ``auto`` or a format's id, and its options.
        quiet: whether what is doubtful of the traces has been said.
    """

    count: Count = SECOND_HALF
    writes: Writes = "back"
    unit: Unit = "page"
    device: AnalyticDevice | None = None
    decision_us: float = 0.0
    reading: tuple[str, tuple[tuple[str, str], ...]] = ("auto", ())
    quiet: bool = False


@dataclass(frozen=True)
class Bench:
    """A trace ready to be simulated, with its response times where a device is given."""

    simulator: Simulator
    times: ServiceTimes | None

    @classmethod
    def of(cls, simulator: Simulator, device: AnalyticDevice | None) -> "Bench":
        """The bench of a simulator."""
        if device is None:
            return cls(simulator, None)
        from cachezoo.devices.analytic import t_hdd_us, t_ssd_us

        trace = simulator.trace
        return cls(simulator, ServiceTimes.of(trace, t_hdd_us(trace, device.hdd), t_ssd_us(trace, device.ssd)))

    def row(self, kind: str, found: Simulation, decision_us: float) -> Row:
        """A simulation as JSON values."""
        response = waiting = None
        if self.times is not None and found.requests:  # none begins after a warm-up that ends within the last one
            response = found.mean_response_us(self.times, decision_us)
            waiting = found.mean_response_waiting_us(self.times, decision_us)
        return {
            "policy": found.policy,
            "kind": kind,
            "capacity": found.capacity,
            "warmup": found.warmup,
            "requests": found.requests,
            "page_accesses": found.page_accesses,
            "hits": found.hits,
            "hit_ratio": found.hit_ratio,
            "transfers": found.transfers,
            "request_hit_ratio": found.request_hit_ratio,
            "byte_hit_ratio": found.byte_hit_ratio,
            "ssd_writes": found.ssd_writes,
            "replacements": found.replacements,
            "dirty_evictions": found.dirty_evictions,
            "disk_writes": found.disk_writes,
            "prefetched": found.prefetched,
            "prefetch_hits": found.prefetch_hits,
            "moved": found.moved,
            "mean_response_us": response,
            "mean_response_waiting_us": waiting,
            "requests_per_s": len(self.simulator.trace) / max(found.kernel_s, 1e-9),
        }


Key = tuple[Path, Writes, Unit, str, str, tuple[tuple[str, str], ...]]
# The bench that this process used last: one trace at a time is in memory.
_held: dict[Key, Bench] = {}


def _bench(key: Key, quiet: bool) -> Bench:
    if key not in _held:
        from cachezoo.traces.pages import expand_pages
        from cachezoo.traces.read import read_any

        path, writes, unit, device, fmt, options = key
        _held.clear()
        trace = read_any(path, fmt, options=dict(options), quiet=quiet)
        _held[key] = Bench.of(Simulator(trace, expand_pages(trace), writes, unit),
                              AnalyticDevice.model_validate_json(device) if device else None)  # fmt: skip
    return _held[key]


def run_row(bench: Bench, policy_id: str, capacity: str, asked: Asked) -> Row:
    """One policy at one capacity (pages or N%)."""
    pages = bench.simulator.pages
    size = capacity_of(capacity, pages)
    entry = policy(policy_id)
    first = first_access(pages, asked.count, size, bench.simulator.trace.time_us)
    found = bench.simulator.run(entry, size, first)
    return bench.row(entry.kind, found, asked.decision_us)


def _job(path: Path, policy_id: str, capacities: Sequence[str], asked: Asked, quiet: bool) -> list[Row]:
    device = asked.device.model_dump_json() if asked.device else ""
    bench = _bench((path, asked.writes, asked.unit, device, *asked.reading), quiet)
    return [{"trace": path.name, **run_row(bench, policy_id, capacity, asked)} for capacity in capacities]


def sweep(
    traces: Sequence[Path], policies: Sequence[str], capacities: Sequence[str], asked: Asked,
    workers: int | None = None, advance: Advance | None = None,
) -> list[Row]:  # fmt: skip
    """Run every policy at every capacity on every trace.

    Args:
        traces: canonical or raw files; each worker holds one in memory at a time.
        policies: ids or compositions.
        capacities: pages, or N% of each trace's distinct pages.
        asked: how.
        workers: processes; None takes one for each processor. No figure depends on it but `requests_per_s`.
        advance: told (policies done, the last one's name).

    Returns:
        A row for each run, by trace, policy and capacity in the order given: the keys of `Bench.row`, and `trace`.

    Raises:
        CachezooError: what a run raises; the other runs are ended, as they are by an interrupt.
    """
    for policy_id in policies:
        policy(policy_id)
    # What is doubtful of a trace is said by the first process that reads it alone.
    jobs = [(path, own, asked.quiet or k > 0) for path in traces for k, own in enumerate(policies)]
    count = min(workers or os.cpu_count() or 1, len(jobs))
    if count <= 1:
        rows = []
        for done, (path, policy_id, quiet) in enumerate(jobs):
            rows += _job(path, policy_id, capacities, asked, quiet)
            if advance is not None:
                advance(done + 1, policy_id)
        return rows
    with processes(count) as pool:
        futures = {pool.submit(_job, path, own, capacities, asked, quiet): own for path, own, quiet in jobs}
        _wait(futures, advance)
    return [row for future in futures for row in future.result()]


def _wait(futures: dict[Future[list[Row]], str], advance: Advance | None) -> None:
    for done, future in enumerate(as_completed(futures)):
        future.result()
        if advance is not None:
            advance(done + 1, futures[future])

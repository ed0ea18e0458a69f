"""A flash cache of objects before hard disks: how busy the disks are at each write rate, by admission.

What `cachezoo.questions.flash` is for blocks, without what needs addresses: nothing is read ahead, and no admission
sees where an object lies. An admission's knob is set on the first half of the trace, and judged on the second.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.console import Advance
from cachezoo.contest.blocks import block_means
from cachezoo.contest.choice import Goal, Outcome
from cachezoo.contest.lead import Lead
from cachezoo.contest.verdict import LEAST_SAVING, verdict
from cachezoo.errors import ConfigError
from cachezoo.flash.policies import ACCEPT_ALL, COIN_FLIP, COIN_STEPS, REJECTX
from cachezoo.flash.problem import meet_budget
from cachezoo.kernels.flash import DiskHead
from cachezoo.kernels.outcome import ADMITTED
from cachezoo.questions.flash.options import TOLERANCE, WriteRate
from cachezoo.questions.objects.bench import ObjectBench, ObjectRun
from cachezoo.traces.clock import Clock
from cachezoo.traces.table import OP_READ, OP_WRITE

EVICTION = "lru"
WINDOWS = 2.0 ** (np.arange(-48, 49) / 4)
"""Windows of RejectX that are tried, in capacities."""
KNOBS: dict[str, tuple[int, Callable[[int], str]]] = {
    COIN_FLIP: (COIN_STEPS, lambda step: f"coinflip(p={step / COIN_STEPS!r})+{EVICTION}"),
    REJECTX: (len(WINDOWS) - 1, lambda step: f"rejectx(window_capacities={float(WINDOWS[step])!r})+{EVICTION}"),
}
POLICIES = (ACCEPT_ALL, *KNOBS)


@dataclass(frozen=True)
class ObjectFlashRow(Outcome):
    """An admission at a write rate, on the second half: its seconds of a disk's head a request, as `mean`."""

    rate: str  # as typed; empty of the admission that has no knob
    admission: str
    policy: str  # with its knob
    reached: bool  # whether the first half's writes came within the tolerance of the budget
    run: ObjectRun
    written: int  # bytes on the second half
    written_share: float  # of what accept_all writes there
    write_bytes_s: float | None  # None without a clock
    disks_busy: float | None  # by the reads that miss; likewise
    chosen_by: float  # the seconds of a disk's head a request of the first half, which chooses between admissions

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        own = self.run.found
        return {
            "write_rate": self.rate, "admission": self.admission, "policy": self.policy, "reached": self.reached,
            "hit_ratio": own.hit_ratio, "byte_hit_ratio": own.byte_hit_ratio, "bytes_written": self.written,
            "written_share": self.written_share, "write_bytes_s": self.write_bytes_s,
            "disk_seconds_per_request": self.mean, "disks_busy": self.disks_busy,
        }  # fmt: skip


@dataclass(frozen=True)
class ObjectFlash:
    """All that ran."""

    capacity: int  # bytes
    rows: tuple[ObjectFlashRow, ...]  # accept_all first; then by rate and admission as given
    # of each rate with both admissions, that of the fewer seconds on the first half, and the share of the other's that
    # it saves on the second
    leads: tuple[tuple[str, str, Lead], ...]

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "capacity_bytes": self.capacity,
            "rows": [row.values() for row in self.rows],
            "leads": [
                {"write_rate": rate, "admission": name, **lead.values(), "verdict": verdict(lead, LEAST_SAVING)}
                for rate, name, lead in self.leads
            ],
        }


class _Problem:
    """A cache with what its runs write and cost, by halves."""

    def __init__(self, bench: ObjectBench, capacity: int, cost: DiskHead) -> None:
        self.bench, self.capacity, self.cost = bench, capacity, cost
        self.half = bench.first(capacity)
        clock, time = Clock(), bench.trace.time_us
        clock.add(time)
        self.seconds = float(time[-1] - time[0]) / 1e6 if clock.ticks(bench.trace.meta.extra) else 0.0
        rows = bench.requests.row
        at = time if rows is None else time[rows]
        self.second_s = float(at[-1] - at[self.half]) / 1e6 if self.seconds else 0.0

    def written(self, run: ObjectRun) -> I64:
        """int64[n]: bytes that each request wrote to the flash."""
        requests = self.bench.requests
        wrote: Bool = (run.found.outcome == ADMITTED) | (run.hit & (requests.op == OP_WRITE))
        return np.where(wrote, requests.size, 0)

    def disk_seconds(self, run: ObjectRun) -> F64:
        """float64[n]: of a disk's head for reads that miss; writes, the same whatever is cached, count 0."""
        requests = self.bench.requests
        missed = (requests.op == OP_READ) & ~run.hit
        return self.cost.seconds(missed, np.where(missed, requests.size, 0))

    def row(self, run: ObjectRun, admission: str, rate: str, reached: bool, all_written: float) -> ObjectFlashRow:
        """The figures of a run on the second half."""
        before, cost = np.split(self.disk_seconds(run), [self.half])
        written = int(self.written(run)[self.half :].sum())
        per_s = (lambda value: float(value) / self.second_s) if self.second_s else (lambda value: None)
        return ObjectFlashRow(
            float(cost.mean()), block_means(cost), rate, admission, run.policy, reached, run, written,
            written / max(all_written, 1.0), per_s(written), per_s(cost.sum()),
            float(before.mean()) if self.half else 0.0,
        )  # fmt: skip


def object_flash(
    bench: ObjectBench, capacity: int, rates: Sequence[WriteRate], admissions: Sequence[str], cost: DiskHead,
    advance: Advance | None = None,
) -> ObjectFlash:  # fmt: skip
    """Run admissions at write rates.

    Args:
        bench: the trace, counted from its second half on.
        capacity: bytes.
        rates: each to be met on the first half by every admission that has a knob.
        admissions: of `POLICIES`.
        cost: of a disk's I/O.
        advance: progress, in runs of an admission at a rate.

    Raises:
        ConfigError: sizes are ignored, or a rate is in bytes a second and the trace has no clock.
    """
    if not bench.rules.sizes:
        raise ConfigError("--ignore sizes: a flash cache is written in bytes; leave the option out")
    problem = _Problem(bench, capacity, cost)
    everything = bench.run(EVICTION, capacity)
    first_all, second_all = (
        float(problem.written(everything)[part].sum()) for part in (slice(0, problem.half), slice(problem.half, None))
    )
    rows = [problem.row(everything, ACCEPT_ALL, "", True, second_all)] if ACCEPT_ALL in admissions else []
    leads, done = list[tuple[str, str, Lead]](), 0
    for rate in rates:
        budget = first_all * rate.share
        if rate.bytes_s is not None:
            if not problem.seconds:
                raise ConfigError(
                    f"--write-rate {rate.text}: the trace has no clock, so there is no rate; give a share"
                )
            budget = rate.bytes_s * (problem.seconds - problem.second_s)
        found = []
        for name in admissions:
            if name not in KNOBS:
                continue
            if advance is not None:
                advance(done, f"{name} at {rate.text}")
            done += 1
            found.append(_at_budget(problem, name, rate.text, budget, second_all))
        rows += found
        if len(found) > 1:
            best, other = sorted(found, key=lambda row: row.chosen_by)[:2]
            leads.append((rate.text, best.admission, best.lead(other, Goal.COST)))
    return ObjectFlash(capacity, tuple(rows), tuple(leads))


def _at_budget(problem: _Problem, name: str, rate: str, budget: float, all_written: float) -> ObjectFlashRow:
    """An admission with the knob whose writes on the first half come nearest to the budget from below."""
    most, text_of = KNOBS[name]
    runs = dict[int, ObjectRun]()

    def writes_at(step: int) -> int:
        if step not in runs:
            runs.clear()
            runs[step] = problem.bench.run(text_of(step), problem.capacity)
        return int(problem.written(runs[step])[: problem.half].sum())

    found = meet_budget(writes_at, most, budget, TOLERANCE)
    writes_at(found.index)
    return problem.row(runs[found.index], name, rate, found.reached, all_written)

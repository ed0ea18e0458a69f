"""A flash cache of objects before hard disks: how busy the disks are at each write rate, by admission.

What `cachezoo.questions.flash` is for blocks, without what needs addresses: nothing is read ahead, and no admission
sees where an object lies. An admission's knob is what decides how much it lets in: a probability, a window, a size, a
threshold. All knobs are set on the last part of the first half of the trace, and judged on the second half; what learns
is trained on the part of the first half before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I64, U8, Bool
from cachezoo.console import Advance
from cachezoo.contest.blocks import block_means
from cachezoo.contest.choice import Goal, Outcome
from cachezoo.contest.lead import Lead, over_savings, saving
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.errors import ConfigError, TrainingError
from cachezoo.flash_cache.policies import ACCEPT_ALL, BUDGETED, COIN_FLIP, COIN_STEPS, REJECTX
from cachezoo.flash_cache.problem import meet_budget
from cachezoo.kernels.flash import DiskHead
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.questions.flash.options import BALEEN, TOLERANCE, WriteRate
from cachezoo.questions.objects.bench import ObjectBench, ObjectRun
from cachezoo.questions.objects.learned import fit_scores
from cachezoo.seeds import derive_seed
from cachezoo.sized.baleen import CODED, Flash, Labels, codes_of, decided, inputs
from cachezoo.sized.requests import Requests
from cachezoo.sized.simulate import simulate
from cachezoo.traces.clock import Clock
from cachezoo.traces.table import OP_READ, OP_WRITE

EVICTION = "lru"
WINDOWS = 2.0 ** (np.arange(-48, 49) / 4)
"""Windows of RejectX that are tried, in capacities."""
BY_SIZE = "by_size"
UNTRAINED = (*BUDGETED, BY_SIZE)
POLICIES = (ACCEPT_ALL, *UNTRAINED)
"""Those that run unless others are named."""
ALL = (*POLICIES, BALEEN)
TRAINED_ON = 0.7
"""Of the first half; the rest of it sets the knob, so that no request is a row of a label and of the knob."""
SEEDS, STEPS = 5, 1024
"""Trainings, and thresholds of scores that are tried."""
LEAST_REQUESTS = 200
"""On which the knob of what is trained is set."""
OVER = 0.1
"""Writes over those allowed, relative, from which on a lead in time is none."""


@dataclass(frozen=True)
class ObjectFlashRow(Outcome):
    """An admission at a write rate, on the second half: its seconds of a disk's head a request, as `mean`.

    All figures of one that is trained are the means of its trainings.
    """

    rate: str  # as typed; empty of the admission that has no knob
    admission: str
    policy: str  # with its knob
    reached: bool  # whether the writes where the knob was set came within the tolerance of the budget
    hit_ratio: float
    byte_hit_ratio: float
    written: int  # bytes on the second half
    written_share: float  # of what accept_all writes there
    write_bytes_s: float | None  # None without a clock
    disks_busy: float | None  # by the reads that miss; likewise
    # the seconds of a disk's head a request where the knob was set, which chooses between the untrained
    chosen_by: float
    trainings: tuple[Outcome, ...] = ()  # of each seed

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "write_rate": self.rate, "admission": self.admission, "policy": self.policy, "reached": self.reached,
            "hit_ratio": self.hit_ratio, "byte_hit_ratio": self.byte_hit_ratio, "bytes_written": self.written,
            "written_share": self.written_share, "write_bytes_s": self.write_bytes_s,
            "disk_seconds_per_request": self.mean, "disks_busy": self.disks_busy,
            "disk_seconds_by_seed": [own.mean for own in self.trainings] or None,
        }  # fmt: skip

    def saves(self, rival: "ObjectFlashRow") -> Lead:
        """The share of another's disk time that it saves; of trainings with the variance between their seeds."""
        if len(self.trainings) < 2 or not rival.blocks.any():
            return self.lead(rival, Goal.COST)
        plain = saving(self.blocks, rival.blocks, Goal.COST.lead(self.mean, rival.mean))
        found = over_savings([own.blocks for own in self.trainings], [rival.blocks] * len(self.trainings), plain.value)
        return Lead(found.value, found.variance, found.freedom, plain.by_block)


@dataclass(frozen=True)
class ObjectLead:
    """An admission against another at a write rate, on the second half."""

    rate: str
    ours: ObjectFlashRow
    rival: ObjectFlashRow
    lead: Lead  # the share of the rival's disk time that is saved
    allowed: float  # what the second half may write at the rate, as a share of what accept_all writes there

    @property
    def verdict(self) -> Verdict:
        """On the time alone."""
        return verdict(self.lead, LEAST_SAVING)

    @property
    def overwrites(self) -> bool:
        """Whether it writes more than the rate allows: its time is then no fair one."""
        return self.ours.written_share > self.allowed * (1 + OVER)

    @property
    def ahead(self) -> bool:
        """Whether it saves enough to be worth it, and keeps to the rate."""
        return self.verdict == Verdict.BETTER and not self.overwrites

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "write_rate": self.rate, "admission": self.ours.admission, "rival": self.rival.admission,
            **self.lead.values(), "verdict": self.verdict, "overwrites": self.overwrites, "ahead": self.ahead,
        }  # fmt: skip


@dataclass(frozen=True)
class ObjectFlash:
    """All that ran."""

    capacity: int  # bytes
    rows: tuple[ObjectFlashRow, ...]  # accept_all first; then by rate and admission as given
    # of each rate: of the untrained, that of the fewest seconds where the knobs were set against the next; and a
    # trained one against the former
    leads: tuple[ObjectLead, ...]
    left_out: tuple[str, ...] = ()  # why what was asked for did not run

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "capacity_bytes": self.capacity,
            "rows": [row.values() for row in self.rows],
            "leads": [lead.values() for lead in self.leads],
            "left_out": list(self.left_out),
        }


class _Problem:
    """A cache with what its runs write and cost, by halves."""

    def __init__(self, bench: ObjectBench, capacity: int, cost: DiskHead) -> None:
        self.bench, self.capacity, self.cost = bench, capacity, cost
        self.half = bench.first(capacity)
        self.cut = int(TRAINED_ON * self.half)
        clock, time = Clock(), bench.trace.time_us
        clock.add(time)
        self.seconds = float(time[-1] - time[0]) / 1e6 if clock.ticks(bench.trace.meta.extra) else 0.0
        rows = bench.requests.row
        at = time if rows is None else time[rows]
        self.second_s = float(at[-1] - at[self.half]) / 1e6 if self.seconds else 0.0
        self.everything = bench.run(EVICTION, capacity)
        wrote = self.written(self.everything)
        self.first_all, self.knob_all, self.second_all = (
            float(wrote[part].sum())
            for part in (slice(0, self.half), slice(self.cut, self.half), slice(self.half, None))
        )
        sizes = bench.requests.size[: self.half][bench.asked[: self.half]]
        # The sizes above which objects may stay out, and one that lets none in.
        self.sizes = np.unique(np.append(np.quantile(sizes, np.linspace(0, 1, STEPS + 1), method="nearest"), 1))

    def text_of(self, name: str, step: int) -> str:
        """An untrained admission with a setting of its knob; larger ones let more in."""
        if name == COIN_FLIP:
            return f"coinflip(p={step / COIN_STEPS!r})+{EVICTION}"
        if name == REJECTX:
            return f"rejectx(window_capacities={float(WINDOWS[step])!r})+{EVICTION}"
        return f"bysize(largest={int(self.sizes[step])})+{EVICTION}"

    def settings(self, name: str) -> int:
        """The largest setting of an untrained admission's knob."""
        return {COIN_FLIP: COIN_STEPS, REJECTX: len(WINDOWS) - 1, BY_SIZE: len(self.sizes) - 1}[name]

    def written(self, run: ObjectRun) -> I64:
        """int64[n]: bytes that each request wrote to the flash."""
        return _written(self.bench.requests, run.found.outcome)

    def disk_seconds(self, run: ObjectRun) -> F64:
        """float64[n]: of a disk's head for reads that miss; writes, the same whatever is cached, count 0."""
        requests = self.bench.requests
        missed = (requests.op == OP_READ) & ~run.hit
        return self.cost.seconds(missed, np.where(missed, requests.size, 0))

    def row(
        self, runs: Sequence[ObjectRun], admission: str, policy: str, rate: str = "", reached: bool = True
    ) -> ObjectFlashRow:
        """The figures of a run, or of those of several trainings, on the second half."""
        asked = self.bench.asked  # a delete is no request, and costs no time
        parts = (slice(self.cut, self.half), slice(self.half, None))
        costs = [tuple(self.disk_seconds(run)[part][asked[part]] for part in parts) for run in runs]
        before, cost = (np.mean(np.stack(part), axis=0) for part in zip(*costs, strict=True))
        written = round(float(np.mean([self.written(run)[self.half :].sum() for run in runs])))
        per_s = (lambda value: float(value) / self.second_s) if self.second_s else (lambda value: None)
        return ObjectFlashRow(
            float(cost.mean()), block_means(cost), rate, admission, policy, reached,
            float(np.mean([run.found.hit_ratio for run in runs])),
            float(np.mean([run.found.byte_hit_ratio for run in runs])),
            written, written / max(self.second_all, 1.0), per_s(written), per_s(cost.sum()),
            float(before.mean()) if len(before) else 0.0,
            tuple(Outcome(float(own.mean()), block_means(own)) for _, own in costs) if len(runs) > 1 else (),
        )  # fmt: skip

    def share(self, rate: WriteRate) -> float:
        """Share of what accept_all writes that the first half may write.

        Raises:
            ConfigError: a rate in bytes a second, of a trace without a clock; one at which no object can be written.
        """
        if rate.bytes_s is not None and not self.seconds:
            raise ConfigError(f"--write-rate {rate.text}: the trace has no clock, so there is no rate; give a share")
        first_s = self.seconds - self.second_s
        found = rate.share if rate.bytes_s is None else rate.bytes_s * first_s / max(self.first_all, 1.0)
        known = self.bench.requests.object_bytes
        least = int(known[known > 0].min())
        if self.knob_all and found * self.knob_all < least:
            short = f"where the knobs are set that is less than the smallest object, {least:,} bytes"
            raise ConfigError(f"--write-rate {rate.text}: {short}; give a higher rate, or a longer trace")
        return found

    def allowed(self, rate: WriteRate) -> float:
        """Share of what accept_all writes on the second half that a rate allows there."""
        return rate.share if rate.bytes_s is None else rate.bytes_s * self.second_s / max(self.second_all, 1.0)


def _written(requests: Requests, outcome: U8) -> I64:
    """int64[n]: bytes that each request wrote to the flash."""
    wrote: Bool = (outcome == ADMITTED) | ((outcome == HIT) & (requests.op == OP_WRITE))
    return np.where(wrote, requests.size, 0)


def object_flash(
    bench: ObjectBench, capacity: int, rates: Sequence[WriteRate], admissions: Sequence[str], cost: DiskHead,
    advance: Advance | None = None,
) -> ObjectFlash:  # fmt: skip
    """Run admissions at write rates.

    Args:
        bench: the trace, counted from its second half on.
        capacity: bytes.
        rates: each to be met, where knobs are set, by every admission that has one.
        admissions: of `ALL`; where Baleen's is among them, those that it is compared with run too.
        cost: of a disk's I/O.
        advance: progress, as a part of the work.

    Raises:
        ConfigError: sizes are ignored, or as of `_Problem.share`.
    """
    if not bench.rules.sizes:
        raise ConfigError("--ignore sizes: a flash cache is written in bytes; leave the option out")
    problem = _Problem(bench, capacity, cost)
    trained, left_out = BALEEN in admissions, list[str]()
    if trained and not _have_lightgbm():
        trained, left_out = False, ["baleen is left out: lightgbm is not installed; pip install '.[models]'"]
    names = [name for name in admissions if name != ACCEPT_ALL and (trained or name != BALEEN)]
    names += [name for name in UNTRAINED if BALEEN in admissions and name not in names]
    rows = [problem.row([problem.everything], ACCEPT_ALL, EVICTION)] if ACCEPT_ALL in admissions else []
    leads, done = list[ObjectLead](), 0
    for rate in rates:
        share, found = problem.share(rate), list[ObjectFlashRow]()
        for name in names:
            if advance is not None:
                advance(done / (len(rates) * len(names)), f"{name} at {rate.text}")
            done += 1
            if name != BALEEN:
                found.append(_at_budget(problem, name, rate.text, share))
                continue
            try:
                found.append(_trained(problem, rate.text, share))
            except TrainingError as error:
                left_out.append(f"baleen at {rate.text} is left out: {error}")
        rows += found
        ranked = sorted((row for row in found if row.admission in UNTRAINED), key=lambda row: row.chosen_by)
        pairs = [(ranked[0], ranked[1])] if len(ranked) > 1 else []
        pairs += [(row, ranked[0]) for row in found if row.admission == BALEEN]
        allowed = problem.allowed(rate)
        leads += [ObjectLead(rate.text, ours, rival, ours.saves(rival), allowed) for ours, rival in pairs]
    return ObjectFlash(capacity, tuple(rows), tuple(leads), tuple(left_out))


def _have_lightgbm() -> bool:
    """Whether what trains a forest is installed; a light installation does without."""
    try:
        import lightgbm  # noqa: F401
    except ImportError:
        return False
    return True


def _at_budget(problem: _Problem, name: str, rate: str, share: float) -> ObjectFlashRow:
    """An untrained admission with the setting that meets the share of accept_all's writes, or the next below."""
    runs = dict[int, ObjectRun]()

    def writes_at(step: int) -> int:
        if step not in runs:
            runs.clear()
            runs[step] = problem.bench.run(problem.text_of(name, step), problem.capacity)
        return int(problem.written(runs[step])[problem.cut : problem.half].sum())

    found = meet_budget(writes_at, problem.settings(name), share * problem.knob_all, TOLERANCE)
    writes_at(found.index)
    return problem.row([runs[found.index]], name, runs[found.index].policy, rate, found.reached)


def _trained(problem: _Problem, rate: str, share: float) -> ObjectFlashRow:
    """Baleen's admission, trained `SEEDS` times on the first part of the first half, each with its own threshold.

    The budgets of the two parts of the first half are the same share of what accept_all writes there.

    Raises:
        TrainingError: there is too little to learn from.
    """
    bench, half = problem.bench, problem.half
    requests, cut = bench.requests, problem.cut
    if half - cut < LEAST_REQUESTS:
        raise TrainingError(f"{half:,} requests in the first half: too few to learn from")
    flash = Flash(problem.capacity, problem.cost, bench.rules.around)
    wrote = problem.written(problem.everything)

    def writes(decisions: Bool, since: int) -> int:
        part = requests.first(len(decisions))
        run = simulate(part, decided(decisions), problem.capacity, around=bench.rules.around)
        return int(_written(part, run.outcome)[since:].sum())

    labels = Labels.of(
        requests.first(cut), flash, share * float(wrote[:cut].sum()), lambda own: writes(own, 0), TOLERANCE
    )
    columns = [codes_of(getattr(bench.trace, name), requests.row, len(requests)) for name in CODED]
    given, names = inputs(requests, columns, labels.age)
    seeds = [derive_seed(0, "baleen_of_objects", k) for k in range(SEEDS)]
    runs, reached = list[ObjectRun](), True
    for scores in fit_scores(given, names, requests.ids, labels, seeds):
        tried = np.unique(np.quantile(scores[cut:half], np.linspace(0, 1, STEPS + 1), method="nearest"))[::-1]
        steps = np.append(tried[0] + 1.0, tried)
        found = meet_budget(
            lambda step, own=scores, at=steps: writes(own[:half] >= at[step], cut),  # type: ignore[misc]
            len(steps) - 1, share * problem.knob_all, TOLERANCE,
        )  # fmt: skip
        runs.append(bench.run(decided(scores >= steps[found.index]), problem.capacity))
        reached = reached and found.reached
    return problem.row(runs, BALEEN, f"{BALEEN}+{EVICTION}", rate, reached)

"""Policies and bundles in the flash cache of one trace, each at its best within a write rate, by simulation.

Of each policy the table says how many disks its misses keep busy: disk-head seconds a second, mean and peak over
windows of time. Every knob is set on the trace itself, by simulation, of the models as of the policies without one: the
rows say what each can do at its best within the same limit on writes. How well a threshold chosen beforehand meets a
rate is the row of a bundle as shipped, which has none.

Source: Wong et al., "Baleen: ML Admission & Prefetching for Flash Caches", FAST 2024; see docs/baleen.md.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cachezoo.arrays import F64
from cachezoo.console import Advance
from cachezoo.contest.lead import Interval, saving
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.flash.load import LoadWindows, load_curve, load_windows, time_scale
from cachezoo.flash.measure import measure
from cachezoo.flash.modes import ML_MODES, NONE
from cachezoo.flash.policies import ACCEPT_ALL, BUDGETED, Tuned, baseline, beside, learned
from cachezoo.flash.problem import FlashProblem
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.kernels.segments import Geometry
from cachezoo.labels.episodes import NO_PREFETCH, OPT_MODES, label_problem
from cachezoo.questions.flash.asked import OPT, TOLERANCE, FlashAsked
from cachezoo.questions.flash.limit import Limits, Within
from cachezoo.questions.flash.model import FlashModel
from cachezoo.questions.flash.rate import WriteRate
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.traces.clock import has_clock
from cachezoo.traces.table import Trace

WITHOUT, MODEL, ORACLE = "without model", "model", "oracle"
HOUR_DAYS = 1 / 24
# How OPT's eviction age is looked for, as `label.episodes`; the cache and its writes are the problem's own.
OPT_SEARCH: dict[str, Any] = {
    "cache_fraction": 1.0, "write_budget": 1.0, "budget_tolerance": TOLERANCE, "age_tolerance": 0.05,
    "age_damping": 0.5, "age_rounds": 12, "min_evictions": 100, "horizon_fraction": 0.25,
}  # fmt: skip
RATED_YEARS = 5.0


@dataclass(frozen=True)
class FlashRow:
    """A policy at a write rate; the fields are those of the JSON.

    Attributes:
        policy: a name of `WITHOUT_MODEL`, a bundle's id, or `opt`.
        kind: `without model`, `model` or `oracle`.
        prefetch: the mode.
        asked: the write rate as typed; None of AcceptAll, which has no knob, and of a bundle at its own threshold.
        reached: it writes as much as that, to 2.5 %; False: less.
        more_helps: False where a setting that writes more within the limit was tried, and is no better.
        knob: a probability, a window in requests, a score threshold, or episodes admitted.
        written_bytes_s: SSD writes a second of the trace's clock, from the first request on; None without a clock.
        written_share: of what AcceptAll writes without prefetch.
        disk_ms_per_read: disk-head milliseconds that its missing reads take, over all reads that are counted.
        disks_busy, disks_busy_interval, disks_busy_peak: disk-head seconds a second that its missing reads take: mean
            over the windows with its 90 % interval, and the largest; None without a clock.
        io_hit_ratio: reads without an I/O on the disks.
        byte_hit_ratio: segments read from flash.
        prefetch_accuracy: of the segments prefetched, read before they left.
        ssd_bytes_a_day: None without a clock, and where the trace is shorter than an hour of recorded time.
        drive_writes_a_day: the same over the capacity.
        lifetime_years: until the SSD has taken what it is rated for.
    """

    policy: str
    kind: str
    prefetch: str
    asked: str | None
    reached: bool | None
    more_helps: bool | None
    knob: float | None
    written_bytes_s: float | None
    written_share: float
    disk_ms_per_read: float
    disks_busy: float | None
    disks_busy_interval: Interval | None
    disks_busy_peak: float | None
    io_hit_ratio: float
    byte_hit_ratio: float
    prefetch_accuracy: float | None
    ssd_bytes_a_day: float | None
    drive_writes_a_day: float | None
    lifetime_years: float | None


@dataclass(frozen=True)
class Best:
    """The best of some rows within a write rate; the fields are those of `FlashRow`."""

    policy: str
    prefetch: str
    written_bytes_s: float | None
    written_share: float

    @classmethod
    def of(cls, row: FlashRow) -> "Best":
        """What is kept of a row."""
        return cls(row.policy, row.prefetch, row.written_bytes_s, row.written_share)


@dataclass(frozen=True)
class Saving:
    """What the best model saves against the best policy without one.

    Attributes:
        model: the best bundle.
        share: of the rival's mean disk-head time; below 0 where it costs more.
        interval: its 90 % interval, in pairs of windows.
        verdict: on it.
    """

    model: Best
    share: float
    interval: Interval
    verdict: Verdict


@dataclass(frozen=True)
class Rate:
    """The best model and the best policy without one, each at its best within a write rate.

    Attributes:
        asked: the rate.
        rival: the best policy without a model.
        more_helps: of the rival: False where it writes less than it may, as more writes are no better.
        saving: of the best bundle; None without one.
    """

    asked: str
    rival: Best
    more_helps: bool
    saving: Saving | None = None


@dataclass(frozen=True)
class FlashTable:
    """What `cachezoo flash` says of a trace.

    Attributes:
        geometry, capacity: segments and blocks; the cache in segments.
        requests: of the trace.
        windows: of time that disk time is measured in, and the requests before them.
        seconds: the trace's span.
        clock: the trace has times, and not row numbers or one time for all; without them nothing is said by the second.
        scale: seconds of the recorded day that one second of the trace stands for.
        write_disks_busy: disk-head seconds a second of the trace's writes, whatever is cached; None without a clock.
        rows: policies without a model, bundles, OPT.
        leads: of each rate.
    """

    geometry: Geometry
    capacity: int
    requests: int
    windows: LoadWindows
    seconds: float
    clock: bool
    scale: float
    write_disks_busy: float | None
    rows: list[FlashRow]
    leads: list[Rate]


class _Bench:
    """A trace with its cache, and the rows of its runs."""

    def __init__(self, trace: Trace, problem: FlashProblem, asked: FlashAsked, seed: int) -> None:
        flash = FlashPolicy(
            eviction="lru", seek_ms=asked.cost.seek_ms, rate_mib_s=asked.cost.rate_mib_s, window_min_s=600.0,
            window_min_reads=1000, min_windows=20, min_gap=0.02,
        )  # fmt: skip
        self.problem, self.asked = problem, asked
        self.scale = time_scale(trace)
        self.windows = load_windows(trace.time_us, problem, flash, self.scale)
        self.clock = has_clock(trace)
        self.seconds = float(trace.time_us[-1] - trace.time_us[0]) / 1e6 if self.clock else 0.0
        self._seed, self._trace_id = seed, trace.meta.trace_id

    def curve(self, run: FlashRun) -> F64:
        """Disk-head seconds a second of its reads in each window."""
        return load_curve(self.problem.dt_seconds(run), self.windows)

    def limit(self, rate: WriteRate) -> float:
        """Segments that may be written at a rate."""
        problem = self.problem
        return rate.segments(problem.accept_all.segment_writes, self.seconds, problem.geometry.segment_bytes)

    def at(self, limit: float) -> FlashProblem:
        """The cache with a knob to be set within 2.5 % below a limit."""
        half = TOLERANCE / 2
        return replace(self.problem, budget=limit * (1 - half), tolerance=half)

    def plain(self, problem: FlashProblem, name: str, mode: str) -> Tuned:
        """A policy without a model."""
        return baseline(name, self._seed, self._trace_id)(problem, beside(problem, mode))

    def oracle(self, problem: FlashProblem, prefetching: bool) -> tuple[str, Tuned]:
        """OPT; where the others prefetch, in the mode that is best on this very trace."""
        found = dict[str, Tuned]()
        label = EpisodeLabel(**asdict(problem.geometry), **OPT_SEARCH | {"budget_tolerance": problem.tolerance})
        for mode in OPT_MODES if prefetching else (NO_PREFETCH,):
            choice = label_problem(problem, label, mode).choice
            found[mode] = Tuned(choice.run, float(choice.calibration.index), choice.calibration.reached)
        best = min(found, key=lambda mode: float(self.curve(found[mode].run).mean()))
        return best, found[best]

    def row(self, policy: str, kind: str, rate: WriteRate | None, within: Within) -> FlashRow:
        """A run's figures."""
        tuned, run, problem, windows = within.tuned, within.tuned.run, self.problem, self.windows
        load = measure(problem, run, windows)
        written = run.segment_writes * problem.geometry.segment_bytes
        per_day = written / windows.days if self.clock and windows.days >= HOUR_DAYS else None
        drives = None if per_day is None else per_day / (problem.capacity * problem.geometry.segment_bytes)
        known = rate is not None
        return FlashRow(
            policy=policy,
            kind=kind,
            prefetch=within.mode,
            asked=rate.text if rate is not None else None,
            reached=within.reached if known else None,
            more_helps=within.more_helps if known else None,
            knob=tuned.knob if known or kind == MODEL else None,
            written_bytes_s=written / self.seconds if self.clock else None,
            written_share=load.writes_of_accept_all,
            disk_ms_per_read=1e3 * load.read_dt_s / max(1, int(np.count_nonzero(problem.read[windows.first :]))),
            disks_busy=load.read_dt.mean if self.clock else None,
            disks_busy_interval=load.read_dt_mean_interval if self.clock else None,
            disks_busy_peak=load.read_dt.peak if self.clock else None,
            io_hit_ratio=load.io_hit_ratio,
            byte_hit_ratio=load.byte_hit_ratio,
            prefetch_accuracy=load.prefetch_accuracy,
            ssd_bytes_a_day=per_day,
            drive_writes_a_day=drives,
            lifetime_years=RATED_YEARS * self.asked.rated_dwpd / drives if drives else None,
        )

    def write_disks_busy(self) -> float | None:
        """Mean disk-head seconds a second of the trace's writes, which go to the disks whatever is cached."""
        if not self.clock:
            return None
        return float(load_curve(self.problem.write_dt_seconds(), self.windows).mean())


@dataclass(frozen=True)
class _Case:
    """A run to make: who, with what beside, at which rate; None: with the knob as it comes."""

    policy: str
    kind: str
    mode: str
    rate: WriteRate | None


def modes_of(asked: FlashAsked, models: Sequence[FlashModel]) -> tuple[list[str], list[str]]:
    """The prefetch modes that every policy is run in, and those of the bundles alone.

    Raises:
        ConfigError: a mode that asks a model is asked for, and no prefetch bundle is given.
    """
    own = [mode for model in models for mode in model.ranged]
    if asked.prefetch is None:
        plain = [mode for model in models for mode in model.thresholds if mode not in ML_MODES]
        return list(dict.fromkeys([NONE, *plain])), list(dict.fromkeys(own))
    return [mode for mode in asked.prefetch if mode not in ML_MODES], [m for m in asked.prefetch if m in ML_MODES]


def _cases(asked: FlashAsked, models: Sequence[FlashModel]) -> list[_Case]:
    """Policies without a model, then bundles, then the oracle; each by rate and mode."""
    plain, ranged = modes_of(asked, models)
    found = [_Case(ACCEPT_ALL, WITHOUT, mode, None) for mode in plain if ACCEPT_ALL in asked.policies]
    for rate in asked.rates:
        for name in BUDGETED:
            found += [_Case(name, WITHOUT, mode, rate) for mode in plain if name in asked.policies]
    for model in models:
        modes = [mode for mode in (*plain, *ranged) if mode not in ML_MODES or mode in model.ranged]
        found += [_Case(model.name, MODEL, mode, None) for mode in modes if mode in model.thresholds]
        found += [_Case(model.name, MODEL, mode, rate) for rate in asked.rates for mode in modes]
    if OPT in asked.policies:
        prefetching = any(mode != NONE for mode in (*plain, *ranged))
        found += [_Case(OPT, ORACLE, "best" if prefetching else NONE, rate) for rate in asked.rates]
    return found


def count_cases(asked: FlashAsked, models: Sequence[FlashModel]) -> int:
    """Runs to make, each with its knob to set."""
    return len(_cases(asked, models))


def flash_table(
    trace: Trace, problem: FlashProblem, models: Sequence[FlashModel], asked: FlashAsked, seed: int,
    advance: Advance | None = None,
) -> FlashTable:  # fmt: skip
    """Run every policy and bundle in every mode at every rate.

    Args:
        trace: the requests.
        problem: their cache, see `flash_problem_of`.
        models: what the bundles decide on the trace.
        asked: what is asked.
        seed: of CoinFlip's draws.
        advance: told (runs done, the last one's name).

    Raises:
        ConfigError: a rate below one segment.
        TraceError: blocks of more segments than ids can number.
    """
    bench = _Bench(trace, problem, asked, seed)
    limits = [bench.limit(rate) for rate in asked.rates]
    by_name = {model.name: model for model in models}
    rows, curves, settings = list[FlashRow](), list[F64](), dict[tuple[str, str], Limits]()
    cases = _cases(asked, models)
    for done, case in enumerate(cases):
        if advance is not None:
            advance(done, f"{case.policy} {case.mode}")
        run = partial(_run, bench, case, by_name.get(case.policy))
        if case.rate is None:
            found = run(None)
        else:
            own = (case.policy, case.mode)
            settings[own] = settings.get(own) or Limits(run, limits)
            found = settings[own].best(bench.limit(case.rate))
        rows.append(bench.row(case.policy, case.kind, case.rate, found))
        curves.append(bench.curve(found.tuned.run))
    return FlashTable(
        geometry=problem.geometry,
        capacity=problem.capacity,
        requests=len(problem),
        windows=bench.windows,
        seconds=bench.seconds,
        clock=bench.clock,
        scale=bench.scale,
        write_disks_busy=bench.write_disks_busy(),
        rows=rows,
        leads=[lead for rate in asked.rates if (lead := _lead(rate, rows, curves)) is not None],
    )


def _run(bench: _Bench, case: _Case, model: FlashModel | None, limit: float | None) -> Within:
    """A case with its knob set to write at most so many segments; None: as it comes."""
    problem = bench.problem if limit is None else bench.at(limit)
    mode = case.mode
    if case.kind == ORACLE:
        mode, tuned = bench.oracle(problem, mode != NONE)
    elif model is None:
        tuned = bench.plain(problem, case.policy, mode)
    else:
        fetched: Prefetch | None = model.ranged[mode] if mode in model.ranged else beside(problem, mode)
        if limit is None:
            threshold = model.thresholds[mode]
            tuned = Tuned(problem.run(model.scores >= threshold, fetched), threshold, True)
        else:
            tuned = learned(problem, model.scores, fetched)
    return Within(mode, tuned, float(bench.curve(tuned.run).mean()))


def _lead(rate: WriteRate, rows: Sequence[FlashRow], curves: Sequence[F64]) -> Rate | None:
    """The best policy without a model at a rate, and the best bundle beside it; None where no such policy ran."""
    best: dict[str, int] = {}
    for k, row in enumerate(rows):
        own = row.asked == rate.text
        if own and (row.kind not in best or row.disk_ms_per_read < rows[best[row.kind]].disk_ms_per_read):
            best[row.kind] = k
    if WITHOUT not in best:
        return None
    rival, told = rows[best[WITHOUT]], None
    if MODEL in best:
        ours, theirs = curves[best[MODEL]], curves[best[WITHOUT]]
        saved = saving(ours, theirs)
        told = Saving(Best.of(rows[best[MODEL]]), saved.value, saved.ends, verdict(saved, LEAST_SAVING))
    return Rate(rate.text, Best.of(rival), bool(rival.reached or rival.more_helps), told)

"""Policies and bundles in the flash cache of one trace, each with its knob set to a write rate by simulation.

Of each policy the table says how many disks its misses keep busy: disk-head seconds a second, mean and peak over
windows of time. Every knob is set on the trace itself, by simulation, of the models as of the policies without one: the
rows say what each can do at equal writes. How well a threshold chosen beforehand meets a rate is the row of a bundle as
shipped, which has none.

Source: Wong et al., "Baleen: ML Admission & Prefetching for Flash Caches", FAST 2024; see docs/baleen.md.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.console import Advance
from cachezoo.evaluation.flash_cache.asked import OPT, TOLERANCE, FlashAsked
from cachezoo.evaluation.flash_cache.model import FlashModel
from cachezoo.evaluation.flash_cache.rate import WriteRate
from cachezoo.flash.load import LoadWindows, load_curve, load_windows, time_scale
from cachezoo.flash.measure import measure
from cachezoo.flash.modes import ML_MODES, NONE
from cachezoo.flash.policies import ACCEPT_ALL, BUDGETED, Tuned, baseline, beside, learned
from cachezoo.flash.problem import FlashProblem
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.kernels.segments import Geometry
from cachezoo.labels.episodes import NO_PREFETCH, OPT_MODES, label_problem
from cachezoo.measures.serial import Interval, saving_interval
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.traces.table import Trace

F64 = npt.NDArray[np.float64]
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
        reached: the writes are within 2.5 % of it; False: no setting is, and this is the most below it.
        knob: a probability, a window in requests, a score threshold, or episodes admitted.
        written_bytes_s: SSD writes a second of the trace's clock, from the first request on; None without a span.
        written_share: of what AcceptAll writes without prefetch.
        disks_busy, disks_busy_interval, disks_busy_peak: disk-head seconds a second that its missing reads take: mean
            over the windows with its 90 % interval, and the largest.
        io_hit_ratio: reads without an I/O on the disks.
        byte_hit_ratio: segments read from flash.
        prefetch_accuracy: of the segments prefetched, read before they left.
        ssd_bytes_a_day: None where the trace is shorter than an hour of recorded time.
        drive_writes_a_day: the same over the capacity.
        lifetime_years: until the SSD has taken what it is rated for.
    """

    policy: str
    kind: str
    prefetch: str
    asked: str | None
    reached: bool | None
    knob: float | None
    written_bytes_s: float | None
    written_share: float
    disks_busy: float
    disks_busy_interval: Interval
    disks_busy_peak: float
    io_hit_ratio: float
    byte_hit_ratio: float
    prefetch_accuracy: float | None
    ssd_bytes_a_day: float | None
    drive_writes_a_day: float | None
    lifetime_years: float | None


@dataclass(frozen=True)
class Lead:
    """The best model beside the best policy without one, at a write rate.

    Attributes:
        asked: the rate.
        rival, rival_prefetch: the best policy without a model.
        model, model_prefetch: the best bundle; None without one.
        saved: of the rival's mean disk-head time; None without a model.
        interval: 90 % of it, window by window.
        more_writes: the model writes more than the rival, by more than both may miss the rate.
    """

    asked: str
    rival: str
    rival_prefetch: str
    model: str | None = None
    model_prefetch: str | None = None
    saved: float | None = None
    interval: Interval | None = None
    more_writes: bool = False


@dataclass(frozen=True)
class FlashTable:
    """What `cachezoo flash` says of a trace.

    Attributes:
        geometry, capacity: segments and blocks; the cache in segments.
        requests: of the trace.
        windows: of time that disk time is measured in, and the requests before them.
        seconds: the trace's span.
        counted_time: the requests are a microsecond apart: their format has no times.
        scale: seconds of the recorded day that one second of the trace stands for.
        write_disks_busy: disk-head seconds a second of the trace's writes, whatever is cached.
        rows: policies without a model, bundles, OPT.
        leads: of each rate.
    """

    geometry: Geometry
    capacity: int
    requests: int
    windows: LoadWindows
    seconds: float
    counted_time: bool
    scale: float
    write_disks_busy: float
    rows: list[FlashRow]
    leads: list[Lead]


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
        self.seconds = float(trace.time_us[-1] - trace.time_us[0]) / 1e6
        self._seed, self._trace_id = seed, trace.meta.trace_id

    def curve(self, run: FlashRun) -> F64:
        """Disk-head seconds a second of its reads in each window."""
        return load_curve(self.problem.dt_seconds(run), self.windows)

    def at(self, rate: WriteRate) -> FlashProblem:
        """The cache with the writes that a rate allows."""
        problem = self.problem
        accept_all = problem.accept_all.segment_writes
        budget = rate.segments(accept_all, self.seconds, problem.geometry.segment_bytes)
        return replace(problem, budget=budget)

    def plain(self, name: str, mode: str, rate: WriteRate | None) -> Tuned:
        """A policy without a model."""
        problem = self.problem if rate is None else self.at(rate)
        return baseline(name, self._seed, self._trace_id)(problem, beside(problem, mode))

    def oracle(self, rate: WriteRate, prefetching: bool) -> tuple[str, Tuned]:
        """OPT at a rate; where the others prefetch, in the mode that is best on this very trace."""
        problem, found = self.at(rate), dict[str, Tuned]()
        label = EpisodeLabel(**asdict(problem.geometry), **OPT_SEARCH)
        for mode in OPT_MODES if prefetching else (NO_PREFETCH,):
            choice = label_problem(problem, label, mode).choice
            found[mode] = Tuned(choice.run, float(choice.calibration.index), choice.calibration.reached)
        best = min(found, key=lambda mode: float(self.curve(found[mode].run).mean()))
        return best, found[best]

    def row(self, policy: str, kind: str, mode: str, rate: WriteRate | None, tuned: Tuned) -> FlashRow:
        """A run's figures."""
        run, problem, windows = tuned.run, self.problem, self.windows
        load = measure(problem, run, windows)
        written = run.segment_writes * problem.geometry.segment_bytes
        per_day = written / windows.days if windows.days >= HOUR_DAYS else None
        drives = None if per_day is None else per_day / (problem.capacity * problem.geometry.segment_bytes)
        known = rate is not None
        return FlashRow(
            policy=policy,
            kind=kind,
            prefetch=mode,
            asked=rate.text if rate is not None else None,
            reached=tuned.reached if known else None,
            knob=tuned.knob if known or kind == MODEL else None,
            written_bytes_s=written / self.seconds if self.seconds > 0 else None,
            written_share=load.writes_of_accept_all,
            disks_busy=load.read_dt.mean,
            disks_busy_interval=load.read_dt_mean_interval,
            disks_busy_peak=load.read_dt.peak,
            io_hit_ratio=load.io_hit_ratio,
            byte_hit_ratio=load.byte_hit_ratio,
            prefetch_accuracy=load.prefetch_accuracy,
            ssd_bytes_a_day=per_day,
            drive_writes_a_day=drives,
            lifetime_years=RATED_YEARS * self.asked.rated_dwpd / drives if drives else None,
        )

    def write_disks_busy(self) -> float:
        """Mean disk-head seconds a second of the trace's writes, which go to the disks whatever is cached."""
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
    for rate in asked.rates:
        bench.at(rate)
    by_name = {model.name: model for model in models}
    rows, curves = list[FlashRow](), list[F64]()
    cases = _cases(asked, models)
    for done, case in enumerate(cases):
        if advance is not None:
            advance(done, f"{case.policy} {case.mode}")
        mode, tuned = _run(bench, case, by_name.get(case.policy))
        rows.append(bench.row(case.policy, case.kind, mode, case.rate, tuned))
        curves.append(bench.curve(tuned.run))
    return FlashTable(
        geometry=problem.geometry,
        capacity=problem.capacity,
        requests=len(problem),
        windows=bench.windows,
        seconds=bench.seconds,
        counted_time=len(trace) > 1 and bool((np.diff(trace.time_us) == 1).all()),
        scale=bench.scale,
        write_disks_busy=bench.write_disks_busy(),
        rows=rows,
        leads=[found for rate in asked.rates if (found := _lead(rate, rows, curves)) is not None],
    )


def _run(bench: _Bench, case: _Case, model: FlashModel | None) -> tuple[str, Tuned]:
    """A case's mode, and its run."""
    if case.kind == ORACLE and case.rate is not None:
        return bench.oracle(case.rate, case.mode != NONE)
    if model is None:
        return case.mode, bench.plain(case.policy, case.mode, case.rate)
    problem = bench.problem
    fetched: Prefetch | None = model.ranged[case.mode] if case.mode in model.ranged else beside(problem, case.mode)
    if case.rate is None:
        threshold = model.thresholds[case.mode]
        return case.mode, Tuned(problem.run(model.scores >= threshold, fetched), threshold, True)
    return case.mode, learned(bench.at(case.rate), model.scores, fetched)


def _lead(rate: WriteRate, rows: Sequence[FlashRow], curves: Sequence[F64]) -> Lead | None:
    """The best policy without a model at a rate, and the best bundle beside it; None where no such policy ran."""
    best: dict[str, int] = {}
    for k, row in enumerate(rows):
        if row.asked == rate.text and (row.kind not in best or row.disks_busy < rows[best[row.kind]].disks_busy):
            best[row.kind] = k
    if WITHOUT not in best:
        return None
    rival = rows[best[WITHOUT]]
    if MODEL not in best:
        return Lead(rate.text, rival.policy, rival.prefetch)
    ours, theirs = curves[best[MODEL]], curves[best[WITHOUT]]
    model = rows[best[MODEL]]
    return Lead(
        asked=rate.text,
        rival=rival.policy,
        rival_prefetch=rival.prefetch,
        model=model.policy,
        model_prefetch=model.prefetch,
        saved=1 - float(ours.mean()) / float(theirs.mean()) if theirs.any() else 0.0,
        interval=saving_interval(ours, theirs),
        more_writes=model.written_share > rival.written_share * (1 + 2 * TOLERANCE),
    )

"""Policies and bundles in the flash cache of one trace, each at its best within a write rate, by simulation.

Of each policy the table says how many disks its misses keep busy: disk-head seconds a second, mean and peak over
windows of time. Every knob is set on the trace itself, by simulation, of the models as of the policies without one: the
rows say what each can do at its best within the same limit on writes. What to expect of a bundle is its row as shipped:
its controller keeps the rate without knowing what is to come. A bundle of an earlier release has none, and writes what
its threshold admits. Policies without a model are tried under the same controller, in every eviction; of these the one
that is best on this trace has a row.

Source: Wong et al., "Baleen: ML Admission & Prefetching for Flash Caches", FAST 2024; see docs/flash.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cachezoo.console import Advance
from cachezoo.contest.choice import Goal
from cachezoo.contest.lead import Lead
from cachezoo.contest.sampled import GROUPS, half_widths
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.flash_cache.load import LoadWindows, load_curve
from cachezoo.flash_cache.modes import NONE
from cachezoo.flash_cache.policies import ACCEPT_ALL, ADMISSIONS, COIN_FLIP, WITH_EVICTIONS, prefetch_of
from cachezoo.flash_cache.problem import FlashProblem
from cachezoo.kernels.segments import Geometry
from cachezoo.kernels.write_budget import Controller
from cachezoo.labels.episodes import NO_PREFETCH, OPT_MODES, Admission, OptMode, label_problem
from cachezoo.metrics.flash import RateRow, Yearly
from cachezoo.questions.flash.bench import MODEL, OPT, ORACLE, WITHOUT, Bench, Candidate, FlashOutcome
from cachezoo.questions.flash.model import FlashModel
from cachezoo.questions.flash.options import TOLERANCE, FlashOptions, WriteRate, capacity_segments, flash_problem_of
from cachezoo.questions.flash.sampled import whole_of, with_errors
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.sizes import Size
from cachezoo.traces.sampling import SampledTrace
from cachezoo.traces.table import Trace

HOUR_DAYS = 1 / 24
MOST_HALVINGS = 6
NAMED = ("policy", "prefetch", "written_bytes_s", "written_share")  # of a row in a lead
Ran = tuple[RateRow, FlashOutcome]
# How OPT's eviction age is looked for and reads are labelled, as `label.episodes`; the cache and its writes are the
# problem's own.
OPT_SEARCH: dict[str, Any] = {
    "cache_fraction": 1.0, "write_budget": 1.0, "budget_tolerance": TOLERANCE, "age_tolerance": 0.05,
    "age_damping": 0.5, "age_rounds": 12, "min_evictions": 100, "horizon_fraction": 0.25,
    "budgets": [0.05, 0.10, 0.25, 0.50], "first_accesses": 6,
}  # fmt: skip
RATED_YEARS = 5.0


class Limits:
    """A policy in one prefetch mode, under several limits.

    It is set to each limit, then to halves of it until that no longer helps. Under a limit the best of all that was
    tried and keeps it is taken, so a higher limit is never worse than a lower one.
    """

    def __init__(self, set_to: Callable[[float], FlashOutcome], limits: Sequence[float]) -> None:
        """Try settings.

        Args:
            set_to: the policy with its knob set to write at most so many segments.
            limits: segments that may be written.
        """
        tried = dict[float, FlashOutcome]()
        for limit in limits:
            target, before = limit, float("inf")
            for _ in range(MOST_HALVINGS + 1):
                if target not in tried:
                    tried[target] = set_to(target)
                if tried[target].mean >= before or target < 2:
                    break
                target, before = target / 2, tried[target].mean
        self._tried = list(tried.values())

    def best(self, limit: float) -> FlashOutcome:
        """The setting that costs the disks least, of those that keep a limit; ties go to fewer writes.

        Where none keeps it, the one that exceeds it least.
        """
        found = min(self._tried, key=lambda own: (max(own.writes, limit), own.mean, own.writes))
        clearly = found.writes * (1 + TOLERANCE)
        more = any(clearly < own.writes <= limit for own in self._tried)
        return replace(found, reached=found.writes >= limit * (1 - TOLERANCE), more_helps=not more)


@dataclass(frozen=True)
class RateLead:
    """The best policy without a model at a write rate, and what the best bundle saves of its disk-head time."""

    asked: str
    rival: RateRow
    model: RateRow | None = None
    saved: Lead | None = None
    # Of a sample, those without a model of which it does not say whether the rival is ahead
    level: tuple[str, ...] = ()

    @property
    def more_helps(self) -> bool:
        """False where the rival writes less than it may, as more writes are no better."""
        return bool(self.rival.reached or self.rival.more_helps)

    @property
    def verdict(self) -> Verdict | None:
        """On the saving; None without a bundle."""
        return None if self.saved is None else verdict(self.saved, LEAST_SAVING)

    def values(self) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {"asked": self.asked, "rival": self.rival.values(*NAMED), "more_helps": self.more_helps}
        found |= {"level": list(self.level)} if self.rival.errors_90 else {}
        if self.model is None or self.saved is None:
            return {**found, "saving": None}
        saved = {"share": self.saved.value, "interval": self.saved.ends, "verdict": self.verdict}
        return {**found, "saving": {"model": self.model.values(*NAMED), **saved}}


@dataclass(frozen=True)
class FlashTable:
    """What `recommend --only flash` says of a trace and a cache; from a sample, estimates for the whole trace."""

    trace_id: str
    geometry: Geometry
    size: str  # of the cache, as typed
    capacity: int  # segments
    requests: int  # of the trace
    windows: LoadWindows  # that disk time is measured in
    seconds: float  # the trace's span
    clock: bool  # the trace has times, not row numbers or one time for all; without them nothing is by the second
    scale: float  # seconds of the recorded day that one second of the trace stands for
    write_disks_busy: float | None  # disk-head seconds a second of the trace's writes; None without a clock
    without: Yearly | None  # the cost of a year of the disks alone; None without a clock
    rows: list[RateRow]  # policies without a model, bundles, OPT
    leads: list[RateLead]  # of each rate, in hindsight
    kept: list[RateLead]  # of each rate, and bundle as shipped if there is one, kept by the controller
    sampled: float | None = None  # the part of the blocks that it is an estimate from

    @property
    def cheapest(self) -> list[RateRow]:
        """Of each limit on writes the row that costs least a year, the cheapest first; OPT, which is no cache, apart.

        Empty without a clock. A policy that nothing limits, or a bundle as shipped, is a limit of its own.
        """
        found: dict[str, RateRow] = {}
        for row in self.rows:
            limit = row.asked or name_of(row)
            if row.kind == ORACLE or row.year is None:
                continue
            if limit not in found or row.year.usd < found[limit].year.usd:  # type: ignore[union-attr]
                found[limit] = row
        return sorted(found.values(), key=lambda row: row.year.usd if row.year else 0.0)


class RateBench(Bench):
    """A trace with its cache under limits on writes."""

    def __init__(self, trace: Trace, problem: FlashProblem, size: Size, options: FlashOptions, seed: int) -> None:
        """Set up.

        Args:
            trace: the requests.
            problem: their cache.
            size: of that, as typed.
            options: what runs.
            seed: of CoinFlip's draws.
        """
        flash = FlashPolicy(
            eviction="lru", disk=options.disk, seek_ms=options.cost.seek_ms, rate_mib_s=options.cost.rate_mib_s,
            window_min_s=600.0, window_min_reads=1000, min_windows=20, min_gap=0.02,
        )  # fmt: skip
        super().__init__(trace, problem, flash, seed, options.prices, options.most_busy)
        self.options, self.size = options, size

    def limit(self, rate: WriteRate) -> float:
        """Segments that may be written at a rate; of a sample as many fewer."""
        problem = self.problem
        found = rate.segments(problem.accept_all.segment_writes, self.seconds, problem.geometry.segment_bytes)
        return found if problem.whole is None or rate.bytes_s is None else found / problem.whole.reads

    def as_shipped(self, candidate: Candidate, limit: float | None) -> FlashOutcome:
        """A model whose controller keeps a limit; None: it has none."""
        assert candidate.shipped is not None
        problem = self.problem if limit is None else replace(self.problem, budget=limit)
        found = candidate.shipped(problem)
        return replace(self.outcome(candidate.mode, found), reached=found.reached)

    def within(self, candidate: Candidate, limit: float | None) -> FlashOutcome:
        """A candidate with its knob set within 2.5 % below a limit; None: as it comes."""
        half = TOLERANCE / 2
        problem = self.problem if limit is None else replace(self.problem, budget=limit * (1 - half), tolerance=half)
        return candidate.run(problem)

    def opt(self, prefetching: bool) -> Candidate:
        """OPT, its eviction age found at each limit anew; where the others prefetch, in its best mode."""

        def choose(problem: FlashProblem, mode: OptMode) -> Admission:
            label = EpisodeLabel(**asdict(problem.geometry), **OPT_SEARCH | {"budget_tolerance": problem.tolerance})
            return label_problem(problem, label, mode).choice

        modes = OPT_MODES if prefetching else (NO_PREFETCH,)
        return self.oracle(modes, choose, "best" if prefetching else NONE)

    def rate_row(self, candidate: Candidate, rate: WriteRate | None, found: FlashOutcome, as_shipped: bool) -> RateRow:
        """A run's figures."""
        problem, windows, limited = self.problem, self.windows, rate is not None
        row = self.row(found.tuned, found.mode, limited or candidate.kind == MODEL)
        knob, counts = row.knob, not (as_shipped or candidate.policy.startswith(COIN_FLIP))
        if knob is not None and problem.whole is not None and counts:
            knob *= problem.whole.accesses  # requests, misses or episodes
        capacity = problem.whole_capacity * problem.geometry.segment_bytes
        written = row.segment_writes * problem.geometry.segment_bytes
        per_day = written / windows.days if self.clock and windows.days >= HOUR_DAYS else None
        drives = None if per_day is None else per_day / capacity
        return RateRow(
            **dict(row) | {"reached": found.reached if limited else None, "knob": knob},
            size=str(self.size),
            capacity_bytes=capacity,
            policy=candidate.policy,
            kind=candidate.kind,
            asked=None if rate is None else rate.text,
            as_shipped=as_shipped,
            more_helps=found.more_helps if limited else None,
            clock=self.clock,
            written_bytes_s=written / self.seconds if self.clock else None,
            disk_ms_per_read=1e3 * row.read_dt_s / max(1, problem.requests(slice(windows.first, None), reads=True)),
            ssd_bytes_a_day=per_day,
            drive_writes_a_day=drives,
            lifetime_years=RATED_YEARS * self.options.rated_dwpd / drives if drives else None,
        )

    def write_disks_busy(self) -> float | None:
        """Mean disk-head seconds a second of the trace's writes, which go to the disks, where all is admitted."""
        if not self.clock:
            return None
        seconds = self.problem.disk_times(self.problem.accept_all)[0] * ~self.problem.read
        return float(load_curve(seconds, self.windows).mean())


def modes_of(options: FlashOptions, models: Sequence[FlashModel]) -> Sequence[str]:
    """The prefetch modes that every policy is run in: as given, or none and those of the bundles."""
    if options.prefetch is not None:
        return options.prefetch
    return list(dict.fromkeys([NONE, *(mode for model in models for mode in model.thresholds)]))


class Case(NamedTuple):
    """A run of the table."""

    policy: str
    kind: str
    mode: str
    rate: WriteRate | None = None  # None: it runs as it comes
    as_shipped: bool = False  # kept by a controller, or a bundle of before: nothing is set on the trace


def cases_of(options: FlashOptions, models: Sequence[FlashModel]) -> list[Case]:
    """Every run: policies without a model, set in hindsight and kept, bundles, the oracle; each by rate and mode."""
    modes = modes_of(options, models)
    found: list[Case] = []
    if ACCEPT_ALL in options.policies:
        found += [Case(ACCEPT_ALL, WITHOUT, mode) for mode in modes]
    for rate in options.rates:
        without = [name for name in (*ADMISSIONS, *WITH_EVICTIONS) if name in options.policies]
        found += [Case(name, WITHOUT, mode, rate) for name in without for mode in modes]
        found += [Case(name, WITHOUT, mode, rate, True) for name in options.rivals for mode in modes]
    for model in models:
        kept: list[WriteRate | None] = [None] if model.controller is None else [*options.rates]
        shipped = [mode for mode in modes if mode in model.thresholds]
        found += [Case(model.name, MODEL, mode, rate, True) for rate in kept for mode in shipped]
        found += [Case(model.name, MODEL, mode, rate) for rate in options.rates for mode in modes]
    if OPT in options.policies:
        prefetching = any(mode != NONE for mode in modes)
        found += [Case(OPT, ORACLE, "best" if prefetching else NONE, rate) for rate in options.rates]
    return found


def flash_tables(
    trace: Trace | SampledTrace, geometry: Geometry, models: Sequence[FlashModel], options: FlashOptions, seed: int,
    advance: Advance | None = None,
) -> list[FlashTable]:  # fmt: skip
    """Run every policy and bundle in every mode at every rate, at each size.

    Args:
        trace: the requests, or a sample of them that was drawn by `plan_by_reads`.
        geometry: segments and blocks.
        models: what the bundles decide on the trace; none on a sample.
        options: what runs.
        seed: of CoinFlip's draws.
        advance: progress: runs done of `runs_of`, and the next one's name.

    Returns:
        A table of each size, in the order given.

    Raises:
        ConfigError: a rate or a size below one segment, nothing left to count, or a sample too small for an error.
        TraceError: the trace has no reads, or blocks of more segments than ids can number.
    """
    for size in options.sizes:
        capacity_segments(size, 1, geometry)
    groups = trace.groups(GROUPS) if isinstance(trace, SampledTrace) else ()
    done = 0

    def step(name: str) -> None:
        nonlocal done
        if advance is not None:
            advance(done, name)
        done += 1

    def bench_of(own: Trace | SampledTrace, size: Size) -> RateBench:
        requests, whole = (own.trace, whole_of(own)) if isinstance(own, SampledTrace) else (own, None)
        return RateBench(requests, flash_problem_of(requests, geometry, size, options, whole), size, options, seed)

    found = list[FlashTable]()
    for size in options.sizes:
        bench = bench_of(trace, size)
        runs = _runs(bench, models, step)
        if groups:
            dealt = [_runs(bench_of(group, size), models, step) for group in groups]
            runs = [with_errors(row, own, others) for (row, own), *others in zip(runs, *dealt, strict=True)]
        found.append(_table(bench, runs, trace.rate if isinstance(trace, SampledTrace) else None))
    return found


def runs_of(trace: Trace | SampledTrace, models: Sequence[FlashModel], options: FlashOptions) -> int:
    """How many runs `flash_tables` makes."""
    groups = GROUPS if isinstance(trace, SampledTrace) else 0
    return len(options.sizes) * len(cases_of(options, models)) * (1 + groups)


def _runs(bench: RateBench, models: Sequence[FlashModel], step: Callable[[str], None]) -> list[Ran]:
    """The runs of `cases_of`; `step` hears of each."""
    problem, options = bench.problem, bench.options
    limits = [bench.limit(rate) for rate in options.rates]
    by_name = {model.name: model for model in models}
    runs = list[Ran]()
    limited = dict[tuple[str, str], tuple[Candidate, Limits]]()

    def candidate(policy: str, kind: str, mode: str, as_shipped: bool) -> Candidate:
        if kind == ORACLE:
            return bench.opt(mode != NONE)
        if kind == WITHOUT:
            return bench.plain(policy, mode, Controller() if as_shipped else None)
        model = by_name[policy]
        fetched = prefetch_of(problem, mode)
        threshold = model.thresholds[mode] if as_shipped else None
        return bench.model(policy, model.scores, mode, fetched, threshold, model.controller, model.whole_block)

    for policy, kind, mode, rate, as_shipped in cases_of(options, models):
        step(f"{policy} {mode}")
        if as_shipped or rate is None:
            own = candidate(policy, kind, mode, as_shipped)
            limit = None if rate is None else bench.limit(rate)
            found = bench.as_shipped(own, limit) if as_shipped else bench.within(own, None)
        else:
            if (policy, mode) not in limited:
                own = candidate(policy, kind, mode, False)
                limited[policy, mode] = own, Limits(partial(bench.within, own), limits)
            own, tried = limited[policy, mode]
            found = tried.best(bench.limit(rate))
        runs.append((bench.rate_row(own, rate, found, as_shipped), found))
    return runs


def _table(bench: RateBench, runs: Sequence[Ran], sampled: float | None) -> FlashTable:
    """The table of some runs; `sampled` is the part of the blocks that they are of."""
    problem, options, windows = bench.problem, bench.options, bench.windows
    runs = _best_kept(runs, {rate.text: (1 + 2 * TOLERANCE) * bench.limit(rate) for rate in options.rates})
    return FlashTable(
        trace_id=bench.trace_id,
        geometry=problem.geometry,
        size=str(bench.size),
        capacity=problem.whole_capacity,
        requests=problem.requests(),
        windows=replace(windows, first=problem.requests(slice(windows.first))),
        seconds=bench.seconds,
        clock=bench.clock,
        scale=bench.scale,
        write_disks_busy=bench.write_disks_busy(),
        without=bench.year_without(),
        rows=[row for row, _ in runs],
        leads=[lead for rate in options.rates if (lead := _lead(rate, runs)) is not None],
        kept=[lead for rate in options.rates for lead in _kept_leads(rate, runs)],
        sampled=sampled,
    )


def _is_kept(row: RateRow) -> bool:
    """Whether a controller keeps a policy without a model."""
    return row.kind == WITHOUT and row.as_shipped


def _best_kept(runs: Sequence[Ran], most: Mapping[str, float]) -> list[Ran]:
    """Of what a controller keeps without a model the best at each rate, and all the others.

    What writes more segments than `most` of its rate comes last: there the controller failed.
    """

    def rank(run: Ran) -> tuple[bool, float]:
        row, found = run
        return found.writes > most[row.asked or ""], row.disk_ms_per_read

    kept = [run for run in runs if _is_kept(run[0])]
    best = [min((run for run in kept if run[0].asked == rate), key=rank, default=None) for rate in most]
    return [run for run in runs if not _is_kept(run[0]) or any(run is one for one in best)]


def _kept_leads(rate: WriteRate, runs: Sequence[Ran]) -> list[RateLead]:
    """The best kept policy without a model at a rate: by itself, or against each bundle as a cache would run it.

    A bundle's modes are in its rows as shipped; the one that prefetches is what a runtime takes.
    """
    rival = next(((row, found) for row, found in runs if _is_kept(row) and row.asked == rate.text), None)
    shipped = [(row, found) for row, found in runs if row.kind == MODEL and row.as_shipped and row.asked == rate.text]
    if rival is None:
        return []
    leads = []
    for name in dict.fromkeys(row.policy for row, _ in shipped):
        own = [one for one in shipped if one[0].policy == name]
        row, found = next((one for one in own if one[0].prefetch != NONE), own[0])
        leads.append(RateLead(rate.text, rival[0], row, found.lead(rival[1], Goal.COST)))
    return leads or [RateLead(rate.text, rival[0])]


def _lead(rate: WriteRate, runs: Sequence[Ran]) -> RateLead | None:
    """The best policy without a model at a rate in hindsight, and the best bundle; None where no such policy ran."""
    best: dict[str, Ran] = {}
    for row, found in runs:
        own = row.asked == rate.text and not row.as_shipped
        if own and (row.kind not in best or row.disk_ms_per_read < best[row.kind][0].disk_ms_per_read):
            best[row.kind] = row, found
    if WITHOUT not in best:
        return None
    rival, beside = best[WITHOUT]
    if MODEL not in best:
        others = [run for run in runs if run[0].kind == WITHOUT and run[0].asked == rate.text and not run[0].as_shipped]
        return RateLead(rate.text, rival, level=_level(rival, beside, others))
    model, ours = best[MODEL]
    return RateLead(rate.text, rival, model, ours.lead(beside, Goal.COST))


def _level(best: RateRow, found: FlashOutcome, runs: Sequence[Ran]) -> tuple[str, ...]:
    """Of a sample, the runs that may cost the disks as little of the whole trace as the best: 90 % do not say."""
    if found.groups is None:
        return ()
    level = []
    for row, own in runs:
        assert own.groups is not None
        leads = [Goal.COST.lead(ours, theirs) for ours, theirs in zip(found.groups, own.groups, strict=True)]
        lead = Goal.COST.lead(found.mean, own.mean)
        if row is not best and lead <= half_widths(np.array(lead), np.array(leads)):
            level.append(name_of(row))
    return tuple(level)


def name_of(row: RateRow) -> str:
    """A row's policy with its mode, and whether it is kept by a controller."""
    mode = "" if row.prefetch == NONE else f" + {row.prefetch}"
    return ", ".join(filter(None, (f"{row.policy}{mode}", row.set_by)))

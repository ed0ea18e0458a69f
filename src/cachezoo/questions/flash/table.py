"""Policies and bundles in the flash cache of one trace, each at its best within a write rate, by simulation.

Of each policy the table says how many disks its misses keep busy: disk-head seconds a second, mean and peak over
windows of time. Every knob is set on the trace itself, by simulation, of the models as of the policies without one: the
rows say what each can do at its best within the same limit on writes. How well a threshold chosen beforehand meets a
rate is the row of a bundle as shipped, which has none.

Source: Wong et al., "Baleen: ML Admission & Prefetching for Flash Caches", FAST 2024; see docs/baleen.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo.console import Advance
from cachezoo.contest.choice import Goal
from cachezoo.contest.lead import Lead
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.flash_cache.load import LoadWindows, load_curve
from cachezoo.flash_cache.modes import ML_MODES, NONE
from cachezoo.flash_cache.policies import ACCEPT_ALL, ADMISSIONS, WITH_EVICTIONS, prefetch_of
from cachezoo.flash_cache.problem import FlashProblem
from cachezoo.io import atomic_file
from cachezoo.kernels.segments import Geometry
from cachezoo.labels.episodes import NO_PREFETCH, OPT_MODES, Admission, OptMode, label_problem
from cachezoo.metrics.flash import RateRow
from cachezoo.questions.flash.bench import MODEL, OPT, ORACLE, WITHOUT, Bench, Candidate, FlashOutcome
from cachezoo.questions.flash.model import FlashModel
from cachezoo.questions.flash.options import TOLERANCE, FlashOptions, WriteRate
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.show.style import BLACK, GREY, LIGHT, LINE_COLOURS, WIDTH, settings, write
from cachezoo.sizes import human
from cachezoo.traces.clock import has_clock
from cachezoo.traces.table import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOUR_DAYS = 1 / 24
MOST_HALVINGS = 6
NAMED = ("policy", "prefetch", "written_bytes_s", "written_share")  # of a row in a lead
# How OPT's eviction age is looked for, as `label.episodes`; the cache and its writes are the problem's own.
OPT_SEARCH: dict[str, Any] = {
    "cache_fraction": 1.0, "write_budget": 1.0, "budget_tolerance": TOLERANCE, "age_tolerance": 0.05,
    "age_damping": 0.5, "age_rounds": 12, "min_evictions": 100, "horizon_fraction": 0.25,
}  # fmt: skip
RATED_YEARS = 5.0
LINES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
BUSY = "disks kept busy by reads (disk-head seconds a second)"
COST = "disk-head ms a read"


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
        if self.model is None or self.saved is None:
            return {**found, "saving": None}
        saved = {"share": self.saved.value, "interval": self.saved.ends, "verdict": self.verdict}
        return {**found, "saving": {"model": self.model.values(*NAMED), **saved}}


@dataclass(frozen=True)
class FlashTable:
    """What `cachezoo recommend --only flash` says of a trace."""

    geometry: Geometry
    capacity: int  # segments
    requests: int  # of the trace
    windows: LoadWindows  # that disk time is measured in
    seconds: float  # the trace's span
    clock: bool  # the trace has times, not row numbers or one time for all; without them nothing is by the second
    scale: float  # seconds of the recorded day that one second of the trace stands for
    write_disks_busy: float | None  # disk-head seconds a second of the trace's writes; None without a clock
    rows: list[RateRow]  # policies without a model, bundles, OPT
    leads: list[RateLead]  # of each rate


class RateBench(Bench):
    """A trace with its cache under limits on writes."""

    def __init__(self, trace: Trace, problem: FlashProblem, options: FlashOptions, seed: int) -> None:
        """Set up.

        Args:
            trace: the requests.
            problem: their cache.
            options: what runs.
            seed: of CoinFlip's draws.
        """
        flash = FlashPolicy(
            eviction="lru", seek_ms=options.cost.seek_ms, rate_mib_s=options.cost.rate_mib_s, window_min_s=600.0,
            window_min_reads=1000, min_windows=20, min_gap=0.02,
        )  # fmt: skip
        super().__init__(trace, problem, flash, seed)
        self.options, self.clock = options, has_clock(trace)
        self.seconds = float(trace.time_us[-1] - trace.time_us[0]) / 1e6 if self.clock else 0.0

    def limit(self, rate: WriteRate) -> float:
        """Segments that may be written at a rate."""
        problem = self.problem
        return rate.segments(problem.accept_all.segment_writes, self.seconds, problem.geometry.segment_bytes)

    def within(self, candidate: Candidate, limit: float | None) -> FlashOutcome:
        """A candidate with its knob set within 2.5 % below a limit; None: as it comes."""
        half = TOLERANCE / 2
        problem = self.problem if limit is None else replace(self.problem, budget=limit * (1 - half), tolerance=half)
        if limit is None and candidate.shipped is not None:
            return self.outcome(candidate.mode, candidate.shipped)
        return candidate.run(problem)

    def opt(self, prefetching: bool) -> Candidate:
        """OPT, its eviction age found at each limit anew; where the others prefetch, in its best mode."""

        def choose(problem: FlashProblem, mode: OptMode) -> Admission:
            label = EpisodeLabel(**asdict(problem.geometry), **OPT_SEARCH | {"budget_tolerance": problem.tolerance})
            return label_problem(problem, label, mode).choice

        modes = OPT_MODES if prefetching else (NO_PREFETCH,)
        return self.oracle(modes, choose, "best" if prefetching else NONE)

    def rate_row(self, candidate: Candidate, rate: WriteRate | None, found: FlashOutcome) -> RateRow:
        """A run's figures."""
        problem, windows, limited = self.problem, self.windows, rate is not None
        row = self.row(found.tuned, found.mode, limited or candidate.kind == MODEL)
        capacity = problem.capacity * problem.geometry.segment_bytes
        written = row.segment_writes * problem.geometry.segment_bytes
        per_day = written / windows.days if self.clock and windows.days >= HOUR_DAYS else None
        drives = None if per_day is None else per_day / capacity
        return RateRow(
            **dict(row) | {"reached": found.reached if limited else None},
            policy=candidate.policy,
            kind=candidate.kind,
            asked=None if rate is None else rate.text,
            more_helps=found.more_helps if limited else None,
            clock=self.clock,
            written_bytes_s=written / self.seconds if self.clock else None,
            disk_ms_per_read=1e3 * row.read_dt_s / max(1, int(np.count_nonzero(problem.read[windows.first :]))),
            ssd_bytes_a_day=per_day,
            drive_writes_a_day=drives,
            lifetime_years=RATED_YEARS * self.options.rated_dwpd / drives if drives else None,
        )

    def write_disks_busy(self) -> float | None:
        """Mean disk-head seconds a second of the trace's writes, which go to the disks whatever is cached."""
        if not self.clock:
            return None
        return float(load_curve(self.problem.write_dt_seconds(), self.windows).mean())


def modes_of(options: FlashOptions, models: Sequence[FlashModel]) -> tuple[list[str], list[str]]:
    """The prefetch modes that every policy is run in, and those of the bundles alone.

    Raises:
        ConfigError: a mode needs a model, and no prefetch bundle is given.
    """
    own = [mode for model in models for mode in model.ranged]
    if options.prefetch is None:
        plain = [mode for model in models for mode in model.thresholds if mode not in ML_MODES]
        return list(dict.fromkeys([NONE, *plain])), list(dict.fromkeys(own))
    return [mode for mode in options.prefetch if mode not in ML_MODES], [m for m in options.prefetch if m in ML_MODES]


def cases_of(options: FlashOptions, models: Sequence[FlashModel]) -> list[tuple[str, str, str, WriteRate | None]]:
    """Policy, kind, mode and rate of each run: policies without a model, bundles, the oracle; each by rate and mode.

    Without a rate a policy runs as it comes.
    """
    plain, ranged = modes_of(options, models)
    found: list[tuple[str, str, str, WriteRate | None]] = []
    if ACCEPT_ALL in options.policies:
        found += [(ACCEPT_ALL, WITHOUT, mode, None) for mode in plain]
    for rate in options.rates:
        without = [name for name in (*ADMISSIONS, *WITH_EVICTIONS) if name in options.policies]
        found += [(name, WITHOUT, mode, rate) for name in without for mode in plain]
    for model in models:
        modes = [mode for mode in (*plain, *ranged) if mode not in ML_MODES or mode in model.ranged]
        found += [(model.name, MODEL, mode, None) for mode in modes if mode in model.thresholds]
        found += [(model.name, MODEL, mode, rate) for rate in options.rates for mode in modes]
    if OPT in options.policies:
        prefetching = any(mode != NONE for mode in (*plain, *ranged))
        found += [(OPT, ORACLE, "best" if prefetching else NONE, rate) for rate in options.rates]
    return found


def flash_table(
    trace: Trace, problem: FlashProblem, models: Sequence[FlashModel], options: FlashOptions, seed: int,
    advance: Advance | None = None,
) -> FlashTable:  # fmt: skip
    """Run every policy and bundle in every mode at every rate.

    Args:
        trace: the requests.
        problem: their cache, see `flash_problem_of`.
        models: what the bundles decide on the trace.
        options: what runs.
        seed: of CoinFlip's draws.
        advance: progress: runs done, and the next one's name.

    Raises:
        ConfigError: a rate below one segment.
        TraceError: blocks of more segments than ids can number.
    """
    bench = RateBench(trace, problem, options, seed)
    limits = [bench.limit(rate) for rate in options.rates]
    by_name = {model.name: model for model in models}
    rows, outcomes = list[RateRow](), list[FlashOutcome]()
    limited = dict[tuple[str, str], tuple[Candidate, Limits]]()

    def candidate(policy: str, kind: str, mode: str, as_shipped: bool) -> Candidate:
        if kind == ORACLE:
            return bench.opt(mode != NONE)
        if kind == WITHOUT:
            return bench.plain(policy, mode)
        model = by_name[policy]
        fetched = model.ranged[mode] if mode in model.ranged else prefetch_of(problem, mode)
        return bench.model(policy, model.scores, mode, fetched, model.thresholds[mode] if as_shipped else None)

    for done, (policy, kind, mode, rate) in enumerate(cases_of(options, models)):
        if advance is not None:
            advance(done, f"{policy} {mode}")
        if rate is None:
            own = candidate(policy, kind, mode, kind == MODEL)
            found = bench.within(own, None)
        else:
            if (policy, mode) not in limited:
                own = candidate(policy, kind, mode, False)
                limited[policy, mode] = own, Limits(partial(bench.within, own), limits)
            own, tried = limited[policy, mode]
            found = tried.best(bench.limit(rate))
        rows.append(bench.rate_row(own, rate, found))
        outcomes.append(found)
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
        leads=[lead for rate in options.rates if (lead := _lead(rate, rows, outcomes)) is not None],
    )


def _lead(rate: WriteRate, rows: Sequence[RateRow], outcomes: Sequence[FlashOutcome]) -> RateLead | None:
    """The best policy without a model at a rate, and the best bundle; None where no such policy ran."""
    best: dict[str, int] = {}
    for k, row in enumerate(rows):
        own = row.asked == rate.text
        if own and (row.kind not in best or row.disk_ms_per_read < rows[best[row.kind]].disk_ms_per_read):
            best[row.kind] = k
    if WITHOUT not in best:
        return None
    rival = best[WITHOUT]
    if MODEL not in best:
        return RateLead(rate.text, rows[rival])
    model = best[MODEL]
    return RateLead(rate.text, rows[rival], rows[model], outcomes[model].lead(outcomes[rival], Goal.COST))


def name_of(row: RateRow) -> str:
    """A row's policy with its mode; a bundle's own threshold is `as shipped`."""
    mode = "" if row.prefetch == NONE else f" + {row.prefetch}"
    return f"{row.policy}{mode}" + (", as shipped" if row.kind == MODEL and row.asked is None else "")


def _busy(row: RateRow) -> float:
    """What is drawn: disks kept busy, or where no clock says how long the trace took, milliseconds a read."""
    return row.disk_ms_per_read if row.disks_busy is None else row.disks_busy


def draw_flash(table: FlashTable, title: str, path: Path) -> None:
    """Draw disks kept busy over the write rate, bars at one rate; the bytes depend on the rows alone.

    Args:
        table: the rows.
        title: of the trace.
        path: a PNG or SVG.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    rates = list(dict.fromkeys(row.asked for row in table.rows if row.asked is not None))
    cache = human(table.capacity * table.geometry.segment_bytes)
    with settings(), atomic_file(path) as temporary:
        height = 4.6 if len(rates) > 1 else 1.4 + 0.26 * len(table.rows)
        canvas = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = canvas.subplots()
        if len(rates) > 1:
            _curves(axes, table)
        else:
            _bars(axes, table.rows)
        limit = f", writes {rates[0]}" if len(rates) == 1 else ""
        axes.set_title(f"{title}: a flash cache of {cache}{limit}", loc="left")
        write(canvas, temporary, path)


def _curves(axes: "Axes", table: FlashTable) -> None:
    """A colour a policy and a line a mode over what is written; AcceptAll, which nothing limits, in the legend."""
    known = all(row.written_bytes_s is not None for row in table.rows)
    limited = [row for row in table.rows if row.asked is not None]
    policies = [name for name in dict.fromkeys(row.policy for row in table.rows) if name not in (ACCEPT_ALL, OPT)]
    colours = {name: LINE_COLOURS[k % len(LINE_COLOURS)] for k, name in enumerate(policies)} | {OPT: BLACK}
    modes = [mode for mode in dict.fromkeys(row.prefetch for row in limited if row.kind != ORACLE)]
    for name in dict.fromkeys(map(name_of, table.rows)):
        own = [row for row in table.rows if name_of(row) == name]
        first = own[0]
        points = sorted((_written_at(row, known), _busy(row)) for row in own)
        if first.policy == ACCEPT_ALL:
            written = f"{points[0][0]:,.3g} MB/s" if known else f"{points[0][0]:,.2f}"
            label = f"{name}: {_busy(first):.2f}, writes {written}"
            axes.axhline(_busy(first), color=GREY, linewidth=0.8, linestyle=_line(modes, first), label=label)
            continue
        line = ":" if first.kind == ORACLE else _line(modes, first)
        style = {"linestyle": "", "marker": "x"} if first.asked is None else {"linestyle": line, "marker": "."}
        axes.plot(*zip(*points, strict=True), color=colours[first.policy], label=name, **style)  # type: ignore[arg-type]
    values = [_busy(row) for row in table.rows]
    room = 0.08 * max(max(values) - min(values), max(values) / 10)
    axes.set_ylim(min(values) - room, max(values) + room)
    axes.set_xlim(left=0)
    axes.set_xlabel("SSD writes, MB a second" if known else "SSD writes, share of accept_all's")
    axes.set_ylabel(COST if table.rows[0].disks_busy is None else BUSY)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)


def _line(modes: Sequence[str], row: RateRow) -> Any:  # noqa: ANN401 - a style of matplotlib
    return LINES[modes.index(row.prefetch) % len(LINES)] if row.prefetch in modes else "-"


def _written_at(row: RateRow, known: bool) -> float:
    return row.written_bytes_s / 1e6 if known and row.written_bytes_s is not None else row.written_share


def _bars(axes: "Axes", rows: Sequence[RateRow]) -> None:
    """Means as bars with their 90 % intervals, peaks as ticks."""
    names = [name_of(row) for row in rows]
    colours = [{ORACLE: LIGHT, MODEL: LINE_COLOURS[0]}.get(row.kind, GREY) for row in rows]
    means, places = [_busy(row) for row in rows], range(len(rows))
    peaks = [row.disks_busy_peak for row in rows if row.disks_busy_peak is not None]
    intervals = [row.disks_busy_interval for row in rows if row.disks_busy_interval is not None]
    spread = [[max(0.0, mean - low) for mean, (low, _) in zip(means, intervals, strict=False)],
              [max(0.0, high - mean) for mean, (_, high) in zip(means, intervals, strict=False)]]  # fmt: skip
    label = "mean, 90 % interval" if peaks else "mean"
    axes.barh(places, means, color=colours, height=0.7, xerr=spread if peaks else None, ecolor=BLACK, label=label)
    if peaks:
        axes.plot(peaks, places, "|", color=BLACK, markersize=9, label="peak")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(COST if rows[0].disks_busy is None else BUSY)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)

"""Which size, mode and settings of a system suit a trace, and whether a cache pays at all.

The first half of the trace chooses, from its second part on; every figure is of the second half. The best setting of
each mode is looked for one knob at a time, from the system's defaults on; a knob moves only where that saves enough to
matter, and a mode that leaves data on the SSD alone is taken only where it saves as much against those that do not.
The size is the least one whose requests take hardly longer than with all that may be had. What was found then
has to beat the system's own defaults. If it does not, the mode that is best of all with its defaults on the first half
has to, with these; else the system's defaults stay. What stays has to beat the disk without a cache.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from cachezoo.console import Advance
from cachezoo.contest.choice import Choice, Goal, choose
from cachezoo.contest.lead import Lead
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.questions.page.candidates import CANDIDATES, name_of
from cachezoo.questions.targets.bench import Bench, Ran
from cachezoo.questions.targets.options import TargetOptions
from cachezoo.questions.targets.target import Mode, Sizes, Target, Value, Writes, moves
from cachezoo.questions.tiers.stream import TierStream
from cachezoo.settings.device import AnalyticDevice
from cachezoo.sizes import PAGE_BYTES

HALVINGS = 6
LEAST_PAGES = 16
BACK: Writes = "back"


class Answer(StrEnum):
    """What is advised."""

    FOUND = "found"
    MODE = "mode"  # another mode than the system's, with all settings as they come
    DEFAULTS = "defaults"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Row:
    """A cache on the second half."""

    label: str  # `as it comes`, `found`, or a policy's name
    mode: str  # empty of a policy of the zoo
    writes: Writes
    settings: dict[str, Value]
    ran: Ran


def _pays(lead: Lead) -> bool:
    return verdict(lead, LEAST_SAVING) is Verdict.BETTER


@dataclass(frozen=True)
class Advice:
    """What to run."""

    target: Target
    options: TargetOptions
    bench: Bench
    sizes: Sizes
    none: Ran  # without the SSD
    default: Row  # the system in the mode and with the settings that it comes with
    rows: tuple[Row, ...]  # of each mode, with its defaults and with what was found
    found: Row  # the best that the first half chose
    plain: Row  # the best that it chose of the modes with their defaults
    zoo: tuple[Row, ...]  # policies of the zoo, the one chosen of each way to write
    rival: Row  # the better of those that write as may be written, on the first half

    def over_default(self, row: Row) -> Lead:
        """A row against the defaults."""
        return row.ran.lead(self.default.ran, Goal.COST)

    @property
    def tried(self) -> list[Row]:
        """What was compared with the defaults, up to what is advised."""
        rows = [self.found, *([] if self.plain is self.found else [self.plain])]
        if self.answer is Answer.FOUND:
            rows = rows[:1]
        return [row for row in rows if row is not self.default]

    @cached_property
    def answer(self) -> Answer:
        """What is advised."""
        candidates = {Answer.FOUND: self.found, Answer.MODE: self.plain}
        better = next((name for name, row in candidates.items() if self._beats_default(row)), Answer.DEFAULTS)
        own = candidates.get(better, self.default)
        if better is Answer.DEFAULTS and not self._beats_none(own):
            better, own = Answer.FOUND, self.found
        return better if self._beats_none(own) else Answer.NOTHING

    def _beats_default(self, row: Row) -> bool:
        return row is not self.default and _pays(self.over_default(row))

    def _beats_none(self, row: Row) -> bool:
        return _pays(row.ran.lead(self.none, Goal.COST))

    @property
    def simulated(self) -> bool:
        """Whether the system takes no cache in RAM as small as that, so that no command sets it up."""
        return self.target.ram and self.sizes.ram * PAGE_BYTES < self.target.least_ram_bytes

    @property
    def advised(self) -> Row:
        """What is advised, or would be if it paid."""
        return {Answer.FOUND: self.found, Answer.MODE: self.plain}.get(self.answer, self.default)

    @cached_property
    def best(self) -> Row:
        """What is advised, or the best of those that would be."""
        if self.answer is Answer.NOTHING:
            return min(self.found, self.plain, self.default, key=lambda row: row.ran.mean)
        return self.advised

    @cached_property
    def over_none(self) -> Lead:
        """The best against the disk without a cache."""
        return self.best.ran.lead(self.none, Goal.COST)

    @cached_property
    def loss(self) -> Lead:
        """What the zoo's best saves against what is advised."""
        return self.rival.ran.lead(self.advised.ran, Goal.COST)

    def values(self) -> dict[str, Any]:
        """All figures, for JSON."""
        own = self.advised
        return {
            "for": self.target.id,
            "answer": str(self.answer),
            "mode": own.mode,
            "settings": own.settings,
            "ssd_pages": self.sizes.ssd,
            "ram_pages": self.sizes.ram,
            "commands": commands(self),
            "saved_of_no_cache": self.over_none.values(),
            "saved_of_defaults": self.over_default(self.found if own is self.default else own).values(),
            "zoo_saves": self.loss.values(),
            "zoo": self.rival.label,
            "first_request": self.bench.first,
            "requests": len(self.bench.ts.trace),
            "outstanding": self.bench.depth,
            "rows": [
                {"cache": "none", "mode": "", "writes": "none", "settings": {}, **self.none.values()},
                *(
                    {"cache": row.label, "mode": row.mode, "writes": row.writes, "settings": row.settings}
                    | row.ran.values()
                    for row in (*self.rows, *self.zoo)
                ),
            ],
        }


def commands(found: Advice) -> list[str]:
    """The lines that set up what is advised; none where nothing is, or where the system would not do it."""
    if found.answer is Answer.NOTHING or found.simulated:
        return []
    own = found.advised
    return found.target.commands(found.sizes, own.mode, own.settings, found.options.devices)


def _in_mode(target: Target, mode: str) -> int:
    """About how many settings of a mode are tried: all knobs, and after one has moved all of them again."""
    return 2 * (1 + len(moves(target, mode, target.defaults)))


def _last(options: TargetOptions) -> int:
    """Runs after the search at most: the zoo on the first half, and what is shown on the second."""
    ways = 1 + any(mode.writes == BACK for mode in options.allowed)
    return len(CANDIDATES) * ways + 2 * len(options.allowed) + ways + 1


def trials(options: TargetOptions) -> int:
    """About how many runs there are: settings of each mode, sizes, policies of the zoo, and those that count."""
    target = options.target
    off = [mode for mode in target.modes if mode.writes == "none" and target.ram]
    return HALVINGS + _last(options) + sum(_in_mode(target, mode.id) for mode in (*options.allowed, *off))


class _Steps:
    """Progress through parts that may take fewer runs than was thought, or more: it never passes a part's end."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._before = self._part = self._runs = 0

    def begin(self, part: int) -> None:
        """A part of about so many runs begins; the one before is done."""
        self._before, self._part, self._runs = self._before + self._part, part, 0

    def step(self, note: str) -> None:
        """A run has ended."""
        self._runs += 1
        self._advance(self._before + min(self._runs, self._part), note)


class Search:
    """The search on a trace's first half."""

    def __init__(self, head: Bench, target: Target, steps: _Steps) -> None:
        self._head, self._target, self._steps = head, target, steps
        self._means: dict[tuple[Any, ...], float] = {}

    def mean(self, sizes: Sizes, mode: str, settings: dict[str, Value]) -> float:
        """µs that a request takes."""
        key = (sizes, mode, *settings.items())
        if key not in self._means:
            run = self._target.run(self._head.ts, sizes, mode, settings)
            self._means[key] = self._head.ran(run).mean
            self._steps.step(mode)
        return self._means[key]

    def settings(self, sizes: Sizes, mode: str) -> dict[str, Value]:
        """The best of a mode, from the defaults on, one knob at a time, as long as one saves enough to matter."""
        self._steps.begin(_in_mode(self._target, mode))
        best = self._target.defaults
        while True:
            mean = self.mean(sizes, mode, best)
            tried = moves(self._target, mode, best)
            own = choose({k: [self.mean(sizes, mode, one)] for k, one in enumerate(tried)}, Goal.COST)
            if own is None or Goal.COST.lead(own.mean, mean) < LEAST_SAVING:
                return best
            best = tried[own.chosen]

    def without(self, most: Sizes) -> tuple[dict[str, Value], float]:
        """Without the SSD, the best settings of a cache in RAM, and µs that a request takes."""
        if not self._target.ram:
            return self._target.defaults, self._head.no_cache().mean
        off = next(mode.id for mode in self._target.modes if mode.writes == "none")
        best = self.settings(most, off)
        return best, self.mean(most, off, best)

    def size(self, most: Sizes, mode: str, settings: dict[str, Value], none: float) -> Sizes:
        """The least of the halved sizes whose requests take hardly longer than with the largest.

        Where that saves nothing that matters against none, it is the largest that has to show that it pays.
        """
        self._steps.begin(HALVINGS)
        if Goal.COST.lead(self.mean(most, mode, settings), none) < LEAST_SAVING:
            return most
        ladder = [
            replace(most, ssd=most.ssd >> k) for k in range(HALVINGS + 1) if k == 0 or most.ssd >> k >= LEAST_PAGES
        ]
        means = [self.mean(own, mode, settings) for own in ladder]
        return next(
            own for own, mean in zip(ladder[::-1], means[::-1], strict=True)
            if Goal.COST.lead(means[0], mean) < LEAST_SAVING
        )  # fmt: skip


def _rivals(bench: Bench, sizes: Sizes, writes: Sequence[Writes]) -> Iterator[tuple[str, Writes, Ran]]:
    for back in (False, True):
        if not back or BACK in writes:
            for own in CANDIDATES:
                yield own.id, BACK if back else "through", bench.policy(own.id, sizes.ssd, back, sizes.ram)


def advise(ts: TierStream, device: AnalyticDevice, options: TargetOptions, advance: Advance) -> Advice:
    """Find what to run.

    Args:
        ts: the trace.
        device: the models of disk and SSD.
        options: the system, and what it may have.
        advance: takes how many of about `trials` runs have ended, and what the last was of.

    Raises:
        TraceError: the trace is too short.
    """
    target, bench = options.target, Bench.of(ts, device)
    head = bench.head
    touched = ts.pages.n_pages
    ssd = min(touched, options.most.pages(touched)) if options.most else touched
    most = Sizes(ssd, options.ram_pages(touched), ts.span_pages)
    steps = _Steps(advance)
    search = Search(head, target, steps)
    by_mode = {mode.id: search.settings(most, mode.id) for mode in options.allowed}
    best = _mode(options.allowed, {name: search.mean(most, name, own) for name, own in by_mode.items()})
    plain = _mode(options.allowed, {name: search.mean(most, name, target.defaults) for name in by_mode})
    alone, without = search.without(most)
    sizes = search.size(most, best, by_mode[best], without)
    steps.begin(_last(options))
    rows = list[Row]()
    for mode in options.allowed:
        rows.append(_row(bench, target, sizes, mode, "as it comes", target.defaults))
        steps.step(mode.id)
        if target.changed(by_mode[mode.id]):
            rows.append(_row(bench, target, sizes, mode, "found", by_mode[mode.id]))
            steps.step(mode.id)
    default = next((row for row in rows if row.mode == target.modes[0].id), rows[0])
    found = next(row for row in rows if row.mode == best and row.settings == by_mode[best])
    usual = next(row for row in rows if row.mode == plain and row.settings == target.defaults)
    writes = [mode.writes for mode in options.allowed]
    chosen = dict[Writes, tuple[str, float]]()
    for name, way, ran in _rivals(head, sizes, writes):
        steps.step(name)
        if way not in chosen or ran.mean < chosen[way][1]:
            chosen[way] = name, ran.mean
    zoo = {
        way: Row(name_of(name), "", way, {}, bench.policy(name, sizes.ssd, way == BACK, sizes.ram))
        for way, (name, _) in chosen.items()
    }  # fmt: skip
    rival = zoo[min(chosen, key=lambda way: chosen[way][1])]
    none = _none(bench, target, sizes, alone)
    ways = tuple(zoo.values())
    return Advice(target, options, bench, sizes, none, default, tuple(rows), found, usual, ways, rival)


def _mode(modes: Sequence[Mode], means: Mapping[str, float]) -> str:
    """The mode of the lowest mean; one that writes back only if it is lower by enough to matter."""

    def lowest(back: bool) -> Choice[str] | None:
        return choose({mode.id: [means[mode.id]] for mode in modes if (mode.writes == BACK) == back}, Goal.COST)

    safe, risky = lowest(False), lowest(True)
    if safe is None or risky is None:
        own = safe or risky
        assert own is not None
        return own.chosen
    return risky.chosen if Goal.COST.lead(risky.mean, safe.mean) >= LEAST_SAVING else safe.chosen


def _row(bench: Bench, target: Target, sizes: Sizes, mode: Mode, label: str, settings: dict[str, Value]) -> Row:
    ran = bench.ran(target.run(bench.ts, sizes, mode.id, settings))
    return Row(label, mode.id, mode.writes, settings, ran)


def _none(bench: Bench, target: Target, sizes: Sizes, settings: dict[str, Value]) -> Ran:
    """Without the SSD; a cache in RAM stays."""
    if not target.ram:
        return bench.no_cache()
    off = next(mode.id for mode in target.modes if mode.writes == "none")
    return bench.ran(target.run(bench.ts, sizes, off, settings))

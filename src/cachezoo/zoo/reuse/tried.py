"""What a user's own past brings the cache: fitted with more and more of it, and judged on the same last part.

The last part of a trace judges. No fit has seen it, nor was the rival chosen by it: that is the way to run a classic
that hit most up to there, from where the cache was full. Every cache runs over the whole trace. What is fitted are the
latest hour, day and week before the last part, as far as they go, and all that was recorded before it. A trace without
a clock, or of an hour or less, is fitted with an eighth of that, a quarter, a half and all.

The more was recorded, the longer the fit; so the verdict is on all of it, whatever the shorter parts bring.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.arrays import U8
from cachezoo.contest.blocks import block_means, blocks_in
from cachezoo.contest.choice import Goal, choose
from cachezoo.contest.counting import AUTO, Count, first_access
from cachezoo.contest.lead import Mean, over_seeds
from cachezoo.contest.verdict import Worth, worth
from cachezoo.errors import TraceError
from cachezoo.jobs import spread
from cachezoo.policies.registry import classics
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.seeds import derive_seed
from cachezoo.show.formats import NONE, duration, number, percent, points, span
from cachezoo.show.table import Cell, Column, Table, number_cell, share_cell
from cachezoo.traces.clock import has_clock, time_scale
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.table import Trace
from cachezoo.zoo.reuse import fit, judge
from cachezoo.zoo.reuse.evaluate import Counted
from cachezoo.zoo.reuse.fit import Learned
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.reuse.retrained import rows_of_part
from cachezoo.zoo.reuse.trained import Trained, serve_all

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

LENGTHS = {"the last hour": 3600, "the last day": 86_400, "the last week": 7 * 86_400}  # seconds
EIGHTHS = {"the last eighth": 1, "the last quarter": 2, "the last half": 4}
NOTHING, ALL = "nothing", "all of it"


@dataclass(frozen=True)
class Part:
    """Requests of the past that are fitted."""

    name: str
    first: int  # request
    end: int  # request, the first that is judged
    seconds: float | None  # from the first to the last of them; None without a clock


def parts_of(trace: Trace, end: int) -> list[Part]:
    """The parts of the past before a request, the shortest first; the last is all of it.

    They are counted back from the last request of the past, so that none is empty after a pause.

    Args:
        trace: requests.
        end: the first request that is judged, above 0.
    """
    firsts = {name: end - end * eighths // 8 for name, eighths in EIGHTHS.items()}
    if not has_clock(trace):
        return [Part(name, first, end, None) for name, first in {**firsts, ALL: 0}.items()]
    scale = time_scale(trace)
    before_s = scale * (trace.time_us[end - 1] - trace.time_us[:end]) / 1e6
    latest = {
        name: int(np.searchsorted(-before_s, -seconds)) for name, seconds in LENGTHS.items() if seconds < before_s[0]
    }
    return [Part(name, first, end, float(before_s[first])) for name, first in {**(latest or firsts), ALL: 0}.items()]


@dataclass(frozen=True)
class Fitted:
    """Result of a fit with part of the past.

    Attributes:
        name: of the part.
        seconds: how long it lasted; None without a clock.
        accesses: page accesses in it.
        hit_ratio: page hits per page access that is judged, mean of the seeds.
        over_zoo: that less the one of the zoo's model; None of the zoo's model itself.
        over_rival: the same over the rival.
    """

    name: str
    seconds: float | None
    accesses: int
    hit_ratio: float
    over_zoo: Mean | None
    over_rival: Mean


@dataclass(frozen=True)
class Tried:
    """What a user's past brings.

    Attributes:
        trace: name of the trace.
        capacity: of the cache, in pages.
        accesses: page accesses that are judged.
        ways: ways to run a classic that the rival is chosen of.
        rival: the one that hit most before the last part.
        rival_hit_ratio: its page hits per page access that is judged.
        least: hit ratio that a retrained model has to gain to be worth it.
        rows: the zoo's model, then the fits, the shortest past first.
    """

    trace: str
    capacity: int
    accesses: int
    ways: int
    rival: str
    rival_hit_ratio: float
    least: float
    rows: list[Fitted]

    @property
    def worth(self) -> Worth:
        """Whether to retrain: all of the past has to gain over the zoo's model, and what comes of it over the rival."""
        over_zoo, over_rival = self.rows[-1].over_zoo, self.rows[-1].over_rival
        assert over_zoo is not None
        each = {worth(lead.value, lead.interval, self.least) for lead in (over_zoo, over_rival)}
        return next(one for one in (Worth.NO, Worth.UNSURE, Worth.YES) if one in each)


@dataclass(frozen=True)
class Zoo:
    """What the zoo has: the trained model, its forest of every seed, and rows of the train traces."""

    model: Trained
    forests: list[Learned]
    rows: fit.Rows

    @classmethod
    def read(cls, settings: fit.Settings) -> "Zoo":
        """Read it below the working folder, and draw the rows.

        Raises:
            TrainingError: there is no trained model.
            TraceError: a train trace is missing or damaged.
        """
        arch = settings.model.arch
        model = Trained.read(arch)
        forests = model.forests(arch)
        train = places(settings.categories, settings.roles, settings.corpus, "train")
        parts = [Prepared.read(key, path) for key, path in train.items()]
        return cls(model, forests, fit.all_rows(parts, settings))


@dataclass(frozen=True)
class Bench:
    """A user's trace, the cache's size, and what counts.

    Raises:
        TraceError: too little is judged for an interval.
    """

    trace: Prepared
    end: int  # the first request that is judged
    options: judge.Settings

    def __post_init__(self) -> None:
        judged = len(self.trace.pages.page_ids) - self.counted.middle
        if self.counted.first >= self.counted.middle or not blocks_in(judged):
            message = f"its last part has {judged:,} page accesses, too few to judge; give a longer trace"
            raise TraceError(f"{self.trace.key}: {message}")

    @property
    def capacity(self) -> int:
        """Of the cache, in pages."""
        return capacity_pages(self.options.judge.capacity, self.trace.pages.n_pages)

    @cached_property
    def counted(self) -> Counted:
        """What is before `end` chooses the rival, from where the cache is full; the rest is judged."""
        pages = self.trace.pages
        return Counted(first_access(pages, Count(AUTO), self.capacity), int(pages.request_start[self.end]))

    @cached_property
    def parts(self) -> list[Part]:
        """Of the past."""
        return parts_of(self.trace.trace, self.end)

    def rows(self, settings: fit.Settings) -> list[fit.Rows]:
        """Rows of each part of the past."""
        seed = derive_seed(settings.seed, "tried")
        return [rows_of_part(self.trace, part.first, part.end, settings, seed) for part in self.parts]

    def tried(self, model: Trained, zoo: list[Learned], fits: Sequence[list[Learned]]) -> Tried:
        """Judge every seed's forest.

        Args:
            model: what all have in common.
            zoo: the zoo's forests, by seed.
            fits: of each part of the past its forests, by seed.
        """
        simulator = Simulator(self.trace.trace, self.trace.pages)

        def served(name: str) -> U8:
            return simulator.run(name, self.capacity, 0).outcome

        names = [*classics(), *tuned_classics(self.options.classics)]
        choice = choose({name: [self.counted.first_half(served(name))] for name in names}, Goal.GAIN)
        assert choice is not None  # there are classics
        everyone = [*zoo, *(forest for forests in fits for forest in forests)]
        runs = serve_all(self.trace, self.capacity, everyone, model.policy)
        hits = [self.counted.judged(run.run.outcome) for run in runs]
        base, seeds = hits[: len(zoo)], len(zoo)
        rival = self.counted.judged(served(choice.chosen))
        rows = [Fitted(NOTHING, None, 0, _mean(base), None, _lead(base, [rival] * seeds))]
        starts = self.trace.pages.request_start
        for k, part in enumerate(self.parts, 1):
            own, accesses = hits[k * seeds : (k + 1) * seeds], int(starts[part.end] - starts[part.first])
            over_zoo, over_rival = _lead(own, base), _lead(own, [rival] * seeds)
            rows.append(Fitted(part.name, part.seconds, accesses, _mean(own), over_zoo, over_rival))
        return Tried(
            self.trace.key, self.capacity, len(rival), len(names), choice.chosen, float(rival.mean()),
            self.options.judge.least_gain, rows,
        )  # fmt: skip


def _mean(hits: Sequence[U8]) -> float:
    return float(np.mean([one.mean() for one in hits]))


def _lead(ours: Sequence[U8], theirs: Sequence[U8]) -> Mean:
    """How far trainings are ahead in hit ratio, each of its own rival."""
    leads = [block_means(own) - block_means(rival) for own, rival in zip(ours, theirs, strict=True)]
    return over_seeds(leads, _mean(ours) - _mean(theirs))


def try_past(trace: Prepared, end: int, params: "Params") -> Tried:
    """Fit the cache with more and more of a trace's past, and judge every fit on the rest.

    Args:
        trace: the user's.
        end: the first request that is judged.
        params: of the project in the working folder.

    Raises:
        TrainingError: there is no trained model.
        TraceError: a train trace is missing or damaged, or the user's is too short to judge.
    """
    settings = fit.Settings.of(params)
    bench, zoo = Bench(trace, end, judge.Settings.of(params)), Zoo.read(settings)
    jobs = [(fit.joined([zoo.rows, own]), settings, zoo.model.policy, zoo.model.weight) for own in bench.rows(settings)]
    return bench.tried(zoo.model, zoo.forests, spread("forests with your own past", fit.learn, jobs))


def sentence(found: Tried) -> str:
    """Whether to retrain, and by how much all of the past is ahead."""
    own = found.rows[-1]
    assert own.over_zoo is not None
    told = {Worth.YES: "Worth it", Worth.NO: "Not worth it", Worth.UNSURE: "Not shown to be worth it"}[found.worth]
    return (
        f"{told}: with {own.accesses:,} page accesses of your own the cache's lead is {_figures(own.over_zoo)} over "
        f"the zoo's model and {_figures(own.over_rival)} over {found.rival}, the best of {found.ways} ways to run a "
        f"classic before. A lead of {points(100 * found.least)} over both would be worth it."
    )


def _figures(lead: Mean) -> str:
    return f"{points(100 * lead.value)} {span(lead.interval, 1)}"


def table(found: Tried) -> Table:
    """A row for each part of the past, the zoo's model first."""
    columns = [
        Column("added", "to the zoo's train traces", numeric=False),
        Column("time"),
        Column("page accesses"),
        Column("hit ratio", f"page hits per page access of the last {found.accesses:,}, mean of the seeds"),
        Column("over the zoo's model", "points of hit ratio, 90 % interval"),
        Column("over the rival", f"the same; the rival, {found.rival}, has {percent(found.rival_hit_ratio)}"),
    ]
    rows = [
        [
            Cell(row.name),
            Cell(NONE if row.seconds is None else duration(row.seconds), row.seconds),
            number_cell(row.accesses),
            share_cell(row.hit_ratio),
            _lead_cell(row.over_zoo),
            _lead_cell(row.over_rival),
        ]
        for row in found.rows
    ]
    return Table(f"{found.trace}: what your own past brings, in a cache of {found.capacity:,} pages", columns, rows)


def _lead_cell(lead: Mean | None) -> Cell:
    if lead is None:
        return Cell(NONE)
    return Cell(number(100 * lead.value, 1, signed=True), lead.value, span(lead.interval, 1))

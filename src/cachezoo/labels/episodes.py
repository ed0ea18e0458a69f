"""Episode labels: what OPT would admit under a write budget, at an eviction age found for the trace itself.

Everything here is computed from the part it is given and nothing else: cut first, label after. Source: Baleen
post, "OPT approximates optimal online admission policy", "Introducing episodes" and "Learning what to prefetch".
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import EVERY, F64, I32, I64, Bool, stretches
from cachezoo.flash_cache.problem import BudgetSetting, FlashProblem
from cachezoo.kernels.episodes import Episodes, RangeCosts, add_up, best_first, find_episodes, range_costs
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.settings.flash import EpisodeLabel

OptMode = Literal["none", "opt_range", "opt_range_when"]
NO_PREFETCH: OptMode = "none"
OPT_RANGE: OptMode = "opt_range"
OPT_RANGE_WHEN: OptMode = "opt_range_when"
OPT_MODES: tuple[OptMode, ...] = (NO_PREFETCH, OPT_RANGE, OPT_RANGE_WHEN)
RESTART_FACTOR = 4
NO_LIMIT = int(np.iinfo(np.int64).max)
Value = TypeVar("Value", bound=np.generic)


def of_episodes(values: npt.NDArray[Value], episode: I32, missing: float) -> npt.NDArray[Value]:
    """What each row's episode has, and `missing` where a row, with -1, is of none."""
    found = values[episode]
    found[episode < 0] = missing
    return found


@dataclass(frozen=True)
class Best:
    """The first of e episodes in OPT's order, best first, ties by time."""

    scores: "Scores"
    count: int  # how many
    least: float  # all of a score above it are among them
    end: int  # and of this score those before this episode

    def taken(self, part: slice) -> Bool:
        """bool: which of some episodes are among them."""
        score = self.scores.score[part]
        before = np.arange(part.start, part.stop) < self.end
        taken: Bool = (score > self.least) | ((score == self.least) & before)
        return taken


@dataclass(frozen=True)
class Scores:
    """What each of e episodes is worth in a prefetch mode."""

    score: F64  # [e] disk-head seconds saved per segment written
    written: I64  # [e] segments
    ranged: Bool  # [e] its OPT-Range is prefetched

    def best(self, most: int = NO_LIMIT, budget: float = math.inf) -> Best:
        """The best of the useful episodes (score above 0).

        Args:
            most: how many at most.
            budget: segments that they write at most.
        """
        return Best(self, *best_first(self.score, self.written, most, float(budget)))


@dataclass(frozen=True)
class Admission:
    """What OPT admits of some episodes within a budget."""

    admitted: Bool  # [e]
    prefetch: Prefetch | None
    run: FlashRun
    calibration: BudgetSetting  # its index counts admitted episodes


@dataclass(frozen=True)
class EpisodeLabels:
    """Labels of a part, see `label_problem`."""

    episodes: Episodes  # at the eviction age found
    score: F64  # [e] disk-head seconds saved per segment written
    choice: Admission  # OPT's
    age_found: str  # how the eviction age was found: `refined`, `few_evictions` or `no_fixed_point`
    analytic_age: int  # by Little's law, before simulation
    horizon: int  # requests of future that an episode must have had for its label to count, see `settled`
    rounds: list[tuple[int, float]] = field(default_factory=list)  # (age assumed, age simulated) of each

    def opt(self, rows: slice = EVERY) -> Bool:
        """bool[k]: OPT's decision for each of some requests; a request is admitted iff its episode is."""
        return of_episodes(self.choice.admitted, self.episodes.episode[rows], False)

    def settled(self, rows: slice = EVERY) -> Bool:
        """bool[k]: the request's episode began at least `horizon` requests before the end; False for writes.

        Every episode that had ended is settled. One that is still open and began early is kept too: it is a
        hot block, and masking those would leave only the short episodes to learn from.
        """
        n = len(self.episodes.episode)
        first = of_episodes(self.episodes.first, self.episodes.episode[rows], n)
        return first < n - self.horizon


def dt_saved(problem: FlashProblem, episodes: Episodes, costs: Episodes | RangeCosts) -> F64:
    """Disk-head seconds each episode saves; with the two constants n - misses I/Os and q - written segments.

    Where nothing of an episode expires or is overwritten, that is DT(n - misses I/Os, q - W segments) without prefetch
    and DT(n - 1 I/Os, q - R segments) with prefetch of OPT-Range. With a model of the disk each read that is spared
    counts by what it costs where nothing is cached: nearly nothing where it goes on where the disk's head is.

    Args:
        problem: the part and its disk.
        episodes: the episodes.
        costs: what they fetch: without prefetch, or with it.
    """
    saved: F64 = problem.accesses.room(np.float64, len(episodes))
    if problem.disk is None:
        for part in stretches(len(episodes)):
            n_bytes = (episodes.touched[part] - costs.written[part]) * problem.geometry.segment_bytes
            saved[part] = problem.cost.seconds(episodes.accesses[part] - costs.misses[part], n_bytes)
        return saved
    for rows in stretches(len(problem)):
        add_up(problem.spared_seconds(costs.fetched[rows], rows), episodes.episode[rows], saved)
    return saved


def score_episodes(problem: FlashProblem, episodes: Episodes, mode: OptMode = NO_PREFETCH) -> Scores:
    """Seconds saved per segment written: without prefetch, with OPT-Range, or each episode by the better of both."""
    plain, ranged = _per_segment(problem, episodes, episodes), problem.accesses.room(np.bool_, len(episodes))
    if mode == NO_PREFETCH:
        return Scores(plain, episodes.written, ranged)
    costs = range_costs(problem.accesses, episodes)
    score, written = _per_segment(problem, episodes, costs), costs.written
    for part in stretches(len(episodes)):
        use = score[part] > plain[part] if mode == OPT_RANGE_WHEN else np.True_
        score[part] = np.where(use, score[part], plain[part])
        written[part] = np.where(use, written[part], episodes.written[part])
        ranged[part] = use
    return Scores(score, written, ranged)


def _per_segment(problem: FlashProblem, episodes: Episodes, costs: Episodes | RangeCosts) -> F64:
    """`dt_saved` for each segment written."""
    saved = dt_saved(problem, episodes, costs)
    for part in stretches(len(saved)):
        saved[part] /= np.maximum(costs.written[part], 1)
    return saved


def opt_range(problem: FlashProblem, episodes: Episodes, ranged: Bool | None = None) -> Prefetch:
    """OPT-Range as a prefetch: on a miss, what its episode accesses, as far as that lies in the block.

    Args:
        problem: the part.
        episodes: its episodes.
        ranged: bool[e] episodes that prefetch; None is all.
    """
    room, n = problem.accesses.room, len(problem)
    prefetch = Prefetch(room(np.int32, n), room(np.int32, n))
    for rows in stretches(n):
        row = episodes.episode[rows]
        high = np.minimum(of_episodes(episodes.high, row, 0), problem.geometry.per_block)
        prefetch.low[rows] = of_episodes(episodes.low, row, 0)
        prefetch.high[rows] = high if ranged is None else np.where(of_episodes(ranged, row, False), high, 0)
    return prefetch


def choose_episodes(problem: FlashProblem, episodes: Episodes, mode: OptMode = NO_PREFETCH) -> Admission:
    """OPT: admit the best-scored episodes up to the problem's budget, by simulated writes.

    Only episodes that save disk-head time are admitted, so OPT may stay below the budget (`reached` False).
    """
    scores = score_episodes(problem, episodes, mode)
    prefetch = None if mode == NO_PREFETCH else opt_range(problem, episodes, scores.ranged)
    latest: dict[int, tuple[Bool, FlashRun]] = {}  # one alone: runs of long traces are large
    room = problem.accesses.room

    def writes_at(count: int) -> int:
        latest.clear()
        best, admitted = scores.best(count), room(np.bool_, len(episodes))
        for part in stretches(len(episodes)):
            admitted[part] = best.taken(part)
        admit = room(np.bool_, len(problem))
        for rows in stretches(len(problem)):
            admit[rows] = of_episodes(admitted, episodes.episode[rows], False)
        run = problem.run(admit, prefetch)
        latest[count] = admitted, run
        return run.segment_writes

    found = problem.meet(writes_at, scores.best().count, scores.best(budget=problem.budget).count)
    if found.index not in latest:
        writes_at(found.index)
    admitted, run = latest[found.index]
    return Admission(admitted, prefetch, run, found)


def price_of_writes(problem: FlashProblem, episodes: Episodes, mode: OptMode, budget: float) -> float:
    """The least that OPT gets for a segment written within a budget, in disk-head seconds; inf where it admits nothing.

    `budget` is a share of AcceptAll's writes.
    """
    own = replace(problem, budget=problem.accept_all.segment_writes * budget)
    admitted, score = choose_episodes(own, episodes, mode).admitted, score_episodes(own, episodes, mode).score
    least = (float(score[part][admitted[part]].min(initial=np.inf)) for part in stretches(len(score)))
    return min(least, default=math.inf)


def remaining_scores(problem: FlashProblem, episodes: Episodes, mode: OptMode, reads: int) -> F64:
    """float64[n]: seconds saved per segment written were a read's episode admitted from this read on.

    Of the first `reads` reads of each episode, 0 elsewhere. What came before is lost by then: the last read of an
    episode has nothing to save, however much its episode was worth at the first.
    """
    found: F64 = problem.accesses.room(np.float64, len(problem))
    for before in range(reads):
        rest = find_episodes(problem.accesses, problem.read, episodes.age, before) if before else episodes
        score = score_episodes(problem, rest, mode).score
        for rows in stretches(len(problem)):
            own = np.flatnonzero(episodes.index[rows] == before)
            found[rows][own] = score[episodes.episode[rows][own]]
    return found


def worth(problem: FlashProblem, episodes: Episodes, mode: OptMode, reads: int, budgets: Sequence[float]) -> F64:
    """float64[n]: of some budgets the share at whose price a read is worth its flash writes, see `remaining_scores`."""
    scores = remaining_scores(problem, episodes, mode, reads)
    prices = [price_of_writes(problem, episodes, mode, budget) for budget in budgets]
    share: F64 = problem.accesses.room(np.float64, len(problem))
    for rows in stretches(len(problem)):
        share[rows] = np.mean([scores[rows] >= price for price in prices], axis=0)
    return share


def _assume(problem: FlashProblem, age: int, mode: OptMode) -> tuple[Episodes, Admission]:
    episodes = find_episodes(problem.accesses, problem.read, age)
    return episodes, choose_episodes(problem, episodes, mode)


def analytic_age(problem: FlashProblem, mode: OptMode = NO_PREFETCH) -> int:
    """Eviction age by Little's law: write rate x (W-weighted mean timespan + age) = capacity, for OPT.

    Returns:
        Requests, in [1, n]; n where even that age does not fill the cache.
    """

    def size(age: int) -> float:
        episodes = find_episodes(problem.accesses, problem.read, age)
        scores = score_episodes(problem, episodes, mode)
        best = scores.best(budget=problem.budget)

        def stays() -> Iterator[int]:
            for part in stretches(len(episodes)):
                chosen = best.taken(part)
                residence = episodes.timespan(part)[chosen] + age
                yield from (scores.written[part][chosen] * residence).tolist()

        return math.fsum(stays()) / len(problem)

    low, high = 1, 2
    while high < len(problem) and size(high) < problem.capacity:
        low, high = high, high * 2
    high = min(high, len(problem))
    if high == len(problem) and size(high) < problem.capacity:
        return high
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) < problem.capacity else (low, middle)
    return high


def _refine(
    problem: FlashProblem, label: EpisodeLabel, age: int, mode: OptMode, rounds: list[tuple[int, float]]
) -> tuple[int, str | None]:
    """Move the age towards the simulated one, in halved steps after each overshoot.

    Returns:
        The age and how the search ended, None without a valid fixed point.
    """
    n = len(problem)
    damping = label.age_damping
    before = 0.0
    for _ in range(label.age_rounds):
        choice = _assume(problem, age, mode)[1]
        simulated, found = choice.run.mean_eviction_age, choice.calibration
        rounds.append((age, simulated))
        if choice.run.evictions < label.min_evictions:
            return n, "few_evictions"
        if abs(simulated - age) <= label.age_tolerance * age:
            starved = not found.reached and found.writes < problem.budget / 2
            return age, None if starved and age < n else "refined"
        damping = damping / 2 if before * (simulated - age) < 0 else damping
        before = simulated - age
        age = min(n, max(1, round(age + damping * before)))
    return age, None


def label_problem(problem: FlashProblem, label: EpisodeLabel, mode: OptMode = NO_PREFETCH) -> EpisodeLabels:
    """Find the eviction age, then label.

    The analytic age is refined by simulation until assumed and simulated age agree. A fixed point whose
    simulated writes stay below half the budget is rejected (the age is then so short that few episodes are
    worth a write), and the search starts again from a larger age; without any valid one the age is the
    trace's length.

    Args:
        problem: the part and its cache.
        label: `label.episodes`.
        mode: what OPT prefetches.
    """
    start = age = analytic_age(problem, mode)
    rounds: list[tuple[int, float]] = []
    found: str | None = None
    while found is None:
        settled, found = _refine(problem, label, age, mode, rounds)
        if found is None and age >= len(problem):
            settled, found = len(problem), "no_fixed_point"
        if found is None:
            age = min(len(problem), age * RESTART_FACTOR)
    episodes, choice = _assume(problem, settled, mode)
    horizon = min(settled, int(len(problem) * label.horizon_fraction))
    score = score_episodes(problem, episodes, mode).score
    return EpisodeLabels(episodes, score, choice, found, start, horizon, rounds)

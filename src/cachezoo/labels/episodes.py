"""Episode labels: what OPT would admit under a write budget, at an eviction age found for the trace itself.

Everything here is computed from the part it is given and nothing else: cut first, label after. Source: Baleen
post, "OPT approximates optimal online admission policy", "Introducing episodes" and "Learning what to prefetch".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.flash_cache.problem import BudgetSetting, FlashProblem
from cachezoo.kernels.episodes import Episodes, RangeCosts, find_episodes, range_costs
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.kernels.segments import Geometry
from cachezoo.settings.flash import EpisodeLabel

OptMode = Literal["none", "opt_range", "opt_range_when"]
NO_PREFETCH: OptMode = "none"
OPT_RANGE: OptMode = "opt_range"
OPT_RANGE_WHEN: OptMode = "opt_range_when"
OPT_MODES: tuple[OptMode, ...] = (NO_PREFETCH, OPT_RANGE, OPT_RANGE_WHEN)
RESTART_FACTOR = 4


@dataclass(frozen=True)
class Scores:
    """What each of e episodes is worth in a prefetch mode."""

    score: F64  # [e] disk-head seconds saved per segment written
    written: I64  # [e] segments
    ranged: Bool  # [e] its OPT-Range is prefetched

    def order(self) -> I64:
        """The useful episodes (score above 0) in OPT's order: best first, ties by time."""
        order = np.argsort(-self.score, kind="stable")
        return order[: int(np.count_nonzero(self.score > 0))]


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

    def opt(self) -> Bool:
        """bool[n]: OPT's decision for each request; a request is admitted iff its episode is."""
        return np.append(self.choice.admitted, False)[self.episodes.episode]

    def settled(self) -> Bool:
        """bool[n]: the request's episode began at least `horizon` requests before the end; False for writes.

        Every episode that had ended is settled. One that is still open and began early is kept too: it is a
        hot block, and masking those would leave only the short episodes to learn from.
        """
        n = len(self.episodes.episode)
        return np.append(self.episodes.first < n - self.horizon, False)[self.episodes.episode]


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
    if problem.disk is None:
        segments = episodes.touched - costs.written
        return problem.cost.seconds(episodes.accesses - costs.misses, segments * problem.geometry.segment_bytes)
    rows = np.flatnonzero(episodes.episode >= 0)
    spared = problem.spared_seconds(costs.fetched)[rows]
    return np.bincount(episodes.episode[rows], spared, minlength=len(episodes)).astype(np.float64)


def score_episodes(problem: FlashProblem, episodes: Episodes, mode: OptMode = NO_PREFETCH) -> Scores:
    """Seconds saved per segment written: without prefetch, with OPT-Range, or each episode by the better of both."""
    plain = dt_saved(problem, episodes, episodes) / np.maximum(episodes.written, 1)
    none = np.zeros(len(episodes), np.bool_)
    if mode == NO_PREFETCH:
        return Scores(plain, episodes.written, none)
    costs = range_costs(problem.accesses, episodes)
    ranged = dt_saved(problem, episodes, costs) / np.maximum(costs.written, 1)
    use = ranged > plain if mode == OPT_RANGE_WHEN else ~none
    return Scores(np.where(use, ranged, plain), np.where(use, costs.written, episodes.written), use)


def opt_range(episodes: Episodes, geometry: Geometry, ranged: Bool | None = None) -> Prefetch:
    """OPT-Range as a prefetch: on a miss, what its episode accesses, as far as that lies in the block.

    Args:
        episodes: the episodes.
        geometry: of the problem.
        ranged: bool[e] episodes that prefetch; None is all.
    """
    row = episodes.episode
    high = np.minimum(episodes.high, geometry.per_block)
    if ranged is not None:
        high = np.where(ranged, high, 0)
    return Prefetch(np.append(episodes.low, 0)[row].astype(np.int32), np.append(high, 0)[row].astype(np.int32))


def choose_episodes(problem: FlashProblem, episodes: Episodes, mode: OptMode = NO_PREFETCH) -> Admission:
    """OPT: admit the best-scored episodes up to the problem's budget, by simulated writes.

    Only episodes that save disk-head time are admitted, so OPT may stay below the budget (`reached` False).
    """
    scores = score_episodes(problem, episodes, mode)
    order = scores.order()
    prefetch = None if mode == NO_PREFETCH else opt_range(episodes, problem.geometry, scores.ranged)
    latest: dict[int, FlashRun] = {}  # one alone: runs of long traces are large

    def admitted(count: int) -> Bool:
        chosen = np.zeros(len(episodes) + 1, np.bool_)
        chosen[order[:count]] = True
        return chosen

    def writes_at(count: int) -> int:
        latest.clear()
        latest[count] = problem.run(admitted(count)[episodes.episode], prefetch)
        return latest[count].segment_writes

    guess = int(np.searchsorted(np.cumsum(scores.written[order]), problem.budget, side="right"))
    found = problem.meet(writes_at, len(order), guess)
    if found.index not in latest:
        writes_at(found.index)
    return Admission(admitted(found.index)[:-1], prefetch, latest[found.index], found)


def price_of_writes(problem: FlashProblem, episodes: Episodes, mode: OptMode, budget: float) -> float:
    """The least that OPT gets for a segment written within a budget, in disk-head seconds; inf where it admits nothing.

    `budget` is a share of AcceptAll's writes.
    """
    own = replace(problem, budget=problem.accept_all.segment_writes * budget)
    admitted = choose_episodes(own, episodes, mode).admitted
    return float(score_episodes(own, episodes, mode).score[admitted].min(initial=np.inf))


def remaining_scores(problem: FlashProblem, episodes: Episodes, mode: OptMode, reads: int) -> F64:
    """float64[n]: seconds saved per segment written were a read's episode admitted from this read on.

    Of the first `reads` reads of each episode, 0 elsewhere. What came before is lost by then: the last read of an
    episode has nothing to save, however much its episode was worth at the first.
    """
    found = np.zeros(len(problem))
    for before in range(reads):
        rest = find_episodes(problem.accesses, problem.read, episodes.age, before) if before else episodes
        rows = np.flatnonzero(episodes.index == before)
        found[rows] = score_episodes(problem, rest, mode).score[episodes.episode[rows]]
    return found


def worth(problem: FlashProblem, episodes: Episodes, mode: OptMode, reads: int, budgets: Sequence[float]) -> F64:
    """float64[n]: of some budgets the share at whose price a read is worth its flash writes, see `remaining_scores`."""
    scores = remaining_scores(problem, episodes, mode, reads)
    prices = [price_of_writes(problem, episodes, mode, budget) for budget in budgets]
    share: F64 = np.mean([scores >= price for price in prices], axis=0)
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
        order = scores.order()
        count = int(np.searchsorted(np.cumsum(scores.written[order]), problem.budget, side="right"))
        chosen = order[:count]
        residence = episodes.timespan[chosen] + age
        return math.fsum((scores.written[chosen] * residence).tolist()) / len(problem)

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

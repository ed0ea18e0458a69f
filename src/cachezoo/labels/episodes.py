"""Episode labels: what OPT would admit under a write budget, at an eviction age found for the trace itself.

Everything here is computed from the part it is given and nothing else: cut first, label after. Source: Baleen
post, "OPT approximates optimal online admission policy" and "Introducing episodes".
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from cachezoo.config.baleen import EpisodeLabel
from cachezoo.kernels.episodes import Episodes, find_episodes
from cachezoo.kernels.flash import DiskHead, FlashRun, Prefetch
from cachezoo.kernels.segments import Geometry
from cachezoo.labels.calibrate import Calibration, calibrate
from cachezoo.labels.flash_problem import FlashProblem

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
RESTART_FACTOR = 4


@dataclass(frozen=True)
class Choice:
    """What OPT admits of some episodes within a budget.

    Attributes:
        admitted: bool[e].
        run: the simulated run.
        calibration: how the budget was met; its index counts admitted episodes.
    """

    admitted: Bool
    run: FlashRun
    calibration: Calibration


@dataclass(frozen=True)
class EpisodeLabels:
    """Labels of a part, see `label_problem`.

    Attributes:
        episodes: the episodes at the eviction age found.
        score: float64[e] disk-head seconds saved per segment written.
        choice: what OPT admits.
        age_found: how the eviction age was found: `refined`, `few_evictions` or `no_fixed_point`.
        analytic_age: the age by Little's law, before simulation.
        horizon: requests of future an episode must have had for its label to count, see `settled`.
        rounds: (age assumed, age simulated) of each round.
    """

    episodes: Episodes
    score: F64
    choice: Choice
    age_found: str
    analytic_age: int
    horizon: int
    rounds: list[tuple[int, float]] = field(default_factory=list)

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


def dt_saved(episodes: Episodes, geometry: Geometry, cost: DiskHead) -> F64:
    """Disk-head seconds each episode saves without prefetch: n - misses I/Os and q - written segments."""
    segments = episodes.touched - episodes.written
    return cost.seconds(episodes.accesses - episodes.misses, segments * geometry.segment_bytes)


def rank_episodes(episodes: Episodes, geometry: Geometry, cost: DiskHead) -> tuple[F64, I64]:
    """Scores, and the useful episodes (score above 0) in OPT's order: best first, ties by time.

    Returns:
        score float64[e] in seconds per segment written, order int64[useful episodes].
    """
    score = dt_saved(episodes, geometry, cost) / episodes.written
    order = np.argsort(-score, kind="stable")
    return score, order[: int(np.count_nonzero(score > 0))]


def choose_episodes(problem: FlashProblem, episodes: Episodes) -> Choice:
    """OPT: admit the best-scored episodes up to the problem's budget, by simulated writes.

    Only episodes that save disk-head time are admitted, so OPT may stay below the budget (`reached` False).
    """
    _, order = rank_episodes(episodes, problem.geometry, problem.cost)
    runs: dict[int, FlashRun] = {}

    def admitted(count: int) -> Bool:
        chosen = np.zeros(len(episodes) + 1, np.bool_)
        chosen[order[:count]] = True
        return chosen

    def writes_at(count: int) -> int:
        runs[count] = problem.run(admitted(count)[episodes.episode])
        return runs[count].segment_writes

    guess = int(np.searchsorted(np.cumsum(episodes.written[order]), problem.budget, side="right"))
    found = calibrate(writes_at, len(order), problem.budget, problem.tolerance, guess)
    if found.index not in runs:
        writes_at(found.index)
    return Choice(admitted(found.index)[:-1], runs[found.index], found)


def opt_range(episodes: Episodes, geometry: Geometry) -> Prefetch:
    """OPT-Range as a prefetch: on a miss, what its episode will access, as far as that lies in the block."""
    row = episodes.episode
    high = np.minimum(episodes.high, geometry.per_block)
    return Prefetch(np.append(episodes.low, 0)[row].astype(np.int32), np.append(high, 0)[row].astype(np.int32))


def _assume(problem: FlashProblem, age: int) -> tuple[Episodes, Choice]:
    episodes = find_episodes(problem.accesses, problem.read, age)
    return episodes, choose_episodes(problem, episodes)


def analytic_age(problem: FlashProblem) -> int:
    """Eviction age by Little's law: write rate x (W-weighted mean timespan + age) = capacity, for OPT.

    Returns:
        Requests, in [1, n]; n where even that age does not fill the cache.
    """

    def size(age: int) -> float:
        episodes = find_episodes(problem.accesses, problem.read, age)
        _, order = rank_episodes(episodes, problem.geometry, problem.cost)
        count = int(np.searchsorted(np.cumsum(episodes.written[order]), problem.budget, side="right"))
        chosen = order[:count]
        residence = episodes.timespan[chosen] + age
        return float(np.dot(episodes.written[chosen].astype(np.float64), residence)) / len(problem)

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
    problem: FlashProblem, label: EpisodeLabel, age: int, rounds: list[tuple[int, float]]
) -> tuple[int, str | None]:
    """Move the age towards the simulated one, in halved steps after each overshoot.

    Returns:
        The age and how the search ended, None without a valid fixed point.
    """
    n = len(problem)
    damping = label.age_damping
    before = 0.0
    for _ in range(label.age_rounds):
        choice = _assume(problem, age)[1]
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


def label_problem(problem: FlashProblem, label: EpisodeLabel) -> EpisodeLabels:
    """Find the eviction age, then label.

    The analytic age is refined by simulation until assumed and simulated age agree. A fixed point whose
    simulated writes stay below half the budget is rejected (the age is then so short that few episodes are
    worth a write), and the search starts again from a larger age; without any valid one the age is the
    trace's length.
    """
    start = age = analytic_age(problem)
    rounds: list[tuple[int, float]] = []
    found: str | None = None
    while found is None:
        settled, found = _refine(problem, label, age, rounds)
        if found is None and age >= len(problem):
            settled, found = len(problem), "no_fixed_point"
        if found is None:
            age = min(len(problem), age * RESTART_FACTOR)
    episodes, choice = _assume(problem, settled)
    score, _ = rank_episodes(episodes, problem.geometry, problem.cost)
    horizon = min(settled, int(len(problem) * label.horizon_fraction))
    return EpisodeLabels(episodes, score, choice, found, start, horizon, rounds)

"""Episode labels: what OPT would admit under a write budget, at an eviction age found for the trace itself.

Everything here is computed from the part it is given and nothing else: cut first, label after. Source: Baleen
post, "OPT approximates optimal online admission policy" and "Introducing episodes".
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.config.baleen import EpisodeLabel, FlashPolicy
from cachezoo.errors import TraceError
from cachezoo.kernels.episodes import Episodes, find_episodes
from cachezoo.kernels.flash import DiskHead, FlashRun, Prefetch, simulate_flash
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from cachezoo.labels.calibrate import Calibration, calibrate
from cachezoo.traces.table import OP_READ, Trace

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
METADATA_KEY = "cachezoo.episodes"
RULE_SEGMENT_BYTES = tuple(4096 << shift for shift in (5, 4, 3, 2, 1, 0))
RULE_BLOCKS = 1000
RULE_INFLATION = 1.1
RESTART_FACTOR = 4


@dataclass(frozen=True)
class FlashProblem:
    """A part of a trace with the cache that is to serve it.

    Attributes:
        accesses: its segments.
        read: bool[n].
        capacity: segments the cache holds.
        geometry, cost, lru: as configured.
        accept_all: the run that admits everything.
        budget: segment writes allowed.
        tolerance: how near to the budget a policy must come, relative.
    """

    accesses: SegmentAccesses
    read: Bool
    capacity: int
    geometry: Geometry
    cost: DiskHead
    lru: bool
    accept_all: FlashRun
    budget: float
    tolerance: float

    def __len__(self) -> int:
        return len(self.read)

    def run(self, admit: Bool) -> FlashRun:
        """Simulate one decision per request, bool[n]."""
        return simulate_flash(self.accesses, self.read, admit, self.capacity, lru=self.lru)

    def dt_seconds(self, run: FlashRun) -> F64:
        """float64[n]: disk-head time of each request's read, 0 for hits and writes."""
        return self.cost.seconds(run.io_segments > 0, run.io_segments * np.int64(self.geometry.segment_bytes))


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


def flash_problem(trace: Trace, label: EpisodeLabel, flash: FlashPolicy) -> FlashProblem:
    """The cache and the write budget for a part of a trace.

    Raises:
        TraceError: the part has no reads, so there is nothing to admit.
    """
    geometry = Geometry(label.block_bytes, label.segment_bytes)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, geometry)
    read = trace.op == OP_READ
    if not read.any():
        name = trace.meta.trace_id
        message = f"{name}: the trace has no reads, so it has no episodes; leave it out of this category"
        raise TraceError(message)
    capacity = max(1, int(accesses.n_segments * label.cache_fraction))
    lru = flash.eviction == "lru"
    accept_all = simulate_flash(accesses, read, np.ones(len(read), np.bool_), capacity, lru=lru)
    cost = DiskHead(flash.seek_ms, flash.rate_mib_s)
    budget = accept_all.segment_writes * label.write_budget
    return FlashProblem(
        accesses, read, capacity, geometry, cost, lru, accept_all, budget, label.budget_tolerance
    )


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


def choose_geometry(trace: Trace) -> Geometry:
    """The largest 64:1 geometry with at least 1,000 read blocks and footprint inflation at most 1.1.

    Returns:
        Between 8 MiB / 128 KiB and the floor, 256 KiB / 4 KiB.
    """
    for segment_bytes in RULE_SEGMENT_BYTES[:-1]:
        geometry = Geometry(segment_bytes * 64, segment_bytes)
        blocks, inflation = footprint(trace, geometry)
        if blocks >= RULE_BLOCKS and inflation <= RULE_INFLATION:
            return geometry
    return Geometry()


def footprint(trace: Trace, geometry: Geometry) -> tuple[int, float]:
    """Read blocks of a geometry, and the bytes its segments cover over the bytes 4 KiB segments cover."""
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, geometry)
    fine = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
    blocks = len(np.unique(accesses.block[trace.op == OP_READ]))
    return blocks, accesses.n_segments * geometry.segment_bytes / (fine.n_segments * Geometry().segment_bytes)


def describe(trace: Trace, problem: FlashProblem, labels: EpisodeLabels) -> dict[str, Any]:
    """The figures that travel in the label file's metadata; plain JSON values."""
    blocks, inflation = footprint(trace, problem.geometry)
    rule = choose_geometry(trace)
    run = problem.accept_all
    dt = float(problem.dt_seconds(run).sum())
    seeks = problem.cost.seek_ms / 1e3 * int(np.count_nonzero(run.io_segments))
    return {
        "age_found": labels.age_found,
        "analytic_eviction_age": labels.analytic_age,
        "block_bytes": problem.geometry.block_bytes,
        "blocks": blocks,
        "budget_reached": labels.choice.calibration.reached,
        "budget_writes": problem.budget,
        "accept_all_writes": run.segment_writes,
        "capacity_segments": problem.capacity,
        "episodes": len(labels.episodes),
        "episodes_admitted": int(labels.choice.admitted.sum()),
        "episodes_open": int(labels.episodes.open.sum()),
        "eviction_age": labels.episodes.age,
        "footprint_inflation": inflation,
        "horizon": labels.horizon,
        "opt_writes": labels.choice.run.segment_writes,
        "requests": len(problem),
        "rounds": [[age, simulated] for age, simulated in labels.rounds],
        "rule_block_bytes": rule.block_bytes,
        "rule_segment_bytes": rule.segment_bytes,
        "segment_bytes": problem.geometry.segment_bytes,
        "segments": problem.accesses.n_segments,
        "simulated_eviction_age": labels.choice.run.mean_eviction_age,
        "transfer_share": (dt - seeks) / dt if dt > 0 else 0.0,
    }


def write_episode_labels(trace: Trace, label: EpisodeLabel, flash: FlashPolicy, path: Path) -> dict[str, Any]:
    """Label a whole trace file and write one row per request, in the requests' order.

    Columns: `episode` (-1 writes), `access_index` within the episode, `accesses` n of the episode, `fetched`
    segments the read would fetch were the episode admitted, `range_low` and `range_high` the episode's OPT-Range within
    its block (segments, the end excluded; 0 and 0 for writes), `score` seconds saved per segment written, `opt`
    admitted, `settled` (see `EpisodeLabels.settled`), `open` (the trace ended within an eviction age of its
    last read). Figures stand as JSON text in the metadata.

    Returns:
        The figures.
    """
    import pyarrow as pa

    from cachezoo.io import dump_json, write_table

    problem = flash_problem(trace, label, flash)
    labels = label_problem(problem, label)
    episodes = labels.episodes
    row = episodes.episode
    ranges = opt_range(episodes, problem.geometry)
    table = pa.table(
        {
            "episode": pa.array(row, pa.int32()),
            "access_index": pa.array(episodes.index, pa.int32()),
            "accesses": pa.array(np.append(episodes.accesses, 0)[row], pa.int32()),
            "fetched": pa.array(episodes.fetched, pa.int32()),
            "range_low": pa.array(ranges.low, pa.int32()),
            "range_high": pa.array(ranges.high, pa.int32()),
            "score": pa.array(np.append(labels.score, 0.0)[row], pa.float64()),
            "opt": pa.array(labels.opt(), pa.bool_()),
            "settled": pa.array(labels.settled(), pa.bool_()),
            "open": pa.array(np.append(episodes.open, False)[row], pa.bool_()),
        }
    )
    figures = describe(trace, problem, labels)
    write_table(path, table, {METADATA_KEY: dump_json(figures), "cachezoo.trace_id": trace.meta.trace_id})
    return figures


@dataclass(frozen=True)
class EpisodeRows:
    """Labels as read from a file: one entry a request, columns as in `write_episode_labels`."""

    episode: npt.NDArray[np.int32]
    access_index: npt.NDArray[np.int32]
    opt: Bool
    settled: Bool
    range_low: npt.NDArray[np.int32]
    range_high: npt.NDArray[np.int32]
    figures: dict[str, Any]


def read_episode_labels(path: Path) -> EpisodeRows:
    """Read what `write_episode_labels` wrote.

    Raises:
        TraceError: the file is missing, damaged, or holds no episode labels.
    """
    import json

    from cachezoo.io import read_table

    names = ["episode", "access_index", "opt", "settled", "range_low", "range_high"]
    table, metadata = read_table(path, columns=names)
    if METADATA_KEY not in metadata:
        message = f"{path}: holds no episode labels; run the stage label_episodes"
        raise TraceError(message)
    columns = {name: table.column(name).to_numpy() for name in names}
    return EpisodeRows(**columns, figures=json.loads(metadata[METADATA_KEY]))

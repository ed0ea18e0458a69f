import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.flash_cache.problem import flash_problem
from cachezoo.io import read_table
from cachezoo.kernels.episodes import find_episodes
from cachezoo.kernels.segments import Geometry
from cachezoo.labels.episode_file import episode_rows, footprint, write_episode_labels
from cachezoo.labels.episode_rows import read_episode_labels
from cachezoo.labels.episodes import (
    OPT_MODES,
    OptMode,
    analytic_age,
    choose_episodes,
    label_problem,
    opt_range,
    price_of_writes,
    remaining_scores,
    score_episodes,
    worth,
)
from cachezoo.traces.table import OP_READ
from tests.baleen_data import FLASH, LABEL, ingested_part, make_trace, partial_scans, rewritten_after

TRACE = make_trace(20_000, 1)


def test_score_by_hand() -> None:
    problem = flash_problem(TRACE, LABEL, FLASH)
    episodes = find_episodes(problem.accesses, problem.read, 2000)
    scores = score_episodes(problem, episodes)
    score, order = scores.score, np.argsort(-scores.score, kind="stable")[: scores.best().count]
    e = int(order[0])
    rows = np.flatnonzero(episodes.episode == e)
    ios = sum(1 for row in rows if episodes.fetched[row] == 0)
    segments = int(problem.accesses.sizes[rows].sum() - episodes.fetched[rows].sum())
    seconds = ios * 0.0115 + segments * 4096 / (143 * 2**20)
    assert score[e] * scores.written[e] == pytest.approx(seconds)
    assert score[e] == pytest.approx(seconds / episodes.fetched[rows].sum())
    assert (np.diff(score[order]) <= 0).all() and (score[order] > 0).all()
    ties = np.diff(score[order]) == 0
    assert (np.diff(order)[ties] > 0).all()
    assert not (episodes.accesses[order] == 1).any()


def test_the_age_is_a_fixed_point_or_says_why_not() -> None:
    problem = flash_problem(TRACE, LABEL, FLASH)
    labels = label_problem(problem, LABEL)
    age, simulated = labels.episodes.age, labels.choice.run.mean_eviction_age
    if labels.age_found == "refined":
        assert abs(simulated - age) <= LABEL.age_tolerance * age
    else:
        assert age == len(problem)
    assert labels.rounds[0][0] == labels.analytic_age == analytic_age(problem)


def test_few_evictions_give_the_trace_length() -> None:
    roomy = LABEL.model_copy(update={"cache_fraction": 1.0})
    labels = label_problem(flash_problem(TRACE, roomy, FLASH), roomy)
    assert (labels.age_found, labels.episodes.age) == ("few_evictions", len(TRACE))


def test_more_budget_never_admits_less() -> None:
    problem = flash_problem(TRACE, LABEL, FLASH)
    episodes = find_episodes(problem.accesses, problem.read, 2000)
    counts = [
        int(choose_episodes(replace(problem, budget=b), episodes).admitted.sum()) for b in (300.0, 3000.0, 9000.0)
    ]
    assert counts == sorted(counts)


def test_file_is_one_row_a_request_and_the_same_bytes(tmp_path: Path) -> None:
    figures = write_episode_labels(TRACE, LABEL, FLASH, tmp_path / "a.parquet")
    write_episode_labels(TRACE, LABEL, FLASH, tmp_path / "b.parquet")
    digests = {hashlib.sha256((tmp_path / name).read_bytes()).digest() for name in ("a.parquet", "b.parquet")}
    assert len(digests) == 1
    table, _ = read_table(tmp_path / "a.parquet")
    assert len(table) == len(TRACE)
    labels = read_episode_labels(tmp_path / "a.parquet")
    assert labels.eviction_age == figures.eviction_age
    without_a_file = vars(episode_rows(flash_problem(TRACE, LABEL, FLASH), LABEL))
    assert all(np.array_equal(value, without_a_file[name]) for name, value in vars(labels).items())
    assert ((labels.episode == -1) == (TRACE.op == 1)).all()
    assert figures.episodes == labels.episode.max() + 1
    assert not labels.settled[labels.episode < 0].any() and not labels.open[labels.episode < 0].any()
    first = np.flatnonzero(labels.access_index == 0)
    assert labels.episode[first].tolist() == list(range(figures.episodes))


def test_the_file_says_which_episodes_may_go_on(tmp_path: Path) -> None:
    trace = partial_scans(6000, 1)
    write_episode_labels(trace, LABEL, FLASH, tmp_path / "a.parquet")
    labels = read_episode_labels(tmp_path / "a.parquet")
    last = np.full(labels.episode.max() + 1, -1)
    np.maximum.at(last, labels.episode, np.arange(len(trace)))
    may = len(trace) - 1 - last <= labels.eviction_age
    np.testing.assert_array_equal(labels.open, may[labels.episode])
    assert 0.05 < labels.open.mean() < 0.95


def test_settled_episodes_began_a_horizon_before_the_end() -> None:
    labels = label_problem(flash_problem(TRACE, LABEL, FLASH), LABEL)
    settled, episodes = labels.settled(), labels.episodes
    assert labels.horizon == min(episodes.age, len(TRACE) // 4)
    for e in range(0, len(episodes), 7):
        rows = episodes.episode == e
        assert settled[rows].all() == settled[rows].any() == (episodes.first[e] < len(TRACE) - labels.horizon)
        assert episodes.open[e] or settled[rows].all()
    assert not settled[TRACE.op == 1].any()


def test_a_part_is_labelled_from_itself_alone(tmp_path: Path) -> None:
    """Two traces that are one up to the cut and differ in everything later, cut by ingest as the pipeline does."""
    cut = 12_000
    later = rewritten_after(TRACE, cut)
    whole, parts = {}, {}
    for name, trace in (("a", TRACE), ("b", later)):
        parts[name] = tmp_path / f"{name}.parquet"
        write_episode_labels(ingested_part(trace, cut, tmp_path / name), LABEL, FLASH, parts[name])
        whole[name] = label_problem(flash_problem(trace, LABEL, FLASH), LABEL, LABEL.opt_prefetch).opt()[:cut]
    assert (whole["a"] != whole["b"]).any()  # what comes later would show in the labels
    assert parts["a"].read_bytes() == parts["b"].read_bytes()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        read_episode_labels(tmp_path / "none.parquet")


def test_modes_of_opt_meet_the_budget_by_simulated_writes() -> None:
    problem = flash_problem(TRACE, LABEL, FLASH)
    for mode in OPT_MODES:
        labels = label_problem(problem, LABEL, mode)
        choice = labels.choice
        assert choice.calibration.reached
        assert problem.run(labels.opt(), choice.prefetch).segment_writes == choice.run.segment_writes
        assert abs(choice.run.segment_writes - problem.budget) <= 0.025 * problem.budget
        assert (choice.prefetch is None) == (mode == "none") == (choice.run.prefetched.sum() == 0)
        assert not labels.opt()[~problem.read].any()
        for e in (0, 5, 50):
            assert len(set(labels.opt()[labels.episodes.episode == e])) == 1


def test_prefetch_scores_by_hand() -> None:
    # Block 0 is read in three separate places, block 1 twice in the same place: R is 3 and 1 segments.
    n = 5
    trace = replace(
        TRACE.rows(0, n),
        op=np.zeros(n, np.uint8),
        offset=np.array([0, 1, 2, 64, 64]) * 4096,
        size=np.full(n, 4096),
        volume=Coded.constant("vda", n),
    )
    problem = flash_problem(trace, LABEL, FLASH)
    episodes = find_episodes(problem.accesses, problem.read, n)
    seek, segment = 0.0115, 4096 / (143 * 2**20)
    plain, ranged, best = (score_episodes(problem, episodes, mode) for mode in OPT_MODES)
    assert (plain.written.tolist(), ranged.written.tolist()) == ([3, 1], [3, 1])
    np.testing.assert_allclose(plain.score, [0.0, seek + segment])
    np.testing.assert_allclose(ranged.score, [2 * seek / 3, seek + segment])
    assert (best.ranged.tolist(), best.score.tolist()) == ([True, False], ranged.score.tolist())
    prefetch = opt_range(problem, episodes, best.ranged)
    assert (prefetch.low.tolist(), prefetch.high.tolist()) == ([0] * 5, [3, 3, 3, 0, 0])
    run = replace(problem, capacity=9).run(np.ones(n, bool), prefetch)
    assert run.io_segments.tolist() == [3, 0, 0, 1, 0]


def test_labels_are_of_the_opt_that_prefetches_as_configured(tmp_path: Path) -> None:
    trace = partial_scans(6000, 1)
    problem = flash_problem(trace, LABEL, FLASH)
    seen = set()
    for mode in OPT_MODES:
        label = LABEL.model_copy(update={"opt_prefetch": mode})
        write_episode_labels(trace, label, FLASH, tmp_path / mode)
        labels, want = read_episode_labels(tmp_path / mode), label_problem(problem, LABEL, mode)
        np.testing.assert_array_equal(labels.opt, want.opt())
        assert labels.eviction_age == want.episodes.age
        seen.add(labels.opt.tobytes())
    assert len(seen) > 1


@pytest.mark.parametrize("mode", OPT_MODES)
def test_what_is_left_to_save_is_what_an_episode_saves_that_begins_later(mode: OptMode) -> None:
    """Against the same trace where the reads that came before are writes elsewhere."""
    trace, age = make_trace(2000, 3), 300
    problem = flash_problem(trace, LABEL, FLASH)
    episodes = find_episodes(problem.accesses, problem.read, age)
    scores, index = remaining_scores(problem, episodes, mode, 3), episodes.index
    whole = score_episodes(problem, episodes, mode).score[episodes.episode]
    np.testing.assert_array_equal(scores[index == 0], whole[index == 0])
    assert not scores[(index < 0) | (index >= 3)].any()
    for row in np.flatnonzero((index > 0) & (index < 3))[::25]:
        earlier = (episodes.episode == episodes.episode[row]) & (index < index[row])
        other = replace(trace, op=np.where(earlier, 1, trace.op), offset=np.where(earlier, 1 << 40, trace.offset))
        alone = flash_problem(other, LABEL, FLASH)
        late = find_episodes(alone.accesses, alone.read, age)
        assert late.index[row] == 0
        assert scores[row] == pytest.approx(score_episodes(alone, late, mode).score[late.episode[row]])
    last = index == episodes.accesses[episodes.episode] - 1
    assert (scores[last & (index > 0) & (index < 3)] <= 0).all()


def test_a_read_is_worth_its_writes_at_the_prices_of_larger_budgets_first() -> None:
    problem, budgets = flash_problem(TRACE, LABEL, FLASH), (0.05, 0.25, 0.5)
    mode = LABEL.opt_prefetch
    episodes = find_episodes(problem.accesses, problem.read, 2000)
    prices = [price_of_writes(problem, episodes, mode, budget) for budget in budgets]
    assert prices == sorted(prices, reverse=True) and prices[-1] > 0
    scores = score_episodes(problem, episodes, mode).score
    for budget, price in zip(budgets, prices, strict=True):
        own = replace(problem, budget=problem.accept_all.segment_writes * budget)
        assert scores[choose_episodes(own, episodes, mode).admitted].min() == price
    found, left = worth(problem, episodes, mode, 6, budgets), remaining_scores(problem, episodes, mode, 6)
    assert set(found.tolist()) == {0.0, 1 / 3, 2 / 3, 1.0}
    for share, price in zip((1.0, 2 / 3, 1 / 3), prices, strict=True):
        np.testing.assert_array_equal(found > share - 0.01, left >= price)
    nothing = replace(
        problem, accept_all=replace(problem.accept_all, written=np.zeros_like(problem.accept_all.written))
    )
    assert price_of_writes(nothing, episodes, mode, 0.25) == np.inf


@pytest.mark.parametrize("geometry", [Geometry(), Geometry(1 << 20, 1 << 14), Geometry(3000, 1000)])
def test_footprint(geometry: Geometry) -> None:
    trace = TRACE.rows(0, 3000)
    requests = list(zip(trace.volume.codes, trace.op, trace.offset, trace.size, strict=True))

    def units(unit: int) -> int:
        return unit * len({(v, s) for v, _, o, n in requests for s in range(o // unit, (o + n - 1) // unit + 1)})

    blocks = {(v, o // geometry.block_bytes) for v, op, o, _ in requests if op == OP_READ}
    assert footprint(trace, geometry) == (len(blocks), units(geometry.segment_bytes) / units(4096))

import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo import paths
from cachezoo.errors import TrainingError
from cachezoo.kernels.flash import DiskHead
from cachezoo.labels.flash_problem import flash_problem
from cachezoo.models.admission import load_admission
from cachezoo.models.prefetch import load_prefetch
from cachezoo.models.trained import read_trained
from cachezoo.policies.prefetch import ML_MODES, MODES, PLAIN_MODES
from cachezoo.traces.store import read_trace, write_trace
from cachezoo.training.admission import train_admission
from cachezoo.training.episode_rows import Part, block_hash, folds, held_out, serve_trace
from cachezoo.training.prefetch import Settings, fit, train_prefetch, write_trained
from cachezoo.training.prefetch_ranges import Fitter, Rows, net_saving, prefetch_rows
from tests.baleen_data import FLASH, LABEL
from tests.baleen_data import SETTINGS as ADMISSION
from tests.oracles.prefetch import naive_benefit
from tests.prefetch_data import PER_BLOCK, SETTINGS, at_random, by_user, make_trace, part, points, train_both

COST = DiskHead(FLASH.seek_ms, FLASH.rate_mib_s)


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def settings_with(**changes: object) -> Settings:
    return replace(SETTINGS, train=SETTINGS.train.model_copy(update=changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prefetch")


@pytest.fixture(scope="module")
def parts(folder: Path) -> tuple[Part, Part]:
    return part(make_trace(12_000, 1), "train", folder), part(make_trace(9_000, 2), "validation", folder)


@pytest.fixture(scope="module")
def trained(parts: tuple[Part, Part], folder: Path) -> Path:
    write_trained(*train_both(folder, [parts[0]], [parts[1]]), folder / "model")
    return folder / "model"


def test_learnable_ranges_are_learned_and_beat_the_plain_modes(parts: tuple[Part, Part], trained: Path) -> None:
    model, serving = load_prefetch(trained)
    assert model.trained and model.beats_baseline and model.policy["mode"] in ML_MODES, model.reason
    assert serving is not None and serving.mode == model.policy["mode"]
    figures = model.validation
    assert figures["range_exact"] > 0.95 > figures["range_of_access_alone_exact"]
    assert figures["mean_dt_saved_low"] > 0 and figures["mean_dt"] < figures["plain_mean_dt"]
    rows = serve_trace(serving, parts[1].trace)
    low, high = serving.ranges(rows)
    labels, user = parts[1].labels, parts[1].trace.user
    first = (labels.access_index == 0) & labels.settled
    group, point = first & (user.codes == 1), first & (user.codes == 0)
    assert (high[group] == low[group] // 16 * 16 + 16).mean() > 0.85  # a tenth began with a write, and are shorter
    assert (high[point] - low[point] == 1).mean() > 0.95
    assert (serving.worth(rows)[group] > 0).mean() > 0.9 > 0.1 > (serving.worth(rows)[point] > 0).mean()


def test_each_mode_has_a_threshold_that_keeps_to_the_budget(parts: tuple[Part, Part], trained: Path) -> None:
    model, serving = load_prefetch(trained)
    assert serving is not None
    modes = {row["mode"]: row for row in model.calibration["modes"]}
    assert tuple(modes) == MODES
    problem = flash_problem(parts[1].trace, LABEL, FLASH)
    _, admits = load_admission(trained.parent / "admission")
    rows = serve_trace(serving, parts[1].trace)
    assert rows.tobytes() == serve_trace(admits, parts[1].trace).tobytes()
    scores = admits.scores(rows)
    for mode, row in modes.items():
        run = problem.run(scores >= row["threshold"], serving.prefetch(rows, mode))
        assert run.segment_writes / problem.accept_all.segment_writes == pytest.approx(row["writes"])
        assert row["writes"] <= 0.25 * 1.025
        assert run.prefetched.sum() / problem.accept_all.segment_writes == pytest.approx(row["prefetched_writes"])
    chosen = modes[model.policy["mode"]]
    assert chosen["mode"] in ML_MODES
    assert chosen["choosing_mean_dt"] == min(row["choosing_mean_dt"] for row in modes.values())
    assert model.calibration["threshold"] == chosen["threshold"] == serving.threshold
    curve = [point["threshold"] for point in model.calibration["curve"]]
    assert curve == sorted(curve) and len(curve) > 3


@pytest.mark.parametrize("script", [at_random, points])
def test_where_nothing_is_to_be_learned_it_says_so(script: object, tmp_path: Path) -> None:
    made = [part(make_trace(n, seed, script), str(seed), tmp_path) for n, seed in ((9_000, 1), (7_000, 2))]
    model, forests = train_both(tmp_path, made[:1], made[1:])
    assert not model.beats_baseline and model.policy["mode"] == "none"
    assert model.calibration["modes"][0]["mode"] == "none"
    if script is points:
        assert not model.trained and not forests and "one class only" in model.reason
        assert [row["mode"] for row in model.calibration["modes"]] == list(PLAIN_MODES)
    else:
        assert model.trained and "does not beat none" in model.reason


def test_two_trainings_give_the_same_bytes(parts: tuple[Part, Part], trained: Path, tmp_path: Path) -> None:
    admitting = load_admission(trained.parent / "admission")
    write_trained(*fit("database", admitting, [parts[0]], [parts[1]], SETTINGS), tmp_path / "again")
    assert digest(tmp_path / "again") == digest(trained)
    assert set(digest(trained)) == {"start.lgb.txt", "end.lgb.txt", "when.lgb.txt", "train.json", "curves.csv"}


def test_without_validation_nothing_is_claimed(parts: tuple[Part, Part], trained: Path) -> None:
    model, _ = fit("database", load_admission(trained.parent / "admission"), [parts[0]], [], SETTINGS)
    assert model.trained and not model.beats_baseline and "no validation trace" in model.reason
    assert model.calibration["calibrated_on"] == "train" and model.policy["mode"] in PLAIN_MODES


def test_too_few_episodes_are_reported_as_untrained(
    parts: tuple[Part, Part], trained: Path, tmp_path: Path
) -> None:
    admitting = load_admission(trained.parent / "admission")
    model, forests = fit("database", admitting, [parts[0]], [parts[1]], settings_with(min_episodes=100_000))
    assert not model.trained and not model.beats_baseline and "min_episodes 100000" in model.reason
    write_trained(model, forests, tmp_path / "model")
    assert set(digest(tmp_path / "model")) == {"train.json", "curves.csv"}
    assert load_prefetch(tmp_path / "model") == (model, None)
    never = replace(parts[0].labels, opt=np.zeros(len(parts[0].trace), bool))
    model, _ = fit("database", admitting, [replace(parts[0], labels=never)], [parts[1]], SETTINGS)
    assert not model.trained and model.reason.startswith("0 admitted episodes")
    lost = (admitting[0].model_copy(update={"trained": False, "reason": "no split"}), admitting[1])
    model, _ = fit("database", lost, [parts[0]], [parts[1]], SETTINGS)
    assert not model.trained and model.reason == "its admission model never trained: no split"


def test_no_train_trace_is_an_error(trained: Path) -> None:
    admitting = load_admission(trained.parent / "admission")
    with pytest.raises(TrainingError, match="no train trace; add one: cachezoo trace add"):
        fit("database", admitting, [], [], SETTINGS)


def test_blocks_fall_whole_on_sides_and_folds(parts: tuple[Part, Part]) -> None:
    trace = parts[0].trace
    held, fold = held_out(trace, LABEL, 5), folds(trace, LABEL, 5, 3)
    block = trace.offset // LABEL.block_bytes
    for values in (held.astype(int), fold, block_hash(trace, LABEL).astype(np.int64)):
        assert len(np.unique(np.stack([block, values]), axis=1)[0]) == len(np.unique(block))
    counts = [[np.mean(fold[held == side] == k) for k in range(3)] for side in (False, True)]
    assert np.abs(np.array(counts) - 1 / 3).max() < 0.08


def test_benefit_and_targets_are_those_of_naive_loops(tmp_path: Path) -> None:
    trace = make_trace(4_000, 3)
    own = part(trace, "small", tmp_path)
    keep = (own.labels.access_index == 0) & own.labels.opt & own.labels.settled
    rows = prefetch_rows([(own, np.zeros((len(trace), 2), np.float32))], LABEL, SETTINGS.train)
    wanted = naive_benefit(trace, LABEL, int(own.labels.figures["eviction_age"]), COST)
    episodes = own.labels.episode[keep]
    np.testing.assert_allclose(rows.benefit, [wanted[e] for e in episodes])
    assert len(rows.first) == keep.sum() > 100 and (rows.benefit > 0).any() and (rows.benefit == 0).any()
    before, after = rows.reaches(PER_BLOCK)
    np.testing.assert_array_equal(rows.first - before, rows.low)
    np.testing.assert_array_equal(np.minimum(rows.last + 1, PER_BLOCK) + after, rows.high)


@given(st.lists(st.tuples(*[st.integers(0, 15)] * 4, st.floats(0, 1)), min_size=1, max_size=20))
def test_net_saving_is_that_of_sets(cases: list[tuple[int, int, int, int, float]]) -> None:
    pairs = [(min(a, b), max(a, b) + 1, min(c, d), max(c, d) + 1, benefit) for a, b, c, d, benefit in cases]
    low, high, true_low, true_high, benefit = (np.array(column) for column in zip(*pairs, strict=True))
    none = np.zeros(0)
    rows = Rows(none, none, none, true_low, true_high, benefit, none, none)
    for k, net in enumerate(net_saving(rows, low, high, LABEL, COST)):
        fetched, used = set(range(low[k], high[k])), set(range(true_low[k], true_high[k]))
        extra = len(fetched - used) * LABEL.segment_bytes / (FLASH.rate_mib_s * (1 << 20))
        assert net == pytest.approx((benefit[k] if used <= fetched else 0.0) - extra)


def test_ranges_for_when_come_from_other_folds() -> None:
    n = 600
    rng = np.random.default_rng(5)
    noise = rng.random((n, 3)).astype(np.float32)
    reach = rng.integers(0, 30, n)
    zeros = np.zeros(n, np.int64)
    ends = (1 + reach).astype(np.int32)
    sides = (rng.random(n) < 0.2, rng.integers(0, 3, n))
    rows = Rows(noise, zeros, zeros, zeros.astype(np.int32), ends, np.ones(n), *sides)
    big = SETTINGS.model.model_copy(update={"num_leaves": 200, "min_data_in_leaf": 1, "learning_rate": 0.5})
    fitter = Fitter(rows, ["a", "b", "c"], big, SETTINGS.train, LABEL, COST, 1)
    figures = fitter.fit().figures
    assert figures["range_exact"] < 0.15  # forests that had seen these rows would know them by heart


def test_the_stages_write_the_same_bytes_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = SimpleNamespace(
        label=SimpleNamespace(episodes=LABEL),
        features=SimpleNamespace(history=ADMISSION.history),
        model=SimpleNamespace(admission=ADMISSION.model, prefetch=SETTINGS.model),
        train=SimpleNamespace(admission=ADMISSION.train, prefetch=SETTINGS.train),
        policy=SimpleNamespace(flash=FLASH),
        seed=7,
        traces_of=lambda category, role: {"train": ["one"], "validation": ["two"]}.get(role, []),
    )
    results = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for seed, key in ((1, "one"), (2, "two")):
            write_trace(make_trace(6_000, seed, by_user), paths.requests("database", key))
            labels = paths.labels("episodes", "database", key)
            part(read_trace(paths.requests("database", key)), labels.name, labels.parent)
        train_admission(params, "database")
        model = train_prefetch(params, "database")
        folder = paths.trained("admission.database.lgbm")
        assert {str(folder / "model.lgb.txt"), str(folder / "train.json")} < set(model.inputs)
        assert len(model.inputs) == 6
        assert read_trained(paths.trained("prefetch.database.lgbm")) == model
        results.append(digest(paths.trained("prefetch.database.lgbm")))
    assert results[0] == results[1]

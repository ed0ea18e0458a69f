from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo import paths
from cachezoo.bundles.writer import refusal
from cachezoo.errors import TrainingError
from cachezoo.kernels.flash import DiskHead
from cachezoo.models.trained import read_fitted
from cachezoo.traces.store import read_trace, write_trace
from cachezoo.training.episodes import Prepared, block_hash, folds, held_out
from cachezoo.zoo.admission.fit import fit_admission
from cachezoo.zoo.prefetch.fit import Fitter, Rows, Settings, fit_prefetch, fit_prepared, net_saving, prefetch_rows
from cachezoo.zoo.prefetch.judge import judge_prefetch
from cachezoo.zoo.prefetch.model import MODEL_FILES
from tests import baleen_data
from tests.baleen_data import FLASH, LABEL
from tests.oracles.prefetch import naive_benefit
from tests.prefetch_data import FIT, JUDGE, PER_BLOCK, by_user, fit_and_judge, make_trace, part
from tests.trained_data import MadeForests, in_three_folders, params_of

COST = DiskHead(FLASH.seek_ms, FLASH.rate_mib_s)
MODEL = "prefetch.database.lgbm"


def settings_with(**changes: object) -> Settings:
    return replace(FIT, fit=FIT.fit.model_copy(update=changes))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return part(make_trace(12_000, 1), "train", tmp_path_factory.mktemp("labels"))


@pytest.fixture(scope="module")
def admitting(own: Prepared) -> MadeForests:
    return baleen_data.fit_and_judge([own], [])


def test_what_fit_json_says(own: Prepared, admitting: MadeForests) -> None:
    model, _ = fit_prepared("database", admitting.fitted, [own], FIT, {})
    assert model.trained and model.reason == "" and model.model_id == MODEL
    assert model.figures["range_exact"] > 0.95 > model.figures["range_of_access_alone_exact"]
    assert (model.features, model.encodings) == (admitting.fitted.features, admitting.fitted.encodings)
    assert model.learned == {**admitting.fitted.learned, "admission": "admission.database.lgbm"}
    assert [(item.trace, item.role) for item in model.traces] == [("train", "train")]


def test_too_few_episodes_are_reported_as_untrained_and_not_exported(own: Prepared, admitting: MadeForests) -> None:
    made = fit_and_judge(admitting, [own], [own], settings_with(min_episodes=100_000))
    assert not made.forests and not made.fitted.trained and "min_episodes 100000" in made.fitted.reason
    assert not made.trained.trained and not made.trained.promoted and made.trained.reason == made.fitted.reason
    assert (refusal(made.trained) or "").startswith("it never trained")
    never = replace(own.labels, opt=np.zeros(len(own.trace), bool))
    fitted, _ = fit_prepared("database", admitting.fitted, [replace(own, labels=never)], FIT, {})
    assert not fitted.trained and fitted.reason.startswith("0 admitted episodes")
    lost = admitting.fitted.model_copy(update={"trained": False, "reason": "no split"})
    fitted, _ = fit_prepared("database", lost, [own], FIT, {})
    assert not fitted.trained and fitted.reason == "its admission model never trained: no split"


def test_no_train_trace_is_an_error(admitting: MadeForests) -> None:
    with pytest.raises(TrainingError, match="no train trace; add one: cachezoo trace add"):
        fit_prepared("database", admitting.fitted, [], FIT, {})


def test_blocks_fall_whole_on_sides_and_folds(own: Prepared) -> None:
    trace = own.trace
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
    rows = prefetch_rows([(own, np.zeros((len(trace), 2), np.float32))], LABEL, FIT.fit)
    wanted = naive_benefit(trace, LABEL, own.labels.eviction_age, COST)
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
    big = FIT.model.model_copy(update={"num_leaves": 200, "min_data_in_leaf": 1, "learning_rate": 0.5})
    fitter = Fitter(rows, ["a", "b", "c"], big, FIT.fit, LABEL, COST, 1)
    figures = fitter.fit().figures
    assert figures["range_exact"] < 0.15  # forests that had seen these rows would know them by heart


def test_the_stages_give_the_same_bytes_in_any_folder_and_a_judge_s_setting_leaves_the_fit_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = {"train": ["one"], "validation": ["two"]}
    finer = JUDGE.judge.model_copy(update={"curve_points": 33})
    labels, folder = paths.labels("episodes", "database", "one"), paths.fitted("admission.database.lgbm")

    def run(otherwise: bool) -> None:
        for seed, key in ((1, "one"), (2, "two")):
            write_trace(make_trace(6_000, seed, by_user, key), paths.requests("database", key))
        part(read_trace(paths.requests("database", "one")), labels.name, labels.parent)
        judging = replace(JUDGE, judge=finer if otherwise else JUDGE.judge, roles=roles)
        params = params_of("database", baleen_data.FIT, replace(FIT, roles=roles), judging)
        fit_admission(params, "database")
        fit_prefetch(params, "database")
        judge_prefetch(params, "database")

    fits, verdicts, models = in_three_folders([MODEL], run, tmp_path, monkeypatch)
    fit_reads = {str(path) for path in (paths.requests("database", "one"), labels, folder / "fit.json")}
    for model in models:
        assert set(model.inputs) == {
            *fit_reads, str(paths.requests("database", "two")), str(folder / "model.lgb.txt"),
        }  # fmt: skip
        assert [(item.trace, item.role) for item in model.traces] == [("one", "train"), ("two", "validation")]
    assert set(read_fitted(paths.fitted(MODEL), "prefetch").inputs) == fit_reads
    assert len(models[0].calibration["curve"]) <= JUDGE.judge.curve_points < len(models[2].calibration["curve"]) <= 33
    assert set(fits[MODEL]) == {*MODEL_FILES, "fit.json", "curves.csv", "inputs.json"}
    assert all(digests[MODEL][name] == fits[MODEL][name] for digests in verdicts for name in MODEL_FILES)

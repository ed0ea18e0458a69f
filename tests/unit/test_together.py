"""Trainings by two machines of a Dask cluster on the loopback."""

from dataclasses import replace
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm.basic import EvalResult
from lightgbm.callback import CallbackEnv, EarlyStopException

from cachezoo.errors import ClusterError, ConfigError, TrainingError
from cachezoo.jobs import DASK, ENGINE, SCHEDULER, together
from cachezoo.kept import Job
from cachezoo.models.forest import ForestRows, _best_round, fit_forest, forest_scorer
from cachezoo.settings.forest import ForestFit, ForestShape
from cachezoo.stage import run_jobs
from cachezoo.zoo.workload.fit import fit_prepared
from tests.dask_cluster import ROOT, cluster
from tests.dask_jobs import talk, train
from tests.lstm_data import CLASSES, FIT, parts

pytestmark = pytest.mark.slow(seconds=60)
SHAPE = ForestShape(
    arch="lgbm", num_leaves=15, max_trees=60, learning_rate=0.2, feature_fraction=0.8, bagging_fraction=0.7,
    bagging_freq=1, min_data_in_leaf=20, lambda_l2=0.0,
)  # fmt: skip


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two workers."""
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        made.add()
        made.add()
        yield made


@pytest.fixture
def dask(two, monkeypatch, tmp_path):
    """The cluster does what follows."""
    monkeypatch.setenv(ENGINE, DASK)
    monkeypatch.setenv(SCHEDULER, two.address)
    monkeypatch.chdir(tmp_path)
    return two


def on(machines: int) -> ForestFit:
    return ForestFit(holdout_every=5, early_stopping=5, threads=1, machines=machines)


def drawn(rows: int, seed: int = 0) -> ForestRows:
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(rows, 4)).astype(np.float32)
    odds = 2 * inputs[:, 0] + inputs[:, 1] * inputs[:, 2]
    share = (1 / (1 + np.exp(-odds - rng.normal(size=rows)))).astype(np.float32)
    weights = rng.random(rows).astype(np.float32)
    held = np.arange(rows) // 50 % 5 == 0
    return ForestRows(inputs, share, held, ["a", "b", "c", "d"], weights, [True, False, False, False])


def loss(text: str, data: ForestRows) -> tuple[float, float]:
    """Cross entropy of the train part and of what is held out."""
    share = 1 / (1 + np.exp(-forest_scorer(text)(data.rows)))
    each = -(data.targets * np.log(share) + (1 - data.targets) * np.log(1 - share))
    return tuple(float(np.average(each[k], weights=data.weights[k])) for k in (~data.holdout, data.holdout))


def test_a_forest_of_two_machines_is_the_same_at_every_run_and_as_good(dask, monkeypatch):
    data = drawn(6000)
    first, second = (fit_forest(data, SHAPE, on(2), 1) for _ in range(2))
    assert first == second
    assert "127.0.0.1" not in first.text and "listen_port" not in first.text
    train_loss, held_loss = loss(first.text, data)
    assert first.train_loss[first.trees - 1] == pytest.approx(train_loss, rel=1e-4)
    assert first.holdout_loss[first.trees - 1] == pytest.approx(held_loss, rel=1e-4)
    assert first.trees == np.argmin(first.holdout_loss) + 1 < SHAPE.max_trees
    assert len(first.train_loss) == len(first.holdout_loss) == first.trees + 5
    monkeypatch.setenv(ENGINE, "local")
    alone = fit_forest(data, SHAPE, on(1), 1)
    assert held_loss == pytest.approx(min(alone.holdout_loss), rel=0.02)


def test_rows_that_are_too_few_are_one_line(dask):
    with pytest.raises(TrainingError, match=r"^2 rows are fewer than the 3 machines; set machines to 1$"):
        fit_forest(replace(drawn(2), holdout=np.zeros(2, np.bool_)), SHAPE, on(3), 1)


def stopped(losses: list[float], patience: int) -> int:
    """The round that LightGBM's own callback keeps."""
    stop = lgb.early_stopping(patience, verbose=False)
    for place, one in enumerate(losses):
        try:
            env = CallbackEnv(
                lgb.Booster, {}, place, 0, len(losses), [EvalResult("holdout", "loss", one, maximize=False)]
            )
            stop(env)
        except EarlyStopException as found:
            return found.best_iteration + 1
    raise AssertionError


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=30), st.integers(1, 6))
def test_trees_are_kept_as_early_stopping_keeps_them(losses, patience):
    assert _best_round(losses, patience) == stopped([float(one) for one in losses], patience)


def test_a_network_of_two_machines_is_that_of_one_but_for_last_digits(dask, monkeypatch):
    """The last batch of windows has one alone."""

    def made(machines):
        changes = {"machines": machines, "max_epochs": 2, "batch": 15, "stride": 9}
        own = replace(FIT, fit=FIT.fit.model_copy(update=changes))
        return fit_prepared(CLASSES, parts(1155, 1), parts(600, 3), own, {})

    fitted, weights, curves = made(2)
    monkeypatch.setenv(ENGINE, "local")
    alone, own_weights, own_curves = made(1)
    assert fitted.figures["train_windows"] % 15 == 1
    assert fitted.arch == alone.arch | {"machines": 2}
    np.testing.assert_allclose(curves, own_curves, rtol=1e-5)
    for name, values in own_weights.items():
        np.testing.assert_allclose(weights[name], values, atol=1e-4, err_msg=name)


def test_a_stage_of_several_machines_does_its_jobs_one_by_one_here(dask, tmp_path):
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    (tmp_path / "out").mkdir()
    run_jobs(train, [Job("tiny", key, {"fit": on(2)}, [], [Path("out", key)]) for key in "ab"], "tiny")
    assert [Path("out", key).read_text() for key in "ab"] == ["here 0 1", "here 0 1"]


def test_a_training_that_cannot_be_together_is_one_line(dask, monkeypatch):
    with pytest.raises(ClusterError, match=f"^{dask.address}: has 2 of the 3 workers that train together; start more$"):
        together("talk", talk, [(False,)] * 3)
    with pytest.raises(ClusterError, match=r"^talk: machines that train together lost each other \(.+\); run the same"):
        together("talk", talk, [(False,), (True,)])
    monkeypatch.setenv(ENGINE, "local")
    said = r"^talk: a stage with CACHEZOO_ENGINE=dask alone trains on 2 machines; set machines to 1 in conf/fit$"
    with pytest.raises(ConfigError, match=said):
        together("talk", talk, [(False,)] * 2)

"""LightGBM's text without LightGBM: equal scores to the last bit, and nothing that the reader does not understand."""

from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

from cachezoo.models.forest import forest_scorer
from cachezoo.serving.forest import ForestSession, read_forest
from tests.oracles.forest import naive_forest

ROOT = Path(__file__).parents[3]
STORED = sorted(ROOT.glob("tests/golden/protocol2/*/*.lgb.txt"))
MODELS = [*STORED, *sorted(ROOT.glob("models/bundles/*/*.lgb.txt"))]
TINY = np.float32(1e-35)  # LightGBM takes inputs of at most so much for 0, and what is not a number
ADMISSION = next(path for path in STORED if "admission" in str(path))


def rows_at_thresholds(text: bytes, features: int, n: int) -> np.ndarray:
    """Rows on every threshold, and a float32's last digit beside it."""
    trees, rng = read_forest(text, features).trees, np.random.default_rng(1)
    rows = rng.integers(-1, 70, (n, features)).astype(np.float32)
    for k in range(features):
        own = trees.threshold[trees.feature == k].astype(np.float32)
        if len(own):
            rows[: n // 2, k] = rng.choice(own, n // 2)
    rows[: n // 4] = np.nextafter(rows[: n // 4], np.float32(np.inf))
    return rows


def test_every_kind_of_forest_is_stored() -> None:
    assert {path.parent.name.split(".")[0] for path in STORED} == {"admission", "reuse", "streams"}


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}-{path.stem}")
def test_scores_are_lightgbm_s_own(path: Path) -> None:
    text = path.read_bytes()
    booster = lgb.Booster(model_str=text.decode())
    rows = rows_at_thresholds(text, booster.num_feature(), 4_000)
    scores = forest_scorer(text.decode())(rows)
    np.testing.assert_array_equal(scores, booster.predict(rows, raw_score=True, num_threads=1))
    assert scores[:20].tolist() == naive_forest(text.decode(), rows[:20])


def test_a_forest_of_any_shape_is_lightgbm_s_own() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(3_000, 5)).astype(np.float32)
    target = np.sin(3 * rows[:, 0]) + rows[:, 1] * rows[:, 2]
    settings = {"objective": "regression", "num_leaves": 40, "use_missing": False, "verbosity": -1, "num_threads": 1}
    booster = lgb.train(settings, lgb.Dataset(rows, target), 30)
    forest = read_forest(booster.model_to_string().encode(), 5)
    wild = (rng.normal(size=(3_000, 5)) * 10.0 ** rng.integers(-44, 6, (3_000, 5))).astype(np.float32)
    wild[rng.random(wild.shape) < 0.05] = np.nan
    expected = booster.predict(wild, raw_score=True, num_threads=1)
    np.testing.assert_array_equal(forest_scorer(booster.model_to_string())(wild), expected)
    wild = np.where(np.abs(wild) > TINY, wild, np.float32(0))
    np.testing.assert_array_equal(forest.scores(wild), expected)
    whole = ForestSession([forest, forest]).run(None, {"features": wild})[0]
    np.testing.assert_array_equal(whole, np.stack([forest.scores(wild)] * 2, axis=1))


def test_every_cut_is_refused() -> None:
    data = ADMISSION.read_bytes()
    end = data.index(b"\nend of parameters\n") + len(b"\nend of parameters\n")
    for at in range(0, end, 97):
        with pytest.raises(ValueError, match=r"."):
            read_forest(data[:at], 30)

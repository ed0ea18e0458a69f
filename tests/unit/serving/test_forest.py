"""LightGBM's text without LightGBM: equal scores to the last bit, and nothing that the reader does not understand."""

from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

from cachezoo.serving.forest import ForestSession, read_forest
from tests.oracles.forest import naive_forest

ROOT = Path(__file__).parents[3]
STORED = sorted(ROOT.glob("tests/golden/protocol*/*/*.lgb.txt"))
MODELS = [*STORED, *sorted(ROOT.glob("models/bundles/*/*.lgb.txt"))]
ADMISSION = next(path for path in STORED if "admission" in str(path))
TINY = 1e-30  # LightGBM takes inputs of less than 1e-35 for 0


def rows_at_thresholds(text: bytes, features: int, n: int) -> np.ndarray:
    """Rows on every threshold, and a float32's last digit beside it."""
    trees, rng = read_forest(text, features).trees, np.random.default_rng(1)
    rows = rng.integers(-1, 70, (n, features)).astype(np.float32)
    for k in range(features):
        own = trees.threshold[trees.feature == k].astype(np.float32)
        if len(own):
            rows[: n // 2, k] = rng.choice(own, n // 2)
    rows[: n // 4] = np.nextafter(rows[: n // 4], np.float32(np.inf))
    rows[np.abs(rows) < TINY] = 0
    return rows


def test_every_kind_of_forest_is_stored() -> None:
    assert {path.parent.name.split(".")[0] for path in STORED} == {"admission", "prefetch", "reuse"}


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}-{path.stem}")
def test_scores_are_lightgbm_s_own(path: Path) -> None:
    text = path.read_bytes()
    booster = lgb.Booster(model_str=text.decode())
    rows = rows_at_thresholds(text, booster.num_feature(), 4_000)
    scores = read_forest(text, booster.num_feature()).scores(rows)
    np.testing.assert_array_equal(scores, booster.predict(rows, raw_score=True, num_threads=1))
    assert scores[:20].tolist() == naive_forest(text.decode(), rows[:20])


def test_a_forest_of_any_shape_is_lightgbm_s_own() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(3_000, 5)).astype(np.float32)
    target = np.sin(3 * rows[:, 0]) + rows[:, 1] * rows[:, 2]
    settings = {"objective": "regression", "num_leaves": 40, "use_missing": False, "verbosity": -1, "num_threads": 1}
    booster = lgb.train(settings, lgb.Dataset(rows, target), 30)
    forest = read_forest(booster.model_to_string().encode(), 5)
    wild = (rng.normal(size=(3_000, 5)) * 10.0 ** rng.integers(-6, 6, (3_000, 5))).astype(np.float32)
    np.testing.assert_array_equal(forest.scores(wild), booster.predict(wild, raw_score=True, num_threads=1))
    whole = ForestSession([forest, forest]).run(None, {"features": wild})[0]
    np.testing.assert_array_equal(whole, np.stack([forest.scores(wild)] * 2, axis=1))


def line_of(text: str, key: str, place: int = 0) -> str:
    return [line for line in text.splitlines() if line.startswith(f"{key}=")][place]


def changed_value(key: str, value: str, at: int = 0) -> tuple[str, str]:
    """A line of the first tree, and the same with one value changed."""
    line = line_of(ADMISSION.read_text(), key)
    values = line.split("=")[1].split(" ")
    values[at] = value
    return line, f"{key}={' '.join(values)}"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("tree\nversion", "three\nversion"), "begins with 'three'"),
        (("version=v4", "version=v3"), "version is v3, not v4"),
        (("num_class=1", "num_class=2"), "num_class is 2"),
        (("num_tree_per_iteration=1", "num_tree_per_iteration=3"), "num_tree_per_iteration is 3"),
        (("label_index=0", "average_output=1"), "'average_output', which this reader does not know"),
        (("label_index=0", "average_output"), "'average_output', which this reader does not know"),
        (("max_feature_idx=29", "max_feature_idx=30"), "max_feature_idx is 30, not 29"),
        (("\nend of trees\n", "\n"), "cut short"),
        (("\nend of parameters\n", "\n"), "cut short"),
        (("\n\nTree=1\n", "\n\nTree=7\n"), "Tree is 7, not 1"),
        (("num_cat=0", "num_cat=1"), "num_cat is 1"),
        (("is_linear=0", "is_linear=1"), "is_linear is 1"),
        (changed_value("decision_type", "1"), "asks for a category or handles missing values"),
        (changed_value("decision_type", "4"), "asks for a category or handles missing values"),
        (changed_value("decision_type", "8"), "asks for a category or handles missing values"),
        (changed_value("split_feature", "30"), "split_feature holds what is no whole number from 0 to 29"),
        (changed_value("split_feature", "-1"), "split_feature holds what is no whole number"),
        (changed_value("split_feature", "1.5"), "split_feature holds what is no whole number"),
        (changed_value("left_child", "0"), "a branch leads back"),
        (changed_value("left_child", "99"), "left_child holds what is no whole number"),
        (changed_value("right_child", "-99"), "right_child holds what is no whole number"),
        (changed_value("right_child", "-1"), "a branch or leaf hangs on none, or on several"),
        (changed_value("threshold", "1e999"), "one that is not finite"),
        (changed_value("threshold", "nan"), "which is no list of numbers"),
        (changed_value("threshold", "1_0"), "which is no list of numbers"),
        (changed_value("leaf_value", "0x1"), "which is no list of numbers"),
        (changed_value("leaf_value", "0 0"), "holds 16 numbers where there are 15"),
        (("num_leaves=15", "num_leaves=14"), "numbers where there are 1[34]"),
        (("num_leaves=15", "num_leaves=0"), "num_leaves is no number of leaves"),
        (("num_leaves=15", "num_leaves=many"), "num_leaves is no number of leaves"),
        (("shrinkage=", "cat_threshold="), "'cat_threshold', which this reader does not know"),
        (("internal_count=", "internal_weight="), "'internal_weight', twice"),
    ],
)
def test_a_damaged_text_is_refused(change: tuple[str, str], match: str) -> None:
    text = ADMISSION.read_text()
    before, after = change
    assert before in text
    damaged = text.replace(before, after, 1)
    sizes = line_of(damaged, "tree_sizes")
    parts = damaged.partition("\nend of trees\n")[0].split("\nTree=")
    lengths = [len(f"Tree={part}\n") for part in parts[1:]]
    damaged = damaged.replace(sizes, f"tree_sizes={' '.join(map(str, lengths))}")
    with pytest.raises(ValueError, match=match) as caught:
        read_forest(damaged.encode(), 30)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


def test_sizes_by_which_lightgbm_jumps_are_checked() -> None:
    text = ADMISSION.read_text()
    sizes = line_of(text, "tree_sizes")
    for other in (f"{sizes}0", "tree_sizes=", f"{sizes} 5"):
        with pytest.raises(ValueError, match="tree_sizes are not those of its trees"):
            read_forest(text.replace(sizes, other).encode(), 30)
    with pytest.raises(ValueError, match="tree_sizes is missing"):
        read_forest(text.replace(sizes + "\n", "").encode(), 30)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"tree", ADMISSION.read_bytes()[:3000]])
def test_what_is_no_model_text_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read_forest(data, 30)
    assert "\n" not in str(caught.value)


def test_every_cut_is_refused() -> None:
    data = ADMISSION.read_bytes()
    end = data.index(b"\nend of parameters\n") + len(b"\nend of parameters\n")
    for at in range(0, end, 97):
        with pytest.raises(ValueError, match=r"."):
            read_forest(data[:at], 30)


def test_leaves_whose_sum_may_overflow_are_refused() -> None:
    tree = line_of(ADMISSION.read_text(), "leaf_value")
    text = "\n".join(
        f"leaf_value={' '.join(['1e308'] * 15)}" if line.startswith("leaf_value=") else line
        for line in ADMISSION.read_text().split("\n")
    )
    lengths = [len(f"Tree={part}\n") for part in text.partition("\nend of trees\n")[0].split("\nTree=")[1:]]
    text = text.replace(line_of(text, "tree_sizes"), f"tree_sizes={' '.join(map(str, lengths))}")
    assert len(tree.split(" ")) == 15
    with pytest.raises(ValueError, match="its leaves may sum up to what is not finite"):
        read_forest(text.encode(), 30)

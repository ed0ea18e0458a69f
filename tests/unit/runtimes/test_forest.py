"""libcachezoo's forests beside LightGBM: equal scores, bit for bit, and nothing in a text that is not understood."""

import subprocess
from functools import cache
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

from cachezoo.seeds import derive_seed
from tests.c_library import CHECKED, SANITIZED, build, make

STORED = Path(__file__).parents[2] / "golden/protocol2"
SOURCES = ["tests/forest_main.c", "src/forest.c", "src/forest_text.c", "src/error.c", "src/number.c"]
FEATURES = 12


@pytest.fixture(scope="session", params=["as the CPU has it", "portable"])
def program(tmp_path_factory, request):
    if request.param == "portable":
        return build(tmp_path_factory.mktemp("forest") / "forest_main", SOURCES, (*SANITIZED, "-DCZ_PORTABLE"))
    return make(tmp_path_factory, "tests/forest_main", **CHECKED) / "tests/forest_main"


def rows_of(n, what, whole):
    draw = np.random.default_rng(derive_seed(3, what))
    return (draw.integers(0, 60, (n, FEATURES)) if whole else draw.normal(0, 3, (n, FEATURES))).astype(np.float32)


@cache
def train(what, *, leaves, trees, rows=4000, whole=True, bins=255):
    """A forest's text."""
    given = rows_of(rows, what, whole)
    target = np.sin(given[:, 0]) + given[:, 1] * (given[:, 2] > given[:, 3].mean()) + 0.1 * given[:, 4:].sum(axis=1)
    parameters = {
        "objective": "regression", "num_leaves": leaves, "min_data_in_leaf": 2, "use_missing": False, "verbosity": -1,
        "num_threads": 1, "seed": 1, "deterministic": True, "max_bin": bins,
    }  # fmt: skip
    return lgb.train(parameters, lgb.Dataset(given, target), trees).model_to_string()


def score(program, text, rows, folder):
    (folder / "model").write_text(text, encoding="utf-8")
    np.ascontiguousarray(rows, np.float32).tofile(folder / "rows")
    command = [program, folder / "model", str(rows.shape[1]), folder / "rows", folder / "scores"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done, np.fromfile(folder / "scores") if done.returncode == 0 else None


def at_the_thresholds(text, rows):
    """Rows that hold thresholds, and the float32 beside each on either side; to LightGBM what is within 1e-35 is 0."""
    found = [float(one) for line in text.splitlines() if line.startswith("threshold=") for one in line[10:].split()]
    draw = np.random.default_rng(derive_seed(4, "thresholds"))
    values = draw.choice(np.array(found), rows.shape).astype(np.float32)
    step = draw.integers(-1, 2, rows.shape)
    values = np.where(step < 0, np.nextafter(values, np.float32(-np.inf)), values)
    values = np.where(step > 0, np.nextafter(values, np.float32(np.inf)), values)
    return np.where(np.abs(values) < 1.1e-35, 0, values).astype(np.float32)


FORESTS = {
    "small": {"leaves": 15, "trees": 3},
    "of 64 leaves": {"leaves": 64, "trees": 17, "whole": False},
    "of 65 leaves, which is walked": {"leaves": 65, "trees": 9, "whole": False},
    "large": {"leaves": 300, "trees": 20, "rows": 8000, "whole": False},
    "of stumps": {"leaves": 2, "trees": 40},
    "of more thresholds than fit": {"leaves": 64, "trees": 180, "rows": 8000, "whole": False, "bins": 2000},
}


@pytest.mark.parametrize("name", FORESTS)
def test_scores_are_lightgbms_bit_for_bit(program, tmp_path, name):
    text = train(name, **FORESTS[name])
    rows = rows_of(1500, "asked", FORESTS[name].get("whole", True))
    rows = np.concatenate([rows, at_the_thresholds(text, rows), np.float32(1e30) * rows])
    wanted = lgb.Booster(model_str=text).predict(rows, raw_score=True, num_threads=1)
    done, scores = score(program, text, rows, tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(scores, wanted)
    assert len(np.unique(scores)) > 2


@pytest.mark.parametrize(
    "path", sorted(STORED.glob("*/*.lgb.txt")), ids=lambda path: f"{path.parent.name.split('.')[0]}-{path.name}"
)
def test_stored_forests_score_golden_features_alike(program, tmp_path, path):
    rows = np.load(path.parent / "golden/features.npy")
    wanted = lgb.Booster(model_file=str(path)).predict(rows, raw_score=True, num_threads=1)
    done, scores = score(program, path.read_text(encoding="utf-8"), rows, tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(scores, wanted)


def test_a_text_that_is_cut_short_anywhere_is_refused(program, tmp_path):
    text = train("cut", leaves=4, trees=2, rows=300)
    whole = text.index("\nend of parameters\n") + len("\nend of parameters\n")
    for end in [*range(0, text.index("end of trees"), 37), text.index("end of trees") + 5, whole - 2]:
        done, _ = score(program, text[:end], rows_of(2, "asked", True), tmp_path)
        assert done.returncode == 1, (end, done.stderr)
        assert done.stderr.count("\n") == 1
    assert score(program, text[:whole], rows_of(2, "asked", True), tmp_path)[0].returncode == 0

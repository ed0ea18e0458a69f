from pathlib import Path

import numpy as np
import pytest

from cachezoo.contest.counting import first_access
from cachezoo.models.trained import read_fitted
from cachezoo.policies.simulate import simulate
from cachezoo.settings.data import CorpusEntry, TraceEntry
from cachezoo.zoo.base import studied_of
from cachezoo.zoo.registry import SYSTEMS
from cachezoo.zoo.reuse import evaluate, judge
from cachezoo.zoo.reuse.cache import plan_of
from cachezoo.zoo.reuse.model import load_reuse
from tests.reuse_data import part, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reuse")
    write_model(path)
    return path


@pytest.fixture(scope="module")
def bench(folder: Path) -> evaluate._Bench:
    trained, fitted = load_reuse(folder / "model")[0], read_fitted(folder / "fitted", "reuse")
    scorers, weight = judge.scorers_of(folder / "fitted", fitted), float(trained.calibration["weight"])
    policy = judge.base_policy(fitted)
    plans = [plan_of(policy, judge.calibration_of(fitted, k, weight)) for k in range(2)]
    return evaluate._Bench(trained, policy, [0.05, 0.1], plans, scorers, ["twoq(kin=0.5)"])


def test_a_row_is_the_mean_of_the_seeds_beside_the_best_way_to_run_a_classic(bench: evaluate._Bench) -> None:
    own = part(5000, 8)
    row = bench.row(own, 0.1, seeded=True)
    best = max(
        (simulate(own.trace, own.pages, name, row.capacity, first_access(own.pages)).hit_ratio, name)
        for name in ("lru", "lfu", "lirs", "arc", "twoq(kin=0.5)")
    )
    assert row.best_classic_hit_ratio >= best[0]
    assert row.rivals == 20
    assert len(row.seed_hit_ratios) == 2
    assert row.hit_ratio == row.seed_hit_ratios[0]
    mean = float(np.mean(row.seed_hit_ratios))
    assert row.gap_points == pytest.approx(100 * (mean - row.best_classic_hit_ratio))
    assert row.gap_closed == pytest.approx(
        (mean - row.best_classic_hit_ratio) / (row.optimum_hit_ratio - row.best_classic_hit_ratio)
    )
    alone = bench.row(own, 0.2, seeded=False)
    assert (alone.seed_hit_ratios, alone.rivals) == ([], 19)


def test_where_a_trace_is_from() -> None:
    home = TraceEntry.model_validate({"path": "a", "format": "csv", "category": "web", "role": "test"})
    own = {"path": "a", "format": "csv", "program": "nginx", "setup": "c", "role": "test"}
    assert evaluate.where_of(home) == "home"
    assert evaluate.where_of(home.model_copy(update={"unseen": True})) == "program"
    assert evaluate.where_of(CorpusEntry.model_validate(own)) == "set-up"
    assert evaluate.where_of(CorpusEntry.model_validate({**own, "unseen": True})) == "program"


def test_a_study_reads_what_chose(folder: Path) -> None:
    assert 0 < studied_of(SYSTEMS["reuse"]).choosing(folder / "model") < 1

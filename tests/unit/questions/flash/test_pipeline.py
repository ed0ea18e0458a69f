"""From requests to metrics: both models trained on synthetic traces, then evaluated as the stage does."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cachezoo import paths
from cachezoo.errors import CachezooError
from cachezoo.flash_cache.policies import BASELINES, WITH_EVICTIONS
from cachezoo.metrics.flash import FlashMetrics
from cachezoo.models.trained import read_trained
from cachezoo.questions.flash.stage import Baselines, LabelledTrace, Settings, evaluate_flash, evaluate_further
from cachezoo.traces.store import read_trace, write_trace
from cachezoo.zoo.admission.fit import BESIDE
from tests.baleen_data import FLASH, LABEL, fit_and_judge
from tests.prefetch_data import Script, by_user, make_trace, part, points, write_both

LENGTHS = {"train": 12_000, "validation": 9_000, "test": 9_000}
ARCH = SimpleNamespace(arch="lgbm")
PARAMS: Any = SimpleNamespace(
    label=SimpleNamespace(episodes=LABEL),
    policy=SimpleNamespace(flash=FLASH),
    model=SimpleNamespace(admission=ARCH, prefetch=ARCH),
    seed=7,
    data=SimpleNamespace(roles={"database": {role: [role] for role in LENGTHS}}),
)


def evaluated(root: Path, script: Script) -> FlashMetrics:
    """What the stage writes for traces of a script, in the folder that it runs in."""
    traces = {role: make_trace(n, seed, script, role) for seed, (role, n) in enumerate(LENGTHS.items())}
    for role, trace in traces.items():
        write_trace(trace, paths.requests("database", role))
    parts = {role: part(traces[role], role, root) for role in ("train", "validation")}
    write_both(root, [parts["train"]], [parts["validation"]])
    (root / "model").rename(_parent(paths.trained("prefetch.database.lgbm")))
    (root / "admission").rename(_parent(paths.trained("admission.database.lgbm")))
    for variant in BESIDE:
        made = fit_and_judge([parts["train"]], [parts["validation"]], variant=variant)
        made.write(paths.trained(made.trained.model_id))
    return evaluate_flash(PARAMS, "database")


def _parent(path: Path) -> Path:
    """The path, with a folder for it to lie in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FlashMetrics]:
    """A project whose reads are of segments that stand alone, and its metrics."""
    root = tmp_path_factory.mktemp("lone")
    with pytest.MonkeyPatch.context() as context:
        context.chdir(root)
        return root, evaluated(root, points)


def test_ranges_that_can_be_learned_are_prefetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = evaluated(tmp_path, by_user)
    mode = result.modes["baleen"].mode
    assert mode in ("ml_range", "ml_range_when")
    deployed, at_budget = result.traces["test"].deployed, result.traces["test"].at_budget
    assert deployed.rows["baleen"].prefetch == mode
    ours, alone = at_budget.rows["baleen"], at_budget.rows["baleen_no_prefetch"]
    assert (ours.prefetch, alone.prefetch) == (mode, "none")
    assert ours.read_dt.mean < 0.98 * alone.read_dt.mean
    assert ours.prefetch_accuracy > 0.5
    assert deployed.gap.mean_dt_saved > 0 and deployed.gap.mean_gap_closed > 0


def test_further_models_are_measured_as_the_full_one_is(
    lone: tuple[Path, FlashMetrics], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, result = lone
    monkeypatch.chdir(root)
    assert list(result.beside) == ["admission.database.lgbm_block", "admission.database.lgbm_small"]
    full = result.traces["test"]
    for name, one in result.beside.items():
        trained = read_trained(paths.trained(name))
        assert (one.model_id, one.reason, one.mode) == (name, trained.reason, "none")
        own = one.traces["test"]
        assert own.deployed.rows["baleen"].knob == trained.calibration["with_prefetch"]["threshold"]
        assert own.deployed.budget_writes == full.at_budget.budget_writes
        assert own.deployed.best_policy == full.deployed.best_policy
        budget, written = full.at_budget.budget_writes, own.at_budget.segment_writes
        assert 0 < written <= (1 + LABEL.budget_tolerance) * budget
        assert own.at_budget.reached == (written >= (1 - LABEL.budget_tolerance) * budget)
        assert own.at_budget.read_dt != full.at_budget.rows["baleen"].read_dt
    modes = dict.fromkeys((*BASELINES, *WITH_EVICTIONS), "none")
    chosen = Baselines(modes, result.best_without_model, result.best_without_prefetch)
    settings = Settings.of(PARAMS, "database")
    tests = {"test": LabelledTrace.of(read_trace(paths.requests("database", "test")), settings)}
    own = evaluate_further(paths.trained("admission.database.lgbm"), tests, chosen, settings).traces["test"]
    assert own.at_budget == full.at_budget.rows["baleen"]
    assert own.deployed == full.deployed


def test_segments_that_stand_alone_are_not(lone: tuple[Path, FlashMetrics]) -> None:
    result = lone[1]
    assert {choice.mode for name, choice in result.modes.items() if name != "accept_all"} == {"none"}
    row = result.traces["test"].deployed.rows["baleen"]
    assert (row.prefetch, row.prefetched_segments) == ("none", 0)


def test_a_missing_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CachezooError, match=r"admission\.database\.lgbm"):
        evaluate_flash(PARAMS, "database")

"""From requests to metrics: models trained on synthetic traces, then evaluated as the stage does."""

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
from cachezoo.zoo.admission.fit import VARIANTS
from tests.baleen_data import FLASH, LABEL, fit_and_judge, labelled_parts, lone_segments

LENGTHS = {"train": 12_000, "validation": 9_000, "test": 9_000}
ARCH = SimpleNamespace(arch="lgbm")
PARAMS: Any = SimpleNamespace(
    label=SimpleNamespace(episodes=LABEL),
    policy=SimpleNamespace(flash=FLASH),
    model=SimpleNamespace(admission=ARCH),
    seed=7,
    data=SimpleNamespace(roles={"database": {role: [role] for role in LENGTHS}}),
)


def evaluated(root: Path) -> FlashMetrics:
    """What the stage writes for traces whose reads stand alone, in the folder that it runs in."""
    traces = {role: lone_segments(n, seed, role) for seed, (role, n) in enumerate(LENGTHS.items())}
    for role, trace in traces.items():
        write_trace(trace, paths.requests("database", role))
    train, validation = labelled_parts({role: traces[role] for role in ("train", "validation")}, root)
    for variant in VARIANTS:
        made = fit_and_judge([train], [validation], variant=variant)
        made.write(paths.trained(made.trained.model_id))
    return evaluate_flash(PARAMS, "database")


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FlashMetrics]:
    """A project whose reads are of segments that stand alone, and its metrics."""
    root = tmp_path_factory.mktemp("lone")
    with pytest.MonkeyPatch.context() as context:
        context.chdir(root)
        return root, evaluated(root)


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


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CachezooError, match=r"validation\.parquet: no such file"):
        evaluate_flash(PARAMS, "database")
    for role, n in LENGTHS.items():
        write_trace(lone_segments(n, 1, role), paths.requests("database", role))
    with pytest.raises(CachezooError, match=r"admission\.database\.lgbm"):
        evaluate_flash(PARAMS, "database")

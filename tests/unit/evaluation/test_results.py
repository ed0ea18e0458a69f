import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cachezoo.cli import app

TEST = {
    "role": "test",
    "rows": [
        {"policy": "belady_bypass", "kind": "bound", "hit_ratio": 0.5, "gap_closed": 1.0},
        {"policy": "caching.web.lstm8", "kind": "model", "hit_ratio": 0.4, "gap_closed": 0.5},
        {"policy": "admission.web.lgbm", "kind": "model", "hit_ratio": 0.2, "gap_closed": None},
        {"policy": "lru", "kind": "classic", "hit_ratio": 0.3, "gap_closed": 0.0},
    ],
}
WEB = {
    "traces": {"web_test": TEST, "web_validation": {**TEST, "role": "validation"}},
    "models": {
        "admission.web.lgbm": {"promoted": False, "reason": "does not beat RejectX"},
        "caching.web.lstm8": {"promoted": True, "reason": "page hit ratio 0.4 against lru's 0.3"},
    },
}
LOAD = {"read_dt": {"peak": 3.456, "mean": 1.234}, "prefetch": "none"}
VERDICT = {"trained": True, "beats_baseline": True, "reason": "saves disk-head time"}
FLASH = {
    "model_id": "admission.blob.lgbm",
    **VERDICT,
    "prefetch": {"model_id": "prefetch.blob.lgbm", **VERDICT, "beats_baseline": False, "reason": "saves nothing"},
    "traces": {"blob_test": {"deployed": {"rows": {"baleen": LOAD}}, "accept_all": LOAD}},
}
WORKLOAD = {
    "traces": {"web_test": {"role": "test", "rows": [{"policy": "workload.lstm8", "kind": "model", "accuracy": 1.0}]}},
    "models": {"workload.lstm8": {"promoted": True, "reason": "beats the decision tree"}},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "metrics").mkdir()
    for name, result in (("web", WEB), ("workload", WORKLOAD)):
        (tmp_path / f"metrics/{name}.json").write_text(json.dumps(result))
    for model in ("caching.web.lstm8", "workload.lstm8"):
        (tmp_path / f"models/bundles/{model}").mkdir(parents=True)
        (tmp_path / f"models/bundles/{model}/manifest.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def test_one_table_then_the_bundles_then_what_to_do(project: Path) -> None:
    shown = CliRunner().invoke(app, ["results"]).stdout
    lines = shown.splitlines()
    assert "web_test" in shown and "web_validation" not in shown
    names = ("belady_bypass", "caching lstm8", "lru")
    order = [next(i for i, line in enumerate(lines) if name in line) for name in names]
    assert order == sorted(order)
    assert "0.4000 (+50 %) *" in shown and "0.2000 (gap below 0.02)" in shown
    assert "none of admission.web.lgbm" in shown and "does not beat RejectX" in shown
    assert "bundle verify models/bundles/caching.web.lstm8" in shown
    assert shown.index("belady_bypass") < shown.index("models/bundles/") < shown.index("Next:")


def test_only_a_caching_model_is_starred(project: Path) -> None:
    both = {name: {**model, "promoted": True} for name, model in WEB["models"].items()}
    (project / "metrics/web.json").write_text(json.dumps({**WEB, "models": both}))
    shown = CliRunner().invoke(app, ["results"]).stdout
    rows = [line for line in shown.split("Next:")[0].splitlines() if "0." in line and "(model)" in line]
    assert [" *" in line for line in sorted(rows)] == [False, True]
    assert "* promoted: better than the best classic on validation" in " ".join(shown.split())


def test_flash_caches_have_a_table_and_their_models_a_verdict(project: Path) -> None:
    (project / "metrics/flash").mkdir()
    (project / "metrics/flash/blob.json").write_text(json.dumps(FLASH))
    shown = " ".join(CliRunner().invoke(app, ["results"]).stdout.split())
    assert "blob_test" in shown and "3.46 (1.23)" in shown and "accept_all" in shown and "belady_bypass" in shown
    assert "saves nothing" in shown and "none of prefetch.blob.lgbm" in shown
    (project / "metrics/web.json").unlink()
    assert "3.46 (1.23)" in CliRunner().invoke(app, ["results"]).stdout


def test_json(project: Path) -> None:
    told = json.loads(CliRunner().invoke(app, ["results", "--json"]).stdout)
    assert [row["policy"] for row in told["rows"]] == [row["policy"] for row in TEST["rows"]]
    assert {row["model"]: row["bundle"] for row in told["bundles"]} == {
        "admission.web.lgbm": None,
        "caching.web.lstm8": "models/bundles/caching.web.lstm8",
        "workload.lstm8": "models/bundles/workload.lstm8",
    }


def test_nothing_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.yaml").touch()
    assert "No results yet" in CliRunner().invoke(app, ["results"]).stdout

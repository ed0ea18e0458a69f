import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cachezoo import console
from cachezoo.cli import app
from cachezoo.metrics.page import CategoryMetrics
from cachezoo.questions.result_tables import next_steps
from cachezoo.questions.results import BundleResult
from tests.metrics_data import (
    beside_model,
    flash_metrics,
    flash_trace,
    page_metrics,
    page_model,
    page_trace,
    reuse_metrics,
    row,
    workload_metrics,
    write,
)

GROUPS, SPACE, MINUS = ("home", "other programs"), "\N{NO-BREAK SPACE}", "\N{MINUS SIGN}"
CACHING, ADMISSION, CLASSIFIER = "caching.web.lstm8", "admission.web.lgbm", "workload.lstm8"
TEST = page_trace(
    "test", row(CACHING, "model", 0.4, gap_closed=0.5), row(ADMISSION, "model", 0.2, gap_closed=None)
)  # fmt: skip


def web(caching: bool = True, admission: bool = False) -> CategoryMetrics:
    """Metrics of a category with two models, promoted or not."""
    traces = {"web_test": TEST, "web_validation": TEST.model_copy(update={"role": "validation"})}
    models = {
        ADMISSION: page_model({"web_test": TEST.row(ADMISSION)}, admission, "does not beat RejectX"),
        CACHING: page_model({"web_test": TEST.row(CACHING)}, caching, "page hit ratio 0.4 against lru's 0.3"),
    }
    return page_metrics(traces, models=models)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "metrics/page/web.json", web())
    write(tmp_path / "metrics/workload.json", workload_metrics(CLASSIFIER))
    for model in (CACHING, CLASSIFIER):
        (tmp_path / f"models/bundles/{model}").mkdir(parents=True)
        (tmp_path / f"models/bundles/{model}/manifest.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "260")
    console.out.cache_clear()  # an earlier test may have asked for it at another width
    return tmp_path


def test_one_table_then_the_bundles_then_what_to_do(project: Path) -> None:
    shown = CliRunner().invoke(app, ["models", "results", "-v"]).stdout
    lines = shown.splitlines()
    assert "web_test" in shown and "web_validation" not in shown
    names = ("belady_bypass", "caching lstm8", "lru")
    order = [next(i for i, line in enumerate(lines) if name in line) for name in names]
    assert order == sorted(order)
    assert "0.4000 (+50 %) *" in shown and "0.2000 (gap below 0.02)" in shown
    assert "none of admission.web.lgbm" in shown and "does not beat RejectX" in shown
    assert "bundle verify models/bundles/caching.web.lstm8" in shown
    assert shown.index("belady_bypass") < shown.index("models/bundles/") < shown.index("Next:")


def test_the_classifier_s_mixtures_stand_beside_its_accuracy(project: Path) -> None:
    shown = " ".join(CliRunner().invoke(app, ["models", "results", "-v"]).stdout.split())
    assert f"{CLASSIFIER} names 85.0 % of the windows of single programs right" in shown
    assert "(tree4, the best of its baselines on validation, 55.0 %)." in shown
    assert "it names the larger one in 90.0 %, on the mean of 1 mixtures" in shown
    assert "would be right in 70.0 %, and it does better than that in 1 of 1." in shown
    untrained = workload_metrics(CLASSIFIER, trained=False)
    assert untrained.summary() == untrained.mixed() == ""


def test_a_tuned_classic_keeps_the_points_of_its_values() -> None:
    assert row("s3fifo(small=0.05, ghost=3)", "classic", 0.3).shown == "s3fifo(small=0.05, ghost=3)"
    assert row(CACHING, "model", 0.3).shown == "caching lstm8"


def test_only_a_caching_model_is_starred(project: Path) -> None:
    write(project / "metrics/page/web.json", web(admission=True))
    shown = CliRunner().invoke(app, ["models", "results", "-v"]).stdout
    rows = [line for line in shown.split("Next:")[0].splitlines() if "0." in line and "(model)" in line]
    assert [" *" in line for line in sorted(rows)] == [False, True]
    assert "* promoted: better than the best classic on validation" in " ".join(shown.split())


def test_flash_caches_have_a_table_and_their_models_a_verdict(project: Path) -> None:
    flash = flash_metrics("admission.blob.lgbm", traces={"blob_test": flash_trace()})
    write(project / "metrics/flash/blob.json", flash)
    shown = " ".join(CliRunner().invoke(app, ["models", "results", "-v"]).stdout.split())
    assert "blob_test" in shown and "3.21 (1.23)" in shown and "belady_bypass" in shown
    assert "accept_all" in shown and "4.50 (1.50) all_on_miss" in shown
    assert re.search(r"saved against the best without a model │ 5 % \[4, 6\] rejectx", shown)
    assert re.search(r"saved against rejectx_no_prefetch │ 14 % \[13, 15\]", shown)
    (project / "metrics/page/web.json").unlink()
    assert "3.21 (1.23)" in CliRunner().invoke(app, ["models", "results", "-v"]).stdout


def test_the_next_step_is_the_report_s_choice_and_a_command_that_takes_it() -> None:
    def result(model: str, promoted: bool = True) -> BundleResult:
        return BundleResult(model, f"models/bundles/{model}", promoted, "why", {})

    found = [result(CACHING), result(ADMISSION), result("reuse.follow", promoted=False)]
    assert f"compare TRACE --bundle models/bundles/{CACHING} " in next_steps(found)
    assert "compare TRACE --bundle models/bundles/reuse.follow " in next_steps(found, "reuse.follow")
    assert f"flash TRACE --bundle models/bundles/{ADMISSION} " in next_steps([found[1]])
    assert "TRACE" not in next_steps([result(CLASSIFIER)]) and "verify" not in next_steps([])


def test_json(project: Path) -> None:
    told = json.loads(CliRunner().invoke(app, ["models", "results", "--json"]).stdout)
    assert [row["policy"] for row in told["rows"]] == [row.policy for row in TEST.rows]
    assert {row["trace"] for row in told["rows"]} == {"web_test"}
    assert told["flash"] == told["flash_saved"] == []
    assert {row["policy"]: row["promoted"] for row in told["rows"] if row["kind"] == "model"} == {
        CACHING: True,
        ADMISSION: False,
    }
    assert {row["model"]: row["bundle"] for row in told["bundles"]} == {
        ADMISSION: None,
        CACHING: "models/bundles/caching.web.lstm8",
        CLASSIFIER: "models/bundles/workload.lstm8",
    }


def test_json_of_what_is_saved_in_flash_caches(project: Path) -> None:
    flash = flash_metrics("admission.blob.lgbm", traces={"blob_test": flash_trace()})
    write(project / "metrics/flash/blob.json", flash)
    told = json.loads(CliRunner().invoke(app, ["models", "results", "--json"]).stdout)["flash_saved"]
    assert [(one["trace"], one["rival"], one["policy"]) for one in told] == [
        ("blob_test", "best", "rejectx"),
        ("blob_test", "plain", "rejectx_no_prefetch"),
    ]
    assert [one["mean"] for one in told] == pytest.approx([0.05, 0.14])
    assert told[0]["interval"] == pytest.approx([0.04, 0.06]) and told[0]["peak"] == 0.02


def test_models_beside_the_full_one_have_a_table_and_a_verdict(project: Path) -> None:
    flash, names = flash_metrics(ADMISSION), [f"{ADMISSION}_block", f"{ADMISSION}_small"]
    assert (
        "admission models, thresholds set in hindsight"
        not in CliRunner().invoke(app, ["models", "results", "-v"]).stdout
    )
    beside = {name: beside_model(name, mean, won=mean > 2) for name, mean in zip(names, (1.5, 2.5), strict=True)}
    write(project / "metrics/flash/web.json", flash.model_copy(update={"beside": beside}))
    shown = " ".join(CliRunner().invoke(app, ["models", "results", "-v"]).stdout.split())
    table = shown[shown.index("admission models, thresholds set in hindsight") :]
    ours = "3.15 (1.17) next(4)"
    assert f"web_test │ {ours} │ 3.10 (1.50) next(8) │ 3.10 (2.50) next(8)" in table
    told = json.loads(CliRunner().invoke(app, ["models", "results", "--json"]).stdout)
    rows = {row["model"]: row["read_dt"]["mean"] for row in told["flash_beside"]}
    assert rows == {ADMISSION: pytest.approx(1.23 * 0.95), names[0]: 1.5, names[1]: 2.5}
    verdicts = {row["model"]: row["promoted"] for row in told["bundles"]}
    assert (verdicts[names[0]], verdicts[names[1]]) == (False, True)


def test_one_cache_for_every_workload_at_home_and_away(project: Path) -> None:
    write(project / "metrics/reuse.json", reuse_metrics("reuse.follow"))
    shown = CliRunner().invoke(app, ["models", "results", "-v"]).stdout
    lines = [[cell.strip() for cell in line.replace(SPACE, " ").split("│")] for line in shown.splitlines()]
    rows = [line for line in lines if len(line) > 3 and line[2].startswith("10 %")]
    home, program = (next(line[3:] for line in rows if line[1] == where) for where in GROUPS)
    assert home[:6] == ["3", "yes", "+2.7", "+0.1", "3 of 3", "3 of 3"]
    assert home[6].startswith("20.0 % (15.0") and home[7:10] == ["20.0 %", "0.32", "0.90"]
    assert program[1:5] == ["don't", f"{MINUS}1.7", f"{MINUS}4.0", "1 of 3"]
    narrow = next(line for line in lines if line[1:2] == ["narrow_test"])
    assert "gap below 0.02" in narrow and "30.10 ± 0.32 %" in narrow
    words = " ".join(shown.split())
    assert f"leads its rival by {MINUS}1.7 points" in words and "Don't use it there" in words
    assert "none of reuse.follow" in words and "home_gap_closed 0.200" in words


def test_json_of_a_system_of_all_categories(project: Path) -> None:
    write(project / "metrics/reuse.json", reuse_metrics("reuse.follow"))
    told = json.loads(CliRunner().invoke(app, ["models", "results", "--json"]).stdout)
    groups, traces = (told["systems"]["reuse"][name] for name in ("groups", "traces"))
    assert [group["use"] for group in groups if group["capacity_fraction"] == 0.1] == ["yes", "yes", "don't"]
    assert len(groups) == 9 and len(traces) == 8 and traces[0]["trace"] == "web_test"
    assert traces[0]["mean_hit_ratio"] == pytest.approx(0.35) and traces[0]["seed_hit_ratios"]
    headlines = {row["model"]: row["headline"] for row in told["bundles"]}
    assert headlines[CLASSIFIER] == {"balanced_accuracy": 0.85} and headlines[CACHING] == {}
    assert headlines["reuse.follow"]["setup_gap_closed"] == pytest.approx(0.04)


def test_a_model_of_all_categories_is_enough(project: Path) -> None:
    (project / "metrics/page/web.json").unlink()
    shown = CliRunner().invoke(app, ["models", "results", "-v"]).stdout
    assert "models/bundles/workload.lstm8" in shown and "No results yet" not in shown


def test_nothing_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dvc.yaml").touch()
    assert "No results yet" in CliRunner().invoke(app, ["models", "results", "-v"]).stdout

import csv
import json
from pathlib import Path

import pytest

from tests import placement_data
from tests.command_line import run
from tests.metrics_data import (
    flash_metrics,
    flash_trace,
    page_metrics,
    page_model,
    page_trace,
    row,
    workload_metrics,
    write,
)

MODEL = "caching.web.lstm8"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    test = page_trace("test", row(MODEL, "model", 0.4))
    models = {MODEL: page_model({"web_test": test.row(MODEL)})}
    traces = {"web_test": test, "web_validation": test.model_copy(update={"role": "validation"})}
    write(tmp_path / "metrics/page/web.json", page_metrics(traces, models=models))
    write(tmp_path / "metrics/page/mail.json", page_metrics({"mail_test": page_trace("test")}, category="mail"))
    write(tmp_path / "metrics/workload.json", workload_metrics("workload.lstm8"))
    flash = flash_metrics("admission.web.lgbm", traces={"web_test": flash_trace()})
    write(tmp_path / "metrics/flash/web.json", flash)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_category_alone_is_shown_without_what_is_of_all() -> None:
    shown = run("models", "results", "--category", "mail").stdout
    assert "mail_test" in shown and "web_test" not in shown
    assert "web_test" in run("models", "results", "--category", "mail", "--category", "web").stdout
    told = json.loads(run("models", "results", "--category", "web", "--json").stdout)
    assert {one["trace"] for one in (*told["rows"], *told["flash"])} == {"web_test"} and told["systems"] == {}
    assert {one["model"] for one in told["bundles"]} == {MODEL, "admission.web.lgbm"}


def test_a_category_of_streams_alone_is_shown_by_its_own_table(project: Path) -> None:
    write(project / "metrics/streams/ledger.json", placement_data.metrics("streams.ledger.fios"))
    shown = run("models", "results", "--category", "ledger").stdout
    assert "Write amplification" in shown and "gap" not in shown
    assert "Write amplification" not in run("models", "results", "--category", "mail").stdout


def test_a_category_without_results_is_refused_and_those_with_are_named() -> None:
    done = run("models", "results", "--category", "web", "--category", "blob", ok=False)
    assert done.stderr == "cachezoo: --category blob: has no results; these have: mail, web\n"


def test_the_csv_file_has_what_json_has_one_figure_a_column(project: Path) -> None:
    told = json.loads(run("models", "results", "--json", "-o", "all.csv").stdout)
    rows = read(project / "all.csv")
    pages = [one for one in rows if one["cache"] == "page"]
    flashes = [one for one in rows if one["cache"] == "flash"]
    key = ("trace", "policy")
    assert [[one[name] for name in key] for one in pages + flashes] == [
        [one[name] for name in key] for one in told["rows"] + told["flash"]
    ]
    for own, one in zip(pages, told["rows"], strict=True):
        assert float(own["hit_ratio"]) == one["hit_ratio"] and own["hits"] == str(one["hits"])
        interval = [float(own[f"hit_ratio_interval_{end}"]) for end in ("low", "high")]
        assert interval == one["hit_ratio_interval"] and own["read_dt_peak"] == ""
    assert [float(own["read_dt_peak"]) for own in flashes] == [one["read_dt"]["peak"] for one in told["flash"]]
    assert list(rows[0])[:5] == ["category", "trace", "cache", "policy", "promoted"]
    assert {own["promoted"] for own in pages if own["policy"] == MODEL} == {"True"}
    assert "utilisation" not in rows[0]  # which no row has


def test_what_is_written_is_said_below_the_figures_and_not_in_json(project: Path) -> None:
    shown = run("models", "results", "--category", "mail", "-o", "mail.csv", "-o", "mail.json").stdout
    assert shown.endswith("\nwritten: mail.csv, mail.json\n")
    assert {path.name for path in project.glob("mail.*")} == {"mail.csv", "mail.json"}
    assert "written" not in run("models", "results").stdout
    assert "systems" in json.loads(run("models", "results", "--json", "-o", "all.csv").stdout)


def test_the_csv_file_is_of_the_category_alone(project: Path) -> None:
    run("models", "results", "--category", "mail", "-o", "mail.csv")
    assert {own["category"] for own in read(project / "mail.csv")} == {"mail"}


def test_a_csv_file_that_cannot_be_written_or_would_be_empty_is_refused(project: Path) -> None:
    assert "no such folder" in run("models", "results", "-o", "none/all.csv", ok=False).stderr
    for file in project.glob("metrics/**/*.json"):
        file.unlink()
    (project / "conf").mkdir()
    done = run("models", "results", "-o", "all.csv", ok=False)
    assert done.stderr == (
        "cachezoo: all.csv: not written, as there are no results of test traces yet; run `make repro`\n"
    )
    assert not (project / "all.csv").exists()

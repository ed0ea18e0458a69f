"""The one table that a run ends with, and what narrow terminals show."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cachezoo.cli import app
from cachezoo.questions.result_tables import narrow, summary_table
from cachezoo.questions.results import lines, read_results
from cachezoo.show.formats import ordinary
from tests.metrics_data import flash_metrics, flash_trace, page_metrics, page_model, page_trace, row, write

CACHING, ADMISSION, OTHER = "caching.web.lstm8", "admission.web.lgbm", "caching.web.refused"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = (
        row(CACHING, "model", 0.4, gap_closed=0.5),
        row(ADMISSION, "model", 0.45, gap_closed=0.6),
        row(OTHER, "model", 0.49, gap_closed=0.7),
    )
    test = page_trace("test", *rows)
    models = {
        CACHING: page_model({"web_test": test.row(CACHING)}, True, "won"),
        ADMISSION: page_model({"web_test": test.row(ADMISSION)}, True, "won"),
        OTHER: page_model({"web_test": test.row(OTHER)}, False, "lost"),
    }
    write(tmp_path / "metrics/page/web.json", page_metrics({"web_test": test}, models=models))
    flashes = {"web_test": flash_trace(), "web_only_flash": flash_trace()}
    write(tmp_path / "metrics/flash/web.json", flash_metrics(ADMISSION, traces=flashes))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_line_has_the_promoted_caching_model_with_the_most_hits(project: Path) -> None:
    flash_only, both = lines(read_results(None))
    assert (both.trace, flash_only.trace) == ("web_test", "web_only_flash")
    assert (both.model, both.hit_ratio, both.gap_closed) == ("caching lstm8", 0.4, 0.5)
    assert both.classic is not None and both.optimum is not None and both.classic < both.optimum
    assert (flash_only.classic, flash_only.model, flash_only.optimum) == (None, None, None)
    assert both.saved is not None and both.saved.rival == "best"


@pytest.mark.parametrize("width", [80, 100, 160])
def test_nothing_is_cut_in_a_terminal_of_eighty_columns(project: Path, width: int) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(summary_table(lines(read_results(None))))
    text = ordinary(console.export_text())
    assert "\u2026" not in text and "web_only_flash" in text and "+50 %" in text


def test_savings_of_models_that_validation_refused_are_marked(project: Path) -> None:
    found = [replace(line, saved=replace(line.saved, promoted=kept)) for kept in (True, False)
             for line in lines(read_results(None)) if line.saved is not None]  # fmt: skip
    saved = list(summary_table(found).columns[-1].cells)
    half = len(saved) // 2
    assert all("not" not in cell for cell in saved[:half])
    assert all(cell.endswith("\n(not\npromoted)") for cell in saved[half:])


def test_the_summary_is_short_and_says_how_to_see_more(project: Path) -> None:
    shown = CliRunner().invoke(app, ["models", "results"]).stdout
    assert len(shown.splitlines()) < 25 and "results -v" in shown
    assert "refused" not in shown


@pytest.mark.parametrize("width, tables", [(40, 2), (74, 2), (76, 1), (160, 1)])
def test_a_narrow_terminal_has_fewer_traces_in_a_table(project: Path, width: int, tables: int) -> None:
    rows = read_results(None).flash_rows()
    parts = narrow(rows, width)
    assert len(parts) == tables
    assert {(row.trace, row.policy) for part in parts for row in part} == {(row.trace, row.policy) for row in rows}
    assert all(len({row.trace for row in part}) == 2 // tables for part in parts)

from pathlib import Path
from typing import Any

import pytest

from cachezoo.models.measured import Measured, Model
from cachezoo.show.plots import CARRIED
from cachezoo.show.style import settings
from cachezoo.zoo.reuse.metrics import ReuseMetrics
from cachezoo.zoo.reuse.report import PART, carried_figure
from tests.metrics_data import reuse_metrics, reuse_trace, workload_metrics
from tests.report_data import trained

MODEL = "reuse.follow"


def sources(metrics: Any, promoted: bool = True, models: bool = True) -> Measured:
    own = Model(trained(MODEL, beats=promoted), [], "a card", None, promoted, "it won" if promoted else "it lost")
    return Measured(models=[own] if models else [], overall={"reuse": metrics} if metrics else {})


def test_the_answer_says_don_t_where_it_has_to() -> None:
    said = PART.answer(sources(reuse_metrics(MODEL)))
    assert said.startswith(f"One page cache for every workload is {MODEL}") and "On validation: it won." in said
    assert said.count("Don't use it there") == 1
    good = PART.answer(sources(reuse_metrics(MODEL, program_lead=0.02)))
    assert "Don't" not in good
    assert "but don't use it: it lost." in PART.answer(sources(reuse_metrics(MODEL, promoted=False), promoted=False))
    assert "no figures on test traces: don't use it" in PART.answer(sources(None))
    assert "No cache for every workload was trained" in PART.answer(sources(None, models=False))
    other = PART.answer(sources(workload_metrics("workload.lstm8")))
    assert "no figures" in other  # metrics of another system are none of this one


def test_the_section_names_places_without_a_trace(tmp_path: Path) -> None:
    metrics = reuse_metrics(MODEL)
    home = metrics.model_copy(update={"traces": {"web_test": metrics.traces["web_test"]}})
    section = PART.section(sources(home), {})
    assert section is not None and section.figures == []
    assert section.texts == ["There is no test trace of other set-ups and other programs, so nothing is known of them."]
    whole = PART.section(sources(metrics), {})
    assert whole is not None and len(whole.tables) == 2 and "Don't use it there" in whole.texts[0]
    assert PART.section(sources(None), {}) is None


def draw(metrics: ReuseMetrics, folder: Path) -> Any:
    folder.mkdir(exist_ok=True)
    with settings():
        return PART.draw(sources(metrics), folder)


def test_the_plot_shows_every_trace_that_has_a_gap(tmp_path: Path) -> None:
    metrics = reuse_metrics(MODEL)
    lost = metrics.model_copy(update={"traces": metrics.traces | {"lost": reuse_trace(MODEL, "program", -0.25)}})
    (figure,) = draw(lost, tmp_path / "a")
    assert figure.file == CARRIED and "each of 8 test traces" in figure.alt
    assert "Left out: 1 with a gap below 0.02." in figure.caption
    assert "20.0\N{NO-BREAK SPACE}% home" in figure.alt
    draw(lost, tmp_path / "b")
    first, again = ((tmp_path / name / CARRIED).read_bytes() for name in "ab")
    assert first == again and first.startswith(b"\x89PNG")


@pytest.mark.parametrize("traces", [{}, {"narrow": reuse_trace(MODEL, "home", 0.001, gap_wide=0.01)}])
def test_nothing_to_draw(tmp_path: Path, traces: dict[str, Any]) -> None:
    assert draw(reuse_metrics(MODEL).model_copy(update={"traces": traces}), tmp_path) == []
    assert carried_figure(None, tmp_path) is None and not (tmp_path / CARRIED).exists()

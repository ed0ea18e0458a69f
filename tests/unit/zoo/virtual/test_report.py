"""What the report and `cachezoo models results` say of virtual caches, for each way that the test traces can go."""

import pytest

from cachezoo.policies.registry import policy
from cachezoo.report.gather import Sources
from cachezoo.show.plots import VIRTUAL
from cachezoo.show.style import settings
from cachezoo.zoo.virtual.metrics import Setting, VirtualMetrics
from cachezoo.zoo.virtual.report import PART, starts_said
from cachezoo.zoo.virtual.results import DEARER, NO, YES, as_policy, pays, starts_pay
from cachezoo.zoo.virtual.results import PART as RESULTS
from tests.virtual_data import metrics

MODEL = "virtual.database.vrm"


def sources(*found: VirtualMetrics) -> Sources:
    return Sources([], {}, [], [], 0.1, "", 4, {"virtual": {one.category: one for one in found}} if found else {})


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")


@pytest.mark.parametrize(
    ("more", "cell", "said"),
    [
        ({}, YES, "It pays on database_test."),
        ({"transfers": 0.7}, DEARER, "the disk reads more than it saves, on database_test."),
        ({"hit_ratio": 0.455}, NO, "No gain in hits is shown on database_test."),
        ({"hit_ratio": 0.40}, NO, "No gain in hits is shown on database_test."),
    ],
)
def test_the_answer_follows_hits_and_transfers(more, cell, said):
    found = metrics(MODEL, **more)
    (trace,) = found.traces.values()
    assert pays(trace.row("tuned.cold")).text == cell
    assert plain(PART.answer(sources(found))).endswith(said)


def test_each_trace_is_told_with_what_the_head_alone_does_and_what_the_paper_s_settings_cost():
    told = plain(" ".join(PART.section(sources(metrics(MODEL)), {}).texts))
    assert (
        "the tuned cache hits 50.0 %, +5.00 points [4.00, 6.00] over arc, of which the queue's head alone has +2.00"
        in told
    )
    assert "The paper's settings hit 55.0 % with vrm.lru, at 218 % of its transfers." in told
    assert "not promoted" not in told
    assert "The tuned cache is not promoted." in plain(
        " ".join(PART.section(sources(metrics(MODEL, promoted=False)), {}).texts)
    )


@pytest.mark.parametrize(("warm", "good"), [(500, True), (501, False), (None, False)])
def test_a_warm_start_has_to_take_half(warm, good):
    found = metrics(MODEL, warm=warm)
    (trace,) = found.traces.values()
    assert starts_pay(trace, "tuned") == good
    said = starts_said({"database": found})
    assert ("in 1 of 1 cases: tuned on database_test." in said) if good else said.startswith("A warm start is useless")


def test_nothing_measured_is_said():
    assert PART.section(sources(), {}) is None and "not measured" in PART.answer(sources())
    empty = metrics(MODEL).model_copy(update={"traces": {}, "reason": "the category has no test trace"})
    section = PART.section(sources(empty), {})
    assert section.tables == [] and "database: not all was measured, the category has no test trace." in section.texts


def test_a_setting_can_be_pasted_as_a_policy():
    setting = Setting(queue="lfu", pages=131072, runs=5, decay=0.984, quantum=12000, cost=1.25)
    said = as_policy(setting)
    assert said == "vrm(queue=lfu, n=131072, f=5, alpha=0.984, q=12000, cost=1.25)"
    assert policy(said).id == said and as_policy(None) == ""
    (row,) = (row for row in RESULTS.tables({"database": metrics(MODEL)})[1].rows if row[0].text == "vrm.lru")
    assert row[0].note.startswith("vrm(queue=lfu, n=16384, f=2,")


def test_tables_have_transfers_beside_hits_and_values_hold_all():
    found = {"database": metrics(MODEL)}
    summary, rows, starts = RESULTS.tables(found)
    titles = [column.title for column in rows.columns]
    assert titles[:4] == ["cache", "hits", "gain", "transfers"]
    assert [row[0].text for row in rows.rows][:2] == ["vrm.lru", "vrm.lfu"]
    assert summary.rows[0][0].text == "database_test" and starts.rows[0][-1].text == "no"
    values = RESULTS.values(found)
    assert len(values["caches"]) == 9 and len(values["searches"]) == 5 and len(values["starts"]) == 2
    assert values["categories"][0]["hit_ratio"] == 0.5 and values["categories"][0]["promoted"]


def test_the_plot_is_drawn_and_told(tmp_path):
    with settings():
        (figure,) = PART.draw(sources(metrics(MODEL)), tmp_path)
        assert PART.draw(sources(), tmp_path) == []
    assert (tmp_path / VIRTUAL).stat().st_size > 10_000
    assert "database_test 50.0" in figure.alt
    assert figure in PART.section(sources(metrics(MODEL)), {VIRTUAL: figure}).figures

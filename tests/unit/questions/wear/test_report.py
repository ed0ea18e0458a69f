"""What the report and `cachezoo models results` say of streams, for each way that validation and test can go."""

import pytest

from cachezoo.flash_drive.names import BOUNDS, BY_DRIVE, LEGACY
from cachezoo.models.measured import Measured
from cachezoo.questions.results import Results, of_categories
from cachezoo.questions.wear.options import PLACEMENTS
from cachezoo.questions.wear.report import PART, RESULTS, compared
from cachezoo.questions.wear.verdict import RUNS, pays
from cachezoo.show.style import settings
from cachezoo.zoo.streams.metrics import StreamsMetrics, StreamsModel, StreamsRow, StreamsTrace

MODEL = "streams.ledger.fios"


def row(policy: str, kind: str, of_legacy: float, spread: float = 0.01) -> StreamsRow:
    ends = (of_legacy - spread, of_legacy + spread)
    return StreamsRow(
        policy=policy, kind=kind, streams=4, parameters={}, waf=3 * of_legacy, waf_interval=(1.0, 4.0),
        of_legacy=of_legacy, of_legacy_interval=ends, validation_waf=None,
        copied_pages=1, erases=2, erases_most=3, noise=0.01, victim_waf={"cost-benefit": 2 * of_legacy},
        victim_of_legacy={"cost-benefit": of_legacy}, victim_of_legacy_interval={"cost-benefit": ends},
        over_provisioning_waf={"0.28": 1.5},
    )  # fmt: skip


def metrics(promoted: bool = True, chosen: float = 0.8, equal: float = 0.9, spread: float = 0.01) -> StreamsMetrics:
    rows = [
        row("legacy", "legacy", 1.0, 0), row("equal", "baseline", equal, spread),
        row("FC.100th", "fios", chosen, spread), row("oracle", "bound", 0.5),
    ]  # fmt: skip
    trace = StreamsTrace(role="test", host_pages=600, footprint_pages=100, over_provisioning=0.11, rows=rows)
    model = StreamsModel(
        trained=True, promoted=promoted, reason="why", validation={}, variant="FC.100th", learned="",
        automatic="legacy", sid_bytes=29,
    )  # fmt: skip
    return StreamsMetrics(category="ledger", reason="", traces={"ledger_test": trace}, models={MODEL: model})


def nothing() -> StreamsMetrics:
    model = metrics().models[MODEL].model_copy(update={"variant": "", "promoted": False})
    return StreamsMetrics(category="web", reason="not judged: it writes 9 pages", traces={}, models={MODEL: model})


def sources(*found: StreamsMetrics) -> Measured:
    return Measured(models=[], by_category={"streams": {one.category: one for one in found}} if found else {})


def told(given: StreamsMetrics) -> str:
    """The section's texts."""
    return " ".join(PART.section(sources(given), {}).texts).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("given", "cell", "said"),
    [
        (metrics(), "yes", "ledger: yes, 20.0 % fewer flash writes [19.0, 21.0] with the dictionary FC.100th than"),
        (metrics(promoted=False), "equal parts", "ledger: yes, 10.0 % fewer flash writes [9.0, 11.0] with 4 equal"),
        (metrics(promoted=False, equal=1.05), "don't", "ledger: no; 20.0 % fewer"),
        (metrics(chosen=1.2), "don't", "ledger: no; 20.0 % more flash writes [19.0, 21.0]"),
        (metrics(chosen=0.95, spread=0.06), "cannot be told", "ledger: cannot be told; 5.0 % fewer"),
    ],
)
def test_the_answer_follows_validation_and_the_test_cycle(given, cell, said):
    (trace,) = given.traces.values()
    assert pays(given.models[MODEL], compared(given.models[MODEL], trace)).text == cell
    assert said in told(given)


def test_what_pays_under_one_victim_alone_depends_on_the_drive():
    given = metrics()
    (trace,) = given.traces.values()
    rows = compared(given.models[MODEL], trace)
    elsewhere = {
        "victim_of_legacy": {"cost-benefit": 1.02},
        "victim_of_legacy_interval": {"cost-benefit": (0.99, 1.05)},
    }
    cell = pays(given.models[MODEL], rows | {"chosen": rows["chosen"].model_copy(update=elsewhere)})
    assert (cell.text, cell.note) == ("depends on the drive", "not under cost-benefit victims")


def test_what_chance_moves_as_far_is_no_saving():
    given = metrics()
    (trace,) = given.traces.values()
    rows = compared(given.models[MODEL], trace)
    assert (
        pays(given.models[MODEL], rows | {"chosen": rows["chosen"].model_copy(update={"noise": 0.21})}).text == "don't"
    )


def test_what_was_not_measured_is_said_with_its_reason():
    both = sources(metrics(), nothing())
    assert "web: cannot be told, not judged: it writes 9 pages." in PART.section(both, {}).texts
    answer = PART.answer(both).replace("\N{NO-BREAK SPACE}", " ")
    assert "saved on the test cycle): ledger (20.0 %)." in answer and answer.endswith("Cannot be told: web.")
    alike = PART.answer(sources(metrics(promoted=False))).replace("\N{NO-BREAK SPACE}", " ")
    assert alike.endswith("what was learned is not promoted: ledger (10.0 %).")
    assert PART.answer(sources()).startswith("Streams were not measured")
    assert PART.section(sources(), {}) is None


def test_the_section_has_a_row_a_category_and_a_table_of_placements(tmp_path):
    found = sources(metrics(), nothing())
    with settings():
        (figure,) = PART.draw(found, tmp_path)
    assert (tmp_path / figure.file).stat().st_size > 1000 and "ledger 80.0" in figure.alt
    section = PART.section(found, {figure.file: figure})
    summary, placements = section.tables
    assert [cells[0].text for cells in summary.rows] == ["ledger", "web"]
    assert all(len(cells) == len(summary.columns) for cells in summary.rows)
    assert [cells[0].text for cells in placements.rows] == ["oracle", "FC.100th", "equal", "legacy"]
    assert all(len(cells) == len(placements.columns) for cells in placements.rows)
    assert list(section.figures) == [figure]


def test_results_have_them_as_tables_and_values_by_category():
    found = {"ledger": metrics(), "web": nothing()}
    assert [table.caption.split(":")[0] for table in RESULTS.tables(found)] == [
        "Write amplification of a drive with streams, on test cycles; the last six columns are shares of that without "
        "streams",
        "ledger",
    ]
    values = RESULTS.values(found)
    assert [(one["category"], one["use"]) for one in values["categories"]] == [
        ("ledger", "yes"),
        ("web", "cannot be told"),
    ]
    assert len(values["placements"]) == 4
    run = Results([], [], {}, {"streams": found})
    assert run and {one.model for one in run.bundles()} == {MODEL}
    assert run.as_json()["systems"]["streams"]["categories"] == values["categories"]
    assert list(of_categories(run, ["web"]).by_category["streams"]) == ["web"]
    assert run.summaries() == [metrics().summary()]


def test_the_headline_is_of_the_dictionary_that_validation_chose():
    assert metrics().headline(MODEL) == {"waf": 3 * 0.8, "of_legacy": 0.8}
    assert nothing().headline(MODEL) == {} and nothing().summary() == ""


def test_of_each_placement_that_a_host_may_be_advised_it_is_said_what_runs_it():
    assert set(RUNS) == set(PLACEMENTS) - {LEGACY, *BY_DRIVE, *BOUNDS}
    assert all("libcachezoo" in text or "simulation only" in text or "no model" in text for text in RUNS.values())


@pytest.mark.parametrize(
    ("kind", "who"), [("drive", "which a drive runs and no host"), ("baseline", "which is simulation only")]
)
def test_the_best_rival_of_validation_is_named_with_who_can_run_it(kind, who):
    found = metrics(promoted=False)
    trace = found.traces["ledger_test"]
    rows = [one.model_copy(update={"validation_waf": 2.0}) for one in trace.rows]
    rows.append(row("rule", kind, 0.7).model_copy(update={"validation_waf": 1.5}))
    named = found.model_copy(update={"traces": {"ledger_test": trace.model_copy(update={"rows": rows})}})
    assert f"of what learns nothing validation prefers rule, {who}: 30.0 % fewer flash writes" in told(named)

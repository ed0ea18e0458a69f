from cachezoo.show.formats import NONE
from cachezoo.show.table import Table
from cachezoo.zoo.workload.metrics import WorkloadMetrics
from cachezoo.zoo.workload.report import workload_tables
from tests.metrics_data import workload_metrics

MODEL = "workload.lstm8"


def texts(table: Table) -> list[list[str]]:
    return [[cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in table.rows]


def test_baselines_moved_strange_and_mixed_traces_have_a_table_each() -> None:
    single, moved, strange, mixed = workload_tables(workload_metrics(MODEL))
    assert texts(single) == [
        ["web_test", MODEL, "20", "90.0 %", "10.0 %", "100.0 %", "0.0 %"],
        ["web_test", "tree4", "20", "60.0 %", NONE, NONE, NONE],
    ]
    assert single.rows[0][3].note == "[80.0, 100.0]" and single.rows[0][0].note == ""
    assert texts(moved) == [["web_test", "+ 1 GiB", "20", "90.0 %", "100.0 %", "100.0 %"]]
    assert texts(strange) == [["blob_test", "10", "70.0 %", "1", "100.0 %", "1", "2"]]
    assert texts(mixed) == [["60 % web, else database", "20", "70.0 %", "90.0 %", "60.0 %", "20.0 %", "50.0 %"]]
    for table in (single, moved, strange, mixed):
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert [column.title for column in mixed.columns[2:5]] == ["constant", MODEL, "tree4"]


def test_an_unseen_program_is_marked() -> None:
    metrics = workload_metrics(MODEL)
    trace = metrics.traces["web_test"].model_copy(update={"unseen": True})
    single = workload_tables(metrics.model_copy(update={"traces": {"web_test": trace}}))[0]
    assert single.rows[0][0].note == "unseen program"


def test_what_was_not_tried_has_no_table() -> None:
    untrained: WorkloadMetrics = workload_metrics(MODEL, trained=False)
    assert workload_tables(untrained) == []
    alone = workload_metrics(MODEL).model_copy(update={"strange": {}, "mixtures": []})
    assert len(workload_tables(alone)) == 2

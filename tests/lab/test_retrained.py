from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.models.trained import read_fitted
from cachezoo.show.formats import NONE
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.zoo.reuse import fit, judge
from cachezoo.zoo.reuse.evaluate import Counted
from cachezoo.zoo.reuse.trained import Trained
from lab import goals
from lab.retrained.document import Retrained, RetrainedRow, read_retrained, table
from lab.retrained.run import Source, first_half, learned_with, measure_stream
from tests.metrics_data import BEST, FRACTIONS, reuse_joined, reuse_metrics
from tests.reuse_data import FIT, make_trace, part, write_model

METRICS = reuse_metrics("reuse.follow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("retrained")
    write_model(path)
    trace = make_trace(4000, 8)
    write_trace(trace, path / "trace8.parquet", expand_pages(trace))
    rows = fit.all_rows([part(6000, 1)], FIT)
    np.savez(path / "rows.npz", **rows._asdict())
    return path


def test_a_row_counts_what_the_evaluation_judges(folder: Path) -> None:
    model = Trained(judge.base_policy(read_fitted(folder / "fitted", "reuse")), 100.0)
    source = Source("trace8", folder / "trace8.parquet", "program")
    (row,) = measure_stream(source, folder / "rows.npz", model, FIT)
    assert (row.trace, row.where, row.capacity_fraction) == ("trace8", "program", 0.1)
    own = part(4000, 8)
    with np.load(folder / "rows.npz") as columns:
        learned = learned_with(own, fit.Rows(*(columns[name] for name in fit.Rows._fields)), model, FIT)
    capacity = round(0.1 * own.pages.n_pages)
    seen, counted = own.look(capacity, model.policy), Counted.of(own.pages, capacity)
    assert len(learned) == len(row.hit_ratios) == 2
    for one, ratio in zip(learned, row.hit_ratios, strict=True):
        outcome = seen.serve(fit.forest_scorer(one.text)(seen.inputs), one.plan).run.outcome
        assert ratio == float(counted.judged(outcome).mean())
        assert counted.middle >= len(outcome) // 2


def test_nothing_of_what_is_judged_is_learned_from() -> None:
    own = part(3000, 5)
    late = int(np.searchsorted(own.pages.request_start, own.pages.request_start[-1] // 2)) + 1
    order = np.append(np.arange(late), np.arange(len(own.trace) - 1, late - 1, -1))
    trace = replace(own.trace, offset=own.trace.offset[order], size=own.trace.size[order])
    changed = replace(own, trace=trace, pages=expand_pages(trace))
    assert changed.pages.n_pages == own.pages.n_pages
    mine, theirs = first_half(own, FIT, 3), first_half(changed, FIT, 3)
    assert len(mine.target)
    for column, same in zip(mine, theirs, strict=True):
        np.testing.assert_array_equal(column, same)


def test_the_table_compares_with_the_trained_cache_stream_by_stream(tmp_path: Path) -> None:
    streams = [("web_wide", "set-up", 0.0), ("web_slow", "set-up", 0.02), ("narrow_test", "home", 0.0)]
    rows = [
        RetrainedRow(
            trace=name, where=where, capacity_fraction=0.1, hit_ratios=[BEST + lead - 0.01, BEST + lead + 0.01]
        )
        for name, where, lead in streams
    ]
    found = Retrained(rows=rows)
    (tmp_path / "retrained.json").write_text(found.model_dump_json())
    assert read_retrained(tmp_path / "retrained.json") == found
    home, away = table(found, METRICS).rows
    assert [cell.text for cell in home] == [
        "home", "10\u00a0%", "1", "+0.1 (+0.1)", "0.0 (0.0)", "0 of 1", NONE, NONE,
    ]  # fmt: skip
    assert [cell.text for cell in away] == [
        "other set-ups", "10\u00a0%", "2", "+0.8 (\u22120.4)", "+1.0 (0.0)", "1 of 2", "4.0\u00a0%", "5.0\u00a0%",
    ]  # fmt: skip


def test_goals_are_counted_over_the_streams_they_name() -> None:
    shown = goals.table(METRICS)
    assert [column.title for column in shown.columns[2:]] == [f"at {100 * one:g}\u00a0%" for one in FRACTIONS]
    by_goal = {row[0].text: [cell.text for cell in row[1:]] for row in shown.rows}
    at = 1 + FRACTIONS.index(0.1)
    assert by_goal["lead away over the rival, mean, points"][at] == "\u22120.7 (missed)"
    assert by_goal["lead away over the rival, worst, points"][at] == "\u22124.0 (missed)"
    assert by_goal["streams above the floor"][at] == "75\u00a0% (missed)"
    assert by_goal["misses saved against LRU, mean"][at].endswith("(met)")
    assert by_goal["gap closed from the best default in hindsight, median"][at] == "+5.0\u00a0% (missed)"
    changed = METRICS.model_copy(
        update={"changes": [reuse_joined("reuse.follow", "turns", [lead]) for lead in (0, -1)]}
    )
    assert goals.table(changed).rows[:-1] == shown.rows
    assert [cell.text for cell in goals.table(changed).rows[-1]] == [
        "joined streams above the floor, with changes of workload", "100\u00a0%", NONE, "50\u00a0% (missed)", NONE,
    ]  # fmt: skip

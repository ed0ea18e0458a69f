from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cachezoo import paths
from cachezoo.contest.counting import Count
from cachezoo.errors import ConfigError
from cachezoo.io import write_table
from cachezoo.labels.benefit import write_benefit_labels
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.page.bench import Bench
from cachezoo.questions.page.category import Settings, _row_of, _validation_choice, evaluate_trace
from cachezoo.questions.page.compare import with_gaps
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from tests.metrics_data import page_trace, row
from tests.page_data import seeded_trace, service_times
from tests.rcrnn_data import PARAMS

TRACE = seeded_trace(600, 120, 3)
PAGES = expand_pages(TRACE)


def rows(ids: list[str], every: bool) -> list[dict[str, Any]]:
    bench = Bench.of(Simulator(TRACE, PAGES), count=Count("50"))
    names = dict.fromkeys([*ids, *(classics() if every else []), OPTIMUM])
    return [bench.run(policy_id, 10).values() for policy_id in names]


def test_the_best_classic_is_the_best_of_the_rows() -> None:
    every = with_gaps(rows([], True))
    classic = [row for row in every["rows"] if row["kind"] == "classic"]
    assert [row["policy"] for row in every["rows"]] != classics()
    assert {row["policy"] for row in every["rows"]} == {*classics(), OPTIMUM}
    assert every["best_classic"] == classic[0]["policy"]
    assert not [name for row in every["rows"] for name in row if "error_90" in name]
    assert every["capacity"] == 10 and 40 <= every["warmup"] <= 50
    worst = classic[-1]["policy"]
    one = with_gaps(rows([worst], False))
    assert one["best_classic"] == worst != every["best_classic"]
    assert {row["policy"]: row["gap_points"] for row in one["rows"]}[worst] == 0
    assert {row["policy"] for row in one["rows"]} == {worst, OPTIMUM}
    both = with_gaps(rows([worst], True))
    gaps = [{row["policy"]: row["gap_points"] for row in run["rows"]} for run in (both, every)]
    assert gaps[0] == gaps[1] and gaps[0][worst] < 0


def test_models_are_shown_and_compositions_are_no_classics() -> None:
    composed = "coinflip(p=0.9)+belady_bypass"
    found = rows(["lru", "coinflip(p=0.9)+arc"], False)
    best = max(row["hits"] for row in found)
    model = {**found[0], "policy": "m", "kind": "model", "hits": best + 1}
    crowned = [{**row, "hits": best + 2} if row["kind"] == "composed" else row for row in found]
    shown = with_gaps([*crowned, model])
    assert [row["policy"] for row in shown["rows"]] == ["coinflip(p=0.9)+arc", "m", OPTIMUM, "lru"]
    assert shown["best_classic"] == "lru"
    none = with_gaps([row for row in crowned if row["kind"] != "classic"])
    assert none["best_classic"] is None and {row["gap_closed"] for row in none["rows"]} == {None}
    with pytest.raises(ConfigError, match="belady_bypass is a bound"):
        rows([composed], False)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trace with its responses and labels."""
    monkeypatch.chdir(tmp_path)
    hdd, ssd = service_times(len(TRACE), 1)
    write_trace(TRACE, paths.requests("web", "one"), PAGES)
    write_table(paths.responses("web", "one"), pa.table({"t_hdd_us": hdd, "t_ssd_us": ssd}), {})
    write_benefit_labels(TRACE, PAGES, hdd, ssd, PARAMS.label.benefit, paths.labels("benefit", "web", "one"))
    return tmp_path


def settings_of(policies: list[str]) -> Settings:
    """What an evaluation of the trace reads of params.yaml."""
    evaluate = PARAMS.evaluate.model_copy(update={"policies": policies})
    return replace(Settings.of(PARAMS, "web"), evaluate=evaluate)


def test_evaluation_runs_every_classic_whatever_is_listed(project: Path) -> None:
    found = evaluate_trace(settings_of(["belady"]), "web", "one", "test")
    assert {row.policy for row in found.rows} == {*classics(), "belady", OPTIMUM}
    classic = [row for row in found.rows if row.kind == "classic"]
    assert found.best_classic == max(classic, key=lambda row: row.hit_ratio).policy == found.best().policy
    assert evaluate_trace(settings_of(["fifo"]), "web", "one", "test").best_classic == found.best_classic


def test_tuned_classics_stand_beside_the_others_and_validation_chooses_among_all(project: Path) -> None:
    tuned = ["hystor(write_share=0.5)", "rejectx+arc", "lrfu(decay=0.01)"]
    found = evaluate_trace(settings_of(["belady"]), "web", "one", "validation", (), tuned, tuned[0])
    ratios = {row.policy: row.hit_ratio for row in found.rows if row.kind == "classic"} | found.tuned
    assert set(found.tuned) == set(tuned)
    assert set(ratios) == {*classics(), *tuned}
    assert ratios[found.best_classic] == max(ratios.values()) == found.best().hit_ratio
    # A row for what validation chose and for the best; the others' hit ratios are enough.
    assert {row.policy for row in found.rows if row.kind == "classic"} == {*classics(), tuned[0], found.best_classic}
    assert found.row(tuned[0]).hit_ratio == found.tuned[tuned[0]]
    crowned = found.model_copy(update={"tuned": {**found.tuned, tuned[1]: 1.0}})
    assert _validation_choice({"one": crowned}) == tuned[1]
    assert _validation_choice({"one": crowned.model_copy(update={"role": "test"})}) is None


@pytest.mark.parametrize(("ratio", "above"), [(0.3, True), (0.295, True), (0.28, False)])
def test_a_model_is_held_against_what_validation_chose_and_against_the_floor(ratio: float, above: bool) -> None:
    trace = page_trace("test", row("model", "model", ratio), tags={"model": {"cached_mcc": 0.5}})
    own = _row_of(trace, "model", "fifo")
    assert own.gap_to_choice_points == pytest.approx(100 * (ratio - 0.28))
    assert own.above_floor is above and own.model_extra == {"cached_mcc": 0.5}
    assert own.choice_gap_closed == pytest.approx((ratio - 0.28) / (trace.row("belady_bypass").hit_ratio - 0.28))
    alone = _row_of(trace, "model", None)
    assert alone.gap_to_choice_points is alone.choice_gap_closed is None
    assert np.isclose(_row_of(trace, "model", "model").gap_to_choice_points, 0)

from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest

from cachezoo.contest.counting import first_access
from cachezoo.contest.gap import gap
from cachezoo.kernels.outcome import HIT
from cachezoo.models.trained import read_fitted
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import simulate
from cachezoo.show.formats import NONE
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.zoo.reuse import fit, judge
from cachezoo.zoo.reuse.cache import plan_of
from cachezoo.zoo.reuse.fit import Learned
from lab.goals.document import GoalRow, Goals, read_goals, summaries, tables
from lab.goals.home import home_table
from lab.goals.run import (
    Settings,
    Source,
    Trained,
    chosen_of,
    first_half,
    measure_trace,
    validated,
)  # fmt: skip
from tests.reuse_data import CLASSICS, FIT, make_trace, part, write_model

SETTINGS = Settings(FIT.model, FIT.fit, ["alpha"], {}, {}, 1, {}, CLASSICS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("goals")
    write_model(path)
    for seed in (8, 9):
        trace = make_trace(4000, seed)
        write_trace(trace, path / f"trace{seed}.parquet", expand_pages(trace))
    rows = fit.all_rows([part(6000, 1)], SETTINGS)
    np.savez(path / "rows.npz", **rows._asdict())
    return path


def trained(folder: Path) -> Trained:
    fitted = read_fitted(folder / "fitted", "reuse")
    policy = judge.base_policy(fitted)
    texts = [(folder / "fitted" / fit.forest_file(k)).read_text() for k in range(2)]
    plans = [plan_of(policy, judge.calibration_of(fitted, k, 100.0)) for k in range(2)]
    return Trained(policy, 100.0, [Learned(*one) for one in zip(texts, plans, strict=True)])


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[GoalRow]:
    source = Source("trace8", folder / "trace8.parquet", "alpha", "program")
    return measure_trace(source, folder / "rows.npz", ["lru"], trained(folder), SETTINGS)


def test_both_protocols_beside_the_classics_on_what_each_counts(rows: list[GoalRow]) -> None:
    own = part(4000, 8)
    assert [row.protocol for row in rows] == ["trained", "retrained"]
    half = int(own.pages.request_start[2000])
    for row, low in zip(rows, (first_access(own.pages), half), strict=True):
        ratios = {
            name: float((simulate(own.trace, own.pages, name, row.capacity, 0).outcome[low:] == HIT).mean())
            for name in (*classics(), OPTIMUM)
        }
        assert row.optimum_hit_ratio == ratios.pop(OPTIMUM)
        assert row.best_classic_hit_ratio == max(ratios.values())
        assert (row.chosen, row.chosen_hit_ratio) == ("lru", ratios["lru"])
        assert row.counted == len(own.pages.page_ids) - low
        assert len(row.hit_ratios) == 2
        assert row.gap_closed == gap(fmean(row.hit_ratios), max(ratios.values()), row.optimum_hit_ratio)[0]
        assert row.rivals == len(classics())
        assert row.ssd_writes_ratio is not None
        assert 0 < row.ssd_writes_ratio < 3
    assert rows[0].hit_ratios != rows[1].hit_ratios


def test_trained_forests_are_run_as_they_are(rows: list[GoalRow], folder: Path) -> None:
    own, model = part(4000, 8), trained(folder)
    seen = own.look(rows[0].capacity, model.policy)
    scorers = judge.scorers_of(folder / "fitted", read_fitted(folder / "fitted", "reuse"))
    low = first_access(own.pages)
    for score, learned, ratio in zip(scorers, model.seeds, rows[0].hit_ratios, strict=True):
        run = seen.serve(score(seen.inputs), learned.plan).run
        assert float((run.outcome[low:] == HIT).mean()) == ratio


def test_nothing_of_the_second_half_is_learned_from() -> None:
    own, other = part(3000, 5), part(3000, 6)
    end = int(own.pages.request_start[1500])
    ids = own.pages.page_ids.copy()
    ids[end:] = other.pages.page_ids[: len(ids) - end] % own.pages.n_pages
    changed = replace(own, pages=PageAccesses(own.pages.request_start, ids, own.pages.n_pages))
    for mine, theirs in zip(first_half(own, SETTINGS, 3), first_half(changed, SETTINGS, 3), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_validation_traces_of_the_category_choose_the_classic(folder: Path) -> None:
    source = Source("trace9", folder / "trace9.parquet", "alpha", "home")
    found = validated(source, SETTINGS)
    assert [set(hits) for hits in found] == [set(classics())]
    best = max(sorted(found[0]), key=lambda name: found[0][name])
    bad = {name: 1 - ratio for name, ratio in found[0].items()}
    others = [source, source._replace(category="beta")]
    assert chosen_of("alpha", others, [found, [bad]]) == [best]
    assert chosen_of("beta", others, [found, [bad]]) == [max(sorted(bad), key=lambda name: bad[name])]
    assert chosen_of("gamma", others[:1], [found]) == [best]


def row(where: str, fraction: float, ours: float, best: float, chosen: float, writes: float | None) -> GoalRow:
    return GoalRow.model_validate({
        "trace": "a", "where": where, "protocol": "trained", "capacity_fraction": fraction, "capacity": 10,
        "counted": 1000, "hit_ratios": [ours - 0.01, ours + 0.01], "rivals": 19, "best_classic": "lru",
        "best_classic_hit_ratio": best, "chosen": "arc", "chosen_hit_ratio": chosen, "optimum_hit_ratio": 0.6,
        "ssd_writes_ratio": writes,
    })  # fmt: skip


def test_the_summary_is_that_of_a_naive_count(tmp_path: Path) -> None:
    own = [
        row("set-up", 0.1, 0.30, 0.29, 0.28, 0.5), row("program", 0.1, 0.25, 0.30, 0.24, 0.7),
        row("program", 0.1, 0.285, 0.30, 0.30, None), row("home", 0.1, 0.4, 0.3, 0.3, 0.2),
        row("home", 0.2, 0.5, 0.595, 0.5, 1),
    ]  # fmt: skip
    home, large, away = summaries(own)
    assert (home.place, home.capacity_fraction, home.traces) == ("home", 0.1, 1)
    assert home.median_gap_closed == pytest.approx(1 / 3)
    assert (home.lowest_seed_gap_closed, home.highest_seed_gap_closed) == (pytest.approx(0.3), pytest.approx(11 / 30))
    assert (away.place, away.traces, away.above_floor, away.near_chosen) == ("away", 3, 2, 2)
    assert away.median_gap_closed == pytest.approx(median([0.01 / 0.31, -0.05 / 0.3, -0.015 / 0.3]))
    assert (away.median_lead, away.lowest_lead) == (pytest.approx(-1.5), pytest.approx(-5))
    assert away.lowest_lead_over_chosen == pytest.approx(-1.5)
    assert away.median_ssd_writes_ratio == pytest.approx(0.6)
    assert away.lowest_seed_gap_closed == pytest.approx(median([0.0, -0.06 / 0.3, -0.025 / 0.3]))
    assert (large.median_gap_closed, large.lowest_seed_gap_closed, large.highest_seed_gap_closed) == (None, None, None)
    found = Goals(rows=own, summary=[home, large, away])
    (tmp_path / "goals.json").write_text(found.model_dump_json())
    assert read_goals(tmp_path / "goals.json") == found
    (table,) = tables(found)
    assert [list(column.cells) for column in home_table(found).columns] == [
        ["trained"], ["a"], ["33.3\u00a0% (+10.0)"], [f"{NONE} (\u22129.5)"],
    ]  # fmt: skip
    assert table.row_count == 3
    assert list(table.columns[4].cells) == ["33.3\u00a0% [30.0, 36.7]", NONE, "\u22125.0\u00a0% [\u22128.3, \u22121.7]"]

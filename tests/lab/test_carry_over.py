import json
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.config.load import load_params
from cachezoo.contest.counting import first_access
from cachezoo.errors import CachezooError, TrainingError
from cachezoo.io import dump_json, write_json
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import simulate
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.zoo.reuse import fit
from lab.carry_over import run as stage
from lab.carry_over.document import ours, read_carry_over
from lab.carry_over.plot import draw, tables
from lab.carry_over.run import Left, Settings, Source, folds, measure, rows_of, sources_of
from tests.reuse_data import FIT, JUDGE, make_trace, part

ROOT = Path(__file__).resolve().parents[2]
PARAMS = load_params(ROOT / "params.yaml")
# The follower changes at the first hit more, so that it does not do what the forest's cache alone does.
EAGER = FIT.model.model_copy(update={"half_life": 0.5, "lead": 0.0, "price": 0.0, "head_start": 0.0})
TINY = Settings(EAGER, FIT.fit, ["alpha"], {}, {}, 1, JUDGE.judge)


class Recorder(Executor):
    """Runs each job at once, and notes it."""

    def __init__(self):
        self.jobs = []

    def submit(self, work, /, *args):
        self.jobs.append((work, args))
        future = Future()
        future.set_result(work(*args))
        return future


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Two programs in two set-ups, and a trace at home of the first."""
    folder, found = tmp_path_factory.mktemp("traces"), []
    names = [("one", "a"), ("one", "b"), ("one", ""), ("two", "a"), ("two", "b")]
    for seed, (program, setup) in enumerate(names, 11):
        trace, key = make_trace(2000 + 400 * seed, seed), f"{program}_{setup or 'home'}"
        write_trace(trace, folder / f"{key}.parquet", expand_pages(trace))
        found.append(Source(key, folder / f"{key}.parquet", program, setup))
    return found


@pytest.fixture(scope="module")
def measured(sources):
    recorder = Recorder()
    return measure(sources, TINY, recorder), recorder.jobs


def test_train_traces_alone_are_read_and_each_has_its_program():
    found = sources_of(Settings.of(PARAMS))
    corpus = {key: row for rows in PARAMS.data.corpus.values() for key, row in rows.items()}
    home = [key for name in PARAMS.data.page_categories for key in PARAMS.data.roles[name]["train"]]
    assert {source.key for source in found} == {*home, *(key for key, row in corpus.items() if row.role == "train")}
    assert all(source.setup for source in found if source.key in corpus)
    assert {source.program for source in found if not source.setup} == {"postgres", "nginx", "postmark", "dbench"}
    assert {source.program for source in found} >= {row.program for row in corpus.values() if row.role == "train"}


def test_nothing_of_what_is_left_out_is_fitted_on():
    found = sources_of(Settings.of(PARAMS))
    of = {source.key: source for source in found}
    left = folds(found)
    assert [fold.name for fold in left if fold.split == "set-up"] == ["a", "b"]
    assert len(left) == len({source.program for source in found}) + 2
    for fold in left:
        assert not set(fold.fitted) & set(fold.tested)
        assert len(fold.fitted) + len(fold.tested) == len(found)
        said = [of[key].program if fold.split == "program" else of[key].setup for key in fold.fitted]
        assert fold.name not in said
        assert {of[key].program if fold.split == "program" else of[key].setup for key in fold.tested} == {fold.name}
    assert all("web_train" in fold.fitted for fold in left if fold.split == "set-up")


def test_rows_are_those_that_the_stage_fit_reuse_draws(sources):
    corpus = {"alpha": {source.key: None for source in sources if source.setup}}
    for source in sources:
        whole = fit.Settings(FIT.model, FIT.fit, ["alpha"], {}, corpus, 1)
        want = fit.all_rows([stage.Prepared.read(source.key, source.path)], whole)
        assert len(want.target) == (350 if source.setup else 700)
        for own, other in zip(rows_of(source, replace(TINY, corpus=corpus)), want, strict=True):
            np.testing.assert_array_equal(own, other)


def test_each_fit_is_given_the_rows_of_its_fold_alone(sources, measured):
    fits = [args for work, args in measured[1] if work is stage.fit_fold]
    left = folds(sources)
    assert [(fold.split, fold.name) for fold in left] == [
        ("program", "one"), ("program", "two"), ("set-up", "a"), ("set-up", "b"),
    ]  # fmt: skip
    of = {source.key: source for source in sources}
    for fold, (rows, _) in zip(left, fits, strict=True):
        want = [rows_of(of[key], TINY) for key in fold.fitted]
        pairs = fit.pairs_of(fold.fitted, TINY)
        want += [stage.rows_in_turns(of[first], of[second], TINY) for first, second in pairs]
        assert {key for pair in pairs for key in pair} <= set(fold.fitted)
        np.testing.assert_array_equal(rows.inputs, np.concatenate([own.inputs for own in want]))
        np.testing.assert_array_equal(rows.target, np.concatenate([own.target for own in want]))
    assert [(fold.split, fold.left_out, tuple(fold.fitted)) for fold in measured[0].folds] == [
        (fold.split, fold.name, fold.fitted) for fold in left
    ]


def test_a_trace_is_run_with_the_fits_that_have_not_seen_it(sources, measured):
    left = folds(sources)
    learned = [stage.fit_fold(*args) for work, args in measured[1] if work is stage.fit_fold]
    for source, fits, _ in [args for work, args in measured[1] if work is stage.run]:
        want = [[one.text for one in learned[k]] for k, fold in enumerate(left) if source.key in fold.tested]
        assert [[one.text for one in fit] for fit in fits] == want
    assert [(row.split, row.left_out, row.trace) for row in measured[0].rows] == [
        (fold.split, fold.name, key) for fold in left for key in sorted(fold.tested)
    ]


def test_rivals_are_the_best_classic_and_the_one_that_the_fitted_traces_choose(sources, measured):
    ratios = {}
    for source in sources:
        trace = part(10, 1).read(source.key, source.path)
        capacity = capacity_pages(TINY.judge.capacity, trace.pages.n_pages)
        warmup = first_access(trace.pages)
        ratios[source.key] = {
            name: simulate(trace.trace, trace.pages, name, capacity, warmup).hit_ratio
            for name in (*classics(), OPTIMUM)
        }
    chosen = {}
    for fold in measured[0].folds:
        means = {name: sum(ratios[key][name] for key in fold.fitted) / len(fold.fitted) for name in classics()}
        assert means[fold.chosen] == pytest.approx(max(means.values()), abs=1e-12)
        chosen[fold.split, fold.left_out] = fold.chosen
    for row in measured[0].rows:
        own = ratios[row.trace]
        assert row.best_classic_hit_ratio == max(own[name] for name in classics()) == own[row.best_classic]
        assert row.chosen == chosen[row.split, row.left_out]
        assert (row.chosen_hit_ratio, row.optimum_hit_ratio) == (own[row.chosen], own[OPTIMUM])


def test_figures_of_a_trace_and_the_summary_are_those_of_a_naive_count(measured):
    found = measured[0]
    assert found.weight == 1000
    for one in found.summary:
        rows = [row for row in found.rows if row.split == one.split]
        means = [sum(getattr(row, one.way).hit_ratios) / 2 for row in rows]
        leads = [100 * (mean - row.best_classic_hit_ratio) for mean, row in zip(means, rows, strict=True)]
        rooms = [row.optimum_hit_ratio - row.best_classic_hit_ratio for row in rows]
        closed = [lead / 100 / room for lead, room in zip(leads, rooms, strict=True) if room >= 0.02]
        floors = [
            lead / 100 >= -0.01 - row.capacity / row.counted for lead, row in zip(leads, rows, strict=True)
        ]  # fmt: skip
        near = [mean - row.chosen_hit_ratio >= -0.005 for mean, row in zip(means, rows, strict=True)]
        assert one.traces == len(rows)
        assert one.median_gap_closed == pytest.approx(np.median(closed))
        assert one.lowest_gap_closed == pytest.approx(min(closed))
        assert (one.median_lead, one.lowest_lead) == (pytest.approx(np.median(leads)), pytest.approx(min(leads)))
        assert (one.above_floor, one.near_chosen) == (pytest.approx(np.mean(floors)), pytest.approx(np.mean(near)))
    assert [(one.split, one.way) for one in found.summary] == [
        (split, way) for split in ("program", "set-up") for way in ("alone", "followed")
    ]
    assert any(row.alone.hit_ratios != row.followed.hit_ratios for row in found.rows)


def test_ours_beside_classics():
    own = ours([0.30, 0.34], best=0.30, chosen=0.33, optimum=0.50, allowed=0.02)
    assert own.gap_closed == pytest.approx(0.1)
    assert own.gap_closed_sd == pytest.approx(np.std([0.0, 0.2], ddof=1))
    assert (own.lead, own.lead_over_chosen) == (pytest.approx(2), pytest.approx(-1))
    assert own.above_floor
    assert not own.near_chosen
    below = ours([0.2799], best=0.30, chosen=0.28, optimum=0.31, allowed=0.02)
    assert (below.gap_closed, below.gap_closed_sd, below.above_floor, below.near_chosen) == (None, None, False, True)


def test_no_figure_depends_on_how_many_jobs_run_at_once(sources, measured):
    with ThreadPoolExecutor(2) as pool:
        again = measure(sources, TINY, pool)
    assert dump_json(again.model_dump(mode="json")) == dump_json(measured[0].model_dump(mode="json"))


def test_traces_of_one_program_leave_nothing_to_fit_on(sources):
    home = [source for source in sources if not source.setup]
    assert folds(home) == []
    with pytest.raises(TrainingError, match="all of one program"):
        measure(home, TINY, Recorder())
    both = [home[0], home[0]._replace(key="other", program="other")]
    assert folds(both) == [
        Left("program", "one", ("other",), (home[0].key,)), Left("program", "other", (home[0].key,), ("other",)),
    ]  # fmt: skip


def test_traces_too_short_for_a_target_are_refused(tmp_path):
    short = []
    for seed, program in ((1, "one"), (2, "two")):
        trace = make_trace(3, seed)
        write_trace(trace, tmp_path / f"{program}.parquet", expand_pages(trace))
        short.append(Source(program, tmp_path / f"{program}.parquet", program, "a"))
    with pytest.raises(TrainingError, match="give longer train traces"):
        measure(short, TINY, Recorder())


def test_a_job_that_fails_ends_the_stage(sources, tmp_path):
    lost = sources[0]._replace(path=tmp_path / "lost.parquet")
    with ThreadPoolExecutor(1) as pool, pytest.raises(CachezooError, match=r"lost\.parquet"):
        measure([lost, *sources[1:]], TINY, pool)


def test_the_plot_has_the_same_bytes_twice_and_the_tables_every_trace(measured, tmp_path):
    found = measured[0]
    write_json(tmp_path / "carry_over.json", found.model_dump(mode="json"))
    read = read_carry_over(tmp_path / "carry_over.json")
    assert read == found
    for name, one in (("one.png", found), ("two.png", read)):
        draw(one, tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    each, short = tables(found)
    assert list(each.columns[1].cells) == [row.trace for row in found.rows]
    assert list(short.columns[1].cells) == ["alone", "with follower"] * 2
    assert json.loads((tmp_path / "carry_over.json").read_text())["folds"][0]["left_out"] == "one"

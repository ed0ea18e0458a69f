"""Baleen's figures: its arithmetic by hand, its cells through the stage's own functions, and its pictures."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.config.load import load_params
from cachezoo.flash_cache.modes import plain_modes
from cachezoo.flash_cache.policies import ACCEPT_ALL, BUDGETED
from cachezoo.flash_cache.problem import flash_problem
from cachezoo.kernels.write_budget import Controller
from cachezoo.questions.flash.bench import Bench
from cachezoo.traces.store import write_trace
from cachezoo.training.episodes import read_traces
from lab.baleen import plot
from lab.baleen import run as module
from lab.baleen.document import BALEEN, OPT, REJECTX, REJECTX_ALONE, size_for, spread
from lab.baleen.run import Cell, Settings, cells, do, job_of, measure
from tests.baleen_data import make_trace
from tests.lab.baleen_data import case, figure

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_case_s_shares_by_hand():
    one = case()
    assert one.is_base and not case(size=0.2).is_base and not case(taught="bytes").is_base
    assert one.peak_saved(REJECTX_ALONE) == pytest.approx([0.25, 1 - 1.515 / 2])
    assert one.mean_saved(REJECTX) == pytest.approx([1 - 1.5 / 1.8, 1 - 1.515 / 1.8])
    assert one.mean_closed == pytest.approx((1.8 - 1.5075) / (1.8 - 1.2)) == one.peak_closed
    assert case(opt=1.79).mean_closed is None
    assert one.kept == 0 and case(writes=0.2).kept == pytest.approx(0.2)
    assert spread([1.0]) == 0 and spread([1.0, 3.0]) == pytest.approx(2**0.5 / 2**0.5)


def naive_size(sizes, peaks, wanted):
    """By tiny steps between sizes, on the least peak so far."""
    best = float("inf")
    for place, (size, peak) in enumerate(zip(sizes, peaks, strict=True)):
        before, best = best, min(best, peak)
        if best <= wanted:
            if place == 0:
                return size
            for step in np.linspace(0, 1, 20_001):
                if before + step * (best - before) <= wanted:
                    return sizes[place - 1] * (size / sizes[place - 1]) ** step
    return None


@given(st.lists(st.floats(0.5, 5), min_size=1, max_size=6), st.floats(0.5, 5))
def test_the_size_that_a_load_needs_is_the_naive_one(peaks, wanted):
    sizes = [0.01 * 2**k for k in range(len(peaks))]
    found, naive = size_for(sizes, peaks, wanted), naive_size(sizes, peaks, wanted)
    assert (found is None) == (naive is None)
    if naive is not None:
        assert found == pytest.approx(naive, rel=1e-3)
        assert sizes[0] <= found <= sizes[-1]


def test_the_cache_that_is_saved():
    own = figure(case(size=0.025, scale=1.5), case(size=0.05), case())
    assert own.smaller("web_test", REJECTX_ALONE) == pytest.approx(
        1 - size_for([0.025, 0.05, 0.1], [4.5225, 3.015, 3.015], 4.0) / 0.1
    )
    assert own.smaller("web_test", OPT) is None


def test_claims_are_judged_of_all_traces_and_of_what_is_there():
    found = figure(
        case(), case("mail_test", baleen=1.9), case(size=0.4, scale=0.5), case(budget=0.5),
        case(taught="I/Os", baleen=1.6),
    )  # fmt: skip
    said = {f"{one.claim}": one for one in found.findings}
    first = next(
        one for claim, one in said.items() if claim.startswith("Fig. 5: the peak is 11.8 % lower than RejectX")
    )
    saved = [np.mean(one.peak_saved(REJECTX_ALONE)) for one in found.base]
    assert first.ours == pytest.approx(np.mean(saved)) and first.spread > 0
    hits = next(one for claim, one in said.items() if "trained for I/O hits" in claim)
    assert hits.ours == pytest.approx(1.6 / 1.5 - 1) and hits.verdict == "holds"
    assert next(one for claim, one in said.items() if "ML-Range" in claim).verdict == "not comparable"
    fetched = next(one for claim, one in said.items() if claim.startswith("Prefetch: with it"))
    assert fetched.ours == pytest.approx(1 - 3.015 / 3.0)
    poor = next(one for claim, one in said.items() if "poor admission" in claim)
    assert poor.ours == pytest.approx(4.2 / 3.5 - 1)
    four = next(one for claim, one in said.items() if "four times" in claim)
    assert four.ours == pytest.approx(2.0 * 0.5 / 1.5075)
    none = figure(case(), modes=[])
    assert {one.verdict for one in none.findings if one.claim.startswith("Prefetch")} == {"not comparable"}


def test_figures_are_drawn_and_the_same_again(tmp_path):
    found = figure(case(), case("mail_test"), case(size=0.2), case(budget=0.5), case(taught="bytes", baleen=1.7))
    for draw in (plot.draw_sweep, plot.draw_traces, plot.draw_ablations, plot.draw_traces):
        path = tmp_path / f"{draw.__name__}.png"
        before = path.read_bytes() if path.exists() else b""
        draw(found, path)
        assert path.read_bytes().startswith(PNG) and before in (b"", path.read_bytes())
    sweep, modes = plot.tables(found)
    assert len(sweep.rows) == len(found.cases) and len(modes.rows) == len(found.modes)


def test_budgets_and_ablations_are_of_one_size_alone():
    found = cells(["mail", "web"])
    assert len(found) == len(set(found)) == len({cell.key for cell in found})
    own = [cell for cell in found if cell.category == "web"]
    assert [cell.capacity_fraction for cell in own] == list(module.SIZES)
    varied = [cell for cell in own if cell.budgets != (module.BUDGET,) or cell.lessons != (module.DISK_TIME,)]
    assert [(cell.capacity_fraction, cell.budgets, cell.lessons) for cell in varied] == [
        (module.SIZE, module.BUDGETS, tuple(module.LESSONS))
    ]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A category of three short traces, and two trainings."""
    params = load_params()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "SEEDS", 2)
    roles = {role: [f"web_{role}"] for role in ("train", "validation", "test")}
    for seed, keys in enumerate(roles.values()):
        path = tmp_path / f"data/requests/web/{keys[0]}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_trace(make_trace(1500, seed, keys[0]), path)
    return replace(Settings.of(params), roles={"web": roles})


def test_a_cell_is_chosen_on_validation_and_its_rivals_are_under_the_same_controller(project):
    (one,) = measure(Cell("web", 0.2), project).cases
    assert (one.trace, one.capacity_fraction, one.write_budget, one.taught) == ("web_test", 0.2, 0.25, "disk time")
    assert {run.policy for run in one.runs} == {BALEEN, REJECTX_ALONE, OPT, one.best_policy, *BUDGETED}
    assert all(len(run.mean_dt) == 2 for run in one.runs)
    ours = one.run(BALEEN)
    for wrote, allowed in zip(one.run(OPT).writes, ours.writes, strict=True):
        assert wrote <= allowed * 1.1  # it admits whole episodes, and the next above where none is near
    rival = one.run(one.best_policy)
    own = module.evaluation(Cell("web", 0.2), project)
    trace = read_traces("web", ["web_test"])[0][0].trace
    bench = Bench(trace, flash_problem(trace, own.label, own.flash), own.flash, own.seed)
    for run in (rival, one.run(REJECTX)):
        shipped = bench.plain(run.policy, run.prefetch[0], Controller()).shipped(bench.problem)
        row = bench.row(shipped, run.prefetch[0])
        assert run.mean_dt == 2 * [row.read_dt.mean] and run.writes == 2 * [row.writes_of_accept_all]
    assert one.saved == pytest.approx(np.mean([1 - a / b for a, b in zip(ours.mean_dt, rival.mean_dt, strict=True)]))
    assert one.run(OPT).mean_dt[0] <= ours.mean_dt[0] * 1.05


def test_the_base_has_every_budget_another_cost_s_labels_and_every_plain_mode(project):
    done = measure(Cell("web"), project)
    points = [(budget, "disk time") for budget in module.BUDGETS]
    points[3:3] = [(module.BUDGET, taught) for taught in module.LESSONS if taught != "disk time"]
    assert [(one.write_budget, one.taught) for one in done.cases] == points
    (base,) = [one for one in done.cases if one.is_base]
    assert {one.policy for one in done.modes} == {BALEEN, ACCEPT_ALL, *BUDGETED}
    modes = set(plain_modes(64))
    ours = {one.mode: one for one in done.modes if one.policy == BALEEN}
    assert set(ours) == modes and all(len(one.mean_dt) == 2 for one in ours.values())
    for place, mode in enumerate(base.run(BALEEN).prefetch):  # the one that was chosen is the case's own run
        assert ours[mode].mean_dt[place] == base.run(BALEEN).mean_dt[place]
        assert ours[mode].peak_dt[place] == base.run(BALEEN).peak_dt[place]


def test_a_cell_that_is_done_is_not_done_again(project, monkeypatch):
    cell = Cell("web", 0.2)
    first = do(cell, project)
    monkeypatch.setattr(module, "measure", None)
    assert do(cell, project) == first
    others = [(Cell("web"), project), (cell, replace(project, seed=project.seed + 1))]
    assert len({job_of(*one).digest(module.Hashes()) for one in [(cell, project), *others]}) == 3
    (module.DONE / f"{cell.key}.json").unlink()
    assert do(cell, project) == first


def test_a_sweep_that_was_interrupted_goes_on_and_is_in_order(project, monkeypatch):
    monkeypatch.setattr(module, "SIZES", (0.05, 0.1))
    monkeypatch.setattr(module, "BUDGETS", (0.25,))
    monkeypatch.setattr(module.Settings, "of", classmethod(lambda _, params: params))
    measured, whole = [], module.measure

    def stopped(cell, settings):
        measured.append(cell.capacity_fraction)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return whole(cell, settings)

    monkeypatch.setattr(module, "measure", stopped)
    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        module.baleen(project, pool)
    with ThreadPoolExecutor(1) as pool:
        found = module.baleen(project, pool)
    assert measured == [0.1, 0.05, 0.05]  # the longest first, and once
    assert [case.capacity_fraction for case in found.cases] == [0.05, 0.1, 0.1, 0.1]
    assert found.sizes == [0.05, 0.1] and found.seeds == 2 and found.findings


def test_what_opt_is_taught_changes_its_labels_alone(project):
    own = module.evaluation(Cell("web"), project)
    trace = make_trace(2000, 3)
    problem = flash_problem(trace, own.label, own.flash)
    for taught, lesson in module.LESSONS.items():
        other = flash_problem(trace, own.label, own.flash.model_copy(update=dict(lesson)))
        seconds = other.dt_seconds(other.accept_all)
        ios = problem.accept_all.io_segments
        if taught == "I/Os":
            assert seconds[ios > 0] == pytest.approx(own.flash.seek_ms / 1e3)
        if taught == "bytes":
            rate = own.flash.rate_mib_s * 2**20
            assert seconds == pytest.approx(ios * own.label.segment_bytes / rate, rel=1e-3, abs=1e-8)

"""The first day trains, the rest judges: nothing that is chosen has seen the rest."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.config.load import load_params
from cachezoo.contest.counting import SECOND_HALF
from cachezoo.contest.lead import saving
from cachezoo.errors import TraceError
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.questions.flash.options import BALEEN, BLOCKS, POLICIES, FlashOptions, WriteRate
from cachezoo.questions.flash.protocol import (
    OPT,
    REJECTX,
    REJECTX_ALONE,
    Days,
    Judged,
    first_day,
    fit_and_judge,
    label_of,
    settings_of,
)
from cachezoo.sizes import Size
from tests.baleen_data import make_trace, rewritten_after

ROOT = Path(__file__).resolve().parents[4]
OPTIONS = FlashOptions([Size.parse("10%")], [], POLICIES, count=SECOND_HALF)
RATE = WriteRate("25%", None, 0.25)
SEEDS = (3, 4)
TRACE = make_trace(24_000, 5)
DAYS = first_day(TRACE)


@pytest.fixture(scope="module")
def judged() -> Judged:
    return fit_and_judge(DAYS, BLOCKS, OPTIONS, RATE, SEEDS)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=40), st.floats(0.5, 5), st.integers(0, 30))
def test_the_first_day_is_a_day_or_half_of_the_trace(hours: list[int], days: float, least: int) -> None:
    n = 8 + len(hours)
    trace = replace(make_trace(n, 1), op=np.zeros(n, np.uint8), time_us=np.cumsum([0] * 8 + hours) * 3_600_000_000)
    within = max(least, int((trace.time_us < days * 86_400e6).sum()))
    try:
        found = first_day(trace, days, least)
    except TraceError:
        assert min(within, n // 2) < 4  # a quarter of it is none
        return
    parts = (found.train, found.validation, found.test)
    assert len(found.first) == min(within, n // 2) == len(found.train) + len(found.validation)
    assert np.concatenate([part.offset for part in parts]).tolist() == trace.offset.tolist()
    assert len(found.validation) == len(found.first) // 4 and not any(part.time_us[0] for part in parts)


def test_a_recorded_day_may_be_shorter_by_the_clock() -> None:
    trace = replace(TRACE, op=np.zeros(len(TRACE), np.uint8))
    meta = replace(trace.meta, extra={"time_scale": "86400"})
    second = int((trace.time_us < trace.time_us[0] + 1e6).sum())
    assert len(first_day(replace(trace, meta=meta), least=0).first) == second < len(trace) // 2


def test_a_part_without_reads_is_refused() -> None:
    with pytest.raises(TraceError, match="too few reads"):
        first_day(replace(TRACE, op=np.ones(len(TRACE), np.uint8)))


def test_settings_are_those_of_the_project() -> None:
    params = load_params(ROOT / "params.yaml")
    own = settings_of(Geometry(), params.seed)
    assert (own.history, own.seed) == (params.features.history, params.seed)
    assert own.model == params.model.admission and own.fit == params.fit.admission
    beside = {"geometry", "cache_fraction", "write_budget"}
    assert label_of(Geometry()).model_dump(exclude=beside) == params.label.episodes.model_dump(exclude=beside)


def test_the_cache_is_a_share_of_the_first_day(judged: Judged) -> None:
    first = DAYS.first
    segments = expand_segments(first.volume.codes, first.offset, first.size, BLOCKS).n_segments
    assert judged.capacity == round(0.1 * segments)


def test_every_policy_runs_on_the_test_part(judged: Judged) -> None:
    assert set(judged.rivals) == {judged.best, REJECTX, REJECTX_ALONE, OPT}
    assert judged.rivals[REJECTX_ALONE].row.prefetch == "none"
    assert [one.seed for one in judged.trainings] == list(SEEDS)
    assert {row.policy for row in judged.rows} >= {BALEEN, OPT, REJECTX}
    limit = 0.25 * 1.0001
    for run in (*judged.rivals.values(), *(one.at_limit for one in judged.trainings)):
        assert run.row.writes_of_accept_all <= limit
    for one in judged.trainings:
        assert set(one.rivals) == set(judged.rivals) - {OPT} and one.rivals == judged.trainings[0].rivals
        assert all(run.row.as_shipped for run in (one.trained, *one.rivals.values()))
        assert one.trained.row.prefetch == one.mode == one.at_limit.row.prefetch


def test_savings_are_of_the_mean_load(judged: Judged) -> None:
    pairs = [(one.trained, one.rivals[judged.best]) for one in judged.trainings]
    each = [1 - ours.row.read_dt.mean / theirs.row.read_dt.mean for ours, theirs in pairs]
    found = judged.saved()
    assert found.value == pytest.approx(np.mean(each))
    assert found.low is not None and found.high is not None and found.low < found.value < found.high
    lone = replace(judged, trainings=judged.trainings[:1]).saved()
    alone = saving(pairs[0][0].curve, pairs[0][1].curve)
    assert lone.ends == pytest.approx(alone.ends)
    closed = judged.gap_closed(REJECTX)
    bound, rival = (judged.rivals[name].row.read_dt.mean for name in (OPT, REJECTX))
    assert closed == pytest.approx(
        [(rival - one.at_limit.row.read_dt.mean) / (rival - bound) for one in judged.trainings]
    )


def test_nothing_that_is_chosen_has_seen_the_rest(judged: Judged) -> None:
    other = rewritten_after(TRACE, len(TRACE) // 2)
    test = first_day(other).test
    assert test.offset.tolist() != DAYS.test.offset.tolist()
    found = fit_and_judge(Days(DAYS.first, DAYS.train, DAYS.validation, test), BLOCKS, OPTIONS, RATE, SEEDS[:1])
    ours, theirs = found.trainings[0], judged.trainings[0]
    assert (ours.mode, ours.threshold, ours.trees) == (theirs.mode, theirs.threshold, theirs.trees)
    assert (found.best, found.capacity, found.eviction_age) == (judged.best, judged.capacity, judged.eviction_age)
    assert {name: run.row.prefetch for name, run in found.rivals.items() if name != OPT} == {
        name: run.row.prefetch for name, run in judged.rivals.items() if name != OPT
    }

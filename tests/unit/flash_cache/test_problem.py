from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.flash_cache.problem import flash_problem, label_of, meet_budget
from cachezoo.kernels.flash import WriteRate, simulate_controlled, simulate_controlled_rejectx
from cachezoo.kernels.write_budget import Controller
from cachezoo.settings.flash import EpisodeLabel
from tests.baleen_data import FLASH, LABEL, make_trace


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(1, 3000), st.integers(-1, 250))
def test_meets_the_budget_or_stays_below(steps: list[int], budget: int, guess: int) -> None:
    writes = [0]
    for step in steps:
        writes.append(writes[-1] + step)
    found = meet_budget(writes.__getitem__, len(steps), budget, 0.025, guess)
    assert writes[found.index] == found.writes
    within = [abs(w - budget) <= 0.025 * budget for w in writes]
    assert found.reached == within[found.index]
    if not found.reached:
        assert not any(within)
        assert found.writes == max(w for w in writes if w <= budget)
        above = meet_budget(writes.__getitem__, len(steps), budget, 0.025, guess, at_least=True)
        assert above.writes == min((w for w in writes if w > budget), default=found.writes)


CONF = Path(__file__).parents[3] / "conf"


def test_a_category_may_have_its_own_geometry() -> None:
    label = EpisodeLabel.model_validate(yaml.safe_load((CONF / "label/episodes.yaml").read_text(encoding="utf-8")))
    blob = label_of(label, "blob")
    assert (blob.block_bytes, blob.segment_bytes) == (8 << 20, 128 << 10)
    assert blob.model_copy(update={"block_bytes": label.block_bytes, "segment_bytes": label.segment_bytes}) == label
    assert label_of(label, "web") is label


@pytest.mark.parametrize(("scale", "horizons"), [("1", 96.0), ("36000", 200.0)])
def test_a_horizon_is_of_recorded_time_and_shorter_on_short_traces(scale: str, horizons: float) -> None:
    trace = make_trace(6000, 4)
    trace = replace(trace, meta=replace(trace.meta, extra={"time_scale": scale}))
    problem, span = flash_problem(trace, LABEL, FLASH), float(trace.time_us[-1] - trace.time_us[0])
    controller = Controller(step_misses=8, horizon_s=span / 1e6 * float(scale) / 200 if scale != "1" else 1e9)
    rate = WriteRate(problem.budget / span, span / horizons, trace.time_us)
    scores = np.random.default_rng(6).normal(size=6000)
    ours = problem.run_controlled(scores, 0.5, controller)
    want = simulate_controlled(problem.accesses, problem.read, scores, 0.5, controller, rate, problem.capacity)
    np.testing.assert_allclose(ours.thresholds, want.thresholds, rtol=1e-9)
    plain = problem.run_controlled_rejectx(controller)
    direct = simulate_controlled_rejectx(problem.accesses, problem.read, controller, rate, problem.capacity)
    assert plain.segment_writes == direct.segment_writes

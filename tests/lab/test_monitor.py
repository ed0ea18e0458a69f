import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.questions.page.monitored import monitor_plan
from cachezoo.serving.requests import batch_of
from cachezoo.zoo.caching.switching import ALL_ENTER, ALL_PASS
from cachezoo.zoo.workload.serve import WorkloadServing
from lab.reconfigure.monitor import delays, loading_plan, watch
from lab.reconfigure.streams import Phase
from tests.lab.changing_data import CLASSES, VOTE_WINDOWS, WINDOW, monitor, stream
from tests.oracles.workload import naive_looked_at

VOTE = WINDOW * VOTE_WINDOWS
CODES = st.lists(st.integers(-2, 2), max_size=40)


def codes(values):
    return np.array(values, np.int32)


def naive_loading(plan, times, load_us):
    out, held, loading, ready = [], None, None, 0
    for who, now in zip(plan, times, strict=True):
        if who != loading:
            loading = None
        if who >= 0 and who != held and loading is None:
            held, loading, ready = None, who, now + load_us
        if loading is not None and now >= ready:
            held, loading = who, None
        out.append(ALL_PASS if loading is not None else who)
    return out


@given(CODES.map(lambda values: [max(value, -1) for value in values]), st.integers(0, 30), st.integers(0, 9))
def test_a_model_is_loaded_before_it_decides(values, load_us, seed):
    times = np.cumsum(np.random.default_rng(seed).integers(0, 8, len(values)))
    found = loading_plan(codes(values), times, load_us)
    assert found.tolist() == naive_loading(values, times.tolist(), load_us)


def test_loading_by_hand():
    plan, times = codes([-1, 0, 0, 0, -1, 0, 1, 1, 0, 0]), np.arange(10) * 10
    found = loading_plan(plan, times, 20)
    # The first stays in memory while nobody decides; the second is not there in time, but has taken its place.
    assert found.tolist() == [-1, -2, -2, 0, -1, 0, -2, -2, -2, -2]
    assert loading_plan(plan, times, 0).tolist() == plan.tolist()
    assert plan.tolist() == [-1, 0, 0, 0, -1, 0, 1, 1, 0, 0]
    with pytest.raises(ConfigError, match="load_us -1: a model takes 0 µs or more to load"):
        loading_plan(plan, times, -1)


def test_delays_are_counted_from_each_change_to_the_next():
    phases = [Phase("a", "a", 0, 3), Phase("b", "b", 3, 6), Phase("a", "a", 6, 9), Phase("b", "b", 9, 12)]
    truth = codes([0] * 3 + [1] * 3 + [0] * 3 + [1] * 3)
    assert delays(codes([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0]), phases, truth) == [2, None, 0]
    assert delays(truth, phases, truth) == [0, 0, 0]


@pytest.mark.parametrize(("switch_votes", "requests"), [(1, 300), (2, 300), (3, 300), (2, 310)])
def test_the_monitor_switches_after_so_many_votes(switch_votes, requests):
    made = stream(requests, 2)
    truth = made.codes(CLASSES)
    seen = watch(monitor(switch_votes), batch_of(made.trace), truth)
    assert seen.votes == len(truth) // VOTE
    assert (seen.wrong, seen.unknown) == (0, 0)
    assert (seen.in_force[:VOTE] == -1).all() and (seen.in_force[VOTE:] >= 0).all()
    plan = monitor_plan(seen.in_force, "keep")
    found = delays(plan, made.phases, truth)
    assert len(found) == 3
    if requests % VOTE == 0:
        assert found == [switch_votes * VOTE] * 3
    # A change within a vote is counted from that vote on only where the new workload issued most of it.
    assert all((switch_votes - 0.5) * VOTE <= delay <= (switch_votes + 0.5) * VOTE for delay in found)


def test_votes_with_pauses_are_judged_by_the_requests_that_they_are_of():
    made = stream(310, 2)
    truth, batch = made.codes(CLASSES), batch_of(made.trace)
    pause_s = int(batch.time_us[2 * VOTE] - batch.time_us[0]) // 1_000_000 + 1
    seen, steady = (watch(monitor(1), batch, truth, every_s) for every_s in (pause_s, 0))
    places = naive_looked_at(batch.time_us.tolist(), VOTE, pause_s)
    assert VOTE < len(places) < len(truth) == steady.looked_at * len(truth)
    assert seen.looked_at == len(places) / len(truth) and seen.votes == len(places) // VOTE
    assert (seen.wrong, seen.unknown) == (0, 0)
    late, soon = (delays(monitor_plan(one.in_force, "keep"), made.phases, truth) for one in (seen, steady))
    assert late != soon
    swapped = watch(monitor(1), batch, 1 - truth, pause_s)
    assert swapped.wrong == swapped.votes == seen.votes


def test_wrong_votes_are_for_a_category_that_issued_less_of_them():
    made = stream(300)
    truth = made.codes(CLASSES)
    swapped = watch(monitor(), batch_of(made.trace), 1 - truth)
    assert (swapped.votes, swapped.wrong, swapped.unknown) == (20, 20, 0)
    truth[: VOTE // 3] = 1
    assert watch(monitor(), batch_of(made.trace), truth).wrong == 0
    truth[: VOTE - VOTE // 3] = 1
    assert watch(monitor(), batch_of(made.trace), truth).wrong == 1


def test_unknown_votes_are_not_wrong_ones():
    made, own = stream(300), monitor()
    inputs = 2 * len(own._features)
    whitening = [[0.0] * place + [1.0] for place in range(inputs)]
    known = {"known": [{"trace": "far", "mean": [9.0] * inputs, "whitening": whitening}]}
    strange = WorkloadServing(
        own._features,
        {"classes": list(CLASSES), "window": WINDOW, "clip": 6.0, "vote_windows": VOTE_WINDOWS, "switch_votes": 1,
         "unknown_above": {"window": 1.0, "vote": 1.0}},
        known, {"page_bytes": 4096}, own._infer,
    )  # fmt: skip
    seen = watch(strange, batch_of(made.trace), made.codes(CLASSES))
    assert (seen.votes, seen.wrong, seen.unknown) == (20, 0, 20)
    assert (monitor_plan(seen.in_force, "keep") == ALL_ENTER).all()

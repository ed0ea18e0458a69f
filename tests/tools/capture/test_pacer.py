"""Visits of the mail workload, and the pacer on programs that only read."""

import fcntl
import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.replay_data import settle
from tests.tracing import unwaited
from tools.capture.clients import pacer
from tools.capture.programs.postmark import domains_of, shares, visits_of
from tools.capture.recipe import RECIPES, load_recipe
from tools.capture.schedule import Segment, build_schedule

RECIPE = load_recipe(RECIPES / "mail_tiny.yaml")
LOAD = RECIPE.load
SEGMENT = Segment(index=3, start_s=15, seconds=20, rate=2000.0, elapsed_days=0.4, seed=11)
READER = "import os, time\nwhile os.read(0, 1):\n time.sleep(0.0005)"


def paced(**changes):
    return LOAD.model_copy(update={"paced": LOAD.paced.model_copy(update=changes)})


def test_domains_are_a_function_of_load_and_seed():
    load = LOAD.model_copy(update={"domains": 40, "messages": 20_000})
    made = domains_of(load, 5)
    assert made == domains_of(load, 5) != domains_of(load, 6)
    assert len(made) == 40
    assert 19_900 < sum(row["messages"] for row in made) <= 20_400
    assert len({row["messages"] for row in made}) > 20
    assert all(256 <= row["low"] < row["high"] for row in made)
    assert {row["read_bias"] for row in made} == {load.read_bias - 1, load.read_bias, load.read_bias + 1}
    assert sum(row["create_bias"] == -1 for row in made) == round(40 * load.archives)
    mean = np.mean([(row["low"] + row["high"]) / 2 for row in made])
    assert mean == pytest.approx(load.mean_kib * 1024, rel=0.35)


def test_as_much_mail_may_go_as_comes():
    biases = [
        {row["create_bias"] for row in domains_of(LOAD.model_copy(update={"arriving": arriving}), 5)}
        for arriving in (None, 5)
    ]
    assert biases == [{-1, 6}, {-1, 5}]


def test_shares_are_skewed_and_drift_from_day_to_day():
    load = paced(hours=0.0).model_copy(update={"domains": 30})
    first = shares(load, 5, 0.0)
    assert first.sum() == pytest.approx(1)
    wanted = np.arange(1, 31) ** -load.paced.theta
    assert np.sort(first)[::-1] == pytest.approx(wanted / wanted.sum())
    # A whole number of ranks a day: the same shares, each domain's `drift` ranks on.
    later = shares(load, 5, 1.0)
    order, moved = np.argsort(-first), np.argsort(-later)
    assert np.roll(order, -int(load.paced.drift)).tolist() == moved.tolist()
    assert np.array_equal(shares(load, 5, 30 / load.paced.drift), first)


def test_domains_have_hours_of_their_own():
    load = paced(theta=0.0, drift=0.0, hours=0.5)
    noon, midnight = shares(load, 5, 0.5), shares(load, 5, 0.0)
    assert not np.allclose(noon, midnight)
    assert noon.max() / noon.min() <= 3.0 + 1e-9
    assert shares(load, 5, 1.5) == pytest.approx(noon)


def test_visits_follow_rate_and_shares():
    visits = visits_of(LOAD, 5, SEGMENT)
    assert visits == visits_of(LOAD, 5, SEGMENT)
    assert visits != visits_of(LOAD, 5, replace(SEGMENT, seed=12))
    times = [row[0] for row in visits]
    assert times == sorted(times) and 0 <= times[0] and times[-1] < SEGMENT.seconds
    calls = sum(row[2] for row in visits)
    assert calls == pytest.approx(SEGMENT.rate * SEGMENT.seconds, rel=0.2)
    twice = visits_of(LOAD, 5, replace(SEGMENT, rate=2 * SEGMENT.rate))
    assert sum(row[2] for row in twice) == pytest.approx(2 * calls, rel=0.25)
    counts = Counter(row[1] for row in visits)
    wanted = shares(LOAD, 5, SEGMENT.elapsed_days) * len(visits)
    assert all(abs(counts[domain] - wanted[domain]) < 4 * wanted[domain] ** 0.5 for domain in range(LOAD.domains))


def test_calls_of_the_segments_follow_the_schedule():
    schedule = build_schedule(RECIPE.schedule.model_copy(update={"day_s": 60, "segment_s": 5}), RECIPE.seed)
    due = np.array([sum(row[2] for row in visits_of(LOAD, RECIPE.seed, part)) for part in schedule.segments])
    rates = np.array([part.rate * part.seconds for part in schedule.segments])
    assert np.corrcoef(due, rates)[0, 1] > 0.9
    assert due.max() / due.mean() >= 1.8


def state_of(process):
    return Path("/proc", str(process.pid), "stat").read_text().rsplit(")", 1)[1].split()[0]


@pytest.fixture
def readers():
    """Two programs that read a byte every half a millisecond, stopped."""
    with Path("/dev/zero").open("rb") as zero:
        made = [subprocess.Popen([sys.executable, "-c", READER], stdin=zero) for _ in range(2)]
    for process in made:
        first = pacer.calls_made(process.pid)
        assert settle(lambda process=process, first=first: pacer.calls_made(process.pid) > first + 200)
        process.send_signal(pacer.signal.SIGSTOP)
    assert all(stopped(process) for process in made)
    yield made
    for process in made:
        process.kill()
        process.wait()


def stopped(process):
    """A signal takes a moment to be heard."""
    return settle(lambda: state_of(process) == "T")


def play(processes, visits, allowed, seconds=1.0):
    """Play visits by a clock that goes on only while no program runs, so that all of them make their calls."""
    moment = [0.0]

    def sleep(wanted):
        if wanted == pacer.IDLE_S:
            moment[0] += wanted
        else:
            time.sleep(wanted)

    plan = {"pids": [process.pid for process in processes], "seconds": seconds, "visits": visits}
    return pacer.pace(plan, allowed, seconds, lambda: moment[0], sleep)


def test_programs_make_the_calls_they_are_allowed(readers):
    before = [pacer.calls_made(process.pid) for process in readers]
    played, report = play(readers, [[0.05, 0, 60], [0.2, 1, 10], [0.3, 0, 60]], [])
    assert all(stopped(process) for process in readers)
    made = [calls - first for calls, first in zip(played.made, before, strict=True)]
    assert report == {"due": 130, "made": sum(made), "owed": 0}
    assert made[0] >= 120 and made[1] >= 10
    # What was made too much is taken from the next visit: it asks for no more than was made already.
    assert played.allowed == [before[0] + 120, before[1] + 10]
    behind = [pacer.calls_made(readers[0].pid), played.allowed[1] - 1000]
    assert play(readers, [[0.0, 1, 500]], behind)[1] == {"due": 500, "made": 0, "owed": 0}


def test_a_program_runs_from_its_visit_to_the_first_look_after_its_calls(monkeypatch):
    """Programs of the test's own: each makes three calls between two looks, if it runs."""
    made, running, sent = {1: 100, 2: 200}, {1: False, 2: False}, []

    def calls_made(pid):
        made[pid] += 3 * running[pid]
        return made[pid]

    def kill(pid, number):
        running[pid] = number == pacer.signal.SIGCONT
        sent.append((pid, number, made[pid]))

    monkeypatch.setattr(pacer, "calls_made", calls_made)
    monkeypatch.setattr(pacer.os, "kill", kill)
    clock = unwaited()
    plan = {"pids": [1, 2], "seconds": 10.0, "visits": [[1.0, 0, 7], [2.0, 1, 3], [3.0, 0, 3]]}
    played, report = pacer.pace(plan, [], 10.0, clock.now, clock.sleep)
    go, halt = pacer.signal.SIGCONT, pacer.signal.SIGSTOP
    # Nine for seven, so that one is left of three, for which it makes three more.
    assert sent == [(1, go, 100), (1, halt, 109), (2, go, 200), (2, halt, 203), (1, go, 109), (1, halt, 112)]
    assert (played.allowed, played.made) == ([110, 203], [112, 203])
    assert report == {"due": 13, "made": 15, "owed": 0}
    assert clock.now() == pytest.approx(10, abs=0.01)


def test_what_is_not_made_in_time_is_owed(readers):
    plan = {"pids": [process.pid for process in readers], "seconds": 1.0, "visits": [[0.0, 0, 100_000]]}
    clock = unwaited()
    _, report = pacer.pace(plan, [], 1.0, clock.now, clock.sleep)
    assert report["owed"] == 100_000 - report["made"] > 0
    assert all(stopped(process) for process in readers)


def test_one_pacer_after_the_other(tmp_path, readers):
    """The second waits for the first, so that they do not continue what the other stops, and goes on from its state."""
    state, plan = tmp_path / "state", tmp_path / "plan"
    state.write_text("[]")
    pids = [process.pid for process in readers]
    made = [pacer.calls_made(pid) for pid in pids]
    plan.write_text(json.dumps({"state": str(state), "pids": pids, "seconds": 0.2, "visits": [[0.0, 1, 50]]}))
    with state.open("r+") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = subprocess.Popen([sys.executable, "-I", pacer.__file__, str(plan)], stdout=subprocess.PIPE)
        inode = f":{state.stat().st_ino} "
        assert settle(lambda: any("->" in line and inode in line for line in Path("/proc/locks").open()))
        assert all(state_of(process) == "T" for process in readers)
        json.dump([count + 7 for count in made], first)
    report = json.loads(second.communicate(timeout=120)[0])
    assert set(report) == {"due", "made", "owed"}
    due = 50 if report["due"] else 0  # none, where its time was over by then
    assert json.loads(state.read_text()) == [made[0] + 7, made[1] + 7 + due]
    assert all(stopped(process) for process in readers)


def test_a_program_that_ended_is_the_pacers_failure(tmp_path, readers):
    (tmp_path / "state").write_text("[]")
    readers[0].kill()
    readers[0].wait()
    with pytest.raises(OSError, match="No such file"):
        pacer.Pacer([process.pid for process in readers], [])

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import CaptureError, ConfigError
from tools.capture.loads import SECTIONS
from tools.capture.recipe import SchedulePlan, load_recipe, parse_recipe
from tools.capture.run import check_recipe
from tools.capture.schedule import build_schedule
from tools.capture.workloads import WORKLOADS, check_programs, workload_class

CONF = Path(__file__).resolve().parents[3] / "tools/capture/recipes"
RECIPES = sorted(CONF.glob("*.yaml"))
PLAN = {
    "days": 2,
    "day_s": 100,
    "segment_s": 5,
    "rate": 100,
    "amplitude": 0.6,
    "bursts": 2,
    "burst_factor": 2,
    "jobs": [{"kind": "late", "at": 0.9}, {"kind": "early", "at": 0.1}],
}


def recipe(**changes):
    return yaml.safe_load((CONF / "database_train.yaml").read_text()) | changes


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_committed_recipes_make_schedules_with_peaks_and_days(path):
    made = load_recipe(path)
    check_recipe(made)
    schedule = build_schedule(made.schedule, made.seed)
    assert schedule.peak_to_mean >= 2
    assert made.schedule.days >= 2
    assert schedule.seconds == made.schedule.days * made.schedule.day_s
    assert schedule.time_scale == 86_400 / made.schedule.day_s
    assert [job.start_s for job in schedule.jobs] == sorted(job.start_s for job in schedule.jobs)


def test_committed_recipes_have_seeds_of_their_own():
    seeds = [load_recipe(path).seed for path in RECIPES]
    assert len(set(seeds)) == len(seeds)


@given(
    st.integers(2, 4),
    st.integers(10, 40),
    st.floats(0.5, 0.9),
    st.integers(1, 4),
    st.floats(2.0, 4.0),
    st.integers(0, 1000),
)
def test_a_schedule_is_a_function_of_plan_and_seed(days, segments, amplitude, bursts, factor, seed):
    changes = {"days": days, "day_s": 5 * segments, "amplitude": amplitude, "bursts": bursts, "burst_factor": factor}
    plan = SchedulePlan.model_validate(PLAN | changes)
    try:
        schedule = build_schedule(plan, seed)
    except ConfigError as error:
        assert "peak" in str(error)
        return
    assert schedule == build_schedule(plan, seed)
    rates = [segment.rate for segment in schedule.segments]
    assert len(rates) == days * segments
    assert sum(rates) / len(rates) == pytest.approx(plan.rate)
    assert max(rates) >= 2 * plan.rate - 1e-9
    assert len({segment.seed for segment in schedule.segments}) == len(rates)
    assert [job.kind for job in schedule.jobs] == ["early", "late"] * days
    assert [segment.elapsed_days for segment in schedule.segments][::segments] == list(range(days))


def test_other_seeds_put_the_bursts_elsewhere():
    plan = SchedulePlan.model_validate(PLAN)
    assert build_schedule(plan, 1).segments != build_schedule(plan, 2).segments


def test_a_flat_schedule_is_refused():
    with pytest.raises(ConfigError, match="raise amplitude or burst_factor"):
        build_schedule(SchedulePlan.model_validate(PLAN | {"amplitude": 0.1, "bursts": 0}), 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nonsense": 1}, "nonsense: Extra inputs"),
        ({"workload": "nfs"}, "unknown workload 'nfs'"),
        ({"workload": "web"}, "needs the section web"),
        ({"seed": -1}, "seed: "),
        ({"schedule": PLAN | {"segment_s": 7}}, "whole segments"),
        ({"schedule": PLAN | {"days": 1}}, "schedule.days"),
        ({"database": {"scale": 1}}, "database.ledger_mib: Field required"),
    ],
)
def test_a_bad_recipe_is_named_in_one_line(tmp_path, changes, message):
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump(recipe(**changes)))
    with pytest.raises(ConfigError, match=message) as caught:
        load_recipe(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_files_that_hold_no_recipe(tmp_path):
    with pytest.raises(ConfigError, match="not readable"):
        load_recipe(tmp_path / "none.yaml")
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: [1\nb: 2")
    with pytest.raises(ConfigError, match="not readable as YAML") as caught:
        load_recipe(bad)
    assert "\n" not in str(caught.value)
    bad.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not readable"):
        load_recipe(bad)


def test_jobs_have_to_be_known_to_the_workload():
    made = parse_recipe(recipe(schedule=PLAN), "here")
    with pytest.raises(ConfigError, match="database knows no early, late; it has report, vacuum, batch"):
        check_recipe(made)


@pytest.mark.parametrize("seconds", [6, 20, 61, 600])
def test_a_recipe_of_another_duration(seconds):
    made = parse_recipe(recipe(), "here").lasting(seconds)
    schedule = build_schedule(made.schedule, made.seed)
    assert seconds * 0.7 <= schedule.seconds <= seconds
    assert schedule.peak_to_mean >= 2


def test_too_short_a_duration_is_refused():
    with pytest.raises(ConfigError, match="a duration of 3 s"):
        parse_recipe(recipe(), "here").lasting(3)


def test_registry_and_missing_packages(monkeypatch):
    assert set(WORKLOADS) == set(SECTIONS)
    with pytest.raises(ConfigError, match=f"unknown workload 'tape'; there are {', '.join(sorted(WORKLOADS))}"):
        workload_class("tape")
    monkeypatch.setattr("tools.capture.workloads.find_program", lambda name: None)
    with pytest.raises(CaptureError, match=r"apt-get install e2fsprogs mount nginx-light tar util-linux wrk$"):
        check_programs(WORKLOADS["web"])

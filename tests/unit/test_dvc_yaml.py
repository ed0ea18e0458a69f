"""dvc.yaml beside what the stages' jobs say that they read and write."""

import runpy
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from cachezoo.config.load import load_params
from cachezoo.kept import named

ROOT = Path(__file__).resolve().parents[2]
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
PARAMS = load_params(ROOT / "params.yaml")
MOST_STAGES, MOST_LOCK_BYTES = 80, 72 * 1024


TABLE = runpy.run_path(str(ROOT / "pipelines/stages.py"))["STAGES"]
EACH = {name: stage.each for name, stage in TABLE.items() if stage.each is not None}


def outs(stage):
    return [next(iter(out)) if isinstance(out, dict) else out for out in stage["outs"]]


def within(path, others):
    return any(f"{path}/".startswith(f"{other}/") for other in others)


@pytest.mark.parametrize("name", EACH)
def test_a_stage_names_all_that_its_jobs_read_and_write_and_no_more(name):
    jobs, stage = EACH[name].jobs(name, PARAMS), STAGES[name]
    assert jobs and len({job.key for job in jobs}) == len(jobs)
    reads, writes = ({str(path) for job in jobs for path in getattr(job, kind)} for kind in ("reads", "writes"))
    deps = [dep for dep in stage["deps"] if not dep.startswith(("data/sources/", "data/traces.json"))]
    # A category's metrics are of one kind of cache or of both: a job reads those that are there.
    optional = {path for path in reads if name == "export" and path.startswith("metrics/")}
    assert not [path for path in reads - optional if not within(path, deps)]
    assert not [dep for dep in deps if not any(within(path, [dep]) or within(dep, [path]) for path in reads)]
    assert not [path for path in writes if not within(path, outs(stage))]
    assert not [out for out in outs(stage) if not any(within(path, [out]) for path in writes)]


@pytest.mark.parametrize("name", EACH)
def test_a_stage_names_the_values_that_its_jobs_read(name):
    values, stage = {path for job in EACH[name].jobs(name, PARAMS) for path in job.values}, STAGES[name]
    own = {path for path in values if not path.startswith("data.")}
    assert (own == values) or "data/traces.json" in stage["deps"]  # which has data.*
    assert own == set(stage.get("params", ()))


def test_the_table_has_the_stages_and_what_it_names_is_there():
    assert set(TABLE) == set(STAGES)
    for name, stage in TABLE.items():
        assert callable(named(stage.main)), name
        assert all(map(import_module, stage.parts)), name
        assert stage.each is None or not stage.writes, name
        assert not stage.writes or within(stage.writes, outs(STAGES[name])), name


def test_two_jobs_write_no_file_of_each_other():
    jobs = [job for name, each in EACH.items() for job in each.jobs(name, PARAMS)]
    writes = [str(path) for job in jobs for path in job.writes]
    assert not [(one, two) for k, one in enumerate(writes) for two in writes[:k] if within(one, [two])]


def test_the_pipeline_is_one_that_a_person_can_look_through():
    assert len(STAGES) <= MOST_STAGES
    assert (ROOT / "dvc.lock").stat().st_size <= MOST_LOCK_BYTES
    locked = yaml.safe_load((ROOT / "dvc.lock").read_text())["stages"]
    assert set(locked) == set(STAGES)

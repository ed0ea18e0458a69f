import re

import numpy as np
import pytest

from cachezoo import paths
from cachezoo.contest.counting import first_access
from cachezoo.devices.responses import COLUMNS
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import CachezooError, TrainingError
from cachezoo.io import table_of, write_table
from cachezoo.models.trained import read_trained
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import simulate
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.zoo.caching.evaluate import evaluate_caching
from lab.rcrnn.sizes_run import Settings, caching_model, trace_runs
from tests.lstm_data import write_caching
from tests.rcrnn_data import make_trace

ARCH, KEY = "lstm1x8", "database_test"
SETTINGS = Settings(["database"], {"database": {"test": [KEY]}}, ARCH, [0.1, 0.2], 0.2, {"caching": 200.0})


@pytest.fixture
def trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = make_trace(900, 5, KEY)
    write_trace(made, paths.requests("database", KEY), expand_pages(made))
    times = {"t_hdd_us": np.full(len(made), 5000.0), "t_ssd_us": np.full(len(made), 100.0)}
    write_table(paths.responses("database", KEY), table_of(times, COLUMNS), {"cachezoo.trace_id": KEY})
    write_caching(make_trace(600, 6), paths.trained(f"caching.database.{ARCH}"))
    return made


def test_every_cache_runs_at_the_sizes_that_the_metrics_lack(trace):
    found = list(trace_runs("database", KEY, caching_model("database", SETTINGS), SETTINGS))
    assert SETTINGS.sizes == [0.1]
    assert [run.policy for run in found] == [*classics(), OPTIMUM, f"caching.database.{ARCH}"]
    assert {(run.trace, run.capacity_fraction) for run in found} == {(KEY, 0.1)}
    assert {run.kind for run in found[:-2]} == {"classic"} and [run.kind for run in found[-2:]] == ["bound", "model"]


def test_a_row_says_what_the_simulation_found(trace):
    found = {run.policy: run for run in trace_runs("database", KEY, caching_model("database", SETTINGS), SETTINGS)}
    pages = expand_pages(trace)
    capacity = capacity_pages(0.1, pages.n_pages)
    warmup = first_access(pages)
    lru = simulate(trace, pages, "lru", capacity, warmup)
    times = ServiceTimes.of(trace, np.full(len(trace), 5000.0), np.full(len(trace), 100.0))
    own = found["lru"]
    assert own.hit_ratio == lru.hit_ratio
    assert own.ssd_writes == pytest.approx(100 * lru.ssd_writes / lru.requests)
    assert own.replacements == pytest.approx(100 * lru.replacements / lru.requests)
    assert (own.response_us, own.decision_us) == (pytest.approx(lru.mean_response_us(times)), 0.0)
    model = found[f"caching.database.{ARCH}"]
    ran = evaluate_caching(paths.trained(f"caching.database.{ARCH}"), trace, pages, capacity)
    assert model.hit_ratio == pytest.approx(float((ran.outcomes.outcome[warmup:] == 2).mean()))
    assert model.decision_us == 200.0 and model.response_us > 200.0


def test_a_model_of_other_sizes_or_that_is_missing_is_named(trace):
    other = Settings(["database"], SETTINGS.roles, ARCH, [0.1, 0.3], 0.2, {"caching": 200.0})
    folder = re.escape(str(paths.trained(f"caching.database.{ARCH}")))
    with pytest.raises(TrainingError, match=f"^{folder}: was not trained for caches of 30 %; run `make repro`$"):
        caching_model("database", other)
    with pytest.raises(CachezooError, match=r"caching\.web\.lstm1x8: is missing; run `make repro`$"):
        caching_model("web", SETTINGS)
    assert read_trained(paths.trained(f"caching.database.{ARCH}")).calibration["capacities"] == [0.1]


def test_missing_response_times_are_named(trace):
    paths.responses("database", KEY).unlink()
    with pytest.raises(CachezooError, match=r"database_test\.parquet: is missing; run `make repro`$"):
        list(trace_runs("database", KEY, caching_model("database", SETTINGS), SETTINGS))

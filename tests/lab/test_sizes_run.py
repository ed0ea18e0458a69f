from dataclasses import replace

import numpy as np
import pytest

from cachezoo import paths
from cachezoo.contest.counting import first_access
from cachezoo.devices.responses import COLUMNS
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import CachezooError
from cachezoo.io import table_of, write_table
from cachezoo.kernels.oracle_cache import CACHED, CONSULTED, DURATION_SHIFT, FORCED, SETTLED
from cachezoo.labels.benefit import write_benefit_labels
from cachezoo.labels.tags import Tags
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import simulate
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.zoo.caching.evaluate import evaluate_caching
from cachezoo.zoo.caching.infer import serving_of, teacher_outputs
from cachezoo.zoo.caching.sequences import previous_tags
from lab.rcrnn.files import OURS, PAPER
from lab.rcrnn.sizes_run import Case, Contender, Settings, contenders, model_runs, named, policy_runs, taught_outputs
from tests.lstm_data import write_caching
from tests.rcrnn_data import FIT, JUDGE, fit_and_judge, make_part, make_trace

ARCH, KEY, SIZES = "lstm1x8", "database_test", [0.1, 0.2]
LABEL = FIT.label.model_copy(update={"capacities": SIZES, "horizons": [3]})
SETTINGS = Settings(["database"], {"database": {"test": [KEY]}}, ARCH, LABEL, {"caching": 200.0})
FOLDER = paths.trained(f"caching.database.{ARCH}")
SOON, LATE = 1 << DURATION_SHIFT, 3 << DURATION_SHIFT


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = make_trace(900, 5, KEY)
    pages = expand_pages(made)
    write_trace(made, paths.requests("database", KEY), pages)
    times = {"t_hdd_us": np.full(len(made), 5000.0), "t_ssd_us": np.full(len(made), 100.0)}
    write_table(paths.responses("database", KEY), table_of(times, COLUMNS), {"cachezoo.trace_id": KEY})
    write_benefit_labels(made, pages, *times.values(), LABEL, paths.labels("benefit", "database", KEY))
    return Case.read("database", KEY, LABEL)


@pytest.fixture
def ours(case):
    write_caching(make_trace(600, 6), FOLDER)
    return Contender.read(OURS, FOLDER, 200.0, "make repro")


def test_every_cache_runs_at_every_size_as_the_simulation_has_it(case):
    found = list(policy_runs(case, SIZES))
    assert [run.policy for run in found] == 2 * [*classics(), OPTIMUM]
    assert {(run.trace, run.capacity_fraction) for run in found} == {(KEY, size) for size in SIZES}
    assert {run.kind for run in found if run.policy != OPTIMUM} == {"classic"} and found[-1].kind == "bound"
    warmup = first_access(case.pages)
    lru = simulate(case.trace, case.pages, "lru", capacity_pages(0.1, case.pages.n_pages), warmup)
    times = ServiceTimes.of(case.trace, np.full(len(case.trace), 5000.0), np.full(len(case.trace), 100.0))
    own = next(run for run in found if run.policy == "lru")
    assert own.hit_ratio == lru.hit_ratio
    assert own.ssd_writes == pytest.approx(100 * lru.ssd_writes / lru.requests)
    assert own.replacements == pytest.approx(100 * lru.replacements / lru.requests)
    assert (own.response_us, own.decision_us) == (pytest.approx(lru.mean_response_us(times)), 0.0)


def test_a_model_runs_at_all_sizes_at_once_as_at_each_alone(case, ours):
    warmup = first_access(case.pages)
    for (run, tags), size in zip(model_runs(case, ours, SIZES), SIZES, strict=True):
        capacity = capacity_pages(size, case.pages.n_pages)
        alone = evaluate_caching(FOLDER, case.trace, case.pages, capacity, case.labels, size)
        assert run.hit_ratio == pytest.approx(float((alone.outcomes.outcome[warmup:] == 2).mean()))
        assert (run.kind, run.capacity_fraction, run.decision_us) == (OURS, size, 200.0) and run.response_us > 200.0
        assert tags.cached_accuracy == alone.figures["cached_accuracy"] and tags.asked == alone.figures["cached_rows"]
        assert tags.all_cached_accuracy == alone.figures["all_accuracy"]
        assert tags.duration_accuracy == alone.figures["duration_accuracy"]
        assert tags.duration_majority == alone.figures["duration_majority"]


def test_all_requests_or_hits_as_rightly_called_cached():
    bits = [
        SETTLED + CONSULTED + CACHED + LATE,
        SETTLED + CONSULTED,
        SETTLED + CACHED + SOON,  # a hit
        SETTLED + CACHED,  # a hit whose queue is unknown
        CONSULTED + CACHED,  # unsettled
        SETTLED + CONSULTED + CACHED + FORCED,
    ]
    tags = Tags(np.array(bits, np.uint8))
    rows = [[0.9, 0, 0, 1], [0.9, 1, 0, 0], [0.1, 0, 1, 0], [0.9, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
    outputs = np.array(rows, np.float32)
    assert named(outputs, 0.5, tags) == {
        "all_cached_accuracy": 0.75, "all_cached_majority": 0.75, "all_duration_accuracy": 1.0,
        "all_duration_majority": 1.0,
    }  # fmt: skip
    every = named(outputs, 0.5, tags, all_requests=True)
    assert (every["all_cached_accuracy"], every["all_duration_accuracy"]) == (0.5, 0.5)
    assert set(named(outputs[:0], 0.5, Tags(tags.bits[:0])).values()) == {None}


@pytest.mark.parametrize("state", ["reset100", "carried"])
def test_a_network_that_is_fed_its_tags_is_given_the_oracle_s_as_in_training(case, tmp_path, state):
    model = FIT.model.model_copy(update={"feedback": True, "state": state, "units": 4})
    fitting = replace(FIT, label=LABEL, model=model, fit=FIT.fit.model_copy(update={"max_epochs": 1}))
    judging = replace(JUDGE, label=LABEL, judge=JUDGE.judge.model_copy(update={"thresholds": 3, "capacities": [0.1]}))
    part = make_part(make_trace(700, 3), tmp_path, fitting)
    fit_and_judge([part], [], fitting, judging).write(tmp_path / "model")
    own = Contender.read(PAPER, tmp_path / "model", 300.0, "make figures")
    serving, tags = serving_of(own.model, own.weights), case.labels.tags[own.model.calibration["teacher"], 10]
    rows = np.random.default_rng(2).normal(size=(250, len(own.model.features) - 4)).astype(np.float32)
    first = Tags(tags.bits[:250])
    inputs = np.concatenate([rows, previous_tags(first)], axis=1)[:, None]
    want = teacher_outputs(own.weights, inputs, 1, serving.reset_every)[:, 0, 0]
    np.testing.assert_allclose(taught_outputs(own, serving, rows, first), want, atol=1e-6)
    found = [row for _, row in model_runs(case, own, SIZES)]
    assert [(row.network, row.capacity_fraction) for row in found] == [(PAPER, size) for size in SIZES]
    assert all(0 < row.all_cached_accuracy <= 1 for row in found)


def test_what_is_missing_is_named(case):
    with pytest.raises(CachezooError, match=r"caching\.database\.lstm1x8: is missing; run `make repro`$"):
        contenders("database", SETTINGS, 300.0)
    write_caching(make_trace(600, 6), FOLDER)
    with pytest.raises(CachezooError, match=r"lab/models/.*caching\.database\.paper: is missing; run `make figures`$"):
        contenders("database", SETTINGS, 300.0)
    paths.responses("database", KEY).unlink()
    with pytest.raises(CachezooError, match=r"database_test\.parquet: is missing; run `make repro`$"):
        Case.read("database", KEY, LABEL)

"""Models that take turns in libcachezoo's cache of kind caching, beside the simulator's."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachezoo.bundles import load, verify
from cachezoo.bundles.writer import write_bundle
from cachezoo.kernels.manager_limits import lane_rules
from cachezoo.runtime import RuntimeFault
from cachezoo.runtime import open as open_model
from cachezoo.runtime.model import OUTCOMES
from cachezoo.zoo.caching.switching import SwitchingCache
from tests.bundle_data import EXPORT, metrics, train_workload
from tests.caching_turns import CACHING, WORKLOAD, changed, requests, turns
from tests.unit.runtimes.test_python_runtime import GOLDEN

CAPACITY = 40
TIE = 1e-5  # sums of float32 differ by less
BY_CAPACITY = (
    {"capacity": 0.1, "ratio_log2": -2.0, "threshold": 0.48, "queues": "single"},
    {"capacity": 0.4, "ratio_log2": 0.0, "threshold": 0.52, "queues": "three"},
)

pytestmark = pytest.mark.needs("gcc")


@pytest.fixture
def bundles(tmp_path):
    return turns(tmp_path)


def plan_of(batch, path, every_s=None):
    """Who decides: the model of the category in force, else who did; 0 begins."""
    in_force = load(path).serving().run(batch, every_s).of_requests(len(batch))
    plan = np.zeros(len(batch), np.int32)
    for row, category in enumerate(in_force.tolist()):
        plan[row] = category + 1 if category >= 0 else plan[row - 1]
    return plan


def rows_of(batch):
    columns = [column.tolist() for column in (batch.time_us, batch.op, batch.offset, batch.size, batch.volume.codes)]
    for at, op, offset, size, code in zip(*columns, strict=True):
        yield at, ("read", "write")[op], offset, size, batch.volume.names[code]


@pytest.mark.parametrize(("by_capacity", "every_s"), [((), None), (BY_CAPACITY, None), ((), 1)])
def test_a_cache_whose_models_take_turns_is_the_simulators(library, tmp_path, by_capacity, every_s):
    bundles, batch = turns(tmp_path, by_capacity), requests()
    models, pages = [load(path).serving() for path in bundles[1:]], batch.pages()
    plan = plan_of(batch, bundles[0], every_s)
    assert (every_s is None) == (plan == plan_of(batch, bundles[0])).all()
    for model in models:
        rows, ratio = model.read(batch, pages, [CAPACITY])
        thresholds, single = lane_rules([model.cache(CAPACITY)], ratio)
        assert np.abs(model.outputs(rows)[:, 0, 0] - thresholds[:, 0]).min() > TIE
        if model.by_capacity is not None:
            assert len(np.unique(thresholds)) > 10 and set(single[:, 0].tolist()) == {0, 1}
    expected = SwitchingCache(models, batch, pages, CAPACITY).run(plan, "alone")
    with open_model(bundles[1], CAPACITY) as model, open_model(bundles[0]) as watching:
        cache = model.cache(CAPACITY)
        watching.vote_every(every_s)
        cache.follow(watching, [open_model(path, CAPACITY) for path in bundles[3:1:-1]])
        made = [cache.access(*row) for row in rows_of(batch)]
        found = cache.following()
        cache.close()
    outcome = [OUTCOMES.index(unit.outcome) for access in made for unit in access.units]
    assert outcome == expected.outcomes.outcome.tolist()
    assert [len(access.victims) for access in made] == expected.outcomes.replaced.tolist()
    taken = [one for one in expected.takeovers if one.request > 0]
    assert len({one.model for one in taken}) == 2 and len(taken) >= 3
    assert found[2:] == (len(taken), sum(one.steps for one in taken), sum(one.moved for one in taken))
    assert min(found[2:]) > 0
    assert found.decides == ("pairs", "turns")[plan[-1] - 1]


def named(unit):
    return unit.volume, unit.number


def test_writes_that_go_around_are_seen_by_the_monitor_alone(library, bundles):
    """The same takeovers, and no page that was written stays."""
    batch = requests(1200)
    with open_model(bundles[1], CAPACITY) as model, open_model(bundles[0]) as watching:
        cache = model.cache(CAPACITY, writes="around")
        cache.follow(watching, [open_model(path, CAPACITY) for path in bundles[2:]])
        held = set()
        for row in rows_of(batch):
            access = cache.access(*row)
            entered = {named(unit) for unit in access.units if unit.outcome == "admitted" and unit.slot >= 0}
            used = {named(unit) for unit in access.units if unit.outcome == "hit"}
            assert used <= held and not (row[1] == "write" and used | entered)
            held = held - {named(unit) for unit in access.victims} | entered
            assert len(held) <= CAPACITY
        found = cache.following()
        cache.close()
    assert len(held) == CAPACITY
    assert found.takeovers == np.count_nonzero(np.diff(plan_of(batch, bundles[0]))) > 2
    assert min(found.asked, found.moved) > 0


@given(
    gaps=st.lists(st.sampled_from([0, 1, 9_999, 120_000, 999_999, 1_000_000, 4_000_000]), min_size=150, max_size=500),
    every_s=st.integers(0, 3),
    saved=st.integers(0, 400),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_votes_with_pauses_are_the_simulators_and_go_on_after_a_restart(library, tmp_path, gaps, every_s, saved):
    batch = replace(requests(len(gaps)), time_us=np.cumsum(gaps))
    expected = load(WORKLOAD).serving().run(batch, every_s).of_requests(len(batch)).tolist()
    found = []
    with open_model(WORKLOAD) as model, open_model(WORKLOAD) as other:
        model.vote_every(every_s)
        for row in rows_of(batch):
            if len(found) == saved:
                model.save(tmp_path / "state")
                other.restore(tmp_path / "state")
                model = other
            found.append(model.observe(*row).category)
    assert found == expected


def test_a_bundle_whose_votes_have_pauses_passes_requests_over_in_both_runtimes(library, tmp_path):
    trained, batch = train_workload(tmp_path)
    file = trained / "train.json"
    values = json.loads(file.read_text())
    values["policy"]["vote_every_s"] = 1
    file.write_text(json.dumps(values))
    slow = replace(batch, time_us=batch.time_us * 5)
    write_bundle(trained, slow, metrics("workload.lstm8"), EXPORT, tmp_path / "bundle")
    stated = verify(tmp_path / "bundle")
    assert stated["branches"]["passed_over"] > 0 and stated["branches"]["vote"] > 1
    with open_model(tmp_path / "bundle") as model:
        assert model.verify()["agreement"] == 1.0
        found = [model.observe(*row).category for row in rows_of(slow)]
    serving = load(tmp_path / "bundle").serving()
    without = serving.run(slow, 0).of_requests(len(slow)).tolist()
    assert found == serving.run(slow).of_requests(len(slow)).tolist() != without
    for every_s, expected in ((0, without), (None, found)):
        with open_model(tmp_path / "bundle") as model:
            model.vote_every(0)
            model.vote_every(every_s)
            assert [model.observe(*row).category for row in rows_of(slow)] == expected


def test_the_clock_of_votes_does_not_go_back(library):
    """A request before the last one is refused and changes nothing."""
    with open_model(WORKLOAD) as model:
        model.vote_every(60)
        for k in range(72):
            model.observe(5_000_000 + k, "read", k * 4096, 4096)
            with pytest.raises(RuntimeFault, match="serves no such request"):
                model.observe(4_999_999, "read", 0, 4096)
        assert model.stats()["requests"] == 72 and model.stats()["keys"] == 0
        model.observe(65_000_000, "read", 0, 4096)
        assert model.stats()["keys"] == 1
        model.vote_every(None)


def test_a_pause_of_votes_that_is_none_is_refused(library, bundles):
    with open_model(WORKLOAD) as model, open_model(bundles[1], CAPACITY) as other:
        for wrong in (-1, (1 << 20) + 1, (1 << 64) + 60):  # the last is 60 in 64 bits
            with pytest.raises(
                RuntimeFault, match=f"vote_every {wrong} s: a model of kind workload takes 0 to 1048576 s$"
            ):
                model.vote_every(wrong)
        with pytest.raises(RuntimeFault, match="it is caching"):
            other.vote_every(60)


def test_what_does_not_fit_is_refused_in_a_line(library, bundles, tmp_path):
    more = changed(tmp_path / "more", "pairs", 0.5, 1.0, memory={**load(CACHING).serving().policy["memory"],
                                                                "window_accesses": 400})  # fmt: skip
    with open_model(bundles[1], CAPACITY) as model, open_model(bundles[0]) as watching:
        cache, pairs = model.cache(CAPACITY), open_model(bundles[2], CAPACITY)
        wrong = {
            "none is given": (watching, []),
            "workload bundle": (pairs, [pairs]),
            "its category 'database' is none": (watching, [model]),
            "there is another model of category pairs": (watching, [pairs, pairs]),
            "another policy.memory": (watching, [open_model(more, CAPACITY)]),
            "not a bundle of kind caching": (watching, [open_model(GOLDEN / "admission.database.lgbm")]),
        }
        for said, given in wrong.items():
            with pytest.raises(RuntimeFault, match=said):
                cache.follow(*given)
        with pytest.raises(RuntimeFault, match="no models take turns"):
            cache.following()
        cache.follow(watching, [pairs])
        assert cache.following() == (None, None, 0, 0, 0)
        with pytest.raises(RuntimeFault, match="say so once"):
            cache.follow(watching, [pairs])
        cache.close()
    with open_model(GOLDEN / "reuse.follow", CAPACITY) as model, open_model(bundles[0]) as watching:
        cache = model.cache(CAPACITY)
        with pytest.raises(RuntimeFault, match="of kind caching"):
            cache.follow(watching, [model])
        cache.close()

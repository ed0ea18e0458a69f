"""Models that take turns in libcachezoo's cache of kind caching, beside the simulator's."""

import numpy as np
import pytest

from cachezoo.bundles import load
from cachezoo.kernels.manager_limits import lane_rules
from cachezoo.runtime import RuntimeFault
from cachezoo.runtime import open as open_model
from cachezoo.runtime.model import OUTCOMES
from cachezoo.zoo.caching.switching import SwitchingCache
from tests.caching_turns import CACHING, changed, requests, turns
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


def plan_of(batch, path):
    """Who decides: the model of the category in force, else who did; 0 begins."""
    in_force = load(path).serving().run(batch).of_requests(len(batch))
    plan = np.zeros(len(batch), np.int32)
    for row, category in enumerate(in_force.tolist()):
        plan[row] = category + 1 if category >= 0 else plan[row - 1]
    return plan


def rows_of(batch):
    columns = [column.tolist() for column in (batch.time_us, batch.op, batch.offset, batch.size, batch.volume.codes)]
    for at, op, offset, size, code in zip(*columns, strict=True):
        yield at, ("read", "write")[op], offset, size, batch.volume.names[code]


@pytest.mark.parametrize("by_capacity", [(), BY_CAPACITY])
def test_a_cache_whose_models_take_turns_is_the_simulators(library, tmp_path, by_capacity):
    bundles, batch = turns(tmp_path, by_capacity), requests()
    models, plan, pages = [load(path).serving() for path in bundles[1:]], plan_of(batch, bundles[0]), batch.pages()
    for model in models:
        rows, ratio = model.read(batch, pages, [CAPACITY])
        thresholds, single = lane_rules([model.cache(CAPACITY)], ratio)
        assert np.abs(model.outputs(rows)[:, 0, 0] - thresholds[:, 0]).min() > TIE
        if model.by_capacity is not None:
            assert len(np.unique(thresholds)) > 10 and set(single[:, 0].tolist()) == {0, 1}
    expected = SwitchingCache(models, batch, pages, CAPACITY).run(plan, "alone")
    with open_model(bundles[1], CAPACITY) as model, open_model(bundles[0]) as watching:
        cache = model.cache(CAPACITY)
        cache.follow(watching, [open_model(path, CAPACITY) for path in bundles[3:1:-1]])
        made = [cache.access(*row) for row in rows_of(batch)]
        found = cache.following()
        cache.close()
    outcome = [OUTCOMES.index(unit.outcome) for access in made for unit in access.units]
    assert outcome == expected.outcomes.outcome.tolist()
    assert [len(access.victims) for access in made] == expected.outcomes.replaced.tolist()
    taken = [one for one in expected.takeovers if one.request > 0]
    assert len({one.model for one in taken}) == 2 and len(taken) > 3
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

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError, TraceError
from cachezoo.flash_cache.problem import flash_problem
from cachezoo.kernels.flash import simulate_flash
from cachezoo.kernels.slots import slots_written
from cachezoo.policies.registry import policy
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.wear.cache import check_cache, flash_cache_writes, page_cache_writes
from cachezoo.questions.wear.options import WearOptions
from cachezoo.settings.wear import Drive
from cachezoo.traces.pages import expand_pages
from tests.baleen_data import FLASH, LABEL, make_trace
from tests.oracles import slots_written as oracle
from tests.page_data import seeded_trace

POLICIES = ["lru", "rejectx+lru", "sieve", "larc", "lru+next(n=2)"]


def simulator_of(n, pages, seed):
    trace = seeded_trace(n, pages, seed)
    return Simulator(trace, expand_pages(trace))


@given(seed=st.integers(0, 1 << 20), capacity=st.integers(1, 30), name=st.sampled_from(POLICIES))
def test_slots_are_those_of_a_map_of_who_lies_where(seed, capacity, name):
    simulator, entry = simulator_of(120, 40, seed), policy(name)
    stream = simulator.stream(entry)
    run = entry.simulate(stream, capacity)
    slots, access = slots_written(stream.page_ids, stream.flags, run.outcome, run.victim, stream.n_pages)
    naive = oracle.slots_written(
        stream.page_ids.tolist(), stream.flags.tolist(), run.outcome.tolist(), run.victim.tolist()
    )
    assert list(zip(slots.tolist(), access.tolist(), strict=True)) == naive
    assert not len(slots) or slots.max() < capacity
    assert len(slots) == simulator.run(entry, capacity, 0).ssd_writes


def test_cycles_are_parts_of_the_requests():
    simulator = simulator_of(9000, 400, 4)
    cache = page_cache_writes(simulator, "lru", 100, 3)
    writes = cache.writes
    for number in range(3):
        own = writes.request[writes.cycle(number)]
        assert own.min() >= 3000 * number
        assert own.max() < 3000 * (number + 1)
    entry = policy("lru")
    found = simulator.run(entry, 100, int(simulator.pages.request_start[6000]))
    assert cache.hit_ratio == pytest.approx(found.hit_ratio)
    assert len(writes.request[writes.cycle(2)]) == found.ssd_writes


def test_the_flash_cache_writes_whole_segments_to_slots():
    trace = make_trace(4000, 12)
    problem = flash_problem(trace, LABEL, FLASH)
    run = simulate_flash(
        problem.accesses, problem.read, np.ones(len(trace), np.bool_), problem.capacity, note_slots=True
    )
    per_slot = problem.geometry.segment_bytes // 4096
    writes = flash_cache_writes(problem, "accept_all", run, trace.time_us, 2).writes
    assert len(writes) == per_slot * run.segment_writes
    assert writes.footprint == per_slot * (int(run.slots.max()) + 1) <= per_slot * problem.capacity
    first = writes.pages.reshape(-1, per_slot)
    np.testing.assert_array_equal(first // per_slot, np.repeat(run.slots[:, None], per_slot, 1))
    assert (np.diff(writes.request) >= 0).all()


def test_what_cannot_be_judged_is_refused():
    simulator = simulator_of(300, 40, 5)
    with pytest.raises(TraceError, match="pages in the last cycle, at least 20 are needed"):
        page_cache_writes(simulator, "lru", 40, 100)
    with pytest.raises(ConfigError, match="--placement fios:F: it learns from chunks"):
        check_cache(WearOptions(("legacy", "fios:F"), (4,), (0.1,), Drive(), 0))

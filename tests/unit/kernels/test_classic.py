import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels import classic, ranked
from tests.oracles import classic as naive

ACCESSES = st.lists(st.integers(0, 11), min_size=1, max_size=120)
PAIRS = {
    "fifo": (classic.fifo, naive.fifo),
    "lru": (classic.lru, naive.lru),
    "larc": (classic.larc, naive.larc),
    "arc": (classic.arc, naive.arc),
    "lfu": (ranked.lfu, naive.lfu),
    "rejectx": (lambda p, n, c: classic.rejectx(p, n, c, 3 * c), lambda p, c: naive.rejectx(p, c, 3 * c)),
}


def _dense(pages):
    names = {page: i for i, page in enumerate(dict.fromkeys(pages))}
    return np.array([names[page] for page in pages], np.int32), len(names)


@pytest.mark.parametrize("name", PAIRS)
@given(pages=ACCESSES, capacity=st.integers(1, 9))
@settings(deadline=None, max_examples=120)
def test_equals_the_naive_policy(name, pages, capacity):
    kernel, oracle = PAIRS[name]
    ids, n = _dense(pages)
    assert kernel(ids, n, capacity).tolist() == oracle(ids.tolist(), capacity)


@pytest.mark.parametrize("name", PAIRS)
def test_equals_the_naive_policy_on_a_long_skewed_trace(name):
    rng = np.random.default_rng(5)
    kernel, oracle = PAIRS[name]
    ids, n = _dense(
        np.concatenate([rng.zipf(1.2, 1500) % 300, np.arange(400), rng.zipf(1.4, 1500) % 200]).tolist()
    )
    assert kernel(ids, n, 40).tolist() == oracle(ids.tolist(), 40)


@given(pages=ACCESSES, capacity=st.integers(1, 9))
@settings(deadline=None, max_examples=120)
def test_belady_has_the_naive_hits(pages, capacity):
    ids, n = _dense(pages)
    for kernel, bypass in ((ranked.belady, False), (ranked.belady_bypass, True)):
        expected = naive.min_always(ids.tolist(), capacity, bypass).count(2)
        assert (kernel(ids, n, capacity) == classic.HIT).sum() == expected


@given(pages=st.lists(st.integers(0, 5), min_size=1, max_size=14), capacity=st.integers(1, 3))
@settings(deadline=None, max_examples=80)
def test_belady_with_bypass_is_the_optimum(pages, capacity):
    ids, n = _dense(pages)
    assert (ranked.belady_bypass(ids, n, capacity) == classic.HIT).sum() == naive.best_hits(
        ids.tolist(), capacity
    )


@given(pages=ACCESSES, capacity=st.integers(1, 9))
@settings(deadline=None, max_examples=60)
def test_no_policy_beats_the_optimum(pages, capacity):
    from cachezoo.policies.registry import POLICIES

    ids, n = _dense(pages)
    hits = {key: int((entry.run(ids, n, capacity) == classic.HIT).sum()) for key, entry in POLICIES.items()}
    assert max(hits.values()) == hits["belady_bypass"]


@given(pages=ACCESSES, capacity=st.integers(1, 9), cut=st.integers(1, 119))
@settings(deadline=None, max_examples=40)
def test_no_classic_sees_the_future(pages, capacity, cut):
    from cachezoo.policies.registry import POLICIES, classics

    ids, n = _dense(pages)
    changed = ids.copy()
    changed[cut:] = 0
    for key in classics():
        before, after = POLICIES[key].run(ids, n, capacity), POLICIES[key].run(changed, n, capacity)
        assert before[:cut].tolist() == after[:cut].tolist()


@given(
    accesses=st.lists(st.tuples(st.integers(0, 11), st.booleans()), min_size=1, max_size=120),
    capacity=st.integers(1, 9),
)
@settings(deadline=None, max_examples=60)
def test_lru_behind_an_admission_equals_the_naive_one(accesses, capacity):
    ids, n = _dense([page for page, _ in accesses])
    admit = [int(wanted) for _, wanted in accesses]
    kernel = classic.lru_admission(ids, n, capacity, np.array(admit, np.uint8))
    assert kernel.tolist() == naive.lru_admission(ids.tolist(), capacity, admit)

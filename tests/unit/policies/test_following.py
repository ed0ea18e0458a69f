"""The follower: equal to its naive oracle, true to a single expert, within its capacity, the same in any spans."""

import dataclasses
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.follow import LARGEST
from cachezoo.kernels.outcome import ADMITTED, AROUND, HIT, PREFETCHED, WRITE
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition, Eviction
from cachezoo.policies.engine import simulate
from cachezoo.policies.evictions import EVICTIONS
from cachezoo.policies.evictions.learned import LRB
from cachezoo.policies.following import DEFAULT_EXPERTS, FOLLOW, MOST_EXPERTS, follow_runs
from cachezoo.policies.registry import POLICIES, classics, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import expand_pages
from tests.oracles import follow as naive
from tests.page_data import seeded_trace
from tests.stream_data import reads, streams

TEXTS = ("lru", "lfu", "fifo", "arc", "rejectx+lru", "rejectx+lirs", "s3fifo", "larc", "sieve")
# Hystor's areas can be full while the cache is not, and then it evicts.
FILL_FIRST = [eviction.id for eviction in EVICTIONS if eviction.learn is None and eviction.id != "hystor"]
# No sums of whole hits, so that no lead is as large as its price but for rounding, which kernel and oracle do each in
# its own way; with a half-life far shorter than the stream, experts can differ by rounding alone.
VALUES = {"half_life": 3.337, "lead": 0.0371, "price": 0.0531}


def compositions(texts):
    return [parse(text).composition() for text in texts]


def oracles(texts, stream, capacity):
    specs = [parse(text) for text in texts]
    return [
        naive.Expert(
            import_module(f"tests.oracles.evict.{spec.eviction.id}").Cache(stream, capacity),
            import_module(f"tests.oracles.admit.{spec.admission.id}").Gate(stream, capacity),
        )
        for spec in specs
    ]


def check(texts, stream, capacity, values):
    found = follow_runs(stream, capacity, compositions(texts), values)
    outcome, victim, leader = naive.follow(stream, capacity, oracles(texts, stream, capacity), **values)
    assert found.run.outcome.tolist() == outcome
    assert found.run.victim.tolist() == victim
    assert found.leader.tolist() == leader
    return found


def phases(seed=3, length=800):
    """In turns what LRU keeps and LFU does not, and the other way round."""
    rng = np.random.default_rng(seed)
    parts = []
    for turn in range(6):
        drift = rng.integers(0, 12, length) + np.arange(length) // 25 + 1000 * turn
        often = np.where(np.arange(length) % 2, rng.integers(0, 18, length), 10_000 + np.arange(length) + length * turn)
        parts += [drift, often]
    return reads(np.concatenate(parts).tolist())


def bent(stream, rng):
    """The stream with some writes that go around the cache."""
    past = np.where(rng.random(len(stream)) < 0.1, WRITE | AROUND, 0).astype(np.uint8)
    return dataclasses.replace(stream, flags=stream.flags | np.where(stream.asked, past, 0).astype(np.uint8))


@given(
    stream=streams(), capacity=st.integers(1, 9),
    texts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4, unique=True),
    half_life=st.sampled_from([3.337, 31.7]), lead=st.sampled_from([0.00271, 0.0371, 0.471]),
    price=st.sampled_from([0.0, 0.0531, 0.317]), head_start=st.sampled_from([0.0, 0.1234]), around=st.booleans(),
)  # fmt: skip
def test_equals_its_oracle(stream, capacity, texts, half_life, lead, price, head_start, around):
    if around:
        stream = bent(stream, np.random.default_rng(len(stream)))
    values = {"half_life": half_life, "lead": lead, "price": price, "head_start": head_start}
    check(texts, stream, capacity, values)


@pytest.mark.parametrize("half_life", [0.317, 3.337])  # with the shorter one weights outgrow their largest
def test_equals_its_oracle_where_the_leaders_change(half_life):
    stream, values = phases(length=300), {**VALUES, "half_life": half_life}
    found = check(("lfu", "lru", "rejectx+lirs", "s3fifo"), stream, 20, values)
    assert (2.0 ** (len(stream) / (half_life * 20)) > LARGEST) == (half_life < 1)
    assert len(set(found.leader.tolist())) > 1 and np.count_nonzero(np.diff(found.leader)) > 3


@pytest.mark.parametrize("text", [*FILL_FIRST, "rejectx+arc", "bloom+lfu"])
def test_of_one_expert_it_is_that_expert(text):
    rng = np.random.default_rng(11)
    trace = seeded_trace(1500, 120, 5)
    stream = Simulator(trace, expand_pages(trace)).stream(policy("lru+next(n=2)"))
    for one in (stream, bent(stream, rng)):
        own, found = policy(text).simulate(one, 40), follow_runs(one, 40, compositions([text]))
        assert found.run.outcome.tolist() == own.outcome.tolist()
        assert found.run.victim.tolist() == own.victim.tolist()
        assert found.hits.tolist() == [np.count_nonzero(own.outcome == HIT)]


def test_of_one_expert_that_evicts_early_it_keeps_what_there_is_room_for():
    trace = seeded_trace(1500, 120, 5)
    stream = Simulator(trace, expand_pages(trace)).stream(policy("lru+next(n=2)"))
    stream = bent(stream, np.random.default_rng(11))
    own, found = policy("hystor").simulate(stream, 40), follow_runs(stream, 40, compositions(["hystor"])).run
    assert (own.victim != found.victim).any()
    assert (found.outcome[own.outcome == HIT] == HIT).all()


@pytest.mark.parametrize("capacity", [1, 2, 7, 33, 5000])
def test_holds_no_more_than_fits_and_evicts_what_it_holds(capacity):
    stream = phases(length=300)
    run = follow_runs(stream, capacity, compositions(DEFAULT_EXPERTS), {"price": 0}).run
    held = set()
    for page, outcome, victim in zip(stream.page_ids.tolist(), run.outcome.tolist(), run.victim.tolist(), strict=True):
        assert (outcome == HIT) == (page in held)
        if victim >= 0:
            held.remove(victim)
        if outcome in (ADMITTED, PREFETCHED):
            held.add(page)
        assert len(held) <= capacity
    assert (run.outcome == HIT).any()


@pytest.mark.parametrize("span", [1, 37, 1000])
def test_is_the_same_in_any_spans(span):
    learner = dataclasses.replace(LRB, learn_every=150)
    small = {"rows": 256, "sample_every": 1, "trees": 4, "leaves": 8, "window": 6, "candidates": 8}
    trace = seeded_trace(1200, 300, 6)
    stream = Simulator(trace, expand_pages(trace), "back", "request").stream(policy("lru+next(n=2)"))
    experts = [*compositions(("rejectx+lru", "lfu", "hystor")), Composition(learner, ACCEPT_ALL, small)]
    whole, cut = (follow_runs(stream, 60, experts, {"price": 0.0}, span=one) for one in (2**30, span))
    assert whole.run.outcome.tolist() == cut.run.outcome.tolist()
    assert whole.run.victim.tolist() == cut.run.victim.tolist()
    assert whole.leader.tolist() == cut.leader.tolist()
    assert whole.hits.tolist() == cut.hits.tolist()
    alone = [np.count_nonzero(simulate(expert, stream, 60).outcome == HIT) for expert in experts]
    assert whole.hits.tolist() == alone


def test_hits_more_than_any_expert_where_they_lead_in_turns():
    stream = phases(length=4000)
    found = follow_runs(stream, 20, compositions(("lru", "lfu")))
    assert np.count_nonzero(found.run.outcome == HIT) > found.hits.max() * 1.1
    assert np.count_nonzero(np.diff(found.leader)) >= 10


def test_a_higher_price_changes_leaders_less_often():
    stream = phases()
    changes = [
        np.count_nonzero(np.diff(follow_runs(stream, 20, compositions(("lru", "lfu")), {"price": price}).leader))
        for price in (0, 0.5, 1e6)
    ]
    assert changes[0] >= changes[1] > changes[2] == 0


class MostRecent:
    def __init__(self, stream, capacity, values):
        self.capacity, self.pages, self.last = capacity, set(), -1

    def has(self, page):
        return page in self.pages

    def touch(self, page, i):
        self.last = page

    def insert(self, page, i):
        victim = -1
        if len(self.pages) == self.capacity:
            victim = self.last
            self.pages.remove(victim)
        self.pages.add(page)
        self.last = page
        return victim


def test_an_expert_may_be_a_python_class():
    mru = Eviction("mru", "most recent", MostRecent, MostRecent.has, MostRecent.touch, MostRecent.insert)
    loop = Stream.of_pages(np.tile(np.arange(120, dtype=np.int32), 30), 120)
    found = follow_runs(loop, 100, [*compositions(["lru"]), Composition(mru, ACCEPT_ALL)])
    assert found.hits[0] == 0
    assert np.count_nonzero(found.run.outcome == HIT) > 0.9 * found.hits[1]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"experts": []}, "follow: 0 experts; name 1 to 32"),
        ({"experts": compositions(["lru"]) * (MOST_EXPERTS + 1)}, "follow: 33 experts; name 1 to 32"),
        ({"capacity": 0}, "capacity 0: a cache has at least one page"),
        ({"values": {"half_life": 0}}, "follow: half_life = 0 is outside"),
        ({"values": {"prize": 1}}, "follow takes no prize"),
    ],
)
def test_what_cannot_be_followed_is_refused(changes, says):
    asked = {"capacity": 5, "experts": compositions(["lru"]), "values": {}, **changes}
    with pytest.raises(ConfigError, match=f"^{says}"):
        follow_runs(reads([1, 2, 3]), **asked)


def test_thirty_two_experts_can_be_followed():
    texts = [f"lrfu(decay={0.001 * (k + 1)!r})" for k in range(MOST_EXPERTS)]
    stream = phases(length=100)
    found = follow_runs(stream, 20, compositions(reversed(texts)), {"price": 0})
    assert found.leader.max() < MOST_EXPERTS and (found.hits > 0).all()
    last = follow_runs(stream, 20, [*compositions(["lru"] * (MOST_EXPERTS - 1)), *compositions(["lfu"])], {"price": 0})
    assert last.leader.max() == MOST_EXPERTS - 1


def test_is_a_policy_and_no_classic():
    assert POLICIES[FOLLOW.id].kind == "follower"
    assert FOLLOW.id not in classics()
    assert policy("follow()") is policy(f"follow(experts={'|'.join(DEFAULT_EXPERTS)})") is POLICIES[FOLLOW.id]
    own = policy("follow(experts=lru|rejectx, price=0.5)")
    assert (own.id, own.kind) == ("follow(experts=lru|rejectx+lru, price=0.5)", "follower")
    trace = seeded_trace(400, 60, 3)
    found = Simulator(trace, expand_pages(trace)).run("follow(experts=lru|arc)+next(n=2)", 15, 0)
    assert found.prefetched > 0 and found.dirty_evictions is not None and found.replacements > 0
    stream = phases(length=50)
    hits = own.hits(stream.page_ids, stream.n_pages, 9)
    assert hits.tolist() == own.simulate(stream, 9).outcome.tolist()

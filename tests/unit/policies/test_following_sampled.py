"""The follower with sampled shadows: equal to its naive oracle, within its capacity, the same in any spans."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCHED, REQUEST
from cachezoo.policies import following
from cachezoo.policies.engine import simulate
from cachezoo.policies.following import DEFAULT_EXPERTS, built, first_of, follow_runs, holding
from cachezoo.policies.registry import policy
from cachezoo.policies.sampling import drawn
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import expand_pages
from tests.oracles import follow as naive
from tests.page_data import seeded_trace
from tests.stream_data import reads, streams
from tests.unit.policies.test_following import VALUES, bent, compositions, phases

TEXTS = ("lru", "lfu", "fifo", "arc", "rejectx+lru", "rejectx+lirs", "s3fifo", "larc", "sieve")  # none hashes ids


@pytest.fixture(autouse=True)
def small_shadows(monkeypatch, request):
    """Shadows of a page or more, so that an oracle is quick; but for tests of what is refused."""
    if "refused" not in request.node.name:
        monkeypatch.setattr(following, "LEAST_SHADOW", 1)


def oracle(text, stream, capacity):
    spec = parse(text)
    return naive.Expert(
        import_module(f"tests.oracles.evict.{spec.eviction.id}").Cache(stream, capacity),
        import_module(f"tests.oracles.admit.{spec.admission.id}").Gate(stream, capacity),
    )


def check(texts, stream, capacity, values):
    found = follow_runs(stream, capacity, compositions(texts), values)
    rest = {name: values[name] for name in ("half_life", "lead", "price", "head_start") if name in values}
    rate = values["sample"]
    shadows = [oracle(text, stream, round(capacity * rate)) for text in texts]
    outcome, victim, leader = naive.follow_sampled(
        stream, capacity, shadows, lambda expert: oracle(texts[expert], stream, capacity),
        drawn(stream.n_pages, rate, values["seed"]), capacity * rate, values["history"], **rest,
    )  # fmt: skip
    assert found.run.outcome.tolist() == outcome
    assert found.run.victim.tolist() == victim
    assert found.leader.tolist() == leader
    return found


@given(
    stream=streams(), capacity=st.integers(2, 9),
    texts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4, unique=True),
    half_life=st.sampled_from([3.337, 31.7]), lead=st.sampled_from([0.00271, 0.0371]),
    price=st.sampled_from([0.0, 0.0531]), head_start=st.sampled_from([0.0, 0.1234]), around=st.booleans(),
    rate=st.sampled_from([0.3, 0.51, 0.77, 0.99]), history=st.sampled_from([0.0, 0.5, 2.0, 100.0]),
    seed=st.integers(0, 9),
)  # fmt: skip
def test_equals_its_oracle(
    stream, capacity, texts, half_life, lead, price, head_start, around, rate, history, seed
):  # fmt: skip
    if around:
        stream = bent(stream, np.random.default_rng(len(stream)))
    if round(capacity * rate) < 1:
        rate = 0.51
    values = {
        "half_life": half_life, "lead": lead, "price": price, "head_start": head_start, "sample": rate,
        "history": history, "seed": seed,
    }  # fmt: skip
    check(texts, stream, capacity, values)


@pytest.mark.parametrize("history", [0.0, 1.3, 50.0])
def test_equals_its_oracle_where_the_leaders_change(history):
    stream = phases(length=300)
    values = {**VALUES, "sample": 0.61, "seed": 2, "history": history}
    found = check(("lfu", "lru", "rejectx+lirs", "s3fifo"), stream, 20, values)
    assert np.count_nonzero(np.diff(found.leader.astype(int))) > 3


@pytest.mark.parametrize("rate", [0.2, 0.7])
@pytest.mark.parametrize("text", ["lru", "s3fifo", "wtinylfu", "azor", "rejectx+arc", "bloom+lfu", "lrb"])
def test_of_one_expert_it_is_that_expert(text, rate):
    trace = seeded_trace(1500, 120, 5)
    stream = Simulator(trace, expand_pages(trace)).stream(policy("lru+next(n=2)"))
    own, found = policy(text).simulate(stream, 40), follow_runs(stream, 40, compositions([text]), {"sample": rate})
    assert found.run.outcome.tolist() == own.outcome.tolist()
    assert found.run.victim.tolist() == own.victim.tolist()


def test_where_no_change_pays_it_is_the_first_expert():
    stream = phases(length=300)
    found = follow_runs(stream, 20, compositions(("lfu", "lru")), {"sample": 0.5, "lead": 1e6})
    assert found.run.outcome.tolist() == policy("lfu").simulate(stream, 20).outcome.tolist()
    assert not found.leader.any()


@pytest.mark.parametrize("values", [{}, {"half_life": 2.0}, {"half_life": 3.337, "lead": 0.0371}])
def test_a_sample_of_all_changes_its_leader_a_request_after_the_follower_with_full_shadows(values):
    stream = phases(length=300)
    # Without a price the hits of the shadows alone decide who leads; every request is of one page.
    whole, late = (
        follow_runs(stream, 20, compositions(DEFAULT_EXPERTS), {**values, "price": 0.0, **more})
        for more in ({}, {"sample": 1 - 2**-40})
    )
    first = int(np.flatnonzero(whole.leader)[0])
    assert late.measured == whole.measured == len(stream)
    assert late.hits.tolist() == whole.hits.tolist()
    assert late.leader.tolist() == [0, *whole.leader[:-1].tolist()]
    assert np.count_nonzero(np.diff(whole.leader.astype(int))) > 3
    assert late.run.outcome[:first].tolist() == whole.run.outcome[:first].tolist()
    assert late.run.victim[:first].tolist() == whole.run.victim[:first].tolist()


@pytest.mark.parametrize("capacity", [2, 7, 33, 5000])
def test_holds_no_more_than_fits_and_evicts_what_it_holds(capacity):
    stream = phases(length=300)
    values = {"price": 0, "sample": 0.5, "history": 1}
    run = follow_runs(stream, capacity, compositions(DEFAULT_EXPERTS), values).run
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
    trace = seeded_trace(1200, 300, 6)
    stream = Simulator(trace, expand_pages(trace), "back", "request").stream(policy("lru+next(n=2)"))
    experts, values = compositions(("rejectx+lru", "lfu", "hystor", "sieve")), {"price": 0.0, "sample": 0.4}
    whole, cut = (follow_runs(stream, 60, experts, values, span=one) for one in (2**30, span))
    assert np.count_nonzero(np.diff(whole.leader.astype(int))) > 0
    assert whole.run.outcome.tolist() == cut.run.outcome.tolist()
    assert whole.run.victim.tolist() == cut.run.victim.tolist()
    assert whole.leader.tolist() == cut.leader.tolist()
    assert (whole.hits.tolist(), whole.measured) == (cut.hits.tolist(), cut.measured)


def test_is_the_same_with_the_same_seed_alone():
    stream, experts = phases(length=500), compositions(("lru", "lfu"))
    first, again, other = (
        follow_runs(stream, 20, experts, {"sample": 0.3, "seed": seed}) for seed in (1, 1, 2)
    )  # fmt: skip
    assert first.run.outcome.tolist() == again.run.outcome.tolist()
    assert first.leader.tolist() == again.leader.tolist()
    assert first.hits.tolist() == again.hits.tolist()
    assert first.hits.tolist() != other.hits.tolist()


def test_samples_tell_who_leads_in_turns():
    stream = phases(length=4000)
    found = follow_runs(stream, 200, compositions(("lru", "lfu")), {"sample": 0.5})
    alone = [np.count_nonzero(policy(text).simulate(stream, 200).outcome == HIT) for text in ("lru", "lfu")]
    assert 0 < found.measured < len(stream)
    estimate = found.hits / found.measured
    assert estimate == pytest.approx(np.array(alone) / len(stream), abs=0.1)


@pytest.mark.parametrize("text", ["lru", "lfu", "arc", "rejectx+lirs", "s3fifo", "azor"])
def test_a_cache_that_was_shown_everything_is_the_cache_that_served_it(text):
    trace = seeded_trace(800, 120, 5)
    stream = Simulator(trace, expand_pages(trace)).stream(policy("lru+next(n=2)"))
    high = int(np.flatnonzero(stream.flags & REQUEST)[500])
    course, leads = built(parse(text).composition(), stream, 40, high, high + 5)
    own = simulate(parse(text).composition(), stream, 40)
    before = stream.page_ids[:high], own.outcome[:high], own.victim[:high]
    assert leads.tolist() == holding(*before, stream.n_pages).tolist()
    assert 0 < leads.sum() <= 40
    outcome, victim = np.empty(len(stream) - high, np.uint8), np.empty(len(stream) - high, np.int32)
    course.serve(len(stream), outcome, victim)
    assert outcome.tolist() == own.outcome[high:].tolist()
    assert victim.tolist() == own.victim[high:].tolist()


def test_a_new_leader_is_shown_whole_requests():
    stream = Stream(
        np.arange(9, dtype=np.int32), np.array([6, 4, 4, 6, 4, 6, 6, 4, 6], np.uint8), np.full(9, 4096, np.int32), 9
    )
    assert [first_of(stream, 6, reach) for reach in (0, 1, 2, 3, 4, 6, 99)] == [6, 5, 5, 3, 3, 0, 0]


@pytest.mark.parametrize(
    ("capacity", "sample", "says"),
    [
        (1000, 0.05, r"follow: sample = 0.05 of 1000 pages makes shadows of 50, and less than 64 say too little; "
         r"give sample = 0.064 or more$"),
        (50, 0.5, r"follow: sample = 0.5 of 50 pages makes shadows of 25, .* give sample = 1 or more$"),
        (1000, 0, r"follow: sample = 0 is outside \[0.001, 1\]; part of the pages"),
        (1000, 1.5, r"follow: sample = 1.5 is outside"),
    ],
)  # fmt: skip
def test_too_small_a_sample_is_refused(capacity, sample, says):
    with pytest.raises(ConfigError, match=f"^{says}"):
        follow_runs(reads([1, 2, 3]), capacity, compositions(["lru"]), {"sample": sample})


def test_from_the_least_shadow_on_none_is_refused():
    least = following.least_capacity({"sample": 0.3})
    found = follow_runs(reads(list(range(30))), least, compositions(["lru"]), {"sample": 0.3})
    assert found.measured < 30
    with pytest.raises(ConfigError):
        follow_runs(reads([1]), least - 3, compositions(["lru"]), {"sample": 0.3})
    assert following.least_capacity({}) == 1


def test_is_a_policy():
    own = policy("follow(experts=lru|arc, seed=3, sample=0.5)")
    assert own.id == "follow(experts=lru|arc, sample=0.5, seed=3)"
    trace = seeded_trace(3000, 600, 3)
    found = Simulator(trace, expand_pages(trace)).run(own, 150, 0)
    assert found.hit_ratio > 0

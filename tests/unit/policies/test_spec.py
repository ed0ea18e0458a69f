"""The grammar of policies: every text round-trips, and what is wrong is said in one line."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.policies.admissions import ADMISSIONS, COIN_FLIP
from cachezoo.policies.components import Whole
from cachezoo.policies.engine import simulate
from cachezoo.policies.evictions import EVICTIONS
from cachezoo.policies.evictions.classics import LRU
from cachezoo.policies.following import DEFAULT_EXPERTS, FOLLOW
from cachezoo.policies.prefetches import PREFETCHES, prefetched_stream
from cachezoo.policies.spec import BOUNDS, Component, Spec, parse
from cachezoo.traces.pages import expand_pages
from tests.page_data import seeded_trace


def test_names_are_unique_over_all_tables():
    ids = [part.id for table in (EVICTIONS, ADMISSIONS, PREFETCHES) for part in table if part.id not in BOUNDS]
    ids += BOUNDS
    assert len(set(ids)) == len(ids)
    assert all(name == name.lower() and name.replace("_", "").isalnum() for name in ids)


def numbers(one):
    """Values that a parameter takes."""
    low, high = max(one.low, -1e9), min(one.high, 1e9)
    within = st.integers(int(low), int(high)) if isinstance(one, Whole) else st.floats(low, high)
    return st.one_of(within, st.just(one.default))


@st.composite
def part_texts(draw, table):
    """A part in some spelling, and what it should be read as."""
    part = draw(st.sampled_from([part for part in table if part.id not in BOUNDS]))
    chosen = draw(st.permutations(part.parameters))[: draw(st.integers(0, len(part.parameters)))]
    values = {one.name: draw(numbers(one)) for one in chosen}
    blank = draw(st.sampled_from(["", " ", "  "]))
    inside = f",{blank}".join(f"{name}{blank}={value!r}" for name, value in values.items())
    text = f"{part.id}({inside})" if values or draw(st.booleans()) else part.id
    kept = [(one.name, values[one.name]) for one in part.parameters if values.get(one.name, one.default) != one.default]
    return blank + text + blank, Component(part.id, tuple(kept))


@given(
    st.one_of(st.none(), part_texts(ADMISSIONS)), part_texts(EVICTIONS), st.one_of(st.none(), part_texts(PREFETCHES))
)
def test_every_text_round_trips(admission, eviction, prefetch):
    named = {"admission": admission, "eviction": eviction, "prefetch": prefetch}
    text = "+".join(one[0] for one in named.values() if one is not None)
    spec = parse(text)
    assert spec == Spec(**{kind: one[1] for kind, one in named.items() if one is not None})
    assert parse(str(spec)) == spec
    assert str(parse(str(spec))) == str(spec)
    assert hash(parse(str(spec))) == hash(spec)


@given(
    st.lists(
        st.tuples(st.one_of(st.none(), part_texts(ADMISSIONS)), part_texts(EVICTIONS)),
        min_size=1, max_size=5, unique_by=lambda pair: (pair[0] and pair[0][1], pair[1][1]),
    ),
    st.fixed_dictionaries({}, optional={one.name: numbers(one) for one in FOLLOW.parameters}),
    st.one_of(st.none(), part_texts(PREFETCHES)), st.booleans(),
)  # fmt: skip
def test_every_follower_round_trips(pairs, values, prefetch, experts_first):
    experts = tuple(
        Spec(**{"eviction": eviction[1], **({"admission": admission[1]} if admission else {})})
        for admission, eviction in pairs
    )
    assume(len(set(experts)) == len(experts))  # one may name `acceptall`, another no admission
    bars = "|".join("+".join(part[0] for part in pair if part) for pair in pairs)
    given_values = [f" {name} = {value!r}" for name, value in values.items()]
    inside = ",".join([f"experts={bars}", *given_values] if experts_first else [*given_values, f"experts={bars}"])
    spec = parse("+".join([f"follow({inside})", *([prefetch[0]] if prefetch else [])]))
    settled = tuple((one.name, values[one.name]) for one in FOLLOW.parameters
                    if values.get(one.name, one.default) != one.default)  # fmt: skip
    follower = Component("follow", settled, experts)
    assert spec == Spec(**{"eviction": follower, **({"prefetch": prefetch[1]} if prefetch else {})})
    assert parse(str(spec)) == spec and str(parse(str(spec))) == str(spec) and hash(parse(str(spec))) == hash(spec)


@given(
    st.one_of(
        st.text(alphabet="lrucoinfp+()=,.0125 e-_\n", max_size=30),
        st.lists(
            st.sampled_from(
                [
                    "follow",
                    "vrm",
                    "queue",
                    "n",
                    "(",
                    ")",
                    "experts",
                    "=",
                    "|",
                    "+",
                    ",",
                    "lru",
                    "arc",
                    "next",
                    "price",
                    "1",
                ]
            ),
            max_size=16,
        ).map("".join),
    )
)
def test_any_text_is_read_or_refused_in_one_line(text):
    try:
        spec = parse(text)
    except ConfigError as error:
        assert len(str(error).splitlines()) == 1
        assert str(error).startswith("policy ")
    else:
        assert parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("lru", "lru"),
        ("acceptall+lru+none", "lru"),
        ("rejectx", "rejectx+lru"),
        ("next", "lru+next"),
        ("coinflip ( p = 0.25 ) + next(n=4)", "coinflip(p=0.25)+lru+next(n=4)"),
        ("coinflip(seed=3,p=0.5)", "coinflip(seed=3)+lru"),
        ("coinflip(p=2.5e-1, seed=1e+2)+fifo", "coinflip(p=0.25, seed=100)+fifo"),
        ("next(n=8.0)", "lru+next"),
        ("fifo()", "fifo"),
        ("follow", "follow"),
        ("follow ( )", "follow"),
        ("follow(price=0.1, half_life=16)+none", "follow"),
        (f"follow(experts={'|'.join(DEFAULT_EXPERTS)})", "follow"),
        (
            "follow( lead=1e-1,experts= rejectx | s3fifo(small=1e-1, ghost=2) |bloom + arc)+next",
            "follow(experts=rejectx+lru|s3fifo(ghost=2)|bloom+arc, lead=0.1)+next",
        ),
        ("vrm", "vrm"),
        ("acceptall+vrm()+none", "vrm"),
        ("vrm(queue=lru, n=262144, fragment=256, f=2, alpha=0.95, q=2000, cost=0, optimal=0)", "vrm"),
        ("vrm( cost = 1,q=1e2, queue= arc )", "vrm(queue=arc, q=100, cost=1)"),
        ("vrm(f=16, fragment=1, n=67108864, alpha=1)", "vrm(n=67108864, fragment=1, f=16, alpha=1)"),
        *((bound, bound) for bound in BOUNDS),
    ],
)
def test_canonical_texts(text, canonical):
    assert str(parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "",
            "policy (empty): a component is missing; a policy is [admission+]eviction[+prefetch], admission: ",
        ),
        ("lru+", "policy lru+: a component is missing; "),
        ("lur", "policy lur: lur is unknown, did you mean lru?; a policy is [admission+]eviction"),
        ("LRU", "policy LRU: LRU is unknown, did you mean lru?; "),
        ("beladi", "policy beladi: beladi is unknown, did you mean belady?; "),
        ("coin flip", "policy coin flip: coin flip is no component; write an id, or an id with values as in next(n=4)"),
        ("coinflip(p=0.5", "policy coinflip(p=0.5: coinflip(p=0.5 is no component; write an id, or "),
        ("coinflip(p=(1))", "policy coinflip(p=(1)): coinflip(p=(1)) is no component; "),
        ("coinflip)+lru", "policy coinflip)+lru: coinflip)"),
        ("coinflip(0.5)", "policy coinflip(0.5): coinflip: 0.5 stands where name=value should; it takes p, seed"),
        ("coinflip(p=0.5,)", "policy coinflip(p=0.5,): coinflip: nothing stands where name=value should; it takes p"),
        ("coinflip(sed=1)", "policy coinflip(sed=1): coinflip takes no sed, did you mean seed?; it takes p, seed"),
        ("coinflip(=1)", "policy coinflip(=1): coinflip takes no value without a name; it takes p, seed"),
        ("lru(n=1)", "policy lru(n=1): lru takes no n; it takes no values"),
        ("coinflip(p=0.1, p=0.2)", "policy coinflip(p=0.1, p=0.2): coinflip: p is given twice"),
        ("coinflip(p=half)", "policy coinflip(p=half): coinflip: p = half is no number"),
        ("coinflip(p=)", "policy coinflip(p=): coinflip: p = nothing is no number"),
        ("coinflip(p=1.5)", "policy coinflip(p=1.5): coinflip: p = 1.5 is outside [0, 1]; the probability that a miss"),
        ("coinflip(p=nan)", "policy coinflip(p=nan): coinflip: p = nan is no number"),
        ("next(n=inf)", "policy next(n=inf): next: n = inf is no number"),
        ("next(n=1.5)", "policy next(n=1.5): next: n = 1.5 is no whole number; "),
        ("lru+fifo", "policy lru+fifo: a cache has one eviction, not lru and fifo; name one"),
        ("next+none", "policy next+none: a cache has one prefetch, not next and none; name one"),
        (
            "lru+coinflip(p=1)",
            "policy lru+coinflip(p=1): components stand as [admission+]eviction[+prefetch]; write coinflip",
        ),
        ("next+lru", "policy next+lru: components stand as [admission+]eviction[+prefetch]; write lru+next"),
        ("coinflip+belady", "policy coinflip+belady: belady is a bound: it takes no other component; name it alone"),
        ("benefit+next", "policy benefit+next: benefit is a bound: it takes no other component; name it alone"),
        ("belady(x=1)", "policy belady(x=1): belady is a bound and takes no values"),
        ("vrn", "policy vrn: vrn is unknown, did you mean vrm?; a policy is "),
        (
            "vrm(queue=arcs)",
            "policy vrm(queue=arcs): vrm: queue = arcs is unknown, did you mean arc?; use lru, lfu, arc",
        ),
        ("vrm(queue=)", "policy vrm(queue=): vrm: queue = nothing is unknown; use lru, lfu, arc"),
        ("vrm(queue=lru, queue=arc)", "policy vrm(queue=lru, queue=arc): vrm: queue is given twice"),
        ("vrm(n=512, n=512)", "policy vrm(n=512, n=512): vrm: n is given twice"),
        (
            "vrm(quue=lru)",
            "policy vrm(quue=lru): vrm takes no quue, did you mean queue?; it takes queue, n, fragment, f",
        ),
        ("vrm(fragments=9)", "policy vrm(fragments=9): vrm takes no fragments, did you mean fragment?; it takes queue"),
        ("vrm(arc)", "policy vrm(arc): vrm: arc stands where name=value should; it takes queue, n, "),
        (
            "vrm(n=1000000000)",
            "policy vrm(n=1000000000): vrm: n = 1e+09 is outside [1, 6.71089e+07]; pages of the queue",
        ),
        ("vrm(f=17)", "policy vrm(f=17): vrm: f = 17 is outside [1, 16]; runs of positions at most"),
        ("vrm(q=0)", "policy vrm(q=0): vrm: q = 0 is outside [1, "),
        ("vrm(fragment=1.5)", "policy vrm(fragment=1.5): vrm: fragment = 1.5 is no whole number; "),
        ("vrm(alpha=1.1)", "policy vrm(alpha=1.1): vrm: alpha = 1.1 is outside [0, 1]; "),
        (
            "vrm(n=511)",
            "policy vrm(n=511): vrm: n = 511 is below f = 2 fragments of 256 pages; give n = 512 or more, and at least "
            "the cache's pages, ",
        ),
        (
            "rejectx+vrm",
            "policy rejectx+vrm: vrm takes no admission: its queue alone says what it holds; name it alone",
        ),
        ("vrm+next", "policy vrm+next: vrm takes no prefetch: its queue alone says what it holds; name it alone"),
        ("lru+vrm", "policy lru+vrm: a cache has one eviction, not lru and vrm; name one"),
        (
            "follow(experts=lru|vrm)",
            "policy follow(experts=lru|vrm): follow: expert vrm does not say which pages leave",
        ),
        ("folow", "policy folow: folow is unknown, did you mean follow?; a policy is "),
        ("follow(experts=)", "policy follow(experts=): follow: expert (empty): a component is missing; a policy is "),
        ("follow(experts=lru|)", "policy follow(experts=lru|): follow: expert (empty): a component is missing; "),
        ("follow(experts=lru|aarc)", "policy follow(experts=lru|aarc): follow: expert aarc: aarc is unknown, did you "),
        ("follow(experts=lru(n=1))", "policy follow(experts=lru(n=1)): follow: expert lru(n=1): lru takes no n; it "),
        ("follow(experts=lru+fifo)", "policy follow(experts=lru+fifo): follow: expert lru+fifo: a cache has one "),
        ("follow(experts=lru, experts=arc)", "policy follow(experts=lru, experts=arc): follow: experts is given twice"),
        ("follow(experts=lru|acceptall+lru)", "policy follow(experts=lru|acceptall+lru): follow: expert lru is named "),
        ("follow(experts=belady)", "policy follow(experts=belady): follow: expert belady is a bound, which no cache "),
        (
            "follow(experts=lru+next)",
            "policy follow(experts=lru+next): follow: expert lru+next prefetches; write +next",
        ),
        ("follow(experts=follow)", "policy follow(experts=follow): follow: an expert follows no others; "),
        (
            "follow(experts=lru|follow(experts=arc))",
            "policy follow(experts=lru|follow(experts=arc)): follow: an expert",
        ),
        ("follow(experts=" + "follow(" * 5000, "policy follow(experts=follow("),
        (
            "follow(lru|arc)",
            "policy follow(lru|arc): follow: lru|arc stands where name=value should; it takes experts, ",
        ),
        ("follow(expert=lru)", "policy follow(expert=lru): follow takes no expert, did you mean experts?; it takes "),
        (
            "follow(half_life=0)",
            "policy follow(half_life=0): follow: half_life = 0 is outside [0.001, 1e+06]; accesses",
        ),
        ("follow(lead=1, lead=2)", "policy follow(lead=1, lead=2): follow: lead is given twice"),
        ("follow+arc", "policy follow+arc: a cache has one eviction, not follow and arc; name one"),
        ("rejectx+follow", "policy rejectx+follow: follow takes no admission: each of its experts has its own; write "),
        ("next+follow", "policy next+follow: components stand as [admission+]eviction[+prefetch]; write follow+next"),
        (
            f"follow(experts={'|'.join(f'lrfu(decay={k + 1}e-3)' for k in range(33))})",
            f"policy follow(experts={'|'.join(f'lrfu(decay={k + 1}e-3)' for k in range(33))}): follow: 33 experts ",
        ),
        ("lru\n+lru", "policy lru +lru: a cache has one eviction, not lru and lru; name one"),
    ],
)
def test_what_is_wrong_is_said(text, said):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert str(caught.value).startswith(said)
    assert len(str(caught.value).splitlines()) == 1


def test_a_text_becomes_what_the_engine_runs():
    composition = parse("coinflip(p=0.25)+lru").composition()
    assert (composition.eviction, composition.admission) == (LRU, COIN_FLIP)
    assert (composition.eviction_values, composition.admission_values) == ({}, {"p": 0.25})
    trace = seeded_trace(60, 30, 1)
    pages = expand_pages(trace)
    spec = parse("coinflip(p=0.5)+lru+next(n=4)")
    stream = prefetched_stream(trace, pages, spec.plan(trace, pages))
    run = simulate(spec.composition(), stream, 10)
    assert len(np.unique(run.outcome)) == 4
    assert len(parse("lru").plan(trace, pages).page_ids) == 0


def test_a_bound_is_no_composition():
    assert parse("belady").is_bound
    assert not parse("lru").is_bound
    with pytest.raises(ConfigError, match=r"^belady is a bound, which no cache is composed of$"):
        parse("belady").composition()


def test_a_follower_is_no_composition_but_its_experts_are():
    spec = parse("follow(experts=lru|rejectx+arc)")
    assert spec.is_follower and not spec.is_bound and not parse("lru").is_follower
    with pytest.raises(ConfigError, match=r"^follow\(experts=lru\|rejectx\+arc\) follows several compositions and is"):
        spec.composition()
    assert [expert.composition().admission.id for expert in spec.eviction.experts] == ["acceptall", "rejectx"]

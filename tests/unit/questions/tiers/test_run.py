"""Hierarchies: each kind is its naive oracle, and no page is lost or doubled."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, HIT, NONE
from cachezoo.policies.engine import Run
from cachezoo.policies.registry import behind_decisions, policy
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.run import (
    BUFFER,
    DISK,
    EVICTED,
    MOVED_UP,
    RAM,
    SSD,
    VOIDED,
    WRITTEN,
    below,
    counts,
    questions,
    run_tiers,
)
from cachezoo.questions.tiers.stream import tier_stream
from tests.oracles import tiers as naive
from tests.tiers_data import byte_trace, held_after, page_stream, skewed, tier_streams

IN_RAM = ("lru", "fifo", "lfu", "inlfu", "hcalfu", "arc", "rejectx+lru", "coinflip+s3fifo", "rejectx+hcalfu")
ON_SSD = ("lru", "fifo", "lfu", "inlfu", "hcalfu", "arc", "sieve", "twoq", "lirs", "rejectx+lru", "coinflip+arc",
          "bloom+hcalfu")  # fmt: skip
KINDS = ("exclusive", "promotion", "inclusive")
ALL = ("hca", "arc | tb=16K | rejectx+lirs", "lfu | twoq", "promotion: lru | rejectx+fifo", "promotion: lfu | arc",
       "inclusive: lru | lru", "inclusive: arc | coinflip+s3fifo", "l2arc")  # fmt: skip


def components(text):
    return text.split("+") if "+" in text else ("acceptall", text)


def naively(kind, ts, ram, ssd, ram_pages, ssd_pages, room):
    memory = naive.Memory(*components(ram), ts.stream, ram_pages)
    flash = naive.Flash(*components(ssd), ts.stream, ssd_pages)
    found, events = naive.run(kind, ts.stream, ts.write, ts.address.tolist(), memory, flash, room)
    return found, events, flash.asked


def events_of(run):
    return list(zip(run.event_at.tolist(), run.event_page.tolist(), run.event.tolist(), strict=True))


def text_of(kind, ram, ssd, room):
    buffer = f" tb={4 * room}K |" if room else ""
    return f"{'' if kind == 'exclusive' else kind + ': '}{ram} |{buffer} {ssd}"


@pytest.mark.parametrize("ssd", ON_SSD)
@pytest.mark.parametrize("kind", KINDS)
@given(ts=tier_streams(), data=st.data())
def test_a_hierarchy_is_its_naive_oracle(kind, ssd, ts, data):
    ram, ram_pages, ssd_pages = (
        data.draw(st.sampled_from(IN_RAM)),
        data.draw(st.integers(1, 6)),
        data.draw(st.integers(1, 12)),
    )
    room = data.draw(st.integers(0, 5)) if kind == "exclusive" else 0
    run = run_tiers(parse_hierarchy(text_of(kind, ram, ssd, room)), ts, ram_pages, ssd_pages)
    found, events, _ = naively(kind, ts, ram, ssd, ram_pages, ssd_pages, room)
    assert run.tier.tolist() == found
    assert events_of(run) == events


@pytest.mark.parametrize("ssd", ["lru", "rejectx+hcalfu", "coinflip+arc", "inlfu"])
@pytest.mark.parametrize("ram", ["hcalfu", "lfu", "coinflip+lru"])  # of which two refuse pages
@pytest.mark.parametrize("kind", KINDS)
def test_a_hierarchy_is_its_naive_oracle_on_a_long_trace(kind, ram, ssd):
    ts, room = skewed(3000, 300), 7 if kind == "exclusive" else 0
    run = run_tiers(parse_hierarchy(text_of(kind, ram, ssd, room)), ts, 30, 70)
    found, events, _ = naively(kind, ts, ram, ssd, 30, 70, room)
    assert run.tier.tolist() == found
    assert events_of(run) == events


@given(ts=tier_streams(), ram=st.sampled_from(IN_RAM), ram_pages=st.integers(1, 6), room=st.integers(0, 5),
       kind=st.sampled_from(KINDS))  # fmt: skip
def test_the_questions_are_those_of_the_oracle(ts, ram, ram_pages, room, kind):
    room = room if kind == "exclusive" else 0
    hierarchy = parse_hierarchy(text_of(kind, ram, "lru", room))
    found = questions(hierarchy, ts, hierarchy.ram_policy().simulate(ts.stream, ram_pages))
    _, _, asked = naively(kind, ts, ram, "lru", ram_pages, 3, room)
    own = found.asked
    assert list(zip(own.page.tolist(), own.at.tolist(), own.code.tolist(), strict=True)) == asked
    pages = ts.stream.page_ids.tolist()
    seen = [max(k for k in range(at + 1) if pages[k] == page) for page, at, _ in asked]
    assert own.seen.tolist() == seen
    assert found.stream.flags.tolist() == ts.stream.flags[seen].tolist()
    assert found.stream.request_pages.tolist() == ts.stream.request_pages[seen].tolist()


@given(ts=tier_streams(), ram_pages=st.integers(1, 8), ssd_pages=st.integers(1, 8), budget=st.integers(1, 6),
       headroom=st.sampled_from([1, 1.5, 3]), feed=st.sampled_from([1, 200]))  # fmt: skip
def test_l2arc_is_its_naive_oracle(ts, ram_pages, ssd_pages, budget, headroom, feed):
    rate = budget * 4096 * 1000 // feed
    run = run_tiers(parse_hierarchy(f"l2arc(rate={rate}, headroom={headroom}, feed={feed})"), ts, ram_pages, ssd_pages)
    ram = naive.cache("arc", ts.stream, ram_pages)
    found, events = naive.l2arc(
        ts.stream, ts.write, ts.time_us, ram, ssd_pages, feed * 1000, budget, int(headroom * budget)
    )
    assert run.tier.tolist() == found
    assert events_of(run) == events


@pytest.mark.parametrize("text", ALL)
def test_no_page_is_lost_or_doubled(text):
    ts = skewed()
    run = run_tiers(parse_hierarchy(text), ts, 200, 600)
    sizes, held = held_after(run, ts.pages.n_pages)
    assert sizes.max() <= run.ssd_pages == 600
    number = np.bincount(run.event, minlength=4)
    assert number[WRITTEN] == number[EVICTED] + number[MOVED_UP] + number[VOIDED] + len(held)
    assert (number[[WRITTEN, EVICTED, VOIDED]] > 0).all()
    assert (np.diff(run.event_at) >= 0).all()
    assert ((run.tier == SSD).sum() > 0) and ((run.tier == BUFFER).any() == ("tb=" in str(run.hierarchy)))


@pytest.mark.parametrize("text", [text for text in ALL if "|" in str(parse_hierarchy(text)) and ":" not in text])
def test_exclusive_a_page_is_in_one_tier_at_most(text):
    ts, hierarchy = skewed(), parse_hierarchy(text)
    l1 = hierarchy.ram_policy().simulate(ts.stream, 200)
    run = run_tiers(hierarchy, ts, 200, 600, l1)
    place, e, waiting = np.full(ts.pages.n_pages, DISK), 0, 0
    for i, page in enumerate(ts.stream.page_ids.tolist()):
        assert run.tier[i] == place[page]
        if run.tier[i] == BUFFER and (l1.outcome[i] == ADMITTED or ts.write[i]):
            place[page] = DISK
            waiting -= 1
        left = l1.victim[i]
        flushed = set()
        while e < len(run.event) and run.event_at[e] == i:
            own, code = run.event_page[e], run.event[e]
            assert (place[own] != SSD) == (code == WRITTEN)
            if code == WRITTEN and place[own] == BUFFER:
                flushed.add(own)
            place[own] = SSD if code == WRITTEN else DISK
            e += 1
        if hierarchy.buffer_bytes and left != NONE:
            if waiting == hierarchy.buffer_bytes // 4096:
                assert flushed or hierarchy.ssd != "lru"  # nothing keeps a flushed page out of hca's SSD
                place[place == BUFFER] = DISK
                waiting = 0
            place[left] = BUFFER
            waiting += 1
        if l1.outcome[i] == ADMITTED:
            assert place[page] == DISK
            place[page] = RAM
    assert e == len(run.event)


def test_every_page_flushed_to_an_ssd_that_admits_all_is_written():
    ts = skewed()
    l1 = parse_hierarchy("hca").ram_policy().simulate(ts.stream, 200)
    for room, text in ((0, "hcalfu | lru"), (16, "hca")):
        run = run_tiers(parse_hierarchy(text), ts, 200, 600, l1)
        back = np.count_nonzero((run.tier == BUFFER) & ((l1.outcome == ADMITTED) | ts.write))
        written = int((run.event == WRITTEN).sum())
        assert 0 <= np.count_nonzero(l1.victim != NONE) - back - written <= room


def test_below_a_ram_that_takes_all_lru_is_fifo_of_demotions():
    ts = skewed()
    one, other = (run_tiers(parse_hierarchy(f"arc | {own}"), ts, 200, 600) for own in ("lru", "fifo"))
    assert one.tier.tolist() == other.tier.tolist()
    assert events_of(one) == events_of(other) == events_of(run_tiers(parse_hierarchy("arc | inlfu"), ts, 200, 600))
    refusing = [run_tiers(parse_hierarchy(f"lfu | {own}"), ts, 200, 600) for own in ("lru", "fifo")]
    assert events_of(refusing[0]) != events_of(
        refusing[1]
    )  # a page that RAM refuses stays on the SSD, and is used there


def test_one_run_of_ram_and_its_questions_serve_every_size():
    ts, hierarchy = skewed(), parse_hierarchy("arc | tb=16K | rejectx+twoq")
    l1 = hierarchy.ram_policy().simulate(ts.stream, 200)
    asked = questions(hierarchy, ts, l1)
    before = asked.tier.copy()
    for pages in (1, 100, 600):
        shared, alone = run_tiers(hierarchy, ts, 200, pages, asked=asked), run_tiers(hierarchy, ts, 200, pages)
        assert shared.tier.tolist() == alone.tier.tolist()
        assert events_of(shared) == events_of(alone) == events_of(run_tiers(hierarchy, ts, 200, pages, l1))
    assert (asked.tier == before).all()


def test_ram_alone_and_above_an_ssd_is_the_zoos_cache():
    ts = skewed()
    for text, policy_id in (("rejectx+lirs", "rejectx+lirs"), ("l2arc", "arc"), ("promotion: lfu | lru", "lfu")):
        run = run_tiers(parse_hierarchy(text), ts, 200, 600)
        outcome = policy(policy_id).simulate(ts.stream, 200).outcome
        assert ((run.tier == RAM) == (outcome == HIT)).all()


def test_a_follower_may_be_in_ram():
    ts = skewed(6000)
    run = run_tiers(parse_hierarchy("follow(experts=lru|lfu) | tb=16K | lru"), ts, 200, 300)
    outcome = policy("follow(experts=lru|lfu)").simulate(ts.stream, 200).outcome
    assert ((run.tier == RAM) == (outcome == HIT)).all()
    assert (run.tier == SSD).any()


@pytest.mark.parametrize("kind", ["", "promotion: "])
def test_a_bundle_admits_to_the_ssd_by_the_last_request_of_the_page(kind):
    ts, hierarchy = page_stream([0, 1, 2, 3, 0, 1, 2, 3]), parse_hierarchy(f"{kind}lru | bundle+lru")
    decisions = np.array([1, 0, 1, 0, 0, 1, 0, 0], np.bool_)
    run = run_tiers(hierarchy, ts, 1, 4, decisions=decisions)
    up = [(4, 0, MOVED_UP)], [(6, 2, MOVED_UP)]
    left, right = up if not kind else ([], [])
    assert events_of(run) == [(1, 0, WRITTEN), (3, 2, WRITTEN), *left, *right, (6, 1, WRITTEN)]


def test_a_bundle_admits_to_ram_and_what_it_refuses_stays_where_it_is():
    ts, decisions = page_stream([0, 1, 0, 1, 2, 0]), np.array([1, 1, 0, 1, 1, 0], np.bool_)
    run = run_tiers(parse_hierarchy("bundle+lru | lru"), ts, 1, 4, decisions=decisions)
    want = behind_decisions("model", decisions).simulate(ts.stream, 1)
    assert ((run.tier == RAM) == (want.outcome == HIT)).all()
    assert run.tier.tolist() == [DISK, DISK, SSD, RAM, DISK, SSD]
    assert events_of(run) == [(1, 0, WRITTEN), (4, 1, WRITTEN)]


def test_decisions_are_one_for_each_request_or_access_and_asked_of_a_bundle_alone():
    ts = tier_stream(byte_trace([0, 8192, 16384], [8192, 8192, 4096], [0, 0, 0]))
    by_request, by_access = np.array([1, 0, 1], np.bool_), np.array([1, 1, 0, 0, 1], np.bool_)
    runs = [run_tiers(parse_hierarchy("lru | bundle"), ts, 1, 4, decisions=own) for own in (by_request, by_access)]
    assert events_of(runs[0]) == events_of(runs[1]) == [(1, 0, WRITTEN), (2, 1, WRITTEN)]
    plain = parse_hierarchy("lru | lru")
    assert events_of(run_tiers(plain, ts, 1, 4, decisions=by_request)) == events_of(run_tiers(plain, ts, 1, 4))
    with pytest.raises(ConfigError, match="bundle: 2 decisions for a stream of 3 requests and 5 accesses"):
        run_tiers(parse_hierarchy("lru | bundle"), ts, 1, 4, decisions=by_request[:2])
    for text in ("lru | bundle+arc", "bundle+arc", "inclusive: bundle+hcalfu | lru"):
        with pytest.raises(ConfigError, match=r"none were given; name the bundle \(--bundle\)"):
            run_tiers(parse_hierarchy(text), ts, 1, 4)


@pytest.mark.parametrize("text", ["lru | hystor", "lru | reca", "promotion: lru | azor", "inclusive: lru | cacheus"])
def test_components_that_look_at_the_requests_run_on_the_ssd(text):
    ts = skewed(6000)
    run = run_tiers(parse_hierarchy(text), ts, 100, 300)
    held_after(run, ts.pages.n_pages)
    assert (run.tier == SSD).sum() > 50


def test_an_eviction_that_learns_has_its_lessons_on_the_ssd(monkeypatch):
    lessons = []

    def listened(eviction):
        own = below(eviction)
        return replace(own, learn=lambda state, served: (lessons.append(served), own.learn(state, served)))

    monkeypatch.setattr("cachezoo.questions.tiers.run.below", listened)
    ts, hierarchy = skewed(80_000, 4000, writes=0.0), parse_hierarchy("lru | threelcache")
    asked = questions(hierarchy, ts, hierarchy.ram_policy().simulate(ts.stream, 200))
    run = run_tiers(hierarchy, ts, 200, 800, asked=asked)
    held_after(run, ts.pages.n_pages)
    every = hierarchy.ssd_composition().eviction.learn_every
    assert lessons == list(range(every, len(asked.asked.code), every))
    assert len(lessons) > 0
    assert (run.tier == SSD).sum() > 1000


def test_counts_add_up_and_count_a_part():
    ts = skewed()
    run = run_tiers(parse_hierarchy("hca"), ts, 200, 600)
    whole, first, second = counts(run, ts), counts(run, ts, 0, 10_000), counts(run, ts, 10_000)
    assert whole.reads + whole.writes == len(ts)
    assert whole.ram + whole.buffer + whole.ssd + whole.disk == whole.reads
    assert whole.ssd_writes == (run.event == WRITTEN).sum()
    for name in ("reads", "ram", "buffer", "ssd", "disk", "writes", "ssd_writes"):
        assert getattr(whole, name) == getattr(first, name) + getattr(second, name)
    assert whole.rhr + whole.shr + whole.dhr == pytest.approx(1)
    assert whole.buffer > 0


def test_what_is_no_hierarchy_is_refused():
    ts = skewed(100)
    for ram, ssd in ((0, 5), (5, 0)):
        with pytest.raises(ConfigError, match="each has at least one; without an SSD write lru alone"):
            run_tiers(parse_hierarchy("lru | lru"), ts, ram, ssd)
    with pytest.raises(ConfigError, match="no composition runs its SSD"):
        parse_hierarchy("l2arc").ssd_composition()
    assert run_tiers(parse_hierarchy("lru"), ts, 5, 0).ssd_pages == 0


def test_ram_must_say_what_it_evicts():
    ts, hierarchy = skewed(100), parse_hierarchy("lru | lru")
    with pytest.raises(ConfigError, match="does not say which pages left"):
        run_tiers(hierarchy, ts, 5, 5, Run.of_outcomes(policy("lru").simulate(ts.stream, 5).outcome))

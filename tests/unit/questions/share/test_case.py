"""Scores of what partitioners did, compared with the same by hand; the answer, and what qualifies it."""

import numpy as np
import pytest

from cachezoo.contest.choice import Goal
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.errors import ConfigError
from cachezoo.questions.share.answer import (
    answer,
    by_application,
    caption,
    cells,
    hits_and_slowdown,
    put_into_service,
    reads,
    service,
    uneven,
    values,
)
from cachezoo.questions.share.case import CACHE_US, Case, Score, compare, counted_from, disk_us
from cachezoo.questions.share.mix import Application, mix_pages, mix_traces
from cachezoo.questions.share.partition import Floor, Shared
from cachezoo.questions.share.partitioners import parse, parse_several
from cachezoo.questions.tiers.response import DRAM_US
from cachezoo.show.formats import NONE
from tests.oracles import sharing as oracle
from tests.sharing_data import named_trace, small_mix

MIX = small_mix()
DISK_US = np.array([1000.0, 2000.0, 4000.0])


def case(warmup="0", pages=24):
    return Case.of(MIX, pages, DISK_US, counted_from(MIX, warmup, pages))


def score(text, warmup="0"):
    return case(warmup).score(parse(text))


def test_a_page_in_memory_takes_what_it_takes_in_tiers():
    assert CACHE_US == DRAM_US


@pytest.mark.parametrize("warmup", ["0", "half", "100,5,2000"])
def test_figures_are_those_of_the_references_that_count(warmup):
    own = score("gvpa(fragment=1, q=50, n=64)", warmup)
    mask, shared = own.case.counts, own.shared
    read = 0.0
    for a, one in enumerate(own.applications):
        mine = mask & (MIX.app == a)
        hit = shared.hit[mine].mean()
        late = shared.begins - 1 >= own.case.start[a]
        moved = shared.fragmentation[mine].sum() + shared.allocation[late, a].sum()
        assert one.references == mine.sum() and one.hit_ratio == pytest.approx(hit)
        assert one.transfers == pytest.approx((moved + (~shared.hit[mine]).sum()) / mine.sum())
        assert one.beside == pytest.approx(moved / mine.sum())
        read += moved + (~shared.hit[mine]).sum()
    assert own.transfers == pytest.approx(read / mask.sum())
    assert own.transfers == pytest.approx(own.misses + own.fragmentation + own.allocation)
    assert own.hit_ratio == pytest.approx(shared.hit[mask].mean())
    assert own.hits.interval[0] <= own.hit_ratio <= own.hits.interval[1]
    assert own.blocks.mean() == pytest.approx(own.transfers, rel=0.01)


def test_slowdowns_are_against_all_of_the_cache_alone():
    own = score("equal(fragment=1)")
    hits = 1 - np.array(oracle.misses(MIX.app, MIX.page_ids, 3, 24)) / 3000
    assert own.case.alone(24).tolist() == pytest.approx(hits.tolist())
    slow = []
    for a, one in enumerate(own.applications):
        times = [ratio * 0.1 + (1 - ratio) * DISK_US[a] for ratio in (one.hit_ratio, hits[a])]
        slow.append(times[0] / times[1])
        assert one.slowdown == pytest.approx(slow[-1])
    assert own.fairness == pytest.approx(3 / sum(slow))
    assert own.speedup == pytest.approx(sum(1 / value for value in slow))


def test_an_application_that_counts_no_more_has_no_figures_and_spoils_none():
    start = counted_from(MIX, "0", 24)
    start[1] = len(MIX)
    own = Case.of(MIX, 24, DISK_US, start).score(parse("equal(fragment=1)"))
    assert own.applications[1].hit_ratio is None and own.applications[1].slowdown is None
    assert 0 < own.fairness < 1 and own.speedup < 2


def test_mean_shares_are_over_the_time_that_counts():
    begins = np.array([0, 300, 600])
    shared = Shared.of_hits(np.zeros(9000, np.bool_), begins, np.array([[24, 0, 0], [0, 24, 0], [0, 0, 24]]))
    own = Score.of(case("450"), parse("equal"), shared)
    assert [one.pages for one in own.applications] == pytest.approx([0, 24 * 150 / 8550, 24 * 8400 / 8550])


def test_a_cache_that_does_not_say_whose_pages_it_holds_is_not_said_to_hold_none():
    told = score("shared(policy=lru, fragment=1)")
    own = score("shared(policy=vrm(n=64, fragment=2, q=50), fragment=1)", warmup="half")
    shown = own.values()
    assert told.values()["split"] and all(one.pages for one in told.applications)
    assert shown["split"] == [] and [one["pages"] for one in shown["applications"]] == [None] * 3
    assert shown["fragmentation"] is None and shown["allocation"] is None
    assert shown["moved"] == pytest.approx(own.shared.moved[own.case.counts].mean()) and shown["moved"] > 0
    assert own.transfers == pytest.approx(own.misses + own.moved)
    assert cells(own)["new splits"] == "in runs" and cells(own)["runs"] == f"{own.moved:.4f}"


def test_leads_are_paired_by_time():
    best, other = score("static-best(fragment=1)"), score("equal(fragment=1)")
    own = best.lead(other, Goal.COST)
    assert own.value == pytest.approx(1 - best.transfers / other.transfers)
    assert own.ends[0] <= own.value <= own.ends[1] and own.told_apart
    assert not best.lead(best, Goal.COST).told_apart


@pytest.mark.parametrize(
    ("warmup", "message"),
    [
        ("some", "--count 'some': give half, auto, all"),
        ("9000", "--count 9000: the trace ends before"),
        ("1,2", "2 rules for 3 applications"),
        ("1,2,3000", "--count 3000: the trace ends before"),
        ("", "--count ''"),
    ],
)
def test_a_warmup_that_leaves_nothing_is_refused(warmup, message):
    with pytest.raises(ConfigError, match=message):
        counted_from(MIX, warmup, 24)


def test_warmups():
    assert counted_from(MIX, "auto", 24).tolist() == [900] * 3
    assert counted_from(MIX, "auto", 2000).tolist() == [3000] * 3
    assert counted_from(MIX, "half", 24).tolist() == [4500] * 3
    assert counted_from(MIX, "0,1,2", 24).tolist() == [0, 4, 8]
    filled = counted_from(MIX, "auto", 1200)[0]
    assert MIX.distinct[filled - 1] == 1200 or filled == 3000


TRACES = [named_trace("web", 900, 300, 1), named_trace("mail", 700, 200, 2)]


def found(by, warmup="auto", pages=128, traces=TRACES):
    return compare(mix_traces(traces), parse_several(by), pages, warmup, BUILT_IN.hdd)


def test_disk_times_are_each_applications_own():
    times = disk_us(mix_traces(TRACES), BUILT_IN.hdd)
    assert (times > 1000).all() and times[0] != times[1]


def test_the_answer_is_to_share_or_to_split():
    said = answer(found("equal(fragment=8),shared(fragment=8),static-best(fragment=8)", "half"))
    assert said.startswith(("Share it: ", "Split it: ", "Change nothing: ")) and "pages for each page access" in said
    assert "without the future" in answer(found("static-best(fragment=8)"))
    assert answer(found("equal(fragment=8)")).startswith("Change nothing: equal(fragment=8), which runs today, reads")


def looping(length=4000):
    """A loop that an own part holds, and a scan that washes it out of one LRU for all."""
    return mix_pages([
        Application("loop", (np.arange(length) % 40).astype(np.int32), 40),
        Application("scan", np.arange(length, dtype=np.int32), length),
    ])  # fmt: skip


LOOPING = "shared(fragment=4),learned(fragment=4, policy=lru|lfu),equal(fragment=4)"


def test_what_is_advised_was_chosen_before_and_is_put_into_service():
    own = compare(looping(), parse_several(LOOPING), 60, "half", BUILT_IN.hdd)
    assert own.advised is own.best() is own.rows[1] and own.now == own.rows[0].candidate
    assert own.earlier[own.rows[1].candidate] < own.earlier[own.now] == pytest.approx(1.0)
    said = answer(own).replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith(
        "Split it: learned(policy=lru|lfu, fragment=4) (loop 224 KiB with lru and scan 16 KiB with lru)"
    )
    assert "and saves 50.0 % [50.0, 50.0] against shared(fragment=4), which runs today" in said
    assert service(own) == [
        "to try it on other traces: --partitioner 'fixed(pages=56/4, policy=lru/lru, fragment=4)'",
        "in a cache daemon: Tenants.fixed([('lru', 56), ('lru', 4)]) of cachezoo.runtime, or cz_tenants_new "
        "(docs/runtime.md)",
        "on a disk of loop: nbdkit --filter=cachezoo file DISK cz-ssd=PART cz-size=224K cz-mode=lru",
        "on a disk of scan: nbdkit --filter=cachezoo file DISK cz-ssd=PART cz-size=16K cz-mode=lru",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "fixed(pages=40/20, policy=s3fifo/lfu, fragment=4)",
            ["to try", "in a cache daemon: Tenants.fixed([('s3fifo'"],
        ),
        (
            "fixed(pages=40/20, policy=arc/lru, fragment=4)",
            ["to try", "simulation only: cachezoo cannot run arc;"],
        ),
        ("shared(policy=s3fifo, fragment=4)", ["in a cache daemon: Tenants.shared(2, 60, 's3fifo')"]),
        ("shared(fragment=4)", ["in a cache daemon: Tenants.shared(2, 60, 'lru')", "on a disk of all: nbdkit"]),
        ("shared(policy=arc, fragment=4)", ["simulation only: cachezoo cannot run arc;"]),
        ("ucp(window=99, fragment=4)", ["in a cache daemon: Tenants.ucp(2, 60, fragment=4, window=99) of"]),
        ("ucp(window=99, policy=s3fifo, fragment=4)", ["simulation only: cachezoo cannot run ucp(policy"]),
        ("climb(fragment=4)", ["simulation only: cachezoo cannot run climb(fragment=4)"]),
        ("gvpa(fragment=4, n=64)", ["in a cache daemon: cz_share_new of libcachezoo"]),
    ],
)
def test_what_a_runtime_has_is_typed_and_what_none_has_is_simulation_only(text, said):
    own = Case.of(looping(), 60, DISK_US[:2], np.array([4000, 4000])).score(parse(text))
    found = put_into_service(own)
    assert len(found) == len(said) and all(map(str.startswith, found, said)), found


def test_nothing_changes_where_nothing_is_gained():
    pair = mix_pages([Application(name, np.arange(2000, dtype=np.int32), 2000) for name in "ab"])
    own = compare(pair, parse_several("equal(fragment=4),shared(fragment=4),ucp(fragment=4)"), 60, "half", BUILT_IN.hdd)
    assert own.advised is own.best() or own.advised is None
    assert answer(own).startswith("Change nothing: shared(fragment=4), which runs today, reads 1.0000 pages")
    assert service(own) == []


def test_where_nothing_changes_what_reads_least_in_hindsight_is_named():
    """In the first half one LRU is as good as any split; in the second a scan washes a loop out of it."""
    first, then = np.tile(np.arange(30), 67)[:2000], np.arange(2000) % 40 + 30
    pair = mix_pages([
        Application("loop", np.append(first, then).astype(np.int32), 70),
        Application("scan", np.append(np.zeros(2000), np.arange(2000)).astype(np.int32), 2000),
    ])  # fmt: skip
    own = compare(
        pair, parse_several("fixed(pages=20/40, fragment=4),fixed(pages=52/8, fragment=4)"), 60, "half", BUILT_IN.hdd,
        now=parse("shared(fragment=4)"),
    )  # fmt: skip
    assert own.advised is None and own.best() is own.row(own.now)
    said = answer(own).replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith("Change nothing: shared(fragment=4), which runs today, reads 0.9998 pages for")
    least = (
        "In hindsight fixed(pages=52/8, fragment=4) reads least, which the first part of the traces did not choose: "
        "it saves 49."
    )
    assert least in said and "against shared(fragment=4)" in said


def test_a_floor_that_today_is_missed_is_a_reason_to_change():
    floors = (Floor(hits=0.9), Floor(pages=8))
    own = compare(looping(), parse_several(LOOPING), 60, "half", BUILT_IN.hdd, floors=floors)
    assert own.earlier[own.now] is None and own.advised is own.rows[1]
    assert (
        "kept the floors on the first part of the traces, and shared(fragment=4), which runs today, does not"
        in answer(own)
    )
    assert "All floors are kept." in answer(own)
    high = compare(looping(), parse_several(LOOPING), 60, "half", BUILT_IN.hdd, floors=(Floor(), Floor(hits=0.1)))
    assert answer(high).startswith("None keeps the floors. ") and "scan has a hit ratio of 0.000, not 0.1" in answer(
        high
    )


def test_where_all_counts_nothing_is_advised():
    own = compare(looping(), parse_several(LOOPING), 60, "all", BUILT_IN.hdd)
    assert own.earlier == {} and own.advised is None and service(own) == []
    assert answer(own).startswith("Nothing is advised: too few page accesses come before those that count")
    assert own.left_out[0].startswith(
        "left out: learned(policy=lru|lfu, fragment=4): it learns from page accesses before"
    )


def test_the_answer_says_what_a_higher_hit_ratio_costs():
    mix = [named_trace("a", 3000, 400, 5), named_trace("b", 3000, 400, 6)]
    by = "gvpa(fragment=8, q=200, n=1024),equal(fragment=8),shared(fragment=8)"
    own = found(by, traces=mix, warmup="half")
    said = answer(own)
    gvpa, *others = own.rows
    assert gvpa.moved > 0 == max(row.moved for row in others)
    assert (
        "gvpa(n=1024, fragment=8, q=200) hits more often but is no option: it also reads pages that it brings into the "
        "cache without a miss, and so "
    ) in said


def test_a_short_mix_is_said_to_be_short():
    short = [named_trace("a", 60, 40, 5), named_trace("b", 60, 40, 6)]
    own = found("equal(fragment=8),shared(fragment=8)", traces=short, pages=32)
    assert own.rows[0].hits.interval is None and "too few page accesses come before" in answer(own)
    assert cells(own.rows[0])["90 %"] == NONE


def test_tables_and_values():
    own = found("equal(fragment=8),gvpa(fragment=8, q=50)")
    assert [row["partitioner"] for row in values(own)["rows"]] == ["equal(fragment=8)", "gvpa(fragment=8, q=50)"]
    split = values(own)["rows"][0]["split"]
    assert split == [[0, 64, 64]]
    both = by_application(own, hits_and_slowdown)
    assert both[0]["application"] == "web" and " x" in both[1]["equal(fragment=8)"]
    said = caption(own, "some device")
    assert "in the order of their times, each trace from its own 0 on" in said and "some device" in said
    assert by_application(own, reads)[1] == {
        "application": "mail", **{str(row.candidate): f"{row.applications[1].transfers:.3f}" for row in own.rows},
    }  # fmt: skip
    assert cells(own.rows[0])["knows ahead"] == NONE


def test_a_cache_for_all_pages_is_refused():
    with pytest.raises(ConfigError, match="there is nothing to split"):
        found("equal", pages=10**6)


def notes(*lengths, warmup="0"):
    own = mix_pages(
        [Application(f"a{k}", np.arange(length, dtype=np.int32), length) for k, length in enumerate(lengths)]
    )
    lines = uneven(Case.of(own, 1, np.zeros(len(lengths)), counted_from(own, warmup)))
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def test_applications_of_which_little_is_there_are_noted():
    assert notes(500, 600, warmup="100") == []
    assert notes(600, 700, warmup="500,0") == ["only 100 of the 600 page accesses of a0 count"]
    assert notes(100, 1900, warmup="100") == [
        "a0 ends at 10 % of the run; after that a1 has the cache to itself; 50 of the 100 page accesses of a0 count"
    ]
    assert notes(50, 500, 500)[0].startswith("a0 ends at 14 % of the run; after that the 2 that go on have the cache; ")
    lines = notes(40, 30, 20, 10, 50, 2000)
    assert [line.split()[0] for line in lines] == ["a3", "a2", "a1", "2"]
    assert lines[-1] == "2 more applications end early too, or few of their page accesses count"

"""Figures of what partitioners did, beside the same by hand."""

import numpy as np
import pytest

from cachezoo.console import Advance
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.errors import ConfigError
from cachezoo.questions.share.bench import Bench
from cachezoo.questions.share.contest import CACHE_US, contest, usual_times
from cachezoo.questions.share.counting import counting
from cachezoo.questions.share.judged import Times, alone, judge, lead
from cachezoo.questions.share.mix import mix_traces
from cachezoo.questions.share.partition import Shared, parse, parse_several
from cachezoo.questions.share.said import answer, caption, cells, each, read, values
from cachezoo.questions.tiers.response import DRAM_US
from cachezoo.show.formats import NONE
from tests.oracles import sharing as oracle
from tests.sharing_data import named_trace, small_mix

MIX = small_mix()
BENCH = Bench(MIX)
TIMES = Times(0.1, np.array([1000.0, 2000.0, 4000.0]))


def silent(done: float, note: str = "") -> None:
    del done, note


ADVANCE: Advance = silent


def judged(text, warmup="0", pages=24):
    counted = counting(MIX, warmup, pages)
    return judge(parse(text), parse(text).run(BENCH, pages, counted.counted), BENCH, pages, counted, TIMES), counted


def test_a_page_in_memory_takes_what_it_takes_in_tiers():
    assert CACHE_US == DRAM_US


@pytest.mark.parametrize("warmup", ["0", "half", "100,5,2000"])
def test_figures_are_those_of_the_references_that_count(warmup):
    own, counted = judged("gvpa(fragment=1, q=50, n=64)", warmup)
    mask, shared = counted.counted, own.shared
    read = 0.0
    for a, one in enumerate(own.applications):
        mine = mask & (MIX.app == a)
        hit = shared.hit[mine].mean()
        late = shared.begins - 1 >= counted.start[a]
        moved = shared.fragmentation[mine].sum() + shared.allocation[late, a].sum()
        assert one.references == mine.sum() and one.hit_ratio == pytest.approx(hit)
        assert one.transfers == pytest.approx((moved + (~shared.hit[mine]).sum()) / mine.sum())
        assert one.beside == pytest.approx(moved / mine.sum())
        read += moved + (~shared.hit[mine]).sum()
    assert own.transfers == pytest.approx(read / mask.sum())
    assert own.transfers == pytest.approx(own.misses + own.fragmentation + own.allocation)
    assert own.hit_ratio == pytest.approx(shared.hit[mask].mean())
    assert own.hits.ends[0] <= own.hit_ratio <= own.hits.ends[1]
    assert own.block_transfers.mean() == pytest.approx(own.transfers, rel=0.01)


def test_slowdowns_are_against_all_of_the_cache_alone():
    own, counted = judged("equal(fragment=1)")
    hits = 1 - np.array(oracle.misses(MIX.app, MIX.page_ids, 3, 24)) / 3000
    assert alone(BENCH, 24, counted).tolist() == pytest.approx(hits.tolist())
    slow = []
    for a, one in enumerate(own.applications):
        times = [ratio * 0.1 + (1 - ratio) * TIMES.disk_us[a] for ratio in (one.hit_ratio, hits[a])]
        slow.append(times[0] / times[1])
        assert one.slowdown == pytest.approx(slow[-1])
    assert own.fairness == pytest.approx(3 / sum(slow))
    assert own.speedup == pytest.approx(sum(1 / value for value in slow))


def test_an_application_that_counts_no_more_has_no_figures_and_spoils_none():
    late = counting(MIX, "0", 24)
    start = late.start.copy()
    start[1] = len(MIX)
    own = judge(parse("equal(fragment=1)"), parse("equal(fragment=1)").run(BENCH, 24), BENCH, 24,
                type(late).of(MIX, start), TIMES)  # fmt: skip
    assert own.applications[1].hit_ratio is None and own.applications[1].slowdown is None
    assert 0 < own.fairness < 1 and own.speedup < 2


def test_mean_shares_are_over_the_time_that_counts():
    begins = np.array([0, 300, 600])
    shared = Shared.of_hits(np.zeros(9000, np.bool_), begins, np.array([[24, 0, 0], [0, 24, 0], [0, 0, 24]]))
    own = judge(parse("equal"), shared, BENCH, 24, counting(MIX, "450", 24), TIMES)
    assert [one.pages for one in own.applications] == pytest.approx([0, 24 * 150 / 8550, 24 * 8400 / 8550])


def test_a_cache_that_does_not_say_whose_pages_it_holds_is_not_said_to_hold_none():
    told, _ = judged("shared(policy=lru, fragment=1)")
    own, counted = judged("shared(policy=vrm(n=64, fragment=2, q=50), fragment=1)", warmup="half")
    shown = own.values()
    assert told.values()["split"] and all(one.pages for one in told.applications)
    assert shown["split"] == [] and [one["pages"] for one in shown["applications"]] == [None] * 3
    assert shown["fragmentation"] is None and shown["allocation"] is None
    assert shown["moved"] == pytest.approx(own.shared.moved[counted.counted].mean()) and shown["moved"] > 0
    assert own.transfers == pytest.approx(own.misses + own.moved)
    assert cells(own)["new splits"] == "in runs" and cells(own)["runs"] == f"{own.moved:.4f}"


def test_leads_are_paired_by_time():
    best, other = judged("static-best(fragment=1)")[0], judged("equal(fragment=1)")[0]
    own = lead(best, other)
    assert own.value == pytest.approx(1 - best.transfers / other.transfers)
    assert own.ends[0] <= own.value <= own.ends[1] and own.told_apart
    assert not lead(best, best).told_apart


@pytest.mark.parametrize(
    ("warmup", "said"),
    [
        ("some", "--count 'some': give half, auto, all"),
        ("9000", "--count 9000: the trace ends before"),
        ("1,2", "2 rules for 3 applications"),
        ("1,2,3000", "--count 3000: the trace ends before"),
        ("", "--count ''"),
    ],
)
def test_a_warmup_that_leaves_nothing_is_refused(warmup, said):
    with pytest.raises(ConfigError, match=said):
        counting(MIX, warmup, 24)


def test_warmups():
    assert counting(MIX, "auto", 24).start.tolist() == [900] * 3
    assert counting(MIX, "auto", 2000).start.tolist() == [3000] * 3
    assert counting(MIX, "half", 24).start.tolist() == [4500] * 3
    assert counting(MIX, "0,1,2", 24).start.tolist() == [0, 4, 8]
    filled = counting(MIX, "auto", 1200).start[0]
    assert MIX.distinct[filled - 1] == 1200 or filled == 3000


TRACES = [named_trace("web", 900, 300, 1), named_trace("mail", 700, 200, 2)]


def found(by, warmup="auto", pages=128, traces=TRACES):
    return contest(mix_traces(traces), parse_several(by), pages, warmup, BUILT_IN, ADVANCE)


def test_disk_times_are_each_applications_own():
    times = usual_times(mix_traces(TRACES), BUILT_IN)
    assert times.cache_us == CACHE_US and (times.disk_us > 1000).all() and times.disk_us[0] != times.disk_us[1]


def test_the_answer_is_to_share_or_to_split():
    said = answer(found("equal(fragment=8),shared(fragment=8),static-best(fragment=8)"))
    assert said.startswith(("Share it: ", "Split it: ", "Either will do: ")) and "pages a reference" in said
    assert answer(found("equal(fragment=8),ucp(fragment=8, window=99)")).startswith("Of these ")
    assert "without the future" in answer(found("static-best(fragment=8)"))
    assert answer(found("equal(fragment=8)")).startswith("Of these equal(fragment=8) reads")


def test_the_answer_says_what_a_higher_hit_ratio_costs():
    mix = [named_trace("a", 3000, 400, 5), named_trace("b", 3000, 400, 6)]
    by = "gvpa(fragment=8, q=200, n=1024),equal(fragment=8),shared(fragment=8)"
    said = answer(found(by, traces=mix))
    assert "gvpa(n=1024, fragment=8, q=200) hits more often (" in said and "times as much" in said


def test_a_short_mix_is_said_to_be_short():
    short = [named_trace("a", 60, 40, 5), named_trace("b", 60, 40, 6)]
    own = found("equal(fragment=8),shared(fragment=8)", traces=short, pages=32)
    assert own.rows[0].hits.interval is None and "too short" in answer(own)
    assert cells(own.rows[0])["90 %"] == NONE


def test_tables_and_values():
    own = found("equal(fragment=8),gvpa(fragment=8, q=50)")
    assert [row["partitioner"] for row in values(own)["rows"]] == ["equal(fragment=8)", "gvpa(fragment=8, q=50)"]
    split = values(own)["rows"][0]["split"]
    assert split == [[0, 64, 64]]
    assert each(own)[0]["application"] == "web" and " x" in each(own)[1]["equal(fragment=8)"]
    said = caption(own, "some device")
    assert "in the order of their times, each trace from its own 0 on" in said and "some device" in said
    assert read(own)[1] == {
        "application": "mail", **{str(row.asked): f"{row.applications[1].transfers:.3f}" for row in own.rows},
    }  # fmt: skip
    assert cells(own.rows[0])["knows ahead"] == NONE


def test_a_cache_for_all_pages_is_refused():
    with pytest.raises(ConfigError, match="there is nothing to split"):
        found("equal", pages=10**6)

"""Recommendations for traces whose right answer is known."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.bundles.reader import load
from cachezoo.coded import Coded
from cachezoo.contest.lead import ahead
from cachezoo.contest.verdict import Verdict
from cachezoo.devices.built_in import BUILT_IN, DEFAULT
from cachezoo.devices.profile import load_models
from cachezoo.errors import BundleError, ConfigError, TraceError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import policy
from cachezoo.policies.simulate import Simulator, simulate
from cachezoo.questions.page import answer, learned, likeness, sentences
from cachezoo.questions.page.bundle import simulate_bundle
from cachezoo.questions.page.candidates import CANDIDATES, Halves, Ranking, name_of, rank
from cachezoo.questions.page.learned import Learned, measure
from cachezoo.questions.page.likeness import bundles_folder, flash_of, page_caches
from cachezoo.questions.page.recommendation import Options, Recommendation, confidence, models_of, recommend
from cachezoo.questions.page.report import page_of, values_of
from cachezoo.questions.page.sizes import CLOSE, knee, ladder, middle, shown, typed
from cachezoo.serve import found as places
from cachezoo.serving.requests import batch_of
from cachezoo.show.formats import ordinary
from cachezoo.sizes import Size
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.table import PAGE_BYTES, Trace, TraceMeta
from tests.html_page import FETCHED, HtmlPage
from tests.page_data import seeded_trace

ROOT = Path(__file__).resolve().parents[4]


def trace_of(pages, op=0, step_us: int = 1000, **extra: str) -> Trace:
    """Reads (or writes) of a page each."""
    pages = np.asarray(pages, np.int64)
    n = len(pages)
    return Trace(
        time_us=np.arange(n, dtype=np.int64) * step_us,
        op=np.broadcast_to(np.asarray(op, np.uint8), n).copy(),
        offset=pages * PAGE_BYTES,
        size=np.full(n, PAGE_BYTES, np.int64),
        volume=Coded.constant("sda", n),
        meta=TraceMeta("made", "unknown", "test", "0" * 64, extra=extra),
    )


def zipf(n: int, pages: int, seed: int = 1):
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, pages + 1) ** 1.0
    return rng.permutation(pages)[rng.choice(pages, n, p=weights / weights.sum())]


def rounded(value):
    """Numbers to nine digits: another CPU may add in another order."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def loop(n: int, pages: int):
    return np.arange(n) % pages


def asked(trace: Trace, **how) -> Recommendation:
    return recommend("made.csv", trace, BUILT_IN, Options(**how))


def row_at(found: Recommendation, capacity: int):
    return next(row for row in found.picked.rows if row.capacity == capacity)


def test_a_loop_is_recommended_whole_and_resisted_below_its_length():
    found = asked(trace_of(loop(60_000, 1000)))
    assert found.row.capacity == 1000
    assert found.row.ran.hit_ratio == 1.0
    below = row_at(found, 512)
    assert below.lru == 0.0
    assert below.ran.policy != "lru"
    assert 0.4 < below.ran.hit_ratio <= below.optimum
    assert below.lead.won == below.lead.blocks == 20


def test_lru_alone_on_a_loop_has_its_knee_at_the_cliff():
    pages = expand_pages(trace_of(loop(20_000, 777)))
    sizes = [97, 194, 388, 777, 1554]
    hits = policy("lru").hits
    ratios = [float((hits(pages.page_ids, pages.n_pages, size)[10_000:] == HIT).mean()) for size in sizes]
    assert ratios == [0, 0, 0, 1, 1]
    assert knee(sizes, ratios) == 3


def test_popular_pages_have_a_knee_well_below_all_pages():
    found = asked(trace_of(zipf(100_000, 8000)))
    n = found.bench.pages.n_pages
    assert n / 32 <= found.row.capacity <= n / 3
    assert found.row.verdict == Verdict.BETTER
    assert found.confidence.level == "medium"  # it lasted 50 s only
    assert [*map(ordinary, found.confidence.reasons)] == ["only 50 s are counted: other hours may differ"]
    assert asked(trace_of(zipf(100_000, 8000), time_scale="100")).confidence.level == "high"
    assert sentences.headline(found).startswith(f"Run {name_of(found.row.ran.policy)} with ")


@pytest.mark.parametrize("op", [0, 1])
def test_a_scan_is_not_worth_a_cache(op):
    found = asked(trace_of(np.arange(30_000), op))
    assert found.picked.why == "useless"
    assert found.bench.first_share == 1.0
    assert sentences.headline(found).startswith("A cache will not help")
    values = values_of(found)
    assert values["policy"] is values["capacity_bytes"] is None
    assert "All requests are writes" in " ".join(sentences.notes(found)) or op == 0
    assert "will not help" in page_of(found)
    assert "knee of the curve is at" not in page_of(found)


@pytest.mark.parametrize(
    ("aim", "said"),
    [
        ({}, None),
        ({"hit": 0.5}, "A hit ratio of 0.5 cannot be reached."),
        ({"hit": 0.001}, "A hit ratio of 0.001 can be reached, but is not worth a cache."),
        ({"ms": 0.01}, "0.01 ms cannot be reached on these devices: the least is "),
        ({"ms": 1000.0}, "1000 ms needs no cache: the disk alone takes "),
        ({"budget": Size.parse("1MiB")}, None),
    ],
)
def test_a_useless_cache_is_said_to_be_so_whatever_the_aim(aim, said):
    pages = np.where(np.arange(30_000) % 100 == 99, 0, np.arange(30_000))
    found, plain = asked(trace_of(pages), **aim), asked(trace_of(pages))
    assert 0 < found.picked.most < 0.02
    assert found.picked.why == "useless"
    assert sentences.headline(found) == sentences.headline(plain)
    assert found.confidence.level == plain.confidence.level
    assert found.confidence.reasons == plain.confidence.reasons
    values = values_of(found)
    assert values["policy"] is values["capacity_bytes"] is values["knee_pages"] is found.knee is None
    assert any("15 s: too short" in ordinary(note) for note in sentences.notes(found))
    reasons = sentences.reasons(found)
    assert reasons == [] if said is None else reasons[0].startswith(said)
    page = HtmlPage(page_of(found)).said
    assert "recommended size is marked" not in page
    assert ">recommended</text>" not in page_of(found)
    assert ">knee</text>" not in page_of(found)


@pytest.mark.parametrize("how", [{}, {"budget": Size.parse("1MiB")}, {"hit": 0.5}, {"hit": 1.0}, {"ms": 2.0}])
@pytest.mark.parametrize("bent", [True, False])
def test_all_words_agree_whether_there_is_a_knee(how, bent):
    trace = trace_of(zipf(30_000, 4000) if bent else np.random.default_rng(1).integers(0, 2000, 30_000))
    plain, found = asked(trace), asked(trace, **how)
    assert (found.knee is not None) == (plain.knee is not None) == bent
    assert plain.picked.why == ("knee" if bent else "whole")
    assert values_of(found)["knee_pages"] == values_of(plain)["knee_pages"]
    size = found.knee and sentences.human(found.knee.capacity * PAGE_BYTES)
    page = page_of(found)
    assert (">knee</text>" in page) == bent
    assert sentences.where_knee(found) in HtmlPage(page).said
    told = " ".join(sentences.reasons(found))
    if "no knee" in told:
        assert not bent
    if size and "knee of the curve is at" in told:
        assert f"knee of the curve is at {size}" in told


@pytest.mark.parametrize("aim", [{"hit": 0.5}, {"hit": 0.31}, {"ms": 2.0}])
def test_a_target_is_not_overshot(aim):
    found = asked(trace_of(zipf(60_000, 4000)), **aim)
    rows, place = found.picked.rows, found.picked.place
    assert found.picked.why == "reached"
    below, row = rows[place - 1], rows[place]
    assert below.capacity < row.capacity <= max(CLOSE * below.capacity, below.capacity + 1)
    if "hit" in aim:
        assert below.ran.interval[0] < aim["hit"] <= row.ran.interval[0]
    else:
        assert row.ran.response_us <= 2000 < below.ran.response_us


def test_a_target_that_first_accesses_forbid_is_said_to_be_out_of_reach():
    pages = np.concatenate([np.arange(20_000), np.tile(np.arange(20_000), 1)])  # the second half hits, all of it
    mixed = np.where(np.arange(40_000) % 4 == 0, np.arange(40_000) + 100_000, pages)
    found = asked(trace_of(mixed), hit=0.9)
    assert found.picked.why == "unreachable"
    assert found.row.ran.hit_ratio == max(row.ran.hit_ratio for row in found.picked.rows)
    assert found.row.ran.hit_ratio == pytest.approx(1 - found.bench.first_share)
    assert "cannot be reached" in sentences.headline(found)
    told = ordinary(sentences.headline(found))
    assert "75.0 % is the most" in told and "25.0 % of page accesses are the page's first" in told
    assert "--size 100%" in sentences.commands(found)[0]


def test_a_target_in_milliseconds():
    trace = trace_of(zipf(60_000, 4000))
    slow = asked(trace, ms=4.0)
    fast = asked(trace, ms=1.0)
    never = asked(trace, ms=1e-6)
    assert (slow.picked.why, fast.picked.why, never.picked.why) == ("reached", "reached", "unreachable")
    assert slow.row.ran.response_us <= 4000
    assert fast.row.ran.response_us <= 1000
    assert slow.row.capacity < fast.row.capacity <= never.row.capacity
    smaller = [row for row in fast.picked.rows if row.capacity < fast.row.capacity]
    assert all(row.ran.response_us > 1000 for row in smaller)


def test_a_cache_that_makes_requests_slower_is_said_to_do_so_first():
    found = asked(trace_of(loop(60_000, 1000)))  # the disk reads in order faster than the SSD reads pages
    assert found.row.ran.response_us > 1.02 * found.bench.no_cache_us
    assert sentences.headline(found).startswith("By the model a cache makes requests slower: ")
    assert "hardly change" not in " ".join(sentences.notes(found))
    assert "every further MiB is worth it in hits" in sentences.why_size(found)


def test_a_time_that_the_disk_alone_reaches_needs_no_cache():
    trace = trace_of(zipf(60_000, 4000))
    found = asked(trace, ms=1000.0)
    assert found.picked.why == "needless"
    assert sentences.headline(found).startswith("1000 ms needs no cache: the disk alone takes ")
    values = values_of(found)
    assert values["policy"] is values["capacity_pages"] is None
    assert values["knee_pages"] == values_of(asked(trace))["knee_pages"]
    told = " ".join([*sentences.reasons(found), *sentences.notes(found), *sentences.model_words(found), page_of(found)])
    assert "nothing to keep" not in told and "that come once" not in told and "no size is worth it" not in told


def test_a_size_for_confidence_names_the_smaller_one_that_reaches_the_aim_on_average():
    halves = np.where(np.arange(60_000) // 7500 % 2 == 0, 0, zipf(60_000, 6000))
    found = asked(trace_of(halves), hit=0.75)
    assert found.picked.why == "reached"
    row, least = found.row, next(row for row in found.picked.rows if row.ran.hit_ratio >= 0.75)
    assert 2 * least.capacity <= row.capacity
    size = sentences.human(least.capacity * PAGE_BYTES)
    assert f"The size reaches 0.75 with 90 % confidence; on average {size} reaches it (" in sentences.headline(found)
    fresh = np.where(np.arange(60_000) % 5 == 0, np.arange(60_000) + 10_000, zipf(60_000, 600))
    nearest = asked(trace_of(np.where(np.arange(60_000) // 7500 % 2 == 0, 0, fresh)), hit=0.87)
    assert nearest.picked.why == "on average"
    assert " It comes nearest to 0.87 with 90 % confidence; on average " in sentences.headline(nearest)
    near = sentences.headline(asked(trace_of(zipf(60_000, 4000)), hit=0.5))
    assert "on average" not in near and near.endswith(" The size reaches 0.5 with 90 % confidence.")


def test_a_budget_is_not_exceeded_and_not_spent_in_vain():
    trace = trace_of(zipf(60_000, 4000))
    for pages in (1, 7, 100, 1000, 3999):
        assert asked(trace, budget=Size.parse(f"{pages}p")).row.capacity <= pages
    whole = asked(trace, budget=Size.parse("1TiB"))
    assert whole.row.capacity <= whole.bench.pages.n_pages
    # A hundred pages are all that is asked for again: nothing larger helps.
    few = np.where(np.arange(60_000) % 2 == 0, zipf(60_000, 100), np.arange(60_000) + 1000)
    spare = asked(trace_of(few), budget=Size.parse("64MiB"))
    assert spare.row.capacity < 1000
    assert "this is enough" in sentences.why_size(spare)


@given(st.integers(0, 10_000), st.lists(st.floats(0.01, 1.0), min_size=2, max_size=4))
def test_a_higher_target_never_gets_a_smaller_cache(seed, targets):
    trace = seeded_trace(1500, 300, seed)
    sizes = [asked(trace, hit=target).row.capacity for target in sorted(targets)]
    assert sizes == sorted(sizes)


@given(st.integers(0, 10_000), st.lists(st.floats(0.01, 20.0), min_size=2, max_size=4))
def test_a_shorter_time_never_gets_a_smaller_cache(seed, targets):
    trace = seeded_trace(1500, 300, seed)
    sizes = [asked(trace, ms=target).row.capacity for target in sorted(targets, reverse=True)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("n", [1, 2, 10, 100])
@pytest.mark.parametrize("same", [True, False])
def test_tiny_traces_are_answered_with_low_confidence(n, same):
    found = asked(trace_of(np.zeros(n) if same else np.arange(n)))
    assert found.confidence.level == "low"
    assert found.row.ran.policy == "lru" or found.bench.blocks
    json.dumps(values_of(found), allow_nan=False)
    HtmlPage(page_of(found))


def test_one_request_of_many_pages():
    trace = trace_of([0])
    trace = Trace(**{**vars(trace), "size": np.array([1 << 20], np.int64)})
    found = asked(trace)
    assert found.bench.half == 0
    assert found.picked.why == "useless"


def test_without_a_clock_writes_a_day_are_unknown():
    numbered = ({"time": "row numbers in microseconds"}, {"columns": "time=row:us, offset=lba"})
    traces = [trace_of(zipf(5000, 500), **note) for note in numbered]
    for trace in (trace_of(zipf(5000, 500), step_us=0), *traces):
        found = asked(trace)
        assert found.bench.span_days is None
        assert found.row.ssd_bytes_a_day is found.row.years is None
        assert "SSD writes a day and the SSD's lifetime are unknown" in " ".join(sentences.notes(found))
        assert any("how long the trace lasted is unknown" in doubt for doubt in found.confidence.reasons)
        json.dumps(values_of(found), allow_nan=False)
        HtmlPage(page_of(found))


def test_writes_a_day_heed_what_a_second_stands_for():
    pages = zipf(20_000, 2000)
    plain, fast = asked(trace_of(pages, time_scale="1000")), asked(trace_of(pages, time_scale="100000"))
    assert fast.row.ssd_bytes_a_day == pytest.approx(plain.row.ssd_bytes_a_day / 100)
    seconds = 10_000 * 1e-3 * 1000
    expected = plain.row.ran.ssd_writes * PAGE_BYTES / seconds * 86_400
    assert plain.row.ssd_bytes_a_day == pytest.approx(expected, rel=1e-3)
    assert plain.row.years == pytest.approx(1200e12 / plain.row.ssd_bytes_a_day / 365.25)
    with pytest.raises(TraceError, match="time_scale"):
        asked(trace_of(pages, time_scale="soon"))


def test_a_short_life_shows_what_an_admission_costs():
    found = asked(trace_of(zipf(40_000, 8000), time_scale="200"), endurance_tb=0.001)
    assert found.row.years < 3
    assert found.admitted is not None
    assert found.admitted.ran.policy == f"rejectx+{found.row.ran.policy}"
    assert found.admitted.ran.ssd_writes < found.row.ran.ssd_writes
    said = " ".join(sentences.notes(found))
    assert found.admitted.ran.policy in said
    assert "points of hit ratio" in said
    assert asked(trace_of(zipf(40_000, 8000), time_scale="200"), endurance_tb=1e6).admitted is None


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        ("0.007", "What is counted lasted 70 ms: too short to say what a day writes"),
        ("0.3", "What is counted lasted 3 s: too short"),
        ("7.9", "What is counted lasted 1.3 min: too short"),
        ("359", "What is counted lasted 60 min: too short"),
        ("361", "SSD writes a day are extrapolated from 1 h"),
        ("9000", None),
    ],
)
def test_less_than_an_hour_says_nothing_of_a_day(scale, said):
    found = asked(trace_of(zipf(20_000, 2000), time_scale=scale), endurance_tb=1e-6)
    short = said is not None and said.startswith("What")
    for row in found.picked.rows:
        assert (row.ssd_bytes_a_day is None) == short
        assert row.years is None or not short
        assert row.ssd_per_access == row.ran.ssd_writes / found.bench.counted
    assert (found.admitted is None) == short
    told = ordinary(" ".join(sentences.notes(found)))
    assert said in told if said else "a day" not in told
    assert any("other hours may differ" in doubt for doubt in found.confidence.reasons) == short
    page = HtmlPage(page_of(found)).said
    assert ("per GiB accessed" in page) == short
    assert ("SSD lasts" in page) == (not short)


def test_nearly_all_is_not_called_all():
    often = np.where(np.arange(40_000) % 300 == 299, np.arange(40_000), zipf(40_000, 50))
    found = asked(trace_of(often))
    assert 0.995 < found.row.ran.hit_ratio < 1.0
    assert ": 99." in sentences.headline(found)


def test_figures_are_those_that_simulate_gives_from_the_middle_on():
    trace = seeded_trace(8000, 900, 3)
    found = asked(trace)
    pages = expand_pages(trace)
    for row in found.picked.rows:
        own = Simulator(trace, pages).run(row.ran.policy, row.capacity, found.bench.half)
        assert (row.ran.hit_ratio, row.ran.ssd_writes) == (own.hit_ratio, own.ssd_writes)
        assert row.ran.response_us == own.mean_response_us(found.bench.times)
        lru = Simulator(trace, pages).run("lru", row.capacity, found.bench.half)
        assert row.lru == pytest.approx(lru.hit_ratio)
        assert np.mean(row.ran.blocks) == pytest.approx(row.ran.hit_ratio, abs=0.01)
        assert row.optimum >= row.ran.hit_ratio - 1e-12


def test_the_second_half_does_not_choose():
    """Two traces that are alike up to the middle: the same policies are chosen, whatever comes after."""
    first = zipf(30_000, 3000)
    ends = [zipf(30_000, 3000, 2), loop(30_000, 3000)]
    made = [asked(trace_of(np.concatenate([first, end]))) for end in ends]
    sizes = [{row.capacity: row.chosen for row in found.picked.rows} for found in made]
    common = set(sizes[0]) & set(sizes[1])
    assert len(common) > 3
    assert {size: sizes[0][size] for size in common} == {size: sizes[1][size] for size in common}


def test_lru_stays_where_no_lead_is_clear():
    rng = np.random.default_rng(5)
    found = asked(trace_of(rng.integers(0, 2000, 60_000)))  # every page alike: no policy can know better
    middle = row_at(found, 1024)
    assert middle.ran.policy == "lru"
    places = [k for k, row in enumerate(found.picked.rows[:-1]) if row.chosen != "lru"]
    assert places  # by chance another has a hit more on the first half
    for place in places:
        picked = dataclasses.replace(found.picked, place=place, why="knee")
        told = ordinary(sentences.why_policy(dataclasses.replace(found, picked=picked)))
        ahead = found.picked.rows[place].lead.value > 0
        assert ("leads by under 0.5 points on the second" if ahead else "has no more hits on the second") in told


def test_a_lead_that_chance_may_explain_is_said_to_be_one_and_lowers_confidence():
    found = asked(trace_of(loop(60_000, 1000)))
    row = row_at(found, 512)
    assert row.ran.policy == row.chosen != "lru" and row.verdict == Verdict.BETTER
    swinging = row.lead.value * (1 + 3 * np.cos(np.pi * (np.arange(20) + 0.5) / 20))
    unsure = dataclasses.replace(row, lead=ahead(swinging, np.zeros(20), row.lead.value))
    assert unsure.verdict == Verdict.EVEN
    doubts = [confidence(found.bench, one, found.ranking).reasons for one in (row, unsure)]
    (doubt,) = set(doubts[1]) - set(doubts[0])
    assert ordinary(doubt).startswith(f"the lead of {name_of(row.chosen)} over LRU is not sure (+")
    assert "90 % interval [" in ordinary(doubt) and doubt.endswith("): LRU may do as well")
    place = found.picked.rows.index(row)
    rows = (*found.picked.rows[:place], unsure, *found.picked.rows[place + 1 :])
    picked = dataclasses.replace(found.picked, rows=rows, place=place, why="knee")
    assert sentences.why_policy(dataclasses.replace(found, picked=picked)).endswith(
        "; it is advised for that lead, but LRU may do as well."
    )


def test_a_sample_of_the_pages_ranks_as_the_whole_does():
    bench = Halves(trace_of(zipf(200_000, 20_000)), expand_pages(trace_of(zipf(200_000, 20_000))), BUILT_IN)
    sizes = [1250, 2500, 5000, 10_000]
    whole, part = rank(bench, sizes), rank(bench, sizes, most=50_000)
    assert whole.rate == 1.0
    assert part.rate == pytest.approx(0.25, abs=0.02)
    assert np.abs(whole.second - part.second).max() < 0.03
    assert np.abs(whole.first - part.first).max() < 0.03
    assert np.abs(whole.optimum - part.optimum).max() < 0.03
    few = Halves(trace_of(loop(9000, 30)), expand_pages(trace_of(loop(9000, 30))), BUILT_IN)
    assert rank(few, [15, 30], most=100).rate == 1.0


def test_the_ranking_counts_what_the_policies_do():
    trace = seeded_trace(3000, 400, 8)
    bench = Halves(trace, expand_pages(trace), BUILT_IN)
    found = rank(bench, [50, 200])
    for p, policy_id in enumerate(found.policies):
        for s, capacity in enumerate(found.capacities):
            run = Simulator(trace, bench.pages).run(policy_id, capacity, bench.half)
            assert found.second[p, s] == pytest.approx(run.hit_ratio)
            assert found.blocks[p, s].mean() == pytest.approx(run.hit_ratio, abs=0.01)
    assert found.times_best(found.policies[int(found.second[:, 0].argmax())], 0) > 0


def test_the_same_inputs_give_the_same_bytes():
    made = [asked(seeded_trace(4000, 500, 2)) for _ in range(2)]
    assert json.dumps(values_of(made[0])) == json.dumps(values_of(made[1]))
    assert page_of(made[0]) == page_of(made[1])


def test_the_page_is_whole_and_asks_for_nothing():
    found = asked(trace_of(zipf(40_000, 8000), time_scale="200"), endurance_tb=0.001)
    text = page_of(found)
    page = HtmlPage(text)
    assert not FETCHED.search(text)
    assert "<script" not in text
    assert {"answer", "sizes", "costs", "sure", "models", "assumed"} <= set(page.ids)
    assert page.tags["figure"] == 3
    for word in ("gap_closed", "episode", "SSD has to last"):
        assert (word in page.said) == (word == "SSD has to last")
    for row in found.picked.rows:
        shown_values = page.shown("Counted after", shown(row.capacity, found.bench.pages.n_pages))
        assert row.ran.hit_ratio in [value for value, _ in shown_values]
    assert sentences.commands(found)[0] in page.said


def test_a_trace_with_a_hostile_name_is_escaped_and_quoted():
    found = recommend("a <b>&'x.csv", seeded_trace(500, 60, 1), BUILT_IN, Options())
    assert "<b>" not in page_of(found)
    assert sentences.commands(found)[0].startswith("cachezoo simulate 'a <b>&'\"'\"'x.csv' ")


@pytest.mark.parametrize(
    "how",
    [
        {"hit": 0.5, "ms": 1.0}, {"hit": 0.0}, {"hit": 1.5}, {"hit": float("nan")}, {"ms": 0.0}, {"ms": float("inf")},
        {"endurance_tb": 0.0}, {"budget": Size.parse("1GiB"), "hit": 0.5},
    ],
)  # fmt: skip
def test_an_aim_that_cannot_be_is_refused(how):
    with pytest.raises(ConfigError):
        Options(**how)


def test_the_knee():
    assert knee([1, 2, 4, 8, 16], [0.5, 0.6, 0.65, 0.66, 0.66]) == 2
    assert knee([1, 2, 4, 8], [0.2, 0.21, 0.22, 1.0]) == 3  # a cliff is worth the flat stretch before it
    assert knee([1, 2, 4, 100], [0.2, 0.21, 0.5, 0.55]) == 2
    assert knee([1, 2, 4, 8], [0.125, 0.25, 0.5, 1.0]) == 3  # a straight line has none: the whole
    assert knee([1, 2, 4, 8], [0.0, 0.0, 0.0, 0.0]) == 0
    assert knee([1, 2, 4, 8], [0.8, 0.7, 0.8, 0.8]) == 0  # what falls is chance
    assert knee([5], [0.3]) == 0


def test_the_sizes():
    assert ladder(1, lambda _: 0.0) == [1]
    assert ladder(2, lambda _: 0.0) == [1, 2]
    assert ladder(9, lambda _: 0.0) == [1, 2, 4, 9]  # 8 would be as good as 9
    assert ladder(1000, lambda size: float(size == 1000)) == [16, 32, 64, 128, 256, 512, 1000]
    assert ladder(1000, lambda _: 0.9)[0] == 1  # nearly all hits at the smallest: smaller ones are tried
    assert ladder(1000, lambda size: float(size == 1000), budget=100)[3] == 100
    assert ladder(1000, lambda size: float(size == 1000), budget=5000)[-1] == 1000
    assert middle(8, 16) == 11
    assert middle(0, 16) == 4
    assert middle(0, 2) == 1
    assert middle(1, 2) is middle(0, 1) is middle(1000, 1025) is None
    assert middle(1000, 1026) == 1013


@pytest.mark.parametrize(
    ("pages", "text"),
    [(1, "4KiB"), (16384, "64MiB"), (262144, "1GiB"), (255, "1020KiB"), (257, "1028KiB"), (12345, "49380KiB")],
)
def test_a_size_can_be_typed_as_it_is_shown(pages, text):
    assert typed(pages) == text
    assert Size.parse(text).pages(10**9) == pages


@given(st.integers(1, 2**30))
def test_every_size_can_be_typed(pages):
    assert Size.parse(typed(pages)).pages(10**9) == pages


def test_the_choice_looks_at_neighbouring_sizes():
    lru, other = [0.1, 0.2, 0.3, 0.4], [0.1, 0.1, 0.5, 0.4]
    for first, chosen in (([lru, other], "lxxx"), ([[np.nan, 0.1], [np.nan, 0.5]], "ll")):
        ranks = Ranking(("l", "x"), tuple(range(len(chosen))), np.array(first), *[np.zeros(0)] * 3, 1.0)
        assert ranks.chosen == list(chosen)


def test_the_device_built_in_is_the_profile():
    assert load_models(DEFAULT, ROOT / "conf/device") == BUILT_IN


def test_outside_a_project_profiles_are_those_of_the_project_that_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert models_of(None) == models_of(DEFAULT) == BUILT_IN
    assert models_of("wdredpro2tb_850pro") == load_models("wdredpro2tb_850pro", ROOT / "conf/device")
    with pytest.raises(ConfigError, match="no such device profile"):
        models_of("nosuch")
    with pytest.raises(ConfigError, match="no such folder"):
        bundles_folder(tmp_path / "none")


@pytest.mark.parametrize("ask", [True, False])
def test_it_is_said_why_no_learned_cache_was_measured(ask):
    found = asked(seeded_trace(300, 40, 1), ask_models=ask)
    said = "Not measured: no trained models here" if ask else "as --no-models was given"
    assert said in answer.learned(found)
    assert said in HtmlPage(page_of(found)).said
    assert values_of(found)["models_asked"] is False
    assert values_of(found)["learned"] is None


def test_an_empty_zoo_says_that_it_knows_nothing(tmp_path):
    found = recommend("x", seeded_trace(300, 40, 1), BUILT_IN, Options(), tmp_path, classify=True)
    assert found.likeness.shares == {}
    assert "there is no workload classifier" in sentences.model_words(found)[0]
    assert "no trained models here" in answer.learned(found)


def test_every_candidate_runs():
    for one in CANDIDATES:
        assert policy(one.id).id == one.id
        assert name_of(one.id) == one.name
    assert name_of("rejectx+arc") == "ARC behind RejectX"
    assert name_of("follow") == "follow"


def test_a_captured_trace():
    """Figures of a captured trace: what a change of the rules moves, it must be seen to move."""
    found = values_of(recommend("mail", read_any(ROOT / "data/raw/captured/mail_train.parquet"), BUILT_IN, Options()))
    golden = json.loads((Path(__file__).parent / "mail_train.json").read_text(encoding="utf-8"))
    assert rounded(json.loads(json.dumps(found))) == golden


STORED = ROOT / "tests/golden/protocol2"


def test_the_learned_cache_is_measured_against_what_would_be_recommended():
    trace = trace_of(zipf(12_000, 3000))
    size = Size.parse("500p")
    found = recommend("x", trace, BUILT_IN, Options(budget=size), STORED, classify=True)
    own = simulate_bundle(STORED / "reuse.follow", trace, found.bench.pages, found.row.capacity, found.bench.half)
    assert found.learned.ran.hit_ratio == own.hit_ratio
    assert found.learned.rival is found.row.ran
    assert found.learned.lead.value == own.hit_ratio - found.row.ran.hit_ratio
    assert found.learned.rate == 1.0
    plain = answer.learned(found)
    assert plain.split(":")[0] in ("Yes", "No", "Not shown")
    assert "µs" not in plain and "µs a page" in answer.learned(found, timed=True)
    like = found.likeness
    assert like.stretches == min(100, 12_000 // like.stretch) > 0
    assert sum(like.shares.values()) == pytest.approx(1.0)
    assert like.known == pytest.approx(1 - like.shares.get("unknown", 0.0))
    unasked = recommend("x", trace, BUILT_IN, Options(budget=size), STORED)
    assert unasked.likeness is None
    assert answer.lines(unasked) == answer.lines(found)


def learned_of(found, lead: float, spread: float):
    """The recommendation with a learned cache that is ahead by so much, more or less."""
    ran = found.row.ran
    waves = spread * np.cos(np.pi * (np.arange(20) + 0.5) / 20)
    model = dataclasses.replace(
        ran, policy="reuse.follow", mean=ran.mean + lead, hit_ratio=ran.mean + lead, blocks=ran.blocks + lead + waves
    )
    return dataclasses.replace(found, learned=Learned("zoo/reuse.follow", model, ran, 1.0, 2.0), zoo=(Path("zoo"),))


@pytest.mark.parametrize(
    ("lead", "spread", "told", "runs"),
    [
        (0.02, 1e-6, "Yes", "zoo/reuse.follow"), (0.02, 0.5, "Not shown", None), (0.003, 1e-6, "No", None),
        (-0.02, 1e-6, "No", None),
    ],
)  # fmt: skip
def test_a_learned_cache_is_run_only_where_it_is_ahead_by_what_matters(lead, spread, told, runs):
    plain = asked(trace_of(zipf(40_000, 8000)))
    found = learned_of(plain, lead, spread)
    assert answer.learned(found).startswith(f"{told}: reuse.follow ")
    own = answer.run_it(found)
    assert own.policy == (runs or plain.row.ran.policy)
    assert own.promise == (found.learned if runs else found.row).ran.hit_ratio
    assert f"--policy {own.policy} --size" in own.command


def test_a_learned_cache_that_ran_on_a_sample_promises_nothing():
    found = learned_of(asked(trace_of(zipf(40_000, 8000))), 0.02, 1e-6)
    found = dataclasses.replace(found, learned=dataclasses.replace(found.learned, rate=0.25))
    own = answer.run_it(found)
    assert own.policy == "zoo/reuse.follow" and own.promise is None and "--promise" not in own.command
    whose = f"That is with {name_of(found.row.ran.policy)}: the learned cache ran on a sample alone."
    assert answer.wear(found).endswith(whose)


def test_a_long_trace_is_sampled_for_the_learned_cache_and_its_rival():
    trace = trace_of(zipf(30_000, 6000))
    found = recommend("x", trace, BUILT_IN, Options())
    own = measure(found.bench, BUILT_IN, found.row.ran, [STORED / "reuse.follow"], most=10_000)
    assert 0 < own.rate < 1
    assert own.rival.capacity == own.ran.capacity == max(1, round(found.row.capacity * own.rate))
    assert own.rival.page_accesses == own.ran.page_accesses < 10_000
    said = answer.learned(dataclasses.replace(found, learned=own, zoo=(Path("zoo"),)))
    assert said.endswith(" of the pages.") and "on a sample of" in said


def test_what_the_learned_cache_gained_elsewhere_is_said_by_the_operator_s_rival():
    like = likeness.Likeness("zoo", {}, 0, 0, "zoo/reuse.follow", 4.25, -1.0, None)
    said = sentences.elsewhere(like)
    assert "+4.2 points" in ordinary(said) and "\N{MINUS SIGN}1.0 points" in ordinary(said) and "hindsight" not in said
    assert sentences.elsewhere(dataclasses.replace(like, away=None)) == ""


def test_of_several_learned_caches_the_first_half_chooses_one(tmp_path, monkeypatch):
    trace = trace_of(zipf(12_000, 3000))
    bench = Halves.of_trace(trace, BUILT_IN)
    rival = bench.run("lru", 500)
    # One cache by its size, so that the largest hits most; "late" hits most in the second half alone.
    capacities = {"first": 300, "second": 500, "third": 400, "late": 300}

    def simulated(bundle, own, pages, capacity, warmup):
        run = simulate(own, pages, "lru", capacities[bundle.name], warmup)
        if bundle.name != "late":
            return run
        outcome = run.outcome.copy()
        outcome[warmup:] = HIT
        return dataclasses.replace(run, outcome=outcome)

    monkeypatch.setattr(learned, "simulate_bundle", simulated)
    found = measure(bench, BUILT_IN, rival, [tmp_path / name for name in capacities])
    assert Path(found.bundle).name == "second" and found.ran.hit_ratio == rival.hit_ratio and found.rate == 1.0
    sampled = measure(bench, BUILT_IN, rival, [tmp_path / name for name in capacities], most=18_000)
    assert 0 < sampled.rate < 1 and sampled.ran.page_accesses < 6_000


def test_bundles_are_found_where_serve_looks_for_them_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "CLONE", tmp_path / "clone")
    monkeypatch.setattr(places, "BUNDLES", (str(tmp_path / "system"),))
    (tmp_path / "models/bundles").mkdir(parents=True)
    assert bundles_folder(None) is None
    (tmp_path / "system").mkdir()
    for version in ("0.9.0", "0.10.0"):
        (tmp_path / "system" / f"reuse.follow-{version}.zip").touch()
    assert bundles_folder(None) == tmp_path / "system"
    assert page_caches(tmp_path / "system") == [tmp_path / "system" / "reuse.follow-0.10.0.zip"]
    shutil.copytree(STORED / "reuse.follow", tmp_path / "own" / "reuse.follow")
    monkeypatch.setenv("CACHEZOO_BUNDLES", f"{tmp_path / 'none'}:{tmp_path / 'own'}")
    assert bundles_folder(None) == tmp_path / "own"
    assert page_caches(tmp_path / "own") == [tmp_path / "own" / "reuse.follow"]


def test_a_likely_workload_brings_its_admission_model(monkeypatch):
    batch = batch_of(read_any(ROOT / "data/raw/captured/mail_train.parquet").rows(0, 4000))
    paths = sorted(STORED.glob("admission.*"))
    assert flash_of(paths, "database", batch) is None  # of an earlier release: it does not state its inputs
    bundle = load(paths[0])
    read = batch.op == 0
    rows = bundle.serving().features(batch)[read]
    stated = {}
    for k, entry in enumerate(bundle.manifest["features"]):
        column = rows[:, k]
        if entry["encoding"] == "number":
            stated[entry["name"]] = np.quantile(column, np.arange(11) / 10, method="inverted_cdf").tolist()
        else:
            stated[entry["name"]] = np.bincount(column.astype(int) + 1).tolist()
    bundle.manifest["measured"]["inputs"] = stated
    monkeypatch.setattr("cachezoo.questions.page.likeness.load", lambda _: bundle)
    flash = flash_of(paths, "database", batch)
    left_out = "namespace"  # which a block trace does not have
    assert left_out in stated
    assert (flash.id, flash.drifted, flash.inputs) == ("admission.database.lgbm", 0, len(stated) - 1)
    stated["size"] = [1e9 + k for k in range(11)]
    moved = flash_of(paths, "database", batch)
    assert (moved.drifted, moved.farthest) == (1, "size")
    assert flash_of(paths, "web", batch) is None
    assert flash_of(paths, "database", batch_of(trace_of([0, 1], 1))) is None  # no reads, which it decides on


def test_a_damaged_bundle_is_refused(tmp_path):
    shutil.copytree(STORED / "workload.lstm8", tmp_path / "workload.lstm8")
    (tmp_path / "workload.lstm8/manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(BundleError, match=r"workload\.lstm8"):
        recommend("x", trace_of(zipf(2000, 200)), BUILT_IN, Options(), tmp_path, classify=True)


@pytest.mark.parametrize(("latency_us", "said"), [(None, False), (-1, False), (52, True), (4000, False)])
def test_milliseconds_are_said_to_be_a_models_and_storage_that_is_faster_is_named(latency_us, said):
    trace = trace_of(zipf(4000, 400))
    known = None if latency_us is None else np.full(len(trace), latency_us, np.int64)
    found = recommend("x", dataclasses.replace(trace, latency_us=known), BUILT_IN, Options())
    told = " ".join(sentences.notes(found))
    assert "Milliseconds are a model's, of a Seagate Exos X20" in told
    assert ("half of the requests took at most 52 µs" in ordinary(told)) == said

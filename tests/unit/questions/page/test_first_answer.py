"""The first answer: both modes against naive caches, what is bought, and what must hold before a word is printed."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.demo.answer import promised
from cachezoo.devices.built_in import BUILT_IN, DEFAULT
from cachezoo.errors import CachezooError
from cachezoo.policies.mounted import mounted
from cachezoo.policies.registry import policy
from cachezoo.questions.page import answer, sentences
from cachezoo.questions.page.buy import buy, pays_from
from cachezoo.questions.page.candidates import NAMES, Halves
from cachezoo.questions.page.reads import WAYS, Reads
from cachezoo.questions.page.recommendation import Options, Recommendation, recommend
from cachezoo.questions.page.report import page_of
from cachezoo.questions.page.sizes import beats, typed
from cachezoo.serve.words import n_bytes
from cachezoo.show.formats import latency, ordinary, share
from cachezoo.sizes import PAGE_BYTES, Size
from cachezoo.traces.pages import expand_pages
from tests.html_page import HtmlPage
from tests.oracles.read_cache import lru_reads, most_reads
from tests.unit.questions.page.test_recommend import loop, trace_of, zipf

GIB = 2**30


def asked(pages, op=0, **how) -> Recommendation:
    return recommend("made.csv", trace_of(pages, op), BUILT_IN, Options(**how))


def reads_of(pages, op, capacity: int) -> tuple[Halves, Reads]:
    trace = trace_of(pages, op)
    bench = Halves(trace, expand_pages(trace), BUILT_IN)
    return bench, Reads(bench, capacity)


accesses = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=4, max_size=24)


@given(accesses, st.integers(1, 4), st.sampled_from(WAYS))
def test_reads_that_lru_finds(drawn, capacity, way):
    pages, op = zip(*drawn, strict=True)
    _, reads = reads_of(pages, np.array(op, np.uint8), capacity)
    assert reads._hits((way, "lru")).tolist() == lru_reads(drawn, capacity, way)


@given(accesses, st.integers(1, 3), st.sampled_from(WAYS))
def test_no_cache_finds_more_reads_than_the_best(drawn, capacity, way):
    """The whole of a trace counts as its second half where the first has no access to its pages."""
    before = [(100 + k, True) for k in range(len(drawn))]
    pages, op = zip(*before, *drawn, strict=True)
    bench, reads = reads_of(pages, np.array(op, np.uint8), capacity)
    assert bench.half == len(drawn)
    if reads.counted:
        assert round(reads.best(way) * reads.counted) == most_reads(drawn, capacity, way)


def test_the_read_cache_is_chosen_on_the_first_half_and_reported_on_the_second():
    pages = zipf(20_000, 3000)
    op = (np.arange(20_000) % 3 == 0).astype(np.uint8)
    found = asked(pages, op)
    own = found.reads
    bench, reads = reads_of(pages, op, found.row.capacity)
    assert own.chosen == reads.choose()
    assert own.reads == int((op[bench.half :] == 0).sum())
    assert own.hits == round(own.mean * own.reads)
    assert own.lru <= own.mean <= own.best
    other = trace_of(np.concatenate([pages[:10_000], loop(10_000, 3000)]), op)
    again = Halves(other, expand_pages(other), BUILT_IN)
    assert Reads(again, found.row.capacity).choose() == own.chosen


def test_what_is_written_and_then_read_is_found_by_writes_through_alone():
    pairs = np.repeat(np.arange(10_000) % 4000, 2)
    op = np.tile(np.array([1, 0], np.uint8), 10_000)
    _, reads = reads_of(pairs, op, 64)
    own = reads.answer()
    assert (own.writes, own.mean, own.lru) == ("through", 1.0, 0.0)


@pytest.mark.parametrize(
    ("op", "said", "mode"),
    [(0, "Nothing is written", "around"), (1, "all that is counted are writes", "back")],
)
def test_of_reads_alone_and_writes_alone_the_modes_are_said_too(op, said, mode):
    found = asked(zipf(20_000, 3000), op)
    assert said in answer.answer(found)[1]
    assert answer.run_it(found).mode == mode
    assert (found.reads is None) == (op == 1)


def test_every_candidate_may_be_run_and_has_a_name_of_its_own():
    assert len({*NAMES.values()}) == len(NAMES)
    for name in NAMES:
        assert policy(name).spec is not None and str(policy(name).spec) == name == str(mounted(name))


@pytest.mark.parametrize(("budget", "ahead"), [("100p", True), ("100%", False)])
def test_lfu_with_all_counts_is_never_what_is_run_and_is_named_where_it_is_ahead(budget, ahead):
    found = asked(zipf(60_000, 20_000), budget=Size.parse(budget))
    said = " ".join(answer.answer(found))
    assert found.row.ran.policy != "lfu" and answer.run_it(found).policy == found.row.ran.policy
    assert ("LFU with the counts of every page ever seen, in simulation only, " in said) == ahead
    assert (found.unbounded is not None) == ahead
    if ahead:
        assert found.unbounded.hit_ratio - found.row.ran.hit_ratio >= 0.005
        assert answer.values(found)["lfu_of_all_counts_hit_ratio"] == found.unbounded.hit_ratio


def mixed() -> Recommendation:
    """Reads of what was written shortly before, and others."""
    rng = np.random.default_rng(7)
    pages = np.repeat(zipf(20_000, 6000), 2)
    return asked(pages, np.tile(np.array([1, 0], np.uint8), 20_000) & (rng.random(40_000) < 0.8))


def commands_of(found: Recommendation) -> list[str]:
    return [command for line in answer.lines(found) if line.label == "Run it" for command in line.commands]


@pytest.mark.parametrize(("how", "words"), [({"budget": Size.parse("700p")}, ""), ({"device": DEFAULT}, DEFAULT)])
def test_the_settings_of_other_systems_are_for_the_same_size_and_device(how, words):
    found = asked(zipf(20_000, 3000), **how)
    device = f" --device {words}" if words else ""
    own = f": cachezoo recommend made.csv --for bcache --size {answer.run_it(found).size}{device}"
    assert commands_of(found)[-1].endswith(own)


@pytest.mark.parametrize(("op", "lost"), [(0, False), (np.arange(20_000) % 2, True)])
def test_what_a_lost_ssd_takes_with_it_is_said_of_write_back_alone(op, lost):
    found = asked(zipf(20_000, 3000), np.asarray(op, np.uint8))
    assert (answer.run_it(found).mode == "back") == lost
    assert answer.answer(found)[0].endswith("If its SSD is lost, so is what was written last.") == lost
    assert (answer.run_reads(found) is not None) == lost


def test_response_times_are_in_the_answer_and_trust_says_where_storage_is_faster():
    found = asked(zipf(20_000, 3000))
    row, bench = found.row, found.bench
    times = f"a request takes {latency(row.ran.response_us)} instead of {latency(bench.no_cache_us)}."
    assert f"Modelled without queues, {times}" in answer.answer(found)[0]
    trusted = {}
    for us in (52, 4000):
        trace = dataclasses.replace(bench.trace, latency_us=np.full(len(bench.trace), us, np.int64))
        lines = answer.lines(recommend("made.csv", trace, BUILT_IN, Options()))
        trusted[us] = next(line.texts[0] for line in lines if line.label == "Trust")
    faster = "than the recorded one (half of the requests took at most 52 µs): expect to save less."
    assert f"Times assume a slower disk {faster}" in ordinary(trusted[52])
    assert "slower disk" not in trusted[4000]


def test_the_read_cache_has_a_promise_of_its_own_reads():
    found = mixed()
    own = found.reads
    size = typed(found.row.capacity)
    way = f" --policy {own.policy} --size {size} --mode {own.writes} --promise {100 * own.mean:.1f}%"
    reads = answer.run_reads(found)
    assert reads.command.endswith(way) and answer.reading(found).startswith(f"As a read cache, {NAMES[own.policy]}: ")
    assert f"or, as a read cache: {reads.command}" in commands_of(found)
    said = HtmlPage(page_of(found)).said
    assert reads.command in said and "Page cache" not in said  # a card has the answer's words: an SSD cache
    trace = found.bench.trace
    again = promised(trace, found.bench.pages, own.policy, found.row.capacity, own.writes)
    assert again == pytest.approx(own.mean, abs=1e-12)
    run = answer.run_it(found)
    both = promised(trace, found.bench.pages, run.policy, found.row.capacity, run.mode)
    assert run.mode == "back" and both == pytest.approx(run.promise, abs=1e-12)


def test_where_a_cache_makes_requests_slower_nothing_is_to_be_run():
    found = asked(loop(60_000, 1000), (np.arange(60_000) % 1000 == 0).astype(np.uint8))
    assert sentences.slower(found)
    assert answer.run_it(found) is None and answer.run_reads(found) is None and answer.values(found)["mode"] is None
    said = {line.label: " ".join([*line.texts, *line.commands]) for line in answer.lines(found)}
    assert "Run it" not in said and "--mode" not in said["Answer"]
    assert said["Buy"].startswith("Nothing for speed")


def test_what_to_run_is_for_an_ssd_that_is_there_where_ram_is_to_be_bought():
    found = asked(zipf(40_000, 8000))
    assert found.bought.what != "SSD" and "for an SSD that you have" in answer.buying(found)
    begins = {"RAM": "RAM of this size, no SSD: sold as ", "all in RAM": "RAM for all of it, no SSD: "}
    for own in (found.bought, buy(2**28, 2**26, 1e16), buy(2**28, 2**26, 1e9)):
        said = answer.buying(dataclasses.replace(found, bought=own))
        assert said.startswith(begins.get(own.what, ("An SSD of ", f"{own.ssd.ssd.count:,} SSDs of ")))
        assert ("no SSD" in said) == ("for an SSD that you have." in said) == (own.what != "SSD")


def test_a_useless_cache_has_no_more_than_four_lines():
    found = asked(np.arange(30_000))
    assert [line.label for line in answer.lines(found)] == ["Read as", "Answer", "Trust"]
    assert answer.run_it(found) is None
    assert answer.values(found)["mode"] is None


@pytest.mark.parametrize("pages", [1, 128, 257, 12_345, 262_144])
def test_a_size_to_serve_is_the_size_to_the_page(pages):
    assert Size.parse(typed(pages)).pages(1) == pages == n_bytes(typed(pages), "--size") // PAGE_BYTES
    assert typed(257, whole=True) == "2MiB"


def broken(found: Recommendation, **changed) -> Recommendation:
    return dataclasses.replace(found, **changed)


def test_an_answer_that_contradicts_itself_is_not_printed():
    found = asked(zipf(40_000, 8000), (np.arange(40_000) % 4 == 0).astype(np.uint8))
    answer.check(found)
    row, place = found.row, found.picked.place
    low = dataclasses.replace(row.ran, hit_ratio=row.lru / 2)
    worse = [*found.picked.rows]
    worse[place] = dataclasses.replace(row, ran=low)
    small = [*found.picked.rows]
    small[place - 1] = dataclasses.replace(row, ran=dataclasses.replace(row.ran, capacity=row.capacity - 1))
    dear = dataclasses.replace(found.bought, bought=dataclasses.replace(found.bought.bought, ram_usd=1e6))
    strange = dataclasses.replace(row, ran=dataclasses.replace(row.ran, policy="cacheus"))
    unrun = [*found.picked.rows]
    unrun[place] = strange
    cases = {
        "LRU hits more": broken(found, picked=dataclasses.replace(found.picked, rows=tuple(worse))),
        "a smaller size does as well": broken(found, picked=dataclasses.replace(found.picked, rows=tuple(small))),
        "more hits than are possible": broken(
            found, best=dataclasses.replace(found.best, mean=row.ran.hit_ratio - 0.01)
        ),
        "something cheaper can be bought": broken(found, bought=dear),
        "no runtime runs the policy": broken(found, picked=dataclasses.replace(found.picked, rows=tuple(unrun))),
    }
    for said, wrong in cases.items():
        with pytest.raises(CachezooError, match=said):
            answer.lines(wrong)


@given(st.integers(0, 10_000))
def test_no_size_that_is_shown_is_smaller_and_as_good(seed):
    rng = np.random.default_rng(seed)
    pages = np.where(rng.random(3000) < 0.5, rng.integers(0, 300, 3000), np.arange(3000) % 150)
    found = asked(pages, (rng.random(3000) < 0.3).astype(np.uint8))
    assert not any(beats(row, found.row) for row in found.picked.rows)
    answer.check(found)


def test_what_fits_the_least_module_is_bought_in_ram():
    own = buy(100_000, 25_000, 1e9)
    assert own.what == "all in RAM"
    assert own.bought == own.all_ram == own.ram
    assert own.bought.ram.each_bytes == 8 * GIB


@pytest.mark.parametrize(("written", "what"), [(1e9, "SSD"), (1e16, "RAM"), (None, "SSD")])
def test_of_a_large_working_set_an_ssd_is_bought_if_it_bears_the_writes(written, what):
    own = buy(2**28, 2**26, written)
    assert own.what == what
    assert own.clock == (written is not None)
    assert own.bought.usd <= min(own.ram.usd, own.all_ram.usd)
    if what == "SSD":
        assert own.ssd.lasts


def test_above_the_size_that_is_named_an_ssd_costs_less_than_ram():
    little, much = pays_from(100_000, 1e9), pays_from(100_000, 1e13)
    assert little < much
    assert pays_from(100_000, 1e20) is None
    assert little == 8 * GIB  # for $25.77; 250 GB for $37.50 are the smallest SSD, and more RAM is 16 GiB for $51.54
    assert pays_from(1, 1e9) == little  # it is of the load, not of the trace's size


def test_what_ram_for_all_pages_brings_and_above_what_an_ssd_is_cheaper():
    found = asked(zipf(40_000, 8000))
    assert found.bought.what == "all in RAM" and not found.whole
    said = answer.buying(found)
    assert f"; {share(found.picked.rows[-1].ran.hit_ratio)} hit." in said
    assert found.bought.pays_bytes == 16 * GIB  # the smallest SSD that bears these writes costs more than 16 GiB of RAM
    assert " Above 16 GiB touched, an SSD for all is cheaper (" in said
    assert " hit." not in answer.buying(asked(zipf(40_000, 8000), budget=Size.parse("100%")))


@pytest.mark.parametrize(("step_us", "brief"), [(1000, True), (1_000_000, False)])
def test_trust_names_every_reason_unless_a_longer_trace_is_to_be_recorded_first(step_us, brief):
    found = recommend("made.csv", trace_of(zipf(40_000, 8000), step_us=step_us), BUILT_IN, Options())
    assert found.bench.short == brief
    reasons = ("the hit ratio changes", "LIRS would have hit more", "new pages still come")
    own = dataclasses.replace(found.confidence, level="medium", reasons=reasons)
    doubted = dataclasses.replace(found, confidence=own)
    said = next(line.texts[0] for line in answer.lines(doubted) if line.label == "Trust")
    every = "; ".join(reasons)
    assert said == (f"Medium: {reasons[0]}. Record a day:" if brief else f"Medium: {every}.")
    assert answer.untold(doubted) == ([f"Trust is medium: {every}."] if brief else [])
    assert answer.untold(found) == []


def test_the_lines_without_a_clock():
    found = recommend("made.csv", trace_of(zipf(60_000, 6000), step_us=0), BUILT_IN, Options())
    said = {line.label: " ".join(line.texts) for line in answer.lines(found)}
    assert "without a clock" in said["Read as"]
    assert said["SSD wear"].startswith("Unknown without a clock")
    assert "wear aside" in said["Buy"]
    assert "how long the trace lasted is unknown" in said["Trust"]
    assert all("\n" not in text for text in map(ordinary, said.values()))

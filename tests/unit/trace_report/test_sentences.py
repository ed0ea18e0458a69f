"""What a page says follows from its figures by the rules."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.characteristics.arrivals import Daily, Hurst
from cachezoo.characteristics.describe import Characteristics, characterise
from cachezoo.characteristics.patterns import Twsd
from cachezoo.characteristics.requests import Sender, Senders
from cachezoo.curves.curve import Curve
from cachezoo.trace_report import sentences
from cachezoo.trace_report.plots import axis_unit
from cachezoo.traces.pages import expand_pages
from tests.characteristics_data import PAGE, made, zipf_trace


def say(sentence, found) -> str:
    return sentence(found).replace("\u00a0", " ")


@pytest.fixture(scope="module")
def found() -> Characteristics:
    trace = zipf_trace(20_000, 500, 1.0, 1)
    return characterise(trace, expand_pages(trace))


def curve(policy: str, ratios: list[float]) -> Curve:
    sizes = np.array([256, 512, 1024])
    return Curve(policy, "classic", sizes, np.array(ratios), None, 1.0, np.zeros(3, np.int64))


@pytest.mark.parametrize(
    ("lru", "optimum", "said"),
    [
        ([0.4, 0.58, 0.6], [0.5, 0.6, 0.6],
         ("In the trace's second half LRU needs 2 MiB (50 % of the footprint) for hits on 58 %",
          "10 points above LRU (at 1 MiB), so a better")),
        ([0.4, 0.58, 0.6], [0.45, 0.6, 0.6],
         ("LRU needs 2 MiB", "5 points above LRU (at 1 MiB), so a better policy wins a little")),
        ([0.58, 0.59, 0.6], [0.59, 0.6, 0.6], ("LRU needs 1 MiB", "so keep LRU")),
        ([0.01, 0.02, 0.03], [0.2, 0.3, 0.3], ("at most 3 % of the page accesses", "hardly come again")),
    ],
)  # fmt: skip
def test_how_much_cache(found, lru, optimum, said):
    text = say(sentences.curve_sentence, replace(found, curves=(curve("lru", lru), curve("belady_bypass", optimum))))
    assert all(part in text for part in said), text


@pytest.mark.parametrize(
    ("one", "ten", "once", "said"),
    [
        (0.62, 0.9, 0.1, "The busiest 1 % of the pages take 62 % of the accesses: a small cache pays."),
        (0.3, 0.5, 0.1, "take 50 % of the accesses: a cache of middling size pays."),
        (0.1, 0.2, 0.6, "must be large to pay; 60 % of the pages are used once, so keep them out"),
    ],
)
def test_popularity(found, one, ten, once, said):
    own = replace(found.popularity, top_share={"1.0%": one, "10.0%": ten}, once_share=once)
    assert said in say(sentences.popularity_sentence, own)


@pytest.mark.parametrize(
    ("ratio", "hurst", "daily", "said"),
    [
        (43.0, None, None, "Bursty: the busiest 1 s has 43 times the mean load, so size for peaks, not for the mean."),
        (5.0, Hurst(0.8, 0.02, 0.99), None, "busy stretches last (Hurst's exponent is 0.8, by chance it would be 0.5)"),
        (2.0, Hurst(0.7, 0.05, 0.9), None, "so the mean says what to expect."),
        (2.0, None, Daily(3.0, np.ones(24), 4.0, None), "load follows the hour of the day"),
        (2.0, None, Daily(3.0, np.ones(24), 1.5, None), "so the mean says what to expect."),
    ],
)  # fmt: skip
def test_load(found, ratio, hurst, daily, said):
    scale = replace(found.arrivals.scales[0], window_s=1.0, peak_to_mean=ratio)
    shorter = replace(scale, window_s=0.1, peak_to_mean=999.0)
    own = replace(found.arrivals, scales=(shorter, scale), hurst=hurst, daily=daily)
    assert said in say(sentences.load_sentence, own)


def test_load_of_a_short_trace_and_without_a_clock(found):
    own = replace(found.arrivals, scales=(replace(found.arrivals.scales[0], window_s=0.01, peak_to_mean=4.0),))
    assert "the busiest 10 ms has 4 times" in say(sentences.load_sentence, own)
    assert "too short" in say(sentences.load_sentence, replace(own, scales=()))
    assert sentences.load_sentence(None) == sentences.NO_CLOCK


@pytest.mark.parametrize(
    ("reads", "said"),
    [(0.8, "serves mostly reads"), (0.5, "serves both reads and writes"),
     (0.2, "80 % of the requests are writes: a cache pays if it may")],
)  # fmt: skip
def test_reads_and_writes(found, reads, said):
    text = say(sentences.mix_sentence, replace(found, summary=replace(found.summary, read_share=reads)))
    assert said in text
    assert text.endswith("both read and written.")


@pytest.mark.parametrize(
    ("median", "aligned", "said"),
    [
        (8192, 1.0, "hits count more than bytes."),
        (65_536, 0.3, "a hit saves a seek and a transfer; only 30 % begin and end on a page's edge"),
        (1 << 20, 1.0, "what is let into the cache counts more"),
    ],
)
def test_sizes(found, median, aligned, said):
    own = replace(found.sizes["all"], median_bytes=median, aligned_share=aligned)
    assert said in say(sentences.sizes_sentence, replace(found, sizes={"all": own}))


@pytest.mark.parametrize(
    ("busiest", "stays", "said"),
    [
        (0.2, 0.2, "spread over the volume"), (0.6, 0.5, "still get 50 % later: they stay"),
        (0.6, 0.1, "get only 10 % later: they move, so a cache must adapt"),
    ],
)  # fmt: skip
def test_addresses(found, busiest, stays, said):
    own = replace(found.heat_map, busiest_share=busiest, stays_share=stays)
    assert said in say(sentences.heat_sentence, replace(found, heat_map=own))
    small = replace(own, requests=np.ones((1, 4), np.int64))
    assert "one small region" in say(sentences.heat_sentence, replace(found, heat_map=small))


def test_a_working_set_that_grows_and_one_that_does_not(found):
    accesses = np.full(4, 10)
    level = replace(
        found.working_set, window_s=60.0, accesses=accesses, bytes=np.full(4, 5 * PAGE),
        new_bytes=np.array([5, 0, 0, 1]) * PAGE, total_bytes=np.array([5, 5, 5, 6]) * PAGE,
    )  # fmt: skip
    text = say(sentences.working_sentence, replace(found, working_set=level))
    assert "In 1 min the trace typically touches 20 KiB, in all 24 KiB" in text
    assert "near its end 10 % of the accesses are to new pages, which any cache misses" in text
    none = say(sentences.working_sentence, replace(found, working_set=replace(level, new_bytes=np.zeros(4, np.int64))))
    assert "only 0 % of the accesses are to new pages, so a warm cache stays warm" in none
    grows = replace(level, window_s=None, new_bytes=np.array([5, 0, 0, 3]) * PAGE)
    assert "30 % of the accesses are still to new pages" in say(
        sentences.working_sentence, replace(found, working_set=grows)
    )


@pytest.mark.parametrize(
    ("again", "said"), [(0.05, "little to cache"), (0.3, "at most these"), (0.7, "much to cache"), (0.0, "gets no hit")]
)
def test_reuse(found, again, said):
    own = replace(found.reuse, again=replace(found.reuse.again, share=again))
    assert said in say(sentences.reuse_sentence, replace(found, reuse=own))


def test_reuse_that_a_sample_does_not_hold(found):
    own = replace(found.reuse, distances=replace(found.reuse.distances, below_bytes={}))
    said = say(sentences.reuse_sentence, replace(found, reuse=own))
    assert "half of those within" in said and "of other pages" not in said
    assert "half of those" not in say(sentences.reuse_sentence, replace(found, reuse=replace(own, times=None)))


@pytest.mark.parametrize("kind", sentences.MEANT)
def test_order(found, kind):
    shares = dict.fromkeys(sentences.MEANT, 0.1) | {kind: 0.7}
    own = replace(found.patterns, twsd={"all": Twsd(**shares)})
    assert f"70 % of the requests are {kind}" in say(sentences.patterns_sentence, replace(found, patterns=own))


def test_who(found):
    def of(*shares: float) -> Senders:
        return Senders(len(shares), tuple(Sender(f"p{k}", 1, one, 1, 0.5, PAGE) for k, one in enumerate(shares)))

    assert "one sender" in say(sentences.sender_sentence, replace(found, who={"volume": of(1.0), "user": of(1.0)}))
    one = say(sentences.sender_sentence, replace(found, who={"volume": of(1.0), "user": of(0.9, 0.1)}))
    assert "one process or user (p0) sends 90 %" in one
    many = say(sentences.sender_sentence, replace(found, who={"volume": of(0.5, 0.5), "user": of(1.0)}))
    assert "The busiest volume (p0) of 2 sends 50 %" in many


def test_units_of_an_axis_of_time():
    assert (axis_unit(10), axis_unit(7200)) == ((1.0, "seconds"), (60.0, "minutes"))
    assert axis_unit(86_400 * 7) == (86_400.0, "days")


def test_every_sentence_on_an_edge():
    trace = made(1)
    for _, sentence in sentences.sentences_of(characterise(trace, expand_pages(trace))):
        assert sentence.endswith(".")


def test_a_rule_that_chooses_no_stream_does_not_say_that_streams_do_not_pay(found):
    assert found.fios_table_2 is not None
    none = replace(found, fios_table_2=replace(found.fios_table_2, features=""))
    text = say(sentences.papers_sentence, none)
    assert "chooses none of its features" in text and "--only wear` tells whether streams pay" in text
    assert "will do" not in text

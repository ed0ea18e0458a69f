"""A trace of objects as a page: what it says follows from its figures, and nothing is said of addresses."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cachezoo.questions.objects.description import Lifetimes, characterise_objects
from cachezoo.trace_report import object_sentences as sentences
from cachezoo.trace_report.object_page import object_page
from cachezoo.trace_report.object_sentences import sentences_of
from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.html_page import HtmlPage
from tests.objects_data import drawn, trace_of
from tests.oracles.object_report import Request
from tests.trace_data import sample

SPATIAL = ("sequential", "strided", "prefetch", "neighbour", "volume", "4 KiB", "footprint", "page access")
ONE = [Request(0, 0, 5, "get")]
EDGES = {
    "one request": ONE,
    "one object": [Request(k * 1_000_000, 0, 7, "get") for k in range(9)],
    "no sizes": [Request(k * 1000, k % 3, 0, "set") for k in range(60)],
    "no clock": [Request(k, k % 5, 9 + k % 5, "get") for k in range(60)],
    "never again": [Request(k * 1000, k, 9, "get") for k in range(60)],
    "one time": [Request(0, k % 4, 9, "get") for k in range(60)],
    "deletes last": [*ONE, *(Request(k, 0, 0, "delete") for k in range(1, 9))],
    "one time to live": [Request(k * 10**6, k % 4, 9, "set", 2) for k in range(60)],
}


@pytest.fixture(scope="module")
def found():
    return characterise_objects(trace_of(drawn()))


def said(text):
    return text.replace("\u00a0", " ")


def test_the_page_has_all_sentences_before_one_table_and_the_plots(found):
    html = object_page(found)
    page = HtmlPage(html)
    assert "script" not in page.tags
    assert len(set(page.ids)) == len(page.ids)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    texts = [text for _, text in sentences_of(found)]
    places = [page.said.index(text) for text in texts]
    table, plot = page.said.index("What so many per cent do not exceed"), html.index("<svg")
    assert max(places) < table and html.index("What so many per cent") < plot
    assert all(page.said.count(text) == 1 for text in texts)
    assert html.count("<figure>") == 7
    assert html == object_page(characterise_objects(trace_of(drawn())))


def test_the_table_shows_the_figures(found):
    page = HtmlPage(object_page(found))
    rows = {
        "object size": found.sizes.object_bytes, "request size": found.sizes.request_bytes,
        "other requests until again": found.reuse.requests_between, "their bytes": found.reuse.bytes_between,
        "time until again": found.reuse.time_between_s, "time to live": found.lifetimes.ttl_s,
    }  # fmt: skip
    for name, own in rows.items():
        values = [value for value, _ in page.shown("What so many per cent", name)]
        assert values == pytest.approx([*own.at_most.values(), own.largest, own.mean]), name


@pytest.mark.parametrize("name", EDGES)
def test_edges_have_pages_that_say_nothing_of_addresses(name):
    own = characterise_objects(trace_of(EDGES[name]))
    page = HtmlPage(object_page(own))
    text = " ".join(text for _, text in sentences_of(own))
    assert all(text in page.said for _, text in sentences_of(own))
    assert not [word for word in SPATIAL if word in text]


def test_what_a_trace_lacks_has_no_sentence(found):
    parts = ["how much cache", "popularity", "when objects come again", "reads, writes", "sizes", "load"]
    assert [name for name, _ in sentences_of(found)] == [*parts, "deletes, times to live"]
    plain = characterise_objects(trace_of([row._replace(op="get", ttl_s=0) for row in drawn()]))
    assert [name for name, _ in sentences_of(plain)] == parts
    timed = replace(trace_of(drawn()), latency_us=np.full(600, 40, np.int64))
    own = characterise_objects(timed)
    assert [name for name, _ in sentences_of(own)] == [*parts, "deletes, times to live", "response times"]
    assert "response times as traced" in object_page(own)


@pytest.mark.parametrize(
    ("hits", "of_bytes", "words"),
    [
        ([0.4, 0.58, 0.6], [0.4, 0.57, 0.6],
         ("In the trace's second half LRU needs 512 B (50 % of the bytes of all objects) for hits on 58 % of the "
          "requests and 57 % of the bytes",
          "; LRU of any size hits on at most 60")),
        ([0.4, 0.58, 0.6], [0.1, 0.3, 0.6], ("hits are of small objects more than misses are.",)),
        ([0.4, 0.58, 0.6], [0.4, 0.7, 0.7], ("hits are of large objects more than misses are.",)),
        ([0.01, 0.02, 0.03], [0.2, 0.3, 0.3], ("at most 3 % of the requests", "hardly come again")),
    ],
)  # fmt: skip
def test_how_much_cache(found, hits, of_bytes, words):
    own = replace(
        found.curve, whole=1024, capacities=np.array([256, 512, 1024]), hit_ratio=np.array(hits),
        byte_hit_ratio=np.array(of_bytes),
    )  # fmt: skip
    sizes = replace(found.sizes, unknown_objects=0)
    text = said(sentences.curve_sentence(replace(found, curve=own, sizes=sizes)))
    assert all(part in text for part in words), text


@pytest.mark.parametrize(
    ("again", "held", "words"),
    [
        (0.6, 0.6, ("60 % of the whole trace's requests are for objects requested before", ": much to cache.")),
        (
            0.6,
            0.4,
            ("; 20 % find theirs deleted or expired since, which no", "hit: a cache can hit at most the other 40 %."),
        ),
        (0.3, 0.3, (": a cache can hit at most these.",)),
        (0.08, 0.08, (": little to cache.",)),
    ],
)
def test_when_objects_come_again(found, again, held, words):
    own = replace(found.reuse, again_share=again, held_share=held)
    text = said(sentences.reuse_sentence(replace(found, reuse=own)))
    assert all(part in text for part in words), text
    assert ("deleted or expired" in text) == (held < again)


@pytest.mark.parametrize(
    ("reads", "words"),
    [(80, "80 % of the requests that are no deletes are reads: a cache serves mostly reads."),
     (50, "serves both reads and writes."), (20, "what is written must soon be read")],
)  # fmt: skip
def test_reads_and_writes(found, reads, words):
    summary = {**found.summary, "reads": reads, "writes": 100 - reads}
    assert words in said(sentences.mix_sentence(replace(found, summary=summary)))
    none = {**summary, "deletes": 0}
    assert f"{reads} % of the requests are reads" in said(sentences.mix_sentence(replace(found, summary=none)))


def test_sizes(found):
    sizes = replace(found.sizes, largest_tenth_share=0.6, unknown_objects=0)
    text = said(sentences.sizes_sentence(replace(found, sizes=sizes)))
    assert "the largest tenth of the objects has 60 % of the bytes, so a policy that weighs sizes" in text
    few = replace(found.sizes, largest_tenth_share=0.3, unknown_objects=0)
    text = said(sentences.sizes_sentence(replace(found, sizes=few)))
    assert "weighs" not in text and "no request says" not in text
    assert sentences.sizes_sentence(replace(found, sizes=None)) == sentences.UNKNOWN_SIZES


def test_where_sizes_are_unknown_nothing_is_said_of_shares_of_bytes(found):
    many = replace(found.sizes, object_bytes=replace(found.sizes.object_bytes, count=990), largest_tenth_share=0.6)
    for unknown, telling in ((9, True), (10, False)):
        own = replace(found, sizes=replace(many, unknown_objects=unknown))
        text = said(sentences.sizes_sentence(own))
        assert f"of {unknown} objects no request says a size" in text
        assert ("of the bytes, so a policy" in text) == telling
        assert ("of the bytes; LRU" in said(sentences.curve_sentence(own))) == telling
        assert ("that they ask for" in said(sentences.reuse_sentence(own))) == telling


def test_deletes_and_times_to_live(found):
    text = said(sentences.lifetimes_sentence(replace(found, lifetimes=Lifetimes(5, 3, 0, None, 0))))
    assert text == "5 requests delete, 3 of them what is there."
    lives = Lifetimes(0, 0, 7, found.lifetimes.ttl_s, 2)
    text = said(sentences.lifetimes_sentence(replace(found, lifetimes=lives)))
    assert text.startswith("7 requests give a time to live, half of them at most") and "2 requests find" in text


def test_the_command_writes_the_page_and_prints_sentences_and_figures(tmp_path):
    path = tmp_path / "made.parquet"
    write_trace(trace_of(drawn()), path)
    text = run("trace", "report", path, "-o", tmp_path / "page.html").stdout
    assert "when objects come again" in text and "The busiest" in text
    assert "<svg" in (tmp_path / "page.html").read_text()
    values = json.loads(run("trace", "report", path, "--json").stdout)
    assert set(values) == {
        "summary", "curve", "popularity", "reuse", "sizes", "arrivals", "latency", "lifetimes"
    }  # fmt: skip
    assert values["summary"]["objects"] == len({row.key for row in drawn()})
    assert values["latency"] is None


@pytest.mark.needs("public_traces")
def test_numbers_by_first_appearance_are_no_order_of_addresses():
    said = run("trace", "report", sample("cases/object-ids-numbered-by-first-appearance.tr")).stdout
    text = " ".join(said.replace("│", " ").split())
    assert "50 % of the whole trace's requests are for objects requested before" in text
    assert not [word for word in SPATIAL if word in said]

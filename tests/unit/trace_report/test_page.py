"""The page: one file, the same for the same trace, on every edge; and the command."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from cachezoo.characteristics.describe import characterise
from cachezoo.trace_report.page import trace_page
from cachezoo.trace_report.sentences import sentences_of
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import TraceMeta
from tests.characteristics_data import EDGES, made, zipf_trace
from tests.command_line import run
from tests.html_page import HtmlPage


def described(trace, **options):
    return characterise(trace, expand_pages(trace), **options)


def test_the_page_is_one_file_that_leads_with_its_sentences():
    found = described(zipf_trace(5000, 300, 1.0, 2))
    html = trace_page(found)
    page = HtmlPage(html)
    assert "script" not in page.tags
    assert len(set(page.ids)) == len(page.ids)
    links = [given[name] for _, given in page.given for name in ("href", "src") if name in given]
    assert {link[1:] for link in links if link.startswith("#")} <= set(page.ids)
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert all(sentence in page.said for _, sentence in sentences_of(found))
    assert html.count("<figure>") == 9


def test_the_same_trace_gives_the_same_page():
    first, second = (trace_page(described(zipf_trace(3000, 200, 1.0, 2))) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", EDGES)
def test_edges_have_pages(name):
    HtmlPage(trace_page(described(EDGES[name])))


def test_days_and_latency_are_drawn():
    rng = np.random.default_rng(1)
    time_us = np.sort(rng.integers(0, 5 * 86_400_000_000, 9000))
    trace = made(9000, time_us=time_us, latency_us=rng.integers(0, 9999, 9000), offset=rng.integers(0, 99, 9000) * 4096)
    html = trace_page(described(trace))
    assert "load by the hour" in html
    assert "response times as traced" in html


def test_what_is_implausible_stands_first():
    n = 200
    sectors = np.random.default_rng(1).integers(0, 2**50, n) * 512
    trace = made(n, offset=sectors, size=np.full(n, 8 << 20), meta=TraceMeta("m", "unknown", "disksim", "0" * 64))
    found = described(replace(trace, meta=replace(trace.meta, extra={"left_out.flush": "7"})))
    assert found.summary.warnings
    html = trace_page(found)
    assert f"Warning: {found.summary.warnings[0]}" in re.sub(r"<[^>]+>", "", unescape(html))
    assert "Left out: 7 (flushes, which move no data)" in html


def test_a_long_trace_is_sampled_and_says_so():
    trace = zipf_trace(40_000, 8000, 0.6, 2)
    found = described(trace, most_for_distances=10_000, most_for_curves=10_000)
    exact = described(trace)
    assert found.reuse.distances.rate == pytest.approx(0.25, abs=0.05)
    assert 0 < found.reuse.distances.error_90 < 0.15
    first = exact.reuse.distances.first_share
    assert found.reuse.distances.first_share == pytest.approx(first, abs=2 * found.reuse.distances.error_90 + 0.02)
    assert [curve.error_90 is None for curve in found.curves] == [True, False, False, False]
    html = trace_page(found)
    assert "90 %" in html
    assert "Nothing is sampled." not in html
    assert "Nothing is sampled." in trace_page(exact)


def test_the_command_writes_the_page_and_prints_sentences(tmp_path):
    trace = zipf_trace(3000, 200, 1.0, 2)
    write_trace(trace, tmp_path / "mine.parquet")
    said = run("trace", "report", tmp_path / "mine.parquet", "-o", tmp_path / "page.html").stdout
    assert "how much cache" in said and "The busiest" in said
    assert (tmp_path / "page.html").read_text() == trace_page(described(trace))


def test_the_command_prints_all_figures_as_json(tmp_path):
    write_trace(zipf_trace(3000, 200, 1.0, 2), tmp_path / "mine.parquet")
    values = json.loads(run("trace", "report", tmp_path / "mine.parquet", "--json").stdout)
    assert set(values) == {
        "summary", "footprint", "curves", "sizes", "arrivals", "heat_map", "working_set", "reuse", "popularity",
        "patterns", "who", "latency", "rc_rnn_table_4", "fios_table_2",
    }  # fmt: skip
    assert values["summary"]["requests"] == 3000
    assert [curve["policy"] for curve in values["curves"]] == ["lru", "arc", "s3fifo", "belady_bypass"]


@pytest.mark.parametrize(("name", "fix"), [("page.pdf", "ends in .html"), ("taken/page.html", "taken")])
def test_a_page_that_cannot_be_written_is_refused_first(tmp_path, name, fix):
    (tmp_path / "taken").write_text("a file")
    done = run("trace", "report", tmp_path / "absent.csv", "-o", tmp_path / name, ok=False)
    assert done.returncode == 1 and fix in done.stderr and len(done.stderr.splitlines()) == 1

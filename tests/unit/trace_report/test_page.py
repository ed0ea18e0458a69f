"""The page: one file, the same for the same trace, on every edge; and the command."""

import json
import re
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from cachezoo import cli
from cachezoo.characteristics.characterise import characterise
from cachezoo.trace_report.page import trace_page
from cachezoo.trace_report.sentences import by_part
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import TraceMeta
from tests.characteristics_data import EDGES, made, zipf_trace


def described(trace, **options):
    return characterise(trace, expand_pages(trace), **options)


class Checker(HTMLParser):
    VOID = frozenset({"meta", "br", "wbr", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.add(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src") if name in given]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    return checker


def test_the_page_is_one_file_that_leads_with_its_sentences():
    found = described(zipf_trace(5000, 300, 1.0, 2))
    html = trace_page(found)
    page = checked(html)
    assert "script" not in page.tags
    assert len(set(page.ids)) == len(page.ids)
    anchors = {link[1:] for link in page.links if link.startswith("#")}
    assert anchors <= set(page.ids)
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in page.links)
    text = re.sub(r"<[^>]+>", "", html).replace("&#39;", "'")
    for _, sentence in by_part(found):
        assert sentence in text
    assert html.count("<svg") == 9


def test_the_same_trace_gives_the_same_page():
    first, second = (trace_page(described(zipf_trace(3000, 200, 1.0, 2))) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", EDGES)
def test_edges_have_pages(name):
    checked(trace_page(described(EDGES[name])))


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
    assert 0 < found.reuse.distances.error < 0.1
    first = exact.reuse.distances.first_share
    assert found.reuse.distances.first_share == pytest.approx(first, abs=3 * found.reuse.distances.error + 0.02)
    assert [curve.error is None for curve in found.curves] == [True, False, False, False]
    html = trace_page(found)
    assert "standard error" in html
    assert "nothing is sampled" not in html
    assert "nothing is sampled" in trace_page(exact)


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["cachezoo", "trace", "report", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said_so = capsys.readouterr()
    return left.value.code, said_so.out, said_so.err


def test_the_command_writes_the_page_and_prints_sentences(tmp_path, monkeypatch, capsys):
    trace = zipf_trace(3000, 200, 1.0, 2)
    write_trace(trace, tmp_path / "mine.parquet")
    code, out, _ = run(monkeypatch, capsys, tmp_path / "mine.parquet", "-o", tmp_path / "page.html")
    assert code in (0, None)
    assert "how much cache" in out
    assert "The busiest" in out
    assert (tmp_path / "page.html").read_text() == trace_page(described(trace))


def test_the_command_prints_all_figures_as_json(tmp_path, monkeypatch, capsys):
    write_trace(zipf_trace(3000, 200, 1.0, 2), tmp_path / "mine.parquet")
    code, out, _ = run(monkeypatch, capsys, tmp_path / "mine.parquet", "--json")
    values = json.loads(out)
    assert code in (0, None)
    assert set(values) == {
        "summary", "footprint", "curves", "sizes", "arrivals", "heat_map", "working_set", "reuse", "popularity",
        "patterns", "who", "latency", "rc_rnn_table_4", "fios_table_2",
    }  # fmt: skip
    assert values["summary"]["requests"] == 3000
    assert [curve["policy"] for curve in values["curves"]] == ["lru", "arc", "s3fifo", "belady_bypass"]


@pytest.mark.parametrize(("name", "fix"), [("page.pdf", "ends in .html"), ("taken/page.html", "taken")])
def test_a_page_that_cannot_be_written_is_refused_first(tmp_path, monkeypatch, capsys, name, fix):
    (tmp_path / "taken").write_text("a file")
    code, _, err = run(monkeypatch, capsys, tmp_path / "absent.csv", "-o", tmp_path / name)
    assert code == 1
    assert fix in err
    assert len(err.splitlines()) == 1

"""Metrics: the text as OpenMetrics has it, read by a strict reader; over HTTP; names where they are used."""

import json
import os
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from cachezoo.serve import metrics
from cachezoo.serve.exposition import OPENMETRICS, PROMETHEUS, Family, openmetrics, prometheus
from cachezoo.serve.words import ServeError
from tests.openmetrics_text import read
from tests.serve_data import counters, histogram, note

PACKAGE = Path(__file__).parents[3] / "runtimes/package"
OWN = {"cache": "d"}


def value(families, name, **labels):
    """The only sample with these labels, of those of a cache."""
    samples = families[name]["samples"]
    found = [one for _, own, one in samples if own == OWN | labels]
    assert len(found) == 1, samples
    return found[0]


def test_all_that_is_counted_is_there():
    families = read(openmetrics(metrics.families(note(promised=0.5, write_rate=2e7))))
    assert value(families, "cachezoo_hit_units", op="read") == 6
    assert value(families, "cachezoo_requests", op="write") == 4
    assert value(families, "cachezoo_model_decisions", decision="admit") == 3
    assert value(families, "cachezoo_ssd_write_budget_bytes_per_second") == 2e7
    assert value(families, "cachezoo_promised_hit_ratio") == 0.5
    assert value(families, "cachezoo_measured_hit_ratio") == 0.52
    assert value(families, "cachezoo_promise_missed") == 0
    assert value(families, "cachezoo_bypassed", reason="") == 0
    latency = families["cachezoo_read_latency_seconds"]["samples"]
    assert {labels["answered_by"] for _, labels, _ in latency} == {"ssd", "disk", "both"}


def test_a_filter_that_does_not_answer_is_seen():
    families = read(openmetrics(metrics.families(note(counters={}, measured=None))))
    assert value(families, "cachezoo_up") == 0
    assert "cachezoo_hit_units" not in families and "cachezoo_measured_hit_ratio" not in families


def test_texts_of_people_do_no_harm():
    wild = 'a"b\\c\nd,e}f'
    families = read(
        openmetrics(metrics.families(note(disk=wild, counters=counters(bypassed=True, bypass_reason=wild))))
    )
    assert families["cachezoo_served"]["samples"][0][1]["disk"] == wild
    assert value(families, "cachezoo_bypassed", reason=wild) == 1


def test_the_golden_text():
    family = Family("x_seconds", "histogram", "H.", "seconds").histogram([0.5, 1], [1, 3, 4], 2, a="b")
    counter = Family("y", "counter", "C.").add(3, op="read").add(None, op="write")
    assert openmetrics([family, counter]).splitlines() == [
        "# TYPE x_seconds histogram",
        "# UNIT x_seconds seconds",
        "# HELP x_seconds H.",
        'x_seconds_bucket{a="b",le="0.5"} 1',
        'x_seconds_bucket{a="b",le="1.0"} 3',
        'x_seconds_bucket{a="b",le="+Inf"} 4',
        'x_seconds_count{a="b"} 4',
        'x_seconds_sum{a="b"} 2.0',
        "# TYPE y counter",
        "# HELP y C.",
        'y_total{op="read"} 3',
        "# EOF",
    ]


@pytest.mark.parametrize(("mode", "expected"), [("around", (10, 6)), ("through", (10, 6)), ("back", (15, 9))])
def test_writes_count_in_mode_back_alone(mode, expected):
    assert metrics.accesses(counters(writes=mode, write_hits=3, write_misses=2)) == expected


def test_a_path_that_is_no_utf_8_is_shown():
    text = openmetrics(metrics.families(note(disk=os.fsdecode(b"/d\xff"))))
    assert read(text)["cachezoo_served"]["samples"][0][1]["disk"] == "/d?"


def test_a_textfile_has_the_types_of_prometheus_alone(tmp_path):
    file = tmp_path / "cachezoo.prom"
    before = os.umask(0o077)
    metrics.write(file, metrics.families(note()))
    os.umask(before)
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", file.read_text(), re.MULTILINE))
    assert types["cachezoo_served_info"] == "gauge" and types["cachezoo_requests_total"] == "counter"
    assert set(types.values()) <= {"counter", "gauge", "histogram"}
    assert [one.name for one in tmp_path.iterdir()] == ["cachezoo.prom"]
    assert file.stat().st_mode & 0o777 == 0o644  # whatever umask the unit has
    for line in file.read_text().splitlines():
        assert line.startswith("# HELP ") or line.startswith("# TYPE ") or line.startswith("cachezoo_")


def test_it_is_served_in_the_format_that_is_asked_for():
    families = metrics.families(note())
    server = metrics.Server(("127.0.0.1", free_port()), lambda: families)
    try:
        for accept, kind, text in (
            ("application/openmetrics-text;version=1.0.0,text/plain;q=0.5", OPENMETRICS, openmetrics(families)),
            ("*/*", OPENMETRICS, openmetrics(families)),
            ("text/plain;version=0.0.4;q=1,*/*;q=0.1", PROMETHEUS, prometheus(families)),
        ):
            asked = urllib.request.Request(server.url, headers={"Accept": accept})
            with urllib.request.urlopen(asked, timeout=10) as answer:
                assert answer.headers["Content-Type"] == kind
                assert answer.read().decode() == text
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(server.url.replace("/metrics", "/"), timeout=10)
        port = int(server.url.split(":")[2].split("/")[0])
        with pytest.raises(ServeError, match=f"--metrics 127.0.0.1:{port}"):
            metrics.Server(("127.0.0.1", port), lambda: families)
    finally:
        server.close()


def free_port():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def names_of_samples():
    families = metrics.families(note(promised=0.5, write_rate=1.0, counters=counters(latency={
        name: histogram(1, 1) for name in ("read_ssd", "write", "decision")})))  # fmt: skip
    return {one.name + suffix for one in families for suffix, _, _ in one.samples}


@pytest.mark.parametrize("file", ["dashboard.json", "alerts.yml", "../../docs/serve.md"])
def test_every_name_in_the_package_and_its_page_is_of_a_sample(file):
    used = set(re.findall(r"\bcachezoo_[a-z0-9_]+", (PACKAGE / file).read_text()))
    assert len(used) > 4
    assert used <= names_of_samples() | {name.removesuffix("_bucket") for name in names_of_samples()}


def test_the_dashboard_has_panels_that_ask_for_one_cache():
    board = json.loads((PACKAGE / "dashboard.json").read_text())
    assert board["uid"] == "cachezoo" and len(board["panels"]) >= 8
    targets = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    assert all('cache=~"$cache"' in text for text in targets)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
    assert len(set(places)) == len(places)


def test_there_are_four_alerts():
    import yaml

    groups = yaml.safe_load((PACKAGE / "alerts.yml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert [rule["alert"] for rule in rules] == [
        "CachezooBypassed", "CachezooPromiseMissed", "CachezooSsdErrors", "CachezooOverBudget",
    ]  # fmt: skip
    for rule in rules:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert {"summary", "description"} == set(rule["annotations"])

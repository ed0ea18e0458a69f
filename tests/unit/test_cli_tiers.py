"""`cachezoo recommend --only tiers` from the command line."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from cachezoo.questions.flash.model import decide, open_bundles
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.run import counts, run_tiers
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.show.formats import latency, ordinary, percent
from cachezoo.traces.store import read_trace, write_trace
from tests.command_line import run
from tests.page_data import seeded_trace
from tests.unit.questions.tiers.test_prices import SIMPLE

TIERS = ("recommend", "--only", "tiers")

STORED = Path(__file__).parents[1] / "golden" / "protocol2"
ADMISSION = STORED / "admission.database.lgbm"
PNG, SVG = b"\x89PNG", b"<?xml"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiers") / "seeded.parquet"
    own = seeded_trace(8000, 1500, 9)
    write_trace(replace(own, latency_us=np.full(len(own), 900, np.int64)), path)
    return path


def rows_of(trace, *words):
    found = json.loads(run(*TIERS, trace, "--json", *words).stdout)
    return found, {row["hierarchy"]: row for row in found["rows"]}


def test_rows_rise_by_amat_and_add_up(trace):
    by = "hca,l2arc,lru | rejectx+fifo,promotion: lru | lru,inclusive: lru | lru,lru"
    found, rows = rows_of(trace, "--hierarchy", by, "--ram", "40p", "--ssd", "20%", "--parts")
    assert rows.keys() == {"hcalfu | tb=64K | lru", "l2arc", "lru | rejectx+fifo", "promotion: lru | lru",
                           "inclusive: lru | lru", "lru", "hcalfu", "arc", None}  # fmt: skip
    times = [row["response"]["amat_us"] for row in found["rows"]]
    assert times == sorted(times)
    assert (found["ram_pages"], found["loop"]) == (40, "closed")
    assert found["rows"][-1]["hierarchy"] is None and found["rows"][-1]["cost"]["month_usd"] == 0
    base = min(row["ram_alone_amat_us"] for row in found["rows"])
    for row in found["rows"]:
        response, cost = row["response"], row["cost"]
        assert response["rhr"] + response["shr"] + response["dhr"] == pytest.approx(1)
        assert row["amat_saved"] == pytest.approx(1 - response["amat_us"] / base)
        assert cost["usd"] == pytest.approx(cost["ram_usd"] + cost["ssd_usd"])
        parts = (cost[f"{name}_month_usd"] for name in ("purchase", "wear", "power"))
        assert cost["month_usd"] == pytest.approx(sum(parts))
        assert row["wear"]["written"] == response["ssd_written"]
        assert row["paper"]["hcdrta"] == pytest.approx(response["dhr"] * response["rta_hdd_us"])
    assert rows["l2arc"]["ram_alone_amat_us"] == pytest.approx(
        rows_of(trace, "--hierarchy", "arc", "--ram", "40p")[1]["arc"]["response"]["amat_us"]
    )
    ours, simple = rows["hcalfu | tb=64K | lru"], rows["lru | rejectx+fifo"]
    assert ours["buffer_bytes"] == 65536
    assert ours["cost"]["ram_usd"] == pytest.approx(simple["cost"]["ram_usd"] * (40 * 4096 + 65536) / (40 * 4096))


def test_the_table_answers_first_and_says_what_its_figures_are_of(trace):
    done = run(*TIERS, trace, "--hierarchy", "hca,lru | lru", "--ram", "3%", "--ssd", "30%")
    answer, title = done.stdout.splitlines()[:2]
    assert "is fastest: a page read takes" in answer or "No one is surely fastest: " in answer
    assert "Against " in answer and " in RAM alone (" in answer and " saves " in answer
    assert "seeded.parquet: " in title and "of SSD" in title
    text = " ".join(done.stdout.split())
    assert "1 request outstanding, as captured" in text
    assert "$ of retail, end of 2022" in text
    assert "hcalfu | tb=64K | lru" in text


def test_the_first_line_the_table_and_the_json_compare_with_one_row(trace):
    """RAM alone of another cache than the fastest hierarchy's is the fastest here."""
    words = "--hierarchy", "hcalfu | lru,lru | lru,promotion: lru | s3fifo", "--ram", "40p", "--ssd", "20%"
    found, _ = rows_of(trace, *words)
    base = min(row["ram_alone_amat_us"] for row in found["rows"])
    first, *table = run(*TIERS, trace, *words).stdout.splitlines()
    best = found["rows"][0]
    name = best["hierarchy"]
    assert " | " in name
    assert f' in RAM alone ({ordinary(latency(base))}) "{name}" saves ' in first
    assert f"saves {ordinary(percent(best['amat_saved']))} [" in first
    for row in found["rows"]:
        if row["response"]["amat_us"] == base:
            continue
        assert row["amat_saved"] == pytest.approx(1 - row["response"]["amat_us"] / base)
        assert any(ordinary(percent(-row["amat_saved"], signed=True)) in line for line in table)


def test_the_lead_has_an_interval_over_blocks_of_time(trace):
    found, rows = rows_of(trace, "--hierarchy", "hca,lru | lru,lru", "--ram", "3%", "--ssd", "30%")
    first, last = found["rows"][0]["behind_fastest"], rows["lru"]["behind_fastest"]
    assert (first["gain"], first["low"], first["high"], first["won"]) == (0, 0, 0, 0)
    assert last["low"] < last["gain"] < last["high"]
    assert last["low"] > 0 and last["blocks"] == 20 >= last["won"] > 15
    assert last["gain"] == pytest.approx(
        1 - found["rows"][0]["response"]["amat_us"] / rows["lru"]["response"]["amat_us"]
    )
    apart = run(*TIERS, trace, "--hierarchy", "lru | lru,lru", "--ram", "3%", "--ssd", "30%").stdout.splitlines()[0]
    assert re.search(
        r'^"lru \| lru" is fastest: .* against lru, the next .* saves [0-9.]+ % \[[0-9.]+, [0-9.]+\]', apart
    )
    done = run(*TIERS, trace, "--hierarchy", "lru | lru,fifo | lru", "--ram", "1p", "--ssd", "30%")
    near = done.stdout.splitlines()[0]
    assert near.startswith("No one is surely fastest: with ") and '| lru" takes up to ' in near


def test_a_short_trace_says_that_nothing_is_sure(tmp_path):
    write_trace(seeded_trace(200, 60, 1), tmp_path / "short.parquet")
    words = ("--hierarchy", "lru | lru,lru", "--ram", "5p", "--ssd", "50%")
    assert (
        "The trace is too short to say which is fastest; with "
        in run(*TIERS, tmp_path / "short.parquet", *words).stdout
    )
    found = json.loads(run(*TIERS, tmp_path / "short.parquet", *words, "--json").stdout)
    assert found["rows"][1]["behind_fastest"]["low"] is None


def test_a_trace_without_a_clock_feeds_no_l2arc_and_has_no_open_loop(tmp_path):
    own = seeded_trace(2000, 400, 3)
    write_trace(replace(own, time_us=np.arange(len(own), dtype=np.int64)), tmp_path / "numbered.parquet")
    words = ("--hierarchy", "l2arc,lru | lru", "--ram", "20p", "--ssd", "30%")
    text = " ".join(run(*TIERS, tmp_path / "numbered.parquet", *words).stdout.split())
    assert "l2arc is fed by the clock, which the trace does not have" in text
    assert "one request at a time" in text
    done = run(*TIERS, tmp_path / "numbered.parquet", *words, "--loop", "open", ok=False)
    assert "the trace has no clock, so an open loop has no load; use closed" in done.stderr


def test_ram_alone_has_no_ssd_to_size_to_wear_or_to_pay(trace, tmp_path):
    found, rows = rows_of(trace, "--hierarchy", "lru,arc", "--ram", "40p", "--ssd", "1TiB", "-o", tmp_path / "t.svg")
    assert {row["ssd_pages"] for row in found["rows"]} == {0}
    own = rows["arc"]
    assert (own["wear"]["years"], own["wear"]["written"], own["cost"]["ssd_usd"], own["cost"]["ssd"]) == (
        None, 0, 0, None,
    )  # fmt: skip
    text = run(*TIERS, trace, "--hierarchy", "lru,arc", "--ram", "40p").stdout
    assert "than with its RAM alone" not in text
    assert "of SSD" not in text


def test_prices_and_device_are_those_given(trace, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(SIMPLE))
    found, rows = rows_of(trace, "--hierarchy", "lru | lru", "--ram", "100p", "--prices", path, "--parts")
    assert found["prices"]["name"] == "simple"
    assert rows["lru | lru"]["cost"]["ram_usd"] == pytest.approx(100 * 4096 / 1e9 * 4)
    slow = rows_of(trace, "--hierarchy", "lru | lru", "--ram", "100p", "--device", "hdd7500rpm_lexar32gb")[1]
    assert found["device"] == "exosx20_990pro"
    assert slow["lru | lru"]["response"]["rta_ssd_us"] > rows["lru | lru"]["response"]["rta_ssd_us"]


def test_the_second_half_counts_unless_another_warmup_is_given(trace):
    half, whole = (rows_of(trace, "--hierarchy", "lru | lru", *words)[0] for words in ((), ("--count", "all")))
    assert abs(half["first"] - half["page_accesses"] / 2) < 5
    assert whole["first"] == 0
    assert half["rows"][0]["response"]["reads"] < whole["rows"][0]["response"]["reads"]


@pytest.mark.parametrize("loop", ["open", "alone", "closed"])
def test_the_loop_is_the_one_given(trace, loop):
    found, rows = rows_of(trace, "--hierarchy", "lru | lru", "--loop", loop)
    assert found["loop"] == rows["lru | lru"]["response"]["loop"] == loop


@pytest.mark.parametrize(("name", "begins"), [("t.png", PNG), ("t.svg", SVG)])
def test_a_plot_is_the_same_each_time(trace, tmp_path, name, begins):
    paths = [tmp_path / f"{k}{name}" for k in range(2)]
    for path in paths:
        run(*TIERS, trace, "--hierarchy", "hca,lru", "-o", path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].read_bytes().startswith(begins)


def test_a_bundle_admits_to_the_ssd_or_to_ram(trace):
    by = "lru | lru,lru | bundle+lru,promotion: bundle+lru | lirs"
    _, rows = rows_of(trace, "--hierarchy", by, "--ram", "3%", "--ssd", "30%", "--bundle", ADMISSION)
    assert rows.keys() == {"lru | lru", "lru | bundle+lru", "promotion: bundle+lru | lirs", "lru", "bundle+lru", None}
    assert 0 < rows["lru | bundle+lru"]["wear"]["written"] < rows["lru | lru"]["wear"]["written"]
    own = read_trace(trace)
    model = decide(open_bundles([ADMISSION])[0], own)
    ts = tier_stream(own)
    ram, ssd = (round(share * ts.stream.n_pages) for share in (0.03, 0.3))
    admits = model.scores >= model.thresholds["none"]
    assert 0 < admits.mean() < 1
    run = run_tiers(parse_hierarchy("lru | bundle+lru"), ts, ram, ssd, decisions=admits)
    first = int(ts.pages.request_start[ts.request_of[len(ts) // 2]])
    assert rows["lru | bundle+lru"]["wear"]["written"] == counts(run, ts, first).ssd_writes


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--hierarchy", "lru | lur"), "--hierarchy lru | lur: lur is unknown, did you mean lru or "),
        (("--hierarchy", "hca,,lru"), "hierarchy (empty): write RAM | SSD"),
        (("--ram", "5"), "--ram '5': a bare number could be pages or bytes"),
        (("--ssd", "5XB"), "ssd '5XB': unknown unit 'XB'"),
        (("--ram", "-1MiB"), "--ram '-1MiB'"),
        (("--ram", "100000p"), "of RAM is more than the"),
        (("--ssd", "1TiB"), "of SSD is more than the"),
        (("--count", "many"), "--count 'many': give half, auto, all"),
        (("--count", "99999999"), "--count 99999999: the trace ends before"),
        (("--prices", "gold"), "gold: no such prices"),
        (("--lifetime", "5"), "--lifetime '5': give how long what is bought has to serve, such as 5y"),
        (("--endurance", "gold"), "--endurance gold: retail, end of 2022 has client, read-intensive, mixed"),
        (("--endurance", "600TBW", "--parts"), "--endurance 600TBW: how much of it a part of a drive has is not known"),
        (("--device", "gold"), "gold: no such device profile"),
        (("-o", "t.pdf"), "give a name that ends in .png or .svg"),
        (
            ("--hierarchy", "hca,lru | bundle+arc"),
            "--hierarchy lru | bundle+arc: a bundle admits to it; name one, --bundle ",
        ),
        (
            ("--hierarchy", "hca", "--bundle", ADMISSION),
            "admission.database.lgbm: --hierarchy does not name it; write it ",
        ),
        (("--hierarchy", "lru | bundle", "--bundle", "none"), "none"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(trace, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    done = run(*TIERS, trace, *words, ok=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert says in done.stderr
    assert not list(Path().iterdir())


@pytest.mark.needs("fio")
def test_real_devices_serve_each_tiers_ios(trace, tmp_path):
    targets = {}
    for kind in ("hdd", "ssd"):
        path = tmp_path / f"{kind}.scratch"
        path.write_bytes(np.random.default_rng(0).bytes(8 << 20))
        targets[kind] = {"path": str(path), "name": f"scratch {kind}"}
    device = {"source": "real", "force": True, "writes": "as_reads", "repetitions": 1, "fold": True, **targets}
    profile = tmp_path / "real.yaml"
    profile.write_text(yaml.safe_dump(device))
    found, rows = rows_of(trace, "--hierarchy", "lru | lru", "--device", profile)
    own = rows["lru | lru"]
    assert own["response"]["provenance"] == "real"
    assert found["loop"] == own["response"]["loop"] == "alone"
    assert own["measured"]["hdd"]["measured"]["target.name"] == "scratch hdd"
    assert own["measured"]["ssd"]["rows_changed"]["requests"] == own["response"]["ssd_ios"]
    assert own["response"]["amat_us"] > 0
    same = tmp_path / "same.yaml"
    same.write_text(yaml.safe_dump({**device, "ssd": targets["hdd"]}))
    done = run(*TIERS, trace, "--device", same, ok=False)
    assert "device.hdd and device.ssd are both" in done.stderr


def test_requests_of_a_faster_trace_wait_longer_in_the_open_loop(trace):
    asked = (trace, "--hierarchy", "lru", "--loop", "open")
    slow, fast = (rows_of(*asked, "--speed", speed)[1]["lru"]["response"]["amat_us"] for speed in ("0.02", "0.5"))
    assert fast > slow
    same, plain = (rows_of(*asked, *more)[1]["lru"]["response"]["amat_us"] for more in (("--speed", "1"), ()))
    assert same == plain
    done = run(*TIERS, trace, "--speed", "2", ok=False)
    assert done.returncode == 1 and "in the open loop alone; give --loop open too" in done.stderr

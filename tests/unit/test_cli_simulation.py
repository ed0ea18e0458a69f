"""`simulate`, `compare`, `sweep` and `policies` with what they take beside a trace."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.policies.registry import OPTIMUM, POLICIES, classics
from cachezoo.questions.page.bench import Bench
from cachezoo.show.formats import number
from cachezoo.traces.falling import unlike
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import PAGE_BYTES
from tests.caching_turns import RULES, changed, monitor
from tests.command_line import run
from tests.page_data import seeded_trace
from tests.trace_data import sample

DEVICE = Path(__file__).resolve().parents[2] / "conf/device/wdredpro2tb_850pro.yaml"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "t.parquet"
    own = seeded_trace(500, 80, 4)
    write_trace(own, path, expand_pages(own))
    return path


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A trace of which a half, in eight groups, is no empty sample."""
    path = tmp_path_factory.mktemp("wide") / "w.parquet"
    own = seeded_trace(4000, 40_000, 7)
    write_trace(own, path, expand_pages(own))
    return path


def refused(args, said, status=1):
    done = run(*args, ok=False)
    assert done.returncode == status and said in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def values(*args):
    return json.loads(run(*args, "--json").stdout)


def test_simulate_takes_compositions_and_capacity_lists(trace, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "320")
    asked = ("simulate", trace, "--policy", "rejectx(x=2)+s3fifo+next(n=2)", "--size", "5%,10%,40p")
    found = values(*asked, "-o", tmp_path / "p.png")
    assert found["policies"] == ["rejectx(x=2)+s3fifo+next(n=2)"]
    sizes = [row["capacity"] for row in found["runs"]]
    assert sizes == sorted(sizes) and sizes[-1] == 40
    assert found["runs"][0]["prefetched"] > 0
    assert (tmp_path / "p.png").read_bytes().startswith(PNG)
    text = run(*asked).stdout
    assert "prefetch hits" in text and "response" not in text


def test_write_policies_units_and_a_device(trace):
    ways = {way: values("simulate", trace, "--writes", way)["runs"][0] for way in ("back", "through", "around")}
    assert ways["back"]["hits"] == ways["through"]["hits"] > ways["around"]["hits"]
    assert ways["back"]["dirty_evictions"] > 0 == ways["through"]["dirty_evictions"]
    units = [values("simulate", trace, "--policy", "coinflip", "--unit", unit)["runs"][0]["ssd_writes"]
             for unit in ("page", "request")]  # fmt: skip
    assert units[0] != units[1]
    timed = values("simulate", trace, "--device", DEVICE, "--decision-us", "5")["runs"][0]["mean_response_us"]
    free = values("simulate", trace, "--device", DEVICE)["runs"][0]["mean_response_us"]
    assert timed == pytest.approx(free + 5)


def test_compare_at_several_capacities(trace, tmp_path):
    found = values("compare", trace, "--size", "5%,20%", "--policy", "lru", "--policy", "lru+next",
                   "-o", tmp_path / "c.png")  # fmt: skip
    assert [run_["capacity"] for run_ in found["runs"]] == sorted(run_["capacity"] for run_ in found["runs"])
    for run_ in found["runs"]:
        assert {row["policy"] for row in run_["rows"]} == {"lru", "lru+next", OPTIMUM}
        assert run_["best_classic"] in classics()
    assert (tmp_path / "c.png").read_bytes().startswith(PNG)
    assert run("compare", trace, "--size", "5%,20%", "--policy", "lru").stdout.count("best classic") == 2


def test_simulate_runs_every_policy_at_every_capacity(trace):
    asked = ("simulate", trace, "--policy", "lru", "--policy", "arc", "--size", "5%,64KiB", "--size", "40p")
    found = values(*asked)
    assert found["policies"] == ["lru", "arc"]
    assert [(row["policy"], row["capacity"]) for row in found["runs"]] == [
        (own, size) for own in ("lru", "arc") for size in (found["runs"][0]["capacity"], 16, 40)
    ]
    text = run(*asked).stdout
    assert text.count("│ lru ") == text.count("│ arc ") == 3 and "160 KiB (40 p)" in text


def test_compare_runs_what_is_asked_for_and_says_which_classics_the_gaps_are_to(trace, monkeypatch):
    asked = ("compare", trace, "--policy", "fifo", "--policy", "lru+next", "--workers", "1")
    ran, run_one = [], Bench.run
    monkeypatch.setattr(Bench, "run", lambda bench, own, *more: ran.append(own) or run_one(bench, own, *more))
    few = values(*asked)["runs"][0]
    assert ran == ["fifo", "lru+next", OPTIMUM] and few["best_classic"] == "fifo"
    every = values(*asked, "--all-classics")["runs"][0]
    assert {row["policy"] for row in every["rows"]} == {"fifo", "lru+next", OPTIMUM, *classics()}
    assert every["best_classic"] != "fifo"
    shown = run(*asked).stdout
    assert "best classic with defaults, of those shown: fifo" in shown and "100.0 %" in shown
    assert f"best classic with defaults: {every['best_classic']}" in run(*asked, "--all-classics").stdout
    none = values("compare", trace, "--policy", "lru+next")["runs"][0]
    assert none["best_classic"] is None and none["rows"][0]["gap_points"] is None
    assert "no classic is shown to state gaps to; see --all-classics" in run(
        "compare", trace, "--policy", "lru+next"
    ).stdout.replace("\n", " ")


@pytest.mark.parametrize("command", ["simulate", "compare", "sweep", "curve", "bounds"])
def test_every_table_says_from_where_on_it_counts(trace, command):
    own = ("--policy", "lru") if command != "bounds" else ()
    sizes = ("--points", "3") if command == "curve" else ("--size", "5%,100%")
    accesses = len(expand_pages(seeded_trace(500, 80, 4)).page_ids)
    text = " ".join(run(command, trace, *own, *sizes).stdout.split())
    assert re.search(rf"after (its own warm-up, )?[0-9,]+ (to [0-9,]+ )?of {accesses:,} page accesses", text), text
    text = " ".join(run(command, trace, *own, *sizes, "--count", "0").stdout.split())  # its name of before
    assert f"counted after 0 of {accesses:,} page accesses" in text


def test_compare_charges_no_classic_for_deciding(trace):
    asked = ("compare", trace, "--policy", "lru", "--device", DEVICE)
    free, charged = (values(*asked, *more)["runs"][0]["rows"] for more in ((), ("--decision-us", "50")))
    assert [row["mean_response_us"] for row in free] == [row["mean_response_us"] for row in charged]


def test_sweep_writes_rows_of_every_trace(trace, tmp_path):
    out = tmp_path / "rows.csv"
    found = values("sweep", trace, trace, "--size", "5%,10%", "--policy", "lru", "--policy", "arc", "--workers",
                   "1", "-o", out)  # fmt: skip
    assert len(found) == 2 * 2 * 2
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == [row["policy"] for row in found]
    assert "requests_per_s" not in rows[0]
    assert float(rows[0]["hit_ratio"]) == pytest.approx(found[0]["hit_ratio"])
    assert "8 runs" in run("sweep", trace, trace, "--size", "5%,10%", "--policy", "lru", "--policy", "arc",
                           "--workers", "1").stdout  # fmt: skip


def test_curves(trace, tmp_path):
    found = values("curve", trace, "--policy", "lru", "--policy", "arc", "--points", "6", "-o", tmp_path / "h.png")
    assert (tmp_path / "h.png").read_bytes().startswith(PNG)
    sizes = sorted({row["capacity"] for row in found["rows"]})
    for row in found["rows"]:
        same = values("simulate", trace, "--policy", row["policy"], "--size", f"{row['capacity']}p")["runs"][0]
        assert (row["hit_ratio"], row["warmup"]) == (same["hit_ratio"], same["warmup"])
    assert len(found["rows"]) == 2 * len(sizes)
    text = run("curve", trace, "--points", "3").stdout
    assert "belady_bypass" in text and f"{sizes[-1]}" in text


def test_a_sampled_curve_has_errors_and_is_near_the_exact_one(trace, tmp_path):
    asked = ("curve", trace, "--policy", "lru", "--policy", "arc", "--points", "4")
    exact, sampled = values(*asked, "--sample", "exact"), values(*asked, "--sample", "70%")
    assert exact == values(*asked)
    for one, other in zip(exact["rows"], sampled["rows"], strict=True):
        assert one["error_90"] is None and one["rate"] == 1.0
        assert 0.5 < other["rate"] < 1.0 and other["error_90"] >= 0
        assert abs(one["hit_ratio"] - other["hit_ratio"]) <= 3 * other["error_90"] + 0.02
    text = run(*asked, "--sample", "0.7", "-o", tmp_path / "h.png").stdout
    assert "±" in text and "± 90 %" in text and (tmp_path / "h.png").read_bytes().startswith(PNG)
    assert "a sample of 100 % of the pages" in run(*asked, "--sample", "0.9999").stdout


def test_a_long_trace_is_sampled_and_lru_stays_exact(trace, monkeypatch):
    from cachezoo.cli import curves

    asked = ("curve", trace, "--points", "4")
    exact = values(*asked)
    accesses = exact["page_accesses"]
    monkeypatch.setattr(curves, "MOST_SIMULATED", 8 * accesses // 2)
    found = values(*asked)
    assert {row["policy"]: row["error_90"] is None for row in found["rows"]} == {"lru": True, OPTIMUM: False}
    assert [row for row in found["rows"] if row["policy"] == "lru"] == exact["rows"][:4]


def test_every_command_takes_a_follower(trace, tmp_path):
    text, experts = "follow(experts=lru|rejectx+arc, price=0.5)", ("lru", "rejectx+arc")
    (found,) = values("simulate", trace, "--policy", text, "--device", DEVICE)["runs"]
    assert found["kind"] == "follower" and found["dirty_evictions"] > 0 and found["mean_response_waiting_us"] > 0
    beside = ("--policy", text, *(word for expert in experts for word in ("--policy", expert)))
    rows = values("compare", trace, *beside, "--size", "20%", "-o", tmp_path / "p.png")["runs"][0]["rows"]
    kinds = {row["policy"]: row["kind"] for row in rows}
    assert kinds == {text: "follower", "lru": "classic", "rejectx+arc": "composed", OPTIMUM: "bound"}
    swept = values("sweep", trace, *beside, "--size", "20%", "-o", tmp_path / "o.csv")
    assert {row["policy"]: row["hits"] for row in rows if row["policy"] != OPTIMUM} == {
        row["policy"]: row["hits"] for row in swept
    }
    assert text in (tmp_path / "o.csv").read_text()
    rows = values("curve", trace, "--policy", text, "--points", "3")["rows"]
    assert {row["policy"] for row in rows} == {text} and len({row["hit_ratio"] for row in rows}) > 1


def test_every_command_takes_a_virtual_cache_and_shows_transfers_beside_hit_ratios(trace, tmp_path):
    text = "vrm(queue=arc, n=4096, fragment=4, q=100)"
    (found,) = values("simulate", trace, "--policy", text)["runs"]
    assert found["kind"] == "composed" and found["moved"] > 0 and found["dirty_evictions"] is None
    misses = found["page_accesses"] - found["hits"]
    assert found["transfers"] == (misses + found["moved"]) / found["page_accesses"]
    rows = values("compare", trace, "--policy", text, "--policy", "lru", "--size", "10%")["runs"][0]["rows"]
    assert {row["policy"]: row["moved"] > 0 for row in rows} == {text: True, "lru": False, OPTIMUM: False}
    swept = values("sweep", trace, "--policy", text, "--policy", "lru", "--size", "10%", "-o", tmp_path / "o.csv")
    transfers = {row["policy"]: row["transfers"] for row in rows}
    assert {row["policy"]: row["transfers"] for row in swept}.items() <= transfers.items()
    curved = values("curve", trace, "--policy", text, "--size", "10%")["rows"]
    assert curved[0]["transfers"] > 1 - curved[0]["hit_ratio"]
    assert f"transfers of {text}" in " ".join(run("curve", trace, "--policy", text, "--size", "10%").stdout.split())
    shown = run("simulate", trace, "--policy", text, "--size", "10%,20%").stdout
    assert "transfers" in shown.partition("request")[0]


def test_gaps_from_a_sample_have_their_bars(wide):
    asked = ("compare", wide, "--policy", "lru", "--policy", "arc", "--sample", "0.5")
    row = values(*asked)["runs"][0]["rows"][-1]
    assert row["gap_points"] < 0 < row["gap_points_error_90"]
    text = " ".join(run(*asked).stdout.split())
    assert f"{number(row['gap_points'], 2)} ± {number(row['gap_points_error_90'], 2)}" in text
    assert f"{number(100 * row['gap_closed'], 1)} ± {number(100 * row['gap_closed_error_90'], 1)}" in text


@pytest.mark.parametrize("command", ["simulate", "compare", "sweep", "curve"])
def test_a_follower_too_large_for_a_sample_names_the_size_that_was_given(wide, command):
    text = "follow(experts=lru|arc, sample=0.2)"
    pages = values("simulate", wide, "--size", "20%")["runs"][0]["capacity"]
    asked = (command, wide, "--policy", text, "--sample", "0.5", "--size")
    refused((*asked, "20%"), f"policy {text}: a cache of {pages} pages is too small in the sample; give a higher --sam")
    refused((*asked, "100p"), "sample = 0.2 of 100 pages makes shadows of 20")


def test_policies_lists_each_with_a_line():
    listed = values("policies")
    assert set(POLICIES) <= set(listed)
    assert {"coinflip+", "+next", "vrm", "rcrnn(category=auto)"} <= set(listed)
    assert all(line and "\n" not in line for line in listed.values())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("simulate", "--size", "5%,,10%"), "--size '': write a size as 64MiB, 10%"),
        (("compare", "--size", "5%,x"), "--size 'x'"),
        (("simulate", "--writes", "sideways"), "write policy sideways: use one of back, through, around"),
        (("compare", "--unit", "sector"), "admission unit sector: use one of page, segment, request"),
        (("simulate", "--device", "none.yaml"), "none.yaml: no such file"),
        (("simulate", "-o", "p.pdf"), "give a name that ends in .png or .svg"),
        (("simulate", "--policy", "belady+next"), "belady is a bound"),
        (("sweep", "--policy", "follow(experts=lru|aarc)"), "aarc is unknown, did you mean arc?"),
        (
            ("simulate", "--policy", "vrm(queue=mru)"),
            "vrm: queue = mru is unknown, did you mean lru?; use lru, lfu, arc",
        ),
        (("simulate", "--policy", "vrm", "--writes", "around"), "vrm: "),
        (
            ("simulate", "--policy", "vrm", "--size", "16p"),
            "vrm: a cache of 16 pages is smaller than f = 2 fragments",
        ),
        (("compare", "--policy", "vrm(n=64, fragment=8)", "--size", "70p"), "vrm: n = 64 is below the cache of 70"),
        (("curve", "--policy", "vrm", "--sample", "0.5"), "no sample of the pages stands for its queue"),
        (("curve", "--policy", "follow+next"), "a curve is of page accesses alone"),
        (("compare", "--policy", "twoq(kin=7)"), "kin = 7 is outside"),
        (("sweep", "--workers", "0"), "--workers"),
        (
            ("compare", "--bundle", "b", "--writes", "around"),
            "leave --writes, --unit and --page-size out where there is --bundle",
        ),
        (
            ("compare", "--bundle", "b", "--unit", "request"),
            "leave --writes, --unit and --page-size out where there is --bundle",
        ),
        (("curve", "--policy", "lru+next"), "a curve is of page accesses alone"),
        (("curve", "--points", "1"), "--points"),
        (("curve", "--sample", "0.0001"), "too few for an error; use a higher one or exact"),
        (("curve", "--count", "9999999"), "--count 9999999: the trace ends before"),
        (("simulate", "--size", "10%", "--size", "1024"), "write 1024p for pages of 4 KiB"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(trace, args, message):
    done = run(args[0], trace, *args[1:], ok=False)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.fixture
def ends_in_one_request(tmp_path):
    own = seeded_trace(3, 80, 4)
    own = replace(own, size=np.array([1, 1, 40]) * PAGE_BYTES)
    write_trace(own, tmp_path / "last.parquet", expand_pages(own))
    return tmp_path / "last.parquet"


def test_a_request_counts_whole_from_a_place_within_it(ends_in_one_request):
    asked = (ends_in_one_request, "--count", "30", "--device", DEVICE, "--policy", "lru")
    for rows in (
        values("simulate", *asked)["runs"],
        values("sweep", *asked, "--workers", "1"),
        values("compare", *asked)["runs"][0]["rows"],
    ):
        row = next(one for one in rows if one["policy"] == "lru")
        assert (row["warmup"], row["page_accesses"]) == (4, 40) and row["mean_response_us"] > 0


def test_what_cannot_be_is_refused_before_anything_runs(trace, tmp_path):
    refused(("simulate", trace, "--decision-us", "inf", "--device", DEVICE), "--decision-us", status=2)
    (tmp_path / "file").write_text("")
    # It is longer than any trace, and would be refused as soon as one is read.
    late = ("--count", "9" * 20)
    refused(("sweep", trace, *late, "-o", tmp_path / "file" / "o.csv"), "cannot be written")
    (tmp_path / "folder.csv").mkdir()
    refused(("sweep", trace, *late, "-o", tmp_path / "folder.csv"), "is a folder")
    refused(("sweep", trace, tmp_path / "none.parquet", *late), "none.parquet: no such file")
    for command in ("simulate", "compare", "curve"):
        more = () if command == "curve" else late
        refused((command, trace, *more, "-o", tmp_path / "file" / "o.png"), "cannot be written")


def test_help_says_how_policies_are_composed():
    for command in ("simulate", "compare"):
        assert run(command, "--help").returncode == 0
    assert "[admission+]eviction[+prefetch]" in "".join(run("simulate", "--help").stdout.replace("│", "").split())


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_tables_cut_no_cell_at_any_width(width, trace, monkeypatch, capsys):
    from rich.console import Console

    from cachezoo.cli import simulation
    from cachezoo.show import output

    found = values("compare", trace, "--policy", "coinflip(p=0.3)+arc+next", "--device", DEVICE)["runs"][0]["rows"]
    monkeypatch.setattr(output, "out", lambda: Console(width=width, force_terminal=True, color_system=None))
    columns = ["policy", "kind", "hit_ratio", "gap_points", "gap_closed", *simulation._columns(found)[1:]]
    output.print_rows(found, "title", "below", columns)
    text = capsys.readouterr().out
    assert "…" not in text and "coinflip(p=0.3)+arc+next" in text
    assert max(map(len, text.splitlines())) <= width
    assert "columns left out" in text


@pytest.mark.slow(seconds=60)
def test_an_interrupted_sweep_ends_at_once_in_one_line(trace):
    """Interrupted when the first of its jobs is done: by then its processes are at work."""
    code = "from cachezoo import cli, console; console.PLAIN_INTERVAL_S = 0.0; cli.main()"
    command = [sys.executable, "-c", code, "sweep", *[str(trace)] * 100, "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as sweep:
        assert re.fullmatch(r"\d+ policies on 100 traces: 0 %.*\n", sweep.stderr.readline())
        os.killpg(sweep.pid, signal.SIGINT)
        *more, last = sweep.communicate(timeout=600)[1].splitlines()
    assert (sweep.returncode, last) == (130, "cachezoo: interrupted")
    assert all(re.search(r" traces: \d\d? %", line) for line in more)


def test_bounds(trace):
    found = values("bounds", trace, "--size", "5%,20%", "--device", DEVICE)["runs"]
    assert found[0]["optimum"] < found[1]["optimum"]
    assert found[0]["time_saved_upper"] >= found[0]["time_saved_lower"] > 0
    text = run("bounds", trace, "--size", "5%").stdout
    assert "byte hit ratio" in text and "time saved" not in text


@pytest.mark.parametrize(
    ("command", "engine"),
    [("compare", "cachezoo.questions.page.sweep.sweep"), ("simulate", "cachezoo.questions.page.bench.Bench.run")],
)
def test_a_capacity_that_one_policy_cannot_have_is_refused_before_any_runs(trace, monkeypatch, command, engine):
    def begun(*_args, **_more):
        raise AssertionError

    monkeypatch.setattr(engine, begun)
    refused((command, trace, "--policy", "lru", "--policy", "vrm", "--size", "50%"), "smaller than f = 2 fragments")


def test_sizes_that_count_after_warm_ups_of_their_own_are_said_to(trace, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "320")
    why = "a larger cache may show a lower ratio; --count half counts all alike"
    own = run("curve", trace, "--points", "6", "--count", "auto", "-o", tmp_path / "own.svg").stdout
    one = run("curve", trace, "--points", "6", "-o", tmp_path / "one.svg").stdout
    assert why in " ".join(own.split()) and why not in " ".join(one.split())
    assert "its own warm-up" in (tmp_path / "own.svg").read_text()
    assert "its own warm-up" not in (tmp_path / "one.svg").read_text()


def test_of_several_traces_no_one_rule_is_named():
    assert unlike([10, 20], [1, 2]).endswith("--count half counts all alike")
    assert unlike([10, 10], [1, 2]) == unlike([10, 20], [1, 1]) == ""


def lines_of(path, op, offsets):
    """A canonical CSV of 4 KiB requests, 100 µs apart."""
    rows = (f"{100 * k},{own},{offset},4096" for k, (own, offset) in enumerate(zip(op, offsets, strict=True)))
    path.write_text("\n".join(["time_us,op,offset,size", *rows]) + "\n")
    return path


def test_pages_of_64_kib(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    order = np.random.default_rng(7).permutation(200 * 16).tolist()
    trace = lines_of(tmp_path / "lines.csv", "R" * 3200, [4096 * page for page in order])
    asked = (trace, "--size", "100%", "--count", "all", "--page-size", "64KiB")
    row = values("simulate", *asked)["runs"][0]
    assert (row["capacity"], row["page_bytes"], row["hits"], row["hit_ratio"]) == (200, 65536, 3000, 0.9375)
    assert values("simulate", *asked[:5])["runs"][0]["hit_ratio"] == 0
    for command, more in (("compare", ("--policy", "lru")), ("sweep", ("--policy", "lru")), ("bounds", ())):
        found = values(command, *asked, *more)
        runs = found if command == "sweep" else found["runs"]
        ratios = [row["optimum"] if command == "bounds" else row.get("hit_ratio", 0.9375) for row in runs]
        assert ratios == [0.9375]
        assert "12.5 MiB (200 p of 64 KiB)" in run(command, *asked, *more).stdout
    rows = values("curve", trace, "--size", "200p,640KiB", "--count", "all", "--page-size", "64KiB")["rows"]
    assert [(row["capacity"], row["policy"]) for row in rows][:2] == [(10, "lru"), (200, "lru")]
    assert rows[1]["hit_ratio"] == 0.9375
    half = values("simulate", trace, "--size", "100%", "--count", "all", "--first", "1600")["runs"][0]
    assert half["requests"] == half["capacity"] == 1600
    refused(("simulate", trace, "--size", "32KiB", "--page-size", "64KiB"), "less than a page; the least is 64 KiB")
    for wrong in ("2KiB", "5KiB", "2MiB"):
        refused(("simulate", trace, "--page-size", wrong), "give a multiple of 4KiB, up to 1MiB")
    refused(("simulate", *asked, "--device", DEVICE), "a page of 64 KiB is read whole")
    bundle = ("compare", *asked, "--bundle", tmp_path)
    refused(bundle, "leave --writes, --unit and --page-size out where there is --bundle")


def test_hits_over_time_of_reads_and_of_writes_and_what_misses(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    trace = lines_of(tmp_path / "t.csv", "W" * 1000 + "R" * 1000 + "W" * 1000, [4096 * k for k in range(1000)] * 3)
    asked = ("simulate", trace, "--size", "100%", "--count", "all", "--over-time", "3")
    found = values(*asked, "-o", tmp_path / "o.svg", "--misses", tmp_path / "m.parquet")
    assert found["misses"] == {"requests": 1000, "output": str(tmp_path / "m.parquet")}
    (row,) = found["runs"]
    assert (row["read_hit_ratio"], row["write_hit_ratio"]) == (1.0, 0.5)
    assert [(part["read_hit_ratio"], part["write_hit_ratio"]) for part in row["over_time"]] == [
        (None, 0.0), (1.0, None), (None, 1.0),
    ]  # fmt: skip
    assert (tmp_path / "o.svg").read_text().startswith("<?xml")
    below = values("simulate", tmp_path / "m.parquet", "--size", "100%", "--count", "all")["runs"][0]
    assert (below["requests"], below["hits"], below["write_hit_ratio"]) == (1000, 0, 0.0)
    text = run(*asked, "--by-op", "--misses", tmp_path / "m.parquet").stdout
    assert f"what missed, 1,000 requests: {tmp_path / 'm.parquet'}" in text
    assert "page hit ratio over time" in text and "write hit ratio" in text
    both = run(*asked, "--policy", "lru", "--policy", "fifo", "--by-op").stdout
    assert "lru, 3.9 MiB (1,000 p)" in both and "fifo, 3.9 MiB (1,000 p)" in both and "write" in both
    two = ("simulate", trace, "--size", "10%,20%", "--misses", tmp_path / "n.parquet")
    refused(two, "is of one cache, and these are 2; give one --policy and --size")
    refused(("simulate", trace, "--misses", trace), "would be replaced")
    assert not (tmp_path / "n.parquet").exists()


@pytest.mark.needs("public_traces")
def test_the_cases_of_cache_lines_and_of_reads_and_writes():
    asked = ("--size", "100%", "--count", "all")
    lines = ("simulate", sample("cases/cache-line-64KiB-strided-reads.csv"), *asked)
    assert values(*lines, "--page-size", "64KiB")["runs"][0]["hit_ratio"] == 0.9375
    assert values(*lines)["runs"][0]["hit_ratio"] == 0
    row = values("simulate", sample("cases/read-and-write-hits-apart.csv"), *asked)["runs"][0]
    assert (row["read_hit_ratio"], row["write_hit_ratio"]) == (1.0, 0.5)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Bundles that take turns in RC-RNN's cache; one was chosen for another size of cache."""
    folder = tmp_path_factory.mktemp("models")
    monitor(folder / "workload.lstm8")
    changed(folder / "caching.pairs.lstm1x8", "pairs", 0.5, 1.3)
    changed(folder / "caching.turns.lstm1x8", "turns", 0.45, 0.7, **RULES)
    return folder


def test_models_take_turns_in_rcrnns_cache(trace, models, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    asked = (trace, "--policy", "rcrnn(category=auto)", "--policy", "rcrnn(category=pairs)", "--models", models)
    alone = values("simulate", *asked, "--policy", "lru", "--size", "20p,30p")
    assert alone["policies"] == ["rcrnn", "rcrnn(category=pairs)", "lru"]
    assert [row["kind"] for row in alone["runs"]] == ["model"] * 4 + ["classic"] * 2
    whole = values("compare", *asked, "--size", "20p,30p", "--bundle", models / "caching.pairs.lstm1x8")
    by_id = {(row["policy"], row["capacity"]): row for found in whole["runs"] for row in found["rows"]}
    for row in alone["runs"][:4]:
        assert by_id[row["policy"], row["capacity"]]["hits"] == row["hits"]
    bundle = next(row for (name, size), row in by_id.items() if name.startswith("caching") and size == 20)
    assert bundle["hits"] == by_id["rcrnn(category=pairs)", 20]["hits"]
    assert whole["turns"] == alone["turns"]
    assert [(own["policy"], own["capacity"]) for own in whole["turns"]][:2] == [("rcrnn", 20), ("rcrnn", 30)]
    assert all(sum(own["decided"].values()) == pytest.approx(1) for own in whole["turns"])
    assert "turns" not in values("simulate", trace)
    for command in ("simulate", "compare"):
        text = run(command, *asked, "--size", "20p").stdout
        assert "rcrnn at 20 pages: no model " in text and "of all requests; " in text
    assert "rcrnn(category=pairs) †: its threshold" not in text and "† rcrnn" in text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("sweep", "--policy", "rcrnn"), "policy rcrnn: its models take turns in simulate and compare alone"),
        (("curve", "--policy", "rcrnn"), "policy rcrnn: its models take turns in simulate and compare alone"),
        (("simulate", "--policy", "rcrnn+next"), "name it alone"),
        (("simulate", "--policy", "rcrnn", "--models", "nowhere"), "nowhere: no such folder"),
        (("compare", "--models", "nowhere"), "no policy takes models from there; add --policy 'rcrnn(category=auto)'"),
        (
            ("simulate", "--policy", "rcrnn", "--page-size", "8KiB"),
            "leave --writes, --unit and --page-size out where there is --policy rcrnn",
        ),
    ],
)
def test_where_models_cannot_take_turns(trace, asked, said):
    command, *options = asked
    refused((command, trace, *options), said)


def test_of_a_trace_above_a_length_a_sample_is_read(trace, monkeypatch):
    from cachezoo.traces import memory, sampling

    asked = ("curve", trace, "--points", "4", "--policy", "lru", "--policy", "arc")
    exact = values(*asked)
    monkeypatch.setenv(memory.FROM, str(exact["page_accesses"]))
    monkeypatch.setattr(sampling, "SAMPLED", exact["page_accesses"] // 2)
    monkeypatch.setattr(sampling, "LEAST_BLOCKS", 1)
    found = values(*asked)
    assert found["page_accesses"] == exact["page_accesses"]
    for one, other in zip(found["rows"], exact["rows"], strict=True):
        assert 0 < one["rate"] < 1 == other["rate"] and one["capacity"] == other["capacity"]
        assert abs(one["hit_ratio"] - other["hit_ratio"]) <= 3 * one["error_90"] + 0.02
    assert values(*asked, "--sample", "exact") == exact
    monkeypatch.setenv(memory.FROM, str(exact["page_accesses"] + 1))
    assert values(*asked) == exact


def test_caches_of_a_sample_have_errors_and_what_needs_the_whole_trace_is_refused(tmp_path):
    own, trace = seeded_trace(20_000, 12_000, 4), tmp_path / "t.parquet"
    write_trace(own, trace, expand_pages(own))
    part, sizes = ("--sample", "0.5"), ("--size", "10%,40%")
    exact, found = (values("simulate", trace, "--policy", "arc", *sizes, *more)["runs"] for more in ((), part))
    for one, other in zip(found, exact, strict=True):
        assert one["capacity"] == pytest.approx(other["capacity"], rel=0.01) and 0.2 < one["rate"] < 0.8
        assert abs(one["page_accesses"] - other["page_accesses"]) < 5 and "error_90" not in other
        assert abs(one["hit_ratio"] - other["hit_ratio"]) <= 3 * one["error_90"] + 0.02
    text = run("simulate", trace, *sizes, *part).stdout
    assert "±" in text and "of the pages" in text
    compared = values("compare", trace, "--policy", "arc", "--size", "20%", *part)["runs"][0]
    assert all(row["error_90"] > 0 for row in compared["rows"]) and compared["best_classic"] == "arc"
    assert "±" in run("compare", trace, "--policy", "arc", *part).stdout
    swept = values("sweep", trace, "--policy", "arc", "--size", "10%", *part)
    assert swept[0]["hit_ratio"] == found[0]["hit_ratio"]
    run("sweep", trace, "--policy", "arc", "--size", "10%", *part, "-o", tmp_path / "s.csv")
    for more, message in (
        (("--over-time", "3"), "--over-time: needs all requests"),
        (("--misses", tmp_path / "m.parquet"), "--misses: needs all requests"),
        (("--policy", "lru+next"), "policy lru.next: no sample of the pages stands for its neighbours"),
        (("--first", "50"), "--sample '0.5': takes the whole trace"),
    ):
        assert re.search(message, " ".join(run("simulate", trace, *more, *part, ok=False).stderr.split()))

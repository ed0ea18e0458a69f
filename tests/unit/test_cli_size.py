"""`cachezoo recommend --only ram-ssd` as people run it: anywhere, on raw files, with clear refusals."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo import cli
from cachezoo.questions.tiers.uncut import Uncut
from cachezoo.show.formats import latency, ordinary
from cachezoo.traces.store import write_trace
from tests.page_data import seeded_trace
from tests.tiers_data import skewed

FEW = ("--hierarchy", "lru,lru | lru,hca")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that is no project, with a trace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_trace(seeded_trace(4000, 2000, 1), Path("trace.parquet"))
    return tmp_path


def run(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["cachezoo", "recommend", "--only", "ram-ssd", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def values(monkeypatch, capsys, *words: str) -> dict:
    status, said, error = run(monkeypatch, capsys, "trace.parquet", *FEW, "--json", *words)
    assert status == 0, error
    return json.loads(said)


def test_a_line_a_table_a_picture_and_the_next_command(folder, monkeypatch, capsys):
    status, said, _ = run(monkeypatch, capsys, "trace.parquet", "--parts", *FEW, "-o", "front.png")
    assert status == 0
    lines = said.splitlines()
    assert lines[0].startswith("Buy ") and " a month (" in lines[0]
    assert sum("│ >" in line for line in lines) == 1 and sum("the disk alone │" in line for line in lines) == 1
    assert lines[-2] == "plot: front.png"
    assert lines[-1].startswith("next: cachezoo recommend --only tiers trace.parquet --hierarchy ")
    assert Path("front.png").read_bytes().startswith(b"\x89PNG")
    text = " ".join(said.split())
    assert "in full" in text and "Against the disk alone it saves" in text
    assert "is the purchase over 5 years" in text and "Where whole modules and drives have to be bought" in text
    assert "Prices are of retail, end of 2022" in text


def test_without_a_cache_a_time_is_that_of_recommend_and_what_is_more_is_waiting(folder, monkeypatch, capsys):
    """Of a trace whose requests read a page each, four of them outstanding when it was captured."""
    n = 4000
    trace = skewed(n, 1500, writes=0.0).trace
    write_trace(replace(trace, latency_us=np.full(n, 4000, np.int64)), Path("reads.parquet"))
    status, said, error = run(monkeypatch, capsys, "reads.parquet", *FEW, "--json")
    assert status == 0, error
    found = json.loads(said)
    monkeypatch.setattr(sys, "argv", ["cachezoo", "recommend", "reads.parquet", "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    alone = json.loads(capsys.readouterr().out)["no_cache_response_us"]
    disk = found["nothing"]["response"]
    assert disk["alone_us"] == pytest.approx(alone, rel=1e-3)
    assert disk["amat_us"] == pytest.approx(4 * alone, rel=0.05)
    waits = f"{latency(disk['amat_us'])} ({latency(alone)} if nothing waited) without a cache"
    assert ordinary(waits) in found["advice"]


def repeated(monkeypatch, capsys, found: dict) -> None:
    """Run the next command: its one row is the answer."""
    monkeypatch.setattr(sys, "argv", [*shlex.split(found["next"]), "--json"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert not left.value.code
    own = found["answer"]
    rows = json.loads(capsys.readouterr().out)["rows"]
    row = next(row for row in rows if row["hierarchy"] == own["hierarchy"])
    assert row["response"] == own["response"] and row["wear"] == own["wear"] and row["cost"] == own["cost"]


@pytest.mark.parametrize(
    "words",
    [
        ("--parts",),
        (),
        ("--prices", "hca2012", "--parts"),
        ("--format", "parquet", "--lifetime", "3 years"),
        ("--device", "wdredpro2tb_850pro", "--endurance", "999 DWPD", "--parts"),
        ("--sample", "0.8", "--parts"),
    ],
)
def test_the_next_command_gives_the_figures(folder, monkeypatch, capsys, words):
    found = values(monkeypatch, capsys, *words)
    assert found["next_leaves_out"] == []
    repeated(monkeypatch, capsys, found)


@pytest.mark.parametrize("known", [True, False])
def test_only_where_whole_requests_are_not_known_are_a_samples_disk_times_those_of_cut_ones(
    folder, monkeypatch, capsys, known
):
    if not known:
        monkeypatch.setattr(Uncut, "of", lambda *given: None)
    status, said, error = run(monkeypatch, capsys, "trace.parquet", *FEW, "--sample", "0.8", "--parts")
    assert status == 0, error
    assert " ".join(said.split()).count("requests as cut") == (0 if known else 1)


def test_the_next_command_reads_the_trace_as_this_one_did(folder, monkeypatch, capsys):
    trace = seeded_trace(2000, 400, 1)
    rows = zip(trace.time_us, trace.offset // 512, trace.size, trace.op, strict=True)
    Path("a trace.txt").write_text("".join(f"{t};{at};{size};{'w' if op else 'r'}\n" for t, at, size, op in rows))
    columns = "time=#1:us,offset=#2:512,size=#3:1,op=#4:r/w"
    words = ("a trace.txt", *FEW, "--columns", columns, "--option", "delimiter=;", "--parts", "--json")
    status, said, error = run(monkeypatch, capsys, *words)
    assert status == 0, error
    repeated(monkeypatch, capsys, json.loads(said))


def test_each_price_list_has_its_own_next_command(folder, monkeypatch, capsys):
    words = ("--parts", "--prices", " retail2022, ,hca2012,retail2022")
    found = values(monkeypatch, capsys, *words)["by_prices"]
    assert [one["prices"]["name"] for one in found] == ["retail, end of 2022", "HCA's, 2012"]
    for one, name in zip(found, ("retail2022", "hca2012"), strict=True):
        assert one["next"].endswith(f" --prices {name} --parts")
        repeated(monkeypatch, capsys, one)


def test_what_the_next_command_cannot_repeat_is_said(folder, monkeypatch, capsys):
    words = ("--ram-price", "5", "--working-set", "1GiB")
    assert values(monkeypatch, capsys, *words)["next_leaves_out"] == ["--ram-price", "--working-set"]
    _, said, _ = run(monkeypatch, capsys, "trace.parquet", *FEW, *words)
    text = " ".join(said.split())
    assert "The next command takes no --ram-price: its costs are by the price list." in text
    assert "The next command takes no --working-set: its sizes and costs are the trace's own." in text


def test_the_same_question_gives_the_same_bytes_and_goes_on_from_a_file(folder, monkeypatch, capsys):
    words = ("trace.parquet", *FEW, "--parts", "--json", "--resume", "points.jsonl")
    first = run(monkeypatch, capsys, *words)
    kept = Path("points.jsonl").read_bytes()
    assert kept.count(b"\n") > 5
    assert run(monkeypatch, capsys, *words)[:2] == first[:2]
    assert Path("points.jsonl").read_bytes() == kept


@pytest.mark.parametrize("aim", [(), ("--spend", "500"), ("--spend", "0.1/month", "--parts"), ("--target-ms", "0.1")])
def test_a_trace_of_fewer_pages_than_a_buffer_has_is_sized(folder, monkeypatch, capsys, aim):
    write_trace(seeded_trace(300, 9, 1), Path("small.parquet"))
    status, said, error = run(monkeypatch, capsys, "small.parquet", "--hierarchy", "lru,hca", "--json", *aim)
    assert status == 0, error
    found = json.loads(said)
    assert found["answer"]["ram_pages"] <= 2000


def test_a_target_is_reached_for_less_than_the_next_sum(folder, monkeypatch, capsys):
    every = values(monkeypatch, capsys, "--parts")["front"]
    slow, fast = (every[k]["response"]["amat_us"] for k in (1, -1))
    middle = (slow + fast) / 2
    found = values(monkeypatch, capsys, "--parts", "--target-ms", f"{middle / 1e3:.3f}")
    assert found["why"] == "reached" and found["answer"]["response"]["amat_us"] <= middle + 1
    dearer = [one["cost"]["month_usd"] for one in every if one["response"]["amat_us"] <= middle]
    assert found["answer"]["cost"]["month_usd"] <= min(dearer) * 1.001
    hit = 1 - found["answer"]["response"]["dhr"]
    again = values(monkeypatch, capsys, "--parts", "--target-hit", f"{hit - 0.01:.3f}")
    assert again["why"] == "reached" and again["answer"]["response"]["dhr"] <= 1 - hit + 0.011


def test_a_time_that_the_disk_alone_reaches_needs_nothing(folder, monkeypatch, capsys):
    found = values(monkeypatch, capsys, "--target-ms", "1000")
    assert found["why"] == "needless" and found["answer"]["nothing"]
    assert found["advice"].startswith("Buy nothing: the disk alone takes ")


def test_what_was_assumed_is_said(folder, monkeypatch, capsys):
    words = ("trace.parquet", "--hierarchy", "lru,hca", "--parts", "--endurance", "999DWPD")
    text = " ".join(run(monkeypatch, capsys, *words)[1].split())
    assert "A working set of" not in text
    text = " ".join(run(monkeypatch, capsys, *words, "--working-set", "1GiB")[1].split())
    assert (
        "A working set of 1 GiB is assumed to have the same hit ratios in proportionally larger caches, and to take "
        in text
    )


def test_l2arc_without_a_clock_is_said_to_be_hardly_fed(folder, monkeypatch, capsys):
    words = ("--hierarchy", "lru,l2arc", "--parts")
    assert "hardly ever ran" not in run(monkeypatch, capsys, "trace.parquet", *words)[1]
    Path("plain.lis").write_text("".join(f"{k % 97} 1 0 {k}\n" for k in range(3000)))
    status, said, error = run(monkeypatch, capsys, "plain.lis", *words)
    assert status == 0, error
    assert "L2ARC is fed by the clock, which the trace does not have: its feed hardly ever ran" in " ".join(
        said.split()
    )


def test_a_working_set_scales_sums_and_time(folder, monkeypatch, capsys):
    words = ("--parts", "--endurance", "999DWPD")
    own = values(monkeypatch, capsys, *words)
    found = values(monkeypatch, capsys, *words, "--working-set", "1GiB")
    scale = found["scale"]
    assert scale == pytest.approx((1 << 30) / (own["distinct_pages"] * 4096))
    one, large = own["all_ram"], found["all_ram"]
    assert large["cost"]["month_usd"] == pytest.approx(one["cost"]["month_usd"] * scale)
    assert large["response"] == one["response"]


def test_prices_are_compared(folder, monkeypatch, capsys):
    words = ("trace.parquet", *FEW, "--parts", "--prices", "retail2022,hca2012")
    status, said, _ = run(monkeypatch, capsys, *words)
    assert status == 0 and "what to buy by prices" in said and "HCA's, 2012" in said


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--spend", "5%"), "--spend '5%': give dollars above 0, a month, such as 20/month, or to buy, such as 500"),
        (("--lifetime", "5"), "--lifetime '5': give how long"),
        (("--endurance", "gold"), "--endurance gold: retail, end of 2022 has client, read-intensive, mixed"),
        (("--working-set", "900TiB"), "the disk that times are modelled on"),
        (("--spend", "5", "--target-ms", "2"), "--spend and --target-ms"),
        (("--target-ms", "0"), "above 0"),
        (("--target-ms=-1",), "above 0"),
        (("--prices", "nosuch"), "no such prices"),
        (("--prices", "no.yaml"), "no such file"),
        (("--prices", "retail2022,hca2012", "-o", "x.png"), "--output x.png"),
        (("--ram-price", "-3"), "dollars a GB above 0"),
        (("--ssd-price", "0"), "dollars a GB above 0"),
        (("--ssd-price", "5%"), "dollars a GB above 0"),
        (("--working-set", "4KiB"), "the trace touches"),
        (("--working-set", "10%"), "give bytes"),
        (("--working-set", "5XB"), "'5XB': give bytes, such as 2TiB; units are B, KiB, MiB, GiB, TiB, KB, MB, GB, TB"),
        (("--working-set", "-2TiB"), "give bytes"),
        (("--prices", " , "), "--prices: it names none"),
        (("--hierarchy", "hac"), "--hierarchy hac: hac is unknown, did you mean hca or arc?; cachezoo policies lists"),
        (("--hierarchy", "l2ac"), "did you mean l2arc"),
        (("--hierarchy", "lru | tb=64K | l2arrc"), "l2arrc is unknown"),
        (("--hierarchy", "lru | bundle+lru"), "--hierarchy lru | bundle+lru: no bundle runs here"),
        (("--working-set", "ten"), "working-set"),
        (("--hierarchy", "lru | nosuch"), "nosuch"),
        (("--device", "nosuch"), "no such device profile"),
        (("-o", "x.txt"), ".png or .svg"),
        (("--resume", "trace.parquet"), "would be replaced"),
        (("--resume", "none/points.jsonl"), "none: no such folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input_is_one_line_and_nothing_is_written(folder, monkeypatch, capsys, words, named):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    status, said, error = run(monkeypatch, capsys, "trace.parquet", *words)
    assert status == 1 and said == "" and len(error.splitlines()) == 1, error
    assert named in error
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_trace_that_reads_nothing_is_refused(folder, monkeypatch, capsys):
    write_trace(seeded_trace(300, 40, 1, op=np.ones(300, np.uint8)), Path("writes.parquet"))
    status, said, error = run(monkeypatch, capsys, "writes.parquet")
    assert status == 1 and said == "" and len(error.splitlines()) == 1, error
    assert "no page is read" in error

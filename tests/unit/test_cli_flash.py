"""`cachezoo recommend --only flash`: what it prints, draws, refuses, and warns of."""

import contextlib
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from cachezoo.traces.store import write_trace
from tests.baleen_data import make_trace
from tests.command_line import run

FLASH = ("recommend", "--only", "flash")

STORED = Path(__file__).resolve().parents[1] / "golden/protocol2"
ADMISSION = STORED / "admission.database.lgbm"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("flash") / "t.parquet"
    write_trace(make_trace(2500, 5), path)
    return path


def test_the_table_says_what_it_counts(trace):
    text = run(*FLASH, trace, "--write-rate", "1,2MB/s").stdout
    said = " ".join(text.split())
    for word in ("accept_all", "rejectx", "coin_flip", "opt", "1MB/s", "2MB/s", "no limit", "disks busy", "reads hit"):
        assert word in text
    assert text.index("accept_all") < text.index("coin_flip") < text.index("opt ")
    assert "how many disks are busy with seeks and transfers of reads that miss" in said
    assert "An I/O costs what a model of the disk wdredpro2tb says" in said
    assert "Counted after" in said and "segments of 4 KiB" in said and "blocks of 256 KiB" in said
    assert (
        "At a limit of 1MB/s, settings chosen in hindsight: of the policies without a model" in said
        and "SSD lives" not in text
    )
    assert "Kept at 2MB/s throughout, " in said and " is the best of the policies without a model: it keeps " in said


def test_bundles_stand_beside_policies_and_json_holds_all(trace, tmp_path):
    asked = (*FLASH, trace, "--bundle", ADMISSION, "--prefetch", "none,next(16)")
    found = json.loads(run(*asked, "--json").stdout)
    assert found["segment_bytes"] == 4096 and found["requests"] == 2500
    kinds = [row["kind"] for row in found["rows"]]
    assert kinds == sorted(kinds, key=["without model", "model", "oracle"].index)
    own = {(row["prefetch"], row["asked"]) for row in found["rows"] if row["policy"] == "admission.database.lgbm"}
    assert own == {("none", None), ("next(16)", None), ("none", "25%"), ("next(16)", "25%")}
    assert found["bundles"] == [{"id": "admission.database.lgbm", "inputs": 30, "drifted": None}]
    text = run(*asked, "-o", tmp_path / "p.png").stdout
    assert "as shipped" in text and "admission.database.lgbm" in text and "% interval" in " ".join(text.split())
    own = [row for row in found["rows"] if row["policy"] == "admission.database.lgbm"]
    row = next(row for row in own if row["as_shipped"] and row["prefetch"] == "next(16)")
    shipped = f"as shipped with prefetch next(16): admission.database.lgbm keeps {row['disks_busy']:.3f} disks busy"
    assert f"As a cache would run it, {shipped}, writing " in " ".join(text.split())
    assert (tmp_path / "p.png").read_bytes().startswith(PNG)


def test_the_plot_has_the_same_bytes_again(trace, tmp_path):
    for rates, name in (("25%", "bars"), ("10%,25%,50%", "curves")):
        drawn = []
        for again in "ab":
            path = tmp_path / f"{name}{again}.png"
            run(*FLASH, trace, "--write-rate", rates, "--prefetch", "none,next(4)", "-o", path)
            drawn.append(path.read_bytes())
        assert drawn[0] == drawn[1] and drawn[0].startswith(PNG)
    run(*FLASH, trace, "--policy", "rejectx", "-o", tmp_path / "p.svg")
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()[:600]


def test_several_sizes_have_a_row_each_an_answer_each_and_one_plot(trace, tmp_path):
    asked = (*FLASH, trace, "--size", "1%,10%", "--write-rate", "10%,25%", "--policy", "accept_all,rejectx")
    found = json.loads(run(*asked, "--json").stdout)
    assert [one["size"] for one in found["caches"]] == ["1%", "10%"]
    assert [(row["size"], row["asked"]) for row in found["rows"]] == [
        (size, rate) for size in ("1%", "10%") for rate in (None, "10%", "25%")
    ]
    for size in ("1%", "10%"):
        alone = json.loads(run(*asked[:5], size, *asked[6:], "--json").stdout)
        assert alone["rows"] == [row for row in found["rows"] if row["size"] == size]
        assert alone["leads"] == [lead for lead in found["leads"] if lead["size"] == size]
        assert alone["caches"] == [one for one in found["caches"] if one["size"] == size]
        assert all(row["capacity_bytes"] == alone["caches"][0]["capacity_bytes"] for row in alone["rows"])
    said = " ".join(run(*asked, "-o", tmp_path / "sizes.png", "-o", tmp_path / "rows.csv").stdout.split())
    assert said.index("1% (") < said.index("10% (") < said.index("before hard disks")
    assert said.count("a year costs least") == 2 and "prices: retail, end of 2022" in said
    assert (tmp_path / "sizes.png").read_bytes().startswith(PNG)
    assert (tmp_path / "rows.csv").read_text().startswith("size,capacity_bytes,policy")


def test_prices_can_be_given(trace):
    asked = (*FLASH, trace, "--policy", "rejectx", "--json")
    one, other = (json.loads(run(*asked, *more).stdout)["rows"][0] for more in ((), ("--prices", "hca2012")))
    assert one["disks"] == other["disks"] and one["usd_a_year"] != other["usd_a_year"]
    (busier,) = json.loads(run(*asked, "--most-busy", "0.2").stdout)["rows"]
    assert busier["disks"] > one["disks"]


def test_a_model_can_be_tried_on_the_first_day(trace, tmp_path):
    found = json.loads(run(*FLASH, trace, "--try", "--json").stdout)
    (one,) = found["trials"]
    assert found["first_day_requests"] + found["test_requests"] == 2500 and len(one["saved_by_seed"]) == found["seeds"]
    said = " ".join(run(*FLASH, trace, "--try", "-o", tmp_path / "rows.csv").stdout.split())
    assert "Trained on the first day, on the rest it" in said and "are the first day" in said
    assert (tmp_path / "rows.csv").read_text().startswith("size,write_rate,policy")


def test_without_a_clock_rates_are_refused_and_nothing_is_said_by_the_second(tmp_path):
    trace = make_trace(2500, 5)
    path = tmp_path / "rows.parquet"
    write_trace(dataclasses.replace(trace, time_us=np.arange(len(trace))), path)
    done = run(*FLASH, path, "--write-rate", "10MB/s", ok=False)
    assert (
        done.stderr
        == "cachezoo: --write-rate 10MB/s: the trace has no clock, so there is no rate; give a share as 25%\n"
    )
    for rates in ("25%", "10%,25%"):
        text = run(*FLASH, path, "--write-rate", rates, "-o", tmp_path / "p.png").stdout
        said = " ".join(text.split())
        assert "disk ms a read" in said and "The trace has no clock" in said
        assert "MB/s" not in said and "disks busy:" not in said and "SSD lives" not in said


def test_accept_all_is_within_the_axes(trace, monkeypatch):
    from cachezoo.questions.flash import plot

    seen = []
    monkeypatch.setattr(plot, "write", lambda canvas, *_: seen.append(canvas.axes[0]))
    monkeypatch.setattr(plot, "atomic_file", contextlib.nullcontext)
    run(*FLASH, trace, "--policy", "accept_all,rejectx", "--write-rate", "5%,10%", "-o", "p.png")
    (axes,) = seen
    low, high = axes.get_ylim()
    (flat,) = [line for line in axes.lines if line.get_label().startswith("accept_all")]
    assert low < flat.get_ydata()[0] < high


def test_a_policy_list_runs_these_alone(trace):
    rows = json.loads(run(*FLASH, trace, "--policy", "rejectx,opt", "--json").stdout)["rows"]
    assert [row["policy"] for row in rows] == ["rejectx", "opt"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--policy", "baleen"), "--policy baleen: that is a trained model; name its bundle"),
        (("--policy", "by_size"), "--policy by_size: objects have sizes, and this trace has addresses"),
        (
            ("--policy", "lru"),
            "--policy 'lru': the flash cache has accept_all, coin_flip, rejectx, baleen, opt, bloom",
        ),
        (("--prefetch", "next"), "--prefetch 'next': use none, all_on_miss"),
        (("--prefetch", "ml_range"), "--prefetch 'ml_range': use none, all_on_miss"),
        (("--write-rate", "1B/day"), "less than one segment of 4 KiB"),
        (("--size", "10"), "--size '10': a bare number could be pages or bytes"),
        (("--segment", "4KiB"), "--segment and --block: give both"),
        (("--segment", "4KiB", "--block", "10%"), "--block '10%': give bytes, such as 256KiB"),
        (("--segment", "8KiB", "--block", "12KiB"), "the block must be a positive multiple of the segment"),
        (("--segment", "8KiB", "--block", "64KiB", "--bundle", ADMISSION), "leave --segment and --block out"),
        (("--count", "a third"), "--count 'a third': give half, auto, all"),
        (("--count", "2500"), "--count 2500: the trace ends before"),
        (("--try", "--bundle", ADMISSION), "--bundle: --try trains and chooses by itself"),
        (("--try", "-o", "p.png"), "--output with a plot: --try trains and chooses by itself"),
        (("-o", "p.pdf"), "give a name that ends in .png or .svg"),
        (("--bundle", STORED / "reuse.follow"), "compare --bundle runs caching and reuse bundles"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(trace, args, said):
    done = run(*FLASH, trace, *args, ok=False)
    assert done.returncode == 1 and said in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_drift_is_one_line_of_warning(trace, monkeypatch, capsys):
    from cachezoo.cli import flash
    from cachezoo.questions.flash.model import FlashModel

    model = FlashModel("admission.web.lgbm", None, {}, ("user", "size", "end", "op"), 30)
    flash.warn_of_drift(model)
    said = capsys.readouterr().err
    assert "4 of 30 inputs have drifted (user, size, end …)" in said and len(said.splitlines()) == 1
    flash.warn_of_drift(FlashModel("x", None, {}, (), 30))
    assert capsys.readouterr().err == ""


def test_a_trace_at_twice_its_speed_keeps_twice_as_many_disks_busy(trace):
    asked = (*FLASH, trace, "--policy", "accept_all", "--json")
    one, two = (json.loads(run(*asked, *more).stdout)["rows"][0] for more in ((), ("--speed", "2")))
    assert two["disks_busy"] == pytest.approx(2 * one["disks_busy"], rel=1e-6)
    assert two["io_hit_ratio"] == one["io_hit_ratio"]


def test_constants_cost_what_they_say_and_are_columns_in_any_case(trace):
    how = (*FLASH, trace, "--policy", "rejectx", "--json")
    (modelled,), (constant,) = (json.loads(run(*how, *more).stdout)["rows"] for more in ((), ("--disk", "baleen")))
    for name in ("disks_busy", "disks_busy_peak"):
        assert constant[name] == constant[f"{name}_constants"] == modelled[f"{name}_constants"] > modelled[name]
    (twice,) = json.loads(run(*how, "--seek-ms", 23, "--disk-mib-s", 71.5).stdout)["rows"]
    assert twice["disks_busy"] == pytest.approx(2 * constant["disks_busy"])
    text = " ".join(run(*FLASH, trace, "--policy", "rejectx", "--seek-ms", 4).stdout.split())
    assert "An I/O costs the disk 4 ms and its bytes at 143 MiB/s, wherever it is." in text


def test_a_part_of_the_trace_says_that_it_is_one(trace):
    text = " ".join(run(*FLASH, trace, "--sample", "0.5", "--policy", "accept_all,rejectx").stdout.split())
    assert "estimated from 50.0" in text and "±" in text
    found = json.loads(run(*FLASH, trace, "--sample", "0.5", "--policy", "rejectx", "--json").stdout)
    assert found["trace_sampled"] == 0.5 and found["rows"][0]["disks_busy_error_90"] > 0
    for option in (("--bundle", ADMISSION), ("--try",), ("--count", "100"), ("--speed", "2")):
        refused = run(*FLASH, trace, "--sample", "0.5", *option, ok=False)
        assert option[0] in refused.stderr and "--sample exact" in refused.stderr

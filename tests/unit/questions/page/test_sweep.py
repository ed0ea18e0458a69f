"""Sweeps: the same rows however many processes, and what a row says."""

import json
from pathlib import Path

import numpy as np
import pytest

from cachezoo.contest.counting import Count, first_access
from cachezoo.devices.profile import load_models
from cachezoo.errors import ConfigError
from cachezoo.policies.simulate import simulate
from cachezoo.questions.page.bench import Options
from cachezoo.questions.page.plot import draw_hit_ratios
from cachezoo.questions.page.sweep import sweep
from cachezoo.sizes import Size
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from tests.page_data import seeded_trace

ROOT = Path(__file__).resolve().parents[4]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    for k in range(2):
        trace = seeded_trace(400, 90, k)
        write_trace(trace, folder / f"{k}.parquet", expand_pages(trace))
    return [folder / "0.parquet", folder / "1.parquet"]


def timeless(rows):
    return [{name: value for name, value in row.items() if name != "requests_per_s"} for row in rows]


@pytest.mark.slow(seconds=60)
def test_rows_come_in_the_order_asked_however_many_processes(files):
    steps = []
    asked = (files, ["lru", "coinflip(p=0.25)+fifo", "belady_bypass"], [Size.parse("5%"), Size.parse("20p")], Options())
    alone = sweep(*asked, workers=1, advance=lambda done, _="": steps.append(done))
    assert steps == [1, 2, 3, 4, 5, 6]
    assert [(row["trace"], row["policy"]) for row in alone[::2]] == [
        (path.name, policy) for path in files for policy in ("lru", "coinflip(p=0.25)+fifo", "belady_bypass")
    ]
    assert timeless(sweep(*asked, workers=2)) == timeless(alone)


def test_what_is_doubtful_of_a_trace_is_said_by_its_first_run_alone(files, monkeypatch):
    runs = []
    monkeypatch.setattr(
        "cachezoo.questions.page.sweep._job",
        lambda path, policy_id, capacities, options, quiet, *_: runs.append((path.name, policy_id, quiet)) or [],
    )
    sweep(files, ["lru", "fifo"], [Size.parse("5%")], Options(), workers=1)
    assert runs == [(path.name, own, own == "fifo") for path in files for own in ("lru", "fifo")]
    runs.clear()
    sweep(files, ["lru"], [Size.parse("5%")], Options(quiet=True), workers=1)
    assert [quiet for *_, quiet in runs] == [True, True]


def test_a_row_is_the_simulation(files):
    trace = seeded_trace(400, 90, 1)
    pages = expand_pages(trace)
    device = load_models(str(ROOT / "conf/device/wdredpro2tb_850pro.yaml"))
    row = sweep(
        [files[1]], ["lru"], [Size.parse("20p")], Options(Count("100"), device=device, decision_us=7.0), workers=1
    )[0]
    assert row["warmup"] == first_access(pages, Count("100"))
    found = simulate(trace, pages, "lru", 20, row["warmup"])
    assert (row["capacity"], row["hits"], row["ssd_writes"]) == (20, found.hits, found.ssd_writes)
    assert (row["replacements"], row["dirty_evictions"]) == (found.replacements, found.dirty_evictions)
    free = sweep([files[1]], ["lru"], [Size.parse("20p")], Options(Count("100"), device=device), workers=1)[0]
    assert row["mean_response_us"] == pytest.approx(free["mean_response_us"] + 7.0)
    assert sweep([files[1]], ["lru"], [Size.parse("20p")], Options(), workers=1)[0]["mean_response_us"] is None
    json.dumps(row, allow_nan=False)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow(seconds=60))])
def test_a_failing_run_ends_the_sweep_with_its_own_error(files, workers):
    with pytest.raises(ConfigError, match="--count 99999: the trace ends before"):
        sweep(files, ["lru"], [Size.parse("5%")], Options(Count("99999")), workers=workers)
    with pytest.raises(ConfigError, match="nosuch"):
        sweep(files, ["nosuch"], [Size.parse("5%")], Options(), workers=workers)


def rows(policies, capacities):
    rng = np.random.default_rng(3)
    return [
        {"policy": policy, "kind": kind, "capacity": capacity, "hit_ratio": float(rng.random())}
        for policy, kind in policies for capacity in capacities
    ]  # fmt: skip


@pytest.mark.parametrize("capacities", [[10], [10, 100, 1000]])
def test_a_plot_is_the_same_bytes_for_the_same_rows(tmp_path, capacities):
    policies = [(f"p{k}", "classic") for k in range(14)] + [("belady_bypass", "bound"), ("static_hindsight", "bound")]
    for name in ("a.png", "b.png"):
        draw_hit_ratios(rows(policies, capacities), "title", tmp_path / name)
    first, second = ((tmp_path / name).read_bytes() for name in ("a.png", "b.png"))
    assert first.startswith(PNG) and first == second


@pytest.mark.parametrize("capacities", [[10], [10, 100, 1000]])
def test_a_plot_has_transfers_where_a_policy_reads_more_than_it_misses(tmp_path, capacities):
    def drawn(moved):
        found = rows([("lru", "classic"), ("vrm", "virtual")], capacities)
        told = [row | {"transfers": 1 - row["hit_ratio"] + moved * (row["policy"] == "vrm")} for row in found]
        draw_hit_ratios(told, "title", tmp_path / "own.svg")
        return (tmp_path / "own.svg").read_text()

    assert "pages read from the disk" in drawn(0.5)
    assert "pages read from the disk" not in drawn(0.0)

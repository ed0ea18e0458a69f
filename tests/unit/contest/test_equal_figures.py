"""One trace, one policy, one size: one figure, whichever command prints it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cachezoo import paths
from cachezoo.devices.profile import load_models
from cachezoo.io import write_table
from cachezoo.questions.page.bench import modelled
from cachezoo.questions.page.category import Settings, evaluate_trace
from cachezoo.report.gather import hit_ratio_curves
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace, write_trace
from tests.command_line import run
from tests.page_data import seeded_trace
from tests.rcrnn_data import PARAMS

DEVICE = Path(__file__).resolve().parents[3] / "conf/device/wdredpro2tb_850pro.yaml"

SIZE = 128
"""Pages; a power of two, as `recommend` tries them."""


def found(*words: object) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(run(*words, "--json").stdout)
    return values


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reads alone, so that page reads, which tiers count, are the page accesses."""
    own = seeded_trace(9000, 900, 4)
    own = replace(own, op=np.zeros(len(own), np.uint8))
    path = tmp_path_factory.mktemp("equal") / "t.parquet"
    write_trace(own, path, expand_pages(own))
    return path


def by_policy(rows: list[Mapping[str, Any]], name: str = "hit_ratio") -> dict[str, float]:
    return {row["policy"]: row[name] for row in rows}


def test_the_pipeline_and_the_report_have_the_figures_of_the_commands(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    requests = read_trace(trace)
    pages = expand_pages(requests)
    write_trace(requests, paths.requests("web", "one"), pages)
    times = modelled(requests, load_models(str(DEVICE)))
    write_table(paths.responses("web", "one"), pa.table({"t_hdd_us": times.hdd_us, "t_ssd_us": times.ssd_us}), {})
    ids, share = ("lru", "s3fifo", "belady_bypass"), SIZE / pages.n_pages
    evaluate = PARAMS.evaluate.model_copy(update={"policies": [*ids], "capacity_fraction": share})
    settings = replace(Settings.of(PARAMS, "web"), evaluate=evaluate)
    evaluated = evaluate_trace(settings, "web", "one", "validation")
    assert evaluated.capacity == SIZE
    asked = (trace, "--size", f"{SIZE}p", "--device", DEVICE)
    compared = {row["policy"]: row for row in found("compare", *asked)["runs"][0]["rows"]}
    assert {row.policy for row in evaluated.rows} == set(compared)
    for row in evaluated.rows:
        own = compared[row.policy]
        for name, value in row.model_dump().items():
            assert name not in own or own[name] == value, (row.policy, name)
    simulated = found("simulate", *asked, *(word for name in ids for word in ("--policy", name)))["runs"]
    for row in simulated:
        differ = [name for name, value in row.items() if value != compared[row["policy"]][name]]
        assert set(differ) <= {"requests_per_s"}, row["policy"]

    recommended = found("recommend", trace, "--size", f"{SIZE}p", "--device", DEVICE)["sizes"]
    chosen = next(row for row in recommended if row["capacity_pages"] == SIZE)
    row = evaluated.row(chosen["policy"])
    assert row is not None
    for name in ("hit_ratio", "request_hit_ratio", "mean_response_us", "mean_response_waiting_us"):
        assert chosen[name] == getattr(row, name), name
    assert tuple(chosen["hit_ratio_interval"]) == row.hit_ratio_interval

    _, drawn = hit_ratio_curves(pages, (share, 1.0))
    for name, ratios in drawn.items():
        assert ratios[0] == pytest.approx(compared[name]["hit_ratio"], abs=1e-12), name


def test_every_command_counts_alike(trace: Path) -> None:
    asked = ("--policy", "lru", "--policy", "s3fifo", "--size", f"{SIZE}p")
    simulated = by_policy(found("simulate", trace, *asked)["runs"])
    assert 0.1 < simulated["lru"] < 0.95 and simulated["lru"] != simulated["s3fifo"]
    compared = by_policy(found("compare", trace, "--size", f"{SIZE}p")["runs"][0]["rows"])
    swept = by_policy(json.loads(run("sweep", trace, *asked, "--json").stdout))
    curved = by_policy(found("curve", trace, *asked)["rows"])
    for name, ratio in simulated.items():
        assert compared[name] == swept[name] == ratio, name
        assert curved[name] == pytest.approx(ratio, abs=1e-12), name
    optimum = found("bounds", trace, "--size", f"{SIZE}p")["runs"][0]["optimum"]
    assert optimum == pytest.approx(compared["belady_bypass"], abs=1e-12)

    recommended = next(row for row in found("recommend", trace)["sizes"] if row["capacity_pages"] == SIZE)
    assert recommended["lru_hit_ratio"] == pytest.approx(simulated["lru"], abs=1e-12)
    again = found("simulate", trace, "--policy", recommended["policy"], "--size", f"{SIZE}p")["runs"][0]
    assert recommended["hit_ratio"] == again["hit_ratio"]

    both = ("--ram", f"{SIZE}p", "--ssd", f"{SIZE}p")
    tiered = found("recommend", "--only", "tiers", trace, "--hierarchy", "lru,s3fifo", *both)["rows"]
    assert {row["hierarchy"] for row in tiered} == {"lru", "s3fifo", None}
    for row in tiered:
        if row["hierarchy"] is None:  # the disk alone
            continue
        assert row["response"]["rhr"] == pytest.approx(simulated[row["hierarchy"]], abs=1e-12)

    sized = found("recommend", "--only", "ram-ssd", trace, "--hierarchy", "lru", "--parts")["all_ram"]
    own = found("simulate", trace, "--policy", "lru", "--size", f"{sized['ram_pages']}p")["runs"][0]
    assert sized["response"]["rhr"] == pytest.approx(own["hit_ratio"], abs=1e-12)

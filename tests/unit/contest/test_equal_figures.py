"""One trace, one policy, one size: one figure, whichever command prints it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.page_data import seeded_trace

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
    tiered = found("recommend", "--only", "tiers", trace, "--by", "lru,s3fifo", *both)["rows"]
    for row in tiered:
        assert row["response"]["rhr"] == pytest.approx(simulated[row["hierarchy"]], abs=1e-12)

    sized = found("recommend", "--only", "ram-ssd", trace, "--by", "lru", "--spend", "20%")["answer"]
    own = found("simulate", trace, "--policy", "lru", "--size", f"{sized['ram_pages']}p")["runs"][0]
    assert sized["response"]["rhr"] == pytest.approx(own["hit_ratio"], abs=1e-12)

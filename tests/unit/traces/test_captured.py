"""The traces that the project ships: what docs say of them is true, and they are worth learning from."""

import json
from pathlib import Path

import pytest
import yaml

from cachezoo.config.load import load_params
from cachezoo.evaluation.compare import compare
from cachezoo.policies.registry import classics
from cachezoo.policies.simulate import auto_warmup, parse_capacity
from cachezoo.traces.capture.recipe import load_recipe
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "data/raw/captured"
TRACES = load_params(ROOT / "params.yaml").traces
NAMES = sorted(path.stem for path in FOLDER.glob("*.parquet"))


@pytest.fixture(params=NAMES)
def trace(request: pytest.FixtureRequest) -> Trace:
    return read_trace(FOLDER / f"{request.param}.parquet")


def test_every_one_is_in_the_matrix() -> None:
    assert {Path(row.path).stem: Path(row.path).parent for row in TRACES.values()} == dict.fromkeys(
        NAMES, FOLDER.relative_to(ROOT)
    )
    for category in ("database", "web"):
        roles = sorted(row.role for row in TRACES.values() if row.category == category)
        assert roles == ["test", "train", "validation"]
    assert sum(path.stat().st_size for path in FOLDER.glob("*.parquet")) <= 15_000_000


def test_metadata(trace: Trace) -> None:
    meta = trace.meta
    assert meta.licence == "CC0-1.0" and meta.source_format == "capture"
    assert 40_000 <= len(trace) <= 150_000
    assert {"events", "machine", "programs", "recipe", "schedule", "time_scale"} <= set(meta.extra)
    events = json.loads(meta.extra["events"])
    assert not any(events[name] for name in ("other", "requeued", "failed", "unmatched_issue", "unmatched_complete"))
    assert trace.latency_us is not None and trace.latency_us.min() >= 0


def test_it_was_made_by_the_recipe_beside_it(trace: Trace) -> None:
    recipe = load_recipe(ROOT / "conf/capture" / f"{trace.meta.trace_id}.yaml")
    assert json.loads(trace.meta.extra["recipe"]) == recipe.model_dump(mode="json", exclude_none=True)


def test_no_two_share_a_seed() -> None:
    seeds = [yaml.safe_load((ROOT / "conf/capture" / f"{name}.yaml").read_text())["seed"] for name in NAMES]
    assert len(set(seeds)) == len(seeds)


def test_there_is_something_to_gain(trace: Trace) -> None:
    pages = expand_pages(trace)
    assert 70_000 <= pages.n_pages <= 270_000
    capacity = parse_capacity("10%", pages.n_pages)
    rows = compare(trace, pages, classics(), capacity, auto_warmup(pages, capacity), [])["rows"]
    best = max(row["hit_ratio"] for row in rows if row["kind"] == "classic")
    optimum = next(row["hit_ratio"] for row in rows if row["kind"] == "bound")
    assert optimum - best >= 0.06

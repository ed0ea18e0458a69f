"""The long captures that the project ships: each is by its recipe, whole, and as long as its README says."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from cachezoo.sizes import pages_of
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace
from scripts.long_table import README, TRACES, full_at
from tools.capture.recipe import RECIPES, load_recipe

CAPACITIES = 300
FILES = sorted(TRACES.glob("*.parquet"))
LINES = README.read_text(encoding="utf-8")


def test_every_recipe_has_its_trace_and_every_trace_its_line() -> None:
    names = [path.stem for path in FILES]
    assert names == sorted(path.stem for path in (RECIPES / "long").glob("*.yaml"))
    assert names == re.findall(r"^\| (\w+_long) \|", LINES, re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_whole_by_its_recipe_and_long_enough(path: Path) -> None:
    trace, recipe = read_trace(path), load_recipe(RECIPES / "long" / f"{path.stem}.yaml")
    meta = trace.meta
    assert json.loads(meta.extra["recipe"]) == recipe.model_dump(mode="json", exclude_none=True)
    assert (meta.trace_id, meta.category, meta.licence) == (path.stem, recipe.category, "CC0-1.0")
    events = json.loads(meta.extra["events"])
    assert not any(events[key] for key in ("other", "requeued", "failed", "unmatched_issue"))
    pages = expand_pages(trace)
    capacity = pages_of(10, pages.n_pages)
    first = full_at(pages, capacity)
    assert len(np.unique(pages.page_ids[:first])) == capacity
    assert len(pages.page_ids) - first >= CAPACITIES * capacity and pages.n_pages >= 30_000
    (line,) = re.findall(rf"^\| {path.stem} \|.*$", LINES, re.MULTILINE)
    assert f"| {len(trace):,} | {len(pages.page_ids):,} | {pages.n_pages:,} |" in line

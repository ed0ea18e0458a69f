"""The traces that the project ships: what docs say of them is true, and they are worth learning from."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cachezoo.arrays import I64
from cachezoo.config.load import load_params
from cachezoo.contest.counting import first_access
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.devices.profile import load_models
from cachezoo.flash_cache.load import load_windows, measure
from cachezoo.flash_cache.policies import rejectx
from cachezoo.flash_cache.problem import flash_problem, label_of
from cachezoo.labels.episode_file import footprint
from cachezoo.labels.episodes import label_problem
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.sizes import pages_of
from cachezoo.traces.clock import time_scale
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ, Trace
from scripts.captured_table import of_objects, of_writes
from tools.capture.recipe import RECIPES, Recipe, load_recipe

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "data/raw/captured"
PARAMS = load_params(ROOT / "params.yaml")
TRACES = PARAMS.data.traces
NAMES = sorted(path.stem for path in FOLDER.glob("*.parquet"))
# Large accesses, for the flash cache's segments instead of for pages.
BLOBS = [name for name in NAMES if name.startswith("blob_")]
# For an SSD's garbage collection: each is the cycles of one drive, for the streams alone.
WRITES = ["ledger", "spool"]
CYCLES = (0.0, 0.4, 0.7, 1.0)
FLASH_PAGE, ERASE_BLOCK = 8 << 10, 512 << 10


@pytest.fixture(params=NAMES)
def trace(request: pytest.FixtureRequest) -> Trace:
    return read_trace(FOLDER / f"{request.param}.parquet")


@pytest.fixture(params=[name for name in NAMES if name not in BLOBS + WRITES])
def paged(request: pytest.FixtureRequest) -> Trace:
    return read_trace(FOLDER / f"{request.param}.parquet")


@pytest.fixture(params=BLOBS)
def blobs(request: pytest.FixtureRequest) -> Trace:
    return read_trace(FOLDER / f"{request.param}.parquet")


@pytest.fixture(params=WRITES)
def written(request: pytest.FixtureRequest) -> Trace:
    return read_trace(FOLDER / f"{request.param}.parquet")


def test_every_one_is_in_the_matrix() -> None:
    assert {Path(row.path).stem: Path(row.path).parent for row in TRACES.values()} == dict.fromkeys(
        [name for name in NAMES if name not in WRITES], FOLDER.relative_to(ROOT)
    )
    assert set(WRITES) <= set(NAMES)
    for category in ("blob", "database", "fileserver", "mail", "web"):
        rows = [row for row in TRACES.values() if row.category == category]
        assert sorted(row.role for row in rows if not row.unseen) == ["test", "train", "validation"]
    assert sorted(key for key, row in TRACES.items() if row.unseen) == ["database_mariadb", "web_lighttpd"]
    assert sum(path.stat().st_size for path in FOLDER.glob("*.parquet")) <= 16_000_000


def test_metadata(trace: Trace) -> None:
    meta = trace.meta
    assert meta.licence == "CC0-1.0" and meta.source_format == "capture"
    numbers = {"blob": (15_000, 40_000), "ledger": (200_000, 600_000), "spool": (200_000, 600_000)}
    fewest, most = numbers.get(meta.category, (40_000, 150_000))
    assert fewest <= len(trace) <= most
    assert {"events", "machine", "programs", "recipe", "schedule", "time_scale"} <= set(meta.extra)
    events = json.loads(meta.extra["events"])
    assert not any(events[name] for name in ("other", "requeued", "failed", "unmatched_issue", "unmatched_complete"))
    assert trace.latency_us is not None and trace.latency_us.min() >= 0


# As recipes were written when these were captured: each program's part had a name, fields for the weights of its mix,
# and a word for what drifts.
PARTS = {
    "blob": ("blob", "", ()),
    "dbench": ("fileserver", "files", ("reads", "peeks", "edits", "saves", "appends", "listings")),
    "lighttpd": ("web", "articles", ()),
    "mariadb": ("mariadb", "groups", ()),
    "nginx": ("web", "articles", ()),
    "postgres": ("database", "pages", ()),
    "postmark": ("mail", "domains", ()),
    "spool": ("spool", "users", ("deliver", "defer", "read", "flag", "discard")),
}


def as_written(recipe: Recipe) -> dict[str, object]:
    values = recipe.model_dump(mode="json", exclude_none=True, exclude={"place_mib"})
    load = values.pop("load")
    part, drifting, mixed = PARTS[load["program"]]
    workload = "lighttpd" if load.pop("program") == "lighttpd" else part
    pace = load.pop("paced", {})
    if pace:
        load |= {f"drift_{drifting}": pace.pop("drift"), **dict.fromkeys(mixed, 0), **pace.pop("mix", {}), **pace}
    load.pop("min_bytes", None)
    return {**values, "workload": workload, part: load}


def test_it_was_made_by_the_recipe_beside_it(trace: Trace) -> None:
    recipe = load_recipe(RECIPES / f"{trace.meta.trace_id}.yaml")
    assert json.loads(trace.meta.extra["recipe"]) == as_written(recipe)


@pytest.mark.parametrize("category", ["database", "fileserver", "mail", "web"])
def test_a_category_has_three_of_one_program_and_scales_of_their_own(category: str) -> None:
    names = [f"{category}_{role}" for role in ("train", "validation", "test")]
    recipes = [load_recipe(RECIPES / f"{name}.yaml") for name in names]
    traces = [read_trace(FOLDER / f"{name}.parquet") for name in names]
    assert {row.category for row in recipes} == {trace.meta.category for trace in traces} == {category}
    assert len({row.program for row in recipes}) == 1
    assert len({row.load.model_dump_json() for row in recipes}) == 3
    assert all(json.loads(trace.meta.extra["schedule"])["peak_to_mean"] >= 2 for trace in traces)


def test_there_is_something_to_gain(paged: Trace) -> None:
    pages = expand_pages(paged)
    assert 70_000 <= pages.n_pages <= 270_000
    capacity = pages_of(10, pages.n_pages)
    simulator, warmup = Simulator(paged, pages), first_access(pages)
    best = max(simulator.run(name, capacity, warmup).hit_ratio for name in classics())
    assert simulator.run(OPTIMUM, capacity, warmup).hit_ratio - best >= 0.06


def flash_pages(trace: Trace, first: float, last: float) -> I64:
    """The flash pages that a part of a trace of one volume writes, in their order."""
    rows = slice(int(first * len(trace)), int(last * len(trace)))
    writes = trace.op[rows] != OP_READ
    begin = trace.offset[rows][writes] // FLASH_PAGE
    end = (trace.offset[rows][writes] + trace.size[rows][writes] - 1) // FLASH_PAGE
    return np.concatenate([np.arange(a, b + 1) for a, b in zip(begin.tolist(), end.tolist(), strict=True)])


def test_write_traces_make_a_drive_collect_garbage_in_every_cycle(written: Trace) -> None:
    """A drive of a thousand erase blocks at least, written over and over in each part, and unevenly."""
    assert written.volume.names == ("loop",)
    assert (written.op == OP_READ).mean() < 0.15
    parts = [flash_pages(written, *cut) for cut in pairwise(CYCLES)]
    footprint = len(np.unique(np.concatenate(parts)))
    assert footprint * FLASH_PAGE >= 1000 * ERASE_BLOCK
    assert sum(map(len, parts)) >= 8 * footprint
    for part in parts:
        counts = np.unique(part, return_counts=True)[1]
        assert len(part) >= 2 * footprint
        # Some pages are written once, some again and again: lifetimes differ.
        assert (counts == 1).mean() > 0.1 and (counts >= 16).mean() > 0.01


def test_what_write_traces_overwrite_stays_where_it_is_from_cycle_to_cycle(written: Trace) -> None:
    """Else a dictionary by address, learned on one cycle, has nothing to look up in the next."""
    first, *later = (flash_pages(written, *cut) for cut in pairwise(CYCLES))
    assert all(np.isin(part, first).mean() > 0.6 for part in later)


def test_blobs_are_large_accesses_of_several_volumes(blobs: Trace) -> None:
    recipe = json.loads(blobs.meta.extra["recipe"])
    assert set(blobs.volume.names) == {tenant["name"] for tenant in recipe["blob"]["tenants"]}
    assert len(np.unique(blobs.volume.codes)) >= 3
    assert blobs.size.mean() >= 1 << 20 and blobs.size.max() <= 1 << 30
    assert json.loads(blobs.meta.extra["events"])["joined"] > 0
    assert 0.9 <= (blobs.op == OP_READ).mean() < 1


def test_admission_to_a_flash_cache_has_something_to_gain(blobs: Trace) -> None:
    """In the geometry of bulk storage, 8 MiB blocks of 128 KiB segments: LRU hits, and OPT does better than RejectX."""
    label = PARAMS.label.episodes.model_copy(update={"block_bytes": 8 << 20, "segment_bytes": 128 << 10})
    problem = flash_problem(blobs, label, PARAMS.policy.flash)
    labels = label_problem(problem, label)
    assert footprint(blobs, problem.geometry)[0] >= 1000
    assert len(labels.episodes) >= 2000
    windows = load_windows(blobs.time_us, problem, PARAMS.policy.flash, time_scale(blobs))
    everything = measure(problem, problem.accept_all, windows)
    assert everything.byte_hit_ratio > 0.1
    optimum = measure(problem, labels.choice.run, windows)
    reject = measure(problem, rejectx(problem).run, windows)
    assert optimum.read_dt_s <= 0.96 * reject.read_dt_s
    assert optimum.byte_hit_ratio > everything.byte_hit_ratio + 0.05


@pytest.mark.parametrize("key", ["web_test", "database_mariadb", "blob_test"])
def test_nothing_cached_costs_the_disk_what_its_emulation_takes(key: str) -> None:
    """To the last bit, whatever the segments are: the emulation knows none. MariaDB's requests are of odd sizes."""
    trace = read_trace(FOLDER / f"{key}.parquet")
    label = label_of(PARAMS.label.episodes, key.split("_")[0])
    problem = flash_problem(trace, label, PARAMS.policy.flash)
    device = load_models("wdredpro2tb_850pro", ROOT / "conf/device")
    nothing = problem.run(np.zeros(len(problem), np.bool_))
    np.testing.assert_array_equal(problem.disk_times(nothing)[0], t_hdd_us(trace, device.hdd) / 1e6)


def test_the_readme_says_what_the_files_hold() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    cells = {name: of_objects for name in BLOBS} | {name: of_writes for name in WRITES}
    for name in NAMES:
        found = read_trace(FOLDER / f"{name}.parquet")
        shown = cells[name](found) if name in cells else (f"{len(found):,}",)
        assert f"| {name} | {' | '.join(shown)} |" in text, "run `python -m scripts.captured_table --write`"

"""libcachezoo's page cache of a reuse bundle beside the simulator: requests in, equal inputs, classes and decisions."""

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import write_bundle
from cachezoo.coded import Coded
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.store import read_trace
from scripts.reuse_runtime import COMPARED, drive, serving_of, unequal
from tests.bundle_data import EXPORT
from tests.reuse_data import FIT, MODEL, part, write_model

PROGRAM = "drive_reuse"
ROOT = Path(__file__).parents[3]
CAPTURED = ROOT / "data/raw/captured"
NONE = dict.fromkeys(COMPARED, 0)
SMALL = replace(FIT, model=MODEL.model_copy(update={"experts": ["wtinylfu", "azor", "s3fifo", "lirs"]}))


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    write_model(folder, SMALL)
    write_bundle(folder / "model", batch_of(part(2000, 5).trace), Metrics(), EXPORT, folder / "bundle")
    return folder / "bundle"


def requests(seed: int, n: int = 1500, pages: int = 5000, *, origin: bool = True) -> RequestBatch:
    """Requests of 1 to 40 pages, some follow the one before, on three volumes; with their origin or without."""
    rng = np.random.default_rng(derive_seed(0, "reuse in C", seed))
    size = np.where(rng.random(n) < 0.7, rng.integers(1, 9000, n), rng.integers(1, 40 * 4096, n))
    volume = rng.choice(3, n, p=[0.8, 0.1, 0.1])
    first = np.where(rng.random(n) < 0.7, rng.zipf(1.3, n) % 300, rng.integers(0, pages, n))
    offset = first * 4096 + rng.integers(0, 2, n) * 512
    for k in np.flatnonzero(rng.random(n) < 0.3)[1:]:
        offset[k], volume[k] = offset[k - 1] + size[k - 1], volume[k - 1]
    op = (rng.random(n) < 0.3).astype(np.uint8)
    names = ("R", "RM", "W", "RA", "WS", "RMAS")
    who, flags = rng.integers(0, 5, n).astype(np.int32), rng.integers(0, len(names), n).astype(np.int32)
    return RequestBatch(
        np.arange(n, dtype=np.int64), op, offset, size, Coded(volume.astype(np.int32), ("a", "b", "c")),
        user=Coded(who, tuple("vwxyz")) if origin else None, flags=Coded(flags, names) if origin else None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("capacity", "origin", "changes"),
    [
        (60, True, {"own_pace": 500}),
        (1, True, {}),
        (2, False, {"own_rows": 30, "own_pace": 20}),
        (120, False, {"candidates": 5, "seed": 5}),
        (400, True, {"head_start": 0.0, "lead": 0.0, "price": 0.0, "half_life": 0.5}),
        (90, True, {"own_trees": 0, "candidates": 4096}),
        (150, True, {"own_rows": 200, "own_trees": 3, "price": 0.01, "head_start": 0.0}),
        (20000, True, {}),
    ],
)
def test_requests_do_in_c_what_they_do_in_the_simulator(program, bundle, capacity, origin, changes):
    batch = requests(capacity, 300 if capacity < 10 else 1500, origin=origin)
    pages = batch.pages()
    found = drive(program, bundle, batch, capacity, pages.n_pages, [f"{k}={v!r}" for k, v in changes.items()])
    assert unequal(serving_of(bundle, **changes), batch, pages, capacity, found) == NONE
    assert found.forgotten == 0
    assert found.keys == pages.n_pages
    if changes.get("lead") == 0.0:
        assert len(np.unique(found.told["leader"])) > 2


@pytest.mark.parametrize("trace", ["mail_test", "web_lighttpd"])
def test_a_captured_trace_does_in_c_what_it_does_in_the_simulator(program, bundle, trace):
    batch = batch_of(read_trace(CAPTURED / f"{trace}.parquet")).part(0, 6000)
    pages = batch.pages()
    capacity = capacity_pages(0.05, pages.n_pages)
    found = drive(program, bundle, batch, capacity, pages.n_pages)
    assert unequal(serving_of(bundle), batch, pages, capacity, found) == NONE
    assert (found.told["outcome"] == HIT).any()
    assert (found.told["victim"] >= 0).any()


@pytest.mark.parametrize(("after", "pace"), [(1, 0), (900, 0), (880, 200), (890, 200), (900, 200), (910, 200)])
def test_a_stream_goes_on_where_it_was_saved(program, bundle, after, pace):
    batch = requests(1)
    n = batch.pages().n_pages
    whole = drive(program, bundle, batch, 100, n, [f"own_pace={pace}"])
    saved = drive(program, bundle, batch, 100, n, [f"own_pace={pace}", f"save={after}"])
    np.testing.assert_array_equal(saved.told, whole.told)


def test_a_cache_that_forgets_pages_stays_a_cache(program, bundle):
    batch = requests(2, 12000, 1_000_000)
    found = drive(program, bundle, batch, 400, 0)
    assert found.forgotten > 500
    assert found.keys < batch.pages().n_pages
    held: dict[tuple[int, int], int] = {}
    page_in: dict[int, tuple[int, int]] = {}
    volume = np.repeat(batch.volume.codes, np.diff(batch.pages().request_start))
    for one, where in zip(found.told, volume, strict=True):
        page = (int(where), int(one["page"]))
        assert (one["outcome"] == HIT) == (page in held)
        if one["outcome"] == ADMITTED:
            if one["victim"] >= 0:
                gone = page_in.pop(int(one["slot"]))
                assert gone[1] == one["victim_page"]
                del held[gone]
            assert int(one["slot"]) not in page_in
            held[page], page_in[int(one["slot"])] = int(one["slot"]), page
        assert one["slot"] == held.get(page, -1)
        assert (one["outcome"] == BYPASSED) == (page not in held)
    assert len(held) == 400


def test_dirty_victims_are_those_that_were_written(program, bundle):
    batch = requests(3)
    found = drive(program, bundle, batch, 50, batch.pages().n_pages)
    pages = batch.pages()
    write = np.repeat(batch.op, np.diff(pages.request_start)).astype(bool)
    dirty: set[int] = set()
    evicted = 0
    for one, page, wrote in zip(found.told, pages.page_ids.tolist(), write, strict=True):
        if one["victim"] >= 0:
            assert bool(one["dirty"]) == (int(one["victim"]) in dirty)
            evicted += int(one["dirty"])
            dirty.discard(int(one["victim"]))
        if wrote and one["outcome"] != BYPASSED:
            dirty.add(page)
    assert evicted > 0


def test_an_expert_that_the_library_does_not_run_is_named(program, tmp_path):
    write_model(tmp_path, replace(FIT, model=MODEL.model_copy(update={"experts": ["lru", "arc"]})))
    write_bundle(tmp_path / "model", batch_of(part(2000, 5).trace), Metrics(), EXPORT, tmp_path / "bundle")
    done = subprocess.run(
        [program, tmp_path / "bundle", "-", "-", "10", "0"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "policy.experts: arc: this library runs azor, lfu, lirs, lru, s3fifo, wtinylfu" in done.stderr

"""cz_cache beside Python: kinds reuse, caching and admission, request for request, and every slot followed."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import Coded, RequestBatch, load
from cachezoo.flash_cache.modes import plain_prefetch
from cachezoo.kernels.flash import simulate_flash
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.seeds import derive_seed
from cachezoo.traces.store import read_trace

PROGRAM = "cache_run"
ROOT = Path(__file__).parents[3]
STORED = ROOT / "tests/golden/protocol2"
COLUMNS = ("hits", "misses", "written", "prefetched", "io_units", "evicted")
REPLAYED = 4000


def run(program, rows, *words):
    """int32[n, 6], `COLUMNS`."""
    done = subprocess.run([program, *map(str, words)], input=rows.tobytes(), capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout, np.int32).reshape(-1, len(COLUMNS))


def requests(name):
    """Rows as `cache_run` takes them, and the same as a batch."""
    if name == "random":
        rng, n = np.random.default_rng(derive_seed(0, "cz_cache")), 3000
        page = np.where(rng.random(n) < 0.7, rng.integers(0, 150, n), rng.integers(0, 3000, n))
        columns = [
            np.cumsum(rng.integers(0, 900, n)), rng.random(n) < 0.4, page * 4096 + rng.integers(0, 8, n) * 512,
            rng.integers(1, 80, n) * 512, rng.integers(0, 3, n),
        ]  # fmt: skip
    else:
        trace = read_trace(ROOT / f"data/raw/captured/{name}.parquet")
        columns = [trace.time_us, trace.op, trace.offset, trace.size, trace.volume.codes]
    rows = np.stack([np.asarray(column, np.int64)[:REPLAYED] for column in columns], axis=1)
    time_us, op, offset, size, volume = rows.T.copy()
    names = Coded.of([f"v{number}" for number in volume])
    unknown = Coded.of(["nobody"] * len(rows))
    return rows, RequestBatch(time_us, op.astype(np.uint8), offset, size, names, names, unknown)


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("name", ["random", "database_test"])
@pytest.mark.parametrize("capacity", [24, 300])
def test_the_cache_of_a_reuse_model_is_that_of_python(program, name, capacity):
    rows, batch = requests(name)
    bundle = load(STORED / "reuse.follow")
    pages = batch.pages()
    followed = bundle.serving().run(RequestBatch(*rows.T[:1], batch.op, *rows.T[2:4], batch.volume), pages, capacity)
    outcome, victim = followed.followed.run.outcome, followed.followed.run.victim
    begin = pages.request_start[:-1]
    made = run(program, rows, STORED / "reuse.follow", capacity)
    assert made[:, 0].tolist() == np.add.reduceat((outcome == HIT).astype(int), begin).tolist()
    assert made[:, 2].tolist() == np.add.reduceat((outcome == 1).astype(int), begin).tolist()
    assert made[:, 5].tolist() == np.add.reduceat((victim >= 0).astype(int), begin).tolist()
    assert made[:, 0].sum() > 0
    assert made[:, 5].sum() > 0


@pytest.mark.parametrize("capacity", [24, 300])
def test_the_slots_of_a_caching_model_hold_what_they_are_said_to(program, capacity):
    made = run(program, requests("random")[0], STORED / "caching.database.lstm1x8", capacity)
    assert (made.sum(axis=0)[[0, 1, 2, 5]] > 0).all()


@pytest.mark.parametrize("mode", ["none", "next(4)", "all_on_miss", "all_on_partial"])
def test_the_cache_of_an_admission_model_is_the_simulators(program, mode):
    rows, batch = requests("random")
    path = STORED / "admission.database.lgbm"
    bundle = load(path)
    model, calibration = bundle.serving(), bundle.manifest["calibration"]
    geometry = Geometry(**bundle.manifest["geometry"])
    accesses = expand_segments(batch.volume.codes, batch.offset, batch.size, geometry)
    setting = calibration["with_prefetch"] if calibration["with_prefetch"]["mode"] == mode else calibration
    admit = model.scores(model.features(batch)) >= setting["threshold"]
    assert 0 < admit.sum() < len(admit)
    prefetch = plain_prefetch(mode, accesses.first + accesses.sizes - 1, accesses.per_block)
    expected = simulate_flash(accesses, batch.op == 0, admit, 100, prefetch=prefetch)
    made = run(program, rows, path, 100, mode)
    assert made[:, 0].tolist() == expected.hits.tolist()
    assert made[:, 2].tolist() == expected.written.tolist()
    assert made[:, 3].tolist() == expected.prefetched.tolist()
    assert made[:, 4].tolist() == expected.io_segments.tolist()
    assert made[:, 5].sum() == expected.evictions > 0

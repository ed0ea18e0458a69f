"""libcachezoo's kinds caching and workload beside Python: bundles of every policy, request for request."""

import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cachezoo.bundles import load
from cachezoo.bundles.writer import write_bundle
from cachezoo.kernels import manager
from cachezoo.kernels.manager_limits import lane_rules
from cachezoo.runtime import open as open_model
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import batch_of
from cachezoo.traces.store import read_trace
from cachezoo.zoo.caching.infer import torch_infer
from cachezoo.zoo.caching.serve import OUTPUTS, CachingServing
from tests.baleen_data import make_trace
from tests.bundle_data import EXPORT, documents, metrics, reseal
from tests.lstm_data import write_caching
from tests.unit.runtimes.test_pages import random_batch, rows_of

PROGRAM = "serve_run"
ROOT = Path(__file__).parents[3]
STORED = ROOT / "tests/golden/protocol2"
CAPTURED = ROOT / "data/raw/captured"
POLICIES = [
    {"state": state, "on_hit": on_hit, "queues": queues, "fill_free": fill}
    for state, on_hit, queues, fill in product(
        ("carried", "reset100"), ("stay", "requeue"), ("three", "single"), (True, False)
    )
]
FP32, BF16, INT8 = range(3)
TOLERANCE = 1e-5


def run(program, bundle, batch, *more, precision=FP32, capacity=0, cache=False):
    """What `serve_run` gives: features, outputs and decisions of each request."""
    manifest = documents(bundle)
    row = np.dtype([("features", "<f4", len(manifest["features"])),
                    ("outputs", "<f4", len(manifest["golden"]["outputs"])), ("decisions", "<i4", 4)])  # fmt: skip
    words = [program, bundle, precision, capacity, int(cache), *more]
    given = np.ascontiguousarray(rows_of(batch), np.int64).tobytes()
    done = subprocess.run([str(word) for word in words], input=given, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout, row)


def feed_back(manifest, weights):
    """Give a model the four fed-back tags as inputs."""
    rng = np.random.default_rng(derive_seed(7, "fed back"))
    name = "lstm.weight_ih_l0"
    weights[name] = np.concatenate([weights[name], rng.normal(0, 1, (len(weights[name]), 4))], axis=1, dtype=np.float32)
    for output in OUTPUTS:
        manifest["features"].append({"name": f"previous_{output}", "formula": f"feedback.{output}", "unit": "0 or 1",
                                     "encoding": "number", "mean": 0.0, "scale": 1.0})  # fmt: skip


def caching_bundle(folder, policy, fed_back=False, sizes=None):
    """The stored caching bundle with another policy, and rules by size; its golden rows are other ones'."""
    shutil.copytree(STORED / "caching.database.lstm1x8", folder)
    weights = load_file(folder / "weights.safetensors")

    def change(manifest):
        manifest["policy"].update(policy, sequence=100)
        if sizes:
            manifest["calibration"]["by_capacity"] = sizes
        manifest["policy"]["ranges"] = {"gap": [0.0, 9.0], "age": [-3.0, 2.0]}
        if fed_back:
            feed_back(manifest, weights)
            save_file(weights, folder / "weights.safetensors")

    reseal(folder, change)
    reseal(folder)  # the weights' checksum
    return folder, weights


def served_by_python(folder, weights, batch, capacity):
    manifest = documents(folder)
    keys = ("features", "policy", "calibration", "geometry")
    serving = CachingServing(**{key: manifest[key] for key in keys}, infer=torch_infer(weights, 1))
    pages = batch.pages()
    served = serving.run(batch, pages, [serving.cache(capacity)], keep=True)
    hits = np.add.reduceat(served.hits(0).astype(np.int32), pages.request_start[:-1])
    rows = np.stack([served.decisions[0], hits, served.replaced[0], served.dirty_evicted[0]], axis=1)
    return served.features[0], served.outputs[0], rows, serving.threshold


def steady(outputs, threshold):
    """Requests before the first whose decision the last digits of a float32 could turn."""
    stays = np.sort(outputs[:, 1:], axis=1)
    near = np.abs(outputs[:, 0] - threshold) <= TOLERANCE
    near |= stays[:, -1] - stays[:, -2] <= TOLERANCE
    return int(np.argmax(near)) if near.any() else len(outputs)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: "-".join(str(value) for value in policy.values()))
def test_a_stream_and_its_cache_decide_as_python_does(program, tmp_path, policy):
    folder, weights = caching_bundle(tmp_path / "bundle", policy)
    batch = random_batch(1500, "caching", pages=300)
    features, outputs, rows, threshold = served_by_python(folder, weights, batch, 60)
    stream = run(program, folder, batch, capacity=60)
    cache = run(program, folder, batch, capacity=60, cache=True)
    end = steady(outputs, threshold)
    assert end > 500
    assert np.array_equal(stream["features"], features)
    assert np.abs(stream["outputs"] - outputs).max() <= TOLERANCE
    assert np.array_equal(cache["decisions"][:end], rows[:end])
    asked = rows[:end, 0] >= 0
    assert np.array_equal(stream["decisions"][:end, 0][asked], rows[:end, 0][asked])
    assert (rows[:, :3].min(axis=0) < rows[:, :3].max(axis=0)).all()  # bypassed and admitted, hits, evictions


@pytest.mark.parametrize("policy", POLICIES[::3], ids=lambda policy: "-".join(str(value) for value in policy.values()))
def test_a_model_that_is_fed_its_tags_gets_them_from_its_cache(program, tmp_path, policy):
    folder, weights = caching_bundle(tmp_path / "bundle", policy, fed_back=True)
    batch = random_batch(1500, "fed back", pages=300)
    _, outputs, rows, threshold = served_by_python(folder, weights, batch, 60)
    end = steady(outputs, threshold)
    assert end > 300
    assert np.array_equal(run(program, folder, batch, capacity=60, cache=True)["decisions"][:end], rows[:end])


# Random requests to 300 pages: a cache of 60 is about log2(60 / 300) against what is used of late.
SIZES = [
    {"capacity": 0.05, "ratio_log2": -4.3, "threshold": 0.3, "queues": "single"},
    {"capacity": 0.1, "ratio_log2": -3.3, "threshold": 0.5, "queues": "three"},
    {"capacity": 0.2, "ratio_log2": -2.3, "threshold": 0.45, "queues": "single"},
    {"capacity": 0.4, "ratio_log2": -1.3, "threshold": 0.6, "queues": "three"},
]


@pytest.mark.parametrize("capacity", [5, 15, 22, 30, 42, 60, 85, 120, 250])
def test_every_size_decides_by_its_own_threshold_as_python_does(program, tmp_path, capacity):
    folder, weights = caching_bundle(tmp_path / "bundle", POLICIES[0], sizes=SIZES)
    batch = random_batch(3000, "sizes", pages=300)
    manifest, pages = documents(folder), batch.pages()
    keys = ("features", "policy", "calibration", "geometry")
    serving = CachingServing(**{key: manifest[key] for key in keys}, infer=torch_infer(weights, 1))
    cache = serving.cache(capacity)
    outputs = serving.run(batch, pages, [cache], keep=True).outputs[0]
    thresholds, single = lane_rules([cache], serving.read(batch, pages, [capacity])[1])
    queues = np.zeros((len(batch), 1), np.int32)
    manager.decide_all(outputs[:, None], np.zeros(1, np.int64), thresholds, single, queues)
    found = run(program, folder, batch, capacity=capacity)["decisions"][:, 0]
    assert (found == queues[:, 0]).mean() >= 0.999
    assert 0 < (queues > 0).mean() < 1
    late = slice(1500, None)
    assert len(np.unique(thresholds[late])) > 1 or capacity in (5, 15, 250)
    rows = served_by_python(folder, weights, batch, capacity)[2]
    end = int(np.argmax(np.abs(outputs[:, 0] - thresholds[:, 0]) <= TOLERANCE)) or len(batch)
    served = run(program, folder, batch, capacity=capacity, cache=True)["decisions"]
    assert (served[:end, 0] == rows[:end, 0]).mean() >= 0.999


def test_the_library_verifies_a_bundle_of_several_sizes_and_tells_others(library, tmp_path):
    trace = make_trace(600, 9)
    model = write_caching(trace, tmp_path / "trained")
    sized = {**model.calibration, "by_capacity": SIZES[1:3]}
    model.model_copy(update={"calibration": sized}).write(tmp_path / "trained")
    batch = batch_of(trace)
    write_bundle(tmp_path / "trained", batch, metrics(model.model_id), EXPORT, tmp_path / "bundle")
    serving, seen = load(tmp_path / "bundle").serving(), []
    with open_model(tmp_path / "bundle", 50) as runtime:
        assert runtime.verify()["agreement"] == 1.0
        columns = (batch.time_us.tolist(), batch.op.tolist(), batch.offset.tolist(), batch.size.tolist())
        for at, op, offset, size in zip(*columns, strict=True):
            runtime.observe(at, ("read", "write")[op], offset, size)
            seen.append(runtime.calibrated)
    ratio = serving.read(batch, batch.pages(), [50])[1][:, 0]
    assert seen == serving.by_capacity.covers(ratio).tolist() and set(seen) == {True, False}


def test_a_restored_stream_is_told_its_tags_again(program, tmp_path):
    folder, _ = caching_bundle(tmp_path / "bundle", POLICIES[0], fed_back=True)
    batch = random_batch(500, "restored", pages=300)
    whole = run(program, folder, batch, capacity=60, cache=True)
    again = run(program, folder, batch, tmp_path / "state", 23, capacity=60, cache=True)
    assert whole.tobytes() == again.tobytes()


def test_without_its_cache_a_model_that_is_fed_its_tags_refuses_requests(program, tmp_path):
    folder, _ = caching_bundle(tmp_path / "bundle", POLICIES[0], fed_back=True)
    with pytest.raises(AssertionError, match="refused"):
        run(program, folder, random_batch(1, "one"), capacity=60)


@pytest.mark.parametrize("precision", [FP32, BF16, INT8])
@pytest.mark.parametrize(("name", "capacity"), [("caching.database.lstm1x8", 60), ("workload.lstm8", 0)])
def test_a_restored_stream_goes_on_as_if_nothing_had_happened(program, tmp_path, name, capacity, precision):
    batch = random_batch(700, "restored", pages=300)
    whole = run(program, STORED / name, batch, precision=precision, capacity=capacity)
    state = tmp_path / "state"
    again = run(program, STORED / name, batch, state, 23, precision=precision, capacity=capacity)
    assert whole.tobytes() == again.tobytes()


@pytest.mark.parametrize("trace", ["mail_test", "web_lighttpd"])
def test_a_workload_stream_serves_each_request_under_what_earlier_windows_say(program, trace):
    folder = STORED / "workload.lstm8"
    batch = batch_of(read_trace(CAPTURED / f"{trace}.parquet")).part(0, 3000)
    seen = load(folder).serving().run(batch)
    ranked = np.sort(seen.probabilities, axis=1)
    assert (ranked[:, -1] - ranked[:, -2]).min() > 2 * TOLERANCE
    found = run(program, folder, batch)
    assert np.array_equal(found["decisions"][:, 0], seen.of_requests(len(batch)))
    window = seen.window
    given = found["outputs"][window::window]
    assert np.abs(given - seen.probabilities[: len(given)]).max() <= TOLERANCE


@pytest.mark.parametrize("precision", [BF16, INT8])
def test_lower_precision_turns_few_decisions(program, precision):
    batch = batch_of(read_trace(CAPTURED / "database_test.parquet")).part(0, 5000)
    folder = STORED / "caching.database.lstm1x8"
    exact = run(program, folder, batch, capacity=400)["decisions"][:, 0]
    rough = run(program, folder, batch, capacity=400, precision=precision)["decisions"][:, 0]
    assert len(np.unique(exact)) > 1
    assert (exact == rough).mean() > 0.98

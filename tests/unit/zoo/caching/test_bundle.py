import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.bundles import load, verify, writer
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import BEGINNINGS, build_bundle, write_bundle
from cachezoo.errors import BundleError
from cachezoo.models.trained import read_trained
from cachezoo.models.weights import read_weights
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.pages import expand_pages
from cachezoo.zoo.caching import bundle as caching
from cachezoo.zoo.caching.bundle import certain_rows
from cachezoo.zoo.caching.infer import serving_of
from tests.baleen_data import make_trace
from tests.bundle_data import EXPORT, metrics
from tests.lstm_data import write_caching


@pytest.fixture
def folder(trained_of: Callable[[str], tuple[Path, RequestBatch]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_of("caching")[0], tmp_path / "trained"))


def test_bundle_decides_like_the_trained_network(folder: Path, tmp_path: Path) -> None:
    trace = make_trace(800, 9)
    model = read_trained(folder)
    write_bundle(folder, batch_of(trace).part(0, 500), metrics(model.model_id), EXPORT, tmp_path / "bundle")
    ours, theirs = serving_of(model, read_weights(folder)), load(tmp_path / "bundle").serving()
    batch = batch_of(trace)
    one, two = (
        serving.run(batch, expand_pages(trace), [serving.cache(50), serving.cache(300)]) for serving in (ours, theirs)
    )
    np.testing.assert_array_equal(one.decisions, two.decisions)
    np.testing.assert_array_equal(one.outcome, two.outcome)
    assert one.totals == two.totals
    assert set(np.unique(two.decisions)) == {-1, 0, 1, 2, 3}


@pytest.mark.parametrize(
    ("state", "layers", "fed_back", "on_hit", "queues"),
    [
        ("reset100", 1, False, "stay", "three"), ("carried", 2, False, "requeue", "single"),
        ("carried", 1, True, "requeue", "three"), ("reset100", 2, True, "stay", "single"),
    ],
)  # fmt: skip
def test_states_layers_and_rules_replay(
    state: str, layers: int, fed_back: bool, on_hit: str, queues: str, tmp_path: Path
) -> None:
    trace = make_trace(400, 9)
    model = write_caching(trace, tmp_path / "trained", layers, 4, state, 100, fed_back, on_hit, queues)
    write_bundle(tmp_path / "trained", batch_of(trace), metrics(model.model_id), EXPORT, tmp_path / "bundle")
    report = verify(tmp_path / "bundle")
    assert report["ok"] and report["golden_rows"] >= 250
    manifest = load(tmp_path / "bundle").manifest
    assert manifest["policy"]["state"] == state and manifest["golden"]["context"]["capacity_pages"] > 1
    assert (manifest["arch"]["layers"], manifest["arch"]["units"]) == (layers, 4)


SIZES = [
    {"capacity": 0.05, "ratio_log2": -4.0, "threshold": 0.48, "queues": "single", "hit_ratio": 0.1, "ssd_writes": 9},
    {"capacity": 0.1, "ratio_log2": -3.0, "threshold": 0.5, "queues": "three", "hit_ratio": 0.2, "ssd_writes": 9},
    {"capacity": 0.4, "ratio_log2": -1.0, "threshold": 0.55, "queues": "three", "hit_ratio": 0.3, "ssd_writes": 9},
]


def test_a_bundle_of_several_sizes_replays_and_says_for_which(folder: Path, tmp_path: Path) -> None:
    path, trace = folder / "train.json", make_trace(600, 9)
    values = json.loads(path.read_text())
    values["calibration"]["by_capacity"] = SIZES
    path.write_text(json.dumps(values))
    write_bundle(folder, batch_of(trace), metrics(values["model_id"]), EXPORT, tmp_path / "bundle")
    report, bundle = verify(tmp_path / "bundle"), load(tmp_path / "bundle")
    assert report["ok"]
    assert "by_capacity" in [one["name"] for one in bundle.manifest["golden"]["synthetic"]]
    card = (tmp_path / "bundle/card.md").read_text()
    assert "its thresholds are for 5 to 40 %. **Warning**: in a smaller or larger cache the nearest one decides" in card


def test_golden_decisions_are_the_whole_cache(folder: Path, tmp_path: Path) -> None:
    trace = make_trace(1000, 2)
    write_bundle(folder, batch_of(trace).part(0, 1000), Metrics(), EXPORT, tmp_path / "bundle")
    bundle = load(tmp_path / "bundle")
    golden, stated = bundle.golden(), bundle.manifest["golden"]
    queue, hits, replaced, dirty = golden.decisions.T
    pages = golden.requests.pages()
    assert stated["context"]["capacity_pages"] == int(0.1 * pages.n_pages)
    branches = stated["branches"]
    assert branches["hit"] == (queue == -1).sum() == (hits == np.diff(pages.request_start)).sum()
    assert branches["admitted"] == (queue > 0).sum() and branches["replaced"] == replaced.sum()
    assert branches["dirty_evicted"] == dirty.sum() and branches["partial_hit"] == ((queue >= 0) & (hits > 0)).sum()
    assert sum(branches[name] for name in ("bypass", "soon", "mean", "late", "hit")) == stated["rows"]


def test_a_model_that_is_fed_its_tags_replays_them(tmp_path: Path) -> None:
    trace = make_trace(600, 9)
    write_caching(trace, tmp_path / "trained", fed_back=True)
    write_bundle(tmp_path / "trained", batch_of(trace).part(0, 600), Metrics(), EXPORT, tmp_path / "bundle")
    fed = load(tmp_path / "bundle").golden().features[1:, -4:]
    assert fed.any() and not fed.all()
    np.testing.assert_array_equal(fed[:, 0] > 0, (fed[:, 1:] > 0).any(axis=1))


def test_a_teacher_below_the_best_classic_is_refused(folder: Path) -> None:
    path = folder / "train.json"
    values = json.loads(path.read_text())
    values["calibration"]["oracle_beats_classic"] = False
    path.write_text(json.dumps(values))
    with pytest.raises(BundleError, match="its oracle is below the best classic on validation"):
        build_bundle(folder, batch_of(make_trace(300, 9)).part(0, 300), Metrics(), EXPORT)


def test_a_decision_on_the_last_digit_ends_the_golden_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "GOLDEN_SHARES", (0.1,))
    monkeypatch.setattr(writer, "BEGINNINGS", 1)
    requests = batch_of(make_trace(300, 9)).part(0, 300)
    files, _ = build_bundle(folder, requests, Metrics(), EXPORT)
    outputs, decisions = (np.load(io.BytesIO(files[f"golden/{name}.npy"])) for name in ("outputs", "decisions"))
    # The consulted row nearest to the threshold: no other row's decision turns with a threshold moved there.
    row = int(np.argmin(np.where(decisions[:, 0] >= 0, np.abs(outputs[:, 0] - 0.5), 1.0)))
    path = folder / "train.json"
    values = json.loads(path.read_text())
    values["calibration"]["threshold"] = float(outputs[row, 0])
    path.write_text(json.dumps(values))
    cut = json.loads(build_bundle(folder, requests, Metrics(), EXPORT)[0]["model.json"])["golden"]
    assert cut["rows"] == row > 1
    assert cut["context"] == json.loads(files["model.json"])["golden"]["context"]


def test_golden_rows_begin_elsewhere_where_a_decision_on_the_last_digit_comes_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caching, "GOLDEN_SHARES", (0.1,))
    trace = make_trace(400, 9)
    model = write_caching(trace, tmp_path / "trained", 1, 4, "reset100")
    requests = batch_of(trace).part(0, 400)
    serving = serving_of(model, read_weights(tmp_path / "trained"))
    head = requests.part(0, EXPORT.golden_rows)
    capacity = max(1, int(0.1 * head.pages().n_pages))
    early = serving.run(head, head.pages(), [serving.cache(capacity)], keep=True).outputs[0, 5]
    path = tmp_path / "trained/train.json"
    values = json.loads(path.read_text())
    values["calibration"]["threshold"] = float(early[0])
    path.write_text(json.dumps(values))
    settings = replace(EXPORT, golden_rows_max=EXPORT.golden_rows)
    write_bundle(tmp_path / "trained", requests, Metrics(), settings, tmp_path / "bundle")
    golden = load(tmp_path / "bundle").golden()
    begins = requests.offset.tolist().index(golden.requests.offset[0])
    assert begins == 400 // BEGINNINGS and len(golden.requests) >= 250
    assert verify(tmp_path / "bundle")["ok"]


def test_golden_rows_begin_where_every_branch_is_passed(folder: Path, tmp_path: Path) -> None:
    # Before the middle the model sees one request over and over; only behind it does anything leave the cache.
    busy, rng = make_trace(600, 9), np.random.default_rng(1)
    still = {name: np.repeat(getattr(busy, name)[:1], 600) for name in ("op", "offset", "size")}
    columns = {name: np.concatenate([still[name], getattr(busy, name)]) for name in still}
    columns["time_us"] = np.cumsum(rng.integers(1, 3000, 1200))
    requests = batch_of(replace(make_trace(1200, 9), **columns)).part(0, 1200)
    settings = replace(EXPORT, golden_rows=100, golden_rows_max=200)
    write_bundle(folder, requests, Metrics(), settings, tmp_path / "bundle")
    bundle = load(tmp_path / "bundle")
    branches = bundle.manifest["golden"]["branches"]
    assert branches["admitted"] and branches["replaced"] and branches["bypass"] and branches["hit"]
    assert bundle.golden().requests.time_us[0] >= columns["time_us"][450]
    assert "never pass" not in (tmp_path / "bundle/card.md").read_text()


def test_branches_that_no_golden_row_passes_are_named(folder: Path, tmp_path: Path) -> None:
    path = folder / "train.json"
    values = json.loads(path.read_text())
    values["calibration"]["threshold"] = 1.0
    path.write_text(json.dumps(values))
    write_bundle(folder, batch_of(make_trace(300, 9)).part(0, 300), Metrics(), EXPORT, tmp_path / "bundle")
    assert "golden rows never pass admitted" in (tmp_path / "bundle/card.md").read_text()


def test_steady_by_hand() -> None:
    sure, at_threshold = [0.9, 0.5, 0.3, 0.2], [0.5, 0.8, 0.1, 0.1]
    passed, between = [0.1, 0.4, 0.4, 0.2], [0.9, 0.4, 0.4, 0.2]
    outputs = np.array([sure, at_threshold, passed, between], np.float32)
    queues = np.array([1, -1, 0, 1], np.int32)
    thresholds, three, single = np.full((4, 1), 0.5, np.float32), np.zeros((4, 1), np.uint8), np.ones((4, 1), np.uint8)
    assert certain_rows(outputs, queues, (thresholds, three)) == 3
    assert certain_rows(outputs[:3], queues[:3], (thresholds[:3], three[:3])) == 3
    assert certain_rows(outputs, np.array([1, 1, 0, 1], np.int32), (thresholds, three)) == 1
    assert certain_rows(outputs, queues, (thresholds, single)) == 4

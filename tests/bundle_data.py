"""Tiny trained models of each kind, made by the rooms' own code, and the bundles of them."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cachezoo.bundles import load
from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.protocol import ACTING, ACTS, MANIFEST, SEAL
from cachezoo.bundles.writer import ExportSettings, write_bundle
from cachezoo.errors import BundleError
from cachezoo.serving.requests import RequestBatch, batch_of, join
from cachezoo.zoo.admission import fit as admission
from cachezoo.zoo.reuse import fit as reuse
from tests import baleen_data, lstm_data, placement_data, reuse_data, virtual_data
from tests.baleen_data import labelled_parts, make_trace
from tests.lstm_data import CLASSES, make_stream, write_caching
from tests.metrics_data import page_metrics, page_model, page_trace, row
from tests.sealed import files_of, sealed

LIBRARIES = {
    "numpy": "2.4.6", "numba": "0.68.1", "lightgbm": "4.7.0",
    "optuna": "5.0.0", "torch": "2.13.0", "lightning": "2.6.6", "safetensors": "0.8.0", "scikit-learn": "1.9.1",
}  # fmt: skip
EXPORT = ExportSettings("0.1.0", golden_rows=250, golden_rows_max=1000, libraries=LIBRARIES, pinned={})


def metrics(model_id: str, low: float = 0.02, hit_ratio: float = 0.45) -> Metrics:
    """What stage evaluate writes of a model on one test trace, lru beside it."""
    lru = row("lru", "classic", 0.41)
    own = row(model_id, "model", 0.45, gap_closed=0.2).model_copy(update={"hit_ratio": hit_ratio})
    trace = page_trace("test", own).model_copy(update={"rows": [own, lru]})
    validation = {"gap_closed": 0.25, "hit_ratio": 0.5, "difference_low": low}
    model = page_model({"database_test": own}, promoted=low > 0, validation=validation)
    return Metrics(page_metrics({"database_test": trace}, "lru", {model_id: model}, "database"))


def train_admission(folder: Path, settings: admission.Settings = baleen_data.FIT) -> tuple[Path, RequestBatch]:
    """A tiny forest, and requests to take golden rows from."""
    traces = {key: make_trace(8_000, seed) for seed, key in ((1, "train"), (2, "validation"))}
    parts = labelled_parts(traces, folder)
    baleen_data.fit_and_judge(parts[:1], parts[1:], settings).write(folder / "model")
    return folder / "model", batch_of(parts[1].trace).part(0, 1000)


def train_caching(folder: Path) -> tuple[Path, RequestBatch]:
    """A tiny caching LSTM, and requests to take golden rows from."""
    trace = make_trace(1_000, 2)
    trace = replace(trace, offset=trace.offset % (1 << 22))
    write_caching(trace, folder / "model")
    return folder / "model", batch_of(trace).part(0, 1000)


def train_workload(folder: Path) -> tuple[Path, RequestBatch]:
    """A tiny classifier of two programs, and requests of one after the other."""
    lstm_data.fit_and_judge(CLASSES, lstm_data.parts(2_000, 1), lstm_data.parts(1_000, 3)).write(folder / "model")
    golden = [batch_of(make_stream(400, seed, name)).part(0, 400) for seed, name in ((3, "pairs"), (4, "turns"))]
    return folder / "model", join(golden)


def train_reuse(folder: Path, settings: reuse.Settings = reuse_data.FIT) -> tuple[Path, RequestBatch]:
    """Tiny next-use forests beside two classics, and requests to take golden rows from."""
    reuse_data.write_model(folder, settings)
    return folder / "model", batch_of(reuse_data.make_trace(1000, 3))


def train_streams(folder: Path) -> tuple[Path, RequestBatch]:
    """A small dictionary of streams, and requests to take golden rows from."""
    return placement_data.write_model(folder / "model"), placement_data.requests(1000)


def train_lifetime(folder: Path) -> tuple[Path, RequestBatch]:
    """A small forest of lifetimes, and requests to take golden rows from."""
    return placement_data.write_forest(folder / "model"), placement_data.cycle(12)


def train_virtual(folder: Path) -> tuple[Path, RequestBatch]:
    """A small virtual cache, and requests to take golden rows from."""
    return virtual_data.write_model(folder / "model"), virtual_data.requests(1000)


TRAINERS: dict[str, Callable[[Path], tuple[Path, RequestBatch]]] = {
    "admission": train_admission,
    "caching": train_caching,
    "reuse": train_reuse,
    "streams": train_streams,
    "virtual": train_virtual,
    "workload": train_workload,
}


# Each room that imports the fixtures has its own of each; what they make is made once for all rooms.
_trained: dict[str, tuple[Path, RequestBatch]] = {}
_bundles: dict[Path, Path] = {}


@pytest.fixture(scope="session")
def trained_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, RequestBatch]]:
    """Trains a kind once a session: the trained folder, and golden requests."""

    def train(kind: str) -> tuple[Path, RequestBatch]:
        if kind not in _trained:
            _trained[kind] = TRAINERS[kind](tmp_path_factory.mktemp(kind))
        return _trained[kind]

    return train


@pytest.fixture(scope="session", params=sorted(TRAINERS))
def trained(request: pytest.FixtureRequest, trained_of: Callable[[str], Any]) -> tuple[Path, RequestBatch]:
    """A trained folder of each kind, with golden requests."""
    pair: tuple[Path, RequestBatch] = trained_of(request.param)
    return pair


def model_id(folder: Path) -> str:
    """Id of a trained folder."""
    return str(json.loads((folder / "train.json").read_text())["model_id"])


def _bundle(pair: tuple[Path, RequestBatch], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, requests = pair
    if folder not in _bundles:
        _bundles[folder] = tmp_path_factory.mktemp("bundle") / model_id(folder)
        write_bundle(folder, requests, metrics(model_id(folder)), EXPORT, _bundles[folder])
    return _bundles[folder]


@pytest.fixture(scope="session")
def bundle_dir(trained: tuple[Path, RequestBatch], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of each kind; tests copy it before they damage it."""
    return _bundle(trained, tmp_path_factory)


@pytest.fixture(scope="session")
def bundle_dirs(trained_of: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The bundle of each kind."""
    return {kind: _bundle(trained_of(kind), tmp_path_factory) for kind in sorted(TRAINERS)}


def refused(path: Path, match: str, check: Callable[[Path], object] = load) -> None:
    """A check of a bundle, by default loading it, fails with one line that names it."""
    with pytest.raises(BundleError, match=match) as caught:
        check(path)
    text = str(caught.value)
    assert "\n" not in text and len(text) < 500 and str(path) in text


def documents(folder: Path) -> dict[str, Any]:
    """Both documents of a bundle in one."""
    whole: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return {**whole, **json.loads((folder / ACTS).read_text())}


def reseal(folder: Path, change: Callable[[dict[str, Any]], None] = lambda manifest: None) -> None:
    """Change a bundle's documents, then make every checksum true again: damage that no checksum shows."""
    whole = documents(folder)
    change(whole)
    acting = {name: whole.pop(name) for name in ACTING if name in whole}
    (folder / ACTS).write_text(json.dumps(acting, indent=2, sort_keys=True))
    (folder / MANIFEST).write_text(json.dumps(whole))
    files = sealed(files_of(folder))
    for name in (MANIFEST, SEAL):
        (folder / name).write_bytes(files[name])

"""Tiny trained models of each kind, made by the rooms' own code, and the bundles of them."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cachezoo.bundles.protocol import MANIFEST, SEAL, seal
from cachezoo.bundles.requests import Requests, join, requests_of
from cachezoo.bundles.writer import ExportSettings, write_bundle
from cachezoo.labels.episode_file import read_episode_labels, write_episode_labels
from cachezoo.training import prefetch
from cachezoo.training.admission import fit, write_trained
from cachezoo.training.episode_rows import Part
from cachezoo.training.fitted import write_fitted
from cachezoo.training.workload import fit_workload
from tests import prefetch_data
from tests.baleen_data import FLASH, LABEL, SETTINGS, make_trace
from tests.lstm_data import SETTINGS as WORKLOAD
from tests.lstm_data import make_stream, part, write_caching
from tests.prefetch_data import SETTINGS as PREFETCH

LIBRARIES = {
    "numpy": "2.4.6", "numba": "0.68.1", "onnx": "1.23.2", "onnxruntime": "1.31.1", "lightgbm": "4.7.0",
    "torch": "2.13.0", "lightning": "2.6.6", "safetensors": "0.8.0", "scikit-learn": "1.9.1",
}  # fmt: skip
EXPORT = ExportSettings("0.1.0", golden_rows=250, golden_rows_max=1000, libraries=LIBRARIES, pinned={})


def metrics(model_id: str, low: float = 0.02) -> dict[str, Any]:
    """What stage evaluate writes, cut down."""
    row = {"kind": "classic", "hit_ratio_interval": [0.3, 0.5], "gap_closed": None, "gap_points": 0.0}
    rows = [
        {**row, "policy": "lru", "hit_ratio": 0.41, "ssd_writes_per_100_io": 30.5},
        {**row, "policy": model_id, "kind": "model", "hit_ratio": 0.45, "gap_closed": 0.2},
    ]
    return {
        "category": "database",
        "traces": {"database_test": {"role": "test", "rows": rows, "best_classic": "lru"}},
        "models": {
            model_id: {
                "validation": {"gap_closed": 0.25, "hit_ratio": 0.5},
                "test": {"gap_closed": 0.2, "hit_ratio": 0.45, "note": None},
                "paired_difference_interval": [low, 0.05],
                "promoted": low > 0,
            }
        },
    }


def train_admission(folder: Path) -> tuple[Path, Requests]:
    """A tiny forest, and requests to take golden rows from."""
    parts = []
    for seed, key in ((1, "train"), (2, "validation")):
        trace = make_trace(8_000, seed)
        write_episode_labels(trace, LABEL, FLASH, folder / key)
        parts.append(Part(key, trace, read_episode_labels(folder / key)))
    write_trained(*fit("database", parts[:1], parts[1:], SETTINGS), folder / "model")
    return folder / "model", requests_of(parts[1].trace, 1000)


def train_caching(folder: Path) -> tuple[Path, Requests]:
    """A tiny caching LSTM, and requests to take golden rows from."""
    trace = make_trace(1_000, 2)
    trace = replace(trace, offset=trace.offset % (1 << 22))
    write_caching(trace, folder / "model")
    return folder / "model", requests_of(trace, 1000)


def train_workload(folder: Path) -> tuple[Path, Requests]:
    """A tiny classifier of two programs, and requests of one after the other."""
    parts = [part(make_stream(2_000, seed, name)) for seed, name in ((1, "pairs"), (2, "turns"))]
    held = [part(make_stream(1_000, seed, name)) for seed, name in ((3, "pairs"), (4, "turns"))]
    write_fitted(fit_workload(["pairs", "turns"], parts, held, WORKLOAD), folder / "model")
    golden = [requests_of(make_stream(400, seed, name), 400) for seed, name in ((3, "pairs"), (4, "turns"))]
    return folder / "model", join(golden)


def train_prefetch(folder: Path, settings: prefetch.Settings = PREFETCH) -> tuple[Path, Requests]:
    """Tiny forests of ranges that a user decides, and requests to take golden rows from."""
    traces = [prefetch_data.make_trace(n, seed) for n, seed in ((12_000, 1), (9_000, 2))]
    parts = [prefetch_data.part(trace, key, folder) for trace, key in zip(traces, ("train", "held"), strict=True)]
    prefetch.write_trained(*prefetch_data.train_both(folder, parts[:1], parts[1:], settings), folder / "model")
    return folder / "model", requests_of(traces[1], 1000)


TRAINERS: dict[str, Callable[[Path], tuple[Path, Requests]]] = {
    "admission": train_admission,
    "caching": train_caching,
    "prefetch": train_prefetch,
    "workload": train_workload,
}


@pytest.fixture(scope="session")
def trained_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Requests]]:
    """Trains a kind once a session: the trained folder, and golden requests."""
    return cache(lambda kind: TRAINERS[kind](tmp_path_factory.mktemp(kind)))


@pytest.fixture(scope="session", params=sorted(TRAINERS))
def trained(request: pytest.FixtureRequest, trained_of: Callable[[str], Any]) -> tuple[Path, Requests]:
    """A trained folder of each kind, with golden requests."""
    pair: tuple[Path, Requests] = trained_of(request.param)
    return pair


def model_id(folder: Path) -> str:
    """Id of a trained folder."""
    return str(json.loads((folder / "train.json").read_text())["model_id"])


@pytest.fixture(scope="session")
def bundle_dir(trained: tuple[Path, Requests], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of each kind; tests copy it before they damage it."""
    folder, requests = trained
    out = tmp_path_factory.mktemp("bundle") / model_id(folder)
    write_bundle(folder, requests, metrics(model_id(folder)), EXPORT, out)
    return out


def reseal(folder: Path, change: Callable[[dict[str, Any]], None] = lambda manifest: None) -> None:
    """Change a manifest, then make every checksum true again: damage that no checksum shows."""
    manifest = json.loads((folder / MANIFEST).read_text())
    for entry in manifest["files"]:
        path = folder / entry["path"]
        if path.is_file():
            entry["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
            entry["size"] = path.stat().st_size
    change(manifest)
    raw = json.dumps(manifest, indent=2, sort_keys=True).encode()
    (folder / MANIFEST).write_bytes(raw)
    (folder / SEAL).write_bytes(seal(hashlib.sha256(raw).hexdigest()))

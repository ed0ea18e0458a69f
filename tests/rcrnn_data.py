"""A trace that an LSTM can learn: small requests to a drifting hot set that come back, between scans that never do."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from cachezoo.config.load import load_params
from cachezoo.features.table import read_features, write_features
from cachezoo.labels.benefit import read_benefit_labels, write_benefit_labels
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import PAGE_BYTES, Coded, Trace, TraceMeta
from cachezoo.training.caching import Part, Settings

ROOT = Path(__file__).resolve().parents[1]
PARAMS = load_params(ROOT / "params.yaml")
SETTINGS = replace(
    Settings.of(PARAMS),
    model=PARAMS.model.caching.model_copy(update={"arch": "lstm_test", "layers": 1, "units": 16}),
    train=PARAMS.train.caching.model_copy(
        update={"max_epochs": 8, "batch": 8, "learning_rate": 0.01, "bootstrap_samples": 200, "threads": 1}
    ),
)


def make_trace(requests: int, seed: int, name: str = "trace") -> Trace:
    """Requests: 70 % read or write one page of 150 hot ones that drift, the others read four pages once."""
    rng = np.random.default_rng(seed)
    hot = rng.random(requests) < 0.7
    drift = np.arange(requests) // 12
    page = np.where(hot, drift + rng.integers(0, 150, requests), 200_000 + 4 * np.cumsum(~hot))
    return Trace(
        time_us=np.cumsum(rng.integers(500, 4000, requests)),
        op=(hot & (rng.random(requests) < 0.3)).astype(np.uint8),
        offset=page * PAGE_BYTES,
        size=np.where(hot, PAGE_BYTES, 4 * PAGE_BYTES),
        volume=Coded.constant("0", requests),
        meta=TraceMeta(name, "database", "csv", "0" * 64, licence="CC0-1.0"),
    )


def make_part(trace: Trace, folder: Path, settings: Settings = SETTINGS) -> Part:
    """A trace through the stages label_benefit and features."""
    key, pages = trace.meta.trace_id, expand_pages(trace)
    rng = np.random.default_rng(1)
    t_hdd, t_ssd = rng.uniform(4000, 9000, len(trace)), np.full(len(trace), 80.0)
    labels, features = folder / f"{key}.labels.parquet", folder / f"{key}.features.parquet"
    write_benefit_labels(trace, pages, t_hdd, t_ssd, settings.label, labels)
    write_features(trace, pages, settings.features, settings.label, features)
    return Part(key, trace, pages, read_benefit_labels(labels, settings.label), read_features(features, settings.label))

"""Small streams whose workload changes, models of random weights that take turns on them, and a monitor."""

from typing import Any

import numpy as np

from cachezoo.coded import Coded
from cachezoo.features.sequence import OPEN_FORMULAS, Memory, fit_features, raw_columns
from cachezoo.features.window import WINDOW_FORMULAS, fit_inputs, window_columns
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import TraceEntry
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import TraceMeta
from cachezoo.zoo.caching.serve import CachingServing
from cachezoo.zoo.workload.serve import WorkloadServing
from lab.reconfigure.bench import Models, Settings
from lab.reconfigure.streams import Changing, Part, changing
from tests.page_data import seeded_trace, service_times

CLASSES = ("mail", "web")
MEMORY = {"memory_accesses": 300, "window_accesses": 100, "region_bytes": 65536, "region_bits": 8, "clip": 6.0}
POLICY = {
    "state": "carried", "sequence": 100, "memory": MEMORY, "demote_capacities": 5, "protected_percent": 20,
    "fill_free": True, "on_hit": "stay", "queues": "three",
}  # fmt: skip
WINDOW, VOTE_WINDOWS = 10, 3
UNITS = 6


def part(category: str, role: str = "test", n: int = 700, seed: int = 0, unseen: bool = False) -> Part:
    """A workload; web's requests all write, the others' all read, so that a window says which it is."""
    key = f"{category}_{'other' if unseen else role}"
    trace = seeded_trace(
        n, 60, seed + CLASSES.index(category) * 10, op=np.full(n, int(category == "web"), np.uint8),
        meta=TraceMeta(key, category, "test", "0" * 64), volume=Coded.constant("vda", n),
    )  # fmt: skip
    return Part(key, category, trace, *service_times(n, seed))


def stream(requests: int = 310, periods: int = 1, fraction: float = 0.3, role: str = "test") -> Changing:
    """Mail and web in turns."""
    return changing(f"stream {periods}", [part(name, role) for name in CLASSES], requests, periods, fraction)


def caching(seed: int, threshold: float = 0.5, **policy: Any) -> CachingServing:
    """A caching model of a small recurrent network of random weights."""
    train = seeded_trace(300, 60, 12)
    features = fit_features([raw_columns(batch_of(train), expand_pages(train), [12], Memory.of(MEMORY))], OPEN_FORMULAS)
    rng = np.random.default_rng(seed)
    inner = rng.normal(0, 0.5, (UNITS, len(features))).astype(np.float32)
    again = rng.normal(0, 0.5, (UNITS, UNITS)).astype(np.float32)
    head = rng.normal(0, 1, (4, UNITS)).astype(np.float32)

    def infer(rows: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        before = np.zeros((len(rows), UNITS), np.float32) if state is None else state
        after = np.tanh(rows @ inner.T + before @ again.T)
        raw = after @ head.T
        return np.concatenate([1 / (1 + np.exp(-raw[:, :1])), np.exp(raw[:, 1:])], axis=1), after

    return CachingServing(features, {**POLICY, **policy}, {"threshold": threshold}, {"page_bytes": 4096}, infer)


def by_writes(windows: np.ndarray) -> np.ndarray:
    """The share of writes as the probability of web."""
    web = (windows[:, :, -1] > 0).mean(axis=1)
    return np.stack([1 - web, web], axis=1).astype(np.float32)


def monitor(switch_votes: int = 2, classes: tuple[str, ...] = CLASSES) -> WorkloadServing:
    """A classifier that goes by the writes alone."""
    parts = [window_columns(batch_of(part(name).trace), np.arange(0, 600, 10, dtype=np.int64), 10) for name in CLASSES]
    policy = {
        "classes": list(classes), "window": WINDOW, "clip": 6.0, "vote_windows": VOTE_WINDOWS,
        "switch_votes": switch_votes,
    }  # fmt: skip
    features = fit_inputs(np.concatenate(parts), WINDOW_FORMULAS)
    return WorkloadServing(features, policy, {}, {"page_bytes": 4096}, by_writes)


def models(follower: Any = None) -> Models:
    """Two caching models, and the monitor with any number of votes that is tried."""
    own = [caching(0), caching(1, 0.4, on_hit="requeue", queues="single")]
    return Models(CLASSES, own, {votes: monitor(votes) for votes in (1, 2, 3)}, follower)


def settings(**changed: Any) -> Settings:
    """What the stage reads of params.yaml, of two categories."""
    entry = {"path": "data/raw/x.csv", "format": "csv"}
    keys = [(name, role) for name in CLASSES for role in ("validation", "test")]
    traces = {f"{name}_{role}": TraceEntry(category=name, role=role, **entry) for name, role in keys}
    strange = {f"{name}_other": TraceEntry(category=name, role="test", unseen=True, **entry) for name in CLASSES}
    roles = {
        name: {"test": [f"{name}_other", f"{name}_test"], "validation": [f"{name}_validation"]} for name in CLASSES
    }
    values: dict[str, Any] = {
        "categories": list(CLASSES), "roles": roles, "traces": traces | strange, "caching": "tiny", "workload": "tiny",
        "reuse": "tiny", "fraction": 0.3, "decision_us": {"admission": 50.0, "caching": 230.0, "reuse": 25.0},
        **changed,
    }  # fmt: skip
    return Settings(**values)

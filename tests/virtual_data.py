"""A small trained virtual cache, made of generated requests, for the tests of its bundle."""

from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.models.trained import FILE, TraceUse, TrainedModel
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.virtual import serve as profile
from cachezoo.zoo.virtual.fit import FEATURES, GEOMETRY
from cachezoo.zoo.virtual.judge import policy_of
from cachezoo.zoo.virtual.metrics import (
    Kind,
    Seeded,
    Setting,
    Started,
    VirtualMetrics,
    VirtualModel,
    VirtualRow,
    VirtualTrace,
)

PAGE = 4096
ARCH = {"queue": "lfu", "pages": 16_384, "fragment": 8, "runs": 2, "decay": 0.9, "quantum": 100, "cost": 0.25}


def rates(fragments: int = 2048, seed: int = 1) -> profile.F64:
    """Hits per reference of each fragment: many near the head, and many in a stretch far from it."""
    draws = np.random.default_rng(seed)
    found: profile.F64 = draws.random(fragments) / 1e5
    found[:3] += 0.1
    found[14:17] += 0.15
    return found


def requests(rows: int, seed: int = 2) -> RequestBatch:
    """A loop over more pages than the cache has, hot pages, and some that come once."""
    draws = np.random.default_rng(seed)
    page = np.where(draws.random(rows) < 0.5, np.arange(rows) % 150, draws.integers(0, 40, rows))
    page = np.where(draws.random(rows) < 0.15, 1000 + np.arange(rows) * 3, page)
    time_us, size = np.cumsum(draws.integers(0, 900, rows)), draws.integers(1, 4, rows) * PAGE
    op = (draws.random(rows) < 0.3).astype(np.uint8)
    return RequestBatch(time_us, op, page * PAGE, size, Coded.of(["sda"] * rows))


def write_model(folder: Path, category: str = "database", start: str = "warm") -> Path:
    """What stage judge_virtual leaves of a model: `profile.bin` and `train.json`."""
    model = TrainedModel(
        model_id=f"virtual.{category}.vrm",
        kind="virtual",
        category=category,
        arch=ARCH,
        features=FEATURES,
        geometry=GEOMETRY,
        traces=[
            TraceUse(trace=f"{category}_{role}", role=role, sha256=digit * 64, licence="CC0-1.0")
            for role, digit in (("train", "0"), ("validation", "1"))
        ],
        inputs={},
        seeds={"tune_virtual": 7},
        trained=True,
        calibration={"capacity": 0.1, "most_transfers": 1.05, "hit_ratio": 0.5, "transfers": 0.51,
                     "plain_policy": "arc", "plain_hit_ratio": 0.45, "plain_transfers": 0.55},
        policy=policy_of(start),
        validation={"hit_ratio": 0.5, "plain_hit_ratio": 0.45},
        beats_baseline=True,
        reason="hits 50 % of page accesses, arc 45 %",
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / profile.FILE).write_bytes(profile.to_bytes(rates()))
    model.write(folder)
    assert (folder / FILE).exists()
    return folder


SETTING = Setting(queue="lfu", pages=16_384, runs=2, decay=0.9, quantum=100, cost=0.25)


def row(policy: str, kind: Kind, hit_ratio: float, transfers: float, spread: float = 0.01) -> VirtualRow:
    """A cache on a test trace, whose best plain policy hits 45 % at 0.55 transfers."""
    gain = hit_ratio - 0.45
    return VirtualRow(
        policy=policy, kind=kind, setting=SETTING if kind in ("paper", "tuned") else None, hit_ratio=hit_ratio,
        hit_ratio_interval=(hit_ratio - spread, hit_ratio + spread), gain=gain,
        gain_interval=(gain - spread, gain + spread), transfers=transfers, allocation=0.01, fragmentation=0.02,
        of_plain_misses=(1 - hit_ratio) / 0.55, of_plain_transfers=transfers / 0.55,
    )  # fmt: skip


def trace(hit_ratio: float = 0.5, transfers: float = 0.54, warm: int | None = 900) -> VirtualTrace:
    """A test trace, with a tuned cache that hits so much."""
    rows = [
        row("lru", "plain", 0.40, 0.60), row("lfu", "plain", 0.42, 0.58), row("arc", "plain", 0.45, 0.55, 0),
        row("vrm.lru", "paper", 0.55, 1.2), row("vrm.lfu", "paper", 0.52, 1.1), row("vrm.arc", "paper", 0.51, 1.3),
        row("head", "head", 0.47, 0.53), row("tuned.cold", "tuned", hit_ratio, transfers),
        row("tuned.warm", "tuned", hit_ratio, transfers),
    ]  # fmt: skip
    seeds = [Seeded(number=k, setting=SETTING, hit_ratio=0.5, transfers=0.54, gain=0.01 * k) for k in range(5)]
    starts = [
        Started(policy="tuned", start="cold", steady=0.5, references=1000),
        Started(policy="tuned", start="warm", steady=0.5, references=warm),
    ]
    return VirtualTrace(
        role="test", references=9000, capacity=40, best_plain="arc", window=500, rows=rows, seeds=seeds, starts=starts
    )


def metrics(model_id: str, promoted: bool = True, **more: float | None) -> VirtualMetrics:
    """metrics/virtual/<category>.json of a model on one test trace; `more` are arguments of `trace`."""
    category = model_id.split(".")[1]
    model = VirtualModel(
        trained=True,
        promoted=promoted,
        reason="hits 50 %",
        validation={"hit_ratio": 0.5},
        setting=SETTING,
        start="cold",
    )
    found = trace(**more)  # type: ignore[arg-type]
    return VirtualMetrics(category=category, reason="", traces={f"{category}_test": found}, models={model_id: model})

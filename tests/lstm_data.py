"""Seeded requests and tiny models for the LSTMs' tests."""

from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.coded import Coded
from cachezoo.features.sequence import OPEN_FORMULAS, Memory, fit_features, raw_columns
from cachezoo.features.window import WINDOW_FORMULAS
from cachezoo.models.trained import Feature, TraceUse, TrainedModel
from cachezoo.models.weights import write_weights
from cachezoo.serving.requests import batch_of
from cachezoo.settings.page_cache import ManagerPolicy, SequenceFeatures
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace, TraceMeta
from cachezoo.zoo.workload import fit, judge
from cachezoo.zoo.workload.settings import Fit, Judge, Model
from cachezoo.zoo.workload.windows import Prepared
from tests.trained_data import MadeLstm

FEATURES = SequenceFeatures(memory_accesses=5000, window_accesses=500, region_bytes=1 << 20, region_bits=8, clip=6.0)
MANAGER = ManagerPolicy(
    capacity=0.1,
    demote_capacities=5,
    protected_percent=20,
    fill_free=True,
    on_hit=["stay", "requeue"],
    queues=["three", "single"],
    vote_windows=3,
    switch_votes=2,
    vote_every_s=0,
)
CLASSES = ["pairs", "turns"]
FIT = fit.Settings(
    clip=6.0,
    model=Model(arch="lstm8", layers=1, units=8, inputs=list(WINDOW_FORMULAS), window=12),
    fit=Fit(
        max_epochs=4, batch=16, learning_rate=0.02, clip_norm=1.0, precision="32-true", threads=1, machines=1, stride=5,
        least_windows=20, unknown_share=0.05,
    ),
    vote_windows=3,
    categories=CLASSES,
    roles={},
    seed=7,
)  # fmt: skip
JUDGE = judge.Settings(manager=MANAGER, judge=Judge(least_gain=0.0), arch="lstm8", categories=CLASSES, roles={})


def make_stream(n: int, seed: int, category: str) -> Trace:
    """Requests of two programs that differ in the order of reads and writes, and in no statistic of a window.

    `pairs` reads twice and writes twice, `turns` takes turns; everything else is drawn alike.
    """
    rng = np.random.default_rng(seed)
    step = np.arange(n) + int(rng.integers(0, 4))
    op = (step // 2 if category == "pairs" else step) % 2
    return Trace(
        time_us=np.cumsum(rng.integers(1, 3000, n)),
        op=op.astype(np.uint8),
        offset=rng.integers(0, 2000, n) * 4096,
        size=rng.integers(1, 5, n) * 4096,
        volume=Coded.constant("vda", n),
        meta=TraceMeta(f"{category}_{seed}", category, "test", f"{seed:064d}", "CC0"),
    )


def part(trace: Trace, key: str | None = None) -> Prepared:
    """A trace as the classifier's fit and judge take it."""
    return Prepared(key or trace.meta.trace_id, trace.meta.category, trace)


def parts(n: int, first_seed: int) -> list[Prepared]:
    """A stream of each of `CLASSES`."""
    return [part(make_stream(n, first_seed + k, name)) for k, name in enumerate(CLASSES)]


def fit_and_judge(
    classes: list[str], train: list[Prepared], validation: list[Prepared], fitting: fit.Settings = FIT,
    judging: judge.Settings = JUDGE,
) -> MadeLstm:  # fmt: skip
    """A classifier of the parts, judged as the stages judge it."""
    fitted, weights, curves = fit.fit_prepared(classes, train, validation, fitting, {})
    verdict = judge.judge(fitted, weights, train, validation, judging)
    return MadeLstm(fitted, weights, curves, TrainedModel.of(fitted, verdict, {}), weights)


def random_weights(sides: dict[str, tuple[int, ...]], seed: int, scale: float) -> dict[str, Any]:
    """Seeded float32 tensors by name."""
    rng = np.random.default_rng(seed)
    return {name: (scale * rng.standard_normal(shape)).astype(np.float32) for name, shape in sides.items()}


def lstm_sides(inputs: int, layers: int, units: int, heads: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Shapes of an LSTM's tensors, named as torch does."""
    sides: dict[str, tuple[int, ...]] = {}
    for layer in range(layers):
        sides[f"lstm.weight_ih_l{layer}"] = (4 * units, units if layer else inputs)
        sides[f"lstm.weight_hh_l{layer}"] = (4 * units, units)
        sides[f"lstm.bias_ih_l{layer}"] = sides[f"lstm.bias_hh_l{layer}"] = (4 * units,)
    for head, outputs in heads.items():
        sides |= {f"{head}.weight": (outputs, units), f"{head}.bias": (outputs,)}
    return sides


def write_caching(
    trace: Trace, folder: Path, layers: int = 1, units: int = 8, state: str = "carried", sequence: int = 100,
    fed_back: bool = False, on_hit: str = "stay", queues: str = "three",
) -> TrainedModel:  # fmt: skip
    """A caching model of random weights that uses every queue, as its training would leave it behind."""
    pages = expand_pages(trace)
    memory = Memory.of(FEATURES.model_dump())
    columns = raw_columns(batch_of(trace), pages, [pages.n_pages // 10], memory)
    features = [Feature(**row) for row in fit_features([columns], OPEN_FORMULAS, fed_back)]
    model = TrainedModel(
        model_id=f"caching.database.lstm{layers}x{units}",
        kind="caching",
        category="database",
        arch={"layers": layers, "units": units, "precision": "32-true", "threads": 1},
        features=features,
        geometry={"page_bytes": 4096},
        calibration={
            "threshold": 0.5,
            "teacher": "benefit_3",
            "capacity": 0.1,
            "capacities": [0.1],
            "oracle_beats_classic": True,
            "calibrated_on": "validation",
        },
        policy={
            "type": "three_queue_manager",
            "state": state,
            "sequence": sequence,
            "memory": FEATURES.model_dump(),
            "demote_capacities": 5,
            "protected_percent": 20,
            "fill_free": True,
            "on_hit": on_hit,
            "queues": queues,
        },
        traces=[TraceUse(trace=trace.meta.trace_id, role="train", sha256="0" * 64, licence="CC0")],
        inputs={"data/requests/database/t.parquet": "1" * 64},
        seeds={"train_caching": 5},
        trained=True,
        validation={"hit_ratio": 0.5, "best_classic_hit_ratio": 0.4},
        beats_baseline=True,
        reason="page hit ratio 0.5000 against lru's 0.4000 on validation",
    )
    weights = random_weights(lstm_sides(len(features), layers, units, {"cached": 1, "duration": 3}), 3, 0.6)
    weights["duration.weight"] *= 4
    weights["duration.bias"][:] = 0
    weights["cached.bias"][:] = 0.05
    folder.mkdir(parents=True)
    write_weights(weights, folder / "weights.safetensors")
    model.write(folder)
    (folder / "curves.csv").write_text("epoch,train_loss,validation_loss\n1,0.5,0.6\n2,0.4,0.55\n")
    return model

"""Page traces with a hot set, a loop and a scan, and a tiny model of the system reuse on them."""

from pathlib import Path

import numpy as np
import yaml

from cachezoo.coded import Coded
from cachezoo.models.forest import write_forests, write_judged_forests
from cachezoo.models.trained import TrainedModel
from cachezoo.settings.page_cache import ClassicsPolicy
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace, TraceMeta
from cachezoo.zoo.reuse import fit, judge
from cachezoo.zoo.reuse.fit import forest_file
from cachezoo.zoo.reuse.model import MODEL_FILE
from cachezoo.zoo.reuse.prepared import Prepared
from cachezoo.zoo.reuse.settings import Fit, Judge, Model

CONF = Path(__file__).parents[1] / "conf"


def section(name: str, **changes: object) -> dict[str, object]:
    """A file of conf/, with some values changed."""
    return {**yaml.safe_load((CONF / name).read_text()), **changes}


MODEL = Model.model_validate(
    section("model/reuse/follow.yaml", max_trees=8, num_leaves=7, experts=["lru", "lfu"], min_data_in_leaf=20)
)
FIT = fit.Settings(
    MODEL, Fit.model_validate(section("fit/reuse.yaml", seeds=2, rows=800, corpus_rows=400, capacities=[0.1])),
    ["alpha"], {}, {}, 1,
)  # fmt: skip
CLASSICS = ClassicsPolicy.model_validate({"values": {}, "admissions": [], "evictions": []})
JUDGE = judge.Settings(
    Judge.model_validate(section("judge/reuse.yaml", weights=[100.0, 1000.0])),
    CLASSICS, MODEL.arch, ["alpha"], {},
)  # fmt: skip


def make_trace(requests: int, seed: int) -> Trace:
    """Half of the requests are Zipf over 200 pages, a quarter loops over 300, a quarter scans; by three processes."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, requests, p=[0.5, 0.25, 0.25])
    place = np.zeros(requests, np.int64)
    place[kind == 0] = rng.zipf(1.2, int((kind == 0).sum())) % 200
    place[kind == 1] = 1000 + np.arange((kind == 1).sum()) % 300
    place[kind == 2] = 5000 + 2 * np.arange((kind == 2).sum())
    return Trace(
        meta=TraceMeta(f"trace{seed}", "alpha", "csv", f"{seed:064x}", "CC0-1.0"),
        time_us=np.arange(requests, dtype=np.int64) * 100,
        op=(rng.random(requests) < 0.3).astype(np.uint8),
        volume=Coded.constant("disk", requests),
        offset=place * 4096,
        size=np.where(kind == 2, 8192, 4096).astype(np.int64),
        user=Coded(kind.astype(np.int32), ("hot", "loop", "scan")),
        flags=Coded((kind == 2).astype(np.int32), ("R", "RA")),
    )


def part(requests: int, seed: int) -> Prepared:
    """A trace as the system reads it."""
    trace = make_trace(requests, seed)
    return Prepared(f"trace{seed}", Path(f"data/requests/alpha/trace{seed}.parquet"), trace, expand_pages(trace))


def write_model(folder: Path, settings: fit.Settings = FIT) -> TrainedModel:
    """Fit and judge in a folder: `fitted` and `model`."""
    fitted, forests = fit.fit_prepared([part(6000, 1), part(6000, 2)], settings, {})
    write_forests(folder / "fitted", fitted, forests)
    verdict = judge.judge(fitted, judge.scorers_of(folder / "fitted", fitted), [part(6000, 3)], JUDGE)
    trained = TrainedModel.of(fitted, verdict, {})
    chosen = forest_file(int(verdict.calibration["forest"]))
    write_judged_forests(folder / "model", folder / "fitted", trained, {MODEL_FILE: chosen})
    return trained

"""A made-up project's stage outputs, for the report: metrics, trained models, cards and tiny traces."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo import paths
from cachezoo.coded import Coded
from cachezoo.config.load import load_params
from cachezoo.io import write_json
from cachezoo.models.trained import TrainedModel
from cachezoo.questions.share.columns import share_metrics
from cachezoo.questions.tiers.columns import tiers_metrics
from cachezoo.settings.data import TraceEntry, roles_of
from cachezoo.settings.params import Params
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace, TraceMeta
from tests import buying_data, split_data
from tests.metrics_data import flash_metrics, page_metrics, page_model, page_trace, reuse_metrics, row, write

ROOT = Path(__file__).resolve().parents[1]
CARD = "# {name} 0.1.0\n\n<b>bold</b> & ![x](http://example.org/x.png)\n\n| a | b |\n|---|---|\n| 1 | `2` |\n"


def trained(model_id: str, beats: bool = True, reason: str = "it won", **more: Any) -> TrainedModel:
    """A train.json."""
    kind, *category, _ = model_id.split(".")
    values = {
        "model_id": model_id, "kind": kind, "category": category[0] if category else None, "arch": {"units": 8},
        "features": [], "geometry": {}, "traces": [], "inputs": {}, "seeds": {}, "trained": True,
        "validation": {"hit_ratio": 0.4}, "beats_baseline": beats, "reason": reason,
    }  # fmt: skip
    return TrainedModel(**{**values, **more})


def make_trace(key: str, n: int, seed: int) -> Trace:
    """A small trace of one program."""
    rng = np.random.default_rng(seed)
    return Trace(
        time_us=np.sort(rng.integers(0, 20_000_000, n)), op=(rng.random(n) < 0.3).astype(np.uint8),
        offset=rng.zipf(1.4, n).clip(1, 500) * 4096, size=rng.integers(1, 9, n) * 1024,
        volume=Coded(np.zeros(n, np.int32), ("vda",)),
        meta=TraceMeta(key, "web", "test", "0" * 64, "CC0", {"programs": json.dumps({"nginx": "1.22"})}),
    )  # fmt: skip


def params_of(entries: dict[str, TraceEntry]) -> Params:
    """This project's parameters over other traces."""
    params = load_params(ROOT / "params.yaml")
    categories = sorted({entry.category for entry in entries.values()})
    changes = {"traces": entries, "page_categories": categories, "roles": roles_of(entries)}
    data = params.data.model_copy(update=changes)
    return params.model_copy(update={"data": data})


def add_model(root: Path, model: TrainedModel, card: bool = True, refused: str = "") -> None:
    """A trained folder with curves, and its bundle's card or the reason why there is none."""
    folder, bundle = root / paths.trained(model.model_id), root / paths.bundle(model.model_id)
    folder.mkdir(parents=True)
    model.write(folder)
    (folder / "curves.csv").write_text("epoch,train_loss,validation_loss\n1,0.6,0.7\n2,0.4,0.5\n")
    if refused:
        write_json(bundle / "REFUSED.json", {"reason": refused})
    elif card:
        bundle.mkdir(parents=True)
        (bundle / "manifest.json").write_text("{}")
        (bundle / "card.md").write_text(CARD.format(name=model.model_id))


def add_traces(root: Path, entries: dict[str, TraceEntry], n: int = 600) -> None:
    """Ingested traces."""
    for seed, (key, entry) in enumerate(entries.items()):
        trace = make_trace(key, n, seed)
        write_trace(trace, root / paths.requests(entry.category, key), expand_pages(trace))


def entry(category: str, role: str, unseen: bool = False) -> TraceEntry:
    """A row of the matrix."""
    return TraceEntry(path="x", format="parquet", category=category, role=role, unseen=unseen)


CACHING, ADMISSION, REUSE = "caching.web.lstm8", "admission.web.lgbm", "reuse.follow"


def make_project(root: Path) -> Params:
    """A project with a promoted caching model that loses time, an unseen program, a flash cache and a refused model.

    Its cache for every workload is promoted and loses on programs that it was not trained on. An SSD is worth buying,
    and a cache worth splitting.
    """
    entries = {
        "web_test": entry("web", "test"), "web_other": entry("web", "test", unseen=True),
        "web_train": entry("web", "train"), "blob_test": entry("blob", "test"),
    }  # fmt: skip
    add_traces(root, entries)
    add_model(root, trained(CACHING, calibration={"threshold": 0.4, "thresholds": [
        {"threshold": 0.1 * k, "hit_ratio": 0.3 + 0.01 * k, "ssd_writes": 100 * k} for k in range(1, 5)]}))  # fmt: skip
    add_model(root, trained(ADMISSION))
    add_model(root, trained("admission.blob.lgbm", beats=False), refused="<script>alert(1)</script>")
    add_model(root, trained(REUSE))
    write(root / paths.overall_metrics("reuse"), reuse_metrics(REUSE))
    model = row(CACHING, "model", 0.36, 55.5, 1650.125, decision_us=230.0)
    other = row(CACHING, "model", 0.29, 66.5, 1700.5, decision_us=230.0)
    tests = {"web_test": page_trace("test", model), "web_other": page_trace("test", other)}
    judged = page_model({"web_test": model, "web_other": other})
    write(root / paths.metrics("web"), page_metrics(tests, models={CACHING: judged}))
    write(root / paths.flash_metrics("web"), flash_metrics(ADMISSION))
    write(root / tiers_metrics("web"), buying_data.metrics("web", ("web_test", "web_other")))
    write(root / share_metrics(), split_data.metrics())
    return params_of(entries)

"""A made-up project's stage outputs, for the report: metrics, trained models, cards and tiny traces."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.config.schema import Params, TraceEntry
from cachezoo.io import write_json
from cachezoo.models.trained import TrainedModel
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Coded, Trace, TraceMeta

ROOT = Path(__file__).resolve().parents[1]
BEST, OPTIMUM = 0.30, 0.50
CARD = "# {name} 0.1.0\n\n<b>bold</b> & ![x](http://example.org/x.png)\n\n| a | b |\n|---|---|\n| 1 | `2` |\n"


def row(policy: str, kind: str, hit_ratio: float, writes: float, response: float, **more: Any) -> dict[str, Any]:
    """A row of the page cache, as stage evaluate writes it."""
    closed = (hit_ratio - BEST) / (OPTIMUM - BEST)
    return {
        "policy": policy, "kind": kind, "hits": round(1e4 * hit_ratio), "hit_ratio": hit_ratio,
        "hit_ratio_interval": [hit_ratio - 0.0123, hit_ratio + 0.0123], "ssd_writes": 7,
        "ssd_writes_per_100_io": writes, "mean_response_us": response, "decision_us": 0.0, "gap_closed": closed,
        "gap_closed_interval": [closed - 0.05, closed + 0.05], "gap_points": 100 * (hit_ratio - BEST), **more,
    }  # fmt: skip


def page_trace(role: str, *models: dict[str, Any]) -> dict[str, Any]:
    """Rows of a trace whose best classic is lru, fifo being second."""
    rows = [
        row("belady_bypass", "bound", OPTIMUM, 44.5, 900.5),
        row("lru", "classic", BEST, 99.5, 1500.25),
        row("fifo", "classic", 0.28, 98.5, 1600.75),
        row("lrb", "online", 0.29, 97.5, 1550.5),
        *models,
    ]
    facts = {"capacity": 10, "warmup": 5, "best_classic": "lru", "optimum": "belady_bypass", "tags": {}}
    return {"role": role, "rows": sorted(rows, key=lambda one: -one["hits"]), **facts}


def page_metrics(traces: dict[str, Any], choice: str | None = "fifo", models: dict[str, Any] | None = None) -> dict:
    """metrics/<category>.json."""
    said = {"response_times": "analytic", "capacity_fraction": 0.1, "validation_choice": choice}
    return {**said, "traces": traces, "models": models or {}}


def flash_row(peak: float, mean: float, **more: Any) -> dict[str, Any]:
    """A row of the flash cache."""
    load = {"peak": peak, "mean": mean, "p95": mean, "median": mean}
    ends = {name: [0.9 * value, 1.1 * value] for name, value in load.items()}
    shares = {"io_hit_ratio": 0.11, "byte_hit_ratio": 0.07, "writes_of_accept_all": 0.25, "segment_writes": 5}
    return {"read_dt": load, "read_dt_interval": ends, **shares, **more}


def flash_metrics(model_id: str, saved: float = 0.05, peak_saved: float = 0.02, won: bool = True) -> dict[str, Any]:
    """metrics/flash/<category>.json: the model saves so much of RejectX's mean, and of its peak."""
    gap = {
        "mean_dt_saved": saved, "mean_dt_saved_interval": [saved - 0.01, saved + 0.01], "mean_gap_closed": 0.4,
        "peak_dt_saved": peak_saved, "peak_gap_closed": None, "no_more_writes": True,
    }  # fmt: skip
    rows = {
        "baleen": flash_row(3.21 - 3.21 * peak_saved, 1.23 - 1.23 * saved, prefetch="ml_range", prefetch_accuracy=0.61),
        "rejectx": flash_row(3.21, 1.23, prefetch="none", prefetch_accuracy=None),
        "opt": flash_row(2.5, 1.0),
    }
    alone = {"rows": {**rows, "baleen": flash_row(3.11, 1.2, prefetch="none")}, "gap": {**gap, "mean_dt_saved": 0.03}}
    trace = {"deployed": {"rows": rows, "gap": gap}, "admission_alone": alone, "accept_all": flash_row(4.5, 1.5)}
    modes = {"baleen": {"mode": "ml_range"}, "rejectx": {"mode": "all_on_partial"}}
    facts = {"modes": modes, "model_id": model_id, "trained": True, "beats_baseline": won, "reason": "as it was judged"}
    return {**facts, "transfer_note": None, "traces": {"web_test": trace}}


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
    data = params.data.model_copy(update={"traces": entries, "page_categories": categories})
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


CACHING, ADMISSION = "caching.web.lstm8", "admission.web.lgbm"


def make_project(root: Path) -> Params:
    """A project with a promoted caching model that loses time, an unseen program, a flash cache and a refused model."""
    entries = {
        "web_test": entry("web", "test"), "web_other": entry("web", "test", unseen=True),
        "web_train": entry("web", "train"), "blob_test": entry("blob", "test"),
    }  # fmt: skip
    add_traces(root, entries)
    add_model(root, trained(CACHING, calibration={"threshold": 0.4, "thresholds": [
        {"threshold": 0.1 * k, "hit_ratio": 0.3 + 0.01 * k, "ssd_writes": 100 * k} for k in range(1, 5)]}))  # fmt: skip
    add_model(root, trained(ADMISSION))
    add_model(root, trained("admission.blob.lgbm", beats=False), refused="<script>alert(1)</script>")
    model = row(CACHING, "model", 0.36, 55.5, 1650.125, decision_us=230.0)
    other = row(CACHING, "model", 0.29, 66.5, 1700.5, decision_us=230.0)
    tests = {"web_test": page_trace("test", model), "web_other": page_trace("test", other)}
    write_json(root / paths.metrics("web"), page_metrics(tests, models={CACHING: {"promoted": True}}))
    write_json(root / paths.flash_metrics("web"), flash_metrics(ADMISSION))
    return params_of(entries)

"""What `cachezoo study --out` writes, made up."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def figure(values: Sequence[float]) -> dict[str, Any]:
    column = np.asarray(values, np.float64)
    sd = float(column.std(ddof=1))
    low, high = float(column.min()), float(column.max())
    return {
        "mean": float(column.mean()), "sd": sd, "median": float(np.median(column)), "low": low, "high": high,
        "each": list(values),
    }  # fmt: skip


def row(values: Mapping[str, str], each: Sequence[float], changed: bool = True, **more: Any) -> dict[str, Any]:
    """A setting and its figures; that of params.yaml is judged and tested too."""
    name = " ".join(f"{key}={value}" for key, value in values.items()) or "params.yaml"
    found = {
        "setting": name, "set": dict(values), "is_params_yaml": not changed, "trained": list(range(len(each))),
        "choosing": figure(each),
    }  # fmt: skip
    if not changed:
        found |= {"promoted": 1, "judging": figure(each), "test": {"web_test": figure([2 * one for one in each])}}
    return {**found, **more}


def made_study(rows: Sequence[Mapping[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """A study of the caching models of one category."""
    given = rows or [row({}, [0.1, 0.2, 0.3], changed=False), row({"fit.caching.batch": "8"}, [0.2, 0.3, 0.3])]
    found = {
        "system": "caching", "seed": 7, "seeds": 3, "choosing": "page hit ratio on the choosing blocks of validation",
        "lower_is_better": False, "judging": "page hit ratio on the judging blocks of validation",
        "judging_lower_is_better": False, "tests": "page hit ratio", "categories": {"web": list(given)},
        "made_from": {
            "params": {"fit.caching": {"batch": 16, "max_epochs": 6}}, "data": {"data/requests/web/a.parquet": "12"},
            "sources": {"src/cachezoo/one.py": "34"}, "libraries": {"torch": "2.13.0"},
        },
    }  # fmt: skip
    return {**found, **more}


def made_search() -> dict[str, Any]:
    """A search of six trials over two keys, one of which did not train."""
    rates, kinds = [0.002, 0.05, 0.0007, 0.01, 0.3, 0.004], ["a", "b", "b", "a", "a", "b"]
    means = [0.2, 0.22, 0.26, 0.24, None, 0.25]
    trials = [
        {
            "number": k, "setting": f"fit.caching.learning_rate={rate} fit.caching.kind={kind}",
            "set": {"fit.caching.learning_rate": str(rate), "fit.caching.kind": kind}, "mean": mean,
            "each": [None, None] if mean is None else [mean - 0.01, mean + 0.01],
        }
        for k, (rate, kind, mean) in enumerate(zip(rates, kinds, means, strict=True))
    ]  # fmt: skip
    chosen = trials[2]
    rows = [
        row({}, [0.2, 0.21, 0.22], changed=False),
        row(chosen["set"], [0.23, 0.24, 0.25], promoted=2, judging=figure([0.21, 0.22, 0.23])),
    ]
    kept = [{**trial, "each": [trial["mean"]] * 3} for trial in (chosen, trials[5], trials[3])]
    axes = [
        {"key": "fit.caching.learning_rate", "low": 1e-4, "high": 0.5, "log": True},
        {"key": "fit.caching.kind", "values": ["a", "b"]},
    ]
    apart = {"seeds": 3, "paired": True, "mean": 0.03, "low": 0.03, "high": 0.03, "apart": True}
    search = {
        "trials_asked": 6, "trial_seeds": 2, "axes": axes, "trials": trials, "kept": kept, "chosen": 2,
        "choosing_difference": apart, "judging_difference": {**apart, "mean": 0.01, "low": 0.01, "high": 0.01},
    }  # fmt: skip
    return {**made_study(rows, seed=10), "search": search}

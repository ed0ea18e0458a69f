"""What a run ends with: policies by test traces, the bundles, and what to do with them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo import paths
from cachezoo.bundles.protocol import MANIFEST
from cachezoo.config.load import load_params
from cachezoo.io import read_metrics

if TYPE_CHECKING:
    from rich.table import Table


def metrics_files(pattern: str) -> list[Path]:
    """Metrics of the matrix's categories and of the classifier; those of categories that are gone stay on the disk."""
    files = sorted(paths.METRICS.glob(pattern))
    if not paths.PARAMS.exists():
        return files
    known = {*load_params().categories, "workload"}
    return [file for file in files if file.stem in known]


def rows_of_tests(files: list[Path]) -> list[dict[str, Any]]:
    """Page-cache rows of every test trace in the evaluate stages' outputs, with the trace's name in each."""
    return [
        {"trace": key, "promoted": result["models"].get(row["policy"], {}).get("promoted"), **row}
        for result in map(read_metrics, files)
        for key, trace in result["traces"].items()
        if trace["role"] == "test"
        for row in trace["rows"]
        if "hit_ratio" in row
    ]


def flash_rows(files: list[Path]) -> list[dict[str, Any]]:
    """Rows of the flash caches in the evaluate_flash stages' outputs, with the trace's name in each.

    All policies but accept_all, which has no budget, write what the deployed model writes.
    """
    return [
        {"trace": key, "policy": policy, **row}
        for result in map(read_metrics, files)
        for key, trace in result["traces"].items()
        for policy, row in {**trace["deployed"]["rows"], "accept_all": trace["accept_all"]}.items()
    ]


def flash_table(rows: list[dict[str, Any]]) -> "Table":
    """Peak and mean read disk-head time of each policy (rows) on each test trace (columns)."""
    from rich.table import Table

    traces = list(dict.fromkeys(row["trace"] for row in rows))
    found = {(row["policy"], row["trace"]): row for row in rows}
    table = Table(
        title="flash cache: peak (mean) read disk-head time, disk-head seconds per second",
        caption="baleen: admission and prefetch as shipped; the others write no more, accept_all without a budget; "
        "prefetch modes as chosen on validation",
    )
    table.add_column("policy", no_wrap=True)
    for trace in traces:
        table.add_column(trace, justify="right")
    for policy in dict.fromkeys(row["policy"] for row in rows):
        table.add_row(policy, *(_load_cell(found.get((policy, trace))) for trace in traces))
    return table


def _load_cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    mode = "" if row["prefetch"] == "none" else f" {row['prefetch']}"
    return f"{row['read_dt']['peak']:.2f} ({row['read_dt']['mean']:.2f}){mode}"


def results_table(rows: list[dict[str, Any]]) -> "Table":
    """Page hit ratio of each policy (rows) on each test trace (columns), `gap_closed` beside the models'."""
    from rich.table import Table

    traces = list(dict.fromkeys(row["trace"] for row in rows))
    found = {(_name(row), row["trace"]): row for row in rows}
    ratios = {name: [row["hit_ratio"] for (own, _), row in found.items() if own == name] for name, _ in found}
    names = sorted(ratios, key=lambda name: (-sum(ratios[name]) / len(ratios[name]), name))
    table = Table(
        title="page hit ratio on the test traces",
        caption="models: share of the gap from the best classic to the optimum; "
        "* promoted: better than the best classic on validation",
    )
    table.add_column("policy", no_wrap=True)
    for trace in traces:
        table.add_column(trace, justify="right")
    for name in names:
        table.add_row(name, *(_cell(found.get((name, trace))) for trace in traces))
    return table


def _name(row: dict[str, Any]) -> str:
    """A policy in the table; the models of a kind, one for each category, share a row."""
    if row["kind"] == "classic":
        return str(row["policy"])
    parts = str(row["policy"]).split(".")
    return f"{parts[0]} {parts[-1]} (model)" if row["kind"] == "model" else f"{row['policy']} ({row['kind']})"


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    text = f"{row['hit_ratio']:.4f}"
    if row["kind"] != "model":
        return text
    closed = "gap below 0.02" if row["gap_closed"] is None else f"{100 * row['gap_closed']:+.0f} %"
    return f"{text} ({closed}){' *' if row['promoted'] and _caches(row) else ''}"


def _caches(row: dict[str, Any]) -> bool:
    """Whether the row's model was judged by page hits; an admission model was by disk-head time."""
    return str(row["policy"]).startswith("caching.")


def bundles_of(files: list[Path]) -> list[dict[str, Any]]:
    """Every evaluated model: its id, bundle (None where it got none), verdict and the verdict's reason."""
    found = {model_id: model for result in map(read_metrics, files) for model_id, model in _models_of(result).items()}
    return [
        {
            "model": model_id,
            "bundle": str(paths.bundle(model_id)) if (paths.bundle(model_id) / MANIFEST).exists() else None,
            "promoted": model["promoted"],
            "reason": model["reason"],
        }
        for model_id, model in found.items()
    ]


def _models_of(result: dict[str, Any]) -> dict[str, Any]:
    """Verdicts by model; a flash cache's outputs hold those of its admission and its prefetch."""
    if "models" in result:
        return dict(result["models"])
    own = [part for part in (result, result.get("prefetch")) if part is not None]
    return {
        part["model_id"]: {"promoted": part["trained"] and part["beats_baseline"], "reason": part["reason"]}
        for part in own
    }


def bundles_table(bundles: list[dict[str, Any]]) -> "Table":
    """One row a model."""
    from rich.table import Table

    table = Table(title="models")
    for column in ("bundle", "promoted", "why"):
        table.add_column(column, overflow="fold")
    for row in bundles:
        name = row["bundle"] or f"none of {row['model']}"
        table.add_row(name, "yes" if row["promoted"] else "no", row["reason"])
    return table


def next_steps(bundles: list[dict[str, Any]]) -> str:
    """Commands that a reader of the tables may want."""
    shown = sorted(bundles, key=lambda row: (row["bundle"] is None, not row["promoted"], "caching" not in row["model"]))
    steps = ["Next:"]
    if shown and (bundle := shown[0]["bundle"]):
        steps += [
            f"  .venv/bin/cachezoo bundle verify {bundle}    check a bundle; its card.md says what it is for",
            f"  .venv/bin/cachezoo compare TRACE --bundle {bundle}    try it on a trace of yours",
        ]
    steps += ["  .venv/bin/cachezoo report    which model to deploy, and is it worth it, on a page"]
    steps += ["  make ui    the same in MLflow", "  conf/matrix.yaml    add your traces, then make repro"]
    return "\n".join(steps)

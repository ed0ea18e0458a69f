"""The workload classifier on the report's page: may a cache that does not know its workload ask it?"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.plots import CONFUSION
from cachezoo.style import BLACK, panels, save
from cachezoo.systems.base import ReportSection
from cachezoo.systems.workload.metrics import ClassifierRow, Pooled, WindowRow, WorkloadMetrics
from cachezoo.view import (
    Cell,
    Column,
    Figure,
    Section,
    Table,
    name_cell,
    number,
    number_cell,
    percent,
    share_cell,
)

if TYPE_CHECKING:
    from cachezoo.report.gather import Sources

KIND = "workload"


def _metrics(sources: "Sources") -> WorkloadMetrics | None:
    """metrics/workload.json, where there is one."""
    found = sources.overall.get(KIND)
    return found if isinstance(found, WorkloadMetrics) else None


def _answer(sources: "Sources") -> str:
    """Whether a cache that does not know its workload can ask the classifier."""
    model = next((model for model in sources.models if model.trained.kind == KIND), None)
    if model is None:
        return "No workload classifier was trained: choose the workload's model yourself."
    metrics = _metrics(sources)
    entry = metrics.models.get(model.id) if metrics is not None else None
    pooled = entry.test if entry is not None and isinstance(entry.test, Pooled) else None
    if pooled is None or pooled.balanced_accuracy is None or pooled.tree_balanced_accuracy is None:
        return f"{model.id} has no figures on test traces: choose the workload's model yourself. {model.reason}."
    verdict = "may choose for you" if model.promoted else "is no better than its baseline: choose yourself"
    ours, theirs = percent(pooled.balanced_accuracy), percent(pooled.tree_balanced_accuracy)
    mixed = f"{metrics.mixed()} ".lstrip() if metrics is not None else ""
    return (
        f"If you do not know which workload runs, {model.id} {verdict}: it names {ours} of the windows of 100 requests "
        f"right on the test traces, each workload counted alike; a decision tree names {theirs}. {mixed}Of a program "
        "it does not know it says something all the same."
    )


def _section(sources: "Sources", figures: Mapping[str, Figure]) -> Section | None:
    metrics = _metrics(sources)
    if metrics is None:
        return None
    tables = workload_tables(metrics)
    missing = [] if tables else ["The classifier was not trained, so there is nothing to show."]
    drawn = [figures[CONFUSION]] if CONFUSION in figures else []
    return Section(KIND, "Which workload runs", missing, tables, drawn)


def workload_tables(workload: WorkloadMetrics) -> list[Table]:
    """The classifier beside its baseline, on single programs and on mixtures of two."""
    columns = [
        Column("test trace", numeric=False),
        Column("policy", numeric=False),
        Column("windows"),
        Column("accuracy", "of windows, 90 % interval"),
        Column("votes right"),
    ]
    rows = [
        [name_cell(key), *_row_cells(row), share_cell(row.vote_accuracy if isinstance(row, ClassifierRow) else None)]
        for key, trace in workload.traces.items()
        for row in trace.rows
    ]
    mixed = [
        [
            Cell(f"{percent(mixture.share, 0)} {mixture.major}, else {mixture.minor}"),
            *_row_cells(row),
            share_cell(mixture.majority_share),
        ]
        for mixture in workload.mixtures
        for row in mixture.rows
    ]
    mixed_columns = [Column("mixture", numeric=False), *columns[1:4], Column("majority", "share of the likelier one")]
    tables = [Table("Which workload runs: windows of single programs", columns, rows)] if rows else []
    return [*tables, Table("Windows of two programs at once", mixed_columns, mixed)] if mixed else tables


def _row_cells(row: WindowRow) -> list[Cell]:
    return [name_cell(row.policy), number_cell(row.windows), share_cell(row.accuracy, row.accuracy_interval)]


def _draw(sources: "Sources", folder: Path) -> list[Figure]:
    figure = confusion_figure(_metrics(sources), folder)
    return [] if figure is None else [figure]


def confusion_figure(workload: WorkloadMetrics | None, folder: Path) -> Figure | None:
    """What the workload classifier says of windows of each category, pooled over the test traces."""
    models = workload.models.items() if workload is not None else ()
    found = [(name, model.test.confusion) for name, model in models if isinstance(model.test, Pooled)]
    if workload is None or not found:
        return None
    (name, table), classes = found[0], workload.classes
    counts = np.array(table, dtype=np.float64)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    size = 1.3 + 0.55 * len(classes)
    canvas, axes = panels(1, 1, max(2.4, size))
    axis = axes[0][0]
    axis.set_anchor("W")
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        shade = "white" if shares[row, column] > 0.5 else BLACK
        axis.text(column, row, number(count), ha="center", va="center", color=shade, fontsize=8)
    ticks = range(len(classes))
    axis.set_xticks(ticks, classes, rotation=30, ha="right")
    axis.set_yticks(ticks, classes)
    axis.grid(visible=False)
    axis.set(xlabel="said", ylabel="true", title="windows")
    save(canvas, folder, CONFUSION)
    right = float(np.trace(counts) / max(counts.sum(), 1))
    alt = f"Confusion of {name}: {percent(right)} of {number(counts.sum())} windows on the diagonal."
    return Figure(CONFUSION, alt, f"{name}: windows by true and said workload, over all test traces.")


PART = ReportSection(_answer, _section, _draw)

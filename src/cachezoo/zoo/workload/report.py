"""The workload classifier on the report's page: may a cache that does not know its workload ask it?"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.show.formats import number, percent
from cachezoo.show.plots import CONFUSION
from cachezoo.show.section import Figure, Section
from cachezoo.show.style import BLACK, panels, save
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.zoo.base import ReportSection
from cachezoo.zoo.workload.metrics import ClassifierRow, Mixture, Moved, Pooled, WindowRow, WorkloadMetrics

if TYPE_CHECKING:
    from cachezoo.models.measured import Measured

KIND = "workload"
TITLE = "Which workload runs"


def _metrics(sources: "Measured") -> WorkloadMetrics | None:
    """metrics/workload.json, where there is one."""
    found = sources.overall.get(KIND)
    return found if isinstance(found, WorkloadMetrics) else None


def _answer(sources: "Measured") -> str:
    """Whether a cache that does not know its workload can ask the classifier."""
    model = next((model for model in sources.models if model.trained.kind == KIND), None)
    if model is None:
        return "No workload classifier was trained: choose the workload's model yourself."
    metrics = _metrics(sources)
    entry = metrics.models.get(model.id) if metrics is not None else None
    pooled = entry.test if entry is not None and isinstance(entry.test, Pooled) else None
    if pooled is None or pooled.balanced_accuracy is None or pooled.rival_balanced_accuracy is None:
        return f"{model.id} has no figures on test traces: choose the workload's model yourself. {model.reason}."
    verdict = "may choose for you" if model.promoted else "is no better than its baselines: choose yourself"
    ours, theirs = percent(pooled.balanced_accuracy), percent(pooled.rival_balanced_accuracy)
    mixed = f"{metrics.mixed()} ".lstrip() if metrics is not None else ""
    return (
        f"If you do not know which workload runs, {model.id} {verdict}: it names {ours} of the windows of 100 requests "
        f"right on the test traces, each workload counted alike; {pooled.judged_against}, the best of its baselines on "
        f"validation, names {theirs}. {mixed}{_strange(metrics)}"
    )


def _strange(metrics: WorkloadMetrics | None) -> str:
    """What it says of workloads that it was not trained on."""
    found = [case.unknown_votes for case in metrics.strange.values()] if metrics is not None else []
    shares = [share for share in found if share is not None]
    if not shares:
        return "What it says of a workload that it was not trained on was not tried."
    return (
        f"Of a workload that it was not trained on it says in {percent(sum(shares) / len(shares))} of its votes that "
        "it does not know it, on the mean of the traces of such workloads."
    )


def _section(sources: "Measured", figures: Mapping[str, Figure]) -> Section | None:
    metrics = _metrics(sources)
    if metrics is None:
        return None
    tables = workload_tables(metrics)
    missing = [] if tables else ["The classifier was not trained, so there is nothing to show."]
    drawn = [figures[CONFUSION]] if CONFUSION in figures else []
    return Section(KIND, TITLE, missing, tables, drawn)


def workload_tables(workload: WorkloadMetrics) -> list[Table]:
    """The classifier beside its baselines: single programs, moved ones, strange ones, and two at once."""
    tables = [_single(workload), _moved(workload.moved), _strangers(workload), _mixed(workload)]
    return [table for table in tables if table.rows]


def _single(workload: WorkloadMetrics) -> Table:
    columns = [
        Column("test trace", numeric=False),
        Column("policy", numeric=False),
        Column("windows"),
        Column("accuracy", "of windows, 90 % interval"),
        Column("unknown", "windows"),
        Column("votes right"),
        Column("votes unknown"),
    ]
    rows = [
        [
            name_cell(key, note="unseen program" if trace.unseen else ""),
            name_cell(row.policy),
            number_cell(row.windows),
            share_cell(row.accuracy, row.accuracy_interval),
            *_vote_cells(row),
        ]
        for key, trace in workload.traces.items()
        for row in trace.rows
    ]
    return Table("Which workload runs: windows of single programs", columns, rows)


def _vote_cells(row: WindowRow) -> list[Cell]:
    own = row if isinstance(row, ClassifierRow) else None
    values = (None, None, None) if own is None else (own.unknown, own.vote_accuracy, own.unknown_votes)
    return [share_cell(value) for value in values]


def _moved(moved: list[Moved]) -> Table:
    columns = [
        Column("test trace", numeric=False),
        Column("moved", numeric=False),
        Column("windows"),
        Column("accuracy", "of windows, 90 % interval"),
        Column("same answer", "windows"),
        Column("same digits", "windows, to the last bit"),
    ]
    rows = [
        [
            name_cell(case.trace),
            Cell(case.move),
            number_cell(case.windows),
            share_cell(case.accuracy, case.accuracy_interval),
            share_cell(case.same),
            share_cell(case.equal),
        ]
        for case in moved
    ]
    return Table("The same programs elsewhere on the disk, and on other clocks", columns, rows)


def _strangers(workload: WorkloadMetrics) -> Table:
    columns = [
        Column("trace", numeric=False),
        Column("windows"),
        Column("unknown", "windows, 90 % interval"),
        Column("votes"),
        Column("votes unknown"),
        *(Column(name, "windows named so") for name in workload.classes),
    ]
    rows = [
        [
            name_cell(key, note=case.category),
            number_cell(case.windows),
            share_cell(case.unknown, case.unknown_interval),
            number_cell(case.votes),
            share_cell(case.unknown_votes),
            *(number_cell(count) for count in case.named),
        ]
        for key, case in workload.strange.items()
    ]
    return Table("Workloads that it was not trained on: unknown is the right answer", columns, rows)


def _mixed(workload: WorkloadMetrics) -> Table:
    policies = list(dict.fromkeys(row.policy for mixture in workload.mixtures for row in mixture.rows))
    columns = [
        Column("mixture", numeric=False),
        Column("windows"),
        Column("constant", "always naming the larger program"),
        *(Column(policy, "accuracy, 90 % interval") for policy in policies),
        Column("unknown", "windows"),
        Column("votes unknown"),
    ]
    rows = [_mixture_cells(mixture, policies) for mixture in workload.mixtures]
    return Table("Windows of two programs at once: which issued most", columns, rows)


def _mixture_cells(mixture: Mixture, policies: list[str]) -> list[Cell]:
    rows = {row.policy: row for row in mixture.rows}
    return [
        Cell(f"{percent(mixture.share, 0)} {mixture.major}, else {mixture.minor}"),
        number_cell(mixture.windows),
        share_cell(mixture.majority_share),
        *(share_cell(rows[policy].accuracy, rows[policy].accuracy_interval) for policy in policies),
        share_cell(mixture.unknown),
        share_cell(mixture.unknown_votes),
    ]


def _draw(sources: "Measured", folder: Path) -> list[Figure]:
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


PART = ReportSection(KIND, TITLE, _answer, _section, _draw)

"""Figs. 9 and 16: telling workloads apart, and what is lost when another is added.

Source: RC-RNN, Sec. 3.2, 5.3 and 5.4. The paper's scenarios run two, three and four applications; ours are the mean
over every set of two categories, every set of three, and all. Beside them stand windows of two programs at once, which
the paper's scenarios do not have.
"""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Annotated

from cachezoo.documents import Document
from cachezoo.errors import CachezooError
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import REPRO
from cachezoo.show.table import Cell, Column, Table, number_cell, share_cell
from cachezoo.zoo.workload.metrics import Over, Pooled, WorkloadMetrics
from lab.claims.evaluate import judged
from lab.claims.finding import Figure
from lab.claims.plot import BAR_COLOURS, bars, headed, page
from lab.rcrnn.trained import MODEL, PAPER_MODEL, Added, methods_of

NAMES = {
    MODEL: "LSTM",
    PAPER_MODEL: PAPER_MODEL,
    "tree4": "decision tree",
    "twsd": "TWSD",
    "frequency": "Frequency",
    "iosize": "IOSize",
}
RELATIVE = "fig16"


class Accuracy(Document):
    """A method in one scenario."""

    scenario: Annotated[str, Means("what has to be told apart")]
    categories: Annotated[int | None, Means("how many, one program at a time; null of programs at once")]
    cases: Annotated[int, Means("sets of categories, or mixtures, that the mean is over")]
    method: Annotated[str, Means("LSTM, or the name of a baseline")]
    accuracy: Annotated[float, Means("windows named right, mean of the cases", "share")]
    relative: Annotated[float | None, Means("the same over that with the fewest categories; null at once", "ratio")]


class Classification(Figure):
    """The classifier beside the characterisations and a decision tree."""

    rows: Annotated[list[Accuracy], Each("one method in one scenario", "scenario and method")]

    def accuracy(self, method: str, categories: int) -> float | None:
        """Of a method that tells so many categories apart."""
        own = (row.accuracy for row in self.rows if (row.method, row.categories) == (method, categories))
        return next(own, None)


def _pooled(found: WorkloadMetrics, method: str) -> tuple[str, dict[str, float]]:
    """The classifier's id, and the balanced accuracies of it, as a method, and its baselines over all test traces.

    Raises:
        CachezooError: it is not trained, or there is no test trace.
    """
    for name, own in found.models.items():
        if isinstance(own.test, Pooled):
            rows: Mapping[str, Over] = {method: own.test} | {rival.policy: rival for rival in own.test.rivals}
            known = {method: row.balanced_accuracy for method, row in rows.items()}
            return name, {method: value for method, value in known.items() if value is not None}
    told = ", ".join(found.models)
    message = f"{told}: the classifier has no test figures; see its reason in train.json, then `{REPRO}`"
    raise CachezooError(message)


def _single(added: Added, pooled: Mapping[str, float], classes: int) -> list[Accuracy]:
    """Rows of windows of one program."""
    rows: list[Accuracy] = []
    for method in methods_of(added.rows):
        base = fmean(added.accuracies(method, added.sizes()[0]))
        means = {size: added.accuracies(method, size) for size in added.sizes()} | {classes: [pooled[method]]}
        rows += [
            Accuracy(scenario=f"{size} categories", categories=size, cases=len(each), method=method,
                     accuracy=fmean(each), relative=fmean(each) / base if base else None)
            for size, each in means.items()
        ]  # fmt: skip
    return sorted(rows, key=lambda row: row.categories or 0)


def _mixed(found: WorkloadMetrics, names: Mapping[str, str]) -> list[Accuracy]:
    """Rows of windows of two programs at once, by the larger one's share; `names` of some policies as methods."""
    rows = []
    for share in sorted({mixture.share for mixture in found.mixtures}):
        own = [row for mixture in found.mixtures if mixture.share == share for row in mixture.rows]
        for policy in dict.fromkeys(row.policy for row in own):
            each = [row.accuracy for row in own if row.policy == policy and row.accuracy is not None]
            if each:
                scenario = f"two at once, {100 * share:g} % of one"
                rows.append(
                    Accuracy(scenario=scenario, categories=None, cases=len(each), method=names.get(policy, policy),
                             accuracy=fmean(each), relative=None)
                )  # fmt: skip
    return rows


def classification(
    metrics: WorkloadMetrics, published: WorkloadMetrics, added: Added
) -> tuple[Classification, Classification]:
    """Figs. 9 and 16.

    Args:
        metrics: of the deployed classifier, which is of all categories.
        published: of the paper's.
        added: of those trained for fewer.

    Raises:
        CachezooError: one of the two has no test figures.
    """
    (name, pooled), (paper_name, paper_pooled) = _pooled(metrics, MODEL), _pooled(published, PAPER_MODEL)
    single = _single(added, paper_pooled | pooled, len(metrics.classes))
    mixed = _mixed(metrics, {name: MODEL})
    mixed += [row for row in _mixed(published, {paper_name: PAPER_MODEL}) if row.method == PAPER_MODEL]
    note = "Balanced accuracy on the test traces; one training of each set."
    at_once = " Two at once: windows whose larger program is named, mean of the mixtures."
    nine = Classification(id="fig9", source="Fig. 9",
                   title="Telling workloads apart: the LSTM beside the characterisations", note=note + at_once,
                   findings=[], rows=[*single, *mixed])  # fmt: skip
    sixteen = Classification(id=RELATIVE, source="Fig. 16", title="Accuracy kept as applications are added",
                      note=note, findings=[], rows=single)  # fmt: skip
    column = {"lstm": PAPER_MODEL}
    return judged(nine, "rcrnn", nine.id, column), judged(sixteen, "rcrnn", sixteen.id, column)


def table(found: Classification) -> Table:
    """For the terminal; a line a scenario, accuracy of each method, in Fig. 16 that over the fewest categories."""
    methods = list(dict.fromkeys(row.method for row in found.rows))
    rows = []
    for scenario in dict.fromkeys(row.scenario for row in found.rows):
        own = {row.method: row for row in found.rows if row.scenario == scenario}
        cells = [share_cell(_shown(found, own[method]) if method in own else None) for method in methods]
        rows.append([Cell(scenario), number_cell(max(row.cases for row in own.values())), *cells])
    heads = [Column("told apart", numeric=False), Column("cases"), *(Column(NAMES.get(one, one)) for one in methods)]
    return Table(found.title, heads, rows)


def _shown(found: Classification, row: Accuracy) -> float | None:
    return row.relative if found.id == RELATIVE else row.accuracy


def draw(found: Classification, path: Path) -> None:
    """Bars a scenario; in Fig. 16 lines over the number of categories."""
    methods = list(dict.fromkeys(row.method for row in found.rows))
    colours = {NAMES.get(method, method): BAR_COLOURS[k] for k, method in enumerate(methods)}
    scenarios = list(dict.fromkeys(row.scenario for row in found.rows))
    with page(found, path, 1, 1, 2.7) as (canvas, axes):
        panel, series = axes[0][0], {}
        for method in methods:
            own = {row.scenario: _shown(found, row) for row in found.rows if row.method == method}
            series[NAMES.get(method, method)] = [_percent(own.get(scenario)) for scenario in scenarios]
        if found.id == RELATIVE:
            for name, values in series.items():
                panel.plot(scenarios, values, "-o", color=colours[name], ms=5, label=name)
            panel.set(ylabel="accuracy kept, %")
        else:
            bars(panel, scenarios, series, colours)
            panel.set(ylabel="windows named right, %", ylim=(0, 103))
        headed(canvas, found, panel)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value

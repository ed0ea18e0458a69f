"""metrics/workload.json: the workload classifier and its baseline on the test traces and on mixtures of them."""

from pathlib import Path
from typing import Annotated, Literal

from cachezoo.documents import Document, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Judged, Role
from cachezoo.metrics.files import read
from cachezoo.view import percent

ACCURACY = "windows named rightly"
INTERVAL = "its 90 % interval; null with fewer windows than blocks"


class WindowRow(Document):
    """The classifier or its baseline on windows of requests."""

    policy: Annotated[str, Means("classifier or baseline")]
    kind: Annotated[Literal["model", "baseline"], Means("model or baseline")]
    windows: Annotated[int, Means("judged", "windows")]
    accuracy: Annotated[float | None, Means(ACCURACY, "ratio")]
    accuracy_interval: Annotated[Interval | None, Means(INTERVAL, "ratio")]


class ClassifierRow(WindowRow):
    """The classifier on a trace, and what the monitor's votes make of it."""

    votes: Annotated[int, Means("classifier: taken", "votes")]
    vote_accuracy: Annotated[float | None, Means("classifier: votes that are right", "ratio")]
    in_force_accuracy: Annotated[float | None, Means("classifier: windows served under the right category", "ratio")]
    switches: Annotated[int, Means("classifier: changes of the category in force")]


class WorkloadTrace(Document):
    """A test trace."""

    category: Annotated[str, Means("true category")]
    role: Annotated[Role, Means("test")]
    requests: Annotated[int, Means("in the trace", "requests")]
    rows: Annotated[list[ClassifierRow | WindowRow], Each("classifier or tree on a test trace", "trace and policy")]


class Mixture(Document):
    """Two categories' requests at once."""

    major: Annotated[str, Means("category that issues most")]
    minor: Annotated[str, Means("the other")]
    share: Annotated[float, Means("of the requests that the major is to issue", "share")]
    share_found: Annotated[float, Means("that it does issue", "share")]
    windows: Annotated[int, Means("judged", "windows")]
    ties: Annotated[int, Means("left out, both having issued as much", "windows")]
    enough_windows: Annotated[bool, Means("at least 100")]
    majority_share: Annotated[float | None, Means("windows that the major issued most of", "share")]
    rows: Annotated[list[WindowRow], Each("classifier or tree on a mixture", "major, minor, share and policy")]


class Pooled(Document):
    """The classifier over all test traces, the tree beside it."""

    windows: Annotated[int, Means("of all test traces", "windows")]
    accuracy: Annotated[float | None, Means(ACCURACY, "ratio")]
    balanced_accuracy: Annotated[float | None, Means("the same, all categories weighing the same", "ratio")]
    balanced_accuracy_interval: Annotated[Interval | None, Means(INTERVAL, "ratio")]
    confusion: Annotated[list[list[int]], Means("rows the true category, columns the said one", "windows")]
    tree_accuracy: Annotated[float | None, Means("the tree's accuracy", "ratio")]
    tree_balanced_accuracy: Annotated[float | None, Means("the tree's balanced accuracy", "ratio")]
    tree_balanced_accuracy_interval: Annotated[Interval | None, Means(INTERVAL, "ratio")]
    tree_confusion: Annotated[list[list[int]], Means("the tree's confusion", "windows")]
    difference_interval: Annotated[Interval | None, Means("balanced accuracy, model less tree: 90 % interval", "ratio")]
    votes: Annotated[int, Means("taken", "votes")]
    vote_accuracy: Annotated[float | None, Means("votes that are right", "ratio")]


class Nothing(Document):
    """In place of `Pooled` where the classifier never trained, or there is no test trace."""


class Classifier(Judged):
    """A classifier: its verdict, and its figures over all test traces."""

    paired_difference_interval: Annotated[
        Interval | None, Means("balanced accuracy on validation, model less tree: 90 % interval", "ratio")
    ]
    test: Annotated[Pooled | Nothing, Each("the classifier", "model")]


class WorkloadMetrics(Document):
    """The workload classifier and its baseline on the test traces and on mixtures of them."""

    classes: Annotated[list[str], Means("categories, in the order of the outputs")]
    traces: Annotated[dict[str, WorkloadTrace], Each("one test trace", "trace", "trace")]
    mixtures: Annotated[list[Mixture], Each("one mixture of two test traces", "major, minor and share")]
    models: Annotated[dict[str, Classifier], Each("the classifier", "model", "model")]

    def summary(self) -> str:
        """What the classifier names rightly: windows of single programs, and of two at once."""
        named = [
            f"{name} names {percent(own.test.balanced_accuracy)} of the windows of single programs right "
            f"(a decision tree {percent(own.test.tree_balanced_accuracy)})."
            for name, own in self.models.items()
            if isinstance(own.test, Pooled)
            and own.test.balanced_accuracy is not None
            and own.test.tree_balanced_accuracy is not None
        ]
        return " ".join([*named, self.mixed()] if named else [])

    def mixed(self) -> str:
        """How often the classifier names the larger of two programs at once, beside always naming the larger stream."""
        found = [
            (row.accuracy, mixture.majority_share)
            for mixture in self.mixtures
            for row in mixture.rows
            if row.kind == "model" and row.accuracy is not None and mixture.majority_share is not None
        ]
        if not found:
            return ""
        mean, constant = (sum(column) / len(found) for column in zip(*found, strict=True))
        better = sum(own > share for own, share in found)
        return (
            f"Of windows of two programs at once it names the larger one in {percent(mean)}, on the mean of "
            f"{len(found)} mixtures; always naming the program that is larger over the whole would be right in "
            f"{percent(constant)}, and it does better than that in {better} of {len(found)}."
        )


def read_metrics(path: Path) -> WorkloadMetrics:
    """metrics/workload.json, see `cachezoo.metrics.files.read`."""
    return read(path, WorkloadMetrics)

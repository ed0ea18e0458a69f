"""metrics/workload.json: the workload classifier and its baselines on test traces, moved, mixed and strange ones."""

from pathlib import Path
from typing import Annotated, Literal

from cachezoo.documents import Document, Figures, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.base import Judged, Role
from cachezoo.metrics.files import read
from cachezoo.show.formats import percent

ACCURACY = "windows named rightly, sure or not"
INTERVAL = "its 90 % interval; null with fewer windows than blocks"
UNKNOWN_WINDOWS = "classifier: windows that it says it does not know"
UNKNOWN_VOTES = "classifier: votes for unknown"


class WindowRow(Document):
    """The classifier or a baseline on windows of requests."""

    policy: Annotated[str, Means("classifier or baseline")]
    kind: Annotated[Literal["model", "baseline"], Means("model or baseline")]
    windows: Annotated[int, Means("judged", "windows")]
    accuracy: Annotated[float | None, Means(ACCURACY, "ratio")]
    accuracy_interval: Annotated[Interval | None, Means(INTERVAL, "ratio")]


class ClassifierRow(WindowRow):
    """The classifier on a trace, and what the monitor's votes make of it."""

    unknown: Annotated[float | None, Means(UNKNOWN_WINDOWS, "share")]
    votes: Annotated[int, Means("classifier: taken", "votes")]
    vote_accuracy: Annotated[float | None, Means("classifier: votes that are right; one for unknown is not", "ratio")]
    unknown_votes: Annotated[float | None, Means(UNKNOWN_VOTES, "share")]
    in_force_accuracy: Annotated[
        float | None, Means("classifier: windows served under the right category; unknown is none", "ratio")
    ]
    switches: Annotated[int, Means("classifier: changes of the category in force")]


class WorkloadTrace(Document):
    """A test trace."""

    category: Annotated[str, Means("true category")]
    role: Annotated[Role, Means("test")]
    unseen: Annotated[bool, Means("of a program that no train trace is of")]
    requests: Annotated[int, Means("in the trace", "requests")]
    rows: Annotated[list[ClassifierRow | WindowRow], Each("classifier or baseline on a test trace", "trace and policy")]


class Moved(Document):
    """A test trace somewhere else on the disk, or at another pace."""

    move: Annotated[str, Means("what was done to the trace")]
    trace: Annotated[str, Means("trace")]
    windows: Annotated[int, Means("judged", "windows")]
    accuracy: Annotated[float | None, Means(f"the classifier's: {ACCURACY}", "ratio")]
    accuracy_interval: Annotated[Interval | None, Means(INTERVAL, "ratio")]
    same: Annotated[float | None, Means("windows of which it says the same, unknown or not", "share")]
    equal: Annotated[float | None, Means("windows whose probabilities stay the same, bit for bit", "share")]


class Strange(Document):
    """A trace of a category that the classifier was not trained on."""

    category: Annotated[str, Means("true category, none of the classes")]
    role: Annotated[Role, Means("of the trace, for other models")]
    requests: Annotated[int, Means("in the trace", "requests")]
    windows: Annotated[int, Means("judged", "windows")]
    unknown: Annotated[float | None, Means(UNKNOWN_WINDOWS, "share")]
    unknown_interval: Annotated[Interval | None, Means(INTERVAL, "share")]
    votes: Annotated[int, Means("classifier: taken", "votes")]
    unknown_votes: Annotated[float | None, Means(UNKNOWN_VOTES, "share")]
    named: Annotated[list[int], Means("the other windows, by the class that they are named", "windows")]


class Mixture(Document):
    """Two categories' requests at once."""

    major: Annotated[str, Means("category that issues most")]
    minor: Annotated[str, Means("the other")]
    share: Annotated[float, Means("of the requests that the major is to issue", "share")]
    share_found: Annotated[float, Means("that it does issue", "share")]
    windows: Annotated[int, Means("judged", "windows")]
    ties: Annotated[int, Means("left out, both having issued as much", "windows")]
    enough_windows: Annotated[bool, Means("at least 100")]
    majority_share: Annotated[
        float | None, Means("windows that the major issued most of: the accuracy of always naming it", "share")
    ]
    unknown: Annotated[float | None, Means(UNKNOWN_WINDOWS, "share")]
    unknown_votes: Annotated[float | None, Means(UNKNOWN_VOTES, "share")]
    rows: Annotated[list[WindowRow], Each("classifier or baseline on a mixture", "major, minor, share and policy")]


class Over(Document):
    """The classifier or a baseline over all test traces."""

    accuracy: Annotated[float | None, Means(ACCURACY, "ratio")]
    balanced_accuracy: Annotated[float | None, Means("the same, all categories weighing the same", "ratio")]
    balanced_accuracy_interval: Annotated[Interval | None, Means(INTERVAL, "ratio")]
    confusion: Annotated[list[list[int]], Means("rows the true category, columns the said one", "windows")]


class Rival(Over):
    """A baseline over all test traces."""

    policy: Annotated[str, Means("baseline")]
    difference_interval: Annotated[
        Interval | None, Means("balanced accuracy, model less baseline: 90 % interval", "ratio")
    ]


class Pooled(Over):
    """The classifier over all test traces, its baselines beside it."""

    windows: Annotated[int, Means("of all test traces", "windows")]
    unknown: Annotated[float | None, Means(UNKNOWN_WINDOWS, "share")]
    votes: Annotated[int, Means("taken", "votes")]
    vote_accuracy: Annotated[float | None, Means("votes that are right; one for unknown is not", "ratio")]
    unknown_votes: Annotated[float | None, Means(UNKNOWN_VOTES, "share")]
    judged_against: Annotated[str, Means("the baseline that is best on validation")]
    rival_balanced_accuracy: Annotated[float | None, Means("that baseline's balanced accuracy", "ratio")]
    difference_interval: Annotated[
        Interval | None, Means("balanced accuracy, model less that baseline: 90 % interval", "ratio")
    ]
    rivals: Annotated[list[Rival], Each("a baseline over all test traces", "policy")]


class Nothing(Document):
    """In place of `Pooled` where the classifier never trained, or there is no test trace."""


class Classifier(Judged):
    """A classifier: its verdict, and its figures over all test traces."""

    paired_difference_interval: Annotated[
        Interval | None, Means("balanced accuracy on validation, model less its best baseline: 90 % interval", "ratio")
    ]
    test: Annotated[Pooled | Nothing, Each("the classifier", "model")]


class WorkloadMetrics(Document):
    """The workload classifier and its baselines on test traces, moved ones, mixtures of them, and strange ones."""

    classes: Annotated[list[str], Means("categories, in the order of the outputs")]
    traces: Annotated[dict[str, WorkloadTrace], Each("one test trace", "trace", "trace")]
    moved: Annotated[list[Moved], Each("one test trace, moved", "move and trace")]
    strange: Annotated[
        dict[str, Strange], Each("one trace of a strange category", "trace", "trace", presence="sometimes")
    ]
    mixtures: Annotated[list[Mixture], Each("one mixture of two test traces", "major, minor and share")]
    models: Annotated[dict[str, Classifier], Each("the classifier", "model", "model")]

    def headline(self, model: str) -> Figures:
        """The classifier's balanced accuracy over the test traces."""
        own = self.models[model].test
        return {"balanced_accuracy": own.balanced_accuracy} if isinstance(own, Pooled) else {}

    def summary(self) -> str:
        """What the classifier names rightly: windows of single programs, and of two at once."""
        named = [
            f"{name} names {percent(own.test.balanced_accuracy)} of the windows of single programs right "
            f"({own.test.judged_against}, the best of its baselines on validation, "
            f"{percent(own.test.rival_balanced_accuracy)})."
            for name, own in self.models.items()
            if isinstance(own.test, Pooled)
            and own.test.balanced_accuracy is not None
            and own.test.rival_balanced_accuracy is not None
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

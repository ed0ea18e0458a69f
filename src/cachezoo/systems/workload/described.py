"""What the documents and files of the workload classifier hold."""

from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.models.curves import CURVES_FILE
from cachezoo.models.weights import WEIGHTS_FILE
from cachezoo.plots import CONFUSION
from cachezoo.systems.base import Described
from cachezoo.systems.workload.metrics import ACCURACY
from cachezoo.training.fitted import CURVES

FIGURE = "number or null"
DESCRIBED = Described(
    geometry={"page_bytes": Column("integer", Means("page", "bytes"))},
    learned={
        "classes": Column("list of text", Means("categories, in the order of the outputs")),
        "window": Column("integer", Means("requests that one answer is about", "requests")),
        "clip": Column("number", Means("normalised inputs are cut to ± this")),
        "stride": Column("integer", Means("between the beginnings of train windows", "requests")),
    },
    fitted={
        "train_windows": Column(FIGURE, Means("windows trained on", "windows")),
        "loss": Column(FIGURE, Means("loss of the epoch kept", "nats"), "sometimes"),
    },
    calibration={
        "judged_against": Column("text", Means("name of the baseline")),
        "baseline.**": Column("any", Means("the decision tree that it was judged against, an entry a node")),
    },
    validation={
        "accuracy": Column(FIGURE, Means(ACCURACY, "ratio"), "sometimes"),
        "balanced_accuracy": Column(FIGURE, Means("the same, all categories weighing the same", "ratio"), "sometimes"),
        "tree_accuracy": Column(FIGURE, Means("the decision tree's accuracy", "ratio"), "sometimes"),
        "tree_balanced_accuracy": Column(FIGURE, Means("the decision tree's balanced accuracy", "ratio"), "sometimes"),
        "difference_low": Column(
            FIGURE,
            Means("balanced accuracy, model less tree: lower end of the 90 % interval", "ratio"),
            "sometimes",
        ),
        "difference_high": Column(FIGURE, Means("its upper end", "ratio"), "sometimes"),
        "windows": Column(FIGURE, Means("windows judged on", "windows"), "sometimes"),
    },
    files={
        CURVES_FILE: CURVES,
        WEIGHTS_FILE: Table(Each("one tensor", "name", text="the network's weights, float32")),
    },
    plots={
        CONFUSION: Table(
            Each("the classifier", "the file", text="windows by true and said category", presence="sometimes")
        )
    },
)

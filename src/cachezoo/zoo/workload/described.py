"""What the documents and files of the workload classifier hold."""

from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.models.curves import CURVES_FILE
from cachezoo.models.weights import WEIGHTS_FILE
from cachezoo.show.plots import CONFUSION
from cachezoo.training.fitted import CURVES
from cachezoo.zoo.base import Described
from cachezoo.zoo.workload.baselines import BASELINES
from cachezoo.zoo.workload.metrics import ACCURACY

FIGURE = "number or null"
DESCRIBED = Described(
    geometry={"page_bytes": Column("integer", Means("page", "bytes"))},
    learned={
        "classes": Column("list of text", Means("categories, in the order of the outputs")),
        "window": Column("integer", Means("requests that one answer is about", "requests")),
        "clip": Column("number", Means("normalised inputs are cut to ± this")),
        "stride": Column("integer", Means("between the beginnings of train windows", "requests")),
        "unknown_above.window": Column("number", Means("stranger windows are unknown"), "sometimes"),
        "unknown_above.vote": Column("number", Means("stranger votes are unknown"), "sometimes"),
        "known[].**": Column("any", Means("moments of a train trace's windows, to tell strange ones"), "sometimes"),
    },
    fitted={
        "train_windows": Column(FIGURE, Means("windows trained on", "windows")),
        "loss": Column(FIGURE, Means("loss of the epoch kept", "nats"), "sometimes"),
        **{
            f"without_<category>_{kind}_{figure}": Column(FIGURE, Means(f"learned without it: {text}"), "sometimes")
            for kind in ("window", "vote")
            for figure, text in (
                ("auroc", f"chance that a {kind} of it is stranger than a known one"),
                ("unknown", f"share of its {kind}s that are unknown"),
            )
        },
    },
    calibration={
        "judged_against": Column("text", Means("name of the best baseline on validation")),
        "known[].**": Column("any", Means("as learned.known of fit.json"), "sometimes"),
        "baselines[].**": Column("any", Means("what it was judged against: a decision tree, and heads on shares")),
    },
    validation={
        "accuracy": Column(FIGURE, Means(ACCURACY, "ratio"), "sometimes"),
        "balanced_accuracy": Column(FIGURE, Means("the same, all categories weighing the same", "ratio"), "sometimes"),
        **{
            f"{name}_balanced_accuracy": Column(FIGURE, Means(f"{name}'s balanced accuracy", "ratio"), "sometimes")
            for name in BASELINES
        },
        "difference_low": Column(
            FIGURE,
            Means("balanced accuracy, model less its best baseline: lower end of the 90 % interval", "ratio"),
            "sometimes",
        ),
        "difference_high": Column(FIGURE, Means("its upper end", "ratio"), "sometimes"),
        "windows": Column(FIGURE, Means("windows judged on", "windows"), "sometimes"),
        "unknown_windows": Column(FIGURE, Means("known windows that are called unknown", "share"), "sometimes"),
        "unknown_votes": Column(FIGURE, Means("known votes that are called unknown", "share"), "sometimes"),
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

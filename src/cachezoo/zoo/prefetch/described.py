"""What the documents and files of prefetch models hold."""

from cachezoo.meanings import Column, Columns, Each, Means, Rows, Table
from cachezoo.models.curves import CURVES_FILE
from cachezoo.models.forest import FOREST_CURVES
from cachezoo.models.inputs import INPUTS, INPUTS_FILE
from cachezoo.zoo.admission.described import BLOCKS, BUDGET, LEARNED, LOAD, OF_ACCEPT_ALL
from cachezoo.zoo.base import Described
from cachezoo.zoo.prefetch.model import MODEL_FILES

FORESTS = (
    "forest: segments to fetch before the request",
    "forest: segments to fetch after it",
    "forest: whether that is worth it",
)
RANGES: Columns = {
    "episodes": Column("number or null", Means("admitted by OPT, learned from", "episodes"), "sometimes"),
    "range_contained": Column(
        "number or null",
        Means("accesses whose predicted range contains OPT-Range, out of fold", "share"),
        "sometimes",
    ),
    "range_exact": Column("number or null", Means("accesses whose predicted range is OPT-Range", "share"), "sometimes"),
    "range_of_access_alone_exact": Column(
        "number or null", Means("accesses that are themselves the OPT-Range", "share"), "sometimes"
    ),
    "range_error_segments": Column("number or null", Means("mean distance of both ends", "segments"), "sometimes"),
    "benefit_positive": Column(
        "number or null", Means("accesses where fetching OPT-Range saves time", "share"), "sometimes"
    ),
    "worth": Column(
        "number or null",
        Means("accesses where fetching the predicted range saves more than fit.prefetch.epsilon_s", "share"),
        "sometimes",
    ),
}
DESCRIBED = Described(
    geometry=BLOCKS,
    learned={**LEARNED, "admission": Column("text", Means("the admission model that it goes with"))},
    fitted=RANGES,
    calibration={
        "threshold": Column(
            "number", Means("a miss is admitted from this output of the admission model on", "log-odds")
        ),
        **BUDGET,
        "worth": Column("number", Means("ml_range_when fetches from this output on", "log-odds")),
        "modes": Rows(
            Each("one prefetch mode", "mode"),
            {
                "mode": Column("text", Means("none, all_on_miss, all_on_partial, next(n), ml_range or ml_range_when")),
                "threshold": Column("number", Means("admission threshold at which it meets the budget", "log-odds")),
                "writes": Column("number", Means("segments written", OF_ACCEPT_ALL)),
                "unreached": Column("bool", Means("no threshold makes that many writes")),
                "choosing_mean_dt": Column(
                    "number", Means("mean read load on the choosing windows of validation", LOAD)
                ),
                "mean_dt": Column("number", Means("mean read load on all windows", LOAD)),
                "peak_dt": Column("number", Means("its peak", LOAD)),
                "prefetched_writes": Column("number", Means("segments prefetched", OF_ACCEPT_ALL)),
                "prefetch_accuracy": Column(
                    "number or null", Means("of the segments prefetched, read before they left", "share")
                ),
            },
        ),
    },
    validation={
        "mean_dt": Column(
            "number or null",
            Means("mean read load of the best learned mode on the judging windows", LOAD),
            "sometimes",
        ),
        "peak_dt": Column("number or null", Means("its peak", LOAD), "sometimes"),
        "plain_mean_dt": Column("number or null", Means("best mode without a model, at the same writes: mean", LOAD)),
        "plain_peak_dt": Column("number or null", Means("the same: peak", LOAD), "sometimes"),
        "mean_dt_saved_low": Column(
            "number or null",
            Means("share of the mean saved against it: lower end of the 90 % interval", "share"),
            "sometimes",
        ),
        "mean_dt_saved_high": Column("number or null", Means("its upper end", "share"), "sometimes"),
        "plain_writes_over_ours": Column(
            "number or null", Means("writes of the plain mode over the learned one's", "ratio"), "sometimes"
        ),
        "rival_mean_dt": Column(
            "number or null",
            Means("the best policy without any model, at the same writes or its most: mean", LOAD),
            "sometimes",
        ),
        "rival_peak_dt": Column("number or null", Means("the same: peak", LOAD), "sometimes"),
        "rival_dt_saved_low": Column(
            "number or null",
            Means("share of the mean saved against it: lower end of the 90 % interval", "share"),
            "sometimes",
        ),
        "rival_dt_saved_high": Column("number or null", Means("its upper end", "share"), "sometimes"),
        "rival_writes_over_ours": Column(
            "number or null", Means("its writes over the learned one's", "ratio"), "sometimes"
        ),
    },
    files={
        CURVES_FILE: FOREST_CURVES,
        INPUTS_FILE: INPUTS,
        **{
            name: Table(Each("one tree", "number", text=text, presence="sometimes"))
            for name, text in zip(MODEL_FILES, FORESTS, strict=True)
        },
    },
)

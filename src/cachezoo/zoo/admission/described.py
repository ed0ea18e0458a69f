"""What the documents and files of admission models hold."""

from cachezoo.meanings import Column, Each, Keys, Means, Rows, Table
from cachezoo.models.curves import CURVES_FILE
from cachezoo.models.forest import CURVES
from cachezoo.models.inputs import INPUTS, INPUTS_FILE
from cachezoo.zoo.admission.model import MODEL_FILE
from cachezoo.zoo.base import Described

LOAD = "disk-head s/s"
OF_ACCEPT_ALL = "share of AcceptAll's writes"
THRESHOLD = Means("a miss is admitted from this output on", "log-odds")
BLOCKS = {
    "block_bytes": Column("integer", Means("block that an episode is of", "bytes")),
    "segment_bytes": Column("integer", Means("what is cached", "bytes")),
}
EVICTION_AGE = Column("integer", Means("median over the train traces", "requests"))
LEARNED = {
    "eviction_age": EVICTION_AGE,
    "history.bucket_requests": Column("integer", Means("length of a bucket that features count in", "requests")),
    "history.windows": Column("list of integer", Means("how far back features count", "buckets")),
}
FITTED = {
    "rows": Column("number or null", Means("train rows", "requests")),
    "positives": Column("number or null", Means("train rows that OPT admits", "share")),
    "open": Column("number or null", Means("train rows of episodes that may go on after the trace's end", "share")),
}
BUDGET: Keys = {
    "calibrated_on": Column("text", Means("validation or train")),
    "budget": Column("number", Means("write budget", OF_ACCEPT_ALL)),
    "writes": Column("number", Means("writes at the threshold", OF_ACCEPT_ALL)),
    "unreached": Column("bool", Means("no threshold makes that many writes")),
    "eviction_age": EVICTION_AGE,
    "capacity_segments": Column("list of integer", Means("cache of each calibrating trace", "segments")),
    "curve": Rows(
        Each("one threshold", "threshold"),
        {
            "threshold": Column("number", Means("threshold", "log-odds")),
            "writes": Column("number", Means("segments written", OF_ACCEPT_ALL)),
            "read_dt_ms": Column("number", Means("mean disk-head time of a read", "ms")),
        },
    ),
}
DESCRIBED = Described(
    geometry=BLOCKS,
    learned=LEARNED,
    fitted=FITTED,
    calibration={
        "threshold": Column("number", THRESHOLD),
        **BUDGET,
        "with_prefetch.mode": Column("text", Means("plain prefetch mode that validation chose")),
        "with_prefetch.threshold": Column(
            "number",
            Means("a miss is admitted from this output on, in a cache that prefetches by that mode", "log-odds"),
        ),
        "with_prefetch.writes": Column("number", Means("writes at that threshold in that mode", OF_ACCEPT_ALL)),
        "with_prefetch.unreached": Column("bool", Means("no threshold makes that many writes in that mode")),
    },
    validation={
        "mean_dt": Column("number or null", Means("mean read disk-head time", LOAD)),
        "peak_dt": Column("number or null", Means("its peak", LOAD)),
        "rejectx_mean_dt": Column("number or null", Means("RejectX at the same writes, or its most: mean", LOAD)),
        "rejectx_peak_dt": Column("number or null", Means("the same: peak", LOAD)),
        "opt_mean_dt": Column("number or null", Means("OPT: mean", LOAD)),
        "opt_peak_dt": Column("number or null", Means("OPT: peak", LOAD)),
        "mean_dt_saved_low": Column(
            "number or null", Means("share of the mean saved against RejectX: lower end of the 90 % interval", "share")
        ),
        "mean_dt_saved_high": Column("number or null", Means("its upper end", "share")),
        "rival_mean_dt": Column(
            "number or null", Means("the best policy without a model at the same writes, or its most: mean", LOAD)
        ),
        "rival_peak_dt": Column("number or null", Means("the same: peak", LOAD)),
        "rival_dt_saved_low": Column(
            "number or null",
            Means("share of the mean saved against it, which decides: lower end of the 90 % interval", "share"),
        ),
        "rival_dt_saved_high": Column("number or null", Means("its upper end", "share")),
        "mean_dt_at_rival_writes": Column(
            "number or null",
            Means("mean at the most that it can write; null where it reaches the model's writes", LOAD),
        ),
        "rival_writes_over_ours": Column("number or null", Means("its writes over the model's", "ratio")),
        "mean_dt_at_rejectx_writes": Column(
            "number or null",
            Means("mean at the most that RejectX can write; null where it reaches the model's writes", LOAD),
        ),
        "rejectx_writes_over_ours": Column("number or null", Means("RejectX's writes over the model's", "ratio")),
    },
    files={
        CURVES_FILE: CURVES,
        INPUTS_FILE: INPUTS,
        MODEL_FILE: Table(Each("one tree", "number", text="the forest")),
    },
)

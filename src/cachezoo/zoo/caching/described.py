"""What the documents and files of caching models hold, and the figures that they add on a test trace."""

from cachezoo.meanings import Column, Columns, Each, Means, Rows, Table
from cachezoo.models.curves import CURVES_FILE
from cachezoo.models.weights import WEIGHTS_FILE
from cachezoo.training.fitted import CURVES
from cachezoo.zoo.base import Described

FIGURE = "number or null"
CANDIDATE = Each("one way to run the cache", "network, teacher, on_hit, queues and threshold")
CANDIDATES: Columns = {
    "network": Column("integer", Means("its place in the fit, from 0")),
    "teacher": Column("text", Means("oracle")),
    "on_hit": Column("text", Means("rule on hits: stay or requeue")),
    "queues": Column("text", Means("rule of the queues: three or single")),
    "threshold": Column(
        "number", Means("of cached, from which a miss is admitted; above 1 admits none", "probability")
    ),
    "hit_ratio": Column("number", Means("page hits on the choosing blocks of validation", "ratio")),
    "ssd_writes": Column("integer", Means("pages written on the whole", "4 KiB pages")),
}
TAGS: Columns = {
    "cached_accuracy": Column(
        FIGURE, Means("cached tag equal to the oracle's, of the requests that a cache is asked about", "ratio")
    ),
    "cached_balanced_accuracy": Column(FIGURE, Means("the same, both classes weighing the same", "ratio")),
    "cached_mcc": Column(FIGURE, Means("Matthews correlation of the same")),
    "cached_majority": Column(FIGURE, Means("accuracy of always naming the commoner tag", "ratio")),
    "cached_rows": Column(FIGURE, Means("requests counted", "requests")),
    "all_accuracy": Column(FIGURE, Means("the same with hits counted as the oracle tags them", "ratio")),
    "duration_accuracy": Column(FIGURE, Means("queue equal to the oracle's where that cached", "ratio")),
    "duration_majority": Column(FIGURE, Means("accuracy of always naming the commonest queue", "ratio")),
    "oracle_hit_ratio": Column(FIGURE, Means("page hits of the oracle, page by page, over the whole trace", "ratio")),
    "oracle_decided_hit_ratio": Column(FIGURE, Means("the same by one decision a request", "ratio")),
    "oracle_manager_hit_ratio": Column(FIGURE, Means("the model's cache fed the oracle's tags", "ratio")),
    "oracle_paper_hit_ratio": Column(FIGURE, Means("the same by the paper's rules", "ratio")),
}
DESCRIBED = Described(
    geometry={"page_bytes": Column("integer", Means("page", "bytes"))},
    learned={
        "networks": Column("integer", Means("networks trained, alike but for their seed", "networks")),
        "teachers": Column("list of text", Means("oracles that the network has heads for, in their order")),
        "capacities": Column("list of number", Means("capacities trained for", "share of the distinct pages")),
        "capacity_ratio_log2": Column(
            "list of number", Means("1st and 99th percentile of the input ratio in training", "log2")
        ),
        "ranges.<input>": Column(
            "list of number",
            Means("least and greatest value in training, to which inputs are cut", "unit of the input"),
        ),
        "state": Column("text", Means("carried from sequence to sequence, or reset100: anew every 100 requests")),
        "sequence": Column("integer", Means("requests of a training sequence", "requests")),
        "memory.**": Column("number", Means("what a runtime has to remember: section features.sequence")),
    },
    fitted={
        "rows": Column(FIGURE, Means("train rows", "requests")),
        "loss": Column(FIGURE, Means("loss of the epoch kept, mean over the networks", "nats")),
    },
    calibration={
        "calibrated_on": Column("text", Means("validation or train")),
        "threshold": Column("number", Means("a miss is admitted from this output on", "probability")),
        "capacities": Column("list of number", Means("capacities trained for", "share of the distinct pages")),
        "capacity": Column("number", Means("capacity judged at", "share of the distinct pages")),
        "teacher": Column("text", Means("oracle imitated")),
        "network": Column("integer", Means("which of the fit's networks is shipped, from 0")),
        "oracle_beats_classic": Column(
            "bool", Means("that oracle hits at least as often as the chosen classic on validation")
        ),
        "candidates": Rows(
            CANDIDATE,
            {
                **CANDIDATES,
                "teacher": Column("text", Means("oracle; the rows are the best of each network and rules")),
            },
        ),
        "thresholds": Rows(
            CANDIDATE,
            {
                **CANDIDATES,
                "teacher": Column("text", Means("oracle; the rows are every threshold of the chosen")),
            },
        ),
    },
    validation={
        "hit_ratio": Column(
            FIGURE, Means("page hits of the network that is shipped, on the judging blocks of validation", "ratio")
        ),
        "seeds": Column(FIGURE, Means("networks that the verdict is on, each in its own best way", "networks")),
        "seeds_hit_ratio_mean": Column(FIGURE, Means("mean of their page hits on the judging blocks", "ratio")),
        "seeds_hit_ratio_sd": Column(FIGURE, Means("standard deviation of the same; null for one network", "ratio")),
        "paper_rules_hit_ratio": Column(FIGURE, Means("the same by the paper's rules", "ratio")),
        "best_classic_hit_ratio": Column(
            FIGURE, Means("classic, with its defaults or tuned, with the most hits on the same accesses", "ratio")
        ),
        "chosen_classic_hit_ratio": Column(
            FIGURE, Means("the one with the most hits on the choosing blocks, on the same accesses", "ratio")
        ),
        "optimum_hit_ratio": Column(FIGURE, Means("Belady with bypass on the same accesses", "ratio")),
        "difference_low": Column(
            FIGURE, Means("mean of the networks less the chosen classic: lower end of the 90 % interval", "ratio")
        ),
        "difference_high": Column(FIGURE, Means("its upper end", "ratio")),
        "oracle_classic_hit_ratio": Column(
            FIGURE, Means("the chosen classic over the whole trace, as the oracles are counted", "ratio")
        ),
        **TAGS,
    },
    page=TAGS,
    files={
        CURVES_FILE: CURVES,
        WEIGHTS_FILE: Table(Each("one tensor", "name", text="the network's weights, float32")),
    },
    fitted_in="network_<place>",
)

"""What the documents and files of reuse models hold."""

from cachezoo.meanings import Column, Columns, Each, Means, Rows, Table
from cachezoo.models.curves import CURVES_FILE
from cachezoo.models.forest import FOREST_CURVES
from cachezoo.show.plots import CARRIED
from cachezoo.zoo.base import Described
from cachezoo.zoo.reuse.model import MODEL_FILE

RATIO = "ratio"
TABLES: Columns = {
    "quantiles": Column("list of number", Means("scores at which classes are cut", "log2 of C accesses")),
    "events": Column("list of list of number", Means("uses again, by class and age", "accesses")),
    "risks": Column("list of list of number", Means("ages reached, by class and age", "accesses")),
}
FITTED = {
    "rows": Column("number or null", Means("page accesses drawn to train on", "rows")),
    "rows_variance": Column("number or null", Means("variance of their targets", "log2 of C accesses, squared")),
}
DESCRIBED = Described(
    geometry={"page_bytes": Column("integer", Means("what is cached", "bytes"))},
    learned={
        "capacities": Column("list of number", Means("at which rows were drawn", "share of the distinct pages")),
        "seeds": Rows(Each("one seed", "place in the list"), TABLES),
    },
    fitted=FITTED,
    calibration={
        **TABLES,
        "weight": Column("number", Means("most accesses at risk that a class and age begins with", "accesses")),
        "forest": Column("integer", Means("seed whose forest is kept")),
        "capacity": Column("number", Means("at which it was judged", "share of the distinct pages")),
    },
    validation={
        "hit_ratio": Column("number or null", Means("on the judging blocks, mean of traces and seeds", RATIO)),
        "choosing_hit_ratio": Column("number or null", Means("on the choosing blocks, likewise", RATIO)),
        "hit_ratio_sd": Column("number or null", Means("standard deviation of the seeds' means", RATIO)),
        "seeds": Column("number or null", Means("trainings")),
        "best_classic_hit_ratio": Column("number or null", Means("each trace's best classic in hindsight", RATIO)),
        "chosen_classic_hit_ratio": Column(
            "number or null", Means("the classic that each trace's choosing blocks would have chosen", RATIO)
        ),
        "optimum_hit_ratio": Column("number or null", Means("Belady with bypass", RATIO)),
        "difference_low": Column(
            "number or null",
            Means("lead over the chosen classics, over seeds and blocks: lower end of the 90 % interval", RATIO),
        ),
        "difference_high": Column("number or null", Means("its upper end", RATIO)),
        "lowest_difference": Column("number or null", Means("lead on the trace where it is least", RATIO)),
        "above_floor": Column(
            "number or null", Means("traces at most 0.01 and one reload below the chosen classic", "share")
        ),
    },
    page={
        "forest_led": Column("number or null", Means("page accesses at which the forest's cache was followed", "share"))
    },
    fitted_files={
        CURVES_FILE: FOREST_CURVES,
        "seed<seed>.lgb.txt": Table(Each("one tree", "number", text="the forest of a seed")),
    },
    files={
        CURVES_FILE: FOREST_CURVES,
        MODEL_FILE: Table(Each("one tree", "number", text="the forest")),
    },
    plots={
        CARRIED: Table(
            Each("the model", "the file", text="gap closed on each test trace, at home and away", presence="sometimes")
        )
    },
)

"""What the documents and files of streams' models hold."""

from cachezoo.meanings import Column, Each, Means, Rows, Table
from cachezoo.zoo.base import Described
from cachezoo.zoo.streams.deaths import FOLDER, NUMBERS
from cachezoo.zoo.streams.deaths import SUFFIX as TREES
from cachezoo.zoo.streams.dictionary import FILE
from cachezoo.zoo.streams.judge import JUDGED_FILE
from cachezoo.zoo.streams.learn import SUFFIX, VARIANTS

WAF = "flash pages written over pages that the host wrote"
MAYBE = "number or null"
SID = "ranges of chunks of one stream, for binary search; docs/bundles.md has the bytes"
TRIED = {
    "policy": Column("text", Means("placement; of FIOS the features and the window, as `FSC.100th`")),
    "kind": Column("text", Means("legacy, baseline, fios, ours, forest or bound")),
    "streams": Column("integer", Means("that any write goes to", "streams")),
    "parameters.<argument>": Column("number or text", Means("of an argument of the placement"), "sometimes"),
    "waf": Column("number", Means(f"on validation: {WAF}", "ratio")),
}
SOME = {name: Column(column.type, column.means, "sometimes") for name, column in TRIED.items()}
JUDGED = Table(
    Each("one model", "model_id", text="what validation says of every placement"),
    {
        "reason": Column("text", Means("why nothing was judged; empty where something was")),
        "chosen": Column("text", Means("the dictionary of least WAF; empty where nothing was judged")),
        "learned": Column("text", Means("features that FIOS's own rule chooses; may be none")),
        "automatic": Column("text", Means("the placement of those features; legacy where there are none")),
        **{f"least.<policy>.{name}": column for name, column in SOME.items()},
        "lifetime": Rows(Each("the forests with their best classes and parts", "place in the list"), SOME),
        "rows": Rows(Each("one placement on validation", "place in the list"), SOME),
    },
)
DESCRIBED = Described(
    geometry={"chunk_bytes": Column("integer", Means("chunk that has one stream", "bytes"))},
    learned={
        "window": Column("text", Means("window of FIOS's own choice; its length is in the labels")),
        "variants": Column("list of text", Means("names of the dictionaries"), "sometimes"),
        "sid_bytes_per_tb": Column(
            "number",
            Means("that the ranges of each may take (fit.streams.sid_bytes_per_tb)", "bytes per 10**12 bytes"),
            "sometimes",
        ),
        "features": Column("text", Means("features that FIOS's own rule chooses; may be none"), "sometimes"),
        "high": Column("text", Means("which characteristics are high, bits in their order"), "sometimes"),
        "theta.<characteristic>": Column(MAYBE, Means("characteristics of the last train cycle"), "sometimes"),
    },
    fitted={
        "chunks": Column(MAYBE, Means("written in the last train cycle", "chunks"), "sometimes"),
        "page_writes": Column(MAYBE, Means("in the last train cycle", "flash pages"), "sometimes"),
        "dictionaries": Column(MAYBE, Means("that differ from one another"), "sometimes"),
    },
    calibration={
        "writes_by_stream": Column("list of integer", Means("of the train cycles, by the stream of their first byte")),
        "effective_streams": Column("integer", Means("that any chunk has", "streams")),
        "variant": Column("text", Means("placement that validation chose"), "sometimes"),
        "learned": Column("text", Means("features that FIOS's own rule chooses; may be none")),
        "window": Column("text", Means("of features that look at one"), "sometimes"),
        "over_provisioning": Column("number", Means("of the drive that it was judged on", "share"), "sometimes"),
        "waf": Column("number", Means(f"on validation: {WAF}", "ratio"), "sometimes"),
        "legacy_waf": Column("number", Means("the same with one stream", "ratio"), "sometimes"),
    },
    validation={
        "waf": Column(MAYBE, Means(f"of the dictionary chosen there: {WAF}", "ratio"), "sometimes"),
        "legacy_waf": Column(MAYBE, Means("without streams", "ratio"), "sometimes"),
        "rival_waf": Column(MAYBE, Means("of the best placement that learns nothing", "ratio"), "sometimes"),
        "automatic_waf": Column(MAYBE, Means("of the features that FIOS's own rule chooses", "ratio"), "sometimes"),
        "saved": Column(MAYBE, Means("share of that placement's flash writes that is saved", "share"), "sometimes"),
        "saved_low": Column(MAYBE, Means("lower end of its 90 % interval", "share"), "sometimes"),
        "saved_high": Column(MAYBE, Means("upper end of it", "share"), "sometimes"),
        "footprints": Column(
            MAYBE, Means("written in the validation cycle, over distinct pages", "footprints"), "sometimes"
        ),
    },
    files={FILE: Table(Each("one dictionary", "chunk", text=SID)), JUDGED_FILE: JUDGED},
    fitted_files={
        f"{FOLDER}/<number>{TREES}": Table(
            Each("one tree", "number", text="the forest of a seed, of the logarithm of lifetimes", presence="sometimes")
        ),
        f"{FOLDER}/{NUMBERS}": Table(
            Each("the forests", "the file", text="what belongs to the forests of lifetimes", presence="sometimes"),
            {
                "horizon": Column("integer", Means("lifetimes from here on are not told apart", "page writes")),
                "rows": Column("integer", Means("that there are to learn from", "page writes")),
                "addresses": Column(
                    "list of integer", Means("that cut the pages which train wrote into equally many", "bytes")
                ),
                "ranges": Column(
                    "list of list of number", Means("each forest's predictions at which classes begin and end", "log2")
                ),
            },
        ),
        f"{VARIANTS}/<variant>{SUFFIX}": Table(
            Each("one dictionary", "variant and chunk", text=SID, presence="sometimes")
        ),
    },
    plots={"streams.png": Table(Each("one category", "category", text="WAF by placement", presence="sometimes"))},
)

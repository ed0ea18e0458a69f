"""What the documents and files of virtual caches' models hold."""

from cachezoo.meanings import Column, Each, Means, Rows, Table
from cachezoo.zoo.base import Described
from cachezoo.zoo.virtual.fit import PROFILES, SUFFIX
from cachezoo.zoo.virtual.judge import JUDGED_FILE
from cachezoo.zoo.virtual.serve import FILE

MAYBE = "number or null"
HITS, READ = "page hits per page access", "pages per page access"
RATES = "float64 for each fragment of the queue, nearest the head first: hits per reference"
SETTING = {
    "queue": Column("text", Means("what orders the queue")),
    "pages": Column("integer", Means("that the queue holds the ids of", "pages")),
    "runs": Column("integer", Means("of neighbouring fragments, mapped at most")),
    "decay": Column("number", Means("that values are multiplied by after each quantum", "ratio")),
    "quantum": Column("integer", Means("between two mappings", "page accesses")),
    "cost": Column("number", Means("of a page that enters a run from an unmapped position", "hits")),
}
TRIED = {
    **{f"setting.{name}": Column(one.type, one.means, "sometimes") for name, one in SETTING.items()},
    "hit_ratio": Column("number", Means("on the choosing blocks", HITS), "sometimes"),
    "transfers": Column("number", Means("on all of validation: pages read from the disk", READ), "sometimes"),
    "allowed": Column("bool", Means("it stays within the limit of transfers"), "sometimes"),
}
JUDGED = Table(
    Each("one model", "model_id", text="what validation says of every search"),
    {
        "reason": Column("text", Means("why nothing was judged; empty where something was")),
        "plain.<policy>": Column("number", Means("its hit ratio on the choosing blocks", HITS), "sometimes"),
        "limit": Column("number", Means("transfers that a setting may make", READ)),
        "searches": Rows(Each("one search: what it chose", "place in the list", presence="sometimes"), TRIED),
        "tried": Column("integer", Means("settings in all searches, each counted once")),
    },
)


def _figure(text: str, unit: str = "ratio") -> Column:
    return Column(MAYBE, Means(text, unit), "sometimes")


DESCRIBED = Described(
    geometry={"page_bytes": Column("integer", Means("bytes of a page", "bytes"))},
    learned={
        "queues": Column("list of text", Means("whose profiles were learned")),
        "pages": Column("list of integer", Means("lengths of the queues", "pages")),
        "fragment": Column("integer", Means("positions that are mapped together", "pages")),
        "references": Column("list of integer", Means("of each train trace", "page accesses")),
    },
    fitted={"profiles": _figure("queues, each of each length", "")},
    calibration={
        "capacity": Column("number", Means("of the cache, as a part of a trace's distinct pages", "share")),
        "most_transfers": Column(
            "number", Means("that were allowed, over those of the best plain policy", "ratio"), "sometimes"
        ),
        "hit_ratio": Column("number", Means("on the judging blocks of validation", HITS), "sometimes"),
        "transfers": Column("number", Means("on validation: pages read from the disk", READ), "sometimes"),
        "plain_policy": Column("text", Means("the best plain policy on the choosing blocks"), "sometimes"),
        "plain_hit_ratio": Column("number", Means("of that, on the judging blocks", HITS), "sometimes"),
        "plain_transfers": Column("number", Means("of that, on validation", READ), "sometimes"),
    },
    validation={
        "choosing_hit_ratio": _figure("on the choosing blocks, from a cold start"),
        "hit_ratio": _figure("on the judging blocks, with the start that was chosen"),
        "plain_hit_ratio": _figure("of the best plain policy, on the judging blocks"),
        "head_hit_ratio": _figure("of the tuned queue with its head alone in the cache, on the judging blocks"),
        "difference_low": _figure("lead over the best plain policy: lower end of the 90 % interval"),
        "difference_high": _figure("its upper end"),
        "transfers": _figure("pages read from the disk", READ),
        "plain_transfers": _figure("the same of the best plain policy", READ),
        "searches_least_hit_ratio": _figure("on the choosing blocks, of the search that found the least"),
        "cold_references": _figure("until the steady hit ratio from a cold start, mean over traces", "page accesses"),
        "warm_references": _figure("the same from the profile", "page accesses"),
    },
    files={
        FILE: Table(Each("one fragment", "place in the file", text=f"profile of a warm start: {RATES}")),
        JUDGED_FILE: JUDGED,
    },
    fitted_files={
        f"{PROFILES}/<queue>.<pages>{SUFFIX}": Table(
            Each("one train trace and fragment", "place in the file", text=f"a queue's profiles: {RATES}")
        ),
    },
    plots={
        "virtual.png": Table(
            Each("one cache", "trace and policy", text="hits over transfers on test traces", presence="sometimes")
        )
    },
)

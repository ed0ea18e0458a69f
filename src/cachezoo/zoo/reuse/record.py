"""The record of the system `reuse`."""

from cachezoo.zoo.base import Bundling, Card, Lazy, Studied, System

HERE = "cachezoo.zoo.reuse"
REUSE = System(
    id="reuse",
    title="page cache that follows the best of classics and of a next-use forest with online tables",
    source="LRB, NSDI 2020 (inputs); LHD, NSDI 2018 (hits for held time); docs/page-cache.md",
    scope="all",
    headline=(
        "miss_reduction",
        "worst_miss_reduction",
        "lead_points",
        "gap_closed",
        "gap_points",
        "hit_ratio",
        "home_lead_points",
        "setup_lead_points",
        "program_lead_points",
        "home_gap_closed",
        "setup_gap_closed",
        "program_gap_closed",
    ),
    settings=Lazy(f"{HERE}.settings"),
    bundling=Bundling.of_forests(
        ("model.lgb.txt",),
        "score",
        card=Card(
            what="Runs a whole page cache: its forest's, or that of a classic while that hits more.",
            ask="""\
# requests in order, from the first on; user (of process names) and flags may be left out where nobody knows them
batch = RequestBatch(time_us, op, offset, size, Coded.of(volume), user=Coded.of(user), flags=Coded.of(flags))
served = model.run(batch, batch.pages(), capacity_pages)
outcome = served.followed.run.outcome   # of each page access: 0 bypassed, 1 admitted, 2 hit
""",
            runtime="""\
cache = model.cache(capacity_pages)
served = cache.access(time_us, op, offset, size, volume)   # every request: hits, misses, units, victims
""",
            native="""\
cz_cache_options options = {.mode = CZ_MODEL, .capacity = capacity_pages};
cz_cache_new(&options, (cz_stream *[2]){stream, NULL}, &cache, &error);
cz_cache_access(cache, &request, &served);    /* every request: served.hits, units, victims */
""",
            avoid="a trace of few accesses over the capacity: what it learns as it goes takes tens of capacities",
            safer="A classic policy",
        ),
        kind=Lazy(f"{HERE}.bundle:KIND"),
    ),
    page_cache=Lazy(f"{HERE}.evaluate:page_cache"),
    page_bundle=Lazy(f"{HERE}.evaluate:page_bundle"),
    report=Lazy(f"{HERE}.report:PART"),
    metrics=Lazy(f"{HERE}.metrics:read_metrics"),
    results=Lazy(f"{HERE}.report:RESULTS"),
    plots=("carried.png",),
    study=Studied(
        system="reuse",
        chooses="choosing_hit_ratio",
        choosing_is="mean page hit ratio on the choosing blocks of validation",
        lower_is_better=False,
        judging="hit_ratio",
        judging_is="mean page hit ratio on the judging blocks of validation",
        tested=Lazy(f"{HERE}.evaluate:test_hit_ratios"),
        tests_are="page hit ratio",
    ),
)

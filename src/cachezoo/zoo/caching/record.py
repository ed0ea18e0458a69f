"""The record of the system `caching`."""

from cachezoo.zoo.base import Bundling, Card, Lazy, Studied, System

HERE = "cachezoo.zoo.caching"
CACHING = System(
    id="caching",
    title="page cache of three queues, an LSTM imitating an oracle",
    source="RC-RNN, Sec. 4 and 5.2.2",
    scope="page category",
    headline=("gap_closed", "gap_points", "hit_ratio", "ssd_writes_per_100_io", "mean_response_us", "decision_us"),
    settings=Lazy(f"{HERE}.settings"),
    bundling=Bundling.of_lstm(
        HERE,
        "step",
        card=Card(
            what="Decides whether pages are worth caching, and in which queue of its cache they enter.",
            ask="""\
# requests in order, from the first on; the model runs its own cache
batch = RequestBatch(time_us, op, offset, size, Coded.of(volume))
served = model.run(batch, batch.pages(), [model.cache(capacity_pages)])
queues = served.decisions[0]   # 0 bypass, 1 soon, 2 mean, 3 late, -1 nothing was asked
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
            avoid="a cache far outside the capacities it was labelled for, or requests unlike its training traces",
            safer="A classic policy",
        ),
        kind=Lazy(f"{HERE}.bundle:KIND"),
    ),
    page_cache=Lazy(f"{HERE}.evaluate:page_cache"),
    page_bundle=Lazy(f"{HERE}.evaluate:page_bundle"),
    study=Studied(
        system="caching",
        chooses=Lazy(f"{HERE}.evaluate:best_choosing_hit_ratio"),
        choosing_is="page hit ratio on the choosing blocks of validation",
        lower_is_better=False,
        judging="hit_ratio",
        judging_is="page hit ratio on the judging blocks of validation",
        tested=Lazy(f"{HERE}.evaluate:test_hit_ratios"),
        tests_are="page hit ratio",
    ),
)

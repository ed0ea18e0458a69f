"""The record of kind `policy`: bundles that nothing was learned for, so there is no system behind them."""

from cachezoo.zoo.base import Bundling, Card, Lazy

TITLE = "page cache by a classic rule: who enters, who leaves, what is fetched ahead; nothing is learned"
POLICY = Bundling(
    card=Card(
        what="Runs a page cache by a classic rule: who enters, who leaves, what is fetched ahead. Nothing is learned.",
        ask="""\
batch = RequestBatch(time_us, op, offset, size, Coded.of(volume))   # requests in order, from the first on
served = model.run(batch, capacity_pages)
outcome, victim = served.run.outcome, served.run.victim   # of each access: 0 bypassed, 1 admitted, 2 hit, 3 prefetched
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
        avoid="a workload that you have not tried it on: it is the rule that was named, and nobody has measured it",
        safer="What `cachezoo recommend TRACE` names for your trace",
    ),
    weights=(),
    libraries=(),
    kind=Lazy("cachezoo.zoo.policy.bundle:KIND"),
)

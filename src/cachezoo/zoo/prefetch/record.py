"""The record of the system `prefetch`."""

from cachezoo.zoo.base import Bundling, Card, Lazy, Studied, System

HERE = "cachezoo.zoo.prefetch"
PREFETCH = System(
    id="prefetch",
    title="prefetch into a flash cache, ML-Range and ML-When",
    source="Baleen post, 'Training Baleen to predict what and when to prefetch'",
    scope="category",
    headline=("best_mean_dt_saved", "peak_dt"),
    settings=Lazy(f"{HERE}.settings"),
    bundling=Bundling.of_forests(
        ("start.lgb.txt", "end.lgb.txt", "when.lgb.txt"),
        "reach",
        card=Card(
            what="Says which segments of its block a miss should fetch at once, and whether to.",
            ask="""\
# rows are those of the category's admission model: whichever computes them, once; admit at this bundle's threshold
batch = RequestBatch(time_us, op, offset, size, Coded.of(volume), Coded.of(namespace), Coded.of(user))
rows = model.features(batch)
beside = model.prefetch(rows)   # segments [low, high) of each request's block; nothing where low >= high
admit = admission.scores(rows) >= model.threshold
""",
            runtime="""\
cache = admission.cache(capacity_segments, prefetch=model)   # admission: opened likewise
served = cache.access(time_us, op, offset, size, volume)   # every request: hits, misses, units, victims
""",
            native="""\
/* admission: a stream of the bundle that policy.admission names */
cz_cache_options options = {.mode = CZ_MODEL, .capacity = capacity_segments};
cz_cache_new(&options, (cz_stream *[2]){admission, stream}, &cache, &error);
cz_cache_access(cache, &request, &served);    /* every request: served.hits, units, victims */
""",
            avoid="another admission than the one that `policy.admission` names, or another threshold than "
            "`calibration.threshold`: what is prefetched is written to flash too",
            safer="Prefetching without a model",
        ),
        kind=Lazy(f"{HERE}.bundle:KIND"),
        calibrated=True,
        must_win=True,
    ),
    study=Studied(
        system="prefetch",
        chooses=Lazy(f"{HERE}.judge:best_learned_load"),
        choosing_is="mean read disk-head time of the best learned mode on the choosing windows of validation",
        lower_is_better=True,
        judging="mean_dt",
        judging_is="the same of that mode on the judging windows",
        tested=Lazy(f"{HERE}.judge:test_loads"),
        tests_are="mean read disk-head time of the mode that ships (disk-head seconds per second)",
    ),
)

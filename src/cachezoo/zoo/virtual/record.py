"""The record of the system `virtual`."""

from cachezoo.zoo.base import Bundling, Card, Lazy, Studied, System

HERE = "cachezoo.zoo.virtual"
VIRTUAL = System(
    id="virtual",
    title="a virtual I/O cache: which places of a long replacement queue are in the cache, with a learned profile",
    source="Virtual I/O caching, SC 2011, Sec. 3",
    scope="page category",
    headline=("hit_ratio", "gain", "transfers", "transfers_besides"),
    settings=Lazy(f"{HERE}.settings"),
    bundling=Bundling(
        card=Card(
            what="Runs a virtual I/O cache: it holds the places of a long replacement queue that were worth most.",
            ask="""\
batch = RequestBatch(time_us, op, offset, size, Coded.of(volume))   # requests in order, from the first on
served = model.run(batch.pages(), capacity_pages)
hit, moved = served.hit, served.moved   # of each page access: found; pages read from the disk beside it
""",
            runtime="""\
cache = runtime.Virtual(model, capacity_pages)
place = cache.reference(offset // 4096)   # every page of every request: place.hit, place.moved
""",
            native="""\
cz_virtual_settings settings; cz_virtual *cache; cz_place place;
cz_virtual_settings_of(bundle, &settings, &error);
cz_virtual_new(&settings, capacity_pages, &cache, &error);
cz_virtual_reference(cache, 4096 / 4096, &place);   /* every page, by its number: place.hit, place.moved */
""",
            avoid="a busy disk: a hit far from the queue's head was read from the disk before and saves no I/O, so "
            "look at the transfers beside every hit ratio",
            safer="The plain policy of the best queue",
        ),
        weights=("profile.bin",),
        libraries=("numpy", "optuna"),
        kind=Lazy(f"{HERE}.bundle:KIND"),
    ),
    report=Lazy(f"{HERE}.report:PART"),
    metrics=Lazy(f"{HERE}.metrics:read_metrics"),
    results=Lazy(f"{HERE}.report:RESULTS"),
    plots=("virtual.png",),
    study=Studied(
        system="virtual",
        chooses="choosing_hit_ratio",
        choosing_is="page hit ratio on the choosing blocks of validation, within the limit of transfers",
        lower_is_better=False,
        judging="hit_ratio",
        judging_is="page hit ratio on the judging blocks of validation",
        tested=Lazy(f"{HERE}.evaluate:evaluate_virtual"),
        tests_are="page hit ratio",
        figure="hit_ratio",
    ),
)

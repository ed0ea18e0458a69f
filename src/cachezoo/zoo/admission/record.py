"""The record of the system `admission`."""

from cachezoo.zoo.base import Bundling, Card, Lazy, Studied, System

HERE = "cachezoo.zoo.admission"
ADMISSION = System(
    id="admission",
    title="admission into a flash cache, LightGBM imitating OPT",
    source="Baleen post, 'Training Baleen to imitate OPT'",
    scope="category",
    headline=("best_mean_dt_saved", "peak_dt"),
    settings=Lazy(f"{HERE}.settings"),
    bundling=Bundling.of_forests(
        ("model.lgb.txt",),
        "score",
        card=Card(
            what="Decides whether what a read missed is worth its flash writes.",
            ask="""\
# the next requests, writes too; the answer counts for what a read missed
batch = RequestBatch(time_us, op, offset, size, Coded.of(volume), Coded.of(namespace), Coded.of(user))
admit = model.decide(model.features(batch))
""",
            runtime="""\
decision = model.observe(time_us, op, offset, size, volume)   # every request, in order, writes too
admit = decision.admit   # asked on a miss of a read
""",
            native="""\
cz_observe(stream, &request, &ticket);        /* every request, in order, writes too */
cz_decide(stream, &ticket, &decision);        /* on a miss of a read: decision.admit */
""",
            avoid="a page cache, whose hits it does not know, nor a flash cache of another size or write budget than "
            "it was calibrated for: take another threshold from the curve in `calibration`, or calibrate it again",
            safer="A classic policy",
        ),
        kind=Lazy(f"{HERE}.bundle:KIND"),
        calibrated=True,
    ),
    page_cache=Lazy(f"{HERE}.evaluate:page_cache"),
    page_bundle=Lazy(f"{HERE}.evaluate:page_bundle"),
    study=Studied(
        system="admission",
        chooses=Lazy(f"{HERE}.judge:least_holdout_loss"),
        choosing_is="loss on the held-out blocks of the train traces",
        lower_is_better=True,
        judging="mean_dt",
        judging_is="mean read disk-head time on validation",
        tested=Lazy(f"{HERE}.judge:test_loads"),
        tests_are="mean read disk-head time (disk-head seconds per second)",
    ),
)

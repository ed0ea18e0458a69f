"""The record of the system `streams`."""

from cachezoo.zoo.base import Bundling, Card, Lazy, Studied, System

HERE, QUESTION = "cachezoo.zoo.streams", "cachezoo.questions.wear"
STREAMS = System(
    id="streams",
    title="which stream of a multi-stream SSD a write belongs to, a dictionary of chunks clustered by their features",
    source="FIOS, Sec. II to IV",
    scope="stream category",
    headline=("waf", "of_legacy"),
    settings=Lazy(f"{HERE}.settings"),
    bundling=Bundling(
        card=Card(
            what="Says which stream of a multi-stream SSD a write goes to, so that what dies together lies together.",
            ask="""\
streams = model.placements(offset)   # one id a write; 0 where the chunk was not learned
""",
            runtime="""\
stream = model.placement(offset)   # of a write: the id of the chunk of its first byte; 0 where it was not learned
""",
            native="""\
int id = cz_placement(bundle, 4096);   /* of a write that begins at this byte */
if (id < 0) id = 0;                    /* not of this kind: 0 is also where the unknown goes */
""",
            avoid="another volume than the one that it was learned on: its chunks are addresses of that one, and after "
            "the volume is filled anew they mean nothing",
            safer="One stream",
        ),
        weights=("sid.bin",),
        other_card=Card(
            what="Predicts how long each page of a write will live, and so says which stream of a multi-stream SSD it "
            "goes to: what dies together lies together.",
            ask="""\
batch = RequestBatch(time_us, op, offset, size, Coded.of(volume))
streams = model.place(batch)   # one id a flash page of 8 KiB that is written; pass every write, in order
""",
            runtime="""\
streams = model.place_pages(time_us, offset, size)   # of a write: an id for each flash page of 8 KiB
""",
            native="""\
request.op = CZ_WRITE;
uint8_t ids[131073];   /* of each flash page of 8 KiB: as many as the longest write touches */
int64_t pages = cz_place_pages(stream, &request, ids, 131073);   /* pass every write, in order */
""",
            avoid="another volume than the one that it was learned on, and a drive whose host does not see all writes",
            safer="One stream",
        ),
        other_weights={"lifetime_placement": ("model.lgb.txt",)},
        libraries=("lightgbm", "numpy", "scikit-learn"),
        kind=Lazy(f"{HERE}.bundle:KIND"),
    ),
    report=Lazy(f"{QUESTION}.report:PART"),
    metrics=Lazy(f"{HERE}.metrics:read_metrics"),
    results=Lazy(f"{QUESTION}.report:RESULTS"),
    plots=("streams.png",),
    study=Studied(
        system="streams",
        chooses="automatic_waf",
        choosing_is="write amplification on validation with the features that FIOS's own rule chooses",
        lower_is_better=True,
        judging="waf",
        judging_is="write amplification on validation with the dictionary chosen there",
        tested=Lazy(f"{HERE}.evaluate:evaluate_streams"),
        tests_are="write amplification on the test cycle",
        figure="waf",
    ),
)

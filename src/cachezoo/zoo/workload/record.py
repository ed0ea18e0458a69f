"""The record of the system `workload`."""

from cachezoo.zoo.base import Bundling, Card, Lazy, Studied, System

HERE = "cachezoo.zoo.workload"
WORKLOAD = System(
    id="workload",
    title="which category of workload is running, an LSTM over windows of requests",
    source="RC-RNN, Sec. 4.2 and 5.2.1",
    scope="all",
    headline=("balanced_accuracy",),
    settings=Lazy(f"{HERE}.settings"),
    bundling=Bundling.of_lstm(
        HERE,
        "window",
        "scikit-learn",
        card=Card(
            what="Names the workload category that is running, so that a cache can switch to its model.",
            ask="""\
# requests in order, from the first on
batch = RequestBatch(time_us, op, offset, size, Coded.of(volume))
seen = model.run(batch)
names = [model.classes[k] if k >= 0 else "unknown" for k in seen.classes]   # the category of every window
serving = seen.of_requests(len(batch))   # in force for each request: -1 before the first vote, -2 unknown
""",
            runtime="""\
decision = model.observe(time_us, op, offset, size, volume)   # every request, in order, writes too
serving = decision.category   # place in the classes; -1 none yet, -2 unknown
""",
            native="""\
cz_observe(stream, &request, &ticket);        /* every request, in order, writes too */
cz_decide(stream, &ticket, &decision);        /* decision.category: place in the classes */
""",
            avoid="mixtures of programs; of a program unlike its training traces it often, not always, says unknown",
            safer="The best baseline of `calibration.baselines`, named in `calibration.judged_against`,",
        ),
        kind=Lazy(f"{HERE}.bundle:KIND"),
    ),
    report=Lazy(f"{HERE}.report:PART"),
    metrics=Lazy(f"{HERE}.metrics:read_metrics"),
    plots=("confusion.png",),
    study=Studied(
        system="workload",
        chooses="loss",
        choosing_is="loss of the epoch kept, on the windows of validation",
        lower_is_better=True,
        judging="balanced_accuracy",
        judging_is="balanced accuracy on the windows of validation",
        tested=Lazy(f"{HERE}.evaluate:test_accuracies"),
        tests_are="accuracy of the windows",
    ),
)

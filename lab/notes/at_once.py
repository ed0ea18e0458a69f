"""Table 1's scenarios with programs that run together: two, three and four streams merged.

    at_once.py [CATEGORY …] [--requests 20000]      needs the traces of conf/matrix.yaml as files, no stage

The first two categories run together, then three, and so on: as in the paper, an earlier program stays as it was. Every
program issues as many requests, in its own bursts, and is cut after so many. A window is that of the program that
issued most of it; without one it does not count. Train traces are merged to learn from; validation traces, merged too,
choose the epoch and the baselines' penalties, on their choosing blocks; figures are of merged test traces. Every method
is trained once for each scenario.

The characterisations are given twice: as shares of a window's classes in a linear layer, and *fed into an RNN* as the
paper has it (Sec. 3.2): the class of each request, one-hot, in the network that the classifier is.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cachezoo.arrays import F32, I64
from cachezoo.config.compose import compose
from cachezoo.config.load import load_params, validate_params
from cachezoo.errors import TrainingError
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Role
from cachezoo.settings.params import Params
from cachezoo.traces.mixing import interleave, sources
from cachezoo.traces.read import read_any
from cachezoo.traces.table import Trace
from cachezoo.yaml_file import parsed
from cachezoo.zoo.workload.baselines import CHARACTERISATIONS, fit_baselines
from cachezoo.zoo.workload.fit import CONTEXT, Settings, fit_network
from cachezoo.zoo.workload.infer import predict
from cachezoo.zoo.workload.windows import Inputs, Windows, window_columns_of
from lab.rcrnn.grid_fit import named_right, trained_accuracy

LEAST = 2


def windows_at_once(traces: Sequence[Trace], length: int, stride: int) -> Windows:
    """Windows of programs that run together, those of which one program issued most.

    Args:
        traces: one of each category, in the order of the classes.
        length: requests in a window.
        stride: requests between the beginnings of windows.
    """
    single = [replace(trace, source=None) for trace in traces]
    mixed = interleave(single, "+".join(trace.meta.trace_id for trace in traces), [1.0] * len(traces))
    columns = window_columns_of(batch_of(mixed), length, stride)
    starts = np.arange(len(columns)) * stride
    rows = sources(mixed).codes[starts[:, None] + np.arange(length)]
    issued = np.stack([(rows == label).sum(axis=1) for label in range(len(traces))], axis=1)
    most = np.sort(issued, axis=1)
    found = Windows(columns, issued.argmax(axis=1).astype(np.int64), np.zeros(len(columns), np.int64))
    return found.of(most[:, -1] > most[:, -2])


def one_hot(name: str, windows: Windows) -> Inputs:
    """Each request's class of a characterisation as the inputs of a network: float32[w, length, classes]."""
    classes, n = CHARACTERISATIONS[name](windows.columns)
    rows: F32 = np.eye(n, dtype=np.float32)[classes]
    return Inputs(rows, windows.labels, windows.traces)


def told_at_once(
    train: Windows, choosing: Windows, judged: Windows, ours: Settings, paper: Settings
) -> dict[str, float]:
    """Balanced accuracy of each method.

    Args:
        train: windows to learn from.
        choosing: those that choose the epoch and the penalties.
        judged: those that are named.
        ours: settings of the shipped classifier, its categories those that run.
        paper: of the paper's inputs, likewise.

    Raises:
        TrainingError: a category has no window, or no epoch's loss was finite.
    """
    for part in (train, choosing, judged):
        if not part.counts(len(ours.categories)).all():
            raise TrainingError(f"{' + '.join(ours.categories)}: one issues most of no window; take more --requests")
    seed = derive_seed(ours.seed, CONTEXT)
    found = {
        "LSTM": trained_accuracy(train, choosing, judged, ours, seed),
        "LSTM, the paper's inputs": trained_accuracy(train, choosing, judged, paper, seed),
    }
    for name in CHARACTERISATIONS:
        inputs = [one_hot(name, part) for part in (train, choosing, judged)]
        weights, _ = fit_network(name, len(ours.categories), inputs[0], inputs[1], ours, seed)
        if not weights:
            raise TrainingError(f"{name}: no epoch's loss was finite; lower fit.workload.learning_rate")
        said: I64 = predict(weights, inputs[2].rows, ours.fit.threads).argmax(axis=1)
        found[f"{name} into an RNN"] = named_right(judged, said)
    for name, baseline in fit_baselines(train, choosing, seed).items():
        found[name] = named_right(judged, baseline.predict(judged.columns))
    return found


def _first(params: Params, category: str, role: Role, requests: int) -> Trace:
    """The first requests of a category's first trace of a role."""
    keys = [
        key
        for key, entry in params.data.traces.items()
        if (entry.category, entry.role, entry.unseen) == (category, role, False)
    ]
    if not keys:
        raise TrainingError(f"no {role} trace of {category}; add one: cachezoo trace add")
    trace = read_any(Path(params.data.traces[keys[0]].path))
    return trace.rows(0, min(requests, len(trace)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("categories", nargs="*", default=["mail", "web", "database", "fileserver"])
    parser.add_argument("--requests", type=int, default=20_000, help="of each program")
    chosen = parser.parse_args(arguments)
    params = load_params(Path("params.yaml"))
    paper = Settings.of(validate_params(parsed(compose(Path("conf"), {"workload": "paper"}), "conf"), "conf"))
    ours, rows = Settings.of(params), {}
    sizes = range(LEAST, len(chosen.categories) + 1)
    for size in sizes:
        names, window = chosen.categories[:size], ours.model.window
        steps: tuple[tuple[Role, int], ...] = (("train", ours.fit.stride), ("validation", window), ("test", window))
        train, validation, test = (
            windows_at_once([_first(params, name, role, chosen.requests) for name in names], window, stride)
            for role, stride in steps
        )
        own, its = (replace(settings, categories=names) for settings in (ours, paper))
        found = told_at_once(train, validation.halves()[0], test, own, its)
        rows[f"{' + '.join(names)} ({len(test)})"] = found
    methods = list(next(iter(rows.values())))
    print("| method | " + " | ".join(rows) + " |")
    print("|---|" + "---|" * len(rows))
    for method in methods:
        print(f"| {method} | " + " | ".join(f"{100 * found[method]:.1f} %" for found in rows.values()) + " |")


if __name__ == "__main__":
    main()

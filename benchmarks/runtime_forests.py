"""libcachezoo's admission models on whole captured traces, and beside LightGBM and onnxruntime.

agreement   every request of every captured trace through the admission models of its category, in C and in Python:
            requests with an input, a score or a decision that differs in any bit, and keys that C has forgotten
decisions   nanoseconds of a request's inputs and of a decision, on each category's test trace, and of the same forest
            in LightGBM and onnxruntime, a row at a time
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import numpy.typing as npt
from rich.table import Table

from cachezoo import paths
from cachezoo.bundles import load
from cachezoo.bundles.onnx_export import onnx_of, open_session
from cachezoo.console import out
from cachezoo.features.history import AdmissionFeatures
from cachezoo.models.forest import read_forest
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ

LIBRARY = Path(__file__).parents[1] / "runtimes/c"
CAPTURED = Path("data/raw/captured")
NAMED = ("volume", "namespace", "user", "flags")
MAX_KEYS = 1 << 22
CALLS = 2000
Rows = npt.NDArray[Any]


def built(folder: Path, target: str) -> Path:
    """Build a target of libcachezoo's Makefile in a folder."""
    subprocess.run(["make", "-s", "-C", str(LIBRARY), f"BUILD={folder}", f"{folder}/{target}"], check=True)
    return folder / target


def write_requests(batch: RequestBatch, folder: Path) -> tuple[str, str]:
    """Write the files of names and requests that the C programs take; returns their paths."""
    rows = np.full((len(batch), 8), -1, np.int64)
    lines = []
    for place, name in enumerate(("time_us", "op", "offset", "size")):
        rows[:, place] = getattr(batch, name)
    for place, name in enumerate(NAMED):
        coded = getattr(batch, name)
        if coded is not None:
            rows[:, 4 + place] = coded.codes
            lines += [f"{place}\t{text}\n" for text in coded.names]
    rows.tofile(folder / "requests")
    (folder / "names").write_text("".join(lines), encoding="utf-8")
    return str(folder / "names"), str(folder / "requests")


@dataclass(frozen=True)
class Agreement:
    """Of one trace and bundle: requests, those that differ in an input, a score, a decision; keys forgotten."""

    requests: int
    inputs: int
    scores: int
    decisions: int
    forgotten: int


def agreement(program: Path, path: Path, batch: RequestBatch, folder: Path) -> Agreement:
    """Run a trace through a bundle in C and in Python."""
    model: Any = load(path).manifest
    features = len(model["features"])
    kind = np.dtype([("inputs", "<f4", features), ("scores", "<f8", 3), ("decisions", "<i4", 4)])
    command = [str(program), str(path), *write_requests(batch, folder), str(folder / "rows"), f"max_keys={MAX_KEYS}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = np.fromfile(folder / "rows", kind)
    history = AdmissionFeatures(model["features"], model["encodings"], model["geometry"], model["policy"]["history"])
    rows = history.rows(batch)
    scores = read_forest(path / "model.lgb.txt")(rows)
    admit = (scores >= model["calibration"]["threshold"]) & (batch.op == OP_READ)
    return Agreement(
        len(batch),
        int((found["inputs"].view(np.uint32) != rows.view(np.uint32)).any(axis=1).sum()),
        int((found["scores"][:, 0] != scores).sum()),
        int((found["decisions"][:, 0] != admit).sum()),
        int(json.loads(done.stdout)["forgotten"]),
    )


def bundles() -> Iterator[tuple[str, Path]]:
    """Category and folder of every exported admission model."""
    for path in sorted(paths.BUNDLES.glob("admission*/manifest.json")):
        yield str(load(path.parent).manifest["category"]), path.parent


def print_agreement(folder: Path) -> None:
    """A row for each trace and model, and their sum."""
    program = built(folder, "tests/history_run")
    table = Table("trace", "model", "requests", "inputs differ", "scores differ", "decisions differ", "keys forgotten")
    total = np.zeros(5, np.int64)
    for category, path in bundles():
        for trace in sorted(CAPTURED.glob(f"{category}_*.parquet")):
            one = agreement(program, path, batch_of(read_trace(trace)), folder)
            counts = (one.requests, one.inputs, one.scores, one.decisions, one.forgotten)
            table.add_row(trace.stem, path.name, *map(str, counts))
            total += counts
    table.add_row("all", "", *map(str, total.tolist()))
    out().print(table)


def timed(score: Callable[[Rows], object], rows: Rows) -> tuple[str, str]:
    """Median and 99th percentile, ns, of scoring a row."""
    taken = []
    for i in range(CALLS):
        row = rows[i % len(rows)][None]
        start = time.perf_counter_ns()
        score(row)
        taken.append(time.perf_counter_ns() - start)
    return f"{np.median(taken):.0f}", f"{np.percentile(taken, 99):.0f}"


def print_decisions(folder: Path) -> None:
    """A row for each model and what computes it."""
    program = built(folder, "bench/bench_history")
    table = Table("model", "what", "mean ns", "median ns", "p99 ns")
    for category, path in bundles():
        files = write_requests(batch_of(read_trace(CAPTURED / f"{category}_test.parquet")), folder)
        done = subprocess.run([str(program), str(path), *files], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines()[2:]:
            what, _, *figures = line.split()
            table.add_row(path.name, what, *figures)
        rows = np.load(path / "golden/features.npy")
        booster = lgb.Booster(model_file=str(path / "model.lgb.txt"))
        table.add_row("", "LightGBM", "", *timed(lambda row, own=booster: own.predict(row, num_threads=1), rows))
        session = open_session(onnx_of(load(path)), str(path))
        table.add_row("", "onnxruntime", "", *timed(lambda row, own=session: own.run(None, {"features": row}), rows))
    out().print(table)


def main() -> None:
    """Build the library and print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("agreement", "decisions"))
    with tempfile.TemporaryDirectory() as name:
        (print_decisions if parser.parse_args().what == "decisions" else print_agreement)(Path(name))


if __name__ == "__main__":
    main()

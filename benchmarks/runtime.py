"""libcachezoo's LSTMs on whole captured traces and beside onnxruntime.

agreement   every request of every captured trace through the caching models of its category, and through the
            workload classifier, in C and in Python: inputs that differ in any bit, decisions that differ (float32,
            bf16, int8), rows of the cache that do, and by how much hit ratios move
steps       microseconds of a step, 2 x 64 and 3 x 256 units, by precision and path of the CPU, and of onnxruntime
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from rich.table import Table
from safetensors.numpy import load as numpy_load

from cachezoo import paths
from cachezoo.bundles import load
from cachezoo.bundles.reader import Bundle
from cachezoo.console import out
from cachezoo.kernels import manager
from cachezoo.kernels.manager_limits import lane_rules
from cachezoo.models.onnx_lstm import Graph as OnnxGraph
from cachezoo.models.onnx_lstm import one_step
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.store import read_trace
from cachezoo.zoo.caching.infer import torch_infer, torch_infer_all
from cachezoo.zoo.caching.serve import CachingServing

LIBRARY = Path(__file__).parents[1] / "runtimes/c"
CAPACITY = 0.1  # of a trace's pages
PRECISIONS = ("fp32", "bf16", "int8")
STEPS = 5000
Rows = npt.NDArray[Any]


def built(folder: Path, *targets: str) -> None:
    """Build targets of libcachezoo's Makefile in a folder."""
    subprocess.run(
        ["make", "-s", "-C", str(LIBRARY), f"BUILD={folder}", *(f"{folder}/{name}" for name in targets)], check=True
    )


@dataclass(frozen=True)
class Agreement:
    """Of one trace and bundle.

    Attributes:
        requests: how many.
        inputs: requests with an input that differs in a bit.
        output: the largest difference of an output, float32.
        decisions: that differ, by precision.
        cache: requests whose decision, hits or evictions differ, float32.
        moved: hit ratio less that of Python, by precision.
    """

    requests: int
    inputs: int
    output: float
    decisions: tuple[int, ...]
    cache: int
    moved: tuple[float, ...]


class Runner:
    """The program `serve_run` on the requests of a trace."""

    def __init__(self, program: Path, bundle: Path, batch: RequestBatch, features: int, outputs: int) -> None:
        columns = (batch.time_us, batch.op, batch.offset, batch.size, batch.volume.codes)
        self.given = np.stack([column.astype(np.int64) for column in columns], axis=1).tobytes()
        self.row = np.dtype([("inputs", "<f4", features), ("outputs", "<f4", outputs), ("decisions", "<i4", 4)])
        self.command = [str(program), str(bundle)]

    def run(self, precision: int, capacity: int, cache: bool) -> Rows:
        """A row for each request."""
        words = [*self.command, str(precision), str(capacity), str(int(cache))]
        done = subprocess.run(words, input=self.given, capture_output=True, check=True)
        return np.frombuffer(done.stdout, self.row)


def caching_agreement(program: Path, path: Path, batch: RequestBatch) -> Agreement:
    """Of a caching model and a trace."""
    bundle = load(path)
    serving = _on_torch(bundle)
    pages = batch.pages()
    capacity = max(1, int(CAPACITY * pages.n_pages))
    cache = serving.cache(capacity)
    served = serving.run(batch, pages, [cache], keep=True)
    queues = np.zeros((len(batch), 1), np.int32)
    rules = lane_rules([cache], serving.read(batch, pages, [capacity])[1])
    manager.decide_all(served.outputs[0][:, None], np.zeros(1, np.int64), *rules, queues)
    hits = np.add.reduceat(served.hits(0).astype(np.int32), pages.request_start[:-1])
    rows = np.stack([served.decisions[0], hits, served.replaced[0], served.dirty_evicted[0]], axis=1)
    runner = Runner(program, path, batch, served.features.shape[2], 4)
    found = [runner.run(precision, capacity, False) for precision in range(len(PRECISIONS))]
    caches = [runner.run(precision, capacity, True)["decisions"] for precision in range(len(PRECISIONS))]
    return Agreement(
        len(batch),
        int((found[0]["inputs"].view(np.uint32) != served.features[0].view(np.uint32)).any(axis=1).sum()),
        float(np.abs(found[0]["outputs"] - served.outputs[0]).max()),
        tuple(int((one["decisions"][:, 0] != queues[:, 0]).sum()) for one in found),
        int((caches[0] != rows).any(axis=1).sum()),
        tuple(float(one[:, 1].sum() - hits.sum()) / len(pages.page_ids) for one in caches),
    )


def _on_torch(bundle: Bundle) -> CachingServing:
    """A bundle's caching model on torch, which runs whole traces at once."""
    values: Any = bundle.manifest
    policy = values["policy"]
    every = int(policy["sequence"]) if policy["state"] == "reset100" else 0
    weights = numpy_load(bundle.files["weights.safetensors"])
    infer_all = torch_infer_all(weights, 1, every)
    return CachingServing(
        values["features"], policy, values["calibration"], values["geometry"], torch_infer(weights, 1),
        infer_all=infer_all,
    )  # fmt: skip


def workload_agreement(program: Path, path: Path, batch: RequestBatch) -> Agreement:
    """Of a workload classifier and a trace: the category that each request is served under."""
    serving = load(path).serving()
    seen = serving.run(batch)
    runner = Runner(program, path, batch, seen.features.shape[1], seen.probabilities.shape[1])
    found = [runner.run(precision, 0, False) for precision in range(len(PRECISIONS))]
    known = found[0]["outputs"][seen.window :: seen.window]
    return Agreement(
        len(batch),
        -1,
        float(np.abs(known - seen.probabilities[: len(known)]).max()),
        tuple(int((one["decisions"][:, 0] != seen.of_requests(len(batch))).sum()) for one in found),
        -1,
        (),
    )


def agreements(program: Path) -> Iterator[tuple[str, str, Agreement]]:
    """Of every captured trace with its category's caching model and with the classifier."""
    for trace in sorted(Path("data/requests").glob("*/*.parquet")):
        batch = batch_of(read_trace(trace))
        for path in sorted(paths.BUNDLES.glob(f"caching.{trace.parent.name}.*")):
            if (path / "manifest.json").exists():
                yield trace.stem, path.name, caching_agreement(program, path, batch)
        for path in sorted(paths.BUNDLES.glob("workload.*")):
            yield trace.stem, path.name, workload_agreement(program, path, batch)


def print_agreement(program: Path) -> None:
    """A row for each trace and model, and their sums."""
    table = Table(
        "trace", "model", "requests", "inputs differ", "output", *PRECISIONS, "cache rows differ", "hit ratio, points"
    )
    sums: dict[str, list[Agreement]] = {}
    for trace, model, one in agreements(program):
        sums.setdefault(model, []).append(one)
        cells = ["-" if count < 0 else str(count) for count in (one.inputs, *one.decisions, one.cache)]
        moved = ", ".join(f"{100 * value:+.3f}" for value in one.moved)
        table.add_row(trace, model, str(one.requests), cells[0], f"{one.output:.1e}", *cells[1:], moved)
    for model, all_of in sums.items():
        requests = sum(one.requests for one in all_of)
        differ = [sum(one.decisions[k] for one in all_of) for k in range(len(PRECISIONS))]
        shares = [f"{count} ({100 * (1 - count / requests):.3f} % equal)" for count in differ]
        table.add_row("all", model, str(requests), "", "", *shares, "", "")
    out().print(table)


def drawn_weights(layers: int, units: int, inputs: int) -> dict[str, Rows]:
    """Tensors of a caching network."""
    rng = np.random.default_rng(derive_seed(7, "runtime", layers, units))
    shapes: dict[str, tuple[int, ...]] = {}
    for k in range(layers):
        shapes |= {
            f"lstm.weight_ih_l{k}": (4 * units, units if k else inputs),
            f"lstm.weight_hh_l{k}": (4 * units, units),
        }
        shapes |= {f"lstm.bias_ih_l{k}": (4 * units,), f"lstm.bias_hh_l{k}": (4 * units,)}
    for head, rows in (("cached", 1), ("duration", 3)):
        shapes |= {f"{head}.weight": (rows, units), f"{head}.bias": (rows,)}
    return {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}


def onnx_step_us(layers: int, units: int, inputs: int) -> tuple[float, float]:
    """Median and 99th percentile of a step on onnxruntime, one thread, the state going round."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    model = one_step(OnnxGraph(drawn_weights(layers, units, inputs)), inputs)
    session = onnxruntime.InferenceSession(model, options)
    rng = np.random.default_rng(derive_seed(7, "runtime", "inputs"))
    h = c = np.zeros((layers, 1, units), np.float32)
    taken = []
    for _ in range(STEPS):
        row = rng.normal(0, 1, (1, inputs)).astype(np.float32)
        start = time.perf_counter_ns()
        _, _, h, c = session.run(["cached", "duration", "h_out", "c_out"], {"features": row, "h": h, "c": c})
        taken.append(time.perf_counter_ns() - start)
    return float(np.median(taken)) / 1e3, float(np.percentile(taken, 99)) / 1e3


def print_steps(program: Path) -> None:
    """A row for each shape, precision and path."""
    table = Table("shape", "precision", "path", "weights, bytes", "median µs", "p99 µs")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines()[1:]:
        table.add_row(*line.split())
    for layers, units, inputs in ((2, 64, 16), (3, 256, 20)):
        median, p99 = onnx_step_us(layers, units, inputs)
        table.add_row(f"{layers}x{units}", "fp32", "onnxruntime", "", f"{median:.2f}", f"{p99:.2f}")
    out().print(table)


def main() -> None:
    """Build the library and print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("agreement", "steps"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if parser.parse_args().what == "steps":
            built(folder, "bench/bench_lstm")
            print_steps(folder / "bench/bench_lstm")
        else:
            built(folder, "tests/serve_run")
            print_agreement(folder / "tests/serve_run")


if __name__ == "__main__":
    main()

"""Whether types of CPU give the same bytes: inputs, both LSTMs' trainings, their outputs, a cache by them, a forest.

    .venv/bin/python benchmarks/cpu_types.py               on this CPU and on emulated ones, in the stages' environment
    .venv/bin/python benchmarks/cpu_types.py --free        the same, but libraries choose by the CPU

The requests are made up, the networks and their fits are those of params.yaml, two epochs long. Emulated types take
`qemu-x86_64` (Debian's package qemu-user) and some minutes each. qemu 7.2 emulates what oneDNN compiles for AVX2
wrongly or not at all: no real CPU agrees with it. So all CPUs are compared with oneDNN held to SSE4.1, and the first
column is what stages do on this one. For oneDNN's AVX2 speaks its machine code: each CPU compiles a step of both
networks, and the pieces are compared byte by byte (a few are addresses) and searched for instructions that makers
answer each in their own way (with `objdump`).
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.table import Table as Shown

from cachezoo.coded import Coded
from cachezoo.config.load import load_params
from cachezoo.console import out
from cachezoo.features.sequence import Memory, fit_features, open_inputs, raw_columns
from cachezoo.features.window import fit_inputs
from cachezoo.kernels.manager_limits import Cache
from cachezoo.models.forest import ForestRows, fit_forest, forest_scorer
from cachezoo.models.lstm import CachingLstm, WorkloadLstm
from cachezoo.models.trained import Feature
from cachezoo.pinned import PINNED
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace, TraceMeta
from cachezoo.zoo.caching import fit as caching
from cachezoo.zoo.caching.infer import teacher_outputs
from cachezoo.zoo.caching.sequences import Sequences
from cachezoo.zoo.caching.serve import serve_decisions
from cachezoo.zoo.workload import fit as workload
from cachezoo.zoo.workload.infer import predict
from cachezoo.zoo.workload.windows import Prepared, cut_windows

ROOT = Path(__file__).resolve().parents[1]
HERE = "this CPU"
EMULATED = {"ONEDNN_MAX_CPU_ISA": "SSE41"}  # what qemu 7.2 emulates rightly
TYPES = ("Haswell", "Skylake-Client", "EPYC", "EPYC-Rome")
CHOICES = (
    "ATEN_CPU_CAPABILITY", "MKL_CBWR", "NPY_DISABLE_CPU_FEATURES", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE",
)  # fmt: skip
REQUESTS, CATEGORY, SEED, EPOCHS, TEACHERS, WIDTH = 2000, "web", 7, 2, 5, 16
MAKERS_OWN = ("rcp", "rsqrt")  # instructions for approximate reciprocals, and those of square roots


def hashed(*arrays: Any) -> str:  # noqa: ANN401 - arrays of any kind
    """The first digits of a sha256 of arrays' bytes."""
    import numpy as np

    digest = hashlib.sha256()
    for values in arrays:
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:12]


def _trace(rng: np.random.Generator, name: str, most: int) -> Trace:
    return Trace(
        time_us=np.cumsum(rng.integers(1, 3000, REQUESTS)),
        op=rng.integers(0, 2, REQUESTS).astype(np.uint8),
        offset=rng.integers(0, most, REQUESTS) * 4096,
        size=rng.integers(1, 5, REQUESTS) * 4096,
        volume=Coded.constant("vda", REQUESTS),
        meta=TraceMeta(name, name, "made", "0" * 64, "CC0"),
    )


def of_numpy(rng: np.random.Generator) -> dict[str, str]:
    """Functions, a sum and products of numpy's."""
    values = rng.standard_normal((400, 300))
    small, functions = values.astype(np.float32), (np.log, np.log1p, np.log2, np.exp, np.sqrt)
    return {
        "numpy": hashed(*(f(np.abs(values)) for f in functions), values.sum()),
        "numpy's products": hashed(values @ values.T, small @ small.T),
    }


def of_caching(rng: np.random.Generator) -> dict[str, str]:
    """The caching LSTM, a cache by its outputs, and a forest of its inputs."""
    params = load_params(ROOT / "params.yaml")
    trace, own = _trace(rng, CATEGORY, 900), caching.Settings.of(params, CATEGORY)
    pages = expand_pages(trace)
    capacity = pages.n_pages // 10
    columns = raw_columns(batch_of(trace), pages, [capacity], Memory.of(own.features.model_dump()))
    inputs = open_inputs(columns, 0, fit_features([columns], "caching", False), own.features.clip)
    lanes = inputs.reshape(-1, own.model.sequence, inputs.shape[1])
    shape = (*lanes.shape[:2], TEACHERS)
    cached, durations = (rng.random(shape) < 0.4).astype(np.float32), rng.integers(-1, 3, shape)
    sequences = Sequences(lanes, cached, np.ones(shape, np.float32), durations, np.arange(len(lanes)) == 0)
    brief = replace(own, fit=own.fit.model_copy(update={"max_epochs": EPOCHS}))
    weights, curves = caching.fit_network("caching", sequences, sequences, brief, SEED)
    outputs = teacher_outputs(weights, inputs[:, None], own.fit.threads, 0)[:, 0, 0]
    admitted = outputs[:, 0] >= np.median(outputs[:, 0])
    queues = np.where(admitted, outputs[:, 1:].argmax(axis=1) + 1, 0).astype(np.int32)
    cache = Cache(capacity, 0.5, "stay", "three")
    served = serve_decisions(trace.op, pages, queues, cache, params.policy.manager.model_dump())
    names = [f"input_{k}" for k in range(inputs.shape[1])]
    rows = ForestRows(inputs, inputs[:, 0] > inputs[:, 1], np.arange(len(inputs)) % 5 == 0, names)
    forest = fit_forest(rows, params.model.admission, params.fit.admission, SEED)
    return {
        "caching LSTM: inputs": hashed(inputs),
        "caching LSTM: weights": hashed(*weights.values()),
        "caching LSTM: curves": hashed(np.array(curves)),
        "caching LSTM: outputs": hashed(outputs),
        "caching LSTM: its cache": hashed(queues, served.outcome, served.replaced),
        "forest": hashed(np.frombuffer(forest.text.encode(), np.uint8)),
        "forest's scores": hashed(forest_scorer(forest.text)(inputs)),
    }


def of_workload(rng: np.random.Generator) -> dict[str, str]:
    """The workload classifier."""
    own = workload.Settings.of(load_params(ROOT / "params.yaml"))
    ranges = {"near": 100, "far": 100_000}
    parts = [Prepared(name, name, _trace(rng, name, most)) for name, most in ranges.items()]
    windows = cut_windows(parts, list(ranges), own.model.window, own.fit.stride)
    features = [Feature(**row) for row in fit_inputs(windows.columns, own.model.inputs)]
    inputs = windows.inputs(features, own.clip)
    brief = replace(own, fit=own.fit.model_copy(update={"max_epochs": EPOCHS}))
    weights, curves = workload.fit_network("workload", len(ranges), inputs, inputs, brief, SEED)
    return {
        "workload LSTM: inputs": hashed(inputs.rows),
        "workload LSTM: weights": hashed(*weights.values()),
        "workload LSTM: curves": hashed(np.array(curves)),
        "workload LSTM: outputs": hashed(predict(weights, inputs.rows, own.fit.threads)),
    }


def hashes() -> dict[str, str]:
    """Everything, on the CPU that this process sees."""
    rng = np.random.default_rng(SEED)
    return of_numpy(rng) | of_caching(rng) | of_workload(rng)


def step() -> None:
    """One step of each network, forward and back, so that oneDNN compiles what it takes."""
    params = load_params(ROOT / "params.yaml")
    one, other = params.model.caching, params.model.workload
    torch.set_num_threads(1)
    for network, width in (
        (CachingLstm(WIDTH, one.layers, one.units, TEACHERS), WIDTH),
        (WorkloadLstm(len(other.inputs), other.layers, other.units, TEACHERS), len(other.inputs)),
    ):
        rows = torch.ones(16, 100, width)
        given = network(rows)
        (given[0] if isinstance(given, tuple) else given).sum().backward()


def run(cpu: str, word: str, variables: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run this file with one word on a CPU, in a process of its own that works in a folder."""
    emulator = [] if cpu == HERE else ["qemu-x86_64", "-cpu", cpu]
    command = [*emulator, sys.executable, str(Path(__file__).resolve()), word]
    environment = os.environ | variables | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def hashes_of(cpu: str, variables: dict[str, str]) -> dict[str, str]:
    """`hashes` on a CPU."""
    done = run(cpu, "--one", variables, ROOT)
    if done.returncode:
        sys.exit(f"{cpu}: {done.stderr}")
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def code_of(cpu: str, variables: dict[str, str], folder: Path) -> dict[str, bytes]:
    """The machine code that oneDNN compiles for `step` on a CPU, by name; up to where an emulated one fails."""
    folder.mkdir()
    run(cpu, "--step", variables | {"ONEDNN_JIT_DUMP": "1"}, folder)
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.bin"))}


def differing(code: dict[str, bytes], other: dict[str, bytes]) -> str:
    """How another CPU's machine code differs."""
    if any(len(code.get(name, b"")) != len(text) for name, text in other.items()):
        return "other pieces"
    count = sum(a != b for name in other for a, b in zip(code[name], other[name], strict=True))
    return f"{len(other)} pieces, {count} of {sum(map(len, other.values()))} bytes differ"


def makers_own(folder: Path) -> str:
    """How many instructions of oneDNN's code a maker answers in its own way."""
    disassembler = shutil.which("objdump")
    if disassembler is None:
        return "no objdump, not searched"
    command = [disassembler, "-D", "--no-show-raw-insn", "-b", "binary", "-m", "i386:x86-64"]
    lines = [
        line.split("\t")[1]
        for path in sorted(folder.glob("*.bin"))
        for line in subprocess.run([*command, path], capture_output=True, text=True, check=True).stdout.splitlines()
        if line.count("\t")
    ]
    own = sum(line.lstrip("v").startswith(MAKERS_OWN) for line in lines)
    return f"{own} of {len(lines)} instructions"


def main() -> None:
    """Print the hashes of every CPU side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", nargs="*", default=TYPES, help="types that qemu-x86_64 -cpu help lists")
    parser.add_argument("--free", action="store_true", help="let every library choose by the CPU")
    parser.add_argument("--one", action="store_true", help="print this CPU's hashes alone, as JSON")
    parser.add_argument("--step", action="store_true", help="one step of each network, and print nothing")
    given = parser.parse_args()
    if given.one:
        sys.stdout.write(json.dumps(hashes()) + "\n")
        return
    if given.step:
        step()
        return
    cpus = [HERE, *given.cpu] if shutil.which("qemu-x86_64") else [HERE]
    pinned = {name: value for name, value in PINNED.items() if not (given.free and name in CHOICES)}
    as_it_is = hashes_of(HERE, pinned)
    found = {cpu: hashes_of(cpu, pinned | EMULATED) for cpu in cpus}
    with tempfile.TemporaryDirectory() as temporary:
        code = {cpu: code_of(cpu, pinned, Path(temporary, cpu)) for cpu in cpus}
        own = makers_own(Path(temporary, HERE))
    shown = Shown("", "as stages do", *cpus)
    for name, value in as_it_is.items():
        shown.add_row(name, value, *(found[cpu][name] for cpu in cpus))
    out().print(shown)
    for cpu in cpus[1:]:
        out().print(f"oneDNN's code on {cpu}: {differing(code[HERE], code[cpu])}")
    out().print(f"oneDNN's code on {HERE}: {len(code[HERE])} pieces, {own} are their makers' own")


if __name__ == "__main__":
    main()

"""Holds libcachezoo's cache of `reuse.follow` against the simulator on whole traces, and times both.

    python -m scripts.reuse_runtime [--capacity 0.1] [KEY ...]

For each captured page trace, of all roles and of the corpus: how many page accesses differ in their inputs, score,
class, outcome, victim and leader, and the processor time of both. `step` is the most processor time that a page access
took in C, of a request that has several in the mean. `bytes` are what a page more of the capacity takes, and a page
more that is remembered, where each lies in a region of its own. Exits 1 where anything differs.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table

from cachezoo import paths
from cachezoo.bundles import load
from cachezoo.config.load import load_params
from cachezoo.console import out
from cachezoo.features.reuse import LETTERS
from cachezoo.kernels.reuse.past import WIDTH
from cachezoo.models.forest import read_forest
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.pages import PageAccesses, capacity_pages
from cachezoo.zoo.reuse.model import MODEL_FILE
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.reuse.serve import ReuseServing

LIBRARY = Path(__file__).parents[1] / "runtimes/c"
ID = "reuse.follow"
NAMES_MOST, UNKNOWN = 64, -1
REQUEST = np.dtype(
    [("offset", "i8"), ("size", "i8"), ("volume", "i4"), ("user", "i4"), ("op", "i4"), ("flags", "i4")]
)  # fmt: skip
TOLD = np.dtype(
    [
        ("page", "i8"), ("victim_page", "i8"), ("outcome", "i4"), ("victim", "i4"), ("leader", "i4"), ("class", "i4"),
        ("slot", "i4"), ("dirty", "i4"), ("score", "f4"), ("row", "f4", WIDTH), ("rest", "f4"),
    ]
)  # fmt: skip
COMPARED = ("row", "score", "class", "outcome", "victim", "leader")


@dataclass(frozen=True)
class Driven:
    """What the C program did.

    Attributes:
        told: of each page access, as `TOLD`.
        seconds: of processor time.
        bytes, forgotten, keys: as `cz_stats` counts them.
        longest: the most seconds of processor time of a page access, 0 where requests were not timed.
    """

    told: npt.NDArray[np.void]
    seconds: float
    bytes: int
    forgotten: int
    keys: int
    longest: float


def build(folder: Path, name: str = "drive_reuse", *values: str) -> Path:
    """Compile a program of runtimes/c/tests, with such values for its Makefile.

    Raises:
        RuntimeError: it does not compile.
    """
    program = folder / "tests" / name
    command = ["make", "-s", "-C", str(LIBRARY), f"BUILD={folder}", *values, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return program


def serving_of(bundle: Path, **changes: object) -> ReuseServing:
    """The simulator's cache of a bundle, with some values of its policy changed; its forest is LightGBM's own."""
    manifest: Mapping[str, Any] = load(bundle).manifest
    infer = read_forest(bundle / MODEL_FILE)
    policy = {**manifest["policy"], **changes}
    return ReuseServing(
        features=manifest["features"], policy=policy, calibration=manifest["calibration"], infer=infer
    )  # fmt: skip


def records(batch: RequestBatch) -> npt.NDArray[np.void]:
    """Requests as the C program reads them.

    Raises:
        ValueError: more names in a column than it takes.
    """
    found = np.zeros(len(batch), REQUEST)
    found["offset"], found["size"], found["volume"] = batch.offset, batch.size, batch.volume.codes
    found["op"], found["user"], found["flags"] = batch.op, UNKNOWN, UNKNOWN
    if batch.user is not None:
        found["user"] = batch.user.codes
    if batch.flags is not None:
        bits = [sum(bit for letter, bit in LETTERS.items() if letter in str(name)) for name in batch.flags.names]
        found["flags"] = np.append(np.array(bits, np.int32), 0)[batch.flags.codes]
    if max(found["volume"].max(initial=0), found["user"].max(initial=0)) >= NAMES_MOST:
        raise ValueError(f"more than {NAMES_MOST} volumes or processes")
    return found


def drive(
    program: Path, bundle: Path, batch: RequestBatch, capacity: int, keys: int, values: Sequence[str] = (),
    *, told: bool = True,
) -> Driven:  # fmt: skip
    """Run the C program; `keys` pages are remembered, or as many as the cache needs where that is more.

    Raises:
        RuntimeError: it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        requests, answers = Path(folder) / "requests", Path(folder) / "told"
        records(batch).tofile(requests)
        command = [program, bundle, requests, answers if told else "-", str(capacity), str(keys), *values]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        numbers = done.stdout.split()
        found = np.fromfile(answers, TOLD) if told else np.zeros(0, TOLD)
    return Driven(
        found, float(numbers[1]), int(numbers[2]), int(numbers[3]), int(numbers[4]), float(numbers[5])
    )  # fmt: skip


def page_bytes(program: Path, bundle: Path, batch: RequestBatch, capacity: int) -> tuple[float, float]:
    """Bytes that each page more of the capacity takes, and each more that is remembered."""
    first, known = batch.part(0, 1), 20 * capacity + (1 << 18)  # more than the cache has to remember

    def taken(pages: int, keys: int) -> int:
        return drive(program, bundle, first, pages, keys, told=False).bytes

    least = taken(capacity, known)
    return (taken(2 * capacity, known) - least) / capacity, (taken(capacity, 2 * known) - least) / known


def unequal(
    serving: ReuseServing, batch: RequestBatch, pages: PageAccesses, capacity: int, found: Driven
) -> dict[str, int]:
    """Page accesses that differ in each of `COMPARED`; all of them if their number differs."""
    served = serving.run(batch, pages, capacity)
    run = served.followed.run
    expected = {
        "row": served.seen.inputs, "score": served.scores, "class": served.seen.classes(served.scores, serving.plan),
        "outcome": run.outcome, "victim": run.victim, "leader": served.followed.leader,
    }  # fmt: skip
    if len(found.told) != len(run.outcome):
        return dict.fromkeys(COMPARED, len(run.outcome))
    differs = {name: found.told[name] != expected[name] for name in COMPARED}
    return {name: int(np.count_nonzero(one.reshape(len(one), -1).any(axis=1))) for name, one in differs.items()}


def _traces(keys: Sequence[str]) -> dict[str, Path]:
    params = load_params()
    found: dict[str, Path] = {}
    for role in ("train", "validation", "test"):
        found |= places(params.data.page_categories, params.data.roles, params.data.corpus, role)
    return {key: path for key, path in sorted(found.items()) if not keys or key in keys}


def main() -> None:
    """Print a row for each trace."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capacity", type=float, default=0.1, help="part of a trace's distinct pages")
    parser.add_argument("keys", nargs="*", help="traces; all where none is named")
    given = parser.parse_args()
    bundle = paths.bundle(ID)
    serving, worst = serving_of(bundle), 0
    heads = ("trace", "C", "accesses", *COMPARED, "Python µs", "C µs", "step µs", "bytes")
    table = Table(*heads, title="page accesses that differ, processor time of an access")
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for key, path in _traces(given.keys).items():
            part = Prepared.read(key, path)
            capacity, batch = capacity_pages(given.capacity, part.pages.n_pages), batch_of(part.trace)
            found = drive(program, bundle, batch, capacity, part.pages.n_pages)
            speed = drive(program, bundle, batch, capacity, part.pages.n_pages, told=False)
            held, known = page_bytes(program, bundle, batch, capacity)
            timed = drive(program, bundle, batch, capacity, part.pages.n_pages, ["longest=1"], told=False)
            first = batch.part(0, 1)
            serving.run(first, first.pages(), 1)  # kernels are compiled before the clock starts
            start = time.process_time()
            counts = unequal(serving, batch, part.pages, capacity, found)
            m, seconds = len(part.pages.page_ids), time.process_time() - start
            worst = max(worst, *counts.values())
            cells = (*(str(counts[name]) for name in COMPARED), f"{1e6 * seconds / m:.2f}")
            table.add_row(key, str(capacity), str(m), *cells, f"{1e6 * speed.seconds / m:.2f}",
                          f"{1e6 * timed.longest:.0f}", f"{held:.0f}, {known:.0f}")  # fmt: skip
    out().print(table)
    sys.exit(1 if worst else 0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()

"""Requests through libcachezoo's admission and prefetch models: the program runtimes/c/tests/history_run.c."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cachezoo.serving.requests import RequestBatch

COLUMNS = ("volume", "namespace", "user", "flags")
OUTPUTS = 3


@dataclass(frozen=True)
class Answered:
    """What the C library made of n requests.

    Attributes:
        features: float32[n, F].
        outputs: float64[n, 3]; of admission the first alone.
        decisions: int32[n, 4]: admit, low, high, fetch.
        counters: requests, forgotten, keys and bytes of the stream.
    """

    features: np.ndarray
    outputs: np.ndarray
    decisions: np.ndarray
    counters: dict[str, int]


def _rows(batch: RequestBatch) -> np.ndarray:
    rows = np.full((len(batch), 8), -1, np.int64)
    for place, name in enumerate(("time_us", "op", "offset", "size")):
        rows[:, place] = getattr(batch, name)
    for place, name in enumerate(COLUMNS, 4):
        if getattr(batch, name) is not None:
            rows[:, place] = getattr(batch, name).codes
    return rows


def answer(program: Path, bundle: Path, batch: RequestBatch, folder: Path, **options: object) -> Answered:
    """Run requests through a fresh stream; options are those of the program."""
    names = [(place, getattr(batch, name)) for place, name in enumerate(COLUMNS)]
    lines = [f"{place}\t{text}\n" for place, coded in names if coded is not None for text in coded.names]
    (folder / "names").write_text("".join(lines), encoding="utf-8")
    _rows(batch).tofile(folder / "requests")
    given = [f"{key}={value}" for key, value in options.items()]
    command = [str(program), str(bundle), *(str(folder / name) for name in ("names", "requests", "rows")), *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    counters = json.loads(done.stdout)
    size = (folder / "rows").stat().st_size // max(len(batch), 1)
    features = (size - 8 * OUTPUTS - 16) // 4
    kind = np.dtype([("features", "<f4", (features,)), ("outputs", "<f8", (OUTPUTS,)), ("decisions", "<i4", (4,))])
    table = np.fromfile(folder / "rows", kind)
    return Answered(table["features"], table["outputs"], table["decisions"], counters)

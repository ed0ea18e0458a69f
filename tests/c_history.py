"""Requests through libcachezoo's admission models: the program runtimes/c/tests/history_run.c."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cachezoo.serving.requests import RequestBatch

COLUMNS = ("volume", "namespace", "user", "flags")


@dataclass(frozen=True)
class Answered:
    """What the C library made of n requests.

    Attributes:
        features: float32[n, F].
        scores: float64[n].
        admit: int32[n].
        counters: requests, forgotten, keys and bytes of the stream.
    """

    features: np.ndarray
    scores: np.ndarray
    admit: np.ndarray
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
    kind = np.dtype([("features", "<f4", ((size - 12) // 4,)), ("scores", "<f8"), ("admit", "<i4")])
    table = np.fromfile(folder / "rows", kind)
    return Answered(table["features"], table["scores"], table["admit"], counters)

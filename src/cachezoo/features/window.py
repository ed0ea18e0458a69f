"""Inputs of the workload classifier: one code for training and serving, numpy only.

Every value comes from the requests of its window alone, and from differences of their addresses and times. So the same
window, moved on the disk or run at another pace, gives the same inputs to the last bit. Formulas (`Feature.formula`):
    window.slog_delta       ± log2(1 + sectors between the previous request's end and this one's start)
    window.log2_nearest     log2(1 + sectors to the nearest earlier request; 0 where they touch or overlap); -1 for none
    window.slog_place       ± log2(1 + sectors from the middle one of the window's starts to this start)
    window.run              log2(1 + requests so far that each began where the one before ended)
    window.continues        1 if an earlier request ended where this one starts
    window.repeats          log2(1 + earlier requests that overlap this one)
    window.age              log2(1 + requests since the last one that overlaps this one); 0 for none
    window.log1p_gap        ln(1 + time since the previous request, over the window's mean gap)
    size.log2_bytes         log2 of the size
    request.op              0 read, 1 write

Earlier and previous requests are those of the window to the same volume (of `window.log1p_gap`: to any). The first has
neither gap nor jump.

A model may take some of `cachezoo.features.sequence.REQUEST_FORMULAS` instead, as the paper's classifier does. They are
known at every request, and read the address itself and microseconds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cachezoo.arrays import F32, I64
from cachezoo.errors import ConfigError
from cachezoo.features.sequence import COMMON_NAMES, MIN_SCALE, REQUEST_FORMULAS, moments, request_columns
from cachezoo.kernels import window as kernel
from cachezoo.serving.requests import RequestBatch

WIDTH = kernel.N_COLUMNS
# formula: name, unit, column of `window_columns`
_ENTRIES = {
    "window.slog_delta": ("delta", "log2 sectors", kernel.DELTA),
    "window.log2_nearest": ("nearest", "log2 sectors", kernel.NEAREST),
    "window.slog_place": ("place", "log2 sectors", kernel.PLACE),
    "window.run": ("run", "log2 requests", kernel.RUN),
    "window.continues": ("continues", "0 or 1", kernel.CONTINUES),
    "window.repeats": ("repeats", "log2 requests", kernel.REPEATS),
    "window.age": ("age", "log2 requests", kernel.AGE),
    "window.log1p_gap": ("gap", "ln mean gaps", kernel.GAP),
    "size.log2_bytes": ("size", "log2 bytes", kernel.SIZE),
    "request.op": ("op", "0 read, 1 write", kernel.OP),
}
# The same of what is known at every request and no window has, behind the window's columns in `training_columns`.
_OF_REQUESTS = {
    "time.log1p_gap": ("gap", "ln µs", WIDTH),
    "address.slog_delta": ("delta", "log2 sectors", WIDTH + 1),
    "address.page": ("address", "pages", WIDTH + 2),
}
_TRAINED = {**_ENTRIES, **_OF_REQUESTS}
WINDOW_FORMULAS = tuple(_ENTRIES)
NAMES = tuple(name for name, _, _ in _ENTRIES.values())


def window_columns(batch: RequestBatch, starts: I64, length: int) -> F32:
    """Raw inputs of windows.

    Args:
        batch: requests.
        starts: int64[w], the first request of each window.
        length: requests in a window; the last one's may be fewer, and its missing rows are 0.

    Returns:
        float32[w, length, WIDTH], a column for each of `WINDOW_FORMULAS`, in that order.
    """
    requests = kernel.Requests(
        np.ascontiguousarray(batch.time_us),
        np.ascontiguousarray(batch.op),
        np.ascontiguousarray(batch.volume.codes),
        np.ascontiguousarray(batch.offset),
        np.ascontiguousarray(batch.size),
    )
    return kernel.window_columns(requests, starts, length)


def training_columns(batch: RequestBatch, starts: I64, length: int) -> F32:
    """`window_columns` of whole windows, and behind them what is known at every request.

    Args:
        batch: requests, from the first of their trace on.
        starts: int64[w], the first request of each window, at least `length` before the end.
        length: requests in a window.

    Returns:
        float32[w, length, WIDTH + 3].
    """
    places = [COMMON_NAMES.index(name) for name, _, _ in _OF_REQUESTS.values()]
    of_requests = request_columns(batch).common[:, places]
    rows = starts[:, None] + np.arange(length)
    return np.concatenate([window_columns(batch, starts, length), of_requests[rows]], axis=2)


def check_inputs(formulas: Sequence[str]) -> None:
    """Refuse inputs that are none, come twice, or are partly of windows and partly of requests.

    Raises:
        ConfigError: it names the first.
    """
    for place, formula in enumerate(formulas):
        if formula not in _TRAINED or formula in formulas[:place]:
            why = "twice" if formula in _TRAINED else "no input"
            raise ConfigError(f"model.workload.inputs: {formula} is {why}; choose among {', '.join(_TRAINED)}")
    if not set(formulas) <= set(REQUEST_FORMULAS) and not set(formulas) <= set(WINDOW_FORMULAS):
        of_request = next(formula for formula in formulas if formula in _OF_REQUESTS)
        message = f"{of_request} is of a request, others are of its window"
        raise ConfigError(f"model.workload.inputs: {message}; choose all among {', '.join(REQUEST_FORMULAS)}")


def fit_inputs(columns: F32, formulas: Sequence[str]) -> list[dict[str, Any]]:
    """The inputs in order with their normalisation, as plain dicts of `cachezoo.models.trained.Feature`.

    Args:
        columns: raw inputs of the train windows, at least one, and of no others, as `training_columns` gives them.
        formulas: those to take, all of `WINDOW_FORMULAS` or all of `cachezoo.features.sequence.REQUEST_FORMULAS`.

    Raises:
        ConfigError: a formula that is none, or comes twice, or both kinds.
    """
    check_inputs(formulas)
    values = columns.reshape(-1, columns.shape[2]).astype(np.float64)
    rows = []
    for formula in formulas:
        name, unit, place = _TRAINED[formula]
        if formula in _OF_REQUESTS:
            mean, scale = moments([values[:, place]], formula)
        else:
            mean, scale = float(values[:, place].mean()), max(float(values[:, place].std()), MIN_SCALE)
        rows.append({"name": name, "formula": formula, "unit": unit, "mean": mean, "scale": scale})
    return [{"encoding": "number", **row} for row in rows]


def normalised(columns: F32, features: Sequence[Mapping[str, Any]], clip: float) -> F32:
    """Model inputs float32[w, T, F] of raw ones.

    Args:
        columns: as `window_columns` gives them or, for inputs of requests, `training_columns`.
        features: the model's inputs, as in train.json or a manifest.
        clip: values are cut to ± this.
    """
    out = np.empty((*columns.shape[:2], len(features)), np.float32)
    for place, entry in enumerate(features):
        values = columns[:, :, _TRAINED[entry["formula"]][2]].astype(np.float64)
        out[:, :, place] = np.clip((values - entry["mean"]) / entry["scale"], -clip, clip)
    return out

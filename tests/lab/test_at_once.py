"""Programs that run together: whose a window is, and every method on it."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.errors import TrainingError
from cachezoo.features.sequence import REQUEST_FORMULAS
from cachezoo.zoo.workload.windows import Windows
from lab.notes.at_once import one_hot, told_at_once, windows_at_once
from tests.lstm_data import CLASSES, FIT, make_stream

PAPER = replace(FIT, model=FIT.model.model_copy(update={"inputs": list(REQUEST_FORMULAS)}))


def at_once(n: int, seed: int) -> Windows:
    """Two programs that issue by turns, in bursts."""
    pairs, turns = (make_stream(n, seed + k, name) for k, name in enumerate(CLASSES))
    ticks = np.arange(n)
    first = replace(pairs, time_us=ticks // 40 * 8000 + ticks % 40 * 10)
    # The second's bursts lie between the first's; a clock counts from its first request.
    between = np.where(ticks > 0, first.time_us + 4000, 0)
    return windows_at_once([first, replace(turns, time_us=between)], 12, 5)


def test_a_window_is_that_of_the_program_that_issued_most_of_it() -> None:
    one, other = (make_stream(60, seed, name) for seed, name in ((1, "pairs"), (2, "turns")))
    one, other = replace(one, time_us=np.arange(60) * 10), replace(other, time_us=np.arange(60) ** 2)
    found = windows_at_once([one, other], 7, 3)
    first = [(10 * i, 0) for i in range(60)]
    # Both end together: the second's clock is compressed to the first's.
    second = [(round(i * i * 590 / 3481), 1) for i in range(60)]
    order = [label for _, label in sorted(first + second)]
    naive = [int(sum(order[low : low + 7]) > 3.5) for low in range(0, 114, 3)]
    assert found.labels.tolist() == naive and len(found.columns) == len(naive)


def test_every_request_has_one_class() -> None:
    windows = at_once(120, 1)
    for name in ("twsd", "frequency", "iosize"):
        rows = one_hot(name, windows).rows
        assert rows.shape[:2] == windows.columns.shape[:2] and (rows.sum(axis=2) == 1).all()


def test_every_method_names_the_windows() -> None:
    train, choosing, judged = at_once(1200, 1), at_once(400, 3), at_once(400, 5)
    found = told_at_once(train, choosing, judged, FIT, PAPER)
    assert list(found) == [
        "LSTM", "LSTM, the paper's inputs", "twsd into an RNN", "frequency into an RNN", "iosize into an RNN", "tree4",
        "twsd", "frequency", "iosize",
    ]  # fmt: skip
    assert found["LSTM"] > 0.9 and all(0.3 <= share <= 1 for share in found.values())


def test_a_program_without_a_window_of_its_own_is_one_line() -> None:
    windows = at_once(400, 1)
    none = windows.of(windows.labels == 0)
    with pytest.raises(TrainingError, match=r"^pairs \+ turns: one issues most of no window; take more --requests$"):
        told_at_once(none, windows, windows, FIT, PAPER)

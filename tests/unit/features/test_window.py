import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.features.window import NAMES, WIDTH, WINDOW_FORMULAS, fit_inputs, normalised, window_columns
from cachezoo.serving.requests import RequestBatch
from tests.oracles.window import naive_row
from tests.without_numba import printed

GIB = 1 << 30


def drawn(n: int, seed: int, volumes: int = 2) -> RequestBatch:
    """Requests that repeat, touch, overlap and run on, to some volumes."""
    rng = np.random.default_rng(seed)
    names = tuple(f"v{k}" for k in range(volumes))
    return RequestBatch(
        time_us=np.cumsum(rng.integers(0, 50, n)),
        op=rng.integers(0, 2, n).astype(np.uint8),
        offset=rng.integers(0, 40, n) * 4096,
        size=rng.integers(1, 5, n) * 2048,
        volume=Coded(rng.integers(0, volumes, n).astype(np.int32), names),
    )


def requests_of(batch: RequestBatch, first: int, end: int) -> list[tuple[int, int, str, int, int]]:
    volumes = [batch.volume.names[code] for code in batch.volume.codes]
    columns = (batch.time_us.tolist(), batch.op.tolist(), volumes, batch.offset.tolist(), batch.size.tolist())
    return list(zip(*columns, strict=True))[first:end]


@given(seed=st.integers(0, 10_000), n=st.integers(1, 40), length=st.integers(1, 15), volumes=st.integers(1, 3))
def test_columns_agree_with_the_naive_ones(seed: int, n: int, length: int, volumes: int) -> None:
    batch = drawn(n, seed, volumes)
    starts = np.arange(0, n, max(1, length // 2), dtype=np.int64)
    columns = window_columns(batch, starts, length)
    assert columns.shape == (len(starts), length, WIDTH) and columns.dtype == np.float32
    for rows, first in zip(columns, starts.tolist(), strict=True):
        window = requests_of(batch, first, first + length)
        want = [naive_row(window, i) for i in range(len(window))]
        np.testing.assert_allclose(rows[: len(window)], want, rtol=1e-6, atol=1e-6)
        assert not rows[len(window) :].any()


@pytest.mark.parametrize(
    "moved",
    [
        lambda batch: replace(batch, offset=batch.offset + GIB),
        lambda batch: replace(batch, offset=batch.offset + 512 * 63),
        lambda batch: replace(batch, time_us=batch.time_us * 10),
        lambda batch: replace(batch, time_us=batch.time_us + 10**12),
        lambda batch: replace(batch, offset=batch.offset + GIB, time_us=batch.time_us * 10),
        lambda batch: replace(batch, volume=Coded(1 - batch.volume.codes, batch.volume.names[::-1])),
    ],
)
def test_neither_the_place_on_the_disk_nor_the_clock_reaches_the_inputs(moved) -> None:
    batch = drawn(700, 3)
    starts = np.arange(0, 700, 100, dtype=np.int64)
    np.testing.assert_array_equal(window_columns(moved(batch), starts, 100), window_columns(batch, starts, 100))


def test_a_window_knows_nothing_of_what_is_around_it() -> None:
    batch = drawn(300, 4)
    alone = window_columns(batch.part(100, 200), np.array([0], np.int64), 100)
    np.testing.assert_array_equal(window_columns(batch, np.array([100], np.int64), 100), alone)


def test_what_happens_at_once_has_no_gaps() -> None:
    batch = replace(drawn(20, 5), time_us=np.full(20, 7, np.int64))
    assert not window_columns(batch, np.array([0], np.int64), 20)[:, :, NAMES.index("gap")].any()


def digest(batch: RequestBatch) -> str:
    return hashlib.sha256(window_columns(batch, np.arange(0, len(batch), 30, dtype=np.int64), 60).tobytes()).hexdigest()


def test_same_bits_without_numba_and_no_warning() -> None:
    code = "from tests.unit.features.test_window import digest, drawn\nprint(digest(drawn(500, 6)))"
    assert printed(code) == {digest(drawn(500, 6))}


def test_inputs_are_normalised_by_the_train_windows() -> None:
    columns = window_columns(drawn(2000, 7), np.arange(0, 2000, 50, dtype=np.int64), 50)
    features = fit_inputs(columns, ["size.log2_bytes", "window.run"])
    assert [entry["name"] for entry in features] == ["size", "run"]
    rows = normalised(columns, features, 2.0)
    assert rows.shape == (40, 50, 2) and rows.dtype == np.float32 and np.abs(rows).max() == 2.0
    wide = normalised(columns, features, 100.0).astype(np.float64)
    np.testing.assert_allclose(wide.mean(axis=(0, 1)), 0, atol=1e-6)
    np.testing.assert_allclose(wide.std(axis=(0, 1)), 1, atol=1e-6)
    constant = fit_inputs(np.ones((3, 4, WIDTH), np.float32), WINDOW_FORMULAS)
    assert all(entry["mean"] == 1 and entry["scale"] > 0 for entry in constant)


@pytest.mark.parametrize(
    ("formulas", "match"),
    [
        (["address.run"], "address.run is no input; choose among window.slog_delta"),
        (["request.op", "window.run", "address.page"], "address.page is of a request, others are of its window"),
        (["request.op", "window.run", "request.op"], "request.op is twice"),
    ],
)
def test_inputs_that_are_none(formulas: list[str], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        fit_inputs(np.ones((3, 4, WIDTH), np.float32), formulas)

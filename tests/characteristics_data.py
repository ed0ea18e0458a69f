"""Traces with known answers: Poisson arrivals, Zipf's law, sequences, strides, and edges."""

from typing import Any

import numpy as np

from cachezoo.coded import Coded
from cachezoo.traces.table import Trace, TraceMeta

PAGE = 4096


def made(n: int, **columns: Any) -> Trace:
    """A trace of n reads of one page each, a millisecond apart, unless columns say otherwise."""
    given: dict[str, Any] = {
        "time_us": np.arange(n, dtype=np.int64) * 1000,
        "op": np.zeros(n, np.uint8),
        "offset": np.arange(n, dtype=np.int64) * PAGE,
        "size": np.full(n, PAGE, np.int64),
        "volume": Coded.constant("vda", n),
        "meta": TraceMeta("made", "unknown", "test", "0" * 64),
    }
    return Trace(**given | columns)


def zipf_pages(n: int, pages: int, exponent: float, seed: int) -> np.ndarray:
    """Pages drawn by Zipf's law: rank k with a share in proportion to k^-exponent."""
    rng = np.random.default_rng(seed)
    weights = np.arange(1, pages + 1, dtype=np.float64) ** -exponent
    return rng.choice(pages, n, p=weights / weights.sum()).astype(np.int64)


def zipf_trace(n: int, pages: int, exponent: float, seed: int) -> Trace:
    """Poisson arrivals of one-page requests to pages by Zipf's law, half of them writes."""
    rng = np.random.default_rng(seed)
    return made(
        n,
        time_us=np.cumsum(rng.exponential(1000, n)).astype(np.int64),
        op=(rng.random(n) < 0.5).astype(np.uint8),
        offset=zipf_pages(n, pages, exponent, seed + 1) * PAGE,
    )


def fractional_noise(n: int, exponent: float, seed: int) -> np.ndarray:
    """Fractional Gaussian noise with Hurst's exponent, by circulant embedding (Davies and Harte, 1987)."""
    lags = np.arange(n + 1, dtype=np.float64)
    h2 = 2 * exponent
    covariance = (np.abs(lags + 1) ** h2 - 2 * lags**h2 + np.abs(lags - 1) ** h2) / 2
    spectrum = np.fft.fft(np.concatenate([covariance, covariance[-2:0:-1]])).real
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=2 * n) + 1j * rng.normal(size=2 * n)
    return np.fft.fft(np.sqrt(np.maximum(spectrum, 0) / (2 * n)) * noise).real[:n]


EDGES = {
    "one request": made(1),
    "all at time 0": made(500, time_us=np.zeros(500, np.int64)),
    "row numbers": made(500, time_us=np.arange(500)),
    "one page": made(300, offset=np.zeros(300, np.int64), size=np.full(300, 512)),
    "huge requests": made(3, size=np.full(3, 1 << 30), offset=np.array([0, 1 << 40, 1 << 61])),
    "no reads": made(300, op=np.ones(300, np.uint8)),
    "writes at one time": made(300, op=np.ones(300, np.uint8), time_us=np.append(np.zeros(299, np.int64), 10**9)),
    "centuries": made(300, time_us=np.arange(300) * 10**13),
    "unknown latency": made(300, latency_us=np.full(300, -1)),
    "unknown users": made(300, user=Coded(np.full(300, -1, np.int32), ())),
}

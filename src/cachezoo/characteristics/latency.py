"""Response times as they were traced."""

from dataclasses import dataclass

from cachezoo.arrays import F64, I64
from cachezoo.characteristics.values import CDF_SHARES, quantiles
from cachezoo.traces.table import OP_READ, Trace


@dataclass(frozen=True)
class Latency:
    """Response times of some requests.

    Attributes:
        known: requests whose response time the trace has.
        mean_us, median_us, p90_us, p99_us, p999_us, max_us: of them.
        cdf_share, cdf_us: float64[k]; such a share of them took at most so long.
    """

    known: int
    mean_us: float
    median_us: float
    p90_us: float
    p99_us: float
    p999_us: float
    max_us: float
    cdf_share: F64
    cdf_us: F64


def _latency(values: I64) -> Latency | None:
    if len(values) == 0:
        return None
    median, p90, p99, p999 = quantiles(values, [0.5, 0.9, 0.99, 0.999]).tolist()
    return Latency(
        known=len(values), mean_us=float(values.mean()), median_us=median, p90_us=p90, p99_us=p99, p999_us=p999,
        max_us=float(values.max()), cdf_share=CDF_SHARES, cdf_us=quantiles(values),
    )  # fmt: skip


def latency(trace: Trace) -> dict[str, Latency | None] | None:
    """Response times of `all` requests, of `reads` and of `writes`; None where the trace has none at all."""
    if trace.latency_us is None or not (trace.latency_us >= 0).any():
        return None
    known, read = trace.latency_us >= 0, trace.op == OP_READ
    rows = {"all": known, "reads": known & read, "writes": known & ~read}
    return {name: _latency(trace.latency_us[chosen]) for name, chosen in rows.items()}

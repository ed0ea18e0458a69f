"""The rows that two papers would give this trace.

RC-RNN, Table 4: requests, read/write ratio, mean request size. FIOS, Table II: what chooses the features by which
writes are put into streams of a multi-stream SSD. FIOS names its columns in a sentence each (Sec. IV-A); what that
leaves open is said below and in docs/trace-report.md, and which values are "high" reproduces its worked cases.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.characteristics.arrivals import counts_of
from cachezoo.characteristics.summary import Footprint, Summary, Uses
from cachezoo.characteristics.values import autocorrelation
from cachezoo.traces.table import OP_WRITE, Trace

Bool = npt.NDArray[np.bool_]
PEAK_WINDOW_US = 300_000_000
DAY_S = 86_400
# FIOS, Sec. IV-C and Table III: a characteristic is high from here on. The order is that of the rows below.
HIGH = {
    "acf": 0.75, "random_write_percent": 50.0, "reuse_ratio": 30.0, "mean_write_kb": 64.0, "written_gb_per_day": 88.0,
}  # fmt: skip
# Fig. 8, the base matrix: a feature is chosen where a trace is high in all that one of its rows asks for.
BASE_ROWS = (("A", "10001"), ("C", "11000"), ("S", "00010"), ("S", "10010"), ("F", "00100"), ("F", "10100"))


@dataclass(frozen=True)
class RcRnnRow:
    """RC-RNN, Table 4.

    Attributes:
        requests: number of requests.
        read_write_ratio: reads over writes; None where all are reads ("all read" in the paper).
        mean_request_kb: mean size, KiB.
    """

    requests: int
    read_write_ratio: float | None
    mean_request_kb: float


@dataclass(frozen=True)
class FiosRow:
    """FIOS, Table II.

    Attributes:
        acf: autocorrelation of the times between writes, at lag one; None without a clock or below ten writes.
        random_write_percent: writes that do not begin where their volume's last request ended, of all writes; percent.
        reuse_ratio: page writes that update a page, over those that write a page for the first time.
        mean_write_kb: mean size of a write, KiB.
        working_volume_kb: from each volume's lowest to its highest address, summed, KiB.
        written_gb_per_day: bytes written a day, GB; None without a clock.
        peak_iops: requests a second of the busiest whole five minutes; of the mean where it is shorter; None without
            a clock.
        throughput_iops: requests a second; None without a clock.
        high: which of the five that choose (`HIGH`) are high, as bits in their order.
        features: what FIOS would choose: A adjacent access, C coherency, F frequency, S sequentiality.
    """

    acf: float | None
    random_write_percent: float
    reuse_ratio: float
    mean_write_kb: float
    working_volume_kb: float
    written_gb_per_day: float | None
    peak_iops: float | None
    throughput_iops: float | None
    high: str
    features: str


def rc_rnn_row(summary: Summary) -> RcRnnRow:
    """RC-RNN's Table 4."""
    ratio = summary.reads / summary.writes if summary.writes else None
    return RcRnnRow(summary.requests, ratio, (summary.read_bytes + summary.written_bytes) / summary.requests / 1024)


def choose_features(values: dict[str, float | None]) -> tuple[str, str]:
    """FIOS's choice (Sec. IV-C): each row of the base matrix of which no bit is missing selects its feature.

    Args:
        values: the five characteristics, by the names of `HIGH`; None is not high.

    Returns:
        The bits of what is high, and the features in the order A, C, F, S.
    """
    given = {name: values[name] for name in HIGH}
    bits = "".join("1" if value is not None and value >= HIGH[name] else "0" for name, value in given.items())
    chosen = {feature for feature, row in BASE_ROWS if all(have >= need for have, need in zip(bits, row, strict=True))}
    return bits, "".join(sorted(chosen))


def fios_row(trace: Trace, summary: Summary, footprint: Footprint, used: Uses, follows: Bool) -> FiosRow | None:
    """FIOS's Table II; None where nothing is written.

    Args:
        trace: requests.
        summary: its counts.
        footprint: its footprint.
        used: its pages' uses.
        follows: bool[n] which requests begin where the last one of their volume ended.
    """
    if not summary.writes:
        return None
    write = trace.op == OP_WRITE
    first = int((used.writes > 0).sum())
    gaps = np.diff(trace.time_us[write])
    per_day = summary.written_bytes / 1e9 / summary.span_s * DAY_S if summary.span_s else None
    peak = None
    if summary.span_s is not None:
        whole = summary.span_s * 1e6 >= PEAK_WINDOW_US
        peak = float(counts_of(trace.time_us, PEAK_WINDOW_US).max()) / 300 if whole else summary.requests_per_s
    values: dict[str, float | None] = {
        "acf": autocorrelation(gaps, 1) if summary.clock else None,
        "random_write_percent": 100 * float((~follows[write]).mean()),
        "reuse_ratio": (int(used.writes.sum(dtype=np.int64)) - first) / first,
        "mean_write_kb": summary.written_bytes / summary.writes / 1024,
        "written_gb_per_day": per_day,
    }
    high, features = choose_features(values)
    return FiosRow(
        **values, working_volume_kb=footprint.address_span_bytes / 1024, peak_iops=peak,  # type: ignore[arg-type]
        throughput_iops=summary.requests_per_s, high=high, features=features,
    )  # fmt: skip

"""The rows that two papers would give this trace.

RC-RNN, Table 4: requests, read/write ratio, mean request size. FIOS, Table II: what chooses the features by which
writes are put into streams of a multi-stream SSD (`cachezoo.features.fios`), and three columns more.
"""

from dataclasses import asdict, dataclass

from cachezoo.arrays import Bool
from cachezoo.characteristics.arrivals import counts_of
from cachezoo.characteristics.summary import Footprint, Summary, Uses
from cachezoo.features.fios import choose_features, theta
from cachezoo.traces.table import Trace

PEAK_WINDOW_US = 300_000_000


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


def fios_row(trace: Trace, summary: Summary, footprint: Footprint, used: Uses, follows: Bool) -> FiosRow | None:
    """FIOS's Table II; None where nothing is written.

    Args:
        trace: requests.
        summary: its counts.
        footprint: its footprint.
        used: its pages' uses.
        follows: bool[n] which requests begin where the last one of their volume ended.
    """
    found = theta(trace, used.writes, follows)
    if found is None:
        return None
    peak = None
    if summary.span_s is not None:
        whole = summary.span_s * 1e6 >= PEAK_WINDOW_US
        peak = float(counts_of(trace.time_us, PEAK_WINDOW_US).max()) / 300 if whole else summary.requests_per_s
    values = asdict(found)
    high, features = choose_features(values)
    return FiosRow(
        **values, working_volume_kb=footprint.address_span_bytes / 1024, peak_iops=peak,
        throughput_iops=summary.requests_per_s, high=high, features=features,
    )  # fmt: skip

"""FIOS's choice of features by what a trace is (Bhimani et al., Sec. IV-A and IV-C).

Five characteristics of a trace's writes, each high or not, choose among the features of `cachezoo.features.chunks`. The
paper names its columns (Table II) in a sentence each; what that leaves open is said below and in docs/trace-report.md.
Which values are high it does not say: these thresholds reproduce its worked cases.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from cachezoo.arrays import I32, Bool
from cachezoo.contest.series import autocorrelation
from cachezoo.kernels.characteristics import page_uses
from cachezoo.traces.chunks import continues
from cachezoo.traces.clock import has_clock
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_WRITE, Trace

DAY_S = 86_400
# Sec. IV-C and Table III: a characteristic is high from here on. The order is that of the rows below.
HIGH = {
    "acf": 0.75, "random_write_percent": 50.0, "reuse_ratio": 30.0, "mean_write_kb": 64.0, "written_gb_per_day": 88.0,
}  # fmt: skip
# Fig. 8, the base matrix: a feature is chosen where a trace is high in all that one of its rows asks for.
BASE_ROWS = (("A", "10001"), ("C", "11000"), ("S", "00010"), ("S", "10010"), ("F", "00100"), ("F", "10100"))
LETTERS = "FASC"


@dataclass(frozen=True)
class Theta:
    """The characteristics that choose, of a trace that writes.

    Attributes:
        acf: autocorrelation of the times between writes, at lag one; None without a clock or below ten writes.
        random_write_percent: writes that do not begin where their volume's last request ended, of all writes; percent.
        reuse_ratio: page writes that update a page of 4 KiB, over those that write a page for the first time.
        mean_write_kb: mean size of a write, KiB.
        written_gb_per_day: bytes written a day, GB; None without a clock.
    """

    acf: float | None
    random_write_percent: float
    reuse_ratio: float
    mean_write_kb: float
    written_gb_per_day: float | None


def choose_features(values: Mapping[str, float | None]) -> tuple[str, str]:
    """FIOS's choice (Sec. IV-C): each row of the base matrix of which no bit is missing selects its feature.

    Args:
        values: the five characteristics, by the names of `HIGH`; None is not high.

    Returns:
        The bits of what is high, and the features in the order A, C, F, S; none where no row is met.
    """
    given = {name: values[name] for name in HIGH}
    bits = "".join("1" if value is not None and value >= HIGH[name] else "0" for name, value in given.items())
    chosen = {feature for feature, row in BASE_ROWS if all(have >= need for have, need in zip(bits, row, strict=True))}
    return bits, "".join(sorted(chosen))


def theta(trace: Trace, page_writes: I32, follows: Bool) -> Theta | None:
    """The characteristics of a trace; None where nothing is written.

    Args:
        trace: requests.
        page_writes: int32[n_pages] writes of each page of 4 KiB that it touches.
        follows: bool[n] which requests begin where the last one of their volume ended.
    """
    write = trace.op == OP_WRITE
    writes = int(np.count_nonzero(write))
    if not writes:
        return None
    written, first = int(trace.size[write].sum()), int(np.count_nonzero(page_writes))
    clock = has_clock(trace)
    span_s = int(trace.time_us[-1] - trace.time_us[0]) / 1e6
    return Theta(
        acf=autocorrelation(np.diff(trace.time_us[write]), 1) if clock else None,
        random_write_percent=100 * float((~follows[write]).mean()),
        reuse_ratio=(int(page_writes.sum(dtype=np.int64)) - first) / first,
        mean_write_kb=written / writes / 1024,
        written_gb_per_day=written / 1e9 / span_s * DAY_S if clock else None,
    )


def theta_of(trace: Trace, pages: PageAccesses) -> Theta | None:
    """The characteristics of a trace; None where nothing is written.

    Args:
        trace: requests.
        pages: their page accesses.
    """
    written = page_uses(pages.page_ids, pages.request_start, trace.op, pages.n_pages)[1]
    return theta(trace, written, continues(trace))


def chosen(found: Theta | None) -> tuple[str, str]:
    """The bits of what is high, and FIOS's combination as `cachezoo.zoo.streams.learn` names it, in F, A, S, C.

    Args:
        found: None for a trace that writes nothing: nothing is high, and nothing chosen.
    """
    if found is None:
        return "0" * len(HIGH), ""
    bits, features = choose_features(asdict(found))
    return bits, "".join(letter for letter in LETTERS if letter in features)

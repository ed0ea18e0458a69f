"""An SSD's parameters from service times: fixed costs and rates, the write buffer's length and how fast it drains.

First values come from straight lines; then all parameters of an operation are fitted at once to what the model makes
of the samples, by least squares over the logarithm of the times with a loss that outliers cannot rule. At queue
depth 1 a drive's channels and its stripe do not show: they stay as they were.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import least_squares

from cachezoo.arrays import F64
from cachezoo.devices.analytic import drive_at_rest
from cachezoo.devices.samples import Samples
from cachezoo.errors import DeviceError
from cachezoo.kernels.ssd import ssd_service_us
from cachezoo.settings.device import Ssd

LEAST_US, MOST_US = 1e-3, 1e7
LEAST_MB_S, MOST_MB_S = 1e-2, 1e6
FEWEST = 16
OUTLIER = 0.2  # residuals of the logarithm above it count linearly
BURST = 24  # a burst has so many writes in a row at least
SLOWER, BETTER = 1.3, 0.5  # a full buffer: the later slope is so much steeper, the squares so much smaller
COARSE, FINE = 24, np.geomspace(0.8, 1.25, 15)  # lengths of the write buffer tried
SIDE = 6  # writes at least before and after the turn
MARK_BYTES = 4096


@dataclass(frozen=True)
class Filled:
    """What a burst of writes shows of the write buffer."""

    buffer_bytes: float  # written before writes slowed down, less what had left the buffer by then
    drain_mb_s: float  # rate of the writes from then on, 10**6 bytes/s


def model_us(samples: Samples, ssd: Ssd) -> F64:
    """float64[n] µs that the model says."""
    drive, state = drive_at_rest(ssd)
    times: F64 = ssd_service_us(drive, state, samples.offset, samples.size, samples.write, samples.think_us)
    return times


def line(size: F64, time_us: F64) -> tuple[float, float]:
    """Fixed µs and µs a byte of a straight line through times over sizes, outliers having little weight."""
    start = np.polyfit(size, time_us, 1, w=1 / time_us)
    guess = np.array([max(start[1], LEAST_US), max(start[0], 1 / MOST_MB_S)])
    found = least_squares(
        lambda own: np.log((own[0] + own[1] * size) / time_us),
        guess,
        bounds=([LEAST_US, 1 / MOST_MB_S], [MOST_US, 1 / LEAST_MB_S]),
        x_scale=guess,
        loss="soft_l1",
        f_scale=OUTLIER,
    )
    return float(found.x[0]), float(found.x[1])


def bursts(samples: Samples) -> list[tuple[int, int]]:
    """[begin, end) of the runs of timed writes of one size that are long enough to fill a buffer."""
    written = samples.of(1)
    changes = (np.diff(samples.size) != 0) | (np.diff(written.astype(np.int8)) != 0)
    edges = [0, *(np.flatnonzero(changes) + 1).tolist(), len(samples)]
    return [(a, b) for a, b in pairwise(edges) if b - a >= BURST and written[a]]


def _usual(values: F64) -> float:
    """Mean without the largest twentieth: a stall is no slope."""
    return float(np.sort(values)[: max(1, int(0.95 * values.size))].mean())


def _two_slopes(size: F64, time_us: F64) -> Filled | None:
    """Where the time that writes have taken over the bytes written turns steeper, if it clearly does."""
    bytes_so_far, us_so_far = np.cumsum(size), np.cumsum(time_us)
    plain = np.stack([np.ones_like(bytes_so_far), bytes_so_far], 1)
    squares_of_one = float(np.linalg.lstsq(plain, us_so_far, rcond=None)[1].sum())
    least, at, slopes = np.inf, 0, np.zeros(3)
    inner = np.arange(SIDE, size.size - SIDE)
    for turn in inner[:: max(1, inner.size // 256)].tolist():
        columns = np.column_stack([plain, np.maximum(bytes_so_far - bytes_so_far[turn], 0.0)])
        found, squares, *_ = np.linalg.lstsq(columns, us_so_far, rcond=None)
        if squares.size and squares[0] < least:
            least, at, slopes = float(squares[0]), turn, found
    _, slope, more = slopes.tolist()
    usual = _usual(time_us[: at + 1]), _usual(time_us[at + 1 :])
    if slope <= 0 or min(slope + more, usual[1] / usual[0] * slope) < SLOWER * slope or least > BETTER * squares_of_one:
        return None
    drain = 1 / (slope + more)
    return Filled(float(bytes_so_far[at] * (1 - drain * slope)), float(drain))


def filled(samples: Samples) -> Filled | None:
    """What the samples' bursts of writes show of the buffer; None: none of them filled it."""
    found = [
        _two_slopes(samples.size[a:b].astype(np.float64), samples.time_us[a:b] + samples.think_us[a:b])
        for a, b in bursts(samples)
    ]
    shown = [one for one in found if one is not None]
    if not shown:
        return None
    return Filled(
        float(np.median([one.buffer_bytes for one in shown])), float(np.median([one.drain_mb_s for one in shown]))
    )


def _refine(samples: Samples, start: Ssd, names: tuple[str, ...], op: int) -> tuple[Ssd, float]:
    """Fit the named parameters to the times of one operation, as the model makes them; and the cost that is left."""
    own = samples.of(op)
    low = np.log([LEAST_US if name.endswith("_us") else LEAST_MB_S for name in names])
    high = np.log([MOST_US if name.endswith("_us") else MOST_MB_S for name in names])
    guess = np.clip(np.log([max(getattr(start, name), LEAST_US) for name in names]), low, high)

    def profile(point: F64) -> Ssd:
        return start.model_copy(update=dict(zip(names, np.exp(point).tolist(), strict=True)))

    def residuals(point: F64) -> F64:
        apart: F64 = np.log(model_us(samples, profile(point))[own] / samples.time_us[own])
        return apart

    found = least_squares(residuals, guess, bounds=(low, high), loss="soft_l1", f_scale=OUTLIER, diff_step=1e-4)
    return profile(found.x), float(found.cost)


def _buffered(samples: Samples, start: Ssd, shown: Filled) -> Ssd:
    """Fit writes with each of many lengths of buffer: the cost over the length has steps, which no slope sees."""
    names = ("write_us", "write_mb_s", "program_mb_s")
    written = samples.write == 1
    least, most = float(samples.size[written].max()), float(samples.size[written].sum())
    first = max(shown.buffer_bytes, least)
    lengths = np.concatenate([np.geomspace(least, most, COARSE), first * FINE])
    best, cost = start, np.inf
    for _ in range(2):
        for length in np.clip(lengths, least, most):
            found, left = _refine(samples, start.model_copy(update={"write_buffer_bytes": round(length)}), names, 1)
            if left < cost:
                best, cost = found, left
        lengths = best.write_buffer_bytes * FINE
    return best


def check(samples: Samples, op: int) -> None:
    """Refuse samples from which a fixed cost and a rate cannot be told apart.

    Raises:
        DeviceError: too few of the operation, or all of one size.
    """
    own = samples.size[samples.of(op)]
    name = "writes" if op else "reads"
    if own.size < FEWEST:
        raise DeviceError(f"{own.size} {name} with service times; a fit of an SSD's {name} takes {FEWEST} at least")
    if np.unique(own).size < 2:
        message = f"all {name} are of {own[0]} bytes, which does not tell fixed cost from rate; add other sizes"
        raise DeviceError(message)


def rounded(ssd: Ssd) -> Ssd:
    """With as many digits as a fit can know."""
    names = ("read_us", "write_us", "read_mb_s", "write_mb_s", "program_mb_s")
    values: dict[str, float | int] = {name: float(f"{getattr(ssd, name):.5g}") for name in names}
    if ssd.write_buffer_bytes:
        values["write_buffer_bytes"] = max(round(ssd.write_buffer_bytes / MARK_BYTES), 1) * MARK_BYTES
    return ssd.model_copy(update=values)


def _fit_writes(samples: Samples, start: Ssd) -> Ssd:
    check(samples, 1)
    own = samples.of(1)
    shown = filled(samples)
    if shown is None:  # a buffer larger than what was written at once may be there, and stays
        fixed, slope = line(samples.size[own].astype(np.float64), samples.time_us[own])
        collect = 0.0 if start.write_buffer_bytes else (start.waf - 1) / start.program_mb_s
        rate = 1 / max(slope - collect, 1 / MOST_MB_S)
        values = {"write_us": fixed, "write_mb_s": rate}
        return _refine(samples, start.model_copy(update=values), tuple(values), 1)[0]
    quick = own & (samples.time_us < samples.size / shown.drain_mb_s)  # did not wait for room
    if np.unique(samples.size[quick]).size > 1:
        fixed, slope = line(samples.size[quick].astype(np.float64), samples.time_us[quick])
    else:
        fixed, slope = float(samples.time_us[own].min()) / 2, 1 / start.write_mb_s
    values = {"write_us": fixed, "write_mb_s": 1 / slope, "program_mb_s": shown.drain_mb_s * start.waf}
    return _buffered(samples, start.model_copy(update=values), shown)


def fit_ssd(samples: Samples, start: Ssd) -> Ssd:
    """Fit an SSD's model to service times.

    Args:
        samples: reads and writes of several sizes, or reads alone; a burst of writes in a row shows the buffer.
        start: gives what the samples do not show: channels, stripe, write amplification; without writes all of theirs.

    Returns:
        The fitted model.

    Raises:
        DeviceError: too few reads or writes, or all of one size.
    """
    check(samples, 0)
    own = samples.of(0)
    fixed, slope = line(samples.size[own].astype(np.float64), samples.time_us[own])
    fitted = start.model_copy(update={"read_us": fixed, "read_mb_s": 1 / slope})
    fitted = _refine(samples, fitted, ("read_us", "read_mb_s"), 0)[0]
    if samples.of(1).any():
        fitted = _fit_writes(samples, fitted)
    return rounded(fitted)

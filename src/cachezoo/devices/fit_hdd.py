"""Fit the HDD model to measured service times.

What the caches decide comes first: for each size of read buffer and with writes buffered or not, the model itself says
which requests move the arm. Those that do not lie on a line over size; those that do on a seek curve and a rate, plus a
wait that is even over a revolution. The caches whose lines come nearest to the requests are taken.

What lines cannot see comes after: they take it that the disk always had time to write back. Measured back to back it
has none, and its write buffer fills; and a disk without read buffer loses a revolution between sequential reads, which
looks as even as reads from a buffer. So such models are tried and run, and the nearest is taken.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares, lsq_linear

from cachezoo.arrays import F64, I64
from cachezoo.devices.analytic import disk_at_rest
from cachezoo.devices.fit_ssd import FEWEST, MOST_MB_S, line
from cachezoo.devices.samples import Samples
from cachezoo.errors import DeviceError
from cachezoo.kernels.hdd import hdd_media, hdd_service_us
from cachezoo.settings.device import Hdd, ReadBuffer

B1 = npt.NDArray[np.bool_]

LEAST_ROTATION_US = 1.0  # of times that do not spread, such as a model's with rotation mean
QUANTILES = (np.arange(2000) + 0.5) / 2000
IDLE_US = 1e7  # a disk has read ahead and written back whatever it may
FEWEST_MOVES = 50
MIDDLE, OUTSIDE, ROUNDS = 0.4, 0.7, (1, 5)
SEGMENTS = (1, 2, 4, 8, 16)
SEGMENT_BYTES = (32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20)
TRACK_BYTES = (0, 64 << 10, 96 << 10, 128 << 10, 160 << 10, 192 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20)
CYLINDER_BYTES = (128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20)
WRITE_BUFFER_BYTES = 1 << 20
QUICK = 0.25  # of a revolution: writes that take less did not wait for the platter
BETTER = 0.9  # a model of those tried must be so much nearer
TRIED_WRITE_BUFFER_BYTES = tuple(1 << k for k in range(20, 30))
NO_BUFFER = ReadBuffer(segments=0, segment_bytes=0, track_bytes=0)


def demerit(model_us: F64, measured_us: F64) -> float:
    """Root-mean-square horizontal distance of two distributions of service times, over the measured mean.

    Source: Ruemmler and Wilkes, An introduction to disk drive modeling, IEEE Computer 27(3), 1994.
    """
    apart = np.quantile(model_us, QUANTILES) - np.quantile(measured_us, QUANTILES)
    return float(np.sqrt(np.mean(apart**2)) / measured_us.mean())


def demerit_of(model_us: F64, samples: Samples) -> float:
    """Demerit figure of what a model makes of all requests, on the timed ones."""
    return demerit(model_us[samples.timed], samples.time_us[samples.timed])


def modelled(hdd: Hdd, samples: Samples) -> F64:
    """float64[n] µs, what the model gives for the samples' requests with their idle times."""
    times: F64 = hdd_service_us(disk_at_rest(hdd), samples.offset, samples.size, samples.write, samples.think_us)
    return times


def moves(hdd: Hdd, samples: Samples) -> B1:
    """bool[n], which requests the media serve, by the model's buffers alone."""
    marks = hdd_media(disk_at_rest(hdd), samples.offset, samples.size, samples.write, IDLE_US)
    return np.asarray(marks, np.bool_)


def distances(hdd: Hdd, samples: Samples) -> F64:
    """float64[n], from the end of the request before to the start of each, as a part of the capacity."""
    start = samples.offset % hdd.capacity_bytes
    end = np.concatenate([[0], (start + samples.size)[:-1] % hdd.capacity_bytes])
    apart: F64 = np.abs(start - end) / hdd.capacity_bytes
    return apart


@dataclass(frozen=True)
class Lines:
    """What was fitted to reads or writes."""

    fixed: float  # of requests that do not move the arm, µs; 0 where there are too few
    per_byte: float  # of those, µs
    # µs of a request that moves the arm: [at no distance, more for a seek, by the root of its distance, by its
    # distance, by byte, more by byte at the inner edge]; zeros where there are too few
    move: F64
    rotation: float  # the width of the wait, µs
    loss: float  # sum of the squared distances of the requests from their lines, µs²


def still_line(size: I64, time: F64) -> tuple[float, float, float]:
    """Fixed µs, µs a byte, and loss of requests that do not move the arm; few that did after all hardly count."""
    if size.size < FEWEST_MOVES:
        return 0.0, 0.0, float(np.sum(time**2))
    scale = max(float(np.median(time)), 1.0)
    kib = size / 1024
    fit = least_squares(
        lambda x: (x[0] + x[1] * kib - time) / scale,
        [float(time.min()), 0.0],
        bounds=(0, np.inf),
        loss="cauchy",
        f_scale=0.02,
    )
    fixed, per_kib = fit.x
    return float(fixed), float(per_kib) / 1024, float(np.sum((fixed + per_kib * kib - time) ** 2))


def seek_line(columns: F64, time: F64, rounds: int) -> tuple[F64, float]:
    """Coefficients of the columns, none below 0, and the width of what they leave, taken as an even spread.

    What lies far outside that spread waited for something else as well, such as for a write to reach the media. Where
    the model makes it wait for that, the line must not: in each round after the first it is left out.
    """
    kept = np.ones(time.size, np.bool_)
    for _ in range(rounds):
        line = lsq_linear(columns[kept], time[kept], bounds=(0, np.inf)).x
        rest = time - columns @ line
        even = (np.arange(np.count_nonzero(kept)) + 0.5) / np.count_nonzero(kept) - 0.5
        middle = np.abs(even) < MIDDLE
        width = float(np.sum(even[middle] * np.sort(rest[kept])[middle]) / np.sum(even[middle] ** 2))
        kept = np.abs(rest) <= OUTSIDE * width
        if np.count_nonzero(kept) < FEWEST_MOVES:
            break
    return line, width


def move_line(hdd: Hdd, samples: Samples, which: B1, fixed: float, rounds: int) -> tuple[F64, float, float]:
    """`Lines.move`, the width of what seeks leave unexplained taken as an even spread, and the loss.

    Seeks give the curve and the rotation. What is near takes as long as it does on average, but no less than `fixed`
    and half a revolution: among it are requests that some buffer held after all.
    """
    time, size = samples.time_us[which], samples.size[which] / 1e3
    distance = distances(hdd, samples)[which]
    far = distance > hdd.cylinder_bytes / hdd.capacity_bytes
    if far.sum() < FEWEST_MOVES:
        return np.zeros(6), 0.0, float(np.sum(time**2))
    position = samples.offset[which] % hdd.capacity_bytes / hdd.capacity_bytes
    columns = np.stack([np.ones(time.size), np.sqrt(distance), distance, size, size * position], axis=1)
    seek, width = seek_line(columns[far], time[far], rounds)
    rest = time[far] - columns[far] @ seek
    left = (time - columns[:, 3:] @ seek[3:])[~far]
    near = min(max(float(np.median(left)) if left.size else 0.0, fixed + width / 2), seek[0])
    move = np.concatenate([[near, seek[0] - near], seek[1:3], seek[3:] / 1e3])
    return move, width, float(np.sum(rest**2) + np.sum((left - near) ** 2))


def lines(hdd: Hdd, samples: Samples, which: B1, moved: B1, rounds: int = 1) -> Lines:
    """Fit the timed requests `which`, of which those `moved` wait for the arm, in so many rounds of `seek_line`."""
    still = which & ~moved
    fixed, per_byte, still_loss = still_line(samples.size[still], samples.time_us[still])
    move, width, move_loss = move_line(hdd, samples, which & moved, fixed, rounds)
    return Lines(fixed, per_byte, move, width, still_loss + move_loss)


def read_buffers() -> Iterator[ReadBuffer]:
    """The read buffers tried: none, then by what they take and hold."""
    yield NO_BUFFER
    for segments in SEGMENTS:
        for track in TRACK_BYTES:
            for length in SEGMENT_BYTES:
                if length >= track and (not track or length < 2 * track):
                    yield ReadBuffer(segments=segments, segment_bytes=length, track_bytes=track)


def fit_hdd(samples: Samples, start: Hdd) -> Hdd:
    """The HDD model that comes nearest to measured service times.

    Args:
        samples: reads, or reads and writes.
        start: gives what service times do not show: the scheduler, and the capacity if the samples end before it.

    Returns:
        The model, with rotation by position.

    Raises:
        DeviceError: too few reads move the arm for a seek curve.
    """
    best = _by_lines(samples, start)
    least = demerit_of(modelled(best, samples), samples)
    for tried in (*_without_read_buffer(best, start), *_with_write_buffers(samples, start)):
        found = demerit_of(modelled(tried, samples), samples)
        if found < BETTER * least:
            best, least = tried, found
    return best


def _by_lines(samples: Samples, start: Hdd) -> Hdd:
    reach = int((samples.offset + samples.size).max())
    base = start.model_copy(
        update={
            "capacity_bytes": max(start.capacity_bytes, reach),
            "cylinder_bytes": CYLINDER_BYTES[0],
            "write_buffer_bytes": 0,
            "read_buffer": NO_BUFFER,
        }
    )
    if _writes_stay(base, samples):
        base = base.model_copy(update={"write_buffer_bytes": WRITE_BUFFER_BYTES})
    best = _best(base, samples, "read_buffer", read_buffers())
    best = _best(best, samples, "cylinder_bytes", CYLINDER_BYTES)
    moved = moves(best, samples)
    models = []
    for rounds in ROUNDS:
        read, write = (lines(best, samples, samples.of(op), moved, rounds) for op in (0, 1))
        if not read.move.any():
            message = f"{samples.known} requests: too few reads move the arm; a seek curve takes {FEWEST_MOVES}"
            raise DeviceError(message)
        models.append(_assemble(best, read, write))
    return min(models, key=lambda model: demerit_of(modelled(model, samples), samples))


def _best(base: Hdd, samples: Samples, name: str, values: Iterable[ReadBuffer | int]) -> Hdd:
    """The base with that value of a key whose lines lie nearest to the reads."""
    least, best = np.inf, base
    for value in values:
        tried = base.model_copy(update={name: value})
        loss = lines(tried, samples, samples.of(0), moves(tried, samples)).loss
        if loss < least:
            least, best = loss, tried
    return best


def _writes_stay(base: Hdd, samples: Samples) -> bool:
    """Whether writes end in a buffer: those that must move the arm do not wait for the rotation as reads do."""
    moved = moves(base, samples)
    read, write = (lines(base, samples, samples.of(op), moved) for op in (0, 1))
    return 0 < write.rotation < read.rotation / 2


def _without_read_buffer(found: Hdd, start: Hdd) -> Iterator[Hdd]:
    """The interface's rate was that of the buffer."""
    if found.read_buffer.segments:
        yield found.model_copy(update={"read_buffer": NO_BUFFER, "interface_mb_s": start.interface_mb_s})


def _with_write_buffers(samples: Samples, start: Hdd) -> Iterator[Hdd]:
    """Buffers of many lengths beside what reads alone say, if many writes did not wait for the platter."""
    written = samples.of(1)
    if not written.any() or np.count_nonzero(samples.of(0)) < FEWEST:
        return
    found = _by_lines(replace(samples, timed=samples.of(0)), start)
    quick = written & (samples.time_us < QUICK * found.rotation_us)
    if np.count_nonzero(quick) < FEWEST or np.unique(samples.size[quick]).size < 2:
        return
    fixed, slope = line(samples.size[quick].astype(np.float64), samples.time_us[quick])
    values = {"write_us": float(f"{fixed:.6g}"), "write_settle_us": 0.0}
    if found.read_buffer.segments == 0:
        values["interface_mb_s"] = float(f"{1 / slope:.6g}")
    for length in TRIED_WRITE_BUFFER_BYTES:
        if length >= samples.size[samples.write == 1].max():
            yield found.model_copy(update={**values, "write_buffer_bytes": length})


def _assemble(hdd: Hdd, read: Lines, write: Lines) -> Hdd:
    """The model of fitted lines."""
    near = max(read.move[0] - read.rotation / 2, 0.0)  # what a read takes that moves the arm nowhere
    fixed = min(read.fixed, near) if read.fixed > 0 else near
    values: dict[str, float | str | bool] = {
        "rotation": "position",
        "rotation_us": max(read.rotation, LEAST_ROTATION_US),
        "seek_base_us": near - fixed + read.move[1],
        "seek_root_us": read.move[2],
        "seek_linear_us": read.move[3],
        "switch_us": round(near - fixed, 3),
        "write_settle_us": 0.0,
        "zones": 0,
        "read_us": fixed,
        "write_us": write.fixed if hdd.write_buffer_bytes else fixed,
        "interface_mb_s": _rate(read.per_byte, hdd.interface_mb_s),
    }
    media = read.move[4:]
    if hdd.write_buffer_bytes == 0 and write.rotation > 0:
        values["write_settle_us"] = max(write.move[0] + write.move[1] - read.move[0] - read.move[1], 0.0)
        both = read.per_byte + write.move[4]
        values["overlap"] = bool(abs(read.move[4] - both) > abs(read.move[4] - max(read.per_byte, write.move[4])))
        media = write.move[4:] if not values["overlap"] else media
    for name, cost in (("outer_mb_s", media[0]), ("inner_mb_s", media[0] + media[1])):
        values[name] = _rate(cost, getattr(hdd, name))
    return Hdd.model_validate({**hdd.model_dump(), **{key: _rounded(value) for key, value in values.items()}})


def _rate(cost: float, otherwise: float) -> float:
    """MB/s of a cost in µs a byte, unless it is too small to have been seen."""
    return 1 / cost if cost > 1 / MOST_MB_S else otherwise


def _rounded(value: float | str | bool) -> float | str | bool:
    """Six digits, more than any fit knows."""
    return float(f"{value:.6g}") if isinstance(value, float) else value

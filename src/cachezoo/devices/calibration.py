"""Calibration: a device model fitted to service times on one half of them and tested on the other.

How near a model comes is its demerit figure (`fit_hdd.demerit`), beside that of a baseline with two constants: a fixed
time and a time for each byte, fitted to the same half. DiskSim's modules of real disks are published with demerit
figures of 2 to 15 % (Bucy, Schindler, Schlosser and Ganger, The DiskSim simulation environment, CMU-PDL-08-101, 2008).
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from cachezoo.config.device import Hdd, Ssd
from cachezoo.devices import fit_ssd
from cachezoo.devices.calibration_hdd import fit_disk
from cachezoo.devices.fit_hdd import demerit, distances, modelled
from cachezoo.devices.samples import Samples
from cachezoo.errors import DeviceError
from cachezoo.traces.table import OP_NAMES, OP_READ, Trace

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Model = Hdd | Ssd

PUBLISHED = "DiskSim's modules, as published: 2 to 15 %"
OF_WRITES = ("write_us", "write_settle_us", "write_buffer_bytes")
# What a class holds up to and with; its last edge is open.
DISTANCES = (0.0, 0.001, 0.01, 0.1, 1 / 3)
DISTANCE_NAMES = ("sequential", "to 0.1 %", "to 1 %", "to 10 %", "to a third", "further")
SSD_DISTANCE_NAMES = ("sequential", "random")
SIZES = tuple(4096 << k for k in (0, 2, 4, 6, 8))
SIZE_NAMES = ("to 4 KiB", "to 16 KiB", "to 64 KiB", "to 256 KiB", "to 1 MiB", "larger")


@dataclass(frozen=True)
class Score:
    """How near times come to the measured ones.

    Attributes:
        requests: how many.
        demerit: of the model, a part of the mean.
        mean_error: the model's mean over the measured mean, less 1.
        rms_us: root-mean-square difference request by request.
        baseline_demerit, baseline_rms_us: of the two constants.
    """

    requests: int
    demerit: float
    mean_error: float
    rms_us: float
    baseline_demerit: float
    baseline_rms_us: float


@dataclass(frozen=True)
class Residual:
    """A group of requests.

    Attributes:
        op: read or write.
        distance: from the end of the request before, as a part of the capacity.
        size: of the request.
        requests: how many.
        measured_us, model_us: means.
        difference_us: of the means, the model's less the measured.
        p90_difference_us: of the 90th percentiles.
    """

    op: str
    distance: str
    size: str
    requests: int
    measured_us: float
    model_us: float
    difference_us: float
    p90_difference_us: float


@dataclass(frozen=True)
class Baseline:
    """Two constants: a request takes `fixed_us + us_per_byte * size`."""

    fixed_us: float
    us_per_byte: float

    def times(self, samples: Samples) -> F64:
        """float64[n] µs."""
        times: F64 = self.fixed_us + self.us_per_byte * samples.size.astype(np.float64)
        return times


@dataclass(frozen=True)
class Calibration:
    """What a calibration found.

    Attributes:
        before, after: the model it began with, and the fitted one.
        baseline: fitted to the same requests as the scored model.
        fit, test: scores on the requests it was fitted to and on the others; test is None where there are none.
        refitted: whether `after` was fitted to all requests once more; the scores are those of the fit on the half.
            Only if it then lies nearer to all of them: a second half in which writes wait may say less of a disk.
        residuals: groups of the tested requests (of the fitted ones where none were kept for a test).
        shown: those requests; shown_us: what the model makes of them.
    """

    before: Model
    after: Model
    baseline: Baseline
    fit: Score
    test: Score | None
    refitted: bool
    residuals: tuple[Residual, ...]
    shown: Samples
    shown_us: F64

    def as_json(self) -> dict[str, Any]:
        """Everything but the requests, for `write_json`."""
        return {
            "before": self.before.model_dump(mode="json"),
            "after": self.after.model_dump(mode="json"),
            "baseline": asdict(self.baseline),
            "fit": asdict(self.fit),
            "test": asdict(self.test) if self.test else None,
            "refitted": self.refitted,
            "published": PUBLISHED,
            "residuals": [asdict(residual) for residual in self.residuals],
        }


def fit_baseline(samples: Samples) -> Baseline:
    """The two constants, neither below 0, by least squares."""
    largest = float(samples.size.max())
    columns = np.stack([np.ones(len(samples)), samples.size / largest], axis=1)
    found, _ = nnls(columns, samples.time_us)
    return Baseline(float(found[0]), float(found[1] / largest))


def check(samples: Samples) -> None:
    """Refuse requests from which no model can be told.

    Raises:
        DeviceError: there are no reads, or all requests are of one size.
    """
    if samples.write.all():
        message = f"all {len(samples)} requests are writes; a fit takes reads as well"
        raise DeviceError(message)
    if not np.ptp(samples.size):
        message = (
            f"all {len(samples)} requests are of {samples.size[0]} bytes, which does not tell a rate from a fixed "
            "time; add other sizes"
        )
        raise DeviceError(message)


def fit(samples: Samples, start: Model) -> Model:
    """The model of `start`'s kind that comes nearest to the samples; without writes those stay as they were."""
    check(samples)
    if isinstance(start, Ssd):
        return fit_ssd.fit_ssd(samples, start)
    found = fit_disk(samples, start)
    if not samples.write.any():
        return found.model_copy(update={name: getattr(start, name) for name in OF_WRITES})
    return found


def times_of(samples: Samples, model: Model) -> F64:
    """float64[n] µs that a model makes of the samples' requests."""
    return modelled(model, samples) if isinstance(model, Hdd) else fit_ssd.model_us(samples, model)


def _score(samples: Samples, model_us: F64, baseline: Baseline) -> Score:
    measured, plain = samples.time_us, baseline.times(samples)
    return Score(
        requests=len(samples),
        demerit=demerit(model_us, measured),
        mean_error=float(model_us.mean() / measured.mean() - 1),
        rms_us=float(np.sqrt(np.mean((model_us - measured) ** 2))),
        baseline_demerit=demerit(plain, measured),
        baseline_rms_us=float(np.sqrt(np.mean((plain - measured) ** 2))),
    )


def _parts(samples: Samples, model: Model) -> tuple[F64, tuple[float, ...], tuple[str, ...]]:
    """Distances, the edges of their classes, and the classes' names."""
    if isinstance(model, Hdd):
        return distances(model, samples), DISTANCES, DISTANCE_NAMES
    end = np.concatenate([[0], (samples.offset + samples.size)[:-1]])
    return np.abs(samples.offset - end).astype(np.float64), (0.0,), SSD_DISTANCE_NAMES


def residuals(samples: Samples, model_us: F64, model: Model, since: int = 0) -> tuple[Residual, ...]:
    """Means and tails by operation, distance and size, for every group that occurs from request `since` on."""
    distance, edges, names = _parts(samples, model)
    distance, samples, model_us = distance[since:], samples.part(since, len(samples)), model_us[since:]
    near, large = np.searchsorted(edges, distance), np.searchsorted(SIZES, samples.size)
    keys = np.stack([samples.write.astype(np.int64), near, large], axis=1)
    groups, member = np.unique(keys, axis=0, return_inverse=True)
    found = []
    for at, (write, where, length) in enumerate(groups.tolist()):
        own = member.ravel() == at
        measured, ours = samples.time_us[own], model_us[own]
        tail = float(np.quantile(ours, 0.9) - np.quantile(measured, 0.9))
        means = float(measured.mean()), float(ours.mean())
        found.append(
            Residual(
                OP_NAMES[write], names[where], SIZE_NAMES[length], int(own.sum()), *means, means[1] - means[0], tail
            )
        )
    return tuple(found)


def calibrate(samples: Samples, start: Model, holdout: bool = True, refit: bool = False) -> Calibration:
    """Fit a model to service times and say how near it comes.

    Args:
        samples: in the order in which the device served them. The model runs through all of them, so that its caches
            hold in the second half what they would; measured times it sees of the first half only.
        start: what is to be fitted, with what service times do not show.
        holdout: fit on the first half and test on the second; else fit on all and test on none.
        refit: after the test fit `after` to all of them, see `Calibration`.

    Raises:
        DeviceError: too few samples, or none that show what is to be fitted.
    """
    check(samples)
    if isinstance(start, Hdd):
        reach = int((samples.offset + samples.size).max())
        start = start.model_copy(update={"capacity_bytes": max(start.capacity_bytes, reach)})
    half = len(samples) // 2 if holdout else len(samples)
    fitted = samples.part(0, half)
    model, baseline = fit(fitted, start), fit_baseline(fitted)
    all_us = times_of(samples, model)
    since = half if holdout else 0
    shown, shown_us = samples.part(since, len(samples)), all_us[since:]
    after = model
    if refit and holdout:
        again = fit(samples, start)
        if demerit(times_of(samples, again), samples.time_us) < demerit(all_us, samples.time_us):
            after = again
    return Calibration(
        before=start,
        after=after,
        baseline=baseline,
        fit=_score(fitted, all_us[:half], baseline),
        test=_score(shown, shown_us, baseline) if holdout else None,
        refitted=after is not model,
        residuals=residuals(samples, all_us, model, since),
        shown=shown,
        shown_us=shown_us,
    )


def of_trace(trace: Trace, where: str) -> tuple[Samples, int]:
    """The requests of a trace that found the device idle: only their response time is their service time.

    Args:
        trace: of one volume, with response times.
        where: what error messages name.

    Returns:
        The samples, and how many requests were left out because others were under way, or might have been: those
        without a response time, and those after one.

    Raises:
        DeviceError: no response times, several volumes, or too few requests left.
    """
    if trace.latency_us is None:
        message = f"{where}: has no column latency_us; calibrate from a trace with service or response times"
        raise DeviceError(message)
    if len(set(trace.volume.codes.tolist())) > 1:
        message = f"{where}: holds several volumes; a device model is fitted to one: give a trace of one volume"
        raise DeviceError(message)
    known = trace.latency_us >= 0
    end = np.maximum.accumulate(np.where(known, trace.time_us + trace.latency_us, 0))
    ended = np.concatenate([[0], end[:-1]])
    after_known = np.concatenate([[True], known[:-1]])
    kept = known & after_known & (trace.time_us >= ended)
    samples = Samples(
        trace.offset[kept],
        trace.size[kept],
        (trace.op[kept] != OP_READ).astype(np.uint8),
        trace.latency_us[kept].astype(np.float64),
        (trace.time_us - ended)[kept].astype(np.float64),
    )
    return samples.check(where), int(np.count_nonzero(~kept))

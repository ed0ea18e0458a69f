"""Calibration: a device model fitted to service times on one half of them and tested on the other.

How near a model comes is its demerit figure (`fit_hdd.demerit`), beside those of two baselines with two constants each,
a fixed time and a time for each byte, fitted to the same half: one by least squares over the requests, and one to their
distribution, so that no two constants have a lower demerit figure there. DiskSim's modules of real disks are published
with demerit figures of 2 to 15 % (Bucy, Schindler, Schlosser and Ganger, The DiskSim simulation environment,
CMU-PDL-08-101, 2008).
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.optimize import nnls

from cachezoo.arrays import F64
from cachezoo.devices import fit_ssd
from cachezoo.devices.fit_hdd import QUANTILES, demerit, demerit_of, distances, fit_hdd, modelled
from cachezoo.devices.samples import Samples
from cachezoo.errors import ConfigError, DeviceError
from cachezoo.io import atomic_file, check_file, write_json
from cachezoo.settings.device import AnalyticDevice, Hdd, Ssd
from cachezoo.traces.table import OP_NAMES, OP_READ, Trace

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
        baseline_demerit, baseline_rms_us: of the two constants by least squares.
        tuned_demerit, tuned_rms_us: of the two constants fitted for demerit.
    """

    requests: int
    demerit: float
    mean_error: float
    rms_us: float
    baseline_demerit: float
    baseline_rms_us: float
    tuned_demerit: float
    tuned_rms_us: float


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
        baseline, tuned: two constants fitted to the same requests as the scored model, by least squares and for
            demerit.
        fit, test: scores on the half it was fitted to and on the other.
        refitted: whether `after` was fitted to all requests once more; the scores are those of the fit on the half.
            Only if it then lies nearer to all of them: a second half in which writes wait may say less of a disk.
        residuals: groups of the tested requests.
        shown: those requests and the untimed between them; shown_us: what the model makes of them.
    """

    before: Model
    after: Model
    baseline: Baseline
    tuned: Baseline
    fit: Score
    test: Score
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
            "tuned": asdict(self.tuned),
            "fit": asdict(self.fit),
            "test": asdict(self.test),
            "refitted": self.refitted,
            "published": PUBLISHED,
            "residuals": [asdict(residual) for residual in self.residuals],
        }


def fit_baseline(samples: Samples) -> Baseline:
    """The two constants, neither below 0, by least squares over the requests."""
    size, time_us = samples.size[samples.timed], samples.time_us[samples.timed]
    largest = float(size.max())
    found, _ = nnls(np.stack([np.ones(size.size), size / largest], axis=1), time_us)
    return Baseline(float(found[0]), float(found[1] / largest))


def tune_baseline(samples: Samples) -> Baseline:
    """The two constants of the least demerit figure; the fixed one may be below 0, if that is what it takes.

    Quantiles of sizes and of times rise together, so that least squares over them gives no falling line, and on a line
    that rises the time of a quantile of the sizes is that quantile of its times: this is the minimum itself.
    """
    size, time_us = (np.quantile(values[samples.timed], QUANTILES) for values in (samples.size, samples.time_us))
    largest = float(size.max())
    found = np.linalg.lstsq(np.stack([np.ones(size.size), size / largest], axis=1), time_us, rcond=None)[0]
    return Baseline(float(found[0]), float(found[1] / largest))


def check(samples: Samples) -> None:
    """Refuse requests from which no model can be told.

    Raises:
        DeviceError: there are no reads, or all requests are of one size.
    """
    if not samples.of(0).any():
        raise DeviceError(f"all {samples.known} requests are writes; a fit takes reads as well")
    size = samples.size[samples.timed]
    if not np.ptp(size):
        message = (
            f"all {size.size} requests are of {size[0]} bytes, which does not tell a rate from a fixed "
            "time; add other sizes"
        )
        raise DeviceError(message)


def fit(samples: Samples, start: Model) -> Model:
    """The model of `start`'s kind that comes nearest to the samples; without writes those stay as they were."""
    check(samples)
    if isinstance(start, Ssd):
        return fit_ssd.fit_ssd(samples, start)
    found = fit_hdd(samples, start)
    if not samples.of(1).any():
        return found.model_copy(update={name: getattr(start, name) for name in OF_WRITES})
    return found


def times_of(samples: Samples, model: Model) -> F64:
    """float64[n] µs that a model makes of the samples' requests."""
    return modelled(model, samples) if isinstance(model, Hdd) else fit_ssd.model_us(samples, model)


def _score(samples: Samples, model_us: F64, baseline: Baseline, tuned: Baseline) -> Score:
    timed = samples.timed
    measured, ours = samples.time_us[timed], model_us[timed]
    plain, best = (own.times(samples)[timed] for own in (baseline, tuned))

    def rms(times: F64) -> float:
        return float(np.sqrt(np.mean((times - measured) ** 2)))

    return Score(
        requests=samples.known,
        demerit=demerit(ours, measured),
        mean_error=float(ours.mean() / measured.mean() - 1),
        rms_us=rms(ours),
        baseline_demerit=demerit(plain, measured),
        baseline_rms_us=rms(plain),
        tuned_demerit=demerit(best, measured),
        tuned_rms_us=rms(best),
    )


def _parts(samples: Samples, model: Model) -> tuple[F64, tuple[float, ...], tuple[str, ...]]:
    """Distances, the edges of their classes, and the classes' names."""
    if isinstance(model, Hdd):
        return distances(model, samples), DISTANCES, DISTANCE_NAMES
    end = np.concatenate([[0], (samples.offset + samples.size)[:-1]])
    return np.abs(samples.offset - end).astype(np.float64), (0.0,), SSD_DISTANCE_NAMES


def residuals(samples: Samples, model_us: F64, model: Model, since: int = 0) -> tuple[Residual, ...]:
    """Means and tails by operation, distance and size, for every group of timed requests from `since` on."""
    distance, edges, names = _parts(samples, model)
    asked = since + np.flatnonzero(samples.timed[since:])
    time_us, model_us = samples.time_us[asked], model_us[asked]
    near, large = np.searchsorted(edges, distance[asked]), np.searchsorted(SIZES, samples.size[asked])
    keys = np.stack([samples.write[asked].astype(np.int64), near, large], axis=1)
    groups, member = np.unique(keys, axis=0, return_inverse=True)
    found = []
    for at, (write, where, length) in enumerate(groups.tolist()):
        own = member.ravel() == at
        measured, ours = time_us[own], model_us[own]
        tail = float(np.quantile(ours, 0.9) - np.quantile(measured, 0.9))
        means = float(measured.mean()), float(ours.mean())
        found.append(
            Residual(
                OP_NAMES[write], names[where], SIZE_NAMES[length], int(own.sum()), *means, means[1] - means[0], tail
            )
        )
    return tuple(found)


def calibrate(samples: Samples, start: Model, refit: bool = False) -> Calibration:
    """Fit a model to service times and say how near it comes.

    Args:
        samples: in the order in which the device served them. The model runs through all of them, so that its caches
            hold in the second half what they would; measured times it sees of the first half only.
        start: what is to be fitted, with what service times do not show.
        refit: after the test fit `after` to all of them, see `Calibration`.

    Raises:
        DeviceError: too few samples, or none that show what is to be fitted.
    """
    check(samples)
    if isinstance(start, Hdd):
        reach = int((samples.offset + samples.size).max())
        start = start.model_copy(update={"capacity_bytes": max(start.capacity_bytes, reach)})
    fitted, shown = samples.halves()
    model, baseline, tuned = fit(fitted, start), fit_baseline(fitted), tune_baseline(fitted)
    all_us = times_of(samples, model)
    since = len(samples) - len(shown)
    after = model
    if refit:
        again = fit(samples, start)
        if demerit_of(times_of(samples, again), samples) < demerit_of(all_us, samples):
            after = again
    return Calibration(
        before=start,
        after=after,
        baseline=baseline,
        tuned=tuned,
        fit=_score(fitted, all_us[: len(fitted)], baseline, tuned),
        test=_score(shown, all_us[since:], baseline, tuned),
        refitted=after is not model,
        residuals=residuals(samples, all_us, model, since),
        shown=shown,
        shown_us=all_us[since:],
    )


def of_trace(trace: Trace, where: str) -> Samples:
    """A trace's requests, timed where they found the device idle: only their response time is their service time.

    The others are there untimed: those that others were under way before, or might have been, because they have no
    response time or follow one that has none. What overlaps is taken to have been served in the order of its issue,
    first come first served; where a device chose another, the head comes from elsewhere to the next timed request.

    Args:
        trace: of one volume, with response times.
        where: what error messages name.

    Raises:
        DeviceError: no response times, several volumes, or too few requests that found the device idle.
    """
    if trace.latency_us is None:
        raise DeviceError(f"{where}: has no column latency_us; calibrate from a trace with service or response times")
    if len(set(trace.volume.codes.tolist())) > 1:
        message = f"{where}: holds several volumes; a device model is fitted to one: give a trace of one volume"
        raise DeviceError(message)
    known = trace.latency_us >= 0
    end = np.maximum.accumulate(trace.time_us + np.where(known, trace.latency_us, 0))
    idle = trace.time_us - np.concatenate([trace.time_us[:1], end[:-1]])
    after_known = np.concatenate([[True], known[:-1]])
    return Samples(
        trace.offset,
        trace.size,
        (trace.op != OP_READ).astype(np.uint8),
        trace.latency_us.astype(np.float64),
        np.maximum(idle, 0).astype(np.float64),
        known & after_known & (idle >= 0),
    ).check(where)


SUFFIXES = (".yaml", ".yml")


def sidecar(out: Path) -> Path:
    """Where a profile's residuals lie."""
    return out.with_suffix(".residuals.json")


def check_outputs(out: Path, plot: Path | None, force: bool) -> None:
    """Refuse before anything is measured what could not be written after it.

    Raises:
        ConfigError: no YAML file is named, or an output is there already and not to be replaced.
        CachezooError: an output cannot be written.
    """
    if out.suffix not in SUFFIXES:
        raise ConfigError(f"--output {out}: a profile is a YAML file; let its name end in .yaml")
    for path in (out, sidecar(out), *([plot] if plot else [])):
        if path.exists() and not path.is_dir() and not force:
            raise ConfigError(f"{path}: is there already; name another file, or replace it with --force")
        check_file(path)


def device_of(calibration: Calibration, base: AnalyticDevice) -> AnalyticDevice:
    """The base with the fitted model in its place."""
    kind = "hdd" if isinstance(calibration.after, Hdd) else "ssd"
    return base.model_copy(update={kind: calibration.after})


def _score_line(name: str, score: Score) -> str:
    return (
        f"{name}: demerit {score.demerit:.1%} of {score.requests:,} requests, two constants "
        f"{score.baseline_demerit:.1%} by least squares, {score.tuned_demerit:.1%} fitted for demerit; "
        f"mean {score.mean_error:+.1%}"
    )


def comments(calibration: Calibration, base: str, provenance: dict[str, str]) -> list[str]:
    """Lines that say where a profile comes from; with a trace they hold neither date nor host."""
    kind, other = ("hdd", "ssd") if isinstance(calibration.after, Hdd) else ("ssd", "hdd")
    lines = [f"{kind}: fitted to service times by cachezoo device calibrate; {other}: as in {base}"]
    lines += [f"{key}: {value}" for key, value in provenance.items()]
    lines.append(_score_line("fitted on", calibration.fit))
    lines.append(_score_line("tested on others", calibration.test))
    if calibration.refitted:
        lines.append("then fitted to all of them once more")
    return [" ".join(line.split()) for line in [*lines, PUBLISHED]]


def profile_text(calibration: Calibration, base: AnalyticDevice, name: str, provenance: dict[str, str]) -> str:
    """A profile's YAML: what differs from the schema's defaults, under a block of comments.

    Args:
        calibration: whose model goes in.
        base: gives the other device.
        name: what the base is called.
        provenance: where the service times come from.
    """
    values = device_of(calibration, base).model_dump(mode="json", exclude_defaults=True)
    head = [f"# {line}" for line in comments(calibration, name, provenance)]
    body = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    return "\n".join(["# @package device", *head, body])


def write_calibration(
    calibration: Calibration, base: AnalyticDevice, name: str, provenance: dict[str, str], out: Path
) -> None:
    """Write the profile and its residuals; arguments as of `profile_text`.

    Raises:
        CachezooError: a file cannot be written.
    """
    text = profile_text(calibration, base, name, provenance)
    write_json(sidecar(out), {**calibration.as_json(), "base": name, "provenance": provenance})
    with atomic_file(out) as temporary:
        temporary.write_text(text, encoding="utf-8")

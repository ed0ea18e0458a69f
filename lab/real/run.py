"""Replays traces on a disk and an SSD, and ranks caches by the measured response times and by those of models.

What the pipeline's stages replay, calibrate and evaluate do, on chosen traces and a number of rounds: each round is one
replay, measured times are medians over the rounds, and the first two rounds against each other say how far a ranking
moves without any model.
"""

import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import kendalltau

from cachezoo.arrays import F64
from cachezoo.console import progress
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.calibrating import as_replayed, start_of
from cachezoo.devices.calibration import calibrate
from cachezoo.devices.fit_hdd import demerit
from cachezoo.devices.replaying import respond
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import DeviceError
from cachezoo.policies.simulate import Simulator
from cachezoo.settings.device import AnalyticDevice, Hdd, RealDevice, Ssd
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.table import Trace
from lab.rcrnn.sizes_run import rivals
from lab.real.document import Agreement, CacheTime, Compared, Fit, Hardware, Kind, Quantiles, RealDevices, Replay, Times

KINDS: tuple[Kind, Kind] = ("hdd", "ssd")
Both = tuple[F64, F64]
Model = Literal["profile", "fitted"]


@dataclass(frozen=True)
class Category:
    """A category's traces: the one that models are fitted to, and those that are reported."""

    name: str
    train: Trace
    tests: Mapping[str, Trace]


@dataclass(frozen=True)
class Rounds:
    """Replays of a trace: the two devices' times of each round, and the last round's record."""

    times: Sequence[Both]
    record: Mapping[str, dict[str, object]]

    @property
    def median(self) -> Both:
        """Of each request over the rounds."""
        hdd, ssd = (np.median([own[place] for own in self.times], axis=0) for place in range(len(KINDS)))
        return hdd, ssd


def replayed(trace: Trace, device: RealDevice, rounds: int) -> Rounds:
    """Replay a trace so many times.

    Raises:
        DeviceError: as `cachezoo.devices.replaying.respond`.
    """
    times, record = list[Both](), dict[str, dict[str, object]]()
    for _ in range(rounds):
        hdd, ssd, record = respond(trace, device)
        times.append((hdd, ssd))
    return Rounds(times, record)


def modelled(trace: Trace, models: AnalyticDevice) -> Both:
    """The models' times of a trace's requests."""
    return t_hdd_us(trace, models.hdd), t_ssd_us(trace, models.ssd)


def fitted(category: Category, found: Rounds, device: RealDevice) -> tuple[AnalyticDevice | None, list[Fit]]:
    """Models fitted to what was measured of the train trace; None unless both devices can be fitted."""
    models: list[Hdd | Ssd] = []
    fits = []
    for kind, times in zip(KINDS, found.median, strict=True):
        try:
            own = as_replayed(category.train, times, found.record[kind], device)
            calibration = calibrate(own.samples, start_of(kind, own))
        except DeviceError as error:
            scored, why = None, str(error)
        else:
            scored, why = calibration.test.demerit, ""
            models.append(calibration.after)
        fits.append(
            Fit(category=category.name, device=kind, requests=len(category.train), demerit=scored, why=why)
        )  # fmt: skip
    if len(models) < len(KINDS):
        return None, fits
    hdd, ssd = models
    assert isinstance(hdd, Hdd) and isinstance(ssd, Ssd)
    return AnalyticDevice(source="analytic", hdd=hdd, ssd=ssd), fits


def quantiles(times: Times, own: F64, measured: F64) -> Quantiles:
    """Where times lie, and how far from the measured ones."""
    p50, p90, p99 = (float(part) for part in np.quantile(own, [0.5, 0.9, 0.99]))
    apart = None if times == "measured" else demerit(own, measured)
    return Quantiles(times=times, mean_us=float(own.mean()), p50_us=p50, p90_us=p90, p99_us=p99, demerit=apart)


def replays(key: str, found: Rounds, models: Mapping[Model, Both]) -> list[Replay]:
    """A trace's rows, one a device."""
    rows = []
    for place, kind in enumerate(KINDS):
        measured, rounds = found.median[place], [own[place] for own in found.times]
        rows.append(
            Replay(
                trace=key, device=kind, requests=len(measured),
                round_means_us=[float(own.mean()) for own in rounds],
                round_demerit=demerit(rounds[1], rounds[0]) if len(rounds) > 1 else None,
                quantiles=[
                    quantiles("measured", measured, measured),
                    *(quantiles(name, own[place], measured) for name, own in models.items()),
                ],
            )
        )  # fmt: skip
    return rows


def ranked(
    key: str, trace: Trace, fraction: float, found: Rounds, models: Mapping[Model, Both]
) -> tuple[list[CacheTime], list[Agreement]]:
    """Every classic and the optimum on a trace by all times, and how far rankings agree."""
    pages = expand_pages(trace)
    simulator, capacity = Simulator(trace, pages), capacity_pages(fraction, pages.n_pages)
    sources: dict[str, Both] = {"measured": found.median}
    sources |= {str(name): own for name, own in models.items()}
    sources |= {f"round {place}": own for place, own in enumerate(found.times)}
    times = {name: ServiceTimes.of(trace, *own) for name, own in sources.items()}
    rows, us, classics = list[CacheTime](), {name: list[float]() for name in times}, []
    for kind, own in rivals(simulator, capacity):
        for name, each in times.items():
            us[name].append(own.mean_response_us(each))
        if kind == "classic":
            classics.append(len(rows))
        last = {name: values[-1] for name, values in us.items()}
        rows.append(
            CacheTime(trace=key, policy=own.policy, hit_ratio=own.hit_ratio, measured_us=last["measured"],
                      profile_us=last["profile"], fitted_us=last.get("fitted"))
        )  # fmt: skip
    names = [row.policy for row in rows]

    def agreement(label: Compared, first: str, other: str) -> Agreement:
        best, chosen = (min(classics, key=us[name].__getitem__) for name in (first, other))
        tau = float(kendalltau(us[first], us[other]).statistic)
        return Agreement(
            trace=key, times=label, tau=tau if math.isfinite(tau) else None, best_measured=names[best],
            best=names[chosen], loss=us[first][chosen] / us[first][best] - 1,
        )  # fmt: skip

    said = [agreement(name, "measured", name) for name in models]
    if len(found.times) > 1:
        said.append(agreement("round", "round 0", "round 1"))
    return rows, said


def hardware(record: Mapping[str, dict[str, object]], device: RealDevice) -> list[Hardware]:
    """What a replay's record says of both targets."""
    rows = []
    for kind in KINDS:
        said = record[kind]["measured"]
        assert isinstance(said, dict)
        rows.append(
            Hardware(
                device=kind, name=getattr(device, kind).name, disk=said["target.disk"],
                virtual=said.get("target.virtual", ""), data_bytes=int(said["target.data_bytes"]),
            )
        )  # fmt: skip
    return rows


def run(
    categories: Sequence[Category],
    device: RealDevice,
    profile: tuple[str, AnalyticDevice],
    fraction: float,
    rounds: int,
) -> RealDevices:
    """Measure, and compare with models.

    Args:
        categories: whose traces are replayed; of each at least one test trace.
        device: the targets; writes are replayed.
        profile: a device profile's name and models.
        fraction: size of the caches, a share of the distinct pages.
        rounds: replays of each test trace; a train trace is replayed once.

    Raises:
        DeviceError: as `cachezoo.devices.replaying.respond`.
    """
    name, shipped = profile
    once, load = device.model_copy(update={"repetitions": 1}), [os.getloadavg()[0]]
    record: Mapping[str, dict[str, object]] = {}
    all_replays, fits, caches, agreements = list[Replay](), list[Fit](), list[CacheTime](), list[Agreement]()
    with progress("traces on devices", len(categories)) as advance:
        for done, category in enumerate(categories):
            advance(done, category.name)
            models, own_fits = fitted(category, replayed(category.train, once, 1), once)
            fits += own_fits
            for key, trace in category.tests.items():
                found = replayed(trace, once, rounds)
                record = found.record
                beside: dict[Model, Both] = {"profile": modelled(trace, shipped)}
                if models is not None:
                    beside["fitted"] = modelled(trace, models)
                all_replays += replays(key, found, beside)
                rows, said = ranked(key, trace, fraction, found, beside)
                caches += rows
                agreements += said
    load.append(os.getloadavg()[0])
    measured = record["hdd"]["measured"]
    assert isinstance(measured, dict)
    return RealDevices(
        profile=name, capacity_fraction=fraction, cores=os.cpu_count() or 1, load=load, fio=measured["fio"],
        kernel=platform.release(), hardware=hardware(record, device), replays=all_replays, fits=fits, caches=caches,
        agreement=agreements,
    )  # fmt: skip

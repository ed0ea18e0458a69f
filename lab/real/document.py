"""lab/results/real.json: test traces replayed on devices, beside what device models say of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cachezoo.documents import Document
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import read

FILE, PLOT = Path("lab/results/real.json"), Path("lab/results/real.png")
COMMAND = "python -m lab.notes.real_devices"
Kind = Literal["hdd", "ssd"]
Times = Literal["measured", "profile", "fitted"]
Compared = Literal["profile", "fitted", "round"]


class Hardware(Document):
    """A target, as the kernel and its maker name it."""

    device: Annotated[Kind, Means("what it stands for in the caches")]
    name: Annotated[str, Means("what it is")]
    disk: Annotated[str, Means("the kernel's name of the disk")]
    virtual: Annotated[str, Means("why it is no bare HDD or SSD; empty where it may be one")]
    data_bytes: Annotated[int, Means("that a request can address", "bytes")]


class Quantiles(Document):
    """Where the response times of a trace lie."""

    times: Annotated[Times, Means("measured, or of the profile's model or the fitted one")]
    mean_us: Annotated[float, Means("mean", "µs")]
    p50_us: Annotated[float, Means("median", "µs")]
    p90_us: Annotated[float, Means("90th percentile", "µs")]
    p99_us: Annotated[float, Means("99th percentile", "µs")]
    demerit: Annotated[
        float | None,
        Means("root-mean-square distance from the measured distribution over the measured mean; null of that", "share"),
    ]  # fmt: skip


class Replay(Document):
    """A test trace on a device."""

    trace: Annotated[str, Means("test trace")]
    device: Annotated[Kind, Means("which")]
    requests: Annotated[int, Means("replayed one at a time, writes as writes")]
    round_means_us: Annotated[list[float], Means("mean of each round; measured times are medians over them", "µs")]
    round_demerit: Annotated[
        float | None, Means("demerit figure of the second round against the first; null of a single one", "share")
    ]
    quantiles: Annotated[list[Quantiles], Each("where times come from", "times")]


class Fit(Document):
    """A model fitted to what was measured of a train trace."""

    category: Annotated[str, Means("whose train trace")]
    device: Annotated[Kind, Means("which")]
    requests: Annotated[int, Means("first so many of the train trace")]
    demerit: Annotated[float | None, Means("on the second half of them; null where there is no fit", "share")]
    why: Annotated[str, Means("why there is no fit; empty where there is one")]


class CacheTime(Document):
    """A cache on a test trace."""

    trace: Annotated[str, Means("test trace")]
    policy: Annotated[str, Means("classic with its defaults, or the optimum")]
    hit_ratio: Annotated[float, Means("page hits per page access", "ratio")]
    measured_us: Annotated[float, Means("mean response time with the measured times", "µs")]
    profile_us: Annotated[float, Means("with those of the profile's models", "µs")]
    fitted_us: Annotated[float | None, Means("with those of the fitted models; null without", "µs")]


class Agreement(Document):
    """The ranking of the caches by other times, beside that by the measured ones."""

    trace: Annotated[str, Means("test trace")]
    times: Annotated[Compared, Means("models, or the second round against the first")]
    tau: Annotated[
        float | None, Means("Kendall's rank correlation of the caches' mean response times; null where all are equal")
    ]
    best_measured: Annotated[str, Means("the fastest classic by the measured times; of `round` by the first round")]
    best: Annotated[str, Means("the fastest classic by the other times")]
    loss: Annotated[float, Means("what the latter takes longer by the former's times", "share")]


class RealDevices(Document):
    """Response times of the test traces on devices, and what follows for caches."""

    profile: Annotated[str, Means("device profile whose times are compared")]
    capacity_fraction: Annotated[float, Means("of the caches, of the distinct pages", "share")]
    cores: Annotated[int, Means("of the machine")]
    load: Annotated[list[float], Means("load average of a minute, before the first replay and after the last")]
    fio: Annotated[str, Means("its version")]
    kernel: Annotated[str, Means("its release")]
    hardware: Annotated[list[Hardware], Each("one target", "device")]
    replays: Annotated[list[Replay], Each("one trace on a device", "trace and device")]
    fits: Annotated[list[Fit], Each("one category and device", "category and device")]
    caches: Annotated[list[CacheTime], Each("one cache on a trace", "trace and policy")]
    agreement: Annotated[list[Agreement], Each("one trace and kind of times", "trace and times")]

    def traces(self) -> Sequence[str]:
        """In the order of their replays."""
        return list(dict.fromkeys(row.trace for row in self.replays))


def read_real(path: Path) -> RealDevices:
    """lab/results/real.json, see `cachezoo.metrics.files.read`."""
    return read(path, RealDevices, COMMAND)

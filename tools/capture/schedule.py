"""The written schedule of a load: days compressed to minutes, a sinusoid with bursts, jobs at hours of the day."""

from dataclasses import dataclass

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.seeds import derive_seed
from tools.capture.recipe import SchedulePlan

SECONDS_OF_A_DAY = 86_400
MIN_PEAK_TO_MEAN = 2.0


@dataclass(frozen=True)
class Segment:
    """A stretch of constant rate.

    Attributes:
        index: place in the schedule.
        start_s, seconds: when, from the start of the load.
        rate: transactions or requests of the workload a second.
        elapsed_days: days of the schedule that lie before it; drift is a function of this.
        seed: of its random draws.
    """

    index: int
    start_s: int
    seconds: int
    rate: float
    elapsed_days: float
    seed: int


@dataclass(frozen=True)
class Job:
    """A piece of work beside the load, e.g. a report or a backup, at its time of each day."""

    kind: str
    start_s: float
    day: int


@dataclass(frozen=True)
class Schedule:
    """Segments and jobs by rising time, and what one second of it stands for."""

    segments: tuple[Segment, ...]
    jobs: tuple[Job, ...]
    time_scale: float

    @property
    def seconds(self) -> int:
        """Length of the load."""
        return self.segments[-1].start_s + self.segments[-1].seconds

    @property
    def peak_to_mean(self) -> float:
        """Highest rate of a segment over the mean rate."""
        rates = [segment.rate for segment in self.segments]
        return max(rates) / (sum(rates) / len(rates))


def build_schedule(plan: SchedulePlan, seed: int) -> Schedule:
    """Write out a plan.

    The rate follows ``1 - amplitude * cos(2 pi t / day)``, least at midnight. Each day has `bursts` bursts of one
    segment, the first near noon, the others anywhere; all are scaled so that the mean is `plan.rate`.

    Args:
        plan: the recipe's schedule.
        seed: of the bursts' places and of the segments' own seeds.

    Raises:
        ConfigError: the peak is less than twice the mean.
    """
    per_day = plan.day_s // plan.segment_s
    rng = np.random.default_rng(derive_seed(seed, "capture_schedule"))
    phase = (np.arange(per_day) + 0.5) / per_day
    shape = np.tile(1.0 - plan.amplitude * np.cos(2 * np.pi * phase), plan.days)
    for day in range(plan.days):
        places = rng.integers(0, per_day, plan.bursts)
        if plan.bursts:
            places[0] = per_day // 2 + rng.integers(-(per_day // 10), per_day // 10 + 1)
        shape[day * per_day + np.unique(places)] *= plan.burst_factor
    rates = shape * (plan.rate / shape.mean())
    segments = tuple(
        Segment(
            index=index,
            start_s=index * plan.segment_s,
            seconds=plan.segment_s,
            rate=float(rate),
            elapsed_days=index / per_day,
            seed=derive_seed(seed, "capture_segment", index),
        )
        for index, rate in enumerate(rates)
    )
    jobs = [Job(job.kind, (day + job.at) * plan.day_s, day) for day in range(plan.days) for job in plan.jobs]
    schedule = Schedule(
        segments, tuple(sorted(jobs, key=lambda job: (job.start_s, job.kind))), SECONDS_OF_A_DAY / plan.day_s
    )
    if schedule.peak_to_mean < MIN_PEAK_TO_MEAN:
        message = (
            f"schedule: its peak is {schedule.peak_to_mean:.2f} times its mean, and must be {MIN_PEAK_TO_MEAN:g} times"
            " at least: raise amplitude or burst_factor"
        )
        raise ConfigError(message)
    return schedule

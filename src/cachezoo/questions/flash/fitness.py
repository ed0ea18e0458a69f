"""Whether a model pays on a trace: trained on its first day, reported on the rest, see `protocol`.

The rival is the best policy without a model, read-ahead included, as the last part of the first day chose it; the same
controller keeps both to the rate. The saving has an interval over seeds of the training and windows of time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from cachezoo.console import Advance
from cachezoo.contest.lead import Mean
from cachezoo.contest.verdict import LEAST_SAVING, Worth, worth
from cachezoo.contest.words import saves
from cachezoo.flash_cache.modes import NONE
from cachezoo.kernels.segments import Geometry
from cachezoo.questions.flash.bench import OPT
from cachezoo.questions.flash.options import FlashOptions, WriteRate
from cachezoo.questions.flash.protocol import (
    LEAST_REQUESTS,
    REJECTX_ALONE,
    SEEDS,
    STEPS,
    Days,
    Judged,
    Run,
    first_day,
    fit_and_judge,
)
from cachezoo.questions.flash.sentences import how_run
from cachezoo.show.formats import money, number, percent
from cachezoo.sizes import Size, human
from cachezoo.traces.read import silent
from cachezoo.traces.table import Trace


@dataclass(frozen=True)
class Fitness:
    """A model that was trained on a trace's first day, on the rest of it."""

    size: str  # of the cache, as typed; a share is of the first day's segments
    rate: str  # that the threshold was set for
    capacity_bytes: int
    judged: Judged

    @property
    def saved(self) -> Mean | None:
        """The share of the rival's mean disk time that is saved; None where there was nothing to learn."""
        return self.judged.saved() if self.judged.trainings else None

    @property
    def worth(self) -> Worth:
        """Whether to train it."""
        return Worth.NO if self.saved is None else worth(self.saved.value, self.saved.interval, LEAST_SAVING)

    @property
    def by_seed(self) -> list[float]:
        """The saving of each training."""
        held = self.judged.kept[self.judged.best].row.read_dt.mean
        return [1 - one.trained.row.read_dt.mean / held for one in self.judged.trainings]

    @property
    def written(self) -> float | None:
        """What the model writes as trained, a share of AcceptAll's; mean of the trainings, None without any."""
        return _mean([one.trained.row.written_share for one in self.judged.trainings])

    @property
    def rival(self) -> str:
        """The best policy without a model, with its prefetch."""
        mode = self.judged.rivals[self.judged.best].row.prefetch
        return self.judged.best if mode == NONE else f"{self.judged.best} with prefetch {mode}"

    def values(self) -> dict[str, Any]:
        """For JSON."""
        own, saved = self.judged, self.saved
        closed = None if saved is None else own.gap_closed()
        return {
            "size": self.size,
            "capacity_bytes": self.capacity_bytes,
            "write_rate": self.rate,
            "verdict": self.worth,
            "rival": own.best,
            "rival_prefetch": own.rivals[own.best].row.prefetch,
            "saved": None if saved is None else saved.value,
            "saved_interval": None if saved is None else saved.interval,
            "saved_by_seed": self.by_seed,
            "saved_of_rejectx_alone": None if saved is None else own.saved(REJECTX_ALONE).value,
            "peak_saved": _mean(own.peak_saved()),
            "gap_closed": None if closed is None else fmean(closed),
            "written_share": self.written,
            "prefetch": [one.mode for one in own.trainings],
            "rows": self.rows(),
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row each of the model, mean of the trainings, the rivals as kept, and OPT at the rate."""
        trainings = self.judged.trainings
        runs = {"baleen": [one.trained for one in trainings]} if trainings else {}
        runs |= {name: [run] for name, run in self.judged.kept.items()}
        runs[OPT] = [self.judged.rivals[OPT]]
        return [_row(self.size, self.rate, name, own) for name, own in runs.items()]

    def says(self) -> str:
        """Whether to train it, and why, in words."""
        instead = f"run {self.rival} ({how_run(self.judged.best)})"
        not_here = f"It does not pay here: {instead}"
        if self.saved is None or self.written is None:
            return (
                f"{not_here}. The first day has nothing to learn: no read's history tells whether it is worth a write."
            )
        does = saves(self.saved.value, self.saved.interval, LEAST_SAVING)
        seeds = f"by seed {percent(min(self.by_seed))} to {percent(max(self.by_seed))}"
        against = f"disk time, against {self.rival}, {seeds}"
        do = {
            Worth.YES: "Train it",
            Worth.NO: not_here,
            Worth.UNSURE: f"Nothing speaks for it yet: {instead}, and try again on a longer trace",
        }[self.worth]
        wrote = f"writing {percent(self.written)} of what accept_all writes where {self.rate} was set"
        return f"{do}. Trained on the first day, on the rest it {does} ({against}), {wrote}."


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _row(size: str, rate: str, name: str, runs: Sequence[Run]) -> dict[str, Any]:
    rows = [own.row for own in runs]
    clock = rows[0].clock
    modes = list(dict.fromkeys(row.prefetch for row in rows))
    years = [row.usd_a_year for row in rows if row.usd_a_year is not None]
    return {
        "size": size,
        "write_rate": rate,
        "policy": name,
        "prefetch": ", ".join(modes),
        "written_share": fmean(row.written_share for row in rows),
        "disk_ms_per_read": fmean(row.disk_ms_per_read for row in rows),
        "disks_busy": fmean(row.read_dt.mean for row in rows) if clock else None,
        "disks_busy_peak": fmean(row.read_dt.peak for row in rows) if clock else None,
        "io_hit_ratio": fmean(row.io_hit_ratio for row in rows),
        "usd_a_year": fmean(years) if years else None,
    }


@dataclass(frozen=True)
class Trial:
    """All sizes and rates on one trace."""

    days: Days
    geometry: Geometry
    found: tuple[Fitness, ...]

    def values(self, name: str) -> dict[str, Any]:
        """For JSON."""
        days = self.days
        return {
            "trace": name,
            "first_day_requests": len(days.first),
            "train_requests": len(days.train),
            "test_requests": len(days.test),
            "first_day_seconds": float(days.first.time_us[-1] - days.first.time_us[0]) / 1e6,
            "seeds": len(SEEDS),
            "segment_bytes": self.geometry.segment_bytes,
            "block_bytes": self.geometry.block_bytes,
            "trials": [one.values() for one in self.found],
        }

    def answers(self) -> list[str]:
        """A sentence a size and rate, which names them where there are several."""
        several = len(self.found) > 1
        return [
            (f"{one.size} ({human(one.capacity_bytes)}), {one.rate}: " if several else "") + one.says()
            for one in self.found
        ]

    def notes(self) -> list[str]:
        """What was trained and chosen on what."""
        days = self.days
        count = max(len(one.judged.trainings) for one in self.found)
        trained = f", the model's a mean of {count} trainings"
        return [
            f"The first {len(days.first):,} of {len(days.first) + len(days.test):,} requests are the first day (at "
            f"least {LEAST_REQUESTS:,}, at most half): {len(days.train):,} of them train, the others choose threshold, "
            f"prefetch and rival. Figures are of the rest{trained if count else ''}. The same controller keeps the "
            "rate for all but opt, which knows the future.",
        ]


def try_model(
    trace: Trace, geometry: Geometry, options: FlashOptions, seeds: Sequence[int] = SEEDS, advance: Advance = silent
) -> Trial:
    """Train on a trace's first day and report on the rest, at each size and rate.

    Args:
        trace: the requests.
        geometry: segments and blocks.
        options: sizes, rates and cost; policies and prefetch modes are the protocol's.
        seeds: of the trainings.
        advance: progress: steps done, `steps_of` in all, and the next one's name.

    Raises:
        ConfigError, TraceError, TrainingError: as `first_day` and `fit_and_judge`.
    """
    days, found = first_day(trace), list[Fitness]()
    cases = [(size, rate) for size in options.sizes for rate in options.rates]
    for done, (size, rate) in enumerate(cases):
        before = done * steps_of(seeds)
        found.append(_fitness(days, geometry, size, rate, options, seeds, _after(advance, before)))
    return Trial(days, geometry, tuple(found))


def steps_of(seeds: Sequence[int] = SEEDS) -> int:
    """Steps of progress at one size and rate."""
    return STEPS + len(seeds)


def _after(advance: Advance, before: int) -> Advance:
    def own(done: float, note: str = "") -> None:
        advance(before + done, note)

    return own


def _fitness(
    days: Days, geometry: Geometry, size: Size, rate: WriteRate, options: FlashOptions, seeds: Sequence[int],
    advance: Advance,
) -> Fitness:  # fmt: skip
    judged = fit_and_judge(days, geometry, replace(options, sizes=[size]), rate, seeds, advance)
    return Fitness(str(size), rate.text, judged.capacity * geometry.segment_bytes, judged)


COLUMNS = ("policy", "prefetch", "writes", "disks busy", "at peak", "disk ms", "reads hit", "$ a year")


def cells(row: dict[str, Any]) -> dict[str, str]:
    """A row for people."""
    return {
        "cache": row["size"], "may write": row["write_rate"], "policy": row["policy"], "prefetch": row["prefetch"],
        "writes": percent(row["written_share"]), "disks busy": number(row["disks_busy"], 3),
        "at peak": number(row["disks_busy_peak"], 2), "disk ms": number(row["disk_ms_per_read"], 3),
        "reads hit": percent(row["io_hit_ratio"]),
        "$ a year": money(row["usd_a_year"]),
    }  # fmt: skip

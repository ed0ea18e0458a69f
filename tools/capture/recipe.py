"""A capture's recipe: recipes/*.yaml and those of the corpus, recipes/corpus/CATEGORY/PROGRAM_SETUP.yaml.

A recipe with a schedule is paced: it says when requests come. One with phases is a closed loop: it says how much there
is of each mix, and the programs go as fast as they can. So a phase is as long as so many requests or pages of the
device, whatever the machine's speed.
"""

from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import Field, TypeAdapter, model_validator

from cachezoo.errors import ConfigError
from cachezoo.yaml_file import checked, read_yaml
from tools.capture.loads import Load, Mix, Strict

RECIPES = Path(__file__).with_name("recipes")
T = TypeVar("T")


class JobPlan(Strict):
    """A job of every day.

    Attributes:
        kind: what the program calls it.
        at: time of day as a part of the day, 0 midnight, 0.5 noon.
    """

    kind: str
    at: float = Field(ge=0, lt=1)


class SchedulePlan(Strict):
    """How the rate changes over time.

    Attributes:
        days: repeated days, at least 2.
        day_s: seconds that stand for a day.
        segment_s: seconds of constant rate.
        rate: mean rate over the schedule, transactions or requests a second.
        amplitude: of the sinusoid, as a part of its mean.
        bursts: bursts of a day, each one segment long.
        burst_factor: how much a burst multiplies the rate.
        jobs: what runs during the load.
    """

    days: int = Field(ge=2, le=100)
    day_s: int = Field(ge=3, le=3600)
    segment_s: int = Field(ge=1, le=60)
    rate: float = Field(gt=0, le=20_000)
    amplitude: float = Field(ge=0, lt=1)
    bursts: int = Field(ge=0, le=100)
    burst_factor: float = Field(ge=1, le=20)
    jobs: list[JobPlan]

    @model_validator(mode="after")
    def _whole_segments(self) -> Self:
        if self.day_s % self.segment_s or self.day_s < 3 * self.segment_s:
            raise ValueError(f"day_s {self.day_s} is not three or more whole segments of segment_s {self.segment_s}")
        return self


class Phase(Strict):
    """A stretch of one mix, which ends with the first of its limits.

    Attributes:
        mix: operation of the program to its weight.
        theta: Zipf exponent of the popularity, 0 uniform.
        move: by which part of the population the hot set has moved since the first phase.
        beside: jobs that run over and over during the phase.
        requests: requests of the device.
        pages: 4 KiB pages that they read and write.
        seconds: the phase ends then at the latest.
    """

    mix: Mix
    theta: float = Field(ge=0, le=3)
    move: float = Field(default=0.0, ge=0, lt=1)
    beside: tuple[str, ...] = ()
    requests: int = Field(ge=50, le=1_000_000)
    pages: int = Field(ge=50, le=10_000_000)
    seconds: int = Field(default=60, ge=1, le=600)


class Recipe(Strict):
    """Everything a capture is made from.

    Attributes:
        category: workload category of the trace.
        seed: base of all random draws.
        disk_mib: size of each loop device; most programs have one.
        place_mib: size of a file that is laid out first and never touched, so that the data lie behind it.
        memory_mib: memory of the program, its clients where they count, and their page cache together.
        readahead_kib: of the loop devices.
        join_us: contiguous requests of one operation, each issued at most this long after the one before it, become
            one row of the trace; none are joined without.
        buffer_kib: trace buffer of each processor.
        warmup_s: of a schedule: seconds of load at the mean rate before events are kept, which fill the page cache.
        schedule: the load over time; or
        warmup_pages: of phases: pages of the first phase's mix before events are kept.
        phases: in their order.
        rounds: how often the phases are played, one round after the other; once without.
        onward: by which part of the population each further round begins and stays ahead of the one before it.
        load: the program and its own part.
    """

    category: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    seed: int = Field(ge=0, lt=2**31)
    disk_mib: int = Field(ge=64, le=65_536)
    place_mib: int = Field(default=0, ge=0, le=65_536)
    memory_mib: int = Field(ge=16, le=65_536)
    readahead_kib: int = Field(ge=0, le=65_536)
    join_us: int | None = Field(default=None, ge=1, le=1_000_000)
    buffer_kib: int = Field(ge=64, le=262_144)
    warmup_s: int | None = Field(default=None, ge=0, le=600)
    schedule: SchedulePlan | None = None
    warmup_pages: int | None = Field(default=None, ge=0, le=10_000_000)
    phases: tuple[Phase, ...] | None = Field(default=None, min_length=1, max_length=50)
    rounds: int | None = Field(default=None, ge=2, le=100)
    onward: float | None = Field(default=None, ge=0, lt=1)
    load: Load

    @property
    def program(self) -> str:
        """The id of the program that the trace is of."""
        return getattr(self.load, "name", self.load.program)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = {name for name in ("schedule", "warmup_s", "phases", "warmup_pages") if getattr(self, name) is not None}
        if given not in ({"schedule", "warmup_s"}, {"phases", "warmup_pages"}):
            raise ValueError("a recipe has either schedule and warmup_s, or phases and warmup_pages")
        if (self.phases is None and self.rounds is not None) or (self.rounds is None and self.onward is not None):
            raise ValueError("rounds belong to phases, and onward to rounds")
        if hasattr(self.load, "paced") and (self.load.paced is None) == (self.schedule is not None):
            raise ValueError("load.paced belongs to a recipe with a schedule, and to no other")
        if self.place_mib >= self.disk_mib:
            raise ValueError(f"place_mib {self.place_mib} leaves no room on a disk of disk_mib {self.disk_mib}")
        return self

    @property
    def played(self) -> tuple[Phase, ...]:
        """The phases of all rounds, in their order."""
        rounds, onward = range(self.rounds or 1), self.onward or 0.0
        return tuple(
            phase.model_copy(update={"move": (phase.move + number * onward) % 1})
            for number in rounds
            for phase in self.phases or ()
        )

    def lasting(self, seconds: int) -> "Recipe":
        """This recipe with its days shortened or lengthened to fill `seconds`.

        Raises:
            ConfigError: it has no days, or fewer than three one-second segments each.
        """
        where, plan = f"a duration of {seconds} s", self.schedule
        if plan is None or self.warmup_s is None:
            message = f"{where}: a recipe with phases ends with their limits; only a schedule's days can be shortened"
            raise ConfigError(message)
        segment = min(plan.segment_s, max(1, seconds // plan.days // 10))
        day = seconds // plan.days // segment * segment
        bursts = min(plan.bursts, max(1, day // segment // 5))
        changed = plan.model_dump() | {"day_s": day, "segment_s": segment, "bursts": bursts}
        changes = {"schedule": changed, "warmup_s": min(self.warmup_s, seconds // 2)}
        return parse_recipe(self.model_dump() | changes, where)


_SCHEMA = TypeAdapter(Recipe)


def given(value: T | None) -> T:
    """A part of a recipe that its other parts need, so that it is there."""
    assert value is not None
    return value


def parse_recipe(values: Any, where: str) -> Recipe:  # noqa: ANN401 - whatever the YAML holds
    """Validate a recipe.

    Args:
        values: the parsed YAML.
        where: what to name in an error.

    Raises:
        ConfigError: a key is unknown or missing or its value unusable.
    """
    return checked(_SCHEMA, values, where, "fix the recipe")


def load_recipe(path: Path) -> Recipe:
    """Read a recipe.

    Raises:
        ConfigError: not readable, not YAML, or no valid recipe.
    """
    return parse_recipe(read_yaml(path), str(path))

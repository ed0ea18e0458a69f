"""A capture's recipe: tools/capture/recipes/*.yaml, validated, unknown keys refused."""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from cachezoo.errors import ConfigError
from tools.capture.loads import (
    SECTIONS,
    BlobLoad,
    DatabaseLoad,
    FileserverLoad,
    MailLoad,
    MariadbLoad,
    SpoolLoad,
    Strict,
    WebLoad,
)


class JobPlan(Strict):
    """A job of every day.

    Attributes:
        kind: what the workload calls it.
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
        jobs: what runs beside the load.
    """

    days: int = Field(ge=2, le=14)
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
            message = f"day_s {self.day_s} is not three or more whole segments of segment_s {self.segment_s}"
            raise ValueError(message)
        return self


class Recipe(Strict):
    """Everything a capture is made from.

    Attributes:
        workload: which programs, as the registry of workloads names them.
        category: workload category of the trace.
        seed: base of all random draws.
        disk_mib: size of each loop device; most workloads have one.
        memory_mib: memory of the workload's programs and their page cache together.
        readahead_kib: read-ahead of the loop devices.
        join_us: contiguous requests of one operation, each issued at most this long after the one before it, become
            one row of the trace; none are joined without.
        buffer_kib: trace buffer of each processor.
        warmup_s: seconds of load at the mean rate before events are kept, which fill the page cache.
        schedule: the load over time.
        database, web, blob, mariadb, mail, fileserver, spool: the workloads' own parts; exactly the one that `workload`
            takes.
    """

    workload: str
    category: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    seed: int = Field(ge=0, lt=2**31)
    disk_mib: int = Field(ge=64, le=65_536)
    memory_mib: int = Field(ge=32, le=65_536)
    readahead_kib: int = Field(ge=0, le=65_536)
    join_us: int | None = Field(default=None, ge=1, le=1_000_000)
    buffer_kib: int = Field(ge=64, le=262_144)
    warmup_s: int = Field(ge=0, le=600)
    schedule: SchedulePlan
    database: DatabaseLoad | None = None
    web: WebLoad | None = None
    mail: MailLoad | None = None
    fileserver: FileserverLoad | None = None
    blob: BlobLoad | None = None
    mariadb: MariadbLoad | None = None
    spool: SpoolLoad | None = None

    @model_validator(mode="after")
    def _one_load(self) -> Self:
        if self.workload not in SECTIONS:
            message = f"unknown workload {self.workload!r}; there are {', '.join(sorted(SECTIONS))}"
            raise ValueError(message)
        wanted = SECTIONS[self.workload]
        given = [name for name in sorted(set(SECTIONS.values())) if getattr(self, name) is not None]
        if given != [wanted]:
            message = f"workload is {self.workload}, so the recipe needs the section {wanted} and no other's"
            raise ValueError(message)
        return self

    def lasting(self, seconds: int) -> "Recipe":
        """This recipe with its days shortened or lengthened to fill `seconds`.

        Raises:
            ConfigError: fewer than three one-second segments a day.
        """
        plan = self.schedule
        segment = min(plan.segment_s, max(1, seconds // plan.days // 10))
        day = seconds // plan.days // segment * segment
        bursts = min(plan.bursts, max(1, day // segment // 5))
        changed = plan.model_dump() | {"day_s": day, "segment_s": segment, "bursts": bursts}
        warmup = min(self.warmup_s, seconds // 2)
        return parse_recipe(self.model_dump() | {"schedule": changed, "warmup_s": warmup}, f"a duration of {seconds} s")


def parse_recipe(values: Any, where: str) -> Recipe:  # noqa: ANN401 - whatever the YAML holds
    """Validate a recipe.

    Args:
        values: the parsed YAML.
        where: what to name in an error.

    Raises:
        ConfigError: a key is unknown or missing or its value unusable.
    """
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "recipe"
        message = f"{where}: {key}: {first['msg']}; fix the recipe"
        raise ConfigError(message) from error


def load_recipe(path: Path) -> Recipe:
    """Read tools/capture/recipes/NAME.yaml.

    Raises:
        ConfigError: not readable, not YAML, or no valid recipe.
    """
    from cachezoo.yaml_file import read_yaml

    return parse_recipe(read_yaml(path), str(path))

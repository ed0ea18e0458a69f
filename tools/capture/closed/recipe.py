"""A closed-loop recipe: tools/capture/recipes/corpus/CATEGORY/PROGRAM_SETUP.yaml, validated, unknown keys refused.

A paced recipe says when each request comes; a closed-loop one says how much there is of each mix, and the programs go
as fast as they can. So a phase is as long as so many requests or pages of the device, whatever the machine's speed.
"""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, TypeAdapter, model_validator

from cachezoo.errors import ConfigError
from cachezoo.yaml_file import checked, read_yaml
from tools.capture.closed.loads import Load
from tools.capture.loads import Strict

Weight = Annotated[int, Field(ge=1, le=1000)]


class Phase(Strict):
    """A stretch of one mix, which ends with the first of its limits.

    Attributes:
        mix: operation of the program to its weight.
        theta: Zipf exponent of the popularity, 0 uniform.
        move: by which part of the population the hot set has moved since the first phase.
        beside: jobs that run over and over beside the mix.
        requests: requests of the device.
        pages: 4 KiB pages that they read and write.
        seconds: the phase ends then at the latest.
    """

    mix: dict[str, Weight] = Field(min_length=1)
    theta: float = Field(ge=0, le=3)
    move: float = Field(default=0.0, ge=0, lt=1)
    beside: tuple[str, ...] = ()
    requests: int = Field(ge=50, le=1_000_000)
    pages: int = Field(ge=50, le=10_000_000)
    seconds: int = Field(default=60, ge=1, le=600)


class ClosedRecipe(Strict):
    """Everything a closed-loop capture is made from.

    Attributes:
        category: workload category of the trace.
        seed: base of all random draws.
        disk_mib: size of the loop device.
        place_mib: size of a file that is laid out first and never touched, so that the data lie behind it.
        memory_mib: memory of the program, its clients where they count, and their page cache together.
        readahead_kib: of the loop device.
        buffer_kib: trace buffer of each processor.
        warmup_pages: pages of the first phase's mix before events are kept.
        phases: in their order.
        load: the program and its own part.
    """

    category: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    seed: int = Field(ge=0, lt=2**31)
    disk_mib: int = Field(ge=64, le=65_536)
    place_mib: int = Field(default=0, ge=0, le=65_536)
    memory_mib: int = Field(ge=32, le=65_536)
    readahead_kib: int = Field(ge=0, le=65_536)
    buffer_kib: int = Field(ge=64, le=262_144)
    warmup_pages: int = Field(ge=0, le=10_000_000)
    phases: tuple[Phase, ...] = Field(min_length=1, max_length=50)
    load: Load

    @property
    def program(self) -> str:
        """The program's id."""
        return self.load.program

    @property
    def requests(self) -> int:
        """The most requests of the trace."""
        return sum(phase.requests for phase in self.phases)

    @model_validator(mode="after")
    def _room(self) -> Self:
        if self.place_mib >= self.disk_mib:
            message = f"place_mib {self.place_mib} leaves no room on a disk of disk_mib {self.disk_mib}"
            raise ValueError(message)
        return self


RECIPE: TypeAdapter[ClosedRecipe] = TypeAdapter(ClosedRecipe)


def load_closed(path: Path) -> ClosedRecipe:
    """Read a closed-loop recipe.

    Raises:
        ConfigError: not readable, not YAML, or no valid recipe.
    """
    return checked(RECIPE, read_yaml(path), str(path), "fix the recipe")


def check_phases(recipe: ClosedRecipe, operations: tuple[str, ...], jobs: tuple[str, ...]) -> None:
    """See that the program has every operation and job of the phases.

    Raises:
        ConfigError: one that it does not have.
    """
    for number, phase in enumerate(recipe.phases):
        for what, given, known in (("mix", phase.mix, operations), ("beside", phase.beside, jobs)):
            unknown = sorted(set(given) - set(known))
            if unknown:
                said = ", ".join(known) or "none"
                message = f"phases.{number}.{what}: {recipe.program} has no {', '.join(unknown)}; it has {said}"
                raise ConfigError(message)

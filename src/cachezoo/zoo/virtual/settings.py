"""Sections `model.virtual`, `fit.virtual` and `judge.virtual`."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Count, Gain, Part, Strict

Queue = Literal["lru", "lfu", "arc"]
Runs = Annotated[int, Field(ge=1, le=16)]
Decay = Annotated[float, Field(ge=0, le=1)]
Cost = Annotated[float, Field(ge=0, le=1e6)]
QueuePages = Annotated[int, Field(ge=1, le=1 << 26)]


class Model(Strict):
    """`model.virtual`."""

    arch: str = Field(pattern=r"^[a-z0-9_]+$")  # last part of the model's id
    fragment: int = Field(ge=1, le=1 << 16)  # positions of the queue that are mapped together, in pages


class Fit(Strict):
    """`fit.virtual`: the queues whose profiles are learned, each of each length."""

    queues: list[Queue] = Field(min_length=1, max_length=3)
    pages: list[QueuePages] = Field(min_length=1, max_length=8)  # rising; multiples of `model.virtual.fragment`

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if len(set(self.queues)) < len(self.queues):
            raise ValueError(f"queues {self.queues}: each once")
        if any(after <= before for before, after in pairwise(self.pages)):
            raise ValueError(f"pages {self.pages}: they must rise")
        return self


class Paper(Strict):
    """`judge.virtual.paper`: the settings of the paper, which are tried first and shown with what is tuned."""

    runs: Runs
    decay: Decay
    quantum: Count


class Judge(Strict):
    """`judge.virtual`."""

    paper: Paper  # the paper's settings, with the longest queue and at no cost
    seeds: int = Field(ge=1, le=99)  # searches, each of another seed; the best of them by validation is the model
    trials: int = Field(ge=3, le=100_000)  # settings that each tries; the paper's are among them
    most_runs: Runs  # 1 to so many runs are tried
    decay: list[Decay] = Field(min_length=2, max_length=2)  # least and greatest decay that is tried
    quantum: list[Count] = Field(min_length=2, max_length=2)  # the same of the references between two mappings
    cost: list[Cost] = Field(min_length=2, max_length=2)  # the same of what a page costs that enters a run
    most_transfers: float = Field(gt=0, le=1e6)  # that a setting may make, over those of the best plain policy
    least_gain: Gain  # hit ratio above the best plain policy's that is worth a model
    window: Count  # page accesses that the hit ratio of a warm start is looked at over
    steady: Part  # part of its steady value at which a start is over

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for name in ("decay", "quantum", "cost"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} [{low}, {high}]: the least comes first")
        return self

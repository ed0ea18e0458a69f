"""Sections `model.caching`, `fit.caching` and `judge.caching`."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Count, Gain, Strict
from cachezoo.settings.lstm import Accelerator, Layers, LstmFit, Units


class Model(Strict):
    """`model.caching`: the caching model's network.

    Attributes:
        arch: last part of the model's id.
        layers, units: LSTM layers and their width.
        sequence: requests of a training sequence.
        state: `carried` keeps the LSTM's state from sequence to sequence, in training and serving; `reset100` starts
            each sequence of 100 from zero in both.
        inputs: formulas of `cachezoo.features.sequence`, in order, but for those that are fed back.
        feedback: the previous request's tags are inputs; then the model's outputs depend on its cache, and one
            oracle alone can teach them.
    """

    arch: str = Field(pattern=r"^[a-z0-9_]+$")
    layers: Layers
    units: Units
    sequence: int = Field(ge=2, le=1_000_000)
    state: Literal["carried", "reset100"]
    inputs: list[str] = Field(min_length=1, max_length=64)
    feedback: bool

    @model_validator(mode="after")
    def _named_right(self) -> Self:
        if self.state == "reset100" and self.sequence != 100:
            raise ValueError(f"state reset100 means sequences of 100, not {self.sequence}")
        return self


class Augment(Strict):
    """`fit.caching.augment`: copies of the train traces with other inputs and the same tags."""

    copies: int = Field(ge=0, le=100)  # of each train trace, beside the trace itself; 0 trains on the traces alone
    # A copy's addresses are moved by up to this many times the trace's range of addresses, either way.
    offset_spans: float = Field(ge=0, le=1000)
    # Its gaps are longer or shorter by a factor of up to 2 to the power of this.
    rate_octaves: float = Field(ge=0, le=20)
    size_octaves: float = Field(ge=0, le=10)  # its sizes, and the distances between requests, likewise


HitTarget = Literal["kept", "cached"]


class Fit(LstmFit):
    """`fit.caching`."""

    # Networks that are trained, alike but for their seed; the judge ships one. A model of fewer than five is not
    # promoted.
    seeds: int = Field(ge=1, le=100)
    # What torch trains on; `auto` takes CUDA where there is a device. Elsewhere than on the CPU the bytes are others.
    accelerator: Accelerator
    # With feedback, part of training sequences that do not see the previous requests' tags. In training these are the
    # oracle's, online the model's own; a model that leans on them follows its mistakes.
    tag_dropout: float = Field(ge=0, le=1)
    # Weight of requests that are wholly in the oracle's cache; 0 trains on consulted requests alone.
    hit_weight: float = Field(ge=0, le=1)
    # What they teach: `kept`, whether they are used again before they leave; or `cached`, the oracle's tags as they
    # are, which call all of them cached and name the queue.
    hit_target: HitTarget
    augment: Augment  # copies of the train traces that are learned from too


Objective = Literal["hits", "response", "writes"]


class Judge(Strict):
    """`judge.caching`."""

    # What is best: the most page hits; the shortest mean response time; or the fewest pages written to the SSD by a
    # cache whose hit ratio is less than `least_gain` below the best. The verdict is on hits, whatever is chosen by.
    objective: Objective
    # Parts of a trace's working set; for each a threshold and a queue rule is chosen, and between them they go over
    # into each other. The judged one, `policy.manager.capacity`, is always among them.
    capacities: list[Annotated[float, Field(gt=0, lt=1)]] = Field(min_length=1)

    # How many thresholds of the cached probability are compared in closed loop, for each oracle and rules: those that
    # admit all and nothing, and quantiles of the model's outputs between them.
    thresholds: int = Field(ge=3, le=1000)
    closed_loop_requests: Count  # requests of each validation trace that the closed loop replays
    least_gain: Gain  # hit ratio above the classic's that is worth a model

"""Sections `model.reuse`, `fit.reuse` and `judge.reuse`."""

from typing import Annotated

from pydantic import Field, model_validator

from cachezoo.settings.base import Count, Gain, Joining, Part, Rounds, Strict, Threads

Capacity = Annotated[float, Field(gt=0, lt=1)]


class Model(Strict):
    """`model.reuse`.

    Attributes:
        arch: last part of the model's id.
        num_leaves, max_trees, learning_rate, feature_fraction, bagging_fraction, min_data_in_leaf, max_bin: LightGBM's.
        quantiles: classes that the forest's score is cut into.
        shadows: classics whose shadow's hit or miss at an access cuts each class in two.
        candidates: residents compared at each eviction.
        own_trees: of the forest of a trace's own past; 0 grows none.
        own_rows: drawn of that past each time it is grown.
        own_pace: rows by trees that an access grows of it, about; 0: one access grows all.
        experts: classics and compositions that may lead in place of the forest.
        half_life, lead, price, head_start: of the follower, as `cachezoo.policies.following` says; the forest's cache
            is its first expert.
    """

    arch: str = Field(pattern=r"^[a-z0-9_]+$")
    num_leaves: int = Field(ge=2, le=255)
    max_trees: Rounds
    learning_rate: Part
    feature_fraction: Part
    bagging_fraction: Part
    min_data_in_leaf: int = Field(ge=1, lt=1 << 31)
    max_bin: int = Field(ge=3, le=255)
    quantiles: int = Field(ge=2, le=64)
    shadows: list[str] = Field(max_length=3)
    candidates: int = Field(ge=1, le=4096)
    own_trees: int = Field(ge=0, le=1000)
    own_rows: int = Field(ge=1, le=10_000_000)
    own_pace: int = Field(ge=0, le=10**9)
    experts: list[str] = Field(min_length=1, max_length=31)
    half_life: float = Field(ge=1e-3, le=1e6)
    lead: float = Field(ge=0, le=1e6)
    price: float = Field(ge=0, le=1e6)
    head_start: float = Field(ge=0, le=1e6)


class Fit(Strict):
    """`fit.reuse`."""

    seeds: int = Field(ge=1, le=100)  # forests fitted, each from draws of its own
    rows: Count  # drawn of each train trace at each capacity
    corpus_rows: Count  # the same of each trace of the corpus
    capacities: list[Capacity] = Field(min_length=1)  # parts of a trace's distinct pages that rows are made at
    # Part of the rows whose process and flags are hidden, as in traces that do not record them.
    hidden: float = Field(ge=0, le=1)
    turns: float = Field(ge=0, lt=1)  # part of the rows drawn where two train traces take turns
    threads: Threads  # LightGBM's


class Pair(Strict):
    """Two streams that are joined to one whose workload changes, see `cachezoo.traces.joined`."""

    kind: Joining  # how it changes
    first: str  # key of a long stream of the corpus
    second: str  # the one that takes its place


class Judge(Strict):
    """`judge.reuse`."""

    # Candidate weights of the training traces' counts, in accesses for each class and age.
    weights: list[Annotated[float, Field(gt=0, le=1e9)]] = Field(min_length=1)
    capacity: Capacity  # part of the distinct pages at which the verdict is spoken
    sizes: list[Capacity] = Field(min_length=1)  # the same of test streams, at which the model is run
    changes: list[Pair]  # joined test streams, on which the model is run at `capacity`
    least_gain: Gain  # hit ratio above the classic's that is worth a model

    @model_validator(mode="after")
    def _verdict_is_run(self) -> "Judge":
        if self.capacity not in self.sizes:
            raise ValueError(f"sizes {self.sizes} must hold capacity {self.capacity}, of which the headline is")
        return self

"""Parameters of RC-RNN: labels, features, workload classifier, caching model, cache manager."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BenefitLabel(_Strict):
    """`label.benefit`: what the oracles label.

    Attributes:
        oracle: which oracles the caching model may imitate: RC-RNN's benefit (Eq. 3), Belady with bypass, or any of
            them; where there are several, validation chooses.
        horizons: candidate horizons of the benefit oracle, in capacities.
        capacities: cache sizes labelled, as parts of the trace's working set, rising.
    """

    oracle: Literal["any", "benefit", "belady"]
    horizons: list[int] = Field(min_length=1)
    capacities: list[float] = Field(min_length=1)

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if min(self.horizons) < 1 or len(set(self.horizons)) < len(self.horizons):
            message = f"horizons {self.horizons} must be distinct and at least 1"
            raise ValueError(message)
        if any(not 0.01 <= c <= 1 or abs(100 * c - round(100 * c)) > 1e-9 for c in self.capacities):
            message = f"capacities {self.capacities} must be whole percents of the working set, 0.01 to 1"
            raise ValueError(message)
        if any(a >= b for a, b in zip(self.capacities, self.capacities[1:], strict=False)):
            message = f"capacities {self.capacities} must rise"
            raise ValueError(message)
        return self


class SequenceFeatures(_Strict):
    """`features.sequence`: the history behind the inputs.

    Attributes:
        memory_accesses: page accesses after which a page is forgotten.
        window_accesses: page accesses over which the recent working set is counted.
        region_bytes: an address region, whose heat is an input.
        region_bits: the table of regions holds 2**bits.
        clip: normalised inputs are cut to ± this.
    """

    memory_accesses: int = Field(ge=1, lt=2**40)
    window_accesses: int = Field(ge=1, lt=2**40)
    region_bytes: int = Field(ge=4096)
    region_bits: int = Field(ge=1, le=24)
    clip: float = Field(gt=0)


class WorkloadModel(_Strict):
    """`model.workload`: the classifier's network."""

    arch: str = Field(pattern=r"^[a-z0-9_]+$")
    layers: int = Field(ge=1)
    units: int = Field(ge=1)
    window: int = Field(ge=2)


class CachingModel(_Strict):
    """`model.caching`: the caching model's network.

    Attributes:
        arch: last part of the model's id.
        layers, units: LSTM layers and their width.
        sequence: requests of a training sequence.
        state: `carried` keeps the LSTM's state from sequence to sequence, in training and serving; `reset100` starts
            each sequence of 100 from zero in both.
        feedback: the previous request's tags are inputs; then the model's outputs depend on its cache, and one
            oracle alone can teach them.
    """

    arch: str = Field(pattern=r"^[a-z0-9_]+$")
    layers: int = Field(ge=1)
    units: int = Field(ge=1)
    sequence: int = Field(ge=2)
    state: Literal["carried", "reset100"]
    feedback: bool

    @model_validator(mode="after")
    def _named_right(self) -> Self:
        if self.state == "reset100" and self.sequence != 100:
            message = f"state reset100 means sequences of 100, not {self.sequence}"
            raise ValueError(message)
        return self


class _Train(_Strict):
    """What both trainings share. Precision, threads and batch are explicit because results depend on them.

    Attributes:
        max_epochs: passes over the train traces; the best by validation is kept.
        batch: sequences (windows) in a step.
        learning_rate: RMSProp's.
        clip_norm: gradients are scaled down to this norm.
        precision: `32-true` or `bf16-mixed`.
        threads: torch's threads.
    """

    max_epochs: int = Field(ge=1)
    batch: int = Field(ge=1)
    learning_rate: float = Field(gt=0)
    clip_norm: float = Field(gt=0)
    precision: Literal["32-true", "bf16-mixed"]
    threads: int = Field(ge=1)


class WorkloadTrain(_Train):
    """`train.workload`.

    Attributes:
        stride: requests between the beginnings of training windows.
    """

    stride: int = Field(ge=1)


class CachingTrain(_Train):
    """`train.caching`.

    Attributes:
        tag_dropout: with feedback, part of training sequences that do not see the previous requests' tags. In
            training these are the oracle's, online the model's own; a model that leans on them follows its mistakes.
        hit_weight: weight of requests that are wholly in the oracle's cache, with "is used again before it leaves"
            as the target; 0 trains on consulted requests alone.
        thresholds: candidate thresholds of the cached probability, compared in closed loop.
        closed_loop_requests: requests of each validation trace that the closed loop replays.
        blocks: time blocks of the bootstrap.
        bootstrap_samples: its resamples.
    """

    tag_dropout: float = Field(ge=0, le=1)
    hit_weight: float = Field(ge=0, le=1)
    thresholds: list[Annotated[float, Field(ge=0, le=1)]] = Field(min_length=1)
    closed_loop_requests: int = Field(ge=1)
    blocks: int = Field(ge=20)
    bootstrap_samples: int = Field(ge=100)


class ManagerPolicy(_Strict):
    """`policy.manager`: the online cache of three queues, and the workload monitor.

    Attributes:
        capacity: cache size that training judges at, as a part of the working set.
        demote_capacities: page accesses in a queue, in capacities, before a page is demoted.
        protected_percent: pages in this share of their queue are not.
        fill_free: free space is filled whatever the model says.
        on_hit: candidates for what a hit does, chosen on validation: `stay` moves a page to the head of its queue as in
            the paper, `requeue` to the queue that the model names, and to the tail of soon if it names none.
        queues: candidates for where admitted pages enter: the `three` of the paper by expected stay, or a `single` one.
        vote_windows: windows of the classifier in a vote.
        switch_votes: equal votes in a row that switch the category.
    """

    capacity: float = Field(gt=0, le=1)
    demote_capacities: int = Field(ge=1)
    protected_percent: int = Field(ge=0, le=100)
    fill_free: bool
    on_hit: list[Literal["stay", "requeue"]] = Field(min_length=1)
    queues: list[Literal["three", "single"]] = Field(min_length=1)
    vote_windows: int = Field(ge=1)
    switch_votes: int = Field(ge=1)

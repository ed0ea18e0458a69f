"""The page cache of RC-RNN: benefit labels, sequence features, the cache manager."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Part, Rounds, Strict


class BenefitLabel(Strict):
    """`label.benefit`: what the oracles label.

    Attributes:
        oracle: which oracles the caching model may imitate: RC-RNN's benefit (Eq. 3), Belady with bypass, any of
            these (where there are several, validation chooses), or the one that saves response time and decides by
            request.
        horizons: candidate horizons of the benefit oracle, in capacities. Two more readings of the paper are there to
            be compared: `future` counts all uses that are still to come, `trace` those before the access too. Their
            tags are taken as they are, though any longer trace would change them.
        capacities: cache sizes labelled, as parts of the trace's working set, rising.
    """

    oracle: Literal["any", "benefit", "belady", "cost_belady"]
    horizons: list[Rounds | Literal["future", "trace"]] = Field(min_length=1)
    capacities: list[Part] = Field(min_length=1)

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if len(set(self.horizons)) < len(self.horizons):
            raise ValueError(f"horizons {self.horizons} must be distinct")
        if not any(isinstance(horizon, int) for horizon in self.horizons):
            message = f"horizons {self.horizons} must hold a number of capacities, as Belady's tags look so far ahead"
            raise ValueError(message)
        if any(not 0.01 <= c <= 1 or abs(100 * c - round(100 * c)) > 1e-9 for c in self.capacities):
            raise ValueError(f"capacities {self.capacities} must be whole percents of the working set, 0.01 to 1")
        if any(a >= b for a, b in zip(self.capacities, self.capacities[1:], strict=False)):
            raise ValueError(f"capacities {self.capacities} must rise")
        return self


class SequenceFeatures(Strict):
    """`features.sequence`: the history behind the inputs."""

    memory_accesses: int = Field(ge=1, lt=2**40)  # page accesses after which a page is forgotten
    window_accesses: int = Field(ge=1, lt=2**40)  # page accesses over which the recent working set is counted
    region_bytes: int = Field(ge=4096, le=1 << 60)  # an address region, whose heat is an input
    region_bits: int = Field(ge=1, le=24)  # the table of regions holds 2**bits
    clip: float = Field(gt=0, le=1e6)  # normalised inputs are cut to ± this


class ManagerPolicy(Strict):
    """`policy.manager`: the online cache of three queues, and the workload monitor."""

    capacity: Part  # cache size that training judges at, as a part of the working set
    demote_capacities: Rounds  # page accesses in a queue, in capacities, before a page is demoted
    protected_percent: int = Field(ge=0, le=100)  # pages in this share of their queue are not
    fill_free: bool  # free space is filled whatever the model says
    # candidates for what a hit does, chosen on validation: `stay` moves a page to the head of its queue as in the
    # paper, `requeue` to the queue that the model names, and to the tail of soon if it names none
    on_hit: list[Literal["stay", "requeue"]] = Field(min_length=1)
    # candidates for where admitted pages enter: the `three` of the paper by expected stay, or a `single` one
    queues: list[Literal["three", "single"]] = Field(min_length=1)
    vote_windows: Rounds  # windows of the classifier in a vote
    # seconds from the beginning of a vote to that of the next, at least; 0: a vote follows on the one before
    vote_every_s: int = Field(ge=0, le=1 << 20)
    switch_votes: Rounds  # equal votes in a row that switch the category


class ClassicsPolicy(Strict):
    """`policy.classics`: other ways to run the classics than their defaults, so that they are tuned as a model is."""

    # for each classic, values of its parameters; it runs with every combination of them
    values: dict[str, dict[str, Annotated[list[Annotated[float, Field(ge=0, le=1e6)]], Field(min_length=1)]]]
    admissions: list[str]  # as `cachezoo.policies.spec` writes them
    evictions: list[str]  # each runs behind each of the admissions

"""Evictions of hierarchies: HCA's LFU, which the zoo has not, and those that can remove a page of the SSD at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cachezoo.kernels import tier_counts, tier_queue
from cachezoo.kernels.step import step
from cachezoo.policies.components import Eviction, Step, Values, settle
from cachezoo.policies.stream import Stream

HCALFU = Eviction(
    "hcalfu", "LFU as in HCA: every page enters, counts survive eviction",
    lambda stream, capacity, _: tier_counts.make(stream.n_pages, capacity, keeps=True, refuses=False, removes=False),
    tier_counts.has, tier_counts.touch, tier_counts.insert,
)  # fmt: skip


@dataclass(frozen=True)
class Below:
    """An eviction of the SSD.

    Attributes:
        id: of the eviction that it is; one id, one set of steps.
        make: (stream of what the SSD is asked, capacity in pages, values) to an empty state.
        has, touch, insert, remove: its steps, as in `cachezoo.kernels.tiers`.
        removes: False where `remove` does nothing, and copies stay that can serve nobody.
        learn: as `Eviction.learn`, every `learn_every` questions.
        learn_every: questions.
    """

    id: str
    make: Callable[[Stream, int, Values], Any]
    has: Step
    touch: Step
    insert: Step
    remove: Step
    removes: bool = True
    learn: Callable[[Any, int], None] | None = None
    learn_every: int = 0


@step
def _stays(state: object, page: int) -> None:
    """Nothing: the copy stays where it is until the eviction evicts it."""


def _queue(name: str, touch: Step) -> Below:
    def make(stream: Stream, capacity: int, _: Values) -> tier_queue.State:
        return tier_queue.make(stream.n_pages, capacity)

    return Below(name, make, tier_queue.has, touch, tier_queue.insert, tier_queue.remove)


def _counted(name: str, keeps: bool, refuses: bool) -> Below:
    def make(stream: Stream, capacity: int, _: Values) -> tier_counts.State:
        return tier_counts.make(stream.n_pages, capacity, keeps, refuses)

    return Below(name, make, tier_counts.has, tier_counts.touch, tier_counts.insert, tier_counts.remove)


REMOVING = {
    own.id: own
    for own in (
        _queue("lru", tier_queue.touch),
        _queue("fifo", tier_queue.stay),
        _counted("lfu", keeps=True, refuses=True),
        _counted("inlfu", keeps=False, refuses=False),
        _counted(HCALFU.id, keeps=True, refuses=False),
    )
}


def below(eviction: Eviction) -> Below:
    """The eviction as the SSD's: one that removes where there is one, else the zoo's with dead copies."""
    if eviction.id in REMOVING:
        return REMOVING[eviction.id]

    def make(stream: Stream, capacity: int, given: Values) -> Any:  # noqa: ANN401 - each eviction's own
        return eviction.make(stream, capacity, settle(eviction.id, eviction.parameters, given))

    return Below(
        eviction.id, make, eviction.has, eviction.touch, eviction.insert, _stays, False, eviction.learn,
        eviction.learn_every,
    )  # fmt: skip

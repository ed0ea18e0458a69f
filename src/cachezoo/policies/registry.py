"""The registry of cache policies: one frozen entry a policy, a duplicate raises."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.kernels import classic, ranked

I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]
Kernel = Callable[[I32, int, int], U8]
REJECTX_WINDOW_CAPACITIES = 4


@dataclass(frozen=True)
class Policy:
    """A cache policy.

    Attributes:
        id: lower case without punctuation, e.g. ``s3fifo``.
        kind: ``classic`` (could run in a cache) or ``bound`` (sees the future).
        title: one line for people.
        run: (page_ids, n_pages, capacity) to uint8 outcomes, as in `cachezoo.kernels.classic`.
    """

    id: str
    kind: Literal["classic", "bound"]
    title: str
    run: Kernel


def _rejectx(page_ids: I32, n_pages: int, capacity: int) -> U8:
    outcome: U8 = classic.rejectx(page_ids, n_pages, capacity, REJECTX_WINDOW_CAPACITIES * capacity)
    return outcome


def build(entries: tuple[Policy, ...]) -> dict[str, Policy]:
    """Index policies by id.

    Raises:
        ConfigError: two entries share an id.
    """
    policies: dict[str, Policy] = {}
    for entry in entries:
        if entry.id in policies:
            message = f"policy {entry.id}: registered twice; give one of them another id"
            raise ConfigError(message)
        policies[entry.id] = entry
    return policies


POLICIES = build(
    (
        Policy("fifo", "classic", "first in, first out", classic.fifo),
        Policy("lru", "classic", "least recently used", classic.lru),
        Policy("lfu", "classic", "least frequently used, perfect history, with bypass", ranked.lfu),
        Policy("arc", "classic", "adaptive replacement (FAST 2003)", classic.arc),
        Policy("larc", "classic", "lazy adaptive replacement (MSST 2013)", classic.larc),
        Policy(
            "rejectx",
            "classic",
            "LRU, admission on the second miss within 4 capacities of accesses",
            _rejectx,
        ),
        Policy(
            "static_hindsight", "bound", "the most accessed pages of the whole trace", ranked.static_hindsight
        ),
        Policy("belady", "bound", "MIN that always inserts", ranked.belady),
        Policy("belady_bypass", "bound", "MIN with bypass: the optimum of page hits", ranked.belady_bypass),
    )
)
OPTIMUM = "belady_bypass"


def classics() -> list[str]:
    """Ids of every registered classic, in the registry's order."""
    return [policy.id for policy in POLICIES.values() if policy.kind == "classic"]


def policy(policy_id: str) -> Policy:
    """Look a policy up.

    Raises:
        ConfigError: no such policy.
    """
    if policy_id not in POLICIES:
        message = f"policy {policy_id}: unknown; use one of {', '.join(POLICIES)}"
        raise ConfigError(message)
    return POLICIES[policy_id]

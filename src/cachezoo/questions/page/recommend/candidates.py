"""The policies that a recommendation may name, and how one of them is chosen at a size.

The list is short, and of policies that caches in use can run. It was chosen, like the rule below, on the captured train
and validation traces and the corpus's train traces, never on test traces: docs/recommend.md has the figures.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64


@dataclass(frozen=True)
class Candidate:
    """A policy that may be recommended.

    Attributes:
        id: as `cachezoo simulate --policy` takes it.
        name: as people write it.
        does: what it does, in a sentence without a subject.
    """

    id: str
    name: str
    does: str


CANDIDATES = (
    Candidate("lru", "LRU", "evicts what was used longest ago; nearly every cache has it"),
    Candidate("s3fifo", "S3-FIFO", "evicts early what was not used again in a small first queue"),
    Candidate("arc", "ARC", "balances what was used lately and what is used often; ZFS has it"),
    Candidate("lirs", "LIRS", "keeps what comes back soon, however long ago it came; resists loops and scans"),
    Candidate("wtinylfu", "W-TinyLFU", "lets a page in only if it is asked for more often than the victim"),
    Candidate("lfu", "LFU", "keeps what was used most often, and a count of every page it has seen"),
    Candidate("rejectx+lirs", "LIRS behind RejectX", "is LIRS that a page enters at its second miss: few SSD writes"),
)
NAMES = {one.id: one.name for one in CANDIDATES}
SIMPLEST = "lru"
ADMISSION = "rejectx"


def name_of(policy_id: str) -> str:
    """How people write a candidate, or a candidate behind RejectX; other ids as they are."""
    admission, plus, eviction = policy_id.partition("+")
    if policy_id in NAMES:
        return NAMES[policy_id]
    return f"{NAMES[eviction]} behind RejectX" if plus and admission == ADMISSION and eviction in NAMES else policy_id


def chosen(ratios: F64) -> list[int]:
    """The place of the policy chosen at each size: the most hits over the size and its two neighbours.

    A size alone is swayed by chance; neighbours rank policies alike. Of equals the first in the list is taken.

    Args:
        ratios: float64[P, S] hit ratios on the choosing part, sizes rising; not a number where nothing was counted,
            and then the first policy is taken.
    """
    wide = np.pad(ratios, ((0, 0), (1, 1)), mode="edge")
    mean = (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) / 3
    return [int(np.argmax(column)) if np.isfinite(column).all() else 0 for column in mean.T]

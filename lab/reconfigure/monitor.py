"""Who decides at each request: the workload monitor's word as a plan for `cachezoo.zoo.caching.switching`.

RC-RNN, Sec. 4.2: the monitor classifies 1,000 requests at a time and has the model of the category that is running
take over. Models are numbered as the monitor's classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.errors import ConfigError
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.caching.switching import ALL_ENTER, ALL_PASS, spans
from cachezoo.zoo.workload.serve import NONE, UNKNOWN, WorkloadServing
from lab.reconfigure.streams import Phase

Unknown = Literal["keep", "no_model"]
UNKNOWNS: tuple[Unknown, ...] = get_args(Unknown)


@dataclass(frozen=True)
class Watched:
    """What the monitor said of a stream.

    Attributes:
        in_force: int32[n], the category that each request is served under; -1 before the first vote, -2 unknown.
        votes: how many it took.
        wrong: votes for another category than the one that issued most of the vote's requests.
        unknown: votes for none.
    """

    in_force: I32
    votes: int
    wrong: int
    unknown: int


def watch(serving: WorkloadServing, batch: RequestBatch, truth: I32) -> Watched:
    """Run the monitor over a stream.

    Args:
        serving: the workload classifier.
        batch: requests, from the first on.
        truth: int32[n], the category that issued each, by its place among the classifier's.
    """
    seen = serving.run(batch)
    last = np.flatnonzero(seen.votes != NONE)
    said, length = seen.votes[last], serving.window * serving.vote_windows
    most = [int(np.bincount(truth[k * length : (k + 1) * length]).argmax()) for k in range(len(last))]
    unknown = said == UNKNOWN
    wrong = ~unknown & (said != np.array(most, np.int32))
    return Watched(seen.of_requests(len(batch)), len(said), int(wrong.sum()), int(unknown.sum()))


def monitor_plan(in_force: I32, unknown: Unknown) -> I32:
    """A plan of what the monitor says; before its first vote everything enters, for no model is known.

    Args:
        in_force: as in `Watched`.
        unknown: what is done where the workload is unknown: `keep` the model that decides, or let everything enter
            with `no_model`.

    Raises:
        ConfigError: another word for it.
    """
    if unknown not in UNKNOWNS:
        raise ConfigError(f"unknown {unknown}: use one of {', '.join(UNKNOWNS)}")
    said = np.where(in_force == NONE, ALL_ENTER, in_force).astype(np.int32)
    if unknown == "no_model":
        return np.where(in_force == UNKNOWN, ALL_ENTER, said).astype(np.int32)
    # Where it is unknown, the last request at which it was not says who decides.
    known = np.maximum.accumulate(np.where(in_force == UNKNOWN, -1, np.arange(len(said))))
    return np.where(known >= 0, said[np.maximum(known, 0)], ALL_ENTER).astype(np.int32)


def loading_plan(plan: I32, time_us: I64, load_us: int) -> I32:
    """A plan where one model at a time is in memory (the paper's `single_model`).

    A model that takes over is loaded first, in place of the one before; till then nobody decides, and what is missing
    passes by. A model that is still in memory is not loaded again.

    Args:
        plan: int32[n].
        time_us: int64[n] µs, the requests' issue.
        load_us: how long it takes, µs.

    Raises:
        ConfigError: less than no time.
    """
    if load_us < 0:
        raise ConfigError(f"load_us {load_us}: a model takes 0 µs or more to load")
    out = plan.copy()
    held = ALL_ENTER
    for first, end in spans(plan):
        who = int(plan[first])
        if who < 0 or who == held:
            continue
        ready = first + int(np.searchsorted(time_us[first:end], time_us[first] + load_us))
        out[first:ready] = ALL_PASS
        held = who if ready < end else ALL_ENTER
    return out


def delays(plan: I32, phases: Sequence[Phase], truth: I32) -> list[int | None]:
    """Requests from each change until the right model decides; None where it does not before the next change."""
    found: list[int | None] = []
    for phase in phases[1:]:
        right = plan[phase.first : phase.end] == truth[phase.first]
        found.append(int(right.argmax()) if right.any() else None)
    return found

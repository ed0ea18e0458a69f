"""How right the workload monitor is on a stream, and a plan of one model in memory at a time.

RC-RNN, Sec. 4.2. Plans are those of `cachezoo.questions.page.monitored`, with models numbered as the monitor's classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.errors import ConfigError
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.caching.switching import ALL_ENTER, ALL_PASS, spans
from cachezoo.zoo.workload.serve import NONE, UNKNOWN, WorkloadServing
from lab.reconfigure.streams import Phase


@dataclass(frozen=True)
class Watched:
    """What the monitor said of a stream.

    Attributes:
        in_force: int32[n], the category that each request is served under; -1 before the first vote, -2 unknown.
        looked_at: share of the requests that it looked at.
        votes: how many it took.
        wrong: votes for another category than the one that issued most of the vote's requests.
        unknown: votes for none.
    """

    in_force: I32
    looked_at: float
    votes: int
    wrong: int
    unknown: int


def watch(serving: WorkloadServing, batch: RequestBatch, truth: I32, every_s: int = 0) -> Watched:
    """Run the monitor over a stream.

    Args:
        serving: the workload classifier.
        batch: requests, from the first on.
        truth: int32[n], the category that issued each, by its place among the classifier's.
        every_s: least time from the beginning of a vote to that of the next, s; 0: each follows on the one before.
    """
    seen = serving.run(batch, every_s)
    last = np.flatnonzero(seen.votes != NONE)
    said, length = seen.votes[last], serving.window * serving.vote_windows
    issued = truth[seen.looked_at][: len(last) * length].reshape(len(last), length)
    most = [int(np.bincount(own).argmax()) for own in issued]
    unknown = said == UNKNOWN
    wrong = ~unknown & (said != np.array(most, np.int32))
    share = len(seen.looked_at) / max(1, len(batch))
    return Watched(seen.of_requests(len(batch)), share, len(said), int(wrong.sum()), int(unknown.sum()))


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

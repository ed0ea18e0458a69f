"""The workload classifier at work: the category of every window of requests, and the votes that switch models.

One code serves evaluation and a bundle's runtime; it needs numpy alone. Source: RC-RNN, Sec. 4.2 and 5.2.1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.features.sequence import REQUEST_FORMULAS, check_formulas, open_inputs, request_columns
from cachezoo.features.window import WINDOW_FORMULAS, normalised, window_columns
from cachezoo.serving.ranges import integer
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.workload.known import Known, of_votes, strangeness

NONE = -1
UNKNOWN = -2
BATCH = 256
MOST_CLASSES = 16
MOST_VOTE_EVERY_S = 1 << 20
SECOND_US = 1_000_000
KEYS = {"features", "policy", "calibration", "geometry", "encodings"}  # of a manifest, for a serving object

Infer = Callable[[F32], F32]
"""Windows float32[B, T, F] to probabilities float32[B, K], one column a category."""


@dataclass(frozen=True)
class Monitored:
    """What the monitor saw, window by window; requests after the last whole window belong to none."""

    looked_at: I64  # int64[m] the requests that votes are of, by their places; all where votes follow on one another
    features: F32  # float32[m, F] model inputs of these
    probabilities: F32  # float32[w, K], columns as `WorkloadServing.classes`
    strangeness: F64  # float64[w], see `cachezoo.zoo.workload.known`
    likeliest: I32  # int32[w], the likeliest category of each window, however strange
    classes: I32  # int32[w], the same, -2 where the model does not know the window
    votes: I32  # int32[w], the vote that the window completes, -1 where it completes none, -2 where it is unknown
    in_force: I32  # int32[w], the category after the window, -1 before the first vote, -2 where votes say unknown
    window: int  # requests in a window

    def of_requests(self, n: int) -> I32:
        """int32[n]: what each request is served under, known from earlier windows alone; values as `in_force`."""
        known = np.concatenate([[NONE], self.in_force]).astype(np.int32)
        ends = self.looked_at[self.window - 1 :: self.window][: len(self.in_force)]
        return known[np.searchsorted(ends, np.arange(n))]


def looked_at(time_us: I64, length: int, every_s: int) -> I64:
    """The requests that votes are of: each vote takes those that follow on its first one.

    The first request begins a vote. The next one begins with the first request after it that comes `every_s` or more
    after the vote's own beginning, however long the vote took, and however long nothing was requested. A vote waits
    for its requests through any pause. Where the clock goes back, it counts as the latest time so far.

    Args:
        time_us: int64[n] µs.
        length: requests in a vote.
        every_s: least time from the beginning of a vote to that of the next, s; 0: each follows on the one before.

    Returns:
        int64[m], their places.
    """
    n = len(time_us)
    if not every_s:
        return np.arange(n, dtype=np.int64)
    clock = np.maximum.accumulate(time_us)
    parts, first = [np.zeros(0, np.int64)], 0
    while first < n:
        end = min(first + length, n)
        parts.append(np.arange(first, end, dtype=np.int64))
        first = end + int(np.searchsorted(clock[end:], clock[first] + every_s * SECOND_US))
    return np.concatenate(parts)


def _winner(classes: I32, n_classes: int, current: int) -> int:
    """The most frequent class; a tie goes to the one in force if it is among them, else to the first."""
    counts = np.bincount(classes, minlength=n_classes)
    tied = np.flatnonzero(counts == counts.max())
    return current if current in tied else int(tied[0])


def count_votes(
    classes: I32, n_classes: int, vote_windows: int, switch_votes: int, unsure: Bool | None = None
) -> tuple[I32, I32]:
    """Votes of consecutive windows, and the category that they put in force.

    The first vote sets the category; after that it takes `switch_votes` equal votes in a row to change it. A vote for
    unknown counts like one for a category.

    Args:
        classes: int32[w], the likeliest class of each window.
        n_classes: how many there are.
        vote_windows: windows in a vote.
        switch_votes: equal votes that switch.
        unsure: bool[w // vote_windows], votes that are for unknown, whatever the windows' classes; None for none.

    Returns:
        The vote that each window completes, and the category after each window: int32[w] each, -1 for none, -2 for
        unknown.
    """
    votes, in_force = np.full(len(classes), NONE, np.int32), np.full(len(classes), NONE, np.int32)
    current = candidate = NONE
    streak = 0
    for place, last in enumerate(range(vote_windows - 1, len(classes), vote_windows)):
        vote = _winner(classes[last + 1 - vote_windows : last + 1], n_classes, current)
        if unsure is not None and unsure[place]:
            vote = UNKNOWN
        streak = streak + 1 if vote == candidate else 1
        candidate = vote
        if current == NONE or streak >= switch_votes:
            current = vote
        votes[last] = vote
        in_force[last : last + vote_windows] = current
    return votes, in_force


def _limits(policy: Mapping[str, Any]) -> dict[str, float]:
    """The strangeness above which windows and votes are unknown; infinite where the model always names a category.

    Raises:
        ConfigError: one is no number of at least 0.
    """
    given = policy.get("unknown_above", {})
    limits = {name: given.get(name, math.inf) for name in ("window", "vote")}
    for name, value in limits.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            message = f"policy.unknown_above.{name}: {ascii(value)[:40]} is no strangeness; give a number from 0 on"
            raise ConfigError(message)
    return limits


class WorkloadServing:
    """A workload classifier as a cache would run it. Built from plain dicts, as train.json and a manifest hold them.

    Attributes:
        classes: category names, in the order of the probabilities.
        window: requests in a window.
        vote_windows: windows in a vote.
        vote_every_s: least time from the beginning of a vote to that of the next, s; 0: each follows on the one before.
        unknown_above: greatest strangeness of what is not unknown, of a `window` and of a `vote`.
    """

    def __init__(
        self,
        features: Sequence[Mapping[str, Any]],
        policy: Mapping[str, Any],
        calibration: Mapping[str, Any],
        geometry: Mapping[str, int],
        infer: Infer,
        encodings: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a model.

        Args:
            features: inputs in order, with their normalisation.
            policy: `classes`, `window`, `clip`, `vote_windows`, `switch_votes`, where votes have pauses between them
                `vote_every_s`, and where the model may say that it does not know, `unknown_above`.
            calibration: `known`, what the train traces' windows are like, where there is `unknown_above`.
            geometry: `page_bytes`, the unit of the address.
            infer: the network.
            encodings: none are used.

        Raises:
            ConfigError: inputs, classes, votes or a page size that this release does not serve.
        """
        self._of_requests = all(entry["formula"] in REQUEST_FORMULAS for entry in features)
        check_formulas(features, REQUEST_FORMULAS if self._of_requests else WINDOW_FORMULAS)
        if geometry["page_bytes"] != 4096:
            raise ConfigError(f"page_bytes {geometry['page_bytes']}: this release serves pages of 4096 bytes")
        named: list[object] = policy["classes"]
        self.classes = tuple(name for name in named if isinstance(name, str))
        sizes = {name: int(policy[name]) for name in ("window", "vote_windows", "switch_votes")}
        wrong = next((name for name, value in sizes.items() if value < 1), None)
        if wrong is not None or not 1 <= len(set(self.classes)) == len(named) <= MOST_CLASSES:
            what = f"{wrong} {sizes[wrong]}" if wrong else f"classes {named}"
            raise ConfigError(f"policy: {what}: give sizes of at least 1 and 1 to {MOST_CLASSES} distinct categories")
        self.window, self.vote_windows, self.switch_votes = sizes.values()
        self.vote_every_s = integer(policy.get("vote_every_s", 0), "policy.vote_every_s", 0, MOST_VOTE_EVERY_S)
        self.unknown_above = _limits(policy)
        self._known = [Known.of(values, len(features)) for values in calibration.get("known", ())]
        self._features = list(features)
        self._clip = float(policy["clip"])
        self._infer = infer

    def inputs(self, batch: RequestBatch) -> F32:
        """Model inputs float32[n, F] of requests from the first on.

        Windows follow one another from the first request; those after the last whole one are a window of their own.
        """
        if self._of_requests:
            return open_inputs(request_columns(batch), 0, self._features, self._clip)
        starts = np.arange(0, len(batch), self.window, dtype=np.int64)
        rows = normalised(window_columns(batch, starts, self.window), self._features, self._clip)
        return rows.reshape(-1, len(self._features))[: len(batch)]

    def probabilities(self, rows: F32) -> F32:
        """Probabilities float32[w, K] of the whole windows in rows float32[n, F].

        Raises:
            ConfigError: the network gives another number of categories.
        """
        count = len(rows) // self.window
        windows = rows[: count * self.window].reshape(count, self.window, rows.shape[1])
        out = np.zeros((count, len(self.classes)), np.float32)
        for low in range(0, count, BATCH):
            batch = np.asarray(self._infer(np.ascontiguousarray(windows[low : low + BATCH])))
            if batch.shape != out[low : low + BATCH].shape:
                raise ConfigError(f"the model gives {batch.shape[-1]} probabilities for {len(self.classes)} categories")
            out[low : low + BATCH] = batch
        return out

    def strangeness(self, rows: F32) -> F64:
        """float64[w]: how unlike the train traces' each whole window in rows float32[n, F] is."""
        count = len(rows) // self.window
        return strangeness(rows[: count * self.window].reshape(count, self.window, rows.shape[1]), self._known)

    def run(self, batch: RequestBatch, vote_every_s: int | None = None) -> Monitored:
        """Watch requests from the first on.

        Args:
            batch: the requests.
            vote_every_s: in place of the policy's; None for that.
        """
        every_s = self.vote_every_s if vote_every_s is None else vote_every_s
        places = looked_at(batch.time_us, self.window * self.vote_windows, every_s)
        rows = self.inputs(batch if len(places) == len(batch) else batch.taken(places))
        probabilities, strange = self.probabilities(rows), self.strangeness(rows)
        likeliest = probabilities.argmax(axis=1).astype(np.int32)
        unsure = of_votes(strange, self.vote_windows) > self.unknown_above["vote"]
        votes, in_force = count_votes(likeliest, len(self.classes), self.vote_windows, self.switch_votes, unsure)
        classes = np.where(strange > self.unknown_above["window"], UNKNOWN, likeliest).astype(np.int32)
        return Monitored(places, rows, probabilities, strange, likeliest, classes, votes, in_force, self.window)

"""Naive votes: windows one after the other, everything recomputed from the whole past."""

from collections import Counter
from collections.abc import Sequence


def naive_looked_at(time_us: Sequence[int], length: int, every_s: int) -> list[int]:
    """The requests that votes are of: one after the other, by the latest time so far."""
    found: list[int] = []
    latest = began = -1
    for place, time in enumerate(time_us):
        latest = max(latest, time)
        if len(found) % length == 0:
            if every_s > 0 and found and latest < began + every_s * 1_000_000:
                continue
            began = latest
        found.append(place)
    return found


def naive_votes(
    classes: Sequence[int], vote_windows: int, switch_votes: int, unsure: Sequence[bool] = ()
) -> tuple[list[int], list[int]]:
    """The vote that each window completes, and the category after it; -1 for none, -2 for unknown."""
    votes: list[int] = []
    in_force: list[int] = []
    cast: list[int] = []
    current = -1
    for index in range(len(classes)):
        vote = -1
        if (index + 1) % vote_windows == 0:
            counts = Counter(classes[index + 1 - vote_windows : index + 1])
            best = max(counts.values())
            tied = sorted(name for name, count in counts.items() if count == best)
            vote = current if current in tied else tied[0]
            vote = -2 if unsure and unsure[len(cast)] else vote
            cast.append(vote)
            latest = cast[-switch_votes:]
            if current == -1 or (len(latest) == switch_votes and set(latest) == {vote}):
                current = vote
        votes.append(vote)
        in_force.append(current)
    return votes, in_force

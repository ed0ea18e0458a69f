"""Naive votes: windows one after the other, everything recomputed from the whole past."""

from collections import Counter
from collections.abc import Sequence


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

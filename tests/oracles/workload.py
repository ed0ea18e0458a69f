"""Naive votes: windows one after the other, everything recomputed from the whole past."""

from collections import Counter
from collections.abc import Sequence


def naive_votes(classes: Sequence[int], vote_windows: int, switch_votes: int) -> tuple[list[int], list[int]]:
    """The vote that each window completes, and the category after it; -1 for none."""
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
            cast.append(vote)
            latest = cast[-switch_votes:]
            if current == -1 or (len(latest) == switch_votes and set(latest) == {vote}):
                current = vote
        votes.append(vote)
        in_force.append(current)
    return votes, in_force


def naive_statistics(requests: Sequence[tuple[int, int, int, int]], first: int, window: int) -> list[float]:
    """Read share, mean log2 size, mean ln(1 + gap), mean |log2 jump|, mean page of the start in one window.

    Requests are (time_us, op, offset, size); the first of all has no gap and no jump.
    """
    import math

    sums = [0.0] * 5
    for index in range(first, first + window):
        time, op, offset, size = requests[index]
        gap = jump = 0
        if index:
            before = requests[index - 1]
            gap, jump = time - before[0], offset - before[2] - before[3]
        row = (1 - op, math.log2(size), math.log1p(gap), math.log2(1 + abs(jump) / 512), offset // 4096)
        sums = [total + value for total, value in zip(sums, row, strict=True)]
    return [total / window for total in sums]

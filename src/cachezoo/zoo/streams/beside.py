"""What is learned beside the dictionaries: forests of lifetimes, and a dictionary that is learned anew each cycle."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from cachezoo.arrays import U8
from cachezoo.wear.names import LIFETIME, ONLINE
from cachezoo.wear.writes import DriveWrites
from cachezoo.zoo.streams.bench import Bench, Candidate, Values
from cachezoo.zoo.streams.deaths import Lifetimes
from cachezoo.zoo.streams.metrics import Tried
from cachezoo.zoo.streams.settings import Classes
from cachezoo.zoo.streams.variants import Known


def arguments(settings: Classes, streams: int) -> list[dict[str, int]]:
    """The classes and parts that are tried: combinations that need no more streams than there are."""
    pairs = product(settings.classes, settings.parts)
    return [{"classes": classes, "parts": parts} for classes, parts in pairs if classes - 1 + parts <= streams]


def of_seeds(bench: Bench, lifetimes: Lifetimes, parameters: Values) -> list[Candidate]:
    """The placement by each forest, `lifetime.1` that of the first."""
    return [_by_forest(bench, lifetimes, seed, parameters) for seed in range(len(lifetimes.forests))]


def _by_forest(bench: Bench, lifetimes: Lifetimes, seed: int, parameters: Values) -> Candidate:
    def place(writes: DriveWrites) -> U8:
        return lifetimes.streams_of(seed, writes, bench.since, **parameters)

    return Candidate(f"{LIFETIME}.{seed + 1}", "forest", place, parameters)


def median(bench: Bench, candidates: Sequence[Candidate]) -> Candidate:
    """The placement by forest whose WAF is the median of all seeds', the lower of two; its name is `lifetime`."""
    ordered = sorted(candidates, key=lambda one: bench.run(one).waf)
    middle = ordered[(len(ordered) - 1) // 2]
    return Candidate(LIFETIME, middle.kind, middle.place, middle.parameters)


def try_lifetimes(bench: Bench, lifetimes: Lifetimes, settings: Classes) -> list[Tried]:
    """Every combination of arguments on validation, each with the median WAF over the seeds."""
    rows = []
    for parameters in arguments(settings, bench.streams):
        middle = median(bench, of_seeds(bench, lifetimes, parameters))
        rows.append(middle.tried(bench.run(middle)))
    return rows


def on_test(bench: Bench, lifetimes: Lifetimes, chosen: Tried) -> list[Candidate]:
    """The median forest, then each, with the arguments that validation chose."""
    each = of_seeds(bench, lifetimes, chosen.parameters)
    return [median(bench, each), *each]


def online(learned: Sequence[tuple[int, Known]]) -> Candidate:
    """A dictionary that is learned anew from each cycle just past.

    Args:
        learned: the first page write that each dictionary serves, rising, and the dictionary.
    """

    def place(writes: DriveWrites) -> U8:
        found = np.zeros(len(writes), np.uint8)
        for since, known in learned:
            found[since:] = known.streams_of(writes, since)[since:]
        return found

    return Candidate(ONLINE, "online", place, {})

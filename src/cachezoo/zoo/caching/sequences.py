"""Training sequences of the caching model: runs of consecutive requests with the oracle's tags."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, I64, Bool
from cachezoo.features.sequence import feedback
from cachezoo.labels.tags import Tags
from cachezoo.zoo.caching.settings import HitTarget


@dataclass(frozen=True)
class Lane:
    """A trace at one capacity, as the model sees it."""

    inputs: F32  # float32[n, F'] without the previous requests' tags
    tags: Sequence[Tags]  # each teacher's
    counts: Bool | None = None  # bool[n], False for requests of which nothing is learned; None: all count


@dataclass(frozen=True)
class Sequences:
    """Equal runs of requests, lane after lane."""

    inputs: F32  # float32[S, T, F]; with feedback the last four are the previous request's tags by the oracle
    cached: F32  # float32[S, T, K] target of each teacher
    weight: F32  # float32[S, T, K] of the cached loss, 0 where nothing is learned
    duration: I64  # int64[S, T, K] target 0 soon, 1 mean, 2 late; -1 where nothing is learned
    begins: Bool  # bool[S], the sequence begins a lane

    def __len__(self) -> int:
        return len(self.inputs)

    def taught(self) -> "Sequences":
        """Those of which something is learned; the rest, which say nothing alone, only take time."""
        kept = self.weight.any(axis=(1, 2))
        return Sequences(*(getattr(self, field.name)[kept] for field in fields(self)))


def previous_tags(tags: Tags) -> F32:
    """Fed-back inputs float32[n, 4] in training: the oracle's tags, one request late; zeros at the first."""
    own = feedback(tags.cached, np.where(tags.cached, tags.duration, 0))
    return np.concatenate([np.zeros_like(own[:1]), own[:-1]])


def _targets(lane: Lane, hit_weight: float, hit_target: HitTarget) -> tuple[F32, F32, I64]:
    """Targets of each teacher, side by side."""
    cached, weight, duration = [], [], []
    counts = np.ones(len(lane.inputs), np.bool_) if lane.counts is None else lane.counts
    for tags in lane.tags:
        as_tagged = hit_target == "cached"
        taught, hits = tags.taught & counts, ~tags.consulted & counts
        hits &= tags.settled if as_tagged else tags.kept_settled
        target = tags.cached if as_tagged else np.where(tags.consulted, tags.cached, tags.kept)
        cached.append(target.astype(np.float32))
        weight.append((taught + hit_weight * hits).astype(np.float32))
        learns = (taught | (hits & as_tagged)) & tags.cached & (tags.duration > 0)
        duration.append(np.where(learns, tags.duration.astype(np.int64) - 1, -1))
    return np.stack(cached, axis=1), np.stack(weight, axis=1), np.stack(duration, axis=1)


def _cut(values: npt.NDArray[np.generic], length: int, fill: float) -> npt.NDArray[np.generic]:
    """[n, …] to [ceil(n / length), length, …], the last one filled up."""
    short = -len(values) % length
    padding = np.full((short, *values.shape[1:]), fill, values.dtype)
    return np.concatenate([values, padding]).reshape(-1, length, *values.shape[1:])


def cut_lanes(
    lanes: Sequence[Lane], length: int, hit_weight: float, fed_back: bool, hit_target: HitTarget = "kept"
) -> Sequences:
    """Cut each lane into sequences of `length` requests; a lane's last one is filled with rows of weight 0.

    Args:
        lanes: traces at capacities, all with the same teachers.
        length: requests.
        hit_weight: weight of requests that are wholly in the oracle's cache.
        fed_back: the first teacher's tags of the previous request are inputs.
        hit_target: what requests that are wholly in the oracle's cache teach.
    """
    parts: list[list[npt.NDArray[np.generic]]] = []
    for lane in lanes:
        inputs = lane.inputs
        if fed_back:
            inputs = np.concatenate([inputs, previous_tags(lane.tags[0])], axis=1)
        cached, weight, duration = _targets(lane, hit_weight, hit_target)
        begins = np.zeros(-(-len(inputs) // length), np.bool_)
        begins[0] = True
        fills = ((inputs, 0), (cached, 0), (weight, 0), (duration, -1))
        parts.append([*(_cut(values, length, fill) for values, fill in fills), begins])
    return Sequences(*(np.concatenate(column) for column in zip(*parts, strict=True)))  # type: ignore[arg-type]


def stream_order(count: int, batch: int) -> I64:
    """Which sequence each of `batch` parallel streams reads at each step: int64[steps, batch], -1 past the end.

    A stream reads consecutive sequences, so that the LSTM's state can be carried along it.
    """
    steps = -(-count // batch)
    order = np.arange(steps * batch).reshape(batch, steps).T
    return np.where(order < count, order, -1)


def shuffled_order(count: int, batch: int, seed: int) -> I64:
    """The same for sequences that do not depend on each other: a seeded shuffle."""
    order = np.full(-(-count // batch) * batch, -1, np.int64)
    order[:count] = np.random.default_rng(seed).permutation(count)
    return order.reshape(-1, batch)


def take(sequences: Sequences, index: I64) -> Iterator[npt.NDArray[np.generic]]:
    """The arrays of `Sequences` at `index`; -1 gives a sequence of weight 0 that begins a lane."""
    empty = index < 0
    for name, fill in (("inputs", 0), ("cached", 0), ("weight", 0), ("duration", -1), ("begins", True)):
        values = getattr(sequences, name)[index]
        values[empty] = fill
        yield values

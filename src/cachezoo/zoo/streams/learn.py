"""The dictionaries of a cycle, by their names: what chunks are clustered by, and what becomes of those between them.

FIOS's are combinations of the letters F, A, S and C, with the window of A and C behind a point: `FSC.100th`. Ours:

* P in place of C: coherency of pairs;
* a set of real values (`cachezoo.zoo.streams.cluster.REAL_SETS`);
* `heat+at10`: the values of `heat`, and where the chunk lies among the written ones, ten times as heavy as one of them:
  what lies together is often written and given up together, which is what the equal partition lives on;
* `parts`: as many parts of equally many written chunks as there are streams;
* `+near`: chunks that the cycle did not write go with the nearest that it did, in place of stream 0.

Each is made to fit into memory: the exact dictionary of a busy volume has a range for almost every chunk, and at 5
bytes each that is more than FIOS's BD takes, half a byte a chunk. Ranges are joined where that misplaces the least,
until they are few enough. Given up first are gaps: a chunk that the cycle did not write has no evidence, so that it can
go with its neighbours. Then short ranges take the stream of what lies next to them. The cost is a sum over chunks that
change their stream: pages written in the cycle x how far the two streams' mean log2 lifetimes are apart. The least cost
for a number of ranges is found by a price for each range (Lagrange): at any price the cheapest streams follow by
dynamic programming (`cachezoo.kernels.ranges`); the lowest price at which they fit is sought by bisection.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from cachezoo.arrays import F64, I64, U8
from cachezoo.errors import BundleError, TrainingError
from cachezoo.features.fios import LETTERS
from cachezoo.flash_drive.writes import DriveWrites
from cachezoo.kernels.ranges import Line
from cachezoo.labels.streams import StreamLabels
from cachezoo.zoo.streams.cluster import (
    COMBINATIONS,
    REAL_SETS,
    Clusters,
    bits_of,
    cluster_bits,
    cluster_reals,
    dictionary_of,
    reals_of,
    weights_of,
)
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, RANGE_BYTES, Dictionary
from cachezoo.zoo.streams.settings import Weights

VARIANTS, SUFFIX = "variants", ".sid"
EQUAL = Weights()
LEAST_RANGES = 2  # one of what was learned, one behind it
HALVINGS = 60
UNUSED = 0.001  # share of the ranges that may be left over: a pass over a large volume takes long
WINDOWED = frozenset("AC")
COHERENT, PAIR = "C", "P"  # the letter of coherency, and that of coherency of pairs in the names of ours
PARTS, HEAT, AT, NEAR = "parts", "heat", "at", "near"
PLACED = (f"{PARTS}+{NEAR}", f"{HEAT}+{NEAR}", *(f"{HEAT}+{AT}{weight}+{NEAR}" for weight in (3, 10, 30)))


@dataclass(frozen=True)
class Variant:
    """A dictionary with its name."""

    name: str  # its features' letters and their window, as `FSC.100th`, or a name of ours
    dictionary: Dictionary

    @property
    def kind(self) -> Literal["fios", "ours"]:
        """FIOS's where its name is of the paper's four features alone."""
        return "fios" if set(LETTERS).issuperset(self.name.partition(".")[0]) else "ours"

    def streams_of(self, writes: DriveWrites, since: int) -> U8:
        """The stream of each page write, uint8[n]: that of the chunk that its request begins in.

        Args:
            writes: of all cycles.
            since: the first page write that is served; those before, of the cycle it learned on, go to stream 0.
        """
        found: U8 = writes.room(np.uint8, len(writes))
        writes.by_chunk(slice(since, len(writes)), self.dictionary.look_up, found)
        return found


def named(features: str, window: str) -> str:
    """A combination's name: of features that look at windows with the window's."""
    return f"{features}.{window}" if WINDOWED & set(features.replace(PAIR, COHERENT)) else features


def all_names(windows: Iterable[str], window: str) -> list[str]:
    """Names of all dictionaries: FIOS's combinations by every window, and ours by the one that is given."""
    pairs = [features.replace(COHERENT, PAIR) for features in COMBINATIONS if COHERENT in features]
    reals = [f"{name}.{window}" if "coherence" in own else name for name, own in REAL_SETS.items()]
    plain = [named(features, one) for one in windows for features in COMBINATIONS]
    return list(dict.fromkeys([*plain, *(named(features, window) for features in pairs), *reals, *PLACED]))


def learn(
    labels: StreamLabels, names: Sequence[str], streams: int, window: str, seed: int, bytes_per_tb: float,
    weights: Weights = EQUAL,
) -> list[Variant]:  # fmt: skip
    """The dictionaries of a cycle.

    Args:
        labels: of the chunks that it writes, all of one volume.
        names: of the dictionaries.
        streams: K.
        window: of names that have none and need one.
        seed: of K-means.
        bytes_per_tb: that ranges may take for each TB of the volume.
        weights: of the bits.
    """
    evidence = Evidence(labels.chunk, labels.columns["pages"], labels.columns["life_mean"])
    most = most_ranges(int(labels.chunk[-1]) + 1, bytes_per_tb)
    starts = dict.fromkeys(labels.volume.names, 0)
    found = []
    for name in names:
        clusters = _clusters(labels, name, streams, window, seed, weights)
        near = NEAR in name.split("+")
        sid = nearest(labels.chunk, clusters.streams, streams) if near else dictionary_of(clusters, labels, starts)
        found.append(Variant(name, compact(sid, evidence, most)))
    return found


def _clusters(labels: StreamLabels, name: str, streams: int, window: str, seed: int, weights: Weights) -> Clusters:
    what, *more = name.split("+")
    features, _, own = what.partition(".")
    if features == PARTS:
        place = (np.arange(len(labels)) * streams // len(labels)).astype(np.uint8)
        return Clusters(place, streams, len(np.unique(place)), len(labels))
    if features in REAL_SETS:
        values = reals_of(labels, features, own or window)
        for weight in (float(part.removeprefix(AT)) for part in more if part.startswith(AT)):
            # Ranks of equal steps over a range of sqrt(12) have a variance of one, as the other values have.
            place_of = weight * math.sqrt(12) * np.arange(len(labels)) / len(labels)
            values = np.column_stack([values, place_of])
        return cluster_reals(values, labels, streams, seed)
    plain = features.replace(PAIR, COHERENT)
    bits = bits_of(labels, plain, own or window, plain != features)
    return cluster_bits(bits, labels, streams, seed, weights_of(weights, plain))


def nearest(chunks: I64, streams: U8, count: int) -> Dictionary:
    """A dictionary in which a chunk that was not learned goes with the nearest one that was, the later of two.

    Args:
        chunks: int64[m] distinct chunk numbers, rising; one at least.
        streams: uint8[m].
        count: K.
    """
    starts = np.append(0, chunks[:-1] + (np.diff(chunks) + 1) // 2)
    new = np.append(True, streams[1:] != streams[:-1])
    return Dictionary(starts[new].astype(np.uint32), streams[new].astype(np.uint8), count)


@dataclass(frozen=True)
class Evidence:
    """What a cycle says of the m chunks, one at least, that a dictionary was learned from."""

    chunks: I64  # [m] distinct chunk numbers, rising
    pages: I64  # [m] page writes of each
    life: F64  # [m] mean log2 lifetime of these, in page writes


def most_ranges(chunks: int, bytes_per_tb: float) -> int:
    """Ranges that a volume of so many chunks, up to its last learned one, may have at so many bytes for each TB."""
    return max(LEAST_RANGES, math.floor(bytes_per_tb * chunks * CHUNK_BYTES / 1e12 / RANGE_BYTES))


def compact(dictionary: Dictionary, evidence: Evidence, most: int) -> Dictionary:
    """A dictionary of at most `most` ranges (`LEAST_RANGES` at least), least wrong on the chunks that were learned.

    Behind the last learned chunk nothing changes, and nothing at all where the dictionary is small enough.
    """
    if len(dictionary) <= most:
        return dictionary
    starts, weight = _segments(dictionary, evidence)
    streams = dictionary.look_up(starts)
    used, own = np.unique(streams, return_inverse=True)
    line = Line(own[:-1].astype(np.uint8), weight, _distances(dictionary, evidence)[np.ix_(used, used)], int(own[-1]))
    found = np.append(used[line.labels(_price(line, most))], streams[-1])
    new = np.append(True, found[1:] != found[:-1])
    return Dictionary(starts[new].astype(np.uint32), found[new].astype(np.uint8), dictionary.count)


def _segments(dictionary: Dictionary, evidence: Evidence) -> tuple[I64, F64]:
    """Where the dictionary's ranges and stretches of learned chunks begin, and what all but the last weigh."""
    known = evidence.chunks
    new = np.append(True, np.diff(known) != 1)
    behind = known[np.append(new[1:], True)] + 1
    starts = np.unique(np.concatenate([[0], dictionary.starts.astype(np.int64), known[new], behind]))
    starts = starts[: np.searchsorted(starts, known[-1] + 1) + 1]
    place = np.searchsorted(starts, known, side="right") - 1
    weight: F64 = np.bincount(place, evidence.pages, len(starts) - 1).astype(np.float64)
    return starts, weight


def _distances(dictionary: Dictionary, evidence: Evidence) -> F64:
    """float64[K, K]: how far two streams' mean log2 lifetimes are apart; one without chunks lives longest."""
    stream = dictionary.look_up(evidence.chunks)
    pages = np.bincount(stream, evidence.pages, dictionary.count)
    life = np.bincount(stream, evidence.pages * evidence.life, dictionary.count)
    mean = life / np.maximum(pages, 1)
    mean[pages == 0] = evidence.life.max()
    return np.abs(mean[:, None] - mean[None, :])


def _price(line: Line, most: int) -> float:
    """About the lowest price of a range at which they are few enough."""
    high = 1 + float(line.weight.sum() * line.distance.max())
    low = high * 1e-15
    if line.ranges(low) <= most:
        return low
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        ranges = line.ranges(middle)
        if ranges > most:
            low = middle
            continue
        high = middle
        if most - ranges <= most * UNUSED:
            break
    return high


def write_variants(variants: Sequence[Variant], folder: Path) -> None:
    """Write each dictionary into `folder`/variants."""
    (folder / VARIANTS).mkdir()
    for variant in variants:
        (folder / VARIANTS / f"{variant.name}{SUFFIX}").write_bytes(variant.dictionary.to_bytes())


def read_dictionary(file: Path) -> Dictionary:
    """A dictionary's file.

    Raises:
        TrainingError: it is missing, or holds none.
    """
    if not file.exists():
        raise TrainingError(f"{file}: is missing; fit the model again")
    try:
        return Dictionary.from_bytes(file.read_bytes())
    except BundleError as error:
        raise TrainingError(f"{file}: {error}") from error


def read_variants(folder: Path, names: Sequence[str]) -> list[Variant]:
    """The dictionaries of a fitted model's folder, in the order of their names.

    Raises:
        TrainingError: a file is missing, or holds no dictionary.
    """
    return [Variant(name, read_dictionary(folder / VARIANTS / f"{name}{SUFFIX}")) for name in names]

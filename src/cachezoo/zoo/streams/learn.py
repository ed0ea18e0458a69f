"""The dictionaries of a cycle, by their names: what chunks are clustered by, and what becomes of those between them.

FIOS's are combinations of the letters F, A, S and C, with the window of A and C behind a point: `FSC.100th`. Ours:

* P in place of C: coherency of pairs;
* a set of real values (`cachezoo.zoo.streams.cluster.REAL_SETS`);
* `heat+at10`: the values of `heat`, and where the chunk lies among the written ones, ten times as heavy as one of them:
  what lies together is often written and given up together, which is what the equal partition lives on;
* `parts`: as many parts of equally many written chunks as there are streams;
* `+near`: chunks that the cycle did not write go with the nearest that it did, in place of stream 0.

Each is made to fit into so many bytes (`cachezoo.zoo.streams.compact`).
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from cachezoo.arrays import I64, U8
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
)
from cachezoo.zoo.streams.compact import Evidence, compact, most_ranges
from cachezoo.zoo.streams.dictionary import Dictionary
from cachezoo.zoo.streams.variants import Known

WINDOWED = frozenset("AC")
COHERENT, PAIR = "C", "P"  # the letter of coherency, and that of coherency of pairs in the names of ours
PARTS, HEAT, AT, NEAR = "parts", "heat", "at", "near"
PLACED = (f"{PARTS}+{NEAR}", f"{HEAT}+{NEAR}", *(f"{HEAT}+{AT}{weight}+{NEAR}" for weight in (3, 10, 30)))


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
    labels: StreamLabels, names: Sequence[str], streams: int, window: str, seed: int, bytes_per_tb: float
) -> list[Known]:
    """The dictionaries of a cycle.

    Args:
        labels: of the chunks that it writes, all of one volume.
        names: of the dictionaries.
        streams: K.
        window: of names that have none and look at one.
        seed: of K-means.
        bytes_per_tb: that ranges may take for each TB of the volume.
    """
    evidence = Evidence(labels.chunk, labels.columns["pages"], labels.columns["life_mean"])
    most = most_ranges(int(labels.chunk[-1]) + 1, bytes_per_tb)
    starts = dict.fromkeys(labels.volume.names, 0)
    found = []
    for name in names:
        clusters = _clusters(labels, name, streams, window, seed)
        near = NEAR in name.split("+")
        sid = nearest(labels.chunk, clusters.streams, streams) if near else dictionary_of(clusters, labels, starts)
        found.append(Known(name, compact(sid, evidence, most)))
    return found


def _clusters(labels: StreamLabels, name: str, streams: int, window: str, seed: int) -> Clusters:
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
    return cluster_bits(bits_of(labels, plain, own or window, plain != features), labels, streams, seed)


def nearest(chunks: I64, streams: U8, count: int) -> Dictionary:
    """A dictionary in which a chunk that was not learned goes with the nearest one that was, the later of two.

    Args:
        chunks: int64[m] distinct chunk numbers, rising; one at least.
        streams: uint8[m] the stream of each.
        count: K.
    """
    starts = np.append(0, chunks[:-1] + (np.diff(chunks) + 1) // 2)
    new = np.append(True, streams[1:] != streams[:-1])
    return Dictionary(starts[new].astype(np.uint32), streams[new].astype(np.uint8), count)

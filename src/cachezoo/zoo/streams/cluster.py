"""Chunks into streams: K-means on their features (FIOS, Sec. II), each cluster a stream.

The paper clusters bits, one column a feature, times its weight: d of them have at most 2**d distinct points, so that no
more streams than those are used however many there are. Ours also clusters real values, each scaled to a variance of
one.

Streams are numbered by how long the writes of their chunks live, 0 the longest; unknown chunks go there, too. The same
chunks get the same streams however many threads there are: K-means is run on one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I64, U8, Bool
from cachezoo.errors import ConfigError
from cachezoo.features.fios import LETTERS, REAL
from cachezoo.labels.streams import StreamLabels
from cachezoo.zoo.streams.dictionary import MOST_STREAMS, Dictionary
from cachezoo.zoo.streams.settings import Weights

COMBINATIONS = ("F", "A", "S", "C", "FA", "FS", "FC", "AS", "AC", "SC", "FAS", "FAC", "FSC", "ASC", "FASC")
# Sets of real values; `coherence` is of a window.
REAL_SETS = {
    "interval": ("log2_interval",),
    "heat": ("log2_interval", "log2_recency"),
    "coherent": ("log2_interval", "log2_recency", "coherence"),
    "all": (*REAL, "coherence"),
}
STARTS = 10  # K-means begins so often from other centres, and the best counts
MOST_ROWS = 20_000  # chunks that real values are fitted on; a larger trace is sampled, and then all of it assigned
PIECE = 1 << 20


@dataclass(frozen=True)
class Clusters:
    """The stream of each of m chunks."""

    streams: U8  # [m]
    count: int  # K, the streams that there are
    effective: int  # streams that some chunk has
    points: int  # distinct rows of features that were clustered

    @property
    def note(self) -> str:
        """Why fewer streams are used than there are; empty where all are. The words fit any number that is more."""
        if self.effective == self.count:
            return ""
        points = "one distinct point" if self.points == 1 else f"{self.points} distinct points"
        return f"the chunks' features have {points}, and no more streams are used"


def bits_of(labels: StreamLabels, combination: str, window: str, pair: bool = False) -> Bool:
    """The feature matrix of a combination: bool[m, d], columns in the order of its letters.

    Args:
        labels: of m chunks.
        combination: of F, A, S and C, each once; empty for no features.
        window: of A and C, by its name in `cachezoo.traces.chunks.WINDOWS`.
        pair: C is the coherency of pairs.

    Raises:
        ConfigError: another letter or window.
    """
    columns = {"F": "f", "A": f"a_{window}", "S": "s", "C": f"c_pair_{window}" if pair else f"c_{window}"}
    if len(set(combination)) != len(combination) or not set(combination) <= set(LETTERS):
        raise ConfigError(f"features {combination!r}: give letters of {LETTERS}, each once")
    _check_window(labels, window)
    found = np.zeros((len(labels), len(combination)), np.bool_)
    for k, letter in enumerate(combination):
        found[:, k] = labels.columns[columns[letter]]
    return found


def weights_of(weights: Weights, combination: str) -> tuple[float, ...]:
    """Of a combination's features, in the order of its letters."""
    each = {"F": weights.frequency, "A": weights.adjacent, "S": weights.sequential, "C": weights.coherent}
    return tuple(each[letter] for letter in combination)


def reals_of(labels: StreamLabels, chosen: str, window: str) -> F64:
    """Real values, each less its mean over its standard deviation: float64[m, d]; one that never changes is 0.

    Args:
        labels: of m chunks.
        chosen: one of `REAL_SETS`.
        window: of the degree of coherence.

    Raises:
        ConfigError: another set or window.
    """
    if chosen not in REAL_SETS:
        raise ConfigError(f"real-valued features {chosen!r}: give one of {', '.join(REAL_SETS)}")
    _check_window(labels, window)
    names = [f"coherence_{window}" if name == "coherence" else name for name in REAL_SETS[chosen]]
    found = np.empty((len(labels), len(names)))
    for k, name in enumerate(names):
        values = labels.columns[name].astype(np.float64)
        spread = float(values.std())
        found[:, k] = (values - values.mean()) / spread if spread > 0 else 0.0
    return found


def cluster_bits(
    bits: Bool, labels: StreamLabels, count: int, seed: int, weights: Sequence[float] | None = None
) -> Clusters:
    """Cluster chunks by bits: K-means of the distinct rows, each as heavy as its chunks.

    Args:
        bits: bool[m, d], d at most 8, of `bits_of`.
        labels: of the m chunks.
        count: K, streams; where there are no more distinct rows, each is a stream of its own.
        seed: of K-means.
        weights: of the d features, at 0 or above, of `weights_of`; None for equal ones.

    Raises:
        ConfigError: K that is none.
    """
    _check_count(count)
    scale = np.ones(bits.shape[1]) if weights is None else np.array(weights, np.float64)
    bits, scale = bits[:, scale > 0], scale[scale > 0]
    codes = np.zeros(len(bits), np.uint8)
    for column in bits.T:
        codes = (codes << 1) | column
    heavy = np.bincount(codes, minlength=1 << bits.shape[1])
    there = np.flatnonzero(heavy)
    points = (there[:, None] >> np.arange(bits.shape[1])[::-1]) & 1
    of_code = np.zeros(1 << bits.shape[1], np.int64)
    of_code[there] = _fit(points * scale, heavy[there], count, seed)[0]
    return _numbered(of_code[codes], labels, count, len(there))


def cluster_reals(values: F64, labels: StreamLabels, count: int, seed: int, most: int = MOST_ROWS) -> Clusters:
    """Cluster chunks by real values, float64[m, d] of `reals_of`; else as `cluster_bits`.

    Of more than `most` chunks, K-means is fitted on a sample and assigns all.

    Raises:
        ConfigError: K that is none.
    """
    _check_count(count)
    rows = np.arange(len(values))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(seed).choice(len(values), most, replace=False))
    points, place = np.unique(values[rows], axis=0, return_inverse=True)
    heavy = np.bincount(place.ravel())
    centres = _fit(points, heavy, count, seed)[1]
    return _numbered(_nearest(values, centres), labels, count, len(points))


def dictionary_of(clusters: Clusters, labels: StreamLabels, starts: Mapping[str, int]) -> Dictionary:
    """The dictionary of clustered chunks, in the addresses of a drive whose volumes begin at `starts`."""
    return Dictionary.of(labels.drive_chunks(starts), clusters.streams, clusters.count)


def _fit(points: F64, weights: npt.NDArray[np.generic], count: int, seed: int) -> tuple[I64, F64]:
    """Cluster of each distinct point, and the centres; no more points than clusters are their own centres."""
    if len(points) <= count:
        return np.arange(len(points)), points
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    # Threads add their parts of a sum in the order in which they end, and BLAS splits products by their number.
    with threadpool_limits(limits=1):
        fitted = KMeans(count, n_init=STARTS, random_state=seed, algorithm="lloyd").fit(points, sample_weight=weights)
    return fitted.labels_.astype(np.int64), fitted.cluster_centers_


def _nearest(values: F64, centres: F64) -> I64:
    """The nearest centre of each row, the first of equals; column by column, so that no sum depends on BLAS."""
    found = np.empty(len(values), np.int64)
    for low in range(0, len(values), PIECE):
        part = values[low : low + PIECE]
        best = np.full(len(part), np.inf)
        mine = found[low : low + PIECE]
        for k, centre in enumerate(centres):
            distance = np.zeros(len(part))
            for column, middle in zip(part.T, centre, strict=True):
                distance += (column - middle) ** 2
            nearer = distance < best
            mine[nearer] = k
            best[nearer] = distance[nearer]
    return found


def _numbered(found: I64, labels: StreamLabels, count: int, points: int) -> Clusters:
    """Number clusters by the mean log2 lifetime of their chunks' page writes, the longest-lived 0."""
    pages = labels.columns["pages"].astype(np.float64)
    written = np.bincount(found, pages)
    there = np.flatnonzero(written)
    life = np.bincount(found, pages * labels.columns["life_mean"])[there] / written[there]
    stream = np.zeros(len(written), np.uint8)
    stream[there[np.argsort(-life, kind="stable")]] = np.arange(len(there))
    return Clusters(stream[found], count, len(there), points)


def _check_count(count: int) -> None:
    if not 1 <= count <= MOST_STREAMS:
        raise ConfigError(f"{count} streams: give between 1 and {MOST_STREAMS}")


def _check_window(labels: StreamLabels, window: str) -> None:
    if window not in labels.figures.windows:
        raise ConfigError(f"window {window!r}: give one of {', '.join(labels.figures.windows)}")

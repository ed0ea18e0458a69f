"""Chunks into streams: every cluster found, numbered by lifetime, the same on any number of threads."""

import os
import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.features.fios import LETTERS, chosen, chunk_features, theta_of
from cachezoo.labels import streams
from cachezoo.labels.streams import StreamFigures, StreamLabels, label_streams
from cachezoo.traces.chunks import CHUNK_BYTES, chunk_writes
from cachezoo.traces.pages import expand_pages
from cachezoo.zoo.streams.cluster import (
    COMBINATIONS,
    REAL_SETS,
    bits_of,
    cluster_bits,
    cluster_reals,
    dictionary_of,
    reals_of,
    weights_of,
)
from cachezoo.zoo.streams.learn import learn
from cachezoo.zoo.streams.settings import Weights
from tests.characteristics_data import zipf_trace

ROOT = Path(__file__).resolve().parents[4]
NAMES = {"F": "frequency", "A": "adjacent", "S": "sequential", "C": "coherent"}


def labels_of(bits, life, pages=None):
    """Labels of chunks 0, 1, ... by hand."""
    m = len(life)
    f, a, s, c = np.array(bits, bool).reshape(m, 4).T
    columns = {
        "f": f, "s": s, "a_1s": a, "c_1s": c, "c_pair_1s": c & False, "life_mean": np.array(life, float),
        "pages": np.ones(m, np.int64) if pages is None else np.array(pages, np.int64),
    }  # fmt: skip
    figures = StreamFigures(
        requests=m, writes=m, page_writes=m, chunks=m, clock=True, windows={"1s": 10**6}, theta={}, high="",
        features="",
    )  # fmt: skip
    return StreamLabels(Coded(np.zeros(m, np.int32), ("vda",)), np.arange(m), columns, figures)


def labelled(n=4000, seed=3):
    trace = zipf_trace(n, 60_000, 0.9, seed)
    return streams.labels_of(trace, expand_pages(trace))


def test_the_15_combinations():
    expected = ["".join(letters) for size in (1, 2, 3, 4) for letters in combinations(LETTERS, size)]
    assert sorted(COMBINATIONS, key=expected.index) == list(COMBINATIONS) == expected


ROWS = st.lists(
    st.tuples(st.tuples(*[st.booleans()] * 4), st.floats(0, 30), st.integers(1, 9)), min_size=1, max_size=40
)


@given(ROWS, st.sampled_from(COMBINATIONS))
def test_with_enough_streams_each_distinct_point_is_one_the_longest_lived_first(rows, combination):
    bits, life, pages = zip(*rows, strict=True)
    labels = labels_of(bits, life, pages)
    matrix = bits_of(labels, combination, "1s")
    found = cluster_bits(matrix, labels, 16, seed=1)
    of_point = {}
    for row, stream in zip(map(tuple, matrix.tolist()), found.streams.tolist(), strict=True):
        assert of_point.setdefault(row, stream) == stream
    assert sorted(of_point.values()) == list(range(len(of_point)))
    assert found.effective == found.points == len(of_point)
    means = [np.average(np.array(life)[found.streams == k], weights=np.array(pages)[found.streams == k])
             for k in range(found.effective)]  # fmt: skip
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(means))


def test_fewer_streams_than_points_join_what_is_nearest_by_weight():
    # 100 chunks of 0000, 100 of 1111, one of 0001: two streams cannot be apart from 0001 and 0000.
    bits = [(0, 0, 0, 0)] * 100 + [(1, 1, 1, 1)] * 100 + [(0, 0, 0, 1)]
    labels = labels_of(bits, [9.0] * 100 + [2.0] * 101)
    found = cluster_bits(bits_of(labels, "FASC", "1s"), labels, 2, seed=1)
    assert found.streams.tolist() == [0] * 100 + [1] * 100 + [0]
    assert (found.effective, found.points, found.note) == (2, 3, "")


WEIGHT = st.sampled_from([0.5, 1.0, 3.0])


@given(ROWS, st.sampled_from(COMBINATIONS), st.sampled_from(LETTERS), st.integers(2, 6), WEIGHT)
def test_a_weight_of_0_is_as_if_the_feature_were_not_there(rows, combination, letter, count, other):
    bits, life, pages = zip(*rows, strict=True)
    labels = labels_of(bits, life, pages)
    weights = [0.0 if one == letter else other for one in combination]
    rest = combination.replace(letter, "")
    found = cluster_bits(bits_of(labels, combination, "1s"), labels, count, 1, weights)
    expected = cluster_bits(bits_of(labels, rest, "1s"), labels, count, 1, [other] * len(rest))
    assert (found.streams.tolist(), found.points) == (expected.streams.tolist(), expected.points)


@pytest.mark.parametrize("letter", LETTERS)
def test_a_very_large_weight_separates_by_its_feature(letter):
    """Sixteen points, each as often, in two streams: equal weights may cut along any feature."""
    rows = (np.repeat(np.arange(16), 3)[:, None] >> np.arange(4)) & 1 == 1
    labels = labels_of(rows, np.arange(48.0))
    matrix = bits_of(labels, "FASC", "1s")
    heavy = Weights(**{NAMES[letter]: 1000.0})
    found = cluster_bits(matrix, labels, 2, 1, weights_of(heavy, "FASC")).streams
    own = matrix[:, LETTERS.index(letter)]
    assert len(set(found[own])) == len(set(found[~own])) == 1 and found[own][0] != found[~own][0]


@given(ROWS, st.sampled_from(COMBINATIONS), st.integers(2, 6))
def test_equal_weights_are_none(rows, combination, count):
    bits, life, pages = zip(*rows, strict=True)
    labels = labels_of(bits, life, pages)
    matrix = bits_of(labels, combination, "1s")
    equal = cluster_bits(matrix, labels, count, 1, weights_of(Weights(), combination)).streams
    assert cluster_bits(matrix, labels, count, 1).streams.tolist() == equal.tolist()


def test_weights_reach_the_dictionaries_that_are_learned():
    labels = labelled(400)
    plain, weighed, alone = (
        learn(labels, [name], 2, "1s", 1, 1e12, weights)[0].dictionary.to_bytes()
        for name, weights in [("FC.1s", Weights()), ("FC.1s", Weights(frequency=0.0)), ("C.1s", Weights())]
    )
    assert weighed == alone != plain


def test_what_is_said_of_streams_that_are_not_used():
    labels = labels_of([(0, 0, 0, 0), (1, 0, 0, 0)], [1, 2])
    found = cluster_bits(bits_of(labels, "FASC", "1s"), labels, 16, 1)
    assert found.note == "the chunks' features have 2 distinct points, and no more streams are used"
    one = labels_of([(1, 0, 1, 0)], [3])
    found = cluster_bits(bits_of(one, "FASC", "1s"), one, 16, 1)
    assert found.note == "the chunks' features have one distinct point, and no more streams are used"
    assert found.streams.tolist() == [0]


def test_no_feature_is_one_stream():
    labels = labels_of([(0, 0, 0, 0), (1, 0, 0, 0)], [1, 2])
    found = cluster_bits(bits_of(labels, "", "1s"), labels, 16, 1)
    assert (found.streams.tolist(), found.effective) == ([0, 0], 1)


def test_pairs_are_another_column():
    labels = labels_of([(0, 0, 0, 1)], [1])
    assert bits_of(labels, "C", "1s").tolist() == [[True]]
    assert bits_of(labels, "C", "1s", pair=True).tolist() == [[False]]


@pytest.mark.parametrize("chosen", REAL_SETS)
def test_real_values_are_scaled_and_the_nearest_centre_is_taken(chosen):
    labels = labelled()
    values = reals_of(labels, chosen, "1s")
    assert values.mean(axis=0) == pytest.approx(0, abs=1e-6)
    spread = values.std(axis=0)
    assert (np.isclose(spread, 1) | (spread == 0)).all()
    found = cluster_reals(values, labels, 6, seed=1)
    assert found.effective == 6
    centres = np.array([values[found.streams == k].mean(axis=0) for k in range(6)])
    nearest = np.argmin(((values[:, None] - centres) ** 2).sum(axis=2), axis=1)
    assert (nearest == found.streams).mean() > 0.98, "Lloyd's iterations stop at a fixed point but for a tolerance"


def test_a_sample_of_rows_assigns_all_of_them():
    labels = labelled()
    values = reals_of(labels, "heat", "1s")
    whole, part = (cluster_reals(values, labels, 4, 1, most=most) for most in (10**6, 400))
    assert len(part.streams) == len(labels)
    assert part.points <= 400 < whole.points
    assert (part.streams == whole.streams).mean() > 0.7


def test_real_values_of_fewer_points_than_streams():
    labels = labels_of([(0, 0, 0, 0)] * 4, [1, 5, 1, 3])
    found = cluster_reals(np.array([[0.0], [1.0], [0.0], [2.0]]), labels, 16, 1)
    assert (found.streams.tolist(), found.effective) == ([2, 0, 2, 1], 3)


def test_a_dictionary_of_clusters():
    labels = labels_of([(0, 0, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0)], [9, 2, 2])
    found = dictionary_of(cluster_bits(bits_of(labels, "F", "1s"), labels, 16, 1), labels, {"vda": 4 * CHUNK_BYTES})
    assert found.look_up(np.arange(8)).tolist() == [0, 0, 0, 0, 0, 1, 1, 0]
    assert found.count == 16


BYTES = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from tests.unit.zoo.streams.test_cluster import *
labels = labelled(30_000)
found = [cluster_bits(bits_of(labels, "FASC", "1s"), labels, 5, 7).streams]
found += [cluster_reals(reals_of(labels, name, "1s"), labels, 16, 7).streams for name in REAL_SETS]
print(hashlib.sha256(b"".join(one.tobytes() for one in found)).hexdigest())
"""


@pytest.mark.slow(seconds=60)
def test_the_same_streams_on_any_number_of_threads():
    found = {
        subprocess.run(
            [sys.executable, "-c", BYTES, str(ROOT)], check=True, capture_output=True, text=True,
            env=os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda labels: bits_of(labels, "FX", "1s"), "features 'FX'"),
        (lambda labels: bits_of(labels, "FF", "1s"), "features 'FF'"),
        (lambda labels: bits_of(labels, "F", "2s"), "window '2s': give one of 1s"),
        (lambda labels: reals_of(labels, "none", "1s"), "real-valued features 'none'"),
        (lambda labels: reals_of(labels, "all", "2s"), "window '2s'"),
        (lambda labels: cluster_bits(bits_of(labels, "F", "1s"), labels, 0, 1), "0 streams"),
        (lambda labels: cluster_reals(np.zeros((1, 1)), labels, 257, 1), "257 streams"),
    ],
)
def test_what_is_no_setting_is_refused_in_one_line(call, said):
    with pytest.raises(ConfigError, match=said) as caught:
        call(labels_of([(0, 0, 0, 0)], [1]))
    assert "\n" not in str(caught.value)


def test_a_window_that_was_not_labelled_is_refused():
    trace = zipf_trace(500, 600, 0.9, 1)
    writes = chunk_writes(trace)
    theta = theta_of(writes, trace, expand_pages(trace))
    labels = label_streams(writes, chunk_features(writes, ["60s"]), theta, chosen(theta))
    assert bits_of(labels, "AC", "60s").shape == (len(labels), 2)
    with pytest.raises(ConfigError, match="window '1s': give one of 60s"):
        bits_of(labels, "AC", "1s")

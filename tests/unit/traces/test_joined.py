from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces.joined import join
from cachezoo.traces.pages import expand_pages
from tests.lstm_data import make_stream
from tests.trace_data import texts

LENGTHS = st.integers(4, 60)


def stream(requests, seed, name):
    """Requests of a page each."""
    own = make_stream(requests, seed, name)
    return replace(own, meta=replace(own.meta, trace_id=name), size=np.full(requests, 4096))


def two(first, second):
    return stream(first, 1, "a"), stream(second, 2, "b")


def parts(joined, name):
    """Offsets of one trace's requests, in their order."""
    return joined.trace.offset[np.array(texts(joined.trace.source)) == name].tolist()


@given(first=LENGTHS, second=LENGTHS, kind=st.sampled_from(["other", "shared", "turns"]))
def test_each_gives_a_half_in_its_order(first, second, kind):
    a, b = two(first, second)
    joined = join(kind, a, b)
    turns = 2 if kind == "turns" else 1
    lengths = [first // 2 // turns, (second - second // 2) // turns] * turns
    assert texts(joined.trace.source) == [name for name, n in zip("abab", lengths, strict=False) for _ in range(n)]
    assert joined.at == tuple(np.cumsum(lengths[:-1]).tolist())
    assert parts(joined, "a") == a.offset[: turns * lengths[0]].tolist()
    assert parts(joined, "b") == b.offset[second // 2 :][: turns * lengths[1]].tolist()
    assert (np.diff(joined.trace.time_us) >= 0).all()


@given(first=LENGTHS, second=LENGTHS)
def test_a_drift_rises_evenly_between_two_thirds_alone(first, second):
    a, b = two(first, second)
    joined = join("drift", a, b)
    each = min(first // 2, second - second // 2)
    names, alone = texts(joined.trace.source), 2 * each // 3
    during = 2 * (each - alone)
    assert (len(names), names.count("b"), joined.at) == (2 * each, each, (alone,))
    assert set(names[:alone]) <= {"a"} and set(names[alone + during :]) <= {"b"}
    had = 0
    for i, name in enumerate(names[alone : alone + during], 1):
        had += name == "b"
        assert had <= i * i / (2 * during) < had + 1
    assert parts(joined, "a") == a.offset[:each].tolist()
    assert parts(joined, "b") == b.offset[second // 2 :][:each].tolist()


def test_pages_are_apart_but_where_they_are_shared():
    a, b = stream(4000, 1, "a"), stream(4000, 2, "b")
    kinds = ("other", "shared", "turns", "drift")
    apart, shared, *others = (expand_pages(join(kind, a, b).trace).n_pages for kind in kinds)
    assert others == [apart, apart]
    assert shared == len(np.unique(np.concatenate([a.offset[:2000], b.offset[2000:]]))) < apart


def test_traces_that_cannot_be_joined():
    a, b = two(40, 3)
    with pytest.raises(TraceError, match="b: 3 requests; to be joined a trace needs 4"):
        join("drift", a, b)
    with pytest.raises(ConfigError, match="2 traces are called a"):
        join("other", a, a)

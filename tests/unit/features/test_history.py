from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.features import history
from cachezoo.features.history import AdmissionFeatures, encode, feature_list, user_key
from cachezoo.serving.requests import batch_of
from tests.baleen_data import make_trace
from tests.oracles.history import naive_history

GEOMETRY = {"block_bytes": 262144, "segment_bytes": 4096}
HISTORY = {"bucket_requests": 40, "windows": [1, 2, 4, 8]}
ENCODINGS = {"namespace": {"vda": 0}, "user": {"postgres": 0, "backup": 1}}
TRACE = make_trace(1500, 4)


def fresh() -> AdmissionFeatures:
    return AdmissionFeatures(feature_list(HISTORY["windows"]), ENCODINGS, GEOMETRY, HISTORY)


def rows(model: AdmissionFeatures, low: int, high: int) -> np.ndarray:
    part = TRACE.rows(low, high)
    return model.rows(batch_of(part))


WHOLE = rows(fresh(), 0, len(TRACE))


def test_against_the_naive_log() -> None:
    blocks, segments = [], []
    part = TRACE.rows(0, 500)
    for volume, op, offset, size in zip(part.volume.codes, part.op, part.offset, part.size, strict=True):
        blocks.append((int(op), [(volume, offset // 262144)]))
        touched = range(offset // 4096, (offset + size - 1) // 4096 + 1)
        segments.append((int(op), [(volume, s) for s in touched]))
    expected = np.concatenate([naive_history(keys, 40, HISTORY["windows"]) for keys in (blocks, segments)], axis=1)
    np.testing.assert_array_equal(WHOLE[:500, 6:], expected)


def test_static_features() -> None:
    first = TRACE.offset // 4096 % 64
    count = (TRACE.offset + TRACE.size - 1) // 4096 - TRACE.offset // 4096 + 1
    np.testing.assert_array_equal(WHOLE[:, 0], TRACE.op)
    np.testing.assert_array_equal(WHOLE[:, 1], np.where(TRACE.volume.codes == 0, 0, -1))
    np.testing.assert_array_equal(WHOLE[:, 2], np.array([0, 1, -1])[TRACE.user.codes])
    np.testing.assert_array_equal(WHOLE[:, 3:6], np.stack([first, first + count - 1, count], axis=1))
    assert WHOLE.dtype == np.float32 and (WHOLE == np.rint(WHOLE)).all()


@given(st.lists(st.integers(0, len(TRACE)), max_size=8))
def test_any_split_into_calls_gives_the_same_bits(cuts: list[int]) -> None:
    model, edges = fresh(), [0, *sorted(cuts), len(TRACE)]
    parts = [rows(model, low, high) for low, high in pairwise(edges)]
    assert np.concatenate(parts).tobytes() == WHOLE.tobytes()


def test_chunks_and_forgetting_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "CHUNK_REQUESTS", 37)
    model = fresh()
    assert rows(model, 0, len(TRACE)).tobytes() == WHOLE.tobytes()
    monkeypatch.undo()
    everything = fresh()
    rows(everything, 0, len(TRACE))
    assert model._counts["segment"]._table.count < everything._counts["segment"]._table.count


def test_volume_codes_may_be_renumbered_between_calls() -> None:
    model = fresh()
    head = rows(model, 0, 700)
    tail = TRACE.rows(700, len(TRACE))
    swapped = Coded(1 - tail.volume.codes, ("vdb", "vda"))
    again = model.rows(batch_of(replace(tail, volume=swapped)))
    assert np.concatenate([head, again]).tobytes() == WHOLE.tobytes()


def test_no_row_sees_itself_or_the_future() -> None:
    model = fresh()
    part = TRACE.rows(0, 900)
    size = part.size.copy()
    size[600:] = 4096
    changed = model.rows(batch_of(replace(part, size=size)))
    np.testing.assert_array_equal(changed[:600], WHOLE[:600])
    counts = slice(-len(HISTORY["windows"]) * 4, None)
    assert (changed[600:, counts] != WHOLE[600:900, counts]).any()  # what came later would show


def test_features_may_come_in_any_order() -> None:
    chosen = feature_list(HISTORY["windows"])[::-3]
    model = AdmissionFeatures(chosen, ENCODINGS, GEOMETRY, HISTORY)
    names = [row["name"] for row in feature_list(HISTORY["windows"])]
    columns = [names.index(row["name"]) for row in chosen]
    np.testing.assert_array_equal(rows(model, 0, len(TRACE)), WHOLE[:, columns])


def test_names_and_codes() -> None:
    assert [user_key(name) for name in ("kworker/u4:1", "kworker:0", "postgres")] == [
        "kworker",
        "kworker",
        "postgres",
    ]
    assert encode({"b": 2, "a": 2, "c": 9}) == {"c": 0, "a": 1, "b": 2}
    assert len(encode({str(i): 1 for i in range(200)})) == history.MAX_CODES


def test_rules() -> None:
    with pytest.raises(ConfigError, match=r"history\.block\.read\.99"):
        bad = [{"formula": "history.block.read.99"}]
        AdmissionFeatures(bad, {}, GEOMETRY, HISTORY)
    with pytest.raises(ConfigError, match="windows"):
        AdmissionFeatures([], {}, GEOMETRY, {"bucket_requests": 4, "windows": [2, 1]})

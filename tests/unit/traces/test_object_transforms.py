"""Cuts, samples, splits, mixtures and conversions of traces of objects."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces.formats import write_as
from cachezoo.traces.mixing import Turn, in_turns, interleave, sources
from cachezoo.traces.objects import OP_DELETE, ObjectTrace
from cachezoo.traces.sampling import sample_objects
from cachezoo.traces.table import Trace, TraceMeta
from cachezoo.traces.transforms import cut, split, split_by
from tests.trace_data import keys, objects, texts


def made(seed=0, rows=200, *, named=False, name="made", counted=True):
    rng = np.random.default_rng(seed)
    key = rng.integers(0, 30, rows)
    return ObjectTrace(
        time_us=np.sort(rng.integers(0, 50, rows)) * 1_000_000, op=rng.integers(0, 3, rows).astype(np.uint8),
        key=key if named else key * 987_654_321_012, size=100 + 7 * key, meta=TraceMeta(name, "kv", "made", "0" * 64),
        key_names=tuple(f"k{at}" for at in range(30)) if named else None, ttl_s=60 * (key % 2),
        count=rng.integers(1, 4, rows).astype(np.int32) if counted else None,
        user=Coded.of([f"u{at % 3}" for at in key]),
    )  # fmt: skip


@pytest.mark.parametrize("named", [False, True])
def test_cut_and_split_keep_rows_whole(named):
    trace = made(named=named)
    part = cut(trace, first=20, last=70)
    assert (
        keys(part) == keys(trace)[20:70] and part.time_us[0] == 0 and part.count.tolist() == trace.count[20:70].tolist()
    )
    parts = split(trace, [0.25, 0.5])
    assert [key for one in parts for key in keys(one)] == keys(trace)
    by_user = split_by(trace, "user")
    assert sorted(by_user) == ["u0", "u1", "u2"] and sum(map(len, by_user.values())) == len(trace)
    assert all(set(texts(one.user)) == {name} for name, one in by_user.items())
    with pytest.raises(ConfigError, match="no column volume"):
        split_by(trace, "volume")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 99), rate=st.sampled_from([0.1, 0.4, 0.9]), named=st.booleans())
def test_a_sample_has_all_or_none_of_an_object(seed, rate, named):
    trace = made(seed, named=named)
    try:
        part = sample_objects(trace, rate, seed)
    except TraceError as error:
        assert "none of its" in str(error)
        return
    chosen = set(keys(part))
    expected = [(key, size) for key, size in zip(keys(trace), trace.size.tolist(), strict=True) if key in chosen]
    assert list(zip(keys(part), part.size.tolist(), strict=True)) == expected
    # The same objects in any trace that names them alike, whatever else it has.
    half = sample_objects(trace.rows(0, 100), rate, seed) if chosen & set(keys(trace)[:100]) else None
    assert half is None or set(keys(half)) == chosen & set(keys(trace)[:100])
    larger = sample_objects(trace, 1.0, seed)
    assert keys(larger) == keys(trace)


def test_a_sample_has_about_the_part_asked_for():
    rng = np.random.default_rng(0)
    key = rng.integers(0, 10_000, 50_000)
    zero = np.zeros(len(key), np.int64)
    trace = ObjectTrace(zero, zero.astype(np.uint8), key, zero, TraceMeta("t", "kv", "made", "0" * 64))
    part = sample_objects(trace, 0.2, 3)
    assert 0.17 < len(set(keys(part))) / len(set(keys(trace))) < 0.23
    with pytest.raises(ConfigError, match="rate is 0"):
        sample_objects(trace, 0, 3)


@pytest.mark.parametrize("named", [False, True])
def test_keys_of_merged_traces_never_meet(named):
    one, two = made(1, named=named, name="a"), made(2, name="b", counted=False)
    mixed = interleave([one, two], "both")
    assert isinstance(mixed, ObjectTrace) and len(mixed) == len(one) + len(two)
    assert set(keys(mixed)) == {f"a/{key}" for key in keys(one)} | {f"b/{key}" for key in keys(two)}
    came = np.array(texts(sources(mixed)))
    assert [key for key, name in zip(keys(mixed), came, strict=True) if name == "a"] == [
        f"a/{key}" for key in keys(one)
    ]
    assert mixed.count[came == "b"].tolist() == [1] * len(two) and (np.diff(mixed.time_us) >= 0).all()
    turns = in_turns([one, two], "turns", [Turn("a", requests=5), Turn("b", requests=7)], periods=2)
    assert texts(sources(turns)) == (["a"] * 5 + ["b"] * 7) * 2
    zero = np.zeros(1, np.int64)
    of_addresses = Trace(
        zero, zero.astype(np.uint8), zero, zero + 1, Coded.constant("0", 1), TraceMeta("c", "", "", "")
    )
    with pytest.raises(ConfigError, match="names objects by keys, and others have addresses"):
        interleave([one, of_addresses], "no")


def test_oraclegeneral_has_true_sizes_and_keys_and_says_what_is_lost(tmp_path):
    trace = made(3)
    lost = write_as(trace, tmp_path / "t.bin", "oraclegeneral", {})
    found = objects(tmp_path / "t.bin", ids="object")
    kept = trace.take(trace.op != OP_DELETE).replayed()
    assert keys(found) == keys(kept) and found.size.tolist() == kept.size.tolist()
    assert lost == {
        "deletes": int((trace.op == 2).sum()), "op of writes": int((trace.op == 1).sum()), "user": len(trace),
        "ttl_s": int((trace.ttl_s > 0).sum()),
    }  # fmt: skip
    named = write_as(made(3, named=True), tmp_path / "n.bin", "oraclegeneral", {})
    assert named["keys that are texts"] == len(trace)
    large = made(3)
    large.size[9] = 2**32
    with pytest.raises(TraceError, match=r"row 10: an object of 4294967296 bytes, and the format holds"):
        write_as(large, tmp_path / "no.bin", "oraclegeneral", {})
    assert not (tmp_path / "no.bin").exists()


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("shift", [0, 250_000, 1])
def test_libcachesim_csv_comes_back_whole(tmp_path, named, shift):
    trace = made(4, named=named)
    trace.time_us[1:] += shift
    lost = write_as(trace, tmp_path / "t.csv", "libcachesim_csv", {})
    found, each = objects(tmp_path / "t.csv", ids="object"), trace.replayed()
    assert keys(found) == keys(each)
    for name in ("op", "size", "ttl_s"):
        assert getattr(found, name).tolist() == getattr(each, name).tolist(), name
    assert found.time_us.tolist() == (each.time_us - each.time_us[0]).tolist()
    assert lost == {"user": len(trace)}


def test_a_format_of_addresses_is_refused(tmp_path):
    with pytest.raises(TraceError, match=r"format fio: does not hold objects.*use one of parquet, oraclegeneral, lib"):
        write_as(made(), tmp_path / "t", "fio", {})
    assert write_as(made(), tmp_path / "t.parquet", "parquet", {}) == {}
    assert keys(objects(tmp_path / "t.parquet")) == keys(made())

"""Traces made anonymous: what a cache sees stays, names and places go, and the key alone decides."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.capture import live
from cachezoo.errors import TraceError
from cachezoo.policies.simulate import simulate
from cachezoo.traces.anonymous import REGION_BYTES, anonymous
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import TraceFiles, read_files
from cachezoo.traces.store import read_trace, write_trace
from cachezoo.traces.table import validate
from tests.command_line import run
from tests.request_data import trace_of

ROOT = Path(__file__).resolve().parents[3]
KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
NAMES = {"volume": "sda-of-payroll", "user": "postgres-main", "host": "db7.example.org", "namespace": "tenant Ärger"}
MIB = REGION_BYTES


def request(time_us, offset, size, op=0, volume=NAMES["volume"], **more):
    return {**NAMES, "time_us": time_us, "op": op, "offset": offset, "size": size, "volume": volume, **more}


# Offsets and sizes at, before and behind the borders of regions, so that requests cross them and runs meet there.
PLACES = st.builds(lambda region, within: region * MIB + within, st.integers(0, 9), st.sampled_from(
    [0, 4096, 8192, MIB // 2, MIB - 8192, MIB - 4096, MIB - 512]
))  # fmt: skip
SIZES = st.sampled_from([512, 4096, 8192, MIB // 2, MIB, 3 * MIB])


@st.composite
def traces(draw):
    rows, at, requests = draw(st.integers(1, 40)), 0, []
    for k in range(rows):
        size = draw(SIZES)
        place = draw(PLACES) if not requests or draw(st.booleans()) else at  # else it goes on where the last one ended
        requests.append(request(k, place, size, k % 2, draw(st.sampled_from(["a", "b"]))))
        at = place + size
    return trace_of(requests)


def runs(trace):
    """Every pair of requests of which the later one goes on where the earlier one ended."""
    stop = trace.offset + trace.size
    return {
        (i, j) for j in range(len(trace)) for i in range(j)
        if trace.volume.codes[i] == trace.volume.codes[j] and stop[i] == trace.offset[j]
    }  # fmt: skip


@given(traces())
def test_what_a_cache_sees_stays(trace):
    found = anonymous(trace, KEY).trace
    validate(found, "found")
    before, after = expand_pages(trace), expand_pages(found)
    assert np.array_equal(before.page_ids, after.page_ids)
    assert np.array_equal(before.request_start, after.request_start)
    for column in ("time_us", "op", "size"):
        assert np.array_equal(getattr(trace, column), getattr(found, column))
    assert np.array_equal(trace.offset % REGION_BYTES, found.offset % REGION_BYTES)
    assert runs(trace) == runs(found)


@given(traces())
def test_the_key_decides(trace):
    one, again = anonymous(trace, KEY).trace, anonymous(trace, KEY).trace
    assert np.array_equal(one.offset, again.offset)
    assert one.volume.names == again.volume.names
    assert not {*one.volume.names} & {*anonymous(trace, OTHER).trace.volume.names}


@pytest.fixture
def scattered():
    """A region in two of a volume, in any order, often more than once."""
    rng = np.random.default_rng(1)
    places = 2 * rng.integers(0, 200, 1500)
    return trace_of([request(k, int(place) * MIB + 4096 * (k % 9), 8192, k % 2) for k, place in enumerate(places)])


def test_another_key_is_another_permutation(scattered):
    found = [anonymous(scattered, key).trace.offset // MIB for key in (KEY, OTHER)]
    own = scattered.offset // MIB
    for one, other in (found, (found[0], own), (found[1], own)):
        pairs = np.unique(np.stack([one, other]), axis=1)
        assert np.corrcoef(pairs)[0, 1] < 0.3
        assert (np.diff(one) == np.diff(other)).mean() < 0.05


@pytest.mark.parametrize("policy", ["lru", "fifo", "arc", "s3fifo", "lfu", "belady"])
def test_hit_ratios_of_the_classics_stay(scattered, policy):
    found = anonymous(scattered, KEY).trace
    for capacity in (50, 200):
        pair = [simulate(one, expand_pages(one), policy, capacity, 100) for one in (scattered, found)]
        assert np.array_equal(pair[0].outcome, pair[1].outcome)
        assert (pair[0].hits, pair[0].request_hits) == (pair[1].hits, pair[1].request_hits)
        assert 0 < pair[0].hits < pair[0].page_accesses


def test_regions_move_together_where_requests_join_them_and_apart_elsewhere():
    rows = [
        (0, 512), (MIB - 4096, 8192),  # a request over the border of 0 and 1
        (5 * MIB, MIB), (9 * MIB, 512), (6 * MIB, 4096),  # a run over that of 5 and 6, with another request between
        (20 * MIB, 512), (21 * MIB, 512),  # neighbours that nothing joins
        (31 * MIB, 4096), (30 * MIB, MIB),  # one that began where another ended later: no run
    ]  # fmt: skip
    found = anonymous(trace_of([request(k, *row) for k, row in enumerate(rows)]), KEY)
    assert (found.groups, found.longest) == (7, 2)


def test_no_name_is_left(tmp_path, scattered):
    secret = trace_of(
        [request(k, k * MIB, 4096, source="mail of ACME") for k in range(30)], "acme-mail", extra={
            "machine": '{"kernel": "6.1-acme"}', "programs": '{"postgres": "acme"}', "recipe": '{"workload": "acme"}',
            "time_scale": "24", "transforms": '[{"split": {"value": "sda-of-payroll"}}]',
        },
    )  # fmt: skip
    write_trace(secret, tmp_path / "t.parquet")
    run("trace", "anonymise", tmp_path / "t.parquet", "-o", tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    for name in (*NAMES.values(), "acme", "ACME", "6.1", "payroll", secret.meta.source_sha256):
        assert name.encode() in (tmp_path / "t.parquet").read_bytes()
        assert name.encode() not in content
    found = read_trace(tmp_path / "a.parquet")
    assert found.meta.extra["time_scale"] == "24"
    assert set(found.meta.extra) == {"time_scale", "transforms"}
    assert found.meta.trace_id == "anonymous"
    assert [len(getattr(found, column).names) for column in (*NAMES, "source")] == [1] * 5


def test_names_are_told_apart_and_rows_without_one_stay_so():
    rows = [request(k, 0, 512, user=user) for k, user in enumerate(["cron", "sshd", "cron", "bash"])]
    trace = trace_of(rows)
    trace.user.codes[3] = -1
    found = anonymous(trace, KEY).trace.user
    assert found.codes.tolist() == [0, 1, 0, -1]
    assert len(set(found.names)) == 2
    assert all(name.startswith("user-") for name in found.names)


def test_the_command_takes_a_key_and_gives_the_same_bytes(tmp_path, scattered):
    write_trace(scattered, tmp_path / "t.parquet")
    (tmp_path / "key").write_bytes(KEY)
    outs = [tmp_path / f"{name}.parquet" for name in "abc"]
    for out in outs[:2]:
        run("trace", "anonymise", tmp_path / "t.parquet", "-o", out, "--key", tmp_path / "key")
    run("trace", "anonymise", tmp_path / "t.parquet", "-o", outs[2])
    one, same, other = (out.read_bytes() for out in outs)
    assert one == same
    assert one != other
    assert len(read_files(TraceFiles([outs[0]]))) == len(scattered)


@pytest.mark.parametrize("content", [None, b"", b"short"])
def test_a_key_that_is_none_is_refused(tmp_path, scattered, content):
    write_trace(scattered, tmp_path / "t.parquet")
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    done = run("trace", "anonymise", tmp_path / "t.parquet", "-o", tmp_path / "a", "--key", tmp_path / "key", ok=False)
    assert f"{tmp_path / 'key'}: " in done.stderr and "head -c 32 /dev/urandom" in done.stderr
    assert not (tmp_path / "a").exists()
    with pytest.raises(TraceError, match="at least 16"):
        anonymous(scattered, b"short")


@pytest.mark.parametrize("as_json", [True, False])
def test_a_capture_offers_it_in_its_last_line(tmp_path, monkeypatch, as_json):
    out = tmp_path / "of mine.parquet"
    for name in ("check_rights", "watched"):
        monkeypatch.setattr(live, name, lambda *_: None)
    monkeypatch.setattr(live, "on_device", lambda *_: False)
    monkeypatch.setattr(live, "record_device", lambda *_: live.Live(str(out), "disk", 3, 1.0, "time", 0, {}))
    words = ["--device", tmp_path, "--seconds", "1"]
    done = run("trace", "capture", *words, "-o", out, *(["--json"] if as_json else []))
    offered = f"cachezoo trace anonymise '{out}' -o anonymous.parquet" in done.stdout.splitlines()[-1]
    assert offered is not as_json

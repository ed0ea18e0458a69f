"""The synthetic Tectonic load has the statistics that it promises, and is a trace that any reader takes."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.synth import tectonic as own
from cachezoo.synth.tectonic import BLOCK_BYTES, DAY_S, statistics, tectonic
from cachezoo.traces.read import read_any
from cachezoo.traces.table import OP_READ, OP_WRITE, validate
from tests.command_line import run

TRACE = tectonic(200_000, 3)
BLOCK = TRACE.offset // BLOCK_BYTES


@settings(max_examples=20)
@given(st.integers(1_000, 3_000), st.integers(0, 2**31), st.sampled_from([3_600.0, 10_000.0, own.SECONDS]))
def test_any_trace_is_sound_and_the_same_for_the_same_seed(requests: int, seed: int, seconds: float) -> None:
    found, again = tectonic(requests, seed, seconds), tectonic(requests, seed, seconds)
    assert len(validate(found, "t")) == requests
    assert found.time_us[-1] <= seconds * 1e6
    assert (found.offset % 4096 == 0).all() and (found.size % 4096 == 0).all()
    assert (found.offset % BLOCK_BYTES + found.size <= BLOCK_BYTES).all()
    for name in ("time_us", "op", "offset", "size"):
        assert (getattr(found, name) == getattr(again, name)).all()
    assert found.user is not None and again.user is not None and (found.user.codes == again.user.codes).all()
    assert found.meta == again.meta != tectonic(requests, seed + 1, seconds).meta


def test_it_is_too_short_or_small() -> None:
    with pytest.raises(ConfigError, match="999 requests: give 1000 to"):
        tectonic(999, 0)
    with pytest.raises(ConfigError, match="3599 seconds: give an hour"):
        tectonic(1_000, 0, 3_599.0)


@pytest.mark.parametrize("seed", [3, 4])
def test_published_statistics_are_met(seed: int) -> None:
    trace = TRACE if seed == 3 else tectonic(200_000, seed)
    for row in statistics(trace):
        # Sizes are read from blocks whose reads are shares of all; gaps are shortened in blocks that are read often.
        off = 0.03 * row.published if row.published > 1 else 0.02
        assert row.value == pytest.approx(row.published, abs=off), row.name


def test_sizes_are_distributed_as_published() -> None:
    read = TRACE.size[TRACE.op == OP_READ] / 2**20
    for edge, share in zip(own.SIZES_MIB[1:-2], own.SIZES_SHARE[1:-2], strict=True):
        assert (read <= edge).mean() == pytest.approx(share, abs=0.02), edge


def test_reads_of_a_block_fall_with_the_published_power_of_its_rank() -> None:
    gets = np.sort(np.bincount(BLOCK[TRACE.op == OP_READ]))[::-1]
    rank = np.arange(1, len(gets) + 1)
    chosen = (rank > 20) & (gets >= 10)
    slope = np.polyfit(np.log(rank[chosen]), np.log(gets[chosen]), 1)[0]
    assert slope == pytest.approx(-own.POPULARITY, abs=0.07)


def test_a_block_is_written_once_and_before_it_is_read() -> None:
    write = np.flatnonzero(TRACE.op == OP_WRITE)
    assert len(np.unique(BLOCK[write])) == len(write) and (TRACE.offset[write] % BLOCK_BYTES == 0).all()
    written = np.full(BLOCK.max() + 1, -1)
    written[BLOCK[write]] = TRACE.time_us[write]
    read = TRACE.op == OP_READ
    assert (TRACE.time_us[read] >= written[BLOCK[read]]).all()
    held = np.full(BLOCK.max() + 1, BLOCK_BYTES)
    held[BLOCK[write]] = TRACE.size[write]
    assert ((TRACE.offset % BLOCK_BYTES + TRACE.size)[read] <= held[BLOCK[read]]).all()


def test_the_load_rises_and_falls_with_the_day() -> None:
    hour = (TRACE.time_us / 3.6e9).astype(int)
    load = np.bincount(hour, minlength=168)[:168].reshape(7, 24)
    assert 1.2 < load.mean(axis=0)[3:9].mean() / load.mean(axis=0)[15:21].mean() < 3  # about the crest, the trough
    assert load.max() < 5 * load.mean() and load.sum(axis=1).max() < 1.4 * load.sum(axis=1).mean()
    assert own.SECONDS == 7 * DAY_S


def test_users_differ_in_how_their_blocks_are_read() -> None:
    assert TRACE.user is not None and TRACE.namespace is not None
    blocks, first = np.unique(BLOCK, return_index=True)
    gets = np.bincount(BLOCK[TRACE.op == OP_READ], minlength=BLOCK.max() + 1)[blocks]
    user = TRACE.user.codes[first]
    of_user = [np.mean(gets[user == one] > 1) for one in range(len(TRACE.user.names)) if (user == one).sum() > 200]
    assert max(of_user) - min(of_user) > 0.3
    assert all(len(np.unique(user[BLOCK[first] == block])) == 1 for block in blocks[:50])


def test_the_command_writes_a_trace_that_says_it_is_synthetic(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    found = run("trace", "synth", "tectonic", "-o", path, "--requests", "5000", "--seed", "2")
    assert "synthetic" in found.stdout and "published" in found.stdout
    trace = read_any(path, pages=False)
    assert trace.meta.trace_id == "synthetic_tectonic" and len(trace) == 5000
    assert (trace.offset == tectonic(5000, 2).offset).all()
    given = ("recommend", "--only", "flash", path, "--policy", "accept_all")
    said = run(*given)
    assert "synthetic, drawn with published statistics" in " ".join((said.stdout + said.stderr).split())
    info = json.loads(run("trace", "info", path, "--json").stdout)
    assert any(line.startswith("synthetic: drawn") for line in info["remarks"])
    refused = run("trace", "synth", "tectonic", "-o", tmp_path / "u.parquet", "--scale", "2", ok=False)
    assert "like no trace of yours; leave --scale out" in " ".join(refused.stderr.split())

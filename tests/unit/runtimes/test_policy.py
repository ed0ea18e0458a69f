"""A cache of classics in C: the text, every outcome and every page that leaves are the simulator's."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, HIT, WRITE
from cachezoo.policies.engine import simulate
from cachezoo.policies.prefetches import prefetched_stream
from cachezoo.policies.spec import parse
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace, TraceMeta

pytestmark = pytest.mark.needs("gcc")
PROGRAM = "policy_run"
CAPTURED = Path(__file__).parents[3] / "data/raw/captured"
WRITES = ("around", "through", "back")  # enum cz_writes, from 1
EVICTIONS = ("arc", "clock", "fifo", "inlfu", "larc", "lfu", "lirs", "lru", "s3fifo", "sieve", "twoq", "wtinylfu")
OTHERS = (
    "clock(bits=3, initial=2)", "lirs(hir=0.3, stack=1.2)", "lirs(hir=1)", "s3fifo(small=0.5, ghost=0, promote=1)",
    "s3fifo(ghost=0.2)", "twoq(kin=1, kout=0.1)", "twoq(kin=0, kout=3)",
    "wtinylfu(window=0.4, protected=0.3, sample=1)", "wtinylfu(protected=1)",
)  # fmt: skip
ADMISSIONS = ("", "coinflip(p=0.3, seed=7)+", "rejectx+", "rejectx(window_capacities=0.7, x=2)+")
NEXT = ("", "+next(n=3)")


def run(program, *words, given):
    done = subprocess.run([program, *words], input=given, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def rows_of(trace):
    return np.stack([trace.volume.codes.astype(np.int64), trace.op.astype(np.int64), trace.offset, trace.size], axis=1)


def served(program, text, trace, capacity, writes, keys=0):
    """What C did at each access, int64[m, 4], and keys, forgotten and bytes at the end."""
    head = np.array([capacity, keys, 1 + WRITES.index(writes)], np.int64)
    out = np.frombuffer(run(program, "access", text, given=head.tobytes() + rows_of(trace).tobytes()), np.int64)
    table = out.reshape(-1, 4)
    return table[:-1], table[-1, :3]


def dirty_victims(stream, outcome, victim):
    """bool[m]: naively, whether the page evicted was written since it entered."""
    dirty, found = set(), np.zeros(len(victim), np.bool_)
    for i, (page, left) in enumerate(zip(stream.page_ids.tolist(), victim.tolist(), strict=True)):
        found[i] = left in dirty
        dirty.discard(left)
        if stream.flags[i] & WRITE and outcome[i] in (HIT, ADMITTED):
            dirty.add(page)
    return found


def same_as_simulated(program, text, trace, capacity, writes, most_keys=1 << 19):
    spec, pages = parse(text), expand_pages(trace)
    stream = prefetched_stream(trace, pages, spec.plan(trace, pages), writes)
    wanted = simulate(spec.composition(), stream, capacity)
    got, _ = served(program, text, trace, capacity, writes, max(most_keys, 110 * capacity))
    assert len(got) == len(stream)
    assert (got[:, 3] & 0xFF).tolist() == wanted.outcome.tolist()
    # The simulator's ids are versions of pages: of each its page, as C names it.
    page_of = np.full((stream.n_pages, 2), -1, np.int64)
    page_of[stream.page_ids] = got[:, [0, 2]]
    page_of[stream.page_ids, 1] = np.repeat(
        trace.volume.codes, np.bincount(stream.request_of, minlength=len(trace))
    )
    gone = wanted.victim >= 0
    assert (got[:, 1] >= 0).tolist() == gone.tolist()
    assert got[gone][:, [1, 2]].tolist() == page_of[wanted.victim[gone]].tolist()
    dirty = dirty_victims(stream, wanted.outcome, wanted.victim) & (writes == "back")
    assert (got[:, 3] >> 8 & 1).tolist() == dirty.tolist()


def drawn(seed, requests, pages, volumes=1, longest=6):
    """Requests over few pages, of one page up to `longest`: hot ones, loops and scans."""
    draws = np.random.default_rng(seed)
    hot = np.minimum(draws.zipf(1.4, requests), pages) - 1
    loop = np.arange(requests) % max(1, pages // 2)
    first = np.where(draws.random(requests) < 0.5, hot, loop)
    count = np.where(draws.random(requests) < 0.6, 1, draws.integers(1, longest + 1, requests))
    at = draws.integers(0, 4096, requests)
    return Trace(
        np.arange(requests, dtype=np.int64), (draws.random(requests) < 0.4).astype(np.uint8),
        first * 4096 + at, np.maximum(1, count * 4096 - at),
        Coded(draws.integers(0, volumes, requests).astype(np.int32), tuple(f"v{k}" for k in range(volumes))),
        TraceMeta("drawn", "web", "test", "0" * 64),
    )  # fmt: skip


def hashes_numbers_of_the_whole_trace(text, writes):
    """W-TinyLFU's sketch hashes page ids; with a prefetch the simulator's are known once the whole trace is."""
    return "wtinylfu" in text and "next" in text and writes != "around"


@pytest.mark.parametrize("eviction", (*EVICTIONS, *OTHERS))
@given(
    seed=st.integers(0, 2**32 - 1), capacity=st.integers(1, 40), writes=st.sampled_from(WRITES),
    admission=st.sampled_from(ADMISSIONS), ahead=st.sampled_from(NEXT),
)  # fmt: skip
def test_a_small_cache_does_what_the_simulator_does(program, eviction, seed, capacity, writes, admission, ahead):
    text = admission + eviction + ahead
    if hashes_numbers_of_the_whole_trace(text, writes):
        text, ahead = admission + eviction, ""
    same_as_simulated(program, text, drawn(seed, 250, 60, 2), capacity, writes, 4000)

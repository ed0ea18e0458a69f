"""The stack of slots, against sets and counting."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.kernels.slots import HOT, LAGS, NEAR_COLD, NEAR_REUSE, observe
from cachezoo.kernels.synth import chain, generate
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace, TraceMeta
from tests.oracles.synth import Naive, naive_chain, naive_observe

SECTOR, PAGE = 512, 4096
RESERVED = (7, 9)  # pages, more than the hot requests below reach into


@st.composite
def requests(draw):
    """Runs, rereads and jumps in sectors over two volumes."""
    found = []
    for _ in range(draw(st.integers(1, 60))):
        volume, size = draw(st.integers(0, 1)), draw(st.integers(1, 40)) * SECTOR
        offset = draw(st.integers(0, 80)) * SECTOR
        way = draw(st.sampled_from(["run", "again", "jump"]))
        if found and way == "run":
            volume, before, length = found[draw(st.integers(max(0, len(found) - 5), len(found) - 1))]
            offset = before + length + draw(st.sampled_from([0, 0, SECTOR, PAGE, 40 * PAGE]))
        elif found and way == "again":
            volume, offset, _ = found[draw(st.integers(0, len(found) - 1))]
        found.append((volume, offset, size))
    return found


def trace_of(rows):
    volume, offset, size = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    n = len(rows)
    return Trace(np.arange(n), np.zeros(n, np.uint8), offset, size, Coded(volume.astype(np.int32), ("a", "b")),
                 TraceMeta("t", "web", "test", "0" * 64))  # fmt: skip


@given(requests())
@settings(deadline=None)
def test_what_requests_do_is_what_counting_says(rows):
    trace = trace_of(rows)
    pages = expand_pages(trace)
    found = observe(pages.request_start, pages.page_ids, pages.n_pages, trace.volume.codes, trace.offset, trace.size)
    assert [tuple(int(v) for v in row) for row in zip(*found, strict=True)] == [
        tuple(int(v) for v in row) for row in naive_observe(rows)
    ]


@dataclass
class Asked:
    kind: int
    size: int
    align: int
    distance: float
    wanted: float
    lag: int
    ahead: int
    aligned: bool
    whole: bool
    alike: bool
    volume: int
    draw: float
    fixed: int


@st.composite
def asked(draw):
    found = []
    for _ in range(draw(st.integers(1, 70))):
        kind = draw(st.sampled_from([0, 1, 2, 3, 3, HOT]))
        near = kind in (NEAR_COLD, NEAR_REUSE)
        found.append(Asked(
            kind, draw(st.integers(1, 40)) * SECTOR, draw(st.sampled_from([0, 0, 512, 3584])),
            draw(st.integers(0, 60)) + 0.25, draw(st.integers(0, 10)) / 4, draw(st.integers(1, LAGS)) if near else 0,
            draw(st.sampled_from([0, 0, 512, 4096])) if near else 0, draw(st.booleans()), draw(st.booleans()),
            draw(st.booleans()), draw(st.integers(0, 1)), draw(st.integers(0, 7)) / 8,
            draw(st.integers(0, 10)) * SECTOR,
        ))  # fmt: skip
    return found


def arrays(rows):
    columns = {name: np.array([getattr(one, name) for one in rows]) for name in Asked.__annotations__}
    types = {"kind": np.uint8, "aligned": np.uint8, "whole": np.uint8, "alike": np.uint8, "lag": np.int32,
             "volume": np.int32, "size": np.int64, "align": np.int64, "ahead": np.int64, "fixed": np.int64}  # fmt: skip
    return [column.astype(types.get(name, np.float64)) for name, column in columns.items()]


@given(asked())
def test_requests_are_where_sets_and_counting_put_them(rows):
    page, shift, volume, begun = generate(*arrays(rows), np.array(RESERVED))
    want = Naive(rows, RESERVED)
    placed = want.run()
    first = {v: min(at // PAGE for u, at, _ in placed if u == v) for v in {u for u, _, _ in placed}}
    base = {v: page[volume == v].min() - first[v] for v in first if (volume == v).any()}
    found = [(int(v), int(p - base[v]) * PAGE + int(s)) for p, s, v in zip(page, shift, volume, strict=True)]
    assert found == [(v, at) for v, at, _ in placed]
    assert begun.tolist() == want.begun


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 30), st.integers(0, 99))
@settings(deadline=None)
def test_a_chain_follows_its_cumulated_chances(phases, classes, n, seed):
    random = np.random.default_rng(seed)
    cumulative = np.cumsum(random.dirichlet(np.ones(classes), (phases, classes)), axis=2)
    draws = random.random(n)
    assert chain(cumulative, 0, draws).tolist() == naive_chain(cumulative.tolist(), 0, draws.tolist())


def test_single_pages_are_reused_at_the_distances_asked_for():
    random = np.random.default_rng(1)
    n = 3000
    kind = np.where(np.arange(n) < 400, 0, 3).astype(np.uint8)
    size, none = np.full(n, PAGE, np.int64), np.zeros(n, np.int64)
    distance = random.integers(0, 400, n) + 0.5
    flags, no = np.ones(n, np.uint8), np.zeros(n, np.uint8)
    page, _, _, _ = generate(
        kind, size, none, distance, np.zeros(n), none.astype(np.int32), none, flags, flags, no,
        none.astype(np.int32), np.zeros(n), none, np.zeros(1, np.int64),
    )  # fmt: skip
    last, found = {}, []
    for i, own in enumerate(page.tolist()):
        if own in last:
            found.append(sum(slot > last[own] for slot in last.values()))
        last[own] = i
    assert len(last) == 400
    assert np.abs(np.sort(found) - np.sort(distance[400:])).mean() < 4

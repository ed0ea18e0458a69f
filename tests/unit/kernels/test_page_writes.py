"""Columns of page writes against numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.flash_drive.placements import _quantiles, oracle
from cachezoo.flash_drive.writes import NEVER, drive_writes
from cachezoo.kernels.page_writes import mark_chunks, merge
from tests.wear_data import written

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, n=st.integers(0, 30), k=st.integers(0, 12))
def test_others_are_put_where_they_came(seed, n, k):
    rng = np.random.default_rng(seed)
    values, others = rng.integers(0, 99, n, np.int32), rng.integers(0, 99, k, np.int32)
    at = np.sort(rng.integers(0, n + 1, k))
    found = np.zeros(n + k, np.int32)
    merge(values, at, others, found)
    assert found.tolist() == np.insert(values, at, others).tolist()
    found[:] = 7
    merge(values, at, others[:0], found)
    assert found.tolist() == np.insert(values, at, 7).tolist()


@given(seed=SEEDS, n=st.integers(1, 40), cut=st.integers(0, 40))
def test_a_request_cut_in_two_keeps_its_chunk(seed, n, cut):
    rng = np.random.default_rng(seed)
    pages, begins, chunks = rng.integers(0, 9, n, np.int32), rng.random(n) < 0.4, rng.integers(0, 5, 9)
    begins[0] = True
    first = np.maximum.accumulate(np.where(begins, np.arange(n), 0))
    found, cut = np.zeros(n, np.int64), min(cut, n)
    chunk = mark_chunks(pages[:cut], begins[:cut], chunks, 0, found[:cut])
    mark_chunks(pages[cut:], begins[cut:], chunks, chunk, found[cut:])
    assert found.tolist() == chunks[pages[first]].tolist()


@given(seed=SEEDS, n=st.integers(1, 50), classes=st.integers(2, 12))
def test_quantiles_are_those_of_numpy(seed, n, classes):
    values, shares = np.random.default_rng(seed).integers(0, 1000, n), np.arange(1, classes) / classes
    assert _quantiles(values.copy(), shares).tolist() == np.quantile(values, shares).tolist()


def naive_oracle(writes, streams, rule, share):
    dies = np.flatnonzero(writes.lifetimes != NEVER)
    life = writes.lifetimes[dies]
    found = np.full(len(writes), streams - 1)
    windows = {"lifetime": 0, "death": streams - 1, "both": (streams - 1) // 2}[rule]
    length = max(1, round(share * writes.footprint))
    ends, begins = (dies + life) // length, dies // length
    near = ends - begins < windows
    found[dies[near]] = ends[near] % max(windows, 1)
    classes, far = streams - 1 - windows, life[~near]
    if classes and len(far):
        bounds = np.quantile(far, np.arange(1, classes) / classes)
        found[dies[~near]] = windows + np.searchsorted(bounds, far, side="left")
    return found.tolist()


@given(
    seed=SEEDS, n=st.integers(2, 120), streams=st.integers(2, 9), rule=st.sampled_from(["lifetime", "death", "both"])
)
def test_the_oracle_is_that_of_whole_columns(seed, n, streams, rule):
    writes = drive_writes([written(np.random.default_rng(seed).integers(0, 12, n))])
    again = [next((j - i for j in range(i + 1, n) if writes.pages[j] == page), NEVER)
             for i, page in enumerate(writes.pages)]  # fmt: skip
    assert writes.lifetimes.tolist() == again
    for share in (0.1, 0.5):
        assert oracle(writes, streams, rule, share).tolist() == naive_oracle(writes, streams, rule, share)

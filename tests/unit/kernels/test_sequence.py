from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.sequence import Horizons, RequestColumns, Requests, region_slots, request_columns
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.table import Trace
from tests.oracles.sequence import COMMON, SIZED, Memory, naive_columns, slot
from tests.page_data import lists_of, seeded_trace


def requests_of(trace: Trace, pages: PageAccesses) -> Requests:
    return Requests(trace.time_us, trace.op, trace.offset, trace.size, pages.request_start, pages.page_ids)


def pieces_of(requests: Requests, stops: list[int]) -> list[Requests]:
    """The requests from each stop to the next, in order."""
    pieces = []
    for low, high in pairwise(sorted({min(stop, len(requests.op)) for stop in stops})):
        start, rows = requests.start[low : high + 1], slice(low, high)
        ids = requests.page_ids[start[0] : start[-1]]
        plain = requests.time_us[rows], requests.op[rows], requests.offset[rows], requests.size[rows]
        pieces.append(Requests(*plain, start - start[0], ids))
    return pieces


def compare(n: int, pages: int, seed: int, capacities: list[int], memory: Memory) -> None:
    trace = seeded_trace(n, pages, seed)
    accesses = expand_pages(trace)
    horizons = Horizons(memory.memory, memory.window, memory.region_bytes, memory.region_bits)
    common, sized = request_columns(requests_of(trace, accesses), np.array(capacities, np.float64), horizons)
    pieces = RequestColumns(accesses.n_pages, np.array(capacities, np.float64), horizons)
    found = [pieces.serve(piece) for piece in pieces_of(requests_of(trace, accesses), [0, 1, 4, n // 2, n])]
    assert np.concatenate([own for own, _ in found]).tobytes() == common.tobytes()
    assert np.concatenate([own for _, own in found], axis=1).tobytes() == sized.tobytes()
    columns = (trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist())
    expected = naive_columns(*columns, lists_of(accesses), capacities, memory)
    for k, name in enumerate(COMMON):
        wanted = np.array([row[name] for row, _ in expected])
        np.testing.assert_allclose(common[:, k], wanted, rtol=2e-6, atol=1e-7, err_msg=name)
    for lane in range(len(capacities)):
        for k, name in enumerate(SIZED):
            wanted = np.array([rows[lane][name] for _, rows in expected])
            np.testing.assert_allclose(sized[lane, :, k], wanted, rtol=5e-6, atol=1e-6, err_msg=name)


MEMORIES = st.builds(
    Memory, st.integers(1, 60), st.integers(1, 60), st.sampled_from([4096, 10_000, 65536]), st.integers(1, 12)
)


@given(
    st.integers(1, 50), st.integers(1, 20), st.integers(0, 99), st.lists(st.integers(1, 40), min_size=1, max_size=3),
    MEMORIES,
)  # fmt: skip
def test_matches_the_definitions(n: int, pages: int, seed: int, capacities: list[int], memory: Memory) -> None:
    compare(n, pages, seed, capacities, memory)


@pytest.mark.parametrize("remembered", [40, 400, 1 << 20])
def test_matches_the_definitions_on_a_longer_trace(remembered: int) -> None:
    compare(400, 80, 3, [1, 8, 40], Memory(remembered, 100, 32768, 8))


def test_runs_and_jumps() -> None:
    trace = seeded_trace(6, 5, 1, offset=np.array([0, 4096, 8192, 0, 4096, 4096]), size=np.full(6, 4096))
    pages = expand_pages(trace)
    common, _ = request_columns(requests_of(trace, pages), np.ones(1), Horizons(10, 10, 4096, 4))
    np.testing.assert_allclose(common[:, COMMON.index("run")], np.log2([1, 2, 3, 1, 2, 1]), rtol=1e-6)
    np.testing.assert_allclose(common[:, COMMON.index("delta")], [0, 0, 0, -np.log2(25), 0, -np.log2(9)], rtol=1e-6)


@pytest.mark.filterwarnings("error")
def test_regions_fit_their_table_up_to_the_largest_address() -> None:
    offset = np.array([0, 4095, 4096, 2**40, 2**61, 2**62 - 1], np.int64)
    for bits in (1, 8, 24):
        slots = region_slots(offset, 4096, bits)
        assert slots.tolist() == [slot(o, Memory(1, 1, 4096, bits)) for o in offset.tolist()]
        assert slots.min() >= 0 and slots.max() < 2**bits

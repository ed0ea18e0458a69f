"""The nbdkit filter against the simulator of flash caches, which it does the same as."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.flash import simulate_flash, simulate_rejectx
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.kernels.targets.nbdkit import ACCEPT_ALL, nbdkit
from cachezoo.questions.targets.blocks import blocks
from tests.tiers_data import stream_of

PER_BLOCK = 4
READ, WRITE, SSD_READ, SSD_WRITE = 0, 1, 2, 3
row = st.tuples(st.sampled_from([0, 0, 1]), st.integers(0, 30), st.integers(1, 9))


def ran(rows, capacity, unit, window):
    """The kernel's I/Os, and the run of the simulator."""
    ts = stream_of(rows)
    own, start, write = blocks(ts, unit), ts.pages.request_start, ts.trace.op != 0
    lines = own.block, own.within, own.address
    block = np.unique(own.address // (unit * PER_BLOCK), return_inverse=True)[1].astype(np.int32)
    found, log, dirty = nbdkit(start, ts.pages.page_ids, write, *lines, unit, block, capacity, window)
    assert not dirty.any()
    ios = [tuple(int(column[k]) for column in log[:4]) for k in range(log.used[0])]
    geometry = Geometry(block_bytes=PER_BLOCK * unit * 4096, segment_bytes=unit * 4096)
    accesses = expand_segments(ts.trace.volume.codes, ts.trace.offset, ts.trace.size, geometry)
    same: Any = {"whole_block": True, "note_slots": True}
    if window == ACCEPT_ALL:
        return ts, found, ios, simulate_flash(accesses, ~write, np.ones(len(write), np.bool_), capacity, **same)
    return ts, found, ios, simulate_rejectx(accesses, ~write, window, capacity, **same)


@given(st.lists(row, min_size=1, max_size=60), st.integers(1, 8), st.sampled_from([1, 2, 4]),
       st.sampled_from([ACCEPT_ALL, 3, 50]))  # fmt: skip
def test_it_does_what_the_simulator_does(rows, capacity, unit, window):
    ts, _, ios, told = ran(rows, capacity, unit, window)
    for k, write in enumerate(ts.trace.op != 0):
        own = [io for io in ios if io[1] == k]
        disk = [io for io in own if io[0] == (WRITE if write else READ)]
        if write:
            assert own == [(WRITE, k, int(ts.trace.offset[k]) // 4096, int(ts.trace.size[k]) // 4096)]
            continue
        assert sum(pages for *_, pages in disk) == unit * told.io_segments[k]
        slots = {place // unit + more for code, _, place, pages in own if code == SSD_READ
                 for more in range(-(-(place % unit + pages) // unit))}  # fmt: skip
        assert len(slots) == told.hits[k]
    filled = [
        place // unit + more for code, _, place, pages in ios if code == SSD_WRITE for more in range(pages // unit)
    ]
    assert filled == told.slots.tolist()


def test_a_write_makes_the_cache_forget():
    _, found, ios, _ = ran([(0, 0, 2), (0, 0, 2), (1, 1, 1), (0, 0, 2)], 4, 1, ACCEPT_ALL)
    assert found.tolist() == [3, 3, 2, 2, 2, 2, 3]
    assert [code for code, *_ in ios] == [READ, SSD_WRITE, SSD_READ, WRITE, SSD_READ, READ, SSD_WRITE]

"""The demo's disks: every byte is checked, and a cache in this process serves what a disk holds, however it writes."""

from collections import OrderedDict

import numpy as np
import pytest

from cachezoo.demo.in_process import Cached
from cachezoo.demo.replay import Counted, Waiting, fill, page_data, replay
from cachezoo.demo.workload import LOG, PAGES, ROWS, database
from cachezoo.errors import DeviceError
from cachezoo.runtime import Access, Unit
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.table import OP_READ, OP_WRITE

REQUESTS = 1_200


def disk_of(folder):
    fill(folder / "disk", PAGES)
    return folder / "disk"


class Lru:
    """What `cachezoo.runtime.Cache` is to the demo, page by page and slowly; it knows what is dirty."""

    def __init__(self, capacity, writes):
        self.slots, self.free, self.writes, self.dirty = OrderedDict(), list(range(capacity)), writes, set()

    def leave(self, page):
        left = Unit(0, page, self.slots.pop(page), "hit", page in self.dirty, False)
        self.free.append(left.slot)
        self.dirty.discard(page)
        return left

    def access(self, time_us, op, offset, size, volume):
        page, victims = offset // PAGE_BYTES, []
        if op == "write" and self.writes == "around":
            return Access(
                0,
                1,
                (Unit(0, page, -1, "bypassed", False, False),),
                tuple([self.leave(page)] if page in self.slots else []),
            )
        outcome = "hit" if page in self.slots else "admitted"
        if outcome == "admitted":
            if not self.free:
                victims.append(self.leave(next(iter(self.slots))))
            self.slots[page] = self.free.pop()
        self.slots.move_to_end(page)
        if op == "write" and self.writes == "back":
            self.dirty.add(page)
        unit = Unit(0, page, self.slots[page], outcome, page in self.dirty, False)
        return Access(int(outcome == "hit"), int(outcome != "hit"), (unit,), tuple(victims))


def versions(trace):
    """What each page holds in the end."""
    counts = np.zeros(PAGES, np.int64)
    np.add.at(counts, trace.offset[trace.op == OP_WRITE] // PAGE_BYTES, 1)
    return counts.tolist()


def test_the_trace_is_the_same_in_every_run_and_a_longer_one_is_not_needed():
    trace, again = database(REQUESTS), database(REQUESTS)
    assert all((getattr(trace, name) == getattr(again, name)).all() for name in ("time_us", "op", "offset", "size"))
    page = trace.offset // PAGE_BYTES
    assert (trace.size == PAGE_BYTES).all() and (np.diff(trace.time_us) >= 0).all() and page.max() < ROWS + LOG == PAGES
    write, log = trace.op == OP_WRITE, page >= ROWS
    assert 0.1 < write.mean() < 0.2 and not log[trace.op == OP_READ].any() and log[write].mean() > 0.8


def test_pages_and_their_versions_differ():
    assert len({page_data(page, version) for page in range(300) for version in range(30)}) == 300 * 30
    assert {len(page_data(page, 0)) for page in (0, PAGES)} == {PAGE_BYTES}


def test_a_disk_alone_takes_as_long_as_it_waits(tmp_path):
    disk, trace = Waiting(disk_of(tmp_path), 1e-4), database(REQUESTS)
    found = replay(disk, trace, PAGES)
    disk.close()
    assert len(found.read_us) == (trace.op[REQUESTS // 2 :] == OP_READ).sum() and found.read_us.min() >= 100
    assert found.counted == Counted(0, 0) and found.counted.share == 0
    held = b"".join(page_data(page, version) for page, version in enumerate(versions(trace)))
    assert (tmp_path / "disk").read_bytes() == held


@pytest.mark.parametrize("writes", ["around", "through", "back"])
def test_a_cache_serves_what_was_written_last(tmp_path, writes):
    trace, cache = database(REQUESTS), Lru(64, writes)
    behind = Waiting(disk_of(tmp_path), 0.0)
    served = Cached(cache, behind, tmp_path / "ssd", writes)
    found = replay(served, trace, PAGES)
    counts = np.ones(REQUESTS // 2) if writes == "back" else trace.op[REQUESTS // 2 :] == OP_READ
    assert found.counted.asked == counts.sum() and 0 < found.counted.hits < found.counted.asked
    held = (tmp_path / "disk").read_bytes()
    wanted = [page_data(page, version) for page, version in enumerate(versions(trace))]
    late = {page for page in range(PAGES) if held[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] != wanted[page]}
    assert late == cache.dirty and (writes == "back") == bool(late)
    served.close()
    behind.close()


class Lying(Waiting):
    """A disk that forgets a write."""

    def write(self, offset, data):
        return 0.0


def test_a_page_that_is_not_the_one_written_last_ends_it(tmp_path):
    disk = Lying(disk_of(tmp_path), 0.0)
    with pytest.raises(DeviceError, match=r"^request \d+: what was read at \d+ is not what was written last$"):
        replay(disk, database(REQUESTS), PAGES)
    disk.close()

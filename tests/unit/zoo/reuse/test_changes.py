import numpy as np
import pytest

from cachezoo.errors import TraceError
from cachezoo.kernels.outcome import HIT
from cachezoo.traces.joined import join
from cachezoo.traces.pages import expand_pages
from cachezoo.zoo.reuse.changes import changes_of, shared_pages
from tests.reuse_data import make_trace


def test_what_counts_is_cut_at_the_changes():
    joined = join("turns", make_trace(4000, 1), make_trace(4000, 2))
    pages, capacity = expand_pages(joined.trace), 60
    source = np.repeat(joined.trace.source.codes, np.diff(pages.request_start))
    turns = np.flatnonzero(np.diff(source, prepend=source[0])).tolist()
    found = changes_of(pages, joined.at, capacity)
    assert [change.at for change in found] == turns and len(turns) == 3
    assert [change.end for change in found] == [*turns[1:], len(source)]
    for change in found:
        assert (change.settled, change.early) == (change.at + 2 * capacity, change.at + 10 * capacity)
        held = np.unique(pages.page_ids[: change.full])
        assert len(held) >= capacity and change.at / 10 - 2 <= change.full <= change.at / 3
        outcome = np.zeros(len(source), np.uint8)
        outcome[change.full : change.at] = HIT
        assert (change.hits(outcome).before, change.hits(outcome).settled) == (1, 0)
        outcome[change.at : change.settled] = HIT
        assert (change.hits(outcome).settled, change.hits(outcome).early) == (0, 0.2)
        outcome[change.settled : change.end] = HIT
        assert (change.hits(outcome).settled, change.hits(outcome).early) == (1, 1)


def test_a_workload_that_ends_before_it_counts():
    joined = join("other", make_trace(100, 1), make_trace(100, 2))
    with pytest.raises(TraceError, match=r"a workload runs for \d+ page accesses, with a cache of 40 pages"):
        changes_of(expand_pages(joined.trace), joined.at, 40)


def test_pages_that_both_access():
    first, second = make_trace(400, 1), make_trace(400, 2)
    shared, other = (join(kind, first, second).trace for kind in ("shared", "other"))
    halves = [expand(own) for own in (first.rows(0, 200), second.rows(200, 400))]
    assert shared_pages(shared, expand_pages(shared)) == len(halves[0] & halves[1]) / len(halves[0] | halves[1]) > 0
    assert shared_pages(other, expand_pages(other)) == 0


def expand(trace):
    rows = zip(trace.offset.tolist(), trace.size.tolist(), strict=True)
    return {page for offset, size in rows for page in range(offset // 4096, (offset + size - 1) // 4096 + 1)}

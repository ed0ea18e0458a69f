"""Real traces of which others have published figures."""

import numpy as np
import pytest

from cachezoo.characteristics.describe import rc_rnn_row
from cachezoo.characteristics.pages import reuse
from cachezoo.characteristics.requests import summary
from cachezoo.traces.clock import has_clock
from cachezoo.traces.pages import expand_pages
from tests.trace_data import read, sample

MIB = 2**20


@pytest.mark.needs("public_traces")
def test_cloudphysics():
    """LRU at 4 KiB pages hits 25 % at 256 MiB, 47 % at 512 MiB, 76 % at 1 GiB, from an empty cache on."""
    trace = read(sample("block/cloudphysics_us.csv.gz"))
    pages = expand_pages(trace)
    counted = summary(trace, pages)
    row = rc_rnn_row(counted)
    assert (row.requests, counted.clock) == (113_872, True)
    assert counted.read_share == pytest.approx(0.41, abs=0.005)
    assert row.mean_request_kb * 1.024 == pytest.approx(36.9, abs=0.1)
    distances = reuse(trace, pages, counted.clock).distances
    below = np.cumsum(distances.accesses) / len(pages.page_ids)
    ends = np.append(distances.from_bytes[1:], np.inf)
    hits = {size: float(below[np.searchsorted(ends, size * MIB, "right") - 1]) for size in (256, 512, 1024)}
    assert hits == pytest.approx({256: 0.25, 512: 0.47, 1024: 0.76}, abs=0.006)


@pytest.mark.needs("public_traces")
def test_lists_of_pages_have_no_clock():
    assert not has_clock(read(sample("lbn/P2.lis.zst")))

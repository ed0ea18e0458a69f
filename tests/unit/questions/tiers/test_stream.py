"""A trace as hierarchies see it."""

import numpy as np
from hypothesis import given

from cachezoo.kernels.outcome import WRITE
from cachezoo.questions.tiers.stream import tier_stream
from tests.request_data import traces
from tests.tiers_data import byte_trace


@given(trace=traces())
def test_addresses_and_times_are_those_of_the_requests(trace):
    ts = tier_stream(trace)
    begins, end = {}, 0
    for volume, name in enumerate(trace.volume.names):
        own = trace.volume.codes == volume
        begins[name] = end
        last = (trace.offset[own] + trace.size[own] - 1) // 4096
        end += -(-(int(last.max(initial=-1)) + 1) // 64) * 64
    i = 0
    for k in range(len(trace)):
        volume = begins[trace.volume.names[trace.volume.codes[k]]]
        first, last = trace.offset[k] // 4096, (trace.offset[k] + trace.size[k] - 1) // 4096
        for page in range(first, last + 1):
            assert ts.address[ts.stream.page_ids[i]] == volume + page
            assert (ts.request_of[i], ts.time_us[i], ts.write[i]) == (k, trace.time_us[k], trace.op[k] == 1)
            i += 1
    assert i == len(ts) == len(ts.stream)
    assert len(np.unique(ts.address)) == ts.stream.n_pages == ts.pages.n_pages
    assert ts.span_pages == ts.address.max() + 1


def test_writes_are_through_and_volumes_begin_an_erase_block():
    ts = tier_stream(byte_trace([0, 0, 4096], [4096, 4096, 1], [0, 1, 0], volume=["a", "b", "a"]))
    assert ts.stream.writes == "through"
    assert (ts.stream.flags & WRITE != 0).tolist() == ts.write.tolist() == [False, True, False]
    assert ts.address.tolist() == [0, 64, 1]

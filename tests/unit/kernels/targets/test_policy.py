"""A policy's run as I/Os, against its naive version."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.targets.policy import policy_ios
from cachezoo.questions.targets.bench import Bench
from tests.oracles.targets import policy as oracle
from tests.tiers_data import DEVICE, stream_of

row = st.tuples(st.integers(0, 1), st.integers(0, 12), st.integers(1, 4))


@given(st.lists(row, min_size=1, max_size=50), st.integers(1, 8), st.booleans(),
       st.sampled_from(["lru", "s3fifo", "rejectx+lru"]), st.sampled_from([0, 1, 4]))  # fmt: skip
def test_ios_are_the_oracles(rows, capacity, back, name, ram):
    ts = stream_of(rows)
    bench = Bench(ts, DEVICE, 0, 1)
    above, run = bench.served(name, capacity, ram)
    start, pages = ts.pages.request_start, ts.pages.page_ids
    found, log, dirty = policy_ios(start, pages, ts.trace.op != 0, ts.address, above, run.outcome, run.victim, back)
    ios = [(int(log.code[k]), int(log.request[k]), int(log.place[k]) + more)
           for k in range(log.used[0]) for more in range(log.pages[k])]  # fmt: skip
    requests = [(int(op), pages[start[k] : start[k + 1]].tolist()) for k, op in enumerate(ts.trace.op)]
    told = oracle.policy_ios(
        requests, above.tolist(), zip(run.outcome.tolist(), run.victim.tolist(), strict=True), ts.address.tolist(), back
    )
    assert ios == told[0]
    assert dirty.tolist() == told[1]
    assert (found == 2).tolist() == (run.outcome == oracle.HIT).tolist()
    assert (found == 0).tolist() == above.tolist()
    assert not above.any() or ram


@pytest.mark.parametrize("back", [True, False])
def test_a_write_is_read_again_from_the_ssd(back):
    ts = stream_of([(1, 3, 1), (0, 3, 1)])
    above, run = Bench(ts, DEVICE, 0, 1).served("lru", 2, 0)
    _, log, dirty = policy_ios(ts.pages.request_start, ts.pages.page_ids, ts.trace.op != 0, ts.address, above,
                               run.outcome, run.victim, back)  # fmt: skip
    assert log.code[: log.used[0]].tolist() == ([3, 2] if back else [3, 1, 2])
    assert dirty.tolist() == ([1, 1] if back else [0, 0])

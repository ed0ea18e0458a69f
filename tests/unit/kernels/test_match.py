import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.match import COMPLETE, ISSUE, NO_ROOM, REQUEUE, join
from tests.oracles.match import naive_join

STEPS = st.lists(
    st.tuples(
        st.sampled_from([ISSUE, COMPLETE, REQUEUE]),
        st.integers(0, 1),
        st.integers(0, 4),
        st.integers(1, 4),
        st.sampled_from([0, -5]),
    ),
    max_size=80,
)


def joined(steps):
    columns = np.array(steps, np.int64).reshape(-1, 5).T
    kind, device, sector, sectors, error = columns
    first, last, counts = join(
        kind.astype(np.uint8),
        device.astype(np.int32),
        sector.copy(),
        sectors.astype(np.int32),
        error.astype(np.int32),
    )
    assert not counts[NO_ROOM]
    return first.tolist(), last.tolist(), counts[:NO_ROOM].tolist()


@settings(deadline=None)
@given(STEPS)
def test_join_equals_plain_queues(steps):
    assert joined(steps) == naive_join(steps)


@pytest.mark.parametrize(("seed", "addresses"), [(1, 50), (2, 5000), (3, 10**9)])
def test_join_of_long_random_logs_equals_plain_queues(seed, addresses):
    rng = np.random.default_rng(seed)
    steps = []
    owed = []
    for _ in range(20_000):
        choice = rng.random()
        if choice < 0.55 or not owed:
            step = (ISSUE, int(rng.integers(3)) << 20, 8 * int(rng.integers(addresses)), 8 * int(rng.integers(1, 5)), 0)
            owed.append(step[1:4])
        else:
            # Queues stay long at first, so that the table grows, and run empty later.
            device, sector, sectors = owed.pop(int(rng.integers(len(owed))))
            part = sectors if choice < 0.9 else int(rng.integers(1, sectors + 1))
            if part < sectors:
                owed.append((device, sector + part, sectors - part))
            step = (REQUEUE if choice > 0.98 else COMPLETE, device, sector, part, -5 if choice < 0.6 else 0)
        steps.append(step)
    steps += [(COMPLETE, *entry, 0) for entry in owed]
    assert joined(steps) == naive_join(steps)

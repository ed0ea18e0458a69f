import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.config.load import load_params
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.traces.table import Trace, TraceMeta

DEVICE = load_params().device


def make(offset, size, op):
    n = len(offset)
    arrays = (np.array(x, np.int64) for x in (offset, size))
    return Trace(
        np.arange(n, dtype=np.int64),
        np.array(op, np.uint8),
        *arrays,
        Coded.constant("0", n),
        TraceMeta("t", "w", "csv", "0"),
    )


def naive(trace, hdd):
    head, times = 0, []
    for offset, size in zip(trace.offset.tolist(), trace.size.tolist(), strict=True):
        start = offset % hdd.capacity_bytes
        wait = 0
        if start != head:
            wait = (
                hdd.seek_base_us
                + hdd.seek_root_us * math.sqrt(abs(start - head) / hdd.capacity_bytes)
                + hdd.rotation_us / 2
            )
        rate = hdd.outer_mb_s + (hdd.inner_mb_s - hdd.outer_mb_s) * start / hdd.capacity_bytes
        times.append(wait + size / rate)
        head = (start + size) % hdd.capacity_bytes
    return times


@given(
    rows=st.lists(st.tuples(st.integers(0, 2**43), st.integers(1, 2**24), st.integers(0, 1)), min_size=1, max_size=40)
)
def test_hdd_equals_the_naive_model(rows):
    trace, hdd = make(*zip(*rows, strict=True)), DEVICE.hdd
    np.testing.assert_allclose(t_hdd_us(trace, hdd), naive(trace, hdd), rtol=1e-12)


def test_sequential_reads_pay_the_transfer_alone():
    hdd = DEVICE.hdd
    times = t_hdd_us(make([0, 65536, 10**12], [65536, 65536, 4096], [0, 0, 0]), hdd)
    assert times[1] == pytest.approx(65536 / hdd.outer_mb_s, rel=1e-6)
    assert times[2] > 8000


def test_ssd_meets_its_data_sheet_at_queue_depth_1():
    times = t_ssd_us(make([0, 0], [4096, 4096], [0, 1]), DEVICE.ssd)
    assert 1e6 / times == pytest.approx([10_000, 36_000], rel=0.02)

"""Row i's latency belongs to request i: a range of addresses is slow, and its rows are found again."""

import numpy as np
import pytest

from cachezoo.devices.fio.replay import Settings, replay
from cachezoo.errors import DeviceError
from tests.replay_data import MIB, eval_disk, make_trace, processes_with, settle

pytestmark = pytest.mark.needs("fio", "nbdkit")
SLOW_S = 0.25
FIRST, END = 5 * MIB, 6 * MIB
SLOW = f"if [ $4 -ge {FIRST} ] && [ $4 -lt {END} ]; then sleep {SLOW_S}; fi"


def trace_with_slow_rows(n, slow, seed):
    """Requests of which so many lie in the slow range, many of the others equal."""
    g = np.random.default_rng(seed)
    offset = g.integers(0, 40, n) * 4096
    rows = g.choice(n - 5, slow, replace=False)
    offset[rows] = FIRST + g.integers(0, 200, slow) * 4096
    return make_trace(np.zeros(n), offset, g.choice([512, 4096], n)), np.sort(rows)


@pytest.mark.parametrize(("mode", "depth"), [("service", 1), ("closed", 4)])
def test_the_slow_range_is_found_in_its_rows(tmp_path, mode, depth):
    trace, rows = trace_with_slow_rows(250, 6, depth)
    with eval_disk(tmp_path, SLOW) as target:
        measured = replay(trace, target, Settings(repetitions=1, mode=mode, depth=depth))
    # No machine is so busy that a row which is not asked to wait does: most of the others took a small part of that.
    assert measured.times_us[rows].min() > 1e6 * SLOW_S
    assert np.median(measured.times_us) < 0.5e6 * SLOW_S


def test_a_slow_last_request_is_waited_for(tmp_path):
    # 64 reads after it are done before it is: fio logs no time for it, and more reads are needed.
    trace = make_trace(np.zeros(20), [*range(0, 19 * 4096, 4096), FIRST], np.full(20, 4096))
    with eval_disk(tmp_path, SLOW.replace(str(SLOW_S), "0.6")) as target:
        measured = replay(trace, target, Settings(repetitions=1, mode="closed", depth=4))
    assert measured.times_us[19] > 0.6e6


def test_a_disk_that_never_answers_ends_the_replay_in_time(tmp_path):
    trace, _ = trace_with_slow_rows(50, 1, 1)
    with eval_disk(tmp_path, SLOW.replace(str(SLOW_S), "1000")) as target:
        with pytest.raises(DeviceError, match=r"a test's disk: fio did not end within device.timeout_s"):
            replay(trace, target, Settings(timeout_s=0.5))
        assert settle(lambda: not processes_with(f"--uri=nbd+unix:///?socket={target.socket}"))


@pytest.mark.parametrize(("mode", "depth"), [("service", 1), ("closed", 4)])
def test_a_request_that_fails_is_named(tmp_path, mode, depth):
    trace, rows = trace_with_slow_rows(50, 1, 2)
    fail = SLOW.replace(f"sleep {SLOW_S}", "echo EIO >&2; exit 1")
    with eval_disk(tmp_path, fail) as target:
        with pytest.raises(DeviceError, match=rf"io_u error .*; row {rows[0] + 1} \(read of .*see dmesg") as caught:
            replay(trace, target, Settings(mode=mode, depth=depth))
    assert "\n" not in str(caught.value)

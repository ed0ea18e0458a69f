import pytest

from cachezoo.errors import ConfigError
from cachezoo.kernels.flash import DiskHead
from cachezoo.questions.flash.options import DISK, WriteRate, disk_given


def test_a_day_of_a_rate_is_what_the_trace_may_write():
    rate = WriteRate("86400GiB/day", 2.0**30, 0.0)
    assert rate.segments(7, 86_400.0, 4096) == pytest.approx(86_400 * 2**30 / 4096)
    share = WriteRate("25%", None, 0.25)
    assert share.segments(1000, 0.0, 4096) == 250
    assert share.segments(1, 0.0, 4096) == 1


def test_a_rate_needs_time_and_at_least_one_segment():
    rate = WriteRate("1B/s", 1.0, 0.0)
    with pytest.raises(ConfigError, match="the trace has no clock"):
        rate.segments(10, 0.0, 4096)
    with pytest.raises(ConfigError, match="in the trace's 60 s that is less than one segment of 4 KiB"):
        rate.segments(10, 60.0, 4096)


def test_constants_are_taken_where_they_are_given():
    assert disk_given(None, None, None) == disk_given("wdredpro2tb", None, None) == (DISK, "wdredpro2tb")
    assert disk_given("baleen", None, None) == (DISK, "baleen")
    assert disk_given(None, 4.0, None) == disk_given("baleen", 4.0, None) == (DiskHead(4.0, 143.0), "baleen")
    assert disk_given(None, None, 200.0) == (DiskHead(11.5, 200.0), "baleen")
    with pytest.raises(ConfigError, match="--disk tape: use wdredpro2tb or baleen"):
        disk_given("tape", None, None)
    with pytest.raises(ConfigError, match="they are of --disk baleen; leave --disk wdredpro2tb out"):
        disk_given("wdredpro2tb", 4.0, None)

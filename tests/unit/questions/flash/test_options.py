import pytest

from cachezoo.errors import ConfigError
from cachezoo.questions.flash.options import WriteRate


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

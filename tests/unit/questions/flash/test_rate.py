import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.questions.flash.rate import SECONDS, WriteRate, parse_rates
from cachezoo.sizes import BYTES


def test_a_list_takes_the_unit_that_stands_next_behind():
    assert parse_rates("10, 20,30MB/s,5%") == [
        WriteRate("10MB/s", 1e7, 0.0),
        WriteRate("20MB/s", 2e7, 0.0),
        WriteRate("30MB/s", 3e7, 0.0),
        WriteRate("5%", None, 0.05),
    ]
    assert [rate.text for rate in parse_rates("1MB/s,2GiB/day,1MB/s")] == ["1MB/s", "2GiB/day"]


@given(st.sampled_from(sorted(BYTES)), st.sampled_from(sorted(SECONDS)), st.integers(1, 10**6))
def test_every_size_over_every_time(size, time, number):
    (rate,) = parse_rates(f"{number} {size.upper()} / {time.upper()}")
    assert rate.bytes_s == pytest.approx(number * BYTES[size] / SECONDS[time])


def test_a_day_of_a_rate_is_what_the_trace_may_write():
    (rate,) = parse_rates("500GiB/day")
    assert rate.segments(7, 86_400.0, 4096) == pytest.approx(500 * 2**30 / 4096)
    (share,) = parse_rates("25%")
    assert share.segments(1000, 0.0, 4096) == 250
    assert share.segments(1, 0.0, 4096) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("10", "'10': a number without a unit; write a rate as 10MB/s"),
        ("10MB/s,20", "'20': a number without a unit"),
        ("10MB", "unknown unit 'MB'; a size (B, KiB"),
        ("10parsec/s", "unknown unit 'parsec/s'"),
        ("10MB/week", "unknown unit 'MB/week'"),
        ("0MB/s", "'0MB/s': it must be above 0"),
        ("101%", "at most 100 % of what accept_all writes"),
        ("", "'': write a rate as"),
        ("-5MB/s", "'-5MB/s': write a rate as"),
        ("5MB/s,,6MB/s", "'': write a rate as"),
        ("1e9MB/s", "unknown unit 'e9MB/s'"),
        ("9" * 400 + "MB/s", "write a rate as"),
        ("²%", "write a rate as"),
    ],
)
def test_what_is_no_rate_is_one_clear_line(text, said):
    with pytest.raises(ConfigError) as caught:
        parse_rates(text)
    assert said in str(caught.value) and "--write-rate" in str(caught.value) and "\n" not in str(caught.value)
    assert len(str(caught.value)) < 240


def test_a_rate_needs_time_and_at_least_one_segment():
    (rate,) = parse_rates("1B/s")
    with pytest.raises(ConfigError, match="the trace has no clock"):
        rate.segments(10, 0.0, 4096)
    with pytest.raises(ConfigError, match="in the trace's 60 s that is less than one segment of 4 KiB"):
        rate.segments(10, 60.0, 4096)

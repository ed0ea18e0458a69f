"""Dates as text, against Python's own."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.traces.dates import EPOCH, microseconds_of
from cachezoo.traces.reading import BAD_TIME


@given(st.lists(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)), max_size=8))
def test_dates_are_what_python_takes_them_for(dates):
    texts = [date.isoformat(sep=" ") for date in dates]
    expected = [(date.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) for date in dates]
    assert microseconds_of(pa.array(texts, pa.string())).tolist() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01 00:00:00", 0),
        ("1970-01-01T00:00:01.5", 1_500_000),
        ("1970-01-01 00:00:00.000001999", 1),
        ("1969-12-31 23:59:59", -1_000_000),
        ("2024-02-30 00:00:00", BAD_TIME),
        ("2024-02-29 24:00:00", BAD_TIME),
        ("2024-02-29", BAD_TIME),
        ("1700000000.5", BAD_TIME),
        ("", BAD_TIME),
    ],
)
def test_known_dates(text, expected):
    assert microseconds_of(pa.array([text, "2024-01-15 10:30:45"]))[0] == expected

"""Dates with a time of day, as text, in microseconds since 1970."""

import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.traces.reading import BAD_TIME

DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?"
WHOLE = f"^{DATE}$"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds_of(texts: pa.Array) -> I64:
    """Microseconds since 1970 of dates such as ``2024-01-15 10:30:45.002145``, digits below them cut off.

    Args:
        texts: strings.

    Returns:
        int64; `BAD_TIME` where a text is no date.
    """
    fits = pc.match_substring_regex(texts, WHOLE)
    known = pc.if_else(fits, texts, None)
    try:
        times = pc.cast(known, pa.timestamp("ns")).cast(pa.int64())
        return np.asarray(times.fill_null(BAD_TIME)) // np.where(np.asarray(fits.fill_null(False)), 1000, 1)
    except pa.ArrowInvalid:  # the 30th of February, or a year that nanoseconds since 1970 do not reach
        return np.array([_one(text) for text in known.to_pylist()], np.int64)


def _one(text: str | None) -> int:
    if text is None:
        return BAD_TIME
    seconds, _, part = re.sub("T", " ", text).partition(".")
    try:
        since = datetime.strptime(seconds, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) - EPOCH
    except ValueError:
        return BAD_TIME
    return (since.days * 86_400 + since.seconds) * 1_000_000 + int(part.ljust(6, "0")[:6])


def of_column(column: Coded) -> I64:
    """The same of a coded column of dates."""
    return microseconds_of(pa.array(column.names, pa.string()))[column.codes]

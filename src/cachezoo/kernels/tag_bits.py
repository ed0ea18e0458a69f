"""Bits of a request's tags, and where its duration class lies above them."""

CACHED = 1
CONSULTED = 2
SETTLED = 4
FORCED = 8
KEPT = 16
DURATION_SHIFT = 5
DURATION_MASK = 3
KEPT_SETTLED = 128
UNKNOWN, SOON, MEAN, LATE = 0, 1, 2, 3

"""The profile of a queue: hits per reference of each fragment, as a file, and of a queue of another length.

`profile.bin` holds one little-endian float64 for each fragment of the queue, nearest the head first, and nothing else.
"""

import numpy as np

from cachezoo.arrays import F64, I32
from cachezoo.errors import BundleError

FILE = "profile.bin"
DOUBLE = 8


def profile_of(position: I32, fragments: int, fragment: int) -> F64:
    """Hits per reference of each fragment.

    Args:
        position: int32[m] where each reference found its page in the queue; -1 where it was not there.
        fragments: of the queue.
        fragment: positions in each.

    Returns:
        float64[fragments]; zeros where nothing is asked.
    """
    found = np.bincount(position[position >= 0] // fragment, minlength=fragments)
    rates: F64 = found / max(1, len(position))
    return rates


def to_bytes(profile: F64) -> bytes:
    """The bytes of `profile.bin`."""
    return profile.astype("<f8").tobytes()


def from_bytes(data: bytes) -> F64:
    """Read them.

    Raises:
        BundleError: they are no whole numbers of float64, or hold one that is no rate: below 0, above 1, not a number.
    """
    if len(data) % DOUBLE or not data:
        raise BundleError(f"{FILE}: has {len(data)} bytes, not 8 for each fragment; export the bundle again")
    profile: F64 = np.frombuffer(data, "<f8").astype(np.float64)
    if not bool(((profile >= 0) & (profile <= 1)).all()):
        raise BundleError(f"{FILE}: holds a number that is no rate of hits per reference; export the bundle again")
    return profile


def fitted_to(profile: F64, fragments: int) -> F64:
    """The rates of a queue of so many fragments: float64[fragments]; those that the profile lacks are 0."""
    rates = np.zeros(fragments)
    known = profile[:fragments]
    rates[: len(known)] = known
    return rates

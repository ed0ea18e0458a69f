"""Service times at queue depth 1, in trace order."""

import math

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.jit import njit

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


@njit
def hdd_service_us(
    offset: I64,
    size: I64,
    capacity: int,
    rotation_us: float,
    seek_base_us: float,
    seek_root_us: float,
    rates: F64,
) -> F64:
    """Disk service times: seek + half a rotation unless sequential, then the transfer at the zone's rate.

    Args:
        offset: int64[n] bytes, folded modulo the capacity.
        size: int64[n] bytes.
        capacity: bytes.
        rotation_us: one revolution.
        seek_base_us: seek time at distance 0.
        seek_root_us: times the square root of the distance as a part of the capacity.
        rates: float64[2], bytes per µs at the outer and the inner edge.

    Returns:
        float64[n] µs.
    """
    times = np.empty(offset.size)
    head = 0
    for i in range(offset.size):
        start = offset[i] % capacity
        time = 0.0
        if start != head:
            time = seek_base_us + seek_root_us * math.sqrt(abs(start - head) / capacity) + rotation_us / 2
        rate = rates[0] + (rates[1] - rates[0]) * (start / capacity)
        times[i] = time + size[i] / rate
        head = (start + size[i]) % capacity
    return times

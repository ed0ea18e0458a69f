"""Numbers that look random and depend on their arguments alone, not on how many were drawn before.

Source: the 32-bit mixer "lowbias32" of C. Wellons, "Prospecting for hash functions", 2018 (public domain).
"""

from cachezoo.kernels.jit import njit

MASK = (1 << 32) - 1
APART = 0x5BD1E995  # keeps small seeds from meeting small numbers


@njit
def mix(value: int) -> int:
    """A 32-bit number, each bit of which depends on every bit of the 32-bit `value`; one to one."""
    value ^= value >> 16
    value = (value * 0x7FEB352D) & MASK
    value ^= value >> 15
    value = (value * 0x846CA68B) & MASK  # the low 32 bits are right though the product may pass 63
    return value ^ (value >> 16)


@njit
def scaled(value: int, size: int) -> int:
    """The 32-bit `value` times `size` / 2**32, rounded down; in two steps, so that 63 bits do for sizes up to 2**46."""
    return (value * (size >> 16) + (value * (size & 0xFFFF) >> 16)) >> 16


@njit
def draw(seed: int, number: int) -> int:
    """Draw `number` of those of `seed`, both within 31 bits: uniform in [0, 2**32)."""
    return int(mix(mix(int(number)) ^ mix(seed ^ APART)))

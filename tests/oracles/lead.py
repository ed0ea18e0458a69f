"""Half the 90 % interval of a mean, by loops over the definition of equal-weighted cosines."""

import math

T_95 = 2.3533634348018264  # Student's t of three degrees of freedom, from a table


def half_width(values: list[float]) -> float:
    """Of a series in the order of time."""
    n = len(values)
    mean = math.fsum(values) / n
    squares = []
    for j in (1, 2, 3):
        wave = [math.sqrt(2 / n) * math.cos(math.pi * j * (k + 0.5) / n) for k in range(n)]
        squares.append(math.fsum(w * (value - mean) for w, value in zip(wave, values, strict=True)) ** 2)
    return T_95 * math.sqrt(math.fsum(squares) / 3 / n)

"""Naive access-history features: a log of everything, counted again for every request."""

import numpy as np
import numpy.typing as npt


def naive_history(
    requests: list[tuple[int, list[object]]], bucket_width: int, windows: list[int], rank: int = 0
) -> npt.NDArray[np.float32]:
    """Counts of (op, keys) requests: reads, then writes, for each window, summed over the request's keys."""
    log: list[tuple[int, int, object]] = []
    rows = []
    for row, (op, keys) in enumerate(requests):
        bucket = (rank + row) // bucket_width
        values = []
        for kind in (0, 1):
            for window in windows:
                low = bucket - window + 1
                values.append(sum(1 for key in keys for b, k, other in log if other == key and k == kind and b >= low))
        rows.append(values)
        log.extend((bucket, op, key) for key in keys)
    return np.array(rows, np.float32).reshape(len(requests), 2 * len(windows))

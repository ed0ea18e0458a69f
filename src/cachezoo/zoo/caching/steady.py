"""How far decisions of a caching LSTM hang on no last digits of its outputs."""

import numpy as np

from cachezoo.arrays import F32, I32
from cachezoo.kernels.manager_limits import Cache
from cachezoo.serving.kind import OUTPUT_TOLERANCE


def steady_rows(outputs: F32, queues: I32, cache: Cache) -> int:
    """Requests before the first decision that another runtime's last digits could turn."""
    stays = np.sort(outputs[:, 1:], axis=1)
    at_threshold = np.abs(outputs[:, 0] - np.float32(cache.threshold)) <= 2 * OUTPUT_TOLERANCE
    between_queues = (outputs[:, 0] >= np.float32(cache.threshold)) & (
        stays[:, -1] - stays[:, -2] <= 2 * OUTPUT_TOLERANCE
    )
    if cache.queues == "single":
        between_queues[:] = False
    near = (queues >= 0) & (at_threshold | between_queues)
    return int(np.argmax(near)) if near.any() else len(queues)

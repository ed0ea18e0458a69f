"""What a model of streams states for runtimes: its `features`, `geometry`, `policy` and `calibration` in train.json."""

from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.models.trained import Feature
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, UNKNOWN_STREAM, Dictionary

FEATURES = [Feature(name="chunk", formula="request.chunk", unit="chunks of 32 KiB from the volume's start")]
GEOMETRY = {"chunk_bytes": CHUNK_BYTES}
ACT: dict[str, Any] = {
    "type": "stream_placement",
    "unknown": UNKNOWN_STREAM,
    "placement": "A write goes to the stream of the chunk of its first byte, however many chunks it spans.",
}


def writes_by_stream(dictionary: Dictionary, offsets: npt.NDArray[np.int64]) -> list[int]:
    """How many write requests go to each stream.

    Args:
        dictionary: K streams.
        offsets: int64[n] first bytes of write requests.
    """
    found = np.bincount(dictionary.look_up(offsets // CHUNK_BYTES), minlength=dictionary.count)
    return [int(count) for count in found]


def calibration_of(
    dictionary: Dictionary, offsets: npt.NDArray[np.int64], further: dict[str, Any] | None = None
) -> dict[str, Any]:
    """`calibration` of train.json.

    Args:
        dictionary: the one that is shipped.
        offsets: int64[n] first bytes of the write requests of the cycle that it was learned on.
        further: of `variant`, `learned`, `window`, `over_provisioning`, `waf` and `legacy_waf`, those that are known.
    """
    own = {
        "writes_by_stream": writes_by_stream(dictionary, offsets),
        "effective_streams": len(np.unique(dictionary.streams)),
    }
    return {**own, **(further or {})}

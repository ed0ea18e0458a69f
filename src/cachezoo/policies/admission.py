"""The admission model as a cache serves it: raw requests in, decisions out; numpy is all it needs.

Built from the plain JSON values of `train.json` or a bundle's manifest and a function that scores rows, so
evaluation (LightGBM), calibration and a bundle's reader (onnxruntime) run the very same code.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.features.history import U8, AdmissionFeatures, Bool, Coded
from cachezoo.kernels.segments import I64

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Infer = Callable[[F32], npt.NDArray[Any]]


class HistoryServing:
    """Features of a model that looks at the access history; the history carries on from call to call."""

    def __init__(self, features: AdmissionFeatures) -> None:
        """Take over a history."""
        self._features = features

    def features(
        self,
        time_us: I64,
        op: U8,
        offset: I64,
        size: I64,
        volume: Coded,
        namespace: Coded | None = None,
        user: Coded | None = None,
    ) -> F32:
        """Model inputs of the next requests; afterwards the requests are part of the history.

        Args:
            time_us: int64[n]; the clock of this model is the number of requests, so times only have to have n
                rows.
            op: uint8[n] 0 read, 1 write. Pass writes too: they are counted.
            offset: int64[n] bytes.
            size: int64[n] bytes.
            volume: the device each offset counts on.
            namespace: None takes the volume's name.
            user: process names; None is unknown.

        Returns:
            float32[n, F].

        Raises:
            ConfigError: the columns' lengths differ.
        """
        if not len(time_us) == len(op) == len(offset) == len(size) == len(volume.codes):
            message = "time_us, op, offset, size and volume must have one entry a request"
            raise ConfigError(message)
        return self._features.rows(op, offset, size, volume, namespace, user)


class AdmissionServing(HistoryServing):
    """Features, scores and decisions of one admission model; the history carries on from call to call.

    Attributes:
        threshold: a read's miss is admitted where its score is at least this.
    """

    def __init__(
        self,
        *,
        features: Sequence[Mapping[str, Any]],
        encodings: Mapping[str, Mapping[str, int]],
        geometry: Mapping[str, int],
        calibration: Mapping[str, Any],
        policy: Mapping[str, Any],
        infer: Infer,
    ) -> None:
        """Build from `TrainedModel.model_dump()`'s values.

        Args:
            features: inputs in order, as `AdmissionFeatures` takes them, like the next two.
            encodings: codes of `namespace` and `user`.
            geometry: `block_bytes` and `segment_bytes`.
            calibration: `threshold`, in the unit of the scores.
            policy: `history`, as `AdmissionFeatures` takes it.
            infer: scores float[n] or float[n, 1] of rows float32[n, F]. The scores are log-odds.

        Raises:
            ConfigError: a key is missing or a formula is unknown.
        """
        for name, values, key in (("calibration", calibration, "threshold"), ("policy", policy, "history")):
            if key not in values:
                message = f"{name} holds no {key}; this is not an admission model of this release"
                raise ConfigError(message)
        super().__init__(AdmissionFeatures(features, encodings, geometry, policy["history"]))
        self.threshold = float(calibration["threshold"])
        self._infer = infer

    def scores(self, features: F32) -> F64:
        """Log-odds float64[n] that a request's episode is worth its flash writes."""
        return np.asarray(self._infer(features), np.float64).reshape(len(features))

    def decide(self, features: F32) -> Bool:
        """bool[n]: admit what a read of the request misses."""
        return self.scores(features) >= self.threshold

"""The admission model as a cache serves it: raw requests in, decisions out; numpy is all it needs.

Built from the plain JSON values of `train.json` or a bundle's manifest and a function that scores rows, so
evaluation (LightGBM), calibration and a bundle's reader run the very same code.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, F64, Bool
from cachezoo.errors import ConfigError
from cachezoo.features.history import AdmissionFeatures
from cachezoo.serving.requests import RequestBatch, batch_of

if TYPE_CHECKING:
    from cachezoo.models.trained import FittedModel
    from cachezoo.traces.table import Trace

Infer = Callable[[F32], npt.NDArray[Any]]
# Of a manifest, for a serving object.
KEYS = {"features", "encodings", "geometry", "calibration", "policy"}


class HistoryServing:
    """Features of a model that looks at the access history; the history carries on from call to call."""

    def __init__(self, features: AdmissionFeatures) -> None:
        """Take over a history."""
        self._features = features

    def features(self, batch: RequestBatch) -> F32:
        """Model inputs float32[n, F] of the next requests; afterwards the requests are part of the history.

        Pass writes too: they are counted. The clock of this model is the number of requests.
        """
        return self._features.rows(batch)


def history_of(model: "FittedModel") -> HistoryServing:
    """Features alone, from a fresh history, of a fitted model that looks at the access history."""
    values = model.model_dump(mode="json")
    return HistoryServing(
        AdmissionFeatures(values["features"], values["encodings"], values["geometry"], model.learned["history"])
    )


def serve_trace(model: HistoryServing, trace: "Trace") -> F32:
    """Features of a trace, float32[n, F]; the history goes on from what the model has served before."""
    return model.features(batch_of(trace))


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
                raise ConfigError(f"{name} holds no {key}; this is not an admission model of this release")
        super().__init__(AdmissionFeatures(features, encodings, geometry, policy["history"]))
        self.threshold = float(calibration["threshold"])
        self._infer = infer

    def scores(self, features: F32) -> F64:
        """Log-odds float64[n] of the share of budgets at which a request's episode is worth its flash writes."""
        return np.asarray(self._infer(features), np.float64).reshape(len(features))

    def decide(self, features: F32) -> Bool:
        """bool[n]: admit what a read of the request misses."""
        return self.scores(features) >= self.threshold

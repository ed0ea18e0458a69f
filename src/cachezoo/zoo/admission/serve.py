"""The admission model as a cache serves it: raw requests in, decisions out; numpy is all it needs.

Built from the plain JSON values of `train.json` or a bundle's manifest and a function that scores rows, so
evaluation, calibration and a bundle's reader run the very same code.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, F64, Bool
from cachezoo.errors import ConfigError
from cachezoo.features.history import AdmissionFeatures
from cachezoo.kernels.write_budget import LAST, RATE, START, THRESHOLD, WRITTEN, Controller, fresh_state, missed
from cachezoo.serving.requests import RequestBatch, batch_of

if TYPE_CHECKING:
    from cachezoo.models.trained import FittedModel
    from cachezoo.traces.table import Trace

Infer = Callable[[F32], npt.NDArray[Any]]
AT_ONCE = 1 << 18  # requests whose inputs are held together where their scores alone are wanted
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


def score_batch(model: HistoryServing, batch: RequestBatch, infer: Infer) -> F64:
    """What `infer` says of each of the next requests, float64[n]; the inputs of all of them are never held together."""
    scores = np.empty(len(batch))
    for first in range(0, len(batch), AT_ONCE):
        part = batch.part(first, min(first + AT_ONCE, len(batch)))
        scores[first : first + len(part)] = infer(model.features(part)).reshape(len(part))
    return scores


def controller_of(calibration: Mapping[str, Any]) -> Controller | None:
    """How a model's threshold keeps a write rate; None of models of earlier releases.

    Raises:
        ConfigError: it is no controller.
    """
    if "controller" not in calibration:
        return None
    try:
        return Controller(**calibration["controller"])
    except TypeError as error:
        raise ConfigError(f"calibration.controller: {error}; export the bundle again") from error


class AdmissionServing(HistoryServing):
    """Features, scores and decisions of one admission model; the history carries on from call to call.

    Attributes:
        threshold: a read's miss is admitted where its score is at least this.
        controller: how the threshold keeps a write rate; None of bundles of earlier releases.
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
            calibration: `threshold`, in the unit of the scores; `controller`, as `Controller` takes it, where there is
                one.
            policy: `history`, as `AdmissionFeatures` takes it.
            infer: scores float[n] or float[n, 1] of rows float32[n, F]. The scores are log-odds.

        Raises:
            ConfigError: a key is missing or a formula is unknown.
        """
        for name, values, key in (("calibration", calibration, "threshold"), ("policy", policy, "history")):
            if key not in values:
                raise ConfigError(f"{name} holds no {key}; this is not an admission model of this release")
        super().__init__(AdmissionFeatures(features, encodings, geometry, policy["history"]))
        self.threshold = self._calibrated = float(calibration["threshold"])
        self.controller = controller_of(calibration)
        self._rules: F64 | None = None
        self._segment_bytes = int(geometry["segment_bytes"])
        self._infer = infer

    def keep_write_rate(self, bytes_s: float) -> None:
        """Let the threshold keep a write rate from here on, beginning with the one in force.

        Args:
            bytes_s: bytes of segments that may be written a second, of the requests' times; 0: the bundle's threshold
                again.

        Raises:
            ConfigError: the bundle has no controller, or the rate is below 0 or infinite.
        """
        if not 0 <= bytes_s < float("inf"):
            raise ConfigError(f"write rate {bytes_s}: bytes a second, from 0 on")
        if bytes_s == 0:
            self._rules, self.threshold = None, self._calibrated
            return
        if self.controller is None:
            raise ConfigError("this bundle keeps no write rate, as it is of an earlier release; export it again")
        if self._rules is None:
            self._state, self._mass = fresh_state(self.threshold), np.zeros(self.controller.bins)
        self._rules = self.controller.rules(*self.controller.per_us(bytes_s, self._segment_bytes))
        self._state[WRITTEN] = self._rules[RATE] * (self._state[LAST] - self._state[START])

    def wrote(self, time_us: int, score: float, missing: int, written: int) -> None:
        """Say what became of a read that missed; pass each, whether it was admitted or not.

        Without `keep_write_rate` nothing changes.

        Args:
            time_us: of the read.
            score: of the read.
            missing: segments that it missed.
            written: segments that were written for it, prefetched ones included.
        """
        if self._rules is not None:
            missed(self._rules, self._state, self._mass, time_us, score, missing, written)
            self.threshold = float(self._state[THRESHOLD])

    def scores(self, features: F32) -> F64:
        """Log-odds float64[n] of the share of budgets at which a request's episode is worth its flash writes."""
        return np.asarray(self._infer(features), np.float64).reshape(len(features))

    def decide(self, features: F32) -> Bool:
        """bool[n]: admit what a read of the request misses."""
        return self.scores(features) >= self.threshold

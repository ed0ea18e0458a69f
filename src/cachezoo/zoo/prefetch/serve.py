"""The prefetch model as a cache serves it: what a miss fetches beside what it missed; numpy is all it needs.

ML-Range predicts how far the episode of a read reaches before and after it, ML-When whether fetching that at once saves
disk-head time. Built from the plain JSON values of `train.json` or a bundle's manifest and a function that scores rows,
so evaluation (LightGBM), calibration and a bundle's reader run the very same code. Source: Baleen post,
"Training Baleen to predict what and when to prefetch".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, F64, I32, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.features.history import AdmissionFeatures
from cachezoo.flash_cache.modes import ALL, is_mode, is_plain, plain_prefetch
from cachezoo.kernels.flash import Prefetch
from cachezoo.kernels.segments import Geometry
from cachezoo.serving.ranges import LARGEST, number
from cachezoo.zoo.admission.serve import HistoryServing

Infer = Callable[[F32], npt.NDArray[Any]]
OUTPUTS = ("before", "after", "worth")
START, END = "block.start", "block.end"


class PrefetchServing(HistoryServing):
    """Features, ranges and decisions of one prefetch model; the history carries on from call to call.

    Its inputs are those of the category's admission model: a runtime that has both computes the rows once, by either.

    Attributes:
        mode: how it prefetches, see `cachezoo.flash_cache.modes`.
        threshold: of the admission model's scores, in place of its own: with it, admission and prefetch together meet
            the write budget.
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
            calibration: `worth`, the log-odds from which on a prefetch is worth it, and `threshold`.
            policy: `mode`, and `history` as `AdmissionFeatures` takes it.
            infer: float[n, 3] of rows float32[n, F]: segments before the request's first and after its last, and the
                log-odds that prefetching them is worth it.

        Raises:
            ConfigError: a key is missing, or a formula or mode is unknown.
        """
        for name, values, keys in (
            ("calibration", calibration, ("worth", "threshold")),
            ("policy", policy, ("history", "mode")),
        ):
            if missing := [key for key in keys if key not in values]:
                raise ConfigError(f"{name} holds no {missing[0]}; this is not a prefetch model of this release")
        formulas = [feature["formula"] for feature in features]
        missing = [formula for formula in (START, END) if formula not in formulas]
        if missing:
            raise ConfigError(f"features hold no {missing[0]}, which a range is counted from; train the model again")
        super().__init__(AdmissionFeatures(features, encodings, geometry, policy["history"]))
        self.mode = self._known(policy["mode"])
        self.threshold, self._worth = (
            number(calibration[name], f"calibration.{name}", -LARGEST, LARGEST) for name in ("threshold", "worth")
        )
        self._first, self._last = formulas.index(START), formulas.index(END)
        self._per_block = Geometry(geometry["block_bytes"], geometry["segment_bytes"]).per_block
        self._infer = infer

    @staticmethod
    def _known(mode: object) -> str:
        if isinstance(mode, str) and is_mode(mode):
            return mode
        raise ConfigError(f"prefetch mode {mode} is unknown to this release; known are {ALL}")

    def outputs(self, features: F32) -> F64:
        """float64[n, 3]: segments before, segments after, log-odds; as the forests give them, not yet rounded."""
        return np.asarray(self._infer(features), np.float64).reshape(len(features), len(OUTPUTS))

    def ranges(self, features: F32) -> tuple[I32, I32]:
        """The predicted range of each request: first segment within its block, and one past the last.

        Whole segments within the block; what the request itself touches of the block always lies in it.

        Returns:
            low int32[n], high int32[n].
        """
        return self._ranges(features, self.outputs(features))

    def _ranges(self, features: F32, outputs: F64) -> tuple[I32, I32]:
        return predicted_range(features[:, self._first], features[:, self._last], outputs, self._per_block)

    def worth(self, features: F32) -> F64:
        """float64[n]: log-odds that prefetching the predicted range saves disk-head time."""
        worth: F64 = self.outputs(features)[:, OUTPUTS.index("worth")]
        return worth

    def prefetch(self, features: F32, mode: str | None = None) -> Prefetch:
        """What the cache fetches beside what a read misses, where that is admitted; n requests.

        In the modes that ask the model a request gets its whole range, or nothing where that holds itself alone.
        """
        mode = self.mode if mode is None else self._known(mode)
        if is_plain(mode):
            return plain_prefetch(mode, features[:, self._last], self._per_block)
        outputs = self.outputs(features)
        low, high = self._ranges(features, outputs)
        own = np.minimum(features[:, self._last] + 1, self._per_block) - features[:, self._first]
        fetches = (high - low > own) & self._worthwhile(outputs, mode)
        return Prefetch(np.where(fetches, low, 0).astype(np.int32), np.where(fetches, high, 0).astype(np.int32))

    def _worthwhile(self, outputs: F64, mode: str) -> Bool:
        if mode == "ml_range":
            return np.ones(len(outputs), np.bool_)
        wanted: Bool = outputs[:, OUTPUTS.index("worth")] >= self._worth
        return wanted


def predicted_range(first: F32 | I64, last: F32 | I64, outputs: F64, per_block: int) -> tuple[I32, I32]:
    """Round ML-Range's reaches to segments (halves to even), contain the request, clip to the block.

    Args:
        first: [n] the request's first segment, counted from its block's start.
        last: [n] its last segment, from the same block's start.
        outputs: float64[n, 2 or more] segments before and after.
        per_block: segments to a block.

    Returns:
        low int32[n], high int32[n] (one past the last).
    """
    reach = np.clip(np.rint(outputs[:, :2]), 0, per_block)
    low = np.maximum(first - reach[:, 0], 0)
    high = np.minimum(last + 1 + reach[:, 1], per_block)
    return low.astype(np.int32), high.astype(np.int32)

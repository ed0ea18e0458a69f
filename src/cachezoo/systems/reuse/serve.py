"""The cache as a runtime serves it: raw requests in, what was resident out.

Built from the plain JSON values of `train.json` or a bundle's manifest and a function that scores rows, so evaluation
(LightGBM) and a bundle's reader (onnxruntime) run the very same code; numpy is all it needs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.features.reuse import asked_of, input_rows
from cachezoo.kernels.reuse.past import NAMES
from cachezoo.policies.following import Followed
from cachezoo.policies.stream import Stream, build_stream
from cachezoo.serving.requests import RequestBatch
from cachezoo.systems.reuse.cache import classes_of, follow_forest, shadow_bits
from cachezoo.systems.reuse.plan import plan_of
from cachezoo.traces.pages import PageAccesses

F32 = npt.NDArray[np.float32]
Infer = Callable[[F32], npt.NDArray[Any]]
SCORED_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Served:
    """What happened.

    Attributes:
        stream: what was asked.
        followed: what the cache did, and whom it followed: 0 the forest's cache, k the k-th of `policy.experts`.
        features: float32[m, F] model inputs of each page access.
        scores: float32[m].
    """

    stream: Stream
    followed: Followed
    features: F32
    scores: F32


class ReuseServing:
    """The whole cache of one model: experts, tables, and the follower."""

    def __init__(
        self, *, features: Sequence[Mapping[str, Any]], policy: Mapping[str, Any], calibration: Mapping[str, Any],
        infer: Infer,
    ) -> None:  # fmt: skip
        """Build from `TrainedModel.model_dump()`'s values.

        Args:
            features: inputs in order.
            policy: `shadows`, `experts`, `candidates`, `seed`.
            calibration: `quantiles`, `events`, `risks`.
            infer: scores float[m] or float[m, 1] of rows float32[m, F].

        Raises:
            ConfigError: the inputs are not those of this release, or the tables do not fit together.
        """
        formulas = tuple(str(feature["formula"]) for feature in features)
        if formulas != NAMES:
            unknown = sorted(set(formulas) - set(NAMES)) or ["none unknown, but their order or number differs"]
            message = f"features: {', '.join(unknown)}; this release computes {', '.join(NAMES)}"
            raise ConfigError(message)
        self.plan = plan_of(policy, calibration)
        self._infer = infer

    def scores(self, rows: F32) -> F32:
        """float32[m]: expected log2 of the accesses to the next use, over the capacity."""
        parts = [rows[low : low + SCORED_AT_ONCE] for low in range(0, len(rows), SCORED_AT_ONCE)]
        found = [np.asarray(self._infer(part), np.float32).reshape(len(part)) for part in parts]
        return np.concatenate(found) if found else np.zeros(0, np.float32)

    def run(self, batch: RequestBatch, pages: PageAccesses, capacity: int) -> Served:
        """Serve requests from an empty cache.

        Args:
            batch: requests, from the first on.
            pages: their page accesses, such as `batch.pages()`.
            capacity: pages.

        Raises:
            ConfigError: capacity below 1.
        """
        rows = input_rows(asked_of(batch, pages), capacity)
        stream = build_stream(batch, pages)
        scores = self.scores(rows)
        bits = shadow_bits(stream, capacity, self.plan.shadows)
        classes = classes_of(scores, self.plan.quantiles, bits, len(self.plan.shadows))
        return Served(stream, follow_forest(stream, capacity, classes, self.plan), rows, scores)

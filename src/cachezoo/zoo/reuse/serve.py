"""The cache as a runtime serves it: raw requests in, what was resident out.

Built from the plain JSON values of `train.json` or a bundle's manifest and a function that scores rows, so evaluation
and a bundle's reader run the very same code; numpy is all it needs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32
from cachezoo.errors import ConfigError
from cachezoo.features.reuse import asked_of
from cachezoo.kernels.reuse.past import NAMES
from cachezoo.policies.following import Followed
from cachezoo.policies.stream import build_stream
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.pages import PageAccesses
from cachezoo.zoo.reuse.cache import Seen, look, plan_of

Infer = Callable[[F32], npt.NDArray[Any]]
KEYS = {"features", "policy", "calibration"}  # of a manifest, for a serving object
SCORED_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Served:
    """What happened."""

    seen: Seen  # what was asked, and the model inputs of each page access
    followed: Followed  # what the cache did, and whom it followed: 0 the forest's cache, k the k-th of `policy.experts`
    scores: F32  # float32[m] of the model, before the trace's own forest corrects them


class ReuseServing:
    """The whole cache of one model: experts, tables, and the follower."""

    def __init__(
        self, *, features: Sequence[Mapping[str, Any]], policy: Mapping[str, Any], calibration: Mapping[str, Any],
        infer: Infer,
    ) -> None:  # fmt: skip
        """Build from `TrainedModel.model_dump()`'s values.

        Args:
            features: inputs in order.
            policy: `shadows`, `experts`, `candidates`, `own_trees`, `own_rows`, `seed`, and the follower's values.
            calibration: `quantiles`, `events`, `risks`.
            infer: scores float[m] or float[m, 1] of rows float32[m, F].

        Raises:
            ConfigError: the inputs are not those of this release, or the tables do not fit together.
        """
        formulas = tuple(str(feature["formula"]) for feature in features)
        if formulas != NAMES:
            unknown = sorted(set(formulas) - set(NAMES)) or ["none unknown, but their order or number differs"]
            raise ConfigError(f"features: {', '.join(unknown)}; this release computes {', '.join(NAMES)}")
        self.plan = plan_of(policy, calibration)
        self.policy = policy
        self._infer = infer

    def scores(self, rows: F32) -> F32:
        """float32[m]: expected log2 of the accesses to the next use, over the capacity."""
        parts = [rows[low : low + SCORED_AT_ONCE] for low in range(0, len(rows), SCORED_AT_ONCE)]
        found = [np.asarray(self._infer(part), np.float32).reshape(len(part)) for part in parts]
        return np.concatenate(found) if found else np.zeros(0, np.float32)

    def run(self, batch: RequestBatch, pages: PageAccesses, capacity: int) -> Served:
        """Serve requests from an empty cache.

        Raises:
            ConfigError: capacity below 1.
        """
        stream = build_stream(batch, pages)
        seen = look(asked_of(batch, pages), pages, stream, capacity, self.policy)
        scores = self.scores(seen.inputs)
        return Served(seen, seen.serve(scores, self.plan), scores)

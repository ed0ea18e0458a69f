"""The trained cache as fit_reuse and judge_reuse left it, and what its forests do on a page trace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cachezoo import paths
from cachezoo.models.forest import forest_scorer, read_forest_text
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.policies.following import Followed
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.cache import plan_of
from cachezoo.zoo.reuse.fit import Learned, forest_file
from cachezoo.zoo.reuse.judge import base_policy, calibration_of
from cachezoo.zoo.reuse.prepared import Prepared


@dataclass(frozen=True)
class Trained:
    """What its forests share with those fitted on a user's rows too: the policy, and the weight of the counts."""

    policy: dict[str, Any]
    weight: float

    @classmethod
    def read(cls, arch: str) -> "Trained":
        """Read what fit_reuse and judge_reuse wrote.

        Raises:
            TrainingError: it is missing or damaged.
        """
        name = fit.model_id(arch)
        weight = read_trained(paths.trained(name), "reuse").calibration["weight"]
        return cls(base_policy(read_fitted(paths.fitted(name), "reuse")), float(weight))

    def forests(self, arch: str) -> list[Learned]:
        """Every seed's forest as fit_reuse wrote it.

        Raises:
            TrainingError: one is missing or damaged.
        """
        name = fit.model_id(arch)
        model = read_fitted(paths.fitted(name), "reuse")
        return [
            Learned(
                read_forest_text(paths.fitted(name) / forest_file(seed)),
                plan_of(self.policy, calibration_of(model, seed, self.weight)),
            )
            for seed in range(len(model.learned["seeds"]))
        ]


def serve_all(part: Prepared, capacity: int, forests: Sequence[Learned], policy: dict[str, Any]) -> list[Followed]:
    """What each forest's cache does on the whole trace, all with the same inputs."""
    seen = part.look(capacity, policy)
    return [seen.serve(forest_scorer(text)(seen.inputs), plan) for text, plan in forests]

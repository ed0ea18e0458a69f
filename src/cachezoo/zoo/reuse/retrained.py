"""Fits the forest on part of a user's own trace as well, and runs the result.

Rows of that part, labelled from it alone as if nothing else had been recorded, join those of the train traces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cachezoo import paths
from cachezoo.arrays import U8
from cachezoo.models.forest import forest_scorer, read_forest_text
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.cache import plan_of
from cachezoo.zoo.reuse.fit import Learned, forest_file
from cachezoo.zoo.reuse.judge import base_policy, calibration_of
from cachezoo.zoo.reuse.prepared import Prepared


@dataclass(frozen=True)
class Trained:
    """What the trained model and the retrained ones share: the policy, and the weight of the counts."""

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


def rows_of_part(part: Prepared, first: int, end: int, settings: fit.Settings, seed: int) -> fit.Rows:
    """Rows of some requests of a trace, [first, end), at the capacities of the whole trace.

    At most `fit.reuse.rows` at each capacity; none where no target is settled.
    """
    requests = part.trace.rows(first, end)
    recorded = Prepared(part.key, part.path, requests, expand_pages(requests))
    return fit.joined(
        fit.trace_rows(
            recorded, capacity_pages(fraction, part.pages.n_pages), settings.fit.rows, settings,
            derive_seed(seed, part.key, str(fraction)),
        )
        for fraction in settings.fit.capacities
    )  # fmt: skip


def outcomes(part: Prepared, capacity: int, forests: Sequence[Learned], policy: dict[str, Any]) -> list[U8]:
    """uint8[m] of each forest's cache: what became of every page access of the whole trace."""
    seen = part.look(capacity, policy)
    return [seen.serve(forest_scorer(text)(seen.inputs), plan).run.outcome for text, plan in forests]

"""Forests: their shape, and how they are fitted and judged."""

from typing import Literal

from pydantic import Field

from cachezoo.settings.base import Strict


class ForestShape(Strict):
    """LightGBM's forest. Names follow LightGBM's parameters."""

    arch: Literal["lgbm"]
    num_leaves: int = Field(ge=2)
    max_trees: int = Field(ge=1)
    learning_rate: float = Field(gt=0, le=1)
    feature_fraction: float = Field(gt=0, le=1)
    bagging_fraction: float = Field(gt=0, le=1)
    bagging_freq: int = Field(ge=0)
    min_data_in_leaf: int = Field(ge=1)
    lambda_l2: float = Field(ge=0)


class ForestFit(Strict):
    """What fitting any forest takes.

    Attributes:
        holdout_every: one block in this many is held out for early stopping.
        early_stopping: rounds without a better held-out loss.
        threads: LightGBM's threads, a fixed number because results depend on it.
    """

    holdout_every: int = Field(ge=2)
    early_stopping: int = Field(ge=1)
    threads: int = Field(ge=1)


class ForestJudge(Strict):
    """What judging a forest takes.

    Attributes:
        curve_points: points of the threshold to write-rate curve.
    """

    curve_points: int = Field(ge=2)

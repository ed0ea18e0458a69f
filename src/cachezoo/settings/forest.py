"""Forests: their shape, and how they are fitted and judged."""

from typing import Literal

from pydantic import Field

from cachezoo.settings.base import Gain, Machines, Part, Rounds, Strict, Threads


class ForestShape(Strict):
    """LightGBM's forest. Names follow LightGBM's parameters."""

    arch: Literal["lgbm"]
    num_leaves: int = Field(ge=2, le=131_072)  # LightGBM takes no more
    max_trees: Rounds
    learning_rate: Part
    feature_fraction: Part
    bagging_fraction: Part
    bagging_freq: int = Field(ge=0, le=1_000_000)
    min_data_in_leaf: int = Field(ge=1, lt=1 << 31)
    lambda_l2: float = Field(ge=0, le=1e9)


class ForestFit(Strict):
    """What fitting any forest takes."""

    holdout_every: int = Field(ge=2, le=1_000_000)  # one block in this many is held out for early stopping
    early_stopping: Rounds  # rounds without a better held-out loss
    threads: Threads  # LightGBM's threads, a fixed number because results depend on it
    machines: Machines  # of a Dask cluster that train one forest; results depend on their number


class ForestJudge(Strict):
    """What judging a forest takes."""

    curve_points: int = Field(ge=2, le=1_000_000)  # points of the threshold to write-rate curve
    least_gain: Gain  # share of the rival's disk-head time that has to be saved

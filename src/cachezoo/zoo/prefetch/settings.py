"""Sections `model.prefetch`, `fit.prefetch` and `judge.prefetch`."""

from pydantic import Field

from cachezoo.settings.base import Count
from cachezoo.settings.forest import ForestFit, ForestJudge, ForestShape


class Model(ForestShape):
    """`model.prefetch`: the shape of ML-Range's two forests and of ML-When's."""


class Fit(ForestFit):
    """`fit.prefetch`: rows and out-of-fold ranges."""

    # Blocks are cut into this many folds; ML-When learns from ranges that were predicted without the block's own fold.
    folds: int = Field(ge=2, le=1000)
    # Of how far episodes reach, which ML-Range predicts; a half is the median. More covers more, for more flash writes.
    quantile: float = Field(gt=0, lt=1)
    epsilon_s: float = Field(ge=0, le=1e9)  # disk-head seconds that an episode's prefetch must save to be worth it
    min_episodes: Count  # admitted, settled episodes below which nothing is trained


class Judge(ForestJudge):
    """`judge.prefetch`."""

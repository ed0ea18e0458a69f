"""Forecasts of what each fragment of cache will hit, learned and not learned; for `share_forecast.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import numpy.typing as npt
from share_windows import FRAGMENTS, Mix, decayed

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
EDGES = np.unique(np.concatenate([np.arange(9), np.geomspace(8, FRAGMENTS, 36).round()])).astype(np.int64)
"""Bands of fragments: where each begins, and the end."""
WIDTHS = np.diff(EDGES)
HALF_LIVES = (1_000, 4_000, 16_000, 64_000)
"""Of the decayed means that the forest sees, in references of an application."""
ROWS = 150_000
STAYS = (np.inf, 3e5, 1e5)
"""See `Way.stay`."""
FEW = 1e-4
"""Hits a reference below which logarithms do not tell one from another."""


@dataclass(frozen=True)
class Recipe:
    """How a forest learns.

    Attributes:
        window: references of an application, on average, after which the cache is split anew.
        ahead: references that are forecast.
        base: what the forest corrects: the `decayed` mean, or `rate x shape`.
        objective: `poisson` corrects by a factor, `l2` by a difference.
        leaves: of each tree.
        trees: how many.
    """

    window: int
    ahead: int
    base: str
    objective: str
    leaves: int
    trees: int


RECIPES = [
    Recipe(2000, ahead, base, objective, leaves, trees)
    for ahead in (2000, 8000, 32000)
    for base in ("decayed", "rate x shape")
    for objective, leaves, trees in (("poisson", 4, 50), ("l2", 7, 100))
]


def banded(hits: F64) -> F64:
    """float64[k, A, bands] of float64[k, A, FRAGMENTS]."""
    return np.add.reduceat(hits, EDGES[:-1], axis=2)


def ahead_of(hits: F64, windows: int) -> F64:
    """Mean of each window and those after it, so many or what there is."""
    total = np.concatenate([np.zeros((1, *hits.shape[1:])), np.cumsum(hits, axis=0)])
    first = np.arange(len(hits))
    last = np.minimum(first + windows, len(hits))
    return (total[last] - total[first]) / (last - first).reshape(-1, *[1] * (hits.ndim - 1))


def beside(values: F64, by: int) -> F64:
    """Of the band so many farther from the head; 0 beyond the ends."""
    found = np.zeros_like(values)
    if by > 0:
        found[..., :-by] = values[..., by:]
    else:
        found[..., -by:] = values[..., :by]
    return found


class Seen:
    """What a forest sees of a mix, before each window.

    Attributes:
        hits: float64[k, A, bands] of each window, for each reference of an application on average.
        base: of each kind, what forests correct: float64[k, A, bands].
        inputs: float32[k, A, bands, n].
    """

    def __init__(self, mix: Mix, window: int) -> None:
        """Count."""
        hits, references = mix.windows(window)
        self.hits, rate = banded(hits) / window, references / window
        missed = rate - self.hits.sum(2)
        middle = (self.hits * np.log1p(EDGES[:-1])).sum(2) / np.maximum(self.hits.sum(2), FEW)
        means = [self._all(life, window, self.hits, rate, missed, middle) for life in HALF_LIVES]
        last = [np.concatenate([np.zeros_like(self.hits[:lag]), self.hits[:-lag]])[: len(hits)] for lag in (1, 2, 3)]
        own = [mean[0] for mean in means]
        steady, often = decayed(self.hits, 1.0), np.maximum(decayed(rate, 1.0), FEW)[..., None]
        shapes = [mean[0] / np.maximum(mean[1], FEW)[..., None] for mean in means]
        self.base = {"decayed": own[2], "rate x shape": steady / often * means[1][1][..., None]}
        wide = [*own, steady, self.base["rate x shape"], *last]
        wide += [np.log((one + FEW) / (steady / often + FEW)) for one in shapes]
        wide += [beside(one / WIDTHS, by) for one in (last[0], own[1], own[2]) for by in (-2, -1, 1, 2)]
        wide += [np.log((one + FEW) / (own[2] + FEW)) for one in (last[0], own[0], own[1], own[3])]
        wide += [np.cumsum(own[2], axis=2)]
        narrow = [value for mean in means for value in mean[1:]]
        narrow += [np.log((mean[1] + FEW) / (means[2][1] + FEW)) for mean in (means[0], means[1], means[3])]
        narrow += [np.broadcast_to(np.arange(len(hits))[:, None] * window, rate.shape)]
        places = [np.broadcast_to(one, self.hits.shape) for one in (EDGES[:-1], WIDTHS)]
        self.inputs: F32 = np.stack(
            [*wide, *places, *(np.broadcast_to(one[..., None], self.hits.shape) for one in narrow)],
            axis=3,
            dtype=np.float32,
        )

    @staticmethod
    def _all(life: int, window: int, *values: F64) -> list[F64]:
        return [decayed(one, 0.5 ** (window / life)) for one in values]


class Forest:
    """A forecast that has learned."""

    def __init__(self, recipe: Recipe, seen: Sequence[Seen], seed: int) -> None:
        """Learn from mixes.

        Args:
            recipe: how.
            seen: the mixes, in the recipe's windows.
            seed: of the rows and of LightGBM.
        """
        self.recipe = recipe
        rng = np.random.default_rng(seed)
        inputs, base, target = [], [], []
        for one in seen:
            true = ahead_of(one.hits, recipe.ahead // recipe.window)
            rows = rng.integers(true.size, size=ROWS // len(seen))
            inputs.append(one.inputs.reshape(true.size, -1)[rows])
            base.append(one.base[recipe.base].reshape(-1)[rows])
            target.append(true.reshape(-1)[rows])
        start, label = self._of(np.concatenate(base)), np.concatenate(target) * recipe.window
        settings: dict[str, Any] = {
            "objective": recipe.objective, "num_leaves": recipe.leaves, "learning_rate": 0.05, "min_data_in_leaf": 500,
            "feature_fraction": 0.7, "bagging_fraction": 0.7, "bagging_freq": 1, "boost_from_average": False,
            "num_threads": 1, "seed": seed, "deterministic": True, "force_row_wise": True, "verbosity": -1,
        }  # fmt: skip
        data = lgb.Dataset(np.concatenate(inputs), label, init_score=start)
        self._trees = lgb.train(settings, data, recipe.trees)

    def _of(self, base: F64) -> F64:
        """What the trees begin from, in their own measure."""
        scaled = base * self.recipe.window
        return np.log(scaled + FEW * self.recipe.window) if self.recipe.objective == "poisson" else scaled

    def __call__(self, seen: Seen) -> F64:
        """float64[k, A, bands] hits of each window; none for the first."""
        base = seen.base[self.recipe.base]
        rows = seen.inputs.reshape(base.size, -1)
        found = self._of(base).reshape(-1) + np.asarray(self._trees.predict(rows, raw_score=True, num_threads=1))
        found = np.exp(found) if self.recipe.objective == "poisson" else np.maximum(found, 0)
        hits: F64 = found.reshape(base.shape)
        hits[0] = 0
        return hits


def spread(bands: F64, hits: F64, window: int) -> F64:
    """Hits of bands over their fragments, as they lay before: float64[k, A, FRAGMENTS]."""
    shape = decayed(hits, 0.5 ** (window / HALF_LIVES[2])) + FEW
    total = np.add.reduceat(shape, EDGES[:-1], axis=2)
    return shape * np.repeat(bands / total, WIDTHS, axis=2)


@dataclass(frozen=True)
class Way:
    """A way of forecasting that is not learned.

    Attributes:
        kind: `last`, `decayed`, `ucp`, `rate x shape`, `future`, `static` or `equal`.
        window: references of an application, on average, of a window.
        decay: of the histograms, a window.
        fast: of the references, for `rate x shape`.
        ahead: references, for `future`.
        stay: references that a split is taken to hold for: what an application gains must pay for the pages that it
            reads anew in that time; infinite where it need not.
    """

    kind: str
    window: int
    decay: float = 0.0
    fast: float = 0.0
    ahead: int = 0
    stay: float = np.inf

    def __call__(self, hits: F64, references: F64) -> F64:
        """The forecast: float64[k, A, n] of windows' hits; none of `equal`, one for all of `static`."""
        if self.kind == "equal":
            return np.zeros_like(hits[:1])
        if self.kind == "static":
            return hits.sum(0, keepdims=True)
        if self.kind == "future":
            return ahead_of(hits, self.ahead // self.window)
        found = decayed(hits, self.decay)
        if self.kind == "rate x shape":
            slow = np.maximum(decayed(references, self.decay), FEW)
            found = found * (decayed(references, self.fast) / slow)[..., None]
        return found


WINDOWS = (1000, 4000)
WAYS: dict[str, list[Way]] = {
    "equal": [Way("equal", 1000)],
    "static": [Way("static", 1000)],
    "last": [Way("last", w, stay=stay) for w in (1000, 2000, 4000, 8000, 16000) for stay in STAYS],
    "decayed": [
        Way("decayed", w, decay, stay=stay)
        for w in WINDOWS for decay in (0.5, 0.8, 0.9, 0.95, 0.98, 0.99) for stay in STAYS
    ],
    "ucp": [Way("ucp", window, 0.5) for window in (1000, 2000, 4000, 8000, 16000)],
    "rate x shape": [
        Way("rate x shape", w, decay, fast, stay=stay)
        for w in WINDOWS for decay in (0.98, 1.0) for fast in (0.5, 0.8, 0.9) for stay in STAYS[:2]
    ],
    "future": [Way("future", 2000, ahead=ahead, stay=stay) for ahead in (2000, 8000, 32000) for stay in STAYS],
}  # fmt: skip
RIVALS = ("last", "decayed", "ucp")

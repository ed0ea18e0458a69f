"""What limits the next-use forest's cache: what it would close of the gap if it knew more of the next use.

The cache is that of `reuse.follow` without a follower, its counts learned as the trace goes from nothing, on the four
validation traces at home. Scores are the target itself (log2 of the next use over C, one value beyond 4 C), with noise
of so many octaves, or with less of it: only whether the next use lies within C, within 4 C, or comes at all. Beside
them the five forests as trained. Gap from the best of the classics with their defaults, in hindsight, to the optimum.
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from rich.table import Table

from cachezoo import paths
from cachezoo.arrays import F32
from cachezoo.config.load import load_params
from cachezoo.console import out, progress
from cachezoo.contest.counting import first_access
from cachezoo.contest.gap import gap
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.reuse.hazards import BINS
from cachezoo.labels.reuse import HORIZON, NextUse, next_use
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.policies.engine import simulate
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.reuse import fit, judge
from cachezoo.zoo.reuse.cache import Plan, classes_of, forest_cache, plan_of
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.reuse.settings import Model

NOISE = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)  # octaves


def known(label: NextUse, capacity: int, seed: int) -> Iterator[tuple[str, F32]]:
    """Names and scores float32[m] of what could be known."""
    rng = np.random.default_rng(seed)
    for octaves in NOISE:
        noisy = label.target + octaves * rng.standard_normal(len(label.target)).astype(np.float32)
        yield (f"the next use, ± {octaves:g} octaves" if octaves else "the next use"), noisy
    for name, horizon in (("within C", capacity), (f"within {HORIZON} C", HORIZON * capacity), ("ever again", None)):
        used = (label.distance > 0) & (horizon is None or label.distance <= horizon)
        yield f"{name}, or not", np.where(used, 0, 1).astype(np.float32)


def hits(part: Prepared, capacity: int, classes: npt.NDArray[np.uint8], plan: Plan, warmup: int) -> float:
    """Page hit ratio of the forest's cache after the warm-up."""
    run = simulate(forest_cache(classes, plan), part.stream, capacity)
    return float((run.outcome[warmup:] == HIT).mean())


def of_trace(
    part: Prepared, fraction: float, model: Model, forests: Callable[[Prepared, int, int], float]
) -> dict[str, float]:  # fmt: skip
    """Share of the gap that each kind of knowledge closes on a trace."""
    capacity = capacity_pages(fraction, part.pages.n_pages)
    warmup, simulator = first_access(part.pages), Simulator(part.trace, part.pages)
    best = max(simulator.run(name, capacity, warmup).hit_ratio for name in classics())
    optimum = simulator.run(OPTIMUM, capacity, warmup).hit_ratio
    found, seed = {}, derive_seed(0, "limits", part.key)
    for name, scores in known(next_use(part.pages, capacity), capacity, seed):
        cuts = np.unique(np.quantile(scores, np.arange(1, model.quantiles) / model.quantiles).astype(np.float32))
        empty = np.zeros((len(cuts) + 1, BINS))
        plan = Plan(cuts, [], empty, empty, model.candidates, [], {}, seed & 0x7FFFFFFF)
        classes = classes_of(scores, cuts, np.zeros(len(scores), np.uint8), 0)
        found[name] = hits(part, capacity, classes, plan, warmup)
    found["the five forests, mean"] = forests(part, capacity, warmup)
    return {name: gap(ratio, best, optimum)[0] or 0.0 for name, ratio in found.items()}


def main() -> None:
    """Print a row for each kind of knowledge."""
    params = load_params()
    folder = paths.fitted(fit.model_id(params.model.reuse.arch))
    fitted = read_fitted(folder, "reuse")
    scorers, policy = judge.scorers_of(folder, fitted), judge.base_policy(fitted)
    weight = float(read_trained(paths.trained(fitted.model_id), "reuse").calibration["weight"])

    def forests(part: Prepared, capacity: int, warmup: int) -> float:
        seen, ratios = part.look(capacity, policy), []
        for k, score in enumerate(scorers):
            plan = plan_of(policy, judge.calibration_of(fitted, k, weight))
            ratios.append(hits(part, capacity, seen.classes(score(seen.inputs), plan), plan, warmup))
        return float(np.mean(ratios))

    own = places(params.data.page_categories, params.data.roles, {}, "validation")
    table, found = Table("known", *own, title="gap closed, %"), {}
    with progress("traces", len(own)) as advance:
        for done, (key, path) in enumerate(own.items()):
            found[key] = of_trace(Prepared.read(key, path), params.judge.reuse.capacity, params.model.reuse, forests)
            advance(done + 1)
    for name in next(iter(found.values())):
        table.add_row(name, *(f"{100 * shares[name]:.0f}" for shares in found.values()))
    out().print(table)


if __name__ == "__main__":
    main()

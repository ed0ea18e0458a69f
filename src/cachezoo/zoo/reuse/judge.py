"""Judges the forest's cache with its follower: is it better than the best classic of each validation trace?

Every seed's forest is run at every candidate weight of the training traces' counts. The counted accesses of each trace
are cut into time blocks by turns: every other one chooses the weight and which seed's forest is kept, the verdict is
spoken on the rest. The rival is, trace by trace, the way to run a classic that hits most in the choosing blocks: it is
chosen as freely. The model is promoted where the 90 % interval of its lead over seeds and blocks, the mean of the
traces, lies above 0, the lead is worth having, and on no trace its mean falls below the rival by more than 0.01 and one
reload of the cache.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64, U8
from cachezoo.contest.blocks import BLOCKS, block_means, halves
from cachezoo.contest.counting import first_access
from cachezoo.contest.lead import over_trainings
from cachezoo.io import sha256_file
from cachezoo.jobs import spread
from cachezoo.kernels.outcome import HIT
from cachezoo.models.forest import Scorer, read_forest, write_judged_forests
from cachezoo.models.trained import FittedModel, TrainedModel, Verdict, read_fitted, trace_uses
from cachezoo.params import At, Picked
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import ClassicsPolicy
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.reuse.cache import counts_and_cuts, plan_of, policy_of
from cachezoo.zoo.reuse.fit import CONTEXT, forest_file, model_id
from cachezoo.zoo.reuse.model import MODEL_FILE
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.reuse.settings import Judge

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

FEWEST_SEEDS = 5
FLOOR = 0.01  # of page hit ratio, below the best classic in hindsight, besides one reload of the cache
NEAR = 0.005  # of page hit ratio, below the classic that one would have chosen


def allowed(capacity: int, counted: int) -> float:
    """Page hit ratio below the best classic that is above the floor still: `FLOOR` and one reload of the cache."""
    return FLOOR + capacity / counted


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    judge: Annotated[Judge, At("judge.reuse")]
    classics: Annotated[ClassicsPolicy, At("policy.classics")]
    arch: Annotated[str, At("model.reuse.arch")]
    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]


@dataclass(frozen=True)
class Scored:
    """One validation trace."""

    key: str  # of the trace
    allowed: float  # page hit ratio below the rival that is above the floor still
    own: list[list[U8]]  # hits uint8[m] after warm-up by weight and seed
    classics: dict[str, U8]  # those of every way to run a classic, by its text
    optimum: U8  # those of the optimum

    @property
    def rival(self) -> str:
        """The classic that hits most in the blocks that choose: what would be run without a model."""
        return self._most(0)

    @property
    def best(self) -> str:
        """The classic that hits most in the blocks that judge, in hindsight."""
        return self._most(1)

    def _most(self, half: int) -> str:
        return max(sorted(self.classics), key=lambda name: halves(self.classics[name])[half].mean())


def calibration_of(model: FittedModel, seed: int, weight: float) -> dict[str, Any]:
    """The values of one seed's forest at one weight."""
    return {**counts_and_cuts(model.learned["seeds"][seed], weight), "weight": weight, "forest": seed}


def base_policy(model: FittedModel) -> dict[str, Any]:
    """How a runtime uses the scores."""
    return {
        "type": "follow",
        **policy_of(model.arch, model.seeds[f"{CONTEXT}.0"]),
        "decide": "the cache that leads is followed: the forest's, which keeps the pages worth most for their time, or "
        "one of the experts; docs/page-cache.md",
    }


def judge_trace(part: Prepared, model: FittedModel, scorers: Sequence[Scorer], settings: Settings) -> Scored:
    """Run all candidates and rivals on one trace."""
    capacity = capacity_pages(settings.judge.capacity, part.pages.n_pages)
    warmup = first_access(part.pages)
    policies = base_policy(model)
    seen = part.look(capacity, policies)
    own: list[list[U8]] = [[] for _ in settings.judge.weights]
    for seed, scorer in enumerate(scorers):
        scores = scorer(seen.inputs)
        for k, weight in enumerate(settings.judge.weights):
            followed = seen.serve(scores, plan_of(policies, calibration_of(model, seed, weight)))
            own[k].append((followed.run.outcome[warmup:] == HIT).astype(np.uint8))
    simulator, names = Simulator(part.trace, part.pages), [*classics(), *tuned_classics(settings.classics), OPTIMUM]
    rivals = {
        name: (simulator.run(name, capacity, 0).outcome[warmup:] == HIT).astype(np.uint8) for name in names
    }  # fmt: skip
    optimum = rivals.pop(OPTIMUM)
    return Scored(part.key, allowed(capacity, len(optimum)), own, rivals, optimum)


def _mean(hits: Sequence[U8], half: int) -> float:
    return float(np.mean([halves(one)[half].mean() for one in hits]))


def choose(traces: Sequence[Scored], options: Judge) -> tuple[int, int]:
    """The weight, and the seed whose forest is kept, by their mean over the traces on the choosing blocks."""
    by_weight = [np.mean([_mean(trace.own[k], 0) for trace in traces]) for k in range(len(options.weights))]
    weight = int(np.argmax(by_weight))
    seeds = len(traces[0].own[weight])
    by_seed = [np.mean([_mean([trace.own[weight][s]], 0) for trace in traces]) for s in range(seeds)]
    return weight, int(np.argmax(by_seed))


def _judging(hits: U8) -> F64:
    """float64[BLOCKS]: hit ratios of the judging blocks."""
    return block_means(halves(hits)[1], BLOCKS)


def figures_of(traces: Sequence[Scored], weight: int) -> dict[str, float | None]:
    """Figures on the judging blocks: means over the traces, but for the lowest difference of one."""
    trainings = range(len(traces[0].own[weight]))
    lead = over_trainings(
        [[_judging(trace.own[weight][seed]) for trace in traces] for seed in trainings],
        [_judging(trace.classics[trace.rival]) for trace in traces],
    )
    mine = [_mean(trace.own[weight], 1) for trace in traces]
    rival = [_mean([trace.classics[trace.rival]], 1) for trace in traces]
    best = [_mean([trace.classics[trace.best]], 1) for trace in traces]
    by_seed = [np.mean([_mean([trace.own[weight][s]], 1) for trace in traces]) for s in trainings]
    below = [trace.allowed for trace in traces]
    return {
        "hit_ratio": float(np.mean(mine)),
        "choosing_hit_ratio": float(np.mean([_mean(trace.own[weight], 0) for trace in traces])),
        "hit_ratio_sd": float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None,
        "seeds": float(len(by_seed)),
        "best_classic_hit_ratio": float(np.mean(best)),
        "chosen_classic_hit_ratio": float(np.mean(rival)),
        "optimum_hit_ratio": float(np.mean([_mean([trace.optimum], 1) for trace in traces])),
        "difference_low": lead.low,
        "difference_high": lead.high,
        "lowest_difference": float(np.min(np.array(mine) - rival)),
        "above_floor": float(np.mean(np.array(mine) >= np.array(rival) - below)),
    }


def _verdict(figures: Mapping[str, Any], least: float) -> tuple[bool, str]:
    against = (
        f"mean page hit ratio {figures['hit_ratio']:.4f} against {figures['chosen_classic_hit_ratio']:.4f} of the "
        "classic that was best on each trace's choosing blocks, on the judging blocks of validation"
    )
    span = f"90 % interval of the difference {figures['difference_low']:.4f} to {figures['difference_high']:.4f}"
    if figures["seeds"] < FEWEST_SEEDS:
        return False, f"{figures['seeds']:.0f} seeds say nothing of the spread, {FEWEST_SEEDS} would; {against}, {span}"
    if figures["difference_low"] <= 0:
        return False, f"no better than a classic: {against}, {span}"
    if (gain := figures["hit_ratio"] - figures["chosen_classic_hit_ratio"]) < least:
        return False, f"a gain of {gain:.4f} is too small to matter: {against}, {span}"
    if figures["above_floor"] < 1:
        return False, f"on one trace {figures['lowest_difference']:.4f} below its classic; {against}, {span}"
    return True, f"{against}, {span}"


def judge(
    model: FittedModel, scorers: Sequence[Scorer], parts: Sequence[Prepared], settings: Settings
) -> Verdict:  # fmt: skip
    """Judge a fitted model."""
    options, policies = settings.judge, base_policy(model)
    if not parts or not model.trained:
        reason = model.reason or "not judged: there is no validation trace"
        calibration = {**calibration_of(model, 0, options.weights[0]), "capacity": options.capacity}
        return Verdict(calibration=calibration, policy=policies, validation={}, beats_baseline=False, reason=reason)
    jobs = [(part, model, scorers, settings) for part in parts]
    traces = spread(f"{model.model_id}: caches on validation", judge_trace, jobs)
    weight, seed = choose(traces, options)
    figures = figures_of(traces, weight)
    beats, reason = _verdict(figures, options.least_gain)
    return Verdict(
        calibration={**calibration_of(model, seed, options.weights[weight]), "capacity": options.capacity},
        policy=policies,
        validation={**figures, **model.figures},
        beats_baseline=beats,
        reason=reason,
    )


def scorers_of(folder: Path, model: FittedModel) -> list[Scorer]:
    """The forests of a fitted model, by seed.

    Raises:
        TrainingError: one is missing or damaged.
    """
    return [read_forest(folder / forest_file(k)) for k in range(len(model.learned["seeds"]))]


def judge_reuse(params: "Params") -> None:
    """Stage judge_reuse: write `models/trained/reuse/reuse.<arch>/`, with the chosen forest.

    Raises:
        TrainingError: there is no readable fitted model.
        TraceError: a trace is missing or damaged.
    """
    settings = Settings.of(params)
    name = model_id(settings.arch)
    folder = paths.fitted(name)
    fitted = read_fitted(folder, "reuse")
    own = places(settings.categories, settings.roles, {}, "validation")
    parts = [Prepared.read(key, path) for key, path in own.items()]
    verdict = judge(fitted, scorers_of(folder, fitted), parts, settings)
    inputs = {str(path): sha256_file(path) for path in own.values()}
    model = TrainedModel.of(fitted, verdict, inputs, trace_uses([], parts))
    chosen = forest_file(int(verdict.calibration["forest"]))
    write_judged_forests(paths.trained(name), folder, model, {MODEL_FILE: chosen})

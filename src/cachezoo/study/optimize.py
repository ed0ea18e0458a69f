"""A search for a setting: Optuna proposes, trainings answer, and seeds that the search never saw decide.

Trials are trained with few seeds. The best few of them then get the seeds that the other settings of a study get, and
the best mean of these chooses. What was chosen among many for its figure owes some of it to luck, so that figure is
never the result: the chosen setting and that of params.yaml are trained anew, with seeds that no trial had.

The proposals are Optuna's tree-structured Parzen estimator (Bergstra et al., "Algorithms for hyper-parameter
optimization", NeurIPS 2011), with a seed made from what is asked. A study that goes on proposes the same trials again,
and takes their answers from the trainings that are done.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from cachezoo.errors import CachezooError, ConfigError
from cachezoo.seeds import derive_seed
from cachezoo.study.depends import CHOOSING, JUDGED, WHOLE, Pipeline
from cachezoo.study.grid import Axis, Setting, Settings, corners, drawn, here, space
from cachezoo.study.run import check_seeds, runs, studied_categories, studied_system
from cachezoo.study.summary import difference, summary
from cachezoo.zoo.base import studied_of

# Trials drawn at random before the estimator has enough to learn from; then those that are proposed at once.
STARTUP, ROUND = 10, 2
# Trials that get all seeds.
KEEP = 3


@dataclass(frozen=True)
class Budget:
    """How much a search trains."""

    trials: int  # settings tried
    trial_seeds: int  # trainings of each
    seeds: int  # trainings of each of the best, and of the final figures

    def check(self) -> None:
        """Refuse what chooses nothing.

        Raises:
            ConfigError: the option is named.
        """
        if self.trials < 2:
            raise ConfigError(f"--trials {self.trials}: a search takes two at least")
        check_seeds(self.seeds)
        if not 1 <= self.trial_seeds <= self.seeds:
            raise ConfigError(f"--trial-seeds {self.trial_seeds}: is to be from 1 to --seeds {self.seeds}")

    @property
    def trainings(self) -> int:
        """All trainings of the search, and of the final figures of two settings."""
        return self.trials * self.trial_seeds + min(KEEP, self.trials) * self.seeds + 2 * self.seeds


@dataclass(frozen=True)
class Trial:
    """A setting that was tried."""

    number: int  # from 0
    setting: Setting  # its values
    each: tuple[float | None, ...]  # the figure that chooses, by seed; None where the training failed

    @property
    def mean(self) -> float | None:
        """Over the seeds; None where one of them did not train, for then the setting is not to be relied on."""
        values = [value for value in self.each if value is not None]
        return fmean(values) if len(values) == len(self.each) else None

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "number": self.number, "setting": self.setting.name, "set": dict(self.setting.values),
            "mean": self.mean, "each": list(self.each),
        }  # fmt: skip


Answer = Callable[[Sequence[Setting]], Sequence[tuple[float | None, ...]]]


def optimize(
    root: Path, system: str, categories: Sequence[str], texts: Sequence[str], budget: Budget, jobs: int
) -> dict[str, Any]:
    """Search for a setting of a system, and compare what is found with params.yaml.

    Args:
        root: the project, with the outputs of the stages before the system's fit.
        system: its id.
        categories: the one that is searched for; none for a system of all categories.
        texts: what may be chosen, see `cachezoo.study.grid.space`.
        budget: how much is trained.
        jobs: processes at a time.

    Returns:
        `cachezoo.study.summary.summary` of the settings of params.yaml and of the chosen one, with fresh seeds, and
        under `search` the trials.

    Raises:
        ConfigError: what is asked for cannot be searched, or an earlier stage's output is missing.
        CachezooError: a training failed, or no trial trained with all its seeds.
    """
    budget.check()
    known, settings = studied_system(system), Settings(root)
    axes, pipeline = space(settings, texts, budget.trials), Pipeline(root, known)
    names = studied_categories(known, categories, settings.params)
    if len(names) > 1:
        message = f"--optimize: searches for one category at a time; give --category with one of {', '.join(names)}"
        raise ConfigError(message)
    for corner in corners(settings, axes):
        pipeline.check(names[0], corner)
    lower, seeds = studied_of(known).lower_is_better, budget.seeds
    seed = derive_seed(settings.params.seed, "study", system, names[0], *texts)
    with runs(pipeline, jobs, budget.trainings) as running:

        def answer(asked: Sequence[Setting], each: int = budget.trial_seeds) -> list[tuple[float | None, ...]]:
            cells = running.cells([(names[0], one, CHOOSING) for one in asked], range(each))
            return [tuple(one.get("choosing") for one in cell.found) for cell in cells]

        trials = propose(axes, settings, budget.trials, seed, answer, lower)
        few = _best(trials, lower)[:KEEP]
        running.skip((min(KEEP, len(trials)) - len(few)) * seeds)
        answers = answer([trial.setting for trial in few], seeds)
        kept = _best([Trial(one.number, one.setting, each) for one, each in zip(few, answers, strict=True)], lower)
        if not kept:
            message = "--optimize: no setting trained with all its seeds; give ranges in which trainings do not diverge"
            raise CachezooError(message)
        asked = [(Setting({}, settings.params, frozenset()), WHOLE)]
        asked += [(kept[0].setting, JUDGED)] if kept[0].setting.changed else []
        running.skip((2 - len(asked)) * seeds)
        cells = running.cells([(names[0], *one) for one in asked], range(seeds, 2 * seeds))
    found = summary(known, settings.params.seed + seeds, seeds, cells, pipeline.made_from(names, settings.params))
    found["search"] = {
        "trials_asked": budget.trials, "trial_seeds": budget.trial_seeds, "axes": [own.plain() for own in axes],
        "trials": [trial.plain() for trial in trials], "kept": [trial.plain() for trial in kept],
        "chosen": kept[0].number, **differences(found),
    }  # fmt: skip
    return found


def propose(
    axes: Sequence[Axis], settings: Settings, trials: int, seed: int, answer: Answer, lower_is_better: bool
) -> list[Trial]:
    """Ask for trials and have them answered, that of params.yaml first if it is among what may be chosen.

    The first trials of a longer search are those of a shorter one.

    Args:
        axes: what may be chosen.
        settings: of the project.
        trials: how many.
        seed: of the proposals.
        answer: (settings) to the figures of each, by seed.
        lower_is_better: of the figures.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP, multivariate=True, constant_liar=True)
    study = optuna.create_study(sampler=sampler, direction="minimize" if lower_is_better else "maximize")
    as_it_is = here(axes)
    if as_it_is is not None:
        study.enqueue_trial(as_it_is)
    found: list[Trial] = []
    while len(found) < trials:
        count = min(trials - len(found), ROUND if len(found) >= STARTUP else STARTUP)
        asked = [study.ask({own.key: own.drawn for own in axes}) for _ in range(count)]
        wanted = [settings.of(drawn(axes, one.params)) for one in asked]
        for one, setting, each in zip(asked, wanted, answer(wanted), strict=True):
            found.append(Trial(one.number, setting, each))
            # One that did not train counts as worse than all that did.
            state = optuna.trial.TrialState.PRUNED if found[-1].mean is None else None
            study.tell(one, found[-1].mean, state=state)
    return found


def _best(trials: Sequence[Trial], lower_is_better: bool) -> list[Trial]:
    """The trials that trained with all their seeds, the best first, the first of each setting."""
    sign = 1 if lower_is_better else -1
    able = [(sign * trial.mean, trial.number, trial) for trial in trials if trial.mean is not None]
    found: dict[tuple[str, ...], Trial] = {}
    for _, _, trial in sorted(able, key=lambda own: own[:2]):
        found.setdefault(tuple(trial.setting.values.values()), trial)
    return list(found.values())


def differences(found: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen setting less that of params.yaml, in the figure that chooses and in that of the verdict.

    Args:
        found: a summary with one category, of params.yaml's setting and the chosen one, if it is another.
    """
    ((kept, *others),) = found["categories"].values()
    return {
        f"{name}_difference": difference(_by_seed(kept, name), _by_seed(others[0], name)) if others else None
        for name in ("choosing", "judging")
    }


def _by_seed(row: Mapping[str, Any], name: str) -> dict[int, float]:
    """A figure of a row of a study by seed; nothing where some seed has none."""
    each = row[name]["each"]
    return dict(zip(row["trained"], each, strict=True)) if len(each) == len(row["trained"]) else {}

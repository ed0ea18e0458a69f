"""A whole study of a grid: plan, run what is not done, sum up."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.errors import ConfigError
from cachezoo.params import categories_of
from cachezoo.settings.params import Params
from cachezoo.study.depends import CHOOSING, WHOLE, Pipeline
from cachezoo.study.grid import grid
from cachezoo.study.run import JOBS, runs
from cachezoo.study.summary import summary
from cachezoo.zoo.base import System
from cachezoo.zoo.registry import SYSTEMS


def study(
    root: Path, system: str, categories: Sequence[str], changes: Sequence[str], seeds: int, jobs: int = JOBS
) -> dict[str, Any]:
    """Compare settings of a system over seeds.

    Args:
        root: the project, with the outputs of the stages before the system's fit.
        system: its id.
        categories: none takes all that it has models of.
        changes: `KEY=VALUE,VALUE`, see `cachezoo.study.grid.grid`.
        seeds: trainings of each setting, with the seed of params.yaml, the next one, and so on.
        jobs: processes at a time.

    Returns:
        See `cachezoo.study.summary.summary`.

    Raises:
        ConfigError: what is asked for cannot be studied, or an earlier stage's output is missing.
        CachezooError: a training failed.
    """
    check_seeds(seeds)
    known = studied_system(system)
    settings, params = grid(root, changes), load_params(root / paths.PARAMS)
    names, pipeline = studied_categories(known, categories, params), Pipeline(root, known)
    for setting in settings:
        pipeline.check(names[0], setting)
    asked = [(name, own, CHOOSING if own.changed else WHOLE) for name in names for own in settings]
    with runs(pipeline, jobs, len(asked) * seeds) as running:
        found = running.cells(asked, range(seeds))
    return summary(known, params.seed, seeds, found, pipeline.made_from(names, params))


def studied_system(name: str) -> System:
    """A system whose trainings can be compared.

    Raises:
        ConfigError: there is none of that name.
    """
    able = [key for key, system in SYSTEMS.items() if system.study is not None]
    if name not in able:
        raise ConfigError(f"--system {name}: cannot be studied; {', '.join(able)} can")
    return SYSTEMS[name]


def studied_categories(system: System, asked: Sequence[str], params: Params) -> list[str]:
    """The categories of a study; one empty name for a system of all.

    Raises:
        ConfigError: one that the system has no models of, or names for a system of all categories.
    """
    if system.scope == "all":
        if asked:
            raise ConfigError(f"--category {asked[0]}: a model of {system.id} is of all categories; leave it out")
        return [""]
    of_scope = {"page category": params.data.page_categories, "stream category": params.data.cycles}
    known = list(of_scope.get(system.scope, categories_of(params)))
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ConfigError(f"--category {unknown[0]}: {system.id} has models of {', '.join(known)}")
    return list(dict.fromkeys(asked)) or known


def check_seeds(seeds: int) -> None:
    """Refuse fewer than have a spread.

    Raises:
        ConfigError: there are fewer than two.
    """
    if seeds < 2:
        raise ConfigError(f"--seeds {seeds}: a spread takes two at least")

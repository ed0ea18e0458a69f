"""A whole study: plan, run what is not done, sum up."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.study.grid import grid
from cachezoo.study.run import JOBS, Planner, check_keys, check_seeds, runs, studied_categories, studied_system
from cachezoo.study.summary import Cell, summary


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
    names, planner = studied_categories(known, categories, params), Planner(root, known)
    for setting in settings:
        check_keys(planner.pipeline, known, names[0], setting)
    cells = [(category, setting) for category in names for setting in settings]
    planned = [[planner.trainings(*cell, seed) for seed in range(seeds)] for cell in cells]
    chains = [chain for own in planned for chain in own]
    with runs(root.resolve(), jobs, len(chains)) as running:
        running.run(chains)
    found = [Cell(*cell, [judging.figures() for _, judging in own]) for cell, own in zip(cells, planned, strict=True)]
    return summary(known, params.seed, seeds, found, planner.made_from(names, params))

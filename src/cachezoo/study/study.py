"""A whole study: plan, run what is not done, sum up."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cachezoo.errors import ConfigError
from cachezoo.study.grid import grid
from cachezoo.study.run import JOBS, Planner, check_keys, run_all, studied_categories, studied_system
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
    if seeds < 2:
        message = f"--seeds {seeds}: a spread takes two at least"
        raise ConfigError(message)
    known = studied_system(system)
    settings = grid(root, changes)
    names, planner = studied_categories(known, categories, settings), Planner(root, known)
    for setting in settings:
        check_keys(planner.pipeline, known, names[0], setting)
    cells = [(category, setting) for category in names for setting in settings]
    planned = [[planner.trainings(*cell, seed) for seed in range(seeds)] for cell in cells]
    for step in (0, 1):
        run_all(root.resolve(), [pair[step] for pairs in planned for pair in pairs], jobs)
    found = [
        Cell(*cell, [judging.figures() for _, judging in pairs]) for cell, pairs in zip(cells, planned, strict=True)
    ]
    return summary(known, seeds, found)

"""Which stages a run has to look at, and what each of them waits for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dvc.repo import Repo, lock_repo
from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro
from dvc.stage import Stage

from cachezoo.errors import ConfigError
from cachezoo.repro.lockfile import forget_cut_runs, release_dead


@dataclass(frozen=True)
class Plan:
    """What one run does.

    Attributes:
        order: names of all stages of the project, in the order in which `dvc repro` goes through them.
        wanted: how many of them the targets need.
        stages: the stages to look at, by name, in that order.
        waits: for each of these, which others of them have to end before it.
    """

    order: tuple[str, ...]
    wanted: int
    stages: dict[str, Stage]
    waits: dict[str, frozenset[str]]


def make_plan(targets: Sequence[str] = (), force: bool = False) -> Plan:
    """Ask DVC, in one process, what has changed; what depends on a change may turn out to be up to date after all.

    Args:
        targets: what DVC takes as targets; without any, every stage.
        force: take every stage that the targets need for changed.

    Raises:
        DvcException: DVC cannot read the project or find a target.
        ConfigError: there are stages that are not of the root's dvc.yaml.
    """
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        release_dead()
        forget_cut_runs(Path(repo.stage_cache.cache_dir))
        graph = get_active_graph(repo.index.graph)
        order = plan_repro(graph, repo.index.stages)
        for stage in order:
            if stage.addressing != getattr(stage, "name", None):
                message = f"{stage.addressing}: is no stage of dvc.yaml, which alone is run side by side"
                raise ConfigError(message)
        wanted = plan_repro(graph, collect_stages(repo, targets)) if targets else order
        changed = {stage.name for stage in wanted} if force else set(repo.status())
        stages: dict[str, Stage] = {}
        waits: dict[str, frozenset[str]] = {}
        for stage in wanted:
            upstream = frozenset(before.name for before in graph.successors(stage)) & waits.keys()
            if upstream or stage.name in changed:
                stages[stage.name], waits[stage.name] = stage, upstream
        return Plan(tuple(stage.name for stage in order), len(wanted), stages, waits)

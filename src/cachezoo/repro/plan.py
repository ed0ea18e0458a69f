"""Which stages a run has to look at, and what each of them waits for."""

import hashlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from dvc.repo import Repo, lock_repo
from dvc.repo.reproduce import collect_stages, get_active_graph, plan_repro
from dvc.stage import Stage

from cachezoo.errors import ConfigError
from cachezoo.repro.lockfile import forget_cut_runs, release_dead

SOURCES, WRITERS = "sources", {"sources", "compose"}
SOURCES_FOLDER = Path("data/sources")


@dataclass(frozen=True)
class Plan:
    """What one run does.

    Attributes:
        order: names of all stages of the project, in the order in which `dvc repro` goes through them.
        wanted: how many of them the targets need.
        stages: the stages to look at, by name, in that order.
        waits: for each of these, which others of them have to end before it.
        changed: those of them that have changed themselves; the others depend on one that has.
    """

    order: tuple[str, ...]
    wanted: int
    stages: dict[str, Stage]
    waits: dict[str, frozenset[str]]
    changed: frozenset[str]

    def to_run(self, left: Mapping[str, frozenset[str]], begun: Set[str]) -> dict[str, frozenset[str]]:
        """Of the stages that have not begun those that have to run, as far as it is known by now.

        Stages depend on what `sources` and `compose` write, each on a part of its own. Whether that has changed is seen
        once `sources` has ended.

        Args:
            left: for each, which it waits for, in the plan's order.
            begun: stages whose command was started, whether it has ended or not.
        """
        found: dict[str, frozenset[str]] = {}
        for name, waits in left.items():
            known = SOURCES not in left and _has_other_sources(self.stages[name])
            if name in self.changed or known or waits & (found.keys() | begun) - WRITERS:
                found[name] = waits
        return found


def _has_other_sources(stage: Stage) -> bool:
    """Whether the list of a stage's sources is not that of its last run."""
    for dep in stage.deps:
        path = Path(dep.def_path)
        if path.parent == SOURCES_FOLDER and path.is_file():
            return bool(hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest() != dep.hash_info.value)
    return False


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
        own = frozenset(changed & stages.keys())
        return Plan(tuple(stage.name for stage in order), len(wanted), stages, waits, own)

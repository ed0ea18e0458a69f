"""How far a run is and about how long it has to go, from what stages took before on this machine.

The seconds of stages lie in .cache, in no output: they are of this machine. A stage that never ran here is taken for as
long as others of its kind, or else as is usual for the kind, times how much slower than usual this machine was so far.
"""

import json
import statistics
from collections.abc import Collection, Mapping
from pathlib import Path

from cachezoo.io import atomic_file

SECONDS = Path(".cache/repro/seconds.json")
KEEP = 0.5  # weight of the newest run
# Seconds that a stage of a kind takes on two cores beside another one: benchmarks/pipeline.py, docs/benchmarks.md.
USUAL = {
    "ingest": 1.5, "replay": 1.5, "calibrate": 2.0, "label_benefit": 1.6, "features": 1.5, "label_episodes": 2.1,
    "fit_workload": 30.0, "fit_caching": 68.0, "judge_caching": 40.0, "fit_admission": 2.5, "judge_admission": 3.0,
    "fit_prefetch": 2.5, "judge_prefetch": 3.0, "fit_reuse": 60.0, "judge_reuse": 60.0, "evaluate": 20.0,
    "evaluate_objects": 30.0, "evaluate_flash": 5.0, "evaluate_workload": 11.0, "evaluate_reuse": 60.0,
    "fit_streams": 3.0, "judge_streams": 4.0, "evaluate_streams": 5.0, "evaluate_tiers": 15.0, "evaluate_share": 20.0,
    "judge_virtual": 5.0, "evaluate_virtual": 3.0, "export_reuse": 20.0, "report": 15.0, "track": 10.0,
}  # fmt: skip
OTHER = 2.0
ENOUGH_S = 20.0  # of usual seconds, to say how much slower a machine is


def _kind(stage: str) -> str:
    return stage.partition("@")[0]


class Seconds:
    """What stages took.

    Args:
        path: where it is kept between runs; a file that cannot be read counts as none.
    """

    def __init__(self, path: Path = SECONDS) -> None:
        self._path = path
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            self._known = {str(stage): float(seconds) for stage, seconds in found.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            self._known = {}

    def add(self, stage: str, seconds: float) -> None:
        """A stage has run."""
        before = self._known.get(stage, seconds)
        self._known[stage] = round(before + KEEP * (seconds - before), 1)

    def save(self) -> None:
        """Keep it for the next run."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(self._path) as temporary:
            temporary.write_text(json.dumps(self._known, sort_keys=True, indent=0), encoding="utf-8")

    def of(self, stage: str) -> float:
        """About how many seconds a stage takes."""
        if stage in self._known:
            return self._known[stage]
        alike = [seconds for name, seconds in self._known.items() if _kind(name) == _kind(stage)]
        return statistics.median(alike) if alike else USUAL.get(_kind(stage), OTHER) * self._slower()

    def _slower(self) -> float:
        """How much longer than usual this machine takes."""
        usual = sum(USUAL.get(_kind(stage), OTHER) for stage in self._known)
        return sum(self._known.values()) / usual if usual >= ENOUGH_S else 1.0


def remaining(waits: Mapping[str, Collection[str]], running: Mapping[str, float], seconds: Seconds, jobs: int) -> float:
    """About how long a run has to go, if every stage that is left has to run.

    Args:
        waits: for each stage that has not begun, those it waits for; others than these and the running have ended.
        running: for how many seconds each of the running stages has run.
        seconds: what stages take.
        jobs: how many run at once.

    Returns:
        Seconds until the last one ends, where stages begin in the order of `waits` as soon as they may.
    """
    now = 0.0
    ends = {stage: max(seconds.of(stage) - spent, 0.0) for stage, spent in running.items()}
    left = dict(waits)
    while ends or left:
        busy = {*ends, *left}
        for stage in [stage for stage, before in left.items() if not busy.intersection(before)]:
            if len(ends) < jobs:
                del left[stage]
                ends[stage] = now + seconds.of(stage)
        if not ends:
            break  # what is left waits for what a plan never begins
        stage = min(ends, key=ends.__getitem__)
        now = ends.pop(stage)
    return now


def spoken(seconds: float) -> str:
    """A time to go, as people say it: `less than a minute`, `about 12 min`, `about 1 h 5 min`."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes} min" if minutes < 60 else f"about {minutes // 60} h {minutes % 60} min"

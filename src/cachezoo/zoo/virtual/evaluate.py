"""What was tuned on validation, on the test traces: nothing is chosen there again.

All page accesses are counted, from an empty cache on: a start is part of what is compared. The tuned cache is compared
with the plain policies of the queues, the paper's settings with each queue, and the head of the tuned queue alone,
which has the long queue's memory and maps nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.contest.choice import Goal
from cachezoo.models.trained import FittedModel, read_fitted, read_trained
from cachezoo.zoo.virtual.case import Case, Run, best_plain, window_of
from cachezoo.zoo.virtual.fit import model_id, read_profile
from cachezoo.zoo.virtual.judge import Settings, Validation, papers, read_validation
from cachezoo.zoo.virtual.metrics import (
    HEAD,
    TUNED,
    VRM,
    Kind,
    Queue,
    Seeded,
    Setting,
    Start,
    Started,
    VirtualMetrics,
    VirtualModel,
    VirtualRow,
    VirtualTrace,
)
from cachezoo.zoo.virtual.serve import COLD, FILE, WARM, from_bytes
from cachezoo.zoo.virtual.settings import Judge

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@dataclass(frozen=True)
class Candidates:
    """What runs on a test trace."""

    validation: Validation
    setting: Setting  # that it chose
    profile: F64  # of a warm start with it
    papers: Mapping[Queue, tuple[Setting, F64]]  # the paper's setting with each queue, and its profile

    @property
    def settings(self) -> dict[str, tuple[Setting, F64]]:
        """The virtual caches by name, without their start."""
        found = {f"{VRM}.{queue}": known for queue, known in self.papers.items()}
        return {**found, TUNED: (self.setting, self.profile)}

    def unfit(self, case: Case) -> str:
        """Why a trace's cache does not fit what was tuned; empty where it does."""
        shortest = min(setting.pages for setting, _ in self.settings.values())
        most = max(setting.runs for setting, _ in self.settings.values())
        if case.capacity > shortest:
            return f"{case.name}: its cache of {case.capacity} pages is longer than a queue of {shortest}"
        if case.capacity < most * case.fragment:
            return f"{case.name}: its cache of {case.capacity} pages has no room for {most} runs"
        return ""


def evaluate(case: Case, candidates: Candidates, judge: Judge) -> VirtualTrace:
    """The figures of a test trace whose cache fits what was tuned."""
    plain = {queue: case.plain(queue) for queue in candidates.papers}
    best = best_plain(plain)
    rival = plain[best]
    cold = {name: case.virtual(setting) for name, (setting, _) in candidates.settings.items()}
    warm = {name: case.virtual(setting, profile) for name, (setting, profile) in candidates.settings.items()}
    own = candidates.setting
    rows = [
        *(_row(queue, "plain", run, rival) for queue, run in plain.items()),
        *(
            _row(name, "paper", cold[name], rival, setting)
            for name, (setting, _) in candidates.settings.items()
            if name != TUNED
        ),
        _row(HEAD, "head", case.head(own.queue, own.pages), rival),
        _row(f"{TUNED}.{COLD}", "tuned", cold[TUNED], rival, own),
        _row(f"{TUNED}.{WARM}", "tuned", warm[TUNED], rival, own),
    ]
    seeds = []
    for number, one in enumerate(candidates.validation.searches):
        if one.setting.pages >= case.capacity >= one.setting.runs * case.fragment:
            run = case.virtual(one.setting)
            seeds.append(
                Seeded(
                    number=number, setting=one.setting, hit_ratio=run.hit_ratio, transfers=run.transfers,
                    gain=run.hit_ratio - rival.hit_ratio,
                )
            )  # fmt: skip
    starts = []
    for name, first in cold.items():
        value = first.settled
        runs: dict[Start, Run] = {COLD: first, WARM: warm[name]}
        for start, run in runs.items():
            references = run.reached(judge.window, judge.steady * value)
            starts.append(Started(policy=name, start=start, steady=value, references=references))
    return VirtualTrace(
        role="test",
        references=case.total,
        capacity=case.capacity,
        best_plain=best,
        window=window_of(case.total, judge.window),
        rows=rows,
        seeds=seeds,
        starts=starts,
    )


def _row(policy: str, kind: Kind, run: Run, rival: Run, setting: Setting | None = None) -> VirtualRow:
    """A cache's row; the rival is the best plain policy's run."""
    gain, references = run.hits.lead(rival.hits, Goal.GAIN), len(run.hit)
    return VirtualRow(
        policy=policy,
        kind=kind,
        setting=setting,
        hit_ratio=run.hit_ratio,
        hit_ratio_interval=run.hits.estimate.ends,
        gain=gain.value,
        gain_interval=gain.ends,
        transfers=run.transfers,
        allocation=run.allocation / references,
        fragmentation=run.fragmentation / references,
        of_plain_misses=_part(1 - run.hit_ratio, 1 - rival.hit_ratio),
        of_plain_transfers=_part(run.transfers, rival.transfers),
    )


def _part(own: float, rival: float) -> float:
    """A ratio; 1 of nothing."""
    return own / rival if rival else 1.0


def _candidates(
    validation: Validation, setting: Setting, fitted: FittedModel, cases: Sequence[Case], settings: Settings
) -> Candidates:
    runs = min((case.capacity // case.fragment for case in cases), default=1)
    known: dict[Queue, tuple[Setting, F64]] = {}
    for queue in settings.fit.queues:
        one = papers(queue, max(settings.fit.pages), runs, settings.judge.paper)
        known[queue] = one, read_profile(paths.fitted(fitted.model_id), fitted, queue, one.pages)
    profile = from_bytes((paths.trained(fitted.model_id) / FILE).read_bytes())
    return Candidates(validation, setting, profile, known)


def evaluate_category(category: str, settings: Settings) -> VirtualMetrics:
    """What stage evaluate_virtual writes.

    Raises:
        CachezooError: a model or a trace is missing or damaged.
    """
    name = model_id(category, settings.arch)
    model, validation = read_trained(paths.trained(name), "virtual"), read_validation(paths.trained(name))
    fitted = read_fitted(paths.fitted(name), "virtual")
    fragment = int(fitted.learned["fragment"])
    cases = Case.read(category, settings.roles.get("test", []), settings.capacity, fragment)
    setting = None
    if not validation.reason:
        setting = Setting.model_validate({key: model.arch[key] for key in Setting.model_fields})
    reasons, traces = [validation.reason] if validation.reason else [], {}
    if setting is not None:
        if not cases:
            reasons.append("the category has no test trace")
        reasons += [f"{case.name}: its cache has no room for a fragment" for case in cases if case.capacity < fragment]
        wide = [case for case in cases if case.capacity >= fragment]
        candidates = _candidates(validation, setting, fitted, wide, settings)
        for case in wide:
            if unfit := candidates.unfit(case):
                reasons.append(unfit)
            else:
                traces[case.name] = evaluate(case, candidates, settings.judge)
    found = VirtualModel(
        trained=model.trained,
        promoted=model.promoted,
        reason=model.reason,
        validation=model.validation,
        setting=setting,
        start=model.policy["start"],
    )
    return VirtualMetrics(category=category, reason="; ".join(reasons), traces=traces, models={name: found})


def evaluate_virtual(params: "Params", category: str) -> VirtualMetrics:
    """Stage evaluate_virtual@category, see `evaluate_category`."""
    return evaluate_category(category, Settings.of(params, category))

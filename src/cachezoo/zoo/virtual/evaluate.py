"""What was tuned on validation, on the test traces: nothing is chosen there again.

All page accesses are counted, from an empty cache on: a start is part of what is compared. Beside the tuned cache stand
the plain policies of the queues, the paper's settings with each queue, and the head of the tuned queue alone, which has
the long queue's memory and maps nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.contest.blocks import BLOCKS, block_means
from cachezoo.contest.lead import ahead, mean_of
from cachezoo.models.trained import FittedModel, TrainedModel, read_fitted, read_trained
from cachezoo.params import At, Picked
from cachezoo.settings.base import Part
from cachezoo.settings.data import Roles
from cachezoo.zoo.virtual.bench import Bench, Run
from cachezoo.zoo.virtual.fit import model_id, read_profile
from cachezoo.zoo.virtual.judge import Judged, read_judged
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
from cachezoo.zoo.virtual.profile import FILE, from_bytes
from cachezoo.zoo.virtual.rivals import best_plain, plains
from cachezoo.zoo.virtual.settings import Fit, Judge
from cachezoo.zoo.virtual.starts import reached, steady, window_of
from cachezoo.zoo.virtual.tune import papers

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

COLD: Start = "cold"
WARM: Start = "warm"


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    judge: Annotated[Judge, At("judge.virtual")]
    fit: Annotated[Fit, At("fit.virtual")]
    arch: Annotated[str, At("model.virtual.arch")]
    capacity: Annotated[Part, At("evaluate.capacity_fraction")]
    roles: Annotated[Roles, At("data.roles.{category}")]


@dataclass(frozen=True)
class Asked:
    """What is run on a test trace.

    Attributes:
        judged: what validation says.
        setting: that it chose.
        profile: of a warm start with it.
        papers: the paper's setting with each queue, and its profile.
    """

    judged: Judged
    setting: Setting
    profile: F64
    papers: Mapping[Queue, tuple[Setting, F64]]

    @property
    def settings(self) -> dict[str, tuple[Setting, F64]]:
        """The virtual caches by name, without their start."""
        found = {f"{VRM}.{queue}": known for queue, known in self.papers.items()}
        return {**found, TUNED: (self.setting, self.profile)}

    def unfit(self, bench: Bench) -> str:
        """Why a trace's cache does not fit what was tuned; empty where it does."""
        shortest = min(setting.pages for setting, _ in self.settings.values())
        most = max(setting.runs for setting, _ in self.settings.values())
        if bench.capacity > shortest:
            return f"{bench.key}: its cache of {bench.capacity} pages is longer than a queue of {shortest}"
        if bench.capacity < most * bench.fragment:
            return f"{bench.key}: its cache of {bench.capacity} pages has no room for {most} runs"
        return ""


@dataclass(frozen=True)
class _Beside:
    """What rows are held against.

    Attributes:
        run: the best plain policy's.
    """

    run: Run

    def row(self, policy: str, kind: Kind, run: Run, setting: Setting | None = None) -> VirtualRow:
        """A cache's row."""
        own, theirs = (block_means(one.hit, BLOCKS) for one in (run, self.run))
        references = len(run.hit)
        return VirtualRow(
            policy=policy,
            kind=kind,
            setting=setting,
            hit_ratio=run.hit_ratio,
            hit_ratio_interval=mean_of(own, run.hit_ratio).ends,
            gain=run.hit_ratio - self.run.hit_ratio,
            gain_interval=ahead(own, theirs, run.hit_ratio - self.run.hit_ratio).ends,
            transfers=run.transfers,
            allocation=run.allocation / references,
            fragmentation=run.fragmentation / references,
            of_plain_misses=_of(1 - run.hit_ratio, 1 - self.run.hit_ratio),
            of_plain_transfers=_of(run.transfers, self.run.transfers),
        )


def _of(part: float, whole: float) -> float:
    """A share; 1 of nothing."""
    return part / whole if whole else 1.0


def evaluate(bench: Bench, asked: Asked, judge: Judge) -> VirtualTrace:
    """The figures of a test trace whose cache fits what was tuned."""
    plain = plains(bench, asked.papers)
    rival = best_plain(plain)
    beside = _Beside(plain[rival])
    cold = {name: bench.virtual(setting) for name, (setting, _) in asked.settings.items()}
    warm = {name: bench.virtual(setting, profile) for name, (setting, profile) in asked.settings.items()}
    own = asked.setting
    rows = [
        *(beside.row(queue, "plain", run) for queue, run in plain.items()),
        *(beside.row(name, "paper", cold[name], one) for name, (one, _) in asked.settings.items() if name != TUNED),
        beside.row(HEAD, "head", bench.head(own.queue, own.pages)),
        beside.row(f"{TUNED}.{COLD}", "tuned", cold[TUNED], own),
        beside.row(f"{TUNED}.{WARM}", "tuned", warm[TUNED], own),
    ]
    references = len(bench.pages.page_ids)
    return VirtualTrace(
        role="test",
        references=references,
        capacity=bench.capacity,
        best_plain=rival,
        window=window_of(references, judge.window),
        rows=rows,
        seeds=_seeds(bench, asked.judged, plain[rival]),
        starts=_starts(cold, warm, judge),
    )


def _seeds(bench: Bench, judged: Judged, rival: Run) -> list[Seeded]:
    """What each search chose, where it fits."""
    found = []
    for number, one in enumerate(judged.searches):
        setting = one.setting
        if setting.pages >= bench.capacity >= setting.runs * bench.fragment:
            run = bench.virtual(setting)
            found.append(
                Seeded(
                    number=number, setting=setting, hit_ratio=run.hit_ratio, transfers=run.transfers,
                    gain=run.hit_ratio - rival.hit_ratio,
                )
            )  # fmt: skip
    return found


def _starts(cold: Mapping[str, Run], warm: Mapping[str, Run], judge: Judge) -> list[Started]:
    found = []
    for name, first in cold.items():
        value = steady(first)
        for start, run in ((COLD, first), (WARM, warm[name])):
            references = reached(run, judge.window, judge.steady, value)
            found.append(Started(policy=name, start=start, steady=value, references=references))
    return found


def _asked(model: TrainedModel, fitted: FittedModel, judged: Judged, benches: Sequence[Bench], own: Settings) -> Asked:
    folder = paths.fitted(model.model_id)
    setting = Setting.model_validate({name: model.arch[name] for name in Setting.model_fields})
    profile = from_bytes((paths.trained(model.model_id) / FILE).read_bytes())
    fragments = min(bench.capacity // bench.fragment for bench in benches)
    known: dict[Queue, tuple[Setting, F64]] = {}
    for queue in own.fit.queues:
        one = papers(queue, max(own.fit.pages), fragments, own.judge.paper)
        known[queue] = (one, read_profile(folder, fitted, queue, one.pages))
    return Asked(judged, setting, profile, known)


def evaluate_category(category: str, settings: Settings) -> VirtualMetrics:
    """What stage evaluate_virtual writes.

    Raises:
        CachezooError: a model or a trace is missing or damaged.
    """
    name = model_id(category, settings.arch)
    model, judged = read_trained(paths.trained(name), "virtual"), read_judged(paths.trained(name))
    fitted = read_fitted(paths.fitted(name), "virtual")
    fragment = int(fitted.learned["fragment"])
    benches = Bench.read(category, settings.roles.get("test", []), settings.capacity, fragment)
    reasons, traces = [judged.reason] if judged.reason else [], {}
    if not judged.reason and not benches:
        reasons.append("the category has no test trace")
    if not reasons:
        wide = [bench for bench in benches if bench.capacity >= fragment]
        reasons += [f"{bench.key}: its cache has no room for a fragment" for bench in benches if bench not in wide]
        asked = _asked(model, fitted, judged, wide, settings) if wide else None
        for bench in wide:
            unfit = asked.unfit(bench) if asked is not None else ""
            if unfit or asked is None:
                reasons.append(unfit)
            else:
                traces[bench.key] = evaluate(bench, asked, settings.judge)
    said = VirtualModel(
        trained=model.trained,
        promoted=model.promoted,
        reason=model.reason,
        validation=model.validation,
        setting=None if judged.reason else Setting.model_validate({k: model.arch[k] for k in Setting.model_fields}),
        start=model.policy["start"],
    )
    return VirtualMetrics(category=category, reason="; ".join(reasons), traces=traces, models={name: said})


def evaluate_virtual(params: "Params", category: str) -> VirtualMetrics:
    """Stage evaluate_virtual@category, see `evaluate_category`."""
    return evaluate_category(category, Settings.of(params, category))

"""Tunes a category's virtual cache on validation, and compares it with the plain policies of its queues.

Half of the blocks of time choose by their hits, the others judge; transfers are those of the whole. Several searches,
each of another seed, try settings from a cold start; the best of them all is the model, and the start, cold or warm, is
chosen for it. It beats its baseline where the 90 % interval of its lead in hit ratio over the plain policy that the
choosing blocks choose is above 0, and the lead is worth having.

Proposals are Optuna's tree-structured Parzen estimator's; the paper's settings with each queue are its first. A setting
that makes more transfers than it may counts as worse than all that do not, the more so the more it makes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.contest.lead import over_trainings
from cachezoo.documents import Document
from cachezoo.io import atomic_dir, sha256_file, write_json
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import read
from cachezoo.models.trained import FittedModel, TrainedModel, Verdict, read_fitted, trace_uses
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.base import Part
from cachezoo.settings.data import Roles
from cachezoo.zoo.virtual.case import Case, Run, best_plain
from cachezoo.zoo.virtual.fit import CONTEXT, model_id, read_profile
from cachezoo.zoo.virtual.metrics import PER, Queue, Setting, Start, Tried
from cachezoo.zoo.virtual.serve import COLD, FILE, WARM, to_bytes
from cachezoo.zoo.virtual.settings import Fit, Judge, Paper

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from cachezoo.settings.params import Params

JUDGED_FILE = "judged.json"
MAPPING = (
    "A page is in the cache while its position in the queue is mapped. After each quantum the most valued fragments "
    "are mapped, in so many runs; docs/virtual.md."
)
STARTUP = 12  # settings drawn at random before the estimator has enough to learn from, the paper's among them
DECAY_DIGITS, COST_DIGITS = 3, 2


@dataclass(frozen=True)
class Settings(Picked):
    """What the stages judge_virtual and evaluate_virtual read of params.yaml."""

    judge: Annotated[Judge, At("judge.virtual")]
    fit: Annotated[Fit, At("fit.virtual")]
    arch: Annotated[str, At("model.virtual.arch")]
    capacity: Annotated[Part, At("evaluate.capacity_fraction")]
    roles: Annotated[Roles, At("data.roles.{category}")]


class Validation(Document):
    """What validation found; the file judged.json of a trained model."""

    reason: Annotated[str, Means("why nothing was judged; empty where something was")]
    plain: Annotated[
        dict[str, float],
        Each("a plain policy", "policy", "policy", "hit ratio on the choosing blocks", "ratio", "", "sometimes"),
    ]
    limit: Annotated[float, Means("transfers that a setting may make", PER)]
    searches: Annotated[list[Tried], Each("one search: what it chose", "place in the list", presence="sometimes")]
    tried: Annotated[int, Means("settings in all searches, each counted once")]


def policy_of(start: Start) -> dict[str, Any]:
    """`policy` of train.json: `start` is `warm`, from profile.bin, or `cold`, from the head of the queue."""
    return {"type": "virtual_cache", "start": start, "mapping": MAPPING}


@dataclass(frozen=True)
class Space:
    """What is tried: the queues, of the lengths that every cache fits, in at most so many runs.

    `most_runs` is of the cache with the fewest fragments.
    """

    queues: Sequence[Queue]
    pages: Sequence[int]
    most_runs: int
    judge: Judge

    @classmethod
    def of(cls, cases: Sequence[Case], fit: Fit, judge: Judge) -> "Space":
        """What fits all of some traces' caches."""
        fragments = min(case.capacity // case.fragment for case in cases)
        pages = [pages for pages in fit.pages if pages >= max(case.capacity for case in cases)]
        return cls(fit.queues, pages, min(judge.most_runs, fragments), judge)

    @property
    def reason(self) -> str:
        """Why nothing can be tried; empty where something can."""
        if not self.pages:
            return "every queue of fit.virtual.pages is shorter than the cache"
        return "" if self.most_runs else "the cache has no room for a fragment"

    def paper(self, queue: Queue) -> Setting:
        """The paper's setting with a queue, the longest there is."""
        return papers(queue, max(self.pages), self.most_runs, self.judge.paper)

    def distributions(self) -> "dict[str, BaseDistribution]":
        """What Optuna draws from."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        judge = self.judge
        return {
            "queue": CategoricalDistribution(list(self.queues)),
            "pages": IntDistribution(0, len(self.pages) - 1),
            "runs": IntDistribution(1, self.most_runs),
            "decay": FloatDistribution(min(judge.decay), max(judge.decay)),
            "quantum": IntDistribution(min(judge.quantum), max(judge.quantum), log=True),
            "cost": FloatDistribution(min(judge.cost), max(judge.cost)),
        }

    def setting(self, drawn: Mapping[str, Any]) -> Setting:
        """A setting of what was drawn."""
        return Setting(
            queue=drawn["queue"], pages=self.pages[drawn["pages"]], runs=drawn["runs"],
            decay=round(drawn["decay"], DECAY_DIGITS), quantum=drawn["quantum"],
            cost=round(drawn["cost"], COST_DIGITS),
        )  # fmt: skip


def papers(queue: Queue, pages: int, most_runs: int, paper: Paper) -> Setting:
    """The paper's setting, in no more runs than there are fragments."""
    return Setting(
        queue=queue, pages=pages, runs=min(paper.runs, most_runs), decay=paper.decay, quantum=paper.quantum, cost=0.0
    )


def tried(setting: Setting, cases: Sequence[Case], limit: float) -> Tried:
    """A setting on some traces, from a cold start: hits on the choosing blocks, transfers on all of them.

    The limit of transfers is no figure that is judged, and what a mapping reads comes in lumps, so it is held to whole
    traces.
    """
    runs = [case.virtual(setting) for case in cases]
    hit_ratio = fmean(run.half(judging=False).hit_ratio for run in runs)
    transfers = fmean(run.transfers for run in runs)
    return Tried(setting=setting, hit_ratio=hit_ratio, transfers=transfers, allowed=transfers <= limit)


def search(space: Space, cases: Sequence[Case], limit: float, seed: int) -> list[Tried]:
    """All settings that a search tries, in order.

    Args:
        space: what may be tried.
        cases: validation traces.
        limit: transfers per page access.
        seed: of the proposals.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP, multivariate=True)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    for queue in space.queues:
        first = space.paper(queue)
        study.enqueue_trial({**first.model_dump(), "pages": space.pages.index(first.pages)})
    found: dict[Setting, Tried] = {}
    order = []
    for _ in range(space.judge.trials):
        trial = study.ask(space.distributions())
        setting = space.setting(trial.params)
        if setting not in found:
            found[setting] = tried(setting, cases, limit)
        one = found[setting]
        order.append(one)
        study.tell(trial, one.hit_ratio if one.allowed else limit - one.transfers)
    return order


def best(found: Sequence[Tried]) -> Tried:
    """Most hits among those within the limit of transfers; else the fewest transfers. The first of equals."""
    allowed = [one for one in found if one.allowed]
    if allowed:
        return max(allowed, key=lambda one: (one.hit_ratio, -one.transfers))
    return min(found, key=lambda one: one.transfers)


@dataclass(frozen=True)
class Chosen:
    """What validation chose: a setting, its start, and float64[fragments] the profile of its queue."""

    setting: Setting
    start: Start
    profile: F64

    @classmethod
    def of(cls, setting: Setting, profile: F64, cases: Sequence[Case], limit: float) -> "Chosen":
        """A warm start where that hits more on the choosing blocks and makes no more transfers than it may."""
        cold, warm = ([case.virtual(setting, known) for case in cases] for known in (None, profile))
        hits = [fmean(run.half(judging=False).hit_ratio for run in runs) for runs in (cold, warm)]
        allowed = fmean(run.transfers for run in warm) <= limit
        return cls(setting, WARM if allowed and hits[1] > hits[0] else COLD, profile)

    def run(self, case: Case) -> Run:
        """Its cache on a trace."""
        return case.virtual(self.setting, self.profile if self.start == WARM else None)

    def settling(self, cases: Sequence[Case], judge: Judge, profile: F64 | None) -> float | None:
        """Page accesses until it hits as it will, from a profile or cold, mean over the traces; None: never on one."""
        found = []
        for case in cases:
            wanted = judge.steady * case.virtual(self.setting).settled
            found.append(case.virtual(self.setting, profile).reached(judge.window, wanted))
        known = [one for one in found if one is not None]
        return fmean(known) if len(known) == len(found) else None


def joined_half(runs: Sequence[Run], *, judging: bool) -> Run:
    """The blocks of time that choose, or those that judge, of several traces, one after the other.

    Each trace is halved by itself: blocks of all in a row would not be those of the traces, and so would judge page
    accesses that a setting was chosen by.

    Args:
        runs: one a trace.
        judging: those that judge.
    """
    halves = [run.half(judging=judging) for run in runs]
    return Run(np.concatenate([half.hit for half in halves]), np.concatenate([half.moved for half in halves]))


def judge(
    model: FittedModel, folder: Path, cases: Sequence[Case], settings: Settings
) -> tuple[Verdict, Validation, Chosen | None]:
    """The verdict on validation traces, and what was chosen.

    Args:
        model: the fitted model.
        folder: its own, with the profiles.
        cases: validation traces.
        settings: parameters.
    """
    own, reason = settings.judge, model.reason
    if not reason and not cases:
        reason = "the category has no validation trace"
    space = Space.of(cases, settings.fit, own) if not reason else None
    if space is None or space.reason:
        reason = reason or (space.reason if space is not None else "")
        verdict = Verdict(
            calibration={"capacity": settings.capacity}, policy=policy_of(COLD), validation={}, beats_baseline=False,
            reason=f"not judged: {reason}",
        )  # fmt: skip
        return verdict, Validation(reason=reason, plain={}, limit=0.0, searches=[], tried=0), None
    plains = {queue: [case.plain(queue) for case in cases] for queue in space.queues}
    choosing = {queue: joined_half(runs, judging=False) for queue, runs in plains.items()}
    rival = best_plain(choosing)
    limit = own.most_transfers * fmean(run.transfers for run in plains[rival])
    seeds = [derive_seed(model.seeds[CONTEXT], CONTEXT, number) for number in range(own.seeds)]
    searches = [search(space, cases, limit, seed) for seed in seeds]
    each = [best(found) for found in searches]
    setting = best(each).setting
    chosen = Chosen.of(setting, read_profile(folder, model, setting.queue, setting.pages), cases, limit)
    found = Validation(
        reason="",
        plain={queue: run.hit_ratio for queue, run in choosing.items()},
        limit=limit,
        searches=each,
        tried=len({one.setting for found in searches for one in found}),
    )
    return _verdict(chosen, rival, plains[rival], cases, settings, each), found, chosen


def _verdict(
    chosen: Chosen, rival: Queue, plain: Sequence[Run], cases: Sequence[Case], settings: Settings, each: Sequence[Tried]
) -> Verdict:
    """The lead over the best plain policy, whose runs are `plain`, on the judging blocks; transfers are trace means."""
    own, picked = settings.judge, best(each)
    runs = [chosen.run(case) for case in cases]
    heads = [case.head(chosen.setting.queue, chosen.setting.pages) for case in cases]
    mine, theirs, head = (joined_half(ran, judging=True).hit_ratio for ran in (runs, plain, heads))
    transfers, plain_transfers = (fmean(run.transfers for run in ran) for ran in (runs, plain))
    blocks, rivals = ([run.half(judging=True).hits.blocks for run in ran] for ran in (runs, plain))
    lead = over_trainings([blocks], rivals)
    reason = (
        f"{mine:.4f} hits a page access at {transfers:.4f} transfers, {rival} {theirs:.4f} at {plain_transfers:.4f}, "
        f"the queue's head alone {head:.4f}; 90 % interval of the lead [{lead.ends[0]:.4f}, {lead.ends[1]:.4f}]; "
        f"{chosen.setting}, {chosen.start} start"
    )
    return Verdict(
        calibration={
            "capacity": settings.capacity,
            "most_transfers": own.most_transfers,
            "hit_ratio": mine,
            "transfers": transfers,
            "plain_policy": rival,
            "plain_hit_ratio": theirs,
            "plain_transfers": plain_transfers,
        },
        policy=policy_of(chosen.start),
        validation={
            "choosing_hit_ratio": picked.hit_ratio,
            "hit_ratio": mine,
            "plain_hit_ratio": theirs,
            "head_hit_ratio": head,
            "difference_low": lead.low,
            "difference_high": lead.high,
            "transfers": transfers,
            "plain_transfers": plain_transfers,
            "searches_least_hit_ratio": min(one.hit_ratio for one in each),
            "cold_references": chosen.settling(cases, own, None),
            "warm_references": chosen.settling(cases, own, chosen.profile),
        },
        beats_baseline=lead.worth(own.least_gain) and picked.allowed,
        reason=reason if picked.allowed else f"no setting tried stays within the limit of transfers; {reason}",
    )


def read_validation(folder: Path) -> Validation:
    """`judged.json` of a trained model's folder, see `cachezoo.metrics.files.read`."""
    return read(folder / JUDGED_FILE, Validation)


def judge_virtual(params: "Params", category: str) -> None:
    """Stage judge_virtual, one job: write `models/trained/virtual/virtual.<category>.<arch>/`."""
    settings = Settings.of(params, category)
    name = model_id(category, settings.arch)
    fitted = read_fitted(paths.fitted(name), "virtual")
    keys, fragment = settings.roles.get("validation", []), int(fitted.learned["fragment"])
    cases = Case.read(category, keys, settings.capacity, fragment)
    verdict, found, chosen = judge(fitted, paths.fitted(name), cases, settings)
    # Without a setting there is nothing to ship; its arch stays that of the fit.
    update = {"trained": False} if chosen is None else {"arch": chosen.setting.arch(fragment)}
    inputs = {str(path): sha256_file(path) for path in (paths.requests(category, key) for key in keys)}
    with atomic_dir(paths.trained(name)) as folder:
        model = fitted.model_copy(update=update)
        TrainedModel.of(model, verdict, inputs, trace_uses([], cases)).write(folder)
        write_json(folder / JUDGED_FILE, found.model_dump(mode="json"))
        (folder / FILE).write_bytes(to_bytes(chosen.profile if chosen is not None else np.zeros(1)))

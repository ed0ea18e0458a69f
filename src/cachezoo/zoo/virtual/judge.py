"""Tunes a category's virtual cache on validation, and judges it beside the plain policies of its queues.

Half of the blocks of time choose by their hits, the others judge; transfers are those of the whole. Several searches,
each of another seed, try settings from a cold start; the best of them all is the model, and the start, cold or warm, is
chosen for it. It beats its baseline where the 90 % interval of its lead in hit ratio over the plain policy that the
choosing blocks choose is above 0, and the lead is worth having.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.contest.lead import over_trainings
from cachezoo.documents import Document, Figures
from cachezoo.io import atomic_dir, sha256_file, write_json
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import read
from cachezoo.models.trained import FittedModel, TrainedModel, Verdict, read_fitted, trace_uses
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.base import Part
from cachezoo.settings.data import Roles
from cachezoo.zoo.virtual.bench import Bench, Run
from cachezoo.zoo.virtual.fit import CONTEXT, model_id, read_profile
from cachezoo.zoo.virtual.metrics import Queue, Setting, Start, Tried
from cachezoo.zoo.virtual.profile import FILE, to_bytes
from cachezoo.zoo.virtual.rivals import best_plain, plain
from cachezoo.zoo.virtual.settings import Fit, Judge
from cachezoo.zoo.virtual.starts import reached, steady
from cachezoo.zoo.virtual.stated import policy_of
from cachezoo.zoo.virtual.tune import Space, best, search

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

JUDGED_FILE = "judged.json"


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    judge: Annotated[Judge, At("judge.virtual")]
    fit: Annotated[Fit, At("fit.virtual")]
    arch: Annotated[str, At("model.virtual.arch")]
    capacity: Annotated[Part, At("evaluate.capacity_fraction")]
    roles: Annotated[Roles, At("data.roles.{category}")]


class Judged(Document):
    """What validation says; the file judged.json of a trained model."""

    reason: Annotated[str, Means("why nothing was judged; empty where something was")]
    plain: Annotated[
        dict[str, float],
        Each("a plain policy", "policy", "policy", "hit ratio on the choosing blocks", "ratio", "", "sometimes"),
    ]
    limit: Annotated[float, Means("transfers that a setting may make", "pages per page access")]
    searches: Annotated[list[Tried], Each("one search: what it chose", "place in the list", presence="sometimes")]
    tried: Annotated[int, Means("settings in all searches, each counted once")]


@dataclass(frozen=True)
class Chosen:
    """What validation chose.

    Attributes:
        setting: of the cache.
        start: cold or warm.
        profile: float64[fragments] of its queue.
    """

    setting: Setting
    start: Start
    profile: F64

    def run(self, bench: Bench) -> Run:
        """Its cache on a trace."""
        return bench.virtual(self.setting, self.profile if self.start == "warm" else None)


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


def _chosen_start(setting: Setting, profile: F64, benches: Sequence[Bench], limit: float) -> Start:
    """Warm where that hits more on the choosing blocks and makes no more transfers than it may."""
    cold, warm = ([bench.virtual(setting, known) for bench in benches] for known in (None, profile))
    hits = [fmean(run.half(judging=False).hit_ratio for run in runs) for runs in (cold, warm)]
    allowed = fmean(run.transfers for run in warm) <= limit
    better = hits[1] > hits[0]
    return "warm" if allowed and better else "cold"


def judge(
    model: FittedModel, folder: Path, benches: Sequence[Bench], settings: Settings
) -> tuple[Verdict, Judged, Chosen | None]:
    """The verdict on validation traces, and what was chosen.

    Args:
        model: the fitted model.
        folder: its own, with the profiles.
        benches: validation traces.
        settings: parameters.
    """
    own, reason = settings.judge, model.reason
    if not reason and not benches:
        reason = "the category has no validation trace"
    space = Space.of(benches, settings.fit, own) if not reason else None
    reason = reason or (space.reason if space is not None else "")
    if reason or space is None:
        return *_not_judged(reason, settings.capacity), None
    plains = {queue: [plain(bench, queue) for bench in benches] for queue in space.queues}
    choosing = {queue: joined_half(runs, judging=False) for queue, runs in plains.items()}
    rival = best_plain(choosing)
    limit = own.most_transfers * fmean(run.transfers for run in plains[rival])
    seeds = [derive_seed(model.seeds[CONTEXT], CONTEXT, number) for number in range(own.seeds)]
    searches = [search(space, benches, limit, seed) for seed in seeds]
    each = [best(found) for found in searches]
    top = best(each)
    profile = read_profile(folder, model, top.setting.queue, top.setting.pages)
    start = _chosen_start(top.setting, profile, benches, limit)
    chosen = Chosen(top.setting, start, profile)
    judged = Judged(
        reason="",
        plain={queue: run.hit_ratio for queue, run in choosing.items()},
        limit=limit,
        searches=each,
        tried=len({one.setting for found in searches for one in found}),
    )
    return _verdict(chosen, rival, plains[rival], benches, model, settings, each), judged, chosen


def _verdict(
    chosen: Chosen, rival: Queue, beside: Sequence[Run], benches: Sequence[Bench], model: FittedModel,
    settings: Settings, each: Sequence[Tried],
) -> Verdict:  # fmt: skip
    """The lead over the best plain policy, `beside`, on the judging blocks; transfers are means over the traces."""
    own = settings.judge
    ran = [chosen.run(bench) for bench in benches]
    mine, theirs = (joined_half(runs, judging=True) for runs in (ran, beside))
    transfers, plain_transfers = (fmean(run.transfers for run in runs) for runs in (ran, beside))
    lead = over_trainings([[run.blocks(judging=True) for run in ran]], [run.blocks(judging=True) for run in beside])
    picked, asked = best(each), chosen.setting
    cold, warm = _starts(chosen, benches, own)
    heads = [bench.head(asked.queue, asked.pages) for bench in benches]
    head = joined_half(heads, judging=True)
    validation: Figures = {
        "choosing_hit_ratio": picked.hit_ratio,
        "hit_ratio": mine.hit_ratio,
        "plain_hit_ratio": theirs.hit_ratio,
        "head_hit_ratio": head.hit_ratio,
        "difference_low": lead.low,
        "difference_high": lead.high,
        "transfers": transfers,
        "plain_transfers": plain_transfers,
        "searches_least_hit_ratio": min(one.hit_ratio for one in each),
        "cold_references": cold,
        "warm_references": warm,
    }
    told = (
        f"{mine.hit_ratio:.4f} hits a page access at {transfers:.4f} transfers, {rival} {theirs.hit_ratio:.4f} at "
        f"{plain_transfers:.4f}, the queue's head alone {head.hit_ratio:.4f}; 90 % interval of the lead "
        f"[{lead.ends[0]:.4f}, {lead.ends[1]:.4f}]; {asked.said}, {chosen.start} start"
    )
    within = "" if picked.allowed else "no setting tried stays within the limit of transfers; "
    return Verdict(
        calibration={
            "capacity": settings.capacity,
            "most_transfers": own.most_transfers,
            "hit_ratio": mine.hit_ratio,
            "transfers": transfers,
            "plain_policy": rival,
            "plain_hit_ratio": theirs.hit_ratio,
            "plain_transfers": plain_transfers,
        },
        policy=policy_of(chosen.start),
        validation=validation,
        beats_baseline=lead.worth(own.least_gain) and picked.allowed,
        reason=within + told,
    )


def _starts(chosen: Chosen, benches: Sequence[Bench], own: Judge) -> tuple[float | None, float | None]:
    """Page accesses of a cold and of a warm start, means over the traces; None where one was never over."""
    cold, warm = [], []
    for bench in benches:
        first = bench.virtual(chosen.setting)
        look = (own.window, own.steady, steady(first))
        cold.append(reached(first, *look))
        warm.append(reached(bench.virtual(chosen.setting, chosen.profile), *look))
    return _mean(cold), _mean(warm)


def _mean(references: Sequence[int | None]) -> float | None:
    """Over traces; None where a start was never over on one of them."""
    known = [one for one in references if one is not None]
    return fmean(known) if len(known) == len(references) else None


def _not_judged(reason: str, capacity: float) -> tuple[Verdict, Judged]:
    """The same where there is nothing to judge on."""
    verdict = Verdict(
        calibration={"capacity": capacity}, policy=policy_of("cold"), validation={}, beats_baseline=False,
        reason=f"not judged: {reason}",
    )  # fmt: skip
    return verdict, Judged(reason=reason, plain={}, limit=0.0, searches=[], tried=0)


def read_judged(folder: Path) -> Judged:
    """`judged.json` of a trained model's folder, see `cachezoo.metrics.files.read`."""
    return read(folder / JUDGED_FILE, Judged)


def judge_virtual(params: "Params", category: str) -> None:
    """Stage judge_virtual, one job: write `models/trained/virtual/virtual.<category>.<arch>/`."""
    settings = Settings.of(params, category)
    name = model_id(category, settings.arch)
    fitted = read_fitted(paths.fitted(name), "virtual")
    keys, fragment = settings.roles.get("validation", []), int(fitted.learned["fragment"])
    benches = Bench.read(category, keys, settings.capacity, fragment)
    verdict, judged, chosen = judge(fitted, paths.fitted(name), benches, settings)
    # Without a setting there is nothing to ship; its arch stays that of the fit.
    update = {"trained": False} if chosen is None else {"arch": chosen.setting.arch(fragment)}
    inputs = {str(path): sha256_file(path) for path in (paths.requests(category, key) for key in keys)}
    with atomic_dir(paths.trained(name)) as folder:
        model = fitted.model_copy(update=update)
        TrainedModel.of(model, verdict, inputs, trace_uses([], benches)).write(folder)
        write_json(folder / JUDGED_FILE, judged.model_dump(mode="json"))
        (folder / FILE).write_bytes(to_bytes(chosen.profile if chosen is not None else np.zeros(1)))

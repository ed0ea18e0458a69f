"""Judges a category's caching model: is it better than the best classic? Its cache is run on validation, in all ways.

A candidate is a network of the fit, an oracle to imitate, a threshold and the manager's rules. The counted accesses of
each validation trace are cut into time blocks: every other one chooses, the verdict is spoken on the rest, so that the
choice cannot flatter it. Each cache runs on through both kinds of blocks: its state at a block's start comes from the
block before. (Choosing on a first half alone was tried: what is best while counts are young was worst later.)

One training is an anecdote, so the verdict is on all networks, each run in its own best way. The rival is the classic
that hits most in the choosing blocks: it is chosen as freely. The lower end of the 90 % interval of the mean lead over
it, over seeds and blocks, has to be above 0, and the lead has to be worth having. Fewer than five networks have no
verdict.

The network that is shipped then gets a threshold and a queue rule for each of several sizes: `by_capacity`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32, F64, U8
from cachezoo.contest.blocks import BLOCKS, block_means, halves
from cachezoo.contest.lead import Mean, over_trainings
from cachezoo.devices.responses import read_responses
from cachezoo.io import sha256_file
from cachezoo.models.trained import FittedModel, TrainedModel, Verdict, read_fitted
from cachezoo.traces.pages import capacity_pages, percent
from cachezoo.training.fitted import folder_of, read_networks, write_judged_lstm
from cachezoo.zoo.caching.by_capacity import by_capacity
from cachezoo.zoo.caching.candidates import Candidate
from cachezoo.zoo.caching.case import Case, Settings, case_of, classic_hits
from cachezoo.zoo.caching.closed_loop import EVEN_ODDS, ClosedLoop, Ran, Tried, base_policy, pooled
from cachezoo.zoo.caching.infer import one_teacher
from cachezoo.zoo.caching.metrics import label_metrics, oracle_figures
from cachezoo.zoo.caching.objective import best_of
from cachezoo.zoo.caching.prepared import Prepared, read_prepared

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

LEAST_SEEDS = 5


@dataclass(frozen=True)
class Choice:
    """What validation says of the candidates."""

    chosen: Candidate  # the best candidate
    # By rising size: its share of the working set as `capacity`, `ratio_log2`, threshold and queue rule, and what they
    # reach on the choosing blocks.
    by_capacity: list[dict[str, Any]]
    # For each network, oracle and rules the best threshold, with its `hit_ratio` on the choosing blocks and the pages
    # written on the whole.
    candidates: list[dict[str, Any]]
    curve: list[dict[str, Any]]  # every threshold with the chosen network, oracle and rules
    figures: dict[str, float | None]  # for train.json, on the judging blocks
    beats: bool  # the paired lead over the chosen classic, over seeds and blocks, is above 0 and worth having
    oracle_beats_classic: bool  # the oracle that was imitated hits at least as often as the chosen classic
    reason: str  # one line


def _mean(rows: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in rows[0]:
        values = [value for row in rows if (value := row[name]) is not None]
        means[name] = float(np.mean(values)) if values else None
    return means


@dataclass(frozen=True)
class _Rivals:
    """The classic that the choosing blocks choose, and the one with the most hits on the judging blocks, in hindsight.

    Attributes:
        chosen, best: their names.
        hits: of each classic, uint8[m] on the judging blocks of each trace.
    """

    chosen: str
    best: str
    hits: dict[str, list[U8]]

    @classmethod
    def of(cls, cases: Sequence[Case]) -> "_Rivals":
        names = sorted(cases[0].classics)
        sides = {name: [halves(case.classics[name]) for case in cases] for name in names}
        judged = {name: [side[1] for side in sides[name]] for name in names}
        chosen = max(names, key=lambda name: pooled([side[0] for side in sides[name]]))
        return cls(chosen, max(names, key=lambda name: pooled(judged[name])), judged)


def lead_of(networks: Sequence[Sequence[U8]], classic: Sequence[U8]) -> Mean:
    """The networks' mean hit ratio less a classic's, mean of the traces.

    Of each network, and of the classic, the hits uint8[m] on the judging blocks of each trace.
    """
    return over_trainings(
        [[block_means(hits, BLOCKS) for hits in traces] for traces in networks],
        [block_means(hits, BLOCKS) for hits in classic],
    )


def try_network(
    network: int, model: FittedModel, weights: Mapping[str, F32], cases: Sequence[Case], settings: Settings
) -> Tried:
    """Run a network in every way on every trace, at the judged size."""
    loop = ClosedLoop.of(network, model, weights, settings)
    return loop.tried(cases, [loop.see(case) for case in cases], settings.manager.capacity, settings.manager.on_hit)


def choose(
    model: FittedModel, networks: Sequence[Mapping[str, F32]], parts: Sequence[Prepared], held_out: bool,
    settings: Settings, times: Mapping[str, tuple[F64, F64]] | None = None,
) -> Choice:  # fmt: skip
    """Choose among the candidates and compare with the best classic on the same page accesses.

    The weights have the heads of all teachers in the order of `learned.teachers`. `held_out` is False where the parts
    are the train traces, for want of others: then nothing is claimed. `times` are those on the disk and the SSD of each
    part's requests, by its key, where response times choose.
    """
    options = settings.judge
    cases = [case_of(part, settings, (times or {}).get(part.key)) for part in parts]
    tried = [try_network(place, model, weights, cases, settings) for place, weights in enumerate(networks)]
    best = tried[best_of([one.row for one in tried], options.objective, options.least_gain)]
    chosen = best.chosen
    shipped = ClosedLoop.of(chosen.network, model, networks[chosen.network], settings, chosen.teacher)
    sized = by_capacity(shipped, best, cases)
    rivals = _Rivals.of(cases)

    def judged(runs: Sequence[Ran]) -> list[U8]:
        return [halves(run.hits)[1] for run in runs]

    mine = [judged(sized.runs if one is best else one.runs) for one in tried]
    ratios = [pooled(hits) for hits in mine]
    lead = lead_of(mine, rivals.hits[rivals.chosen])
    policies = {**base_policy(model, settings), "on_hit": chosen.on_hit, "queues": chosen.queues}
    tags = [_tag_metrics(case.part, run, chosen, settings) for case, run in zip(cases, sized.runs, strict=True)]
    figures: dict[str, float | None] = {
        "hit_ratio": pooled(judged(sized.runs)),
        "paper_rules_hit_ratio": None if best.paper is None else pooled(judged(best.paper)),
        "seeds": float(len(tried)),
        "seeds_hit_ratio_mean": float(np.mean(ratios)),
        "seeds_hit_ratio_sd": float(np.std(ratios, ddof=1)) if len(ratios) > 1 else None,
        "best_classic_hit_ratio": pooled(rivals.hits[rivals.best]),
        "chosen_classic_hit_ratio": pooled(rivals.hits[rivals.chosen]),
        "optimum_hit_ratio": pooled([halves(case.optimum)[1] for case in cases]),
        "difference_low": lead.low,
        "difference_high": lead.high,
        **_mean(tags),
        **_mean([_ceilings(part, chosen, policies, settings) for part in parts]),
        "oracle_classic_hit_ratio": _mean([_whole(part, rivals.chosen, settings) for part in parts])[rivals.chosen],
    }
    ceiling, floor = figures["oracle_decided_hit_ratio"], figures["oracle_classic_hit_ratio"]
    able = ceiling is not None and floor is not None and ceiling >= floor
    beats, reason = _verdict(figures, rivals.chosen, held_out, able, settings.judge.least_gain)
    kinds = [rows for one in tried for rows in one.kinds()]
    table = [rows[best_of(rows, options.objective, options.least_gain)] for rows in kinds]
    return Choice(chosen, sized.entries, table, best.curve(), figures, beats, able, reason)


def _tag_metrics(part: Prepared, run: Ran, chosen: Candidate, settings: Settings) -> dict[str, float | None]:
    """The model's tags against the chosen oracle's."""
    tags = part.labels.tags[chosen.teacher, percent(settings.manager.capacity)]
    return label_metrics(run.outputs, tags, chosen.threshold)


def _ceilings(
    part: Prepared, chosen: Candidate, policies: Mapping[str, Any], settings: Settings
) -> dict[str, float | None]:
    """What the chosen oracle reaches."""
    fraction = settings.manager.capacity
    key = (chosen.teacher, percent(fraction))
    capacity = capacity_pages(fraction, part.pages.n_pages)
    return oracle_figures(part.labels, key, part.trace, part.pages, capacity, policies)


def _whole(part: Prepared, rival: str, settings: Settings) -> dict[str, float | None]:
    """The rival's hit ratio, warm-up included, as the oracles' are counted."""
    capacity = capacity_pages(settings.manager.capacity, part.pages.n_pages)
    return {name: float(hits.mean()) for name, hits in classic_hits(part, [rival], capacity)}


def _verdict(figures: Mapping[str, Any], rival: str, held_out: bool, able: bool, least: float) -> tuple[bool, str]:
    mine, theirs, seeds = figures["seeds_hit_ratio_mean"], figures["chosen_classic_hit_ratio"], int(figures["seeds"])
    over = "one seed" if seeds == 1 else f"{seeds} seeds"
    against = (
        f"page hit ratio {mine:.4f} over {over} against {rival}'s {theirs:.4f} on the judging blocks of validation"
    )
    span = f"90 % interval of the difference {figures['difference_low']:.4f} to {figures['difference_high']:.4f}"
    if not held_out:
        return False, "not judged: the category has no validation trace, so the train traces chose the threshold"
    if not able:
        ceiling = figures["oracle_decided_hit_ratio"]
        return False, f"the oracle it imitates reaches {ceiling:.4f}, less than {rival} on validation; {against}"
    if seeds < LEAST_SEEDS:
        return False, f"not promoted: {over}, and a verdict takes {LEAST_SEEDS} (fit.caching.seeds); {against}, {span}"
    if figures["difference_low"] <= 0:
        return False, f"no better than the best classic: {against}, {span}"
    if mine - theirs < least:
        return False, f"a gain of {mine - theirs:.4f} is too small to matter: {against}, {span}"
    return True, f"{against}, {span}"


def judge(
    model: FittedModel, networks: Sequence[Mapping[str, F32]], parts: Sequence[Prepared], held_out: bool,
    settings: Settings, times: Mapping[str, tuple[F64, F64]] | None = None,
) -> tuple[Verdict, Candidate]:  # fmt: skip
    """Judge a fitted model.

    The weights have the heads of all teachers. Where there are no validation traces (`held_out`), the parts are the
    train traces. `times` as of `choose`.

    Returns:
        The verdict, and the candidate to ship: whose network and heads are kept.
    """
    policies, manager = base_policy(model, settings), settings.manager
    calibration: dict[str, Any] = {"capacity": manager.capacity, "capacities": model.learned["capacities"]}
    if not model.trained:
        first = Candidate(0, model.learned["teachers"][0], manager.on_hit[0], manager.queues[0], EVEN_ODDS)
        calibration |= {"threshold": first.threshold, "teacher": first.teacher, "network": first.network}
        untrained = Verdict(
            calibration=calibration, policy=policies, validation={}, beats_baseline=False, reason=model.reason
        )
        return untrained, first
    found = choose(model, networks, parts, held_out, settings, times)
    chosen = found.chosen
    calibration |= {
        "threshold": chosen.threshold,
        "teacher": chosen.teacher,
        "network": chosen.network,
        "objective": settings.judge.objective,
        "by_capacity": found.by_capacity,
        "candidates": found.candidates,
        "thresholds": found.curve,
        "calibrated_on": "validation" if held_out else "train",
        "oracle_beats_classic": found.oracle_beats_classic,
    }
    verdict = Verdict(
        calibration=calibration,
        policy={**policies, "on_hit": chosen.on_hit, "queues": chosen.queues},
        validation={**found.figures, **model.figures},
        beats_baseline=found.beats,
        reason=found.reason,
    )
    return verdict, chosen


def judge_caching(
    params: "Params", category: str, fitted_root: Path = paths.FITTED, trained_root: Path = paths.TRAINED
) -> None:
    """Stage judge_caching, one job: write `caching/caching.<category>.<arch>/`, with the chosen heads.

    Args:
        params: of the project.
        category: whose model is judged.
        fitted_root: where the fitted models lie.
        trained_root: where the judged ones go.

    Raises:
        TrainingError: there is no readable fitted model.
        TraceError: a trace, its labels or, where they choose, its response times are missing or damaged.
    """
    settings = Settings.of(params, category)
    name = f"caching.{category}.{settings.arch}"
    folder = paths.fitted(name, fitted_root)
    fitted = read_fitted(folder, "caching")
    networks = read_networks(folder, fitted)
    held = settings.roles.get("validation", [])
    parts, inputs = read_prepared(category, held or settings.roles.get("train", []), settings.label)
    times = {}
    if settings.judge.objective == "response":
        for part in parts:
            path = paths.responses(category, part.key)
            times[part.key] = read_responses(path, len(part.trace))
            inputs[str(path)] = sha256_file(path)
    verdict, chosen = judge(fitted, networks, parts, bool(held), settings, times)
    model = TrainedModel.of(fitted, verdict, inputs)
    kept = one_teacher(networks[chosen.network], fitted.learned["teachers"].index(chosen.teacher))
    write_judged_lstm(paths.trained(name, trained_root), folder_of(folder, chosen.network), model, kept)

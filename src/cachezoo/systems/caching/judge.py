"""Judges a category's caching model: is it better than the best classic? Its cache is run on validation, in all ways.

A candidate is an oracle to imitate, a threshold and the manager's rules. The counted accesses of each validation trace
are cut into time blocks: every other one chooses, the verdict is spoken on the rest, so that the choice cannot flatter
it. Each cache runs on through both kinds of blocks: its state at a block's start comes from the block before.
(Choosing on a first half alone was tried: what is best while counts are young was worst later.)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.console import Advance, progress
from cachezoo.kernels.manager_limits import Cache
from cachezoo.kernels.outcome import HIT
from cachezoo.labels.tags import Labels, Tags
from cachezoo.measures.bootstrap import interval, resampled_ratios
from cachezoo.models.trained import FittedModel, TrainedModel, Verdict, read_fitted
from cachezoo.models.weights import read_weights
from cachezoo.params import At, Picked
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import BenefitLabel, ClassicsPolicy, ManagerPolicy
from cachezoo.systems.caching.blocks import first_requests, halves
from cachezoo.systems.caching.infer import one_teacher, teacher_outputs, torch_serving
from cachezoo.systems.caching.metrics import PAPER_RULES, label_metrics, oracle_figures
from cachezoo.systems.caching.prepared import Prepared, read_prepared
from cachezoo.systems.caching.serve import CachingServing, Served
from cachezoo.systems.caching.settings import Judge
from cachezoo.traces.pages import capacity_pages, percent
from cachezoo.traces.warmup import auto_warmup
from cachezoo.training.fitted import write_judged_lstm

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]
CONTEXT = "train_caching"


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    label: Annotated[BenefitLabel, At("label.benefit")]
    manager: Annotated[ManagerPolicy, At("policy.manager")]
    classics: Annotated[ClassicsPolicy, At("policy.classics")]
    judge: Annotated[Judge, At("judge.caching")]
    arch: Annotated[str, At("model.caching.arch")]
    roles: Annotated[Roles, At("data.roles.{category}")]


@dataclass(frozen=True)
class Candidate:
    """One way to run the model's cache."""

    teacher: str
    on_hit: str
    queues: str
    threshold: float

    @property
    def kind(self) -> tuple[str, str, str]:
        """What it is but for the threshold."""
        return self.teacher, self.on_hit, self.queues

    def cache(self, capacity: int) -> Cache:
        """The cache that it runs."""
        return Cache(capacity, self.threshold, self.on_hit, self.queues)


@dataclass(frozen=True)
class Choice:
    """What validation says of the candidates.

    Attributes:
        chosen: the best candidate.
        candidates: for each oracle and rules the best threshold, with its `hit_ratio` on the choosing blocks and the
            pages written on the whole.
        curve: every threshold with the chosen oracle and rules.
        figures: for train.json, on the judging blocks.
        beats: the paired difference to the best classic lies above 0.
        oracle_beats_classic: the oracle that was imitated hits at least as often as the best classic.
        reason: one line.
    """

    chosen: Candidate
    candidates: list[dict[str, Any]]
    curve: list[dict[str, Any]]
    figures: dict[str, float | None]
    beats: bool
    oracle_beats_classic: bool
    reason: str


@dataclass(frozen=True)
class _Simulated:
    """One judged trace: hits after warm-up of every candidate, classic and the optimum."""

    hits: list[U8]
    written: list[int]
    outputs: dict[str, F32]
    classics: dict[str, U8]
    optimum: U8


def _shortened(part: Prepared, requests: int) -> Prepared:
    """The first requests; the working set, and so the capacity, stays the whole trace's."""
    pages = first_requests(part.pages, requests)
    tags = {key: Tags(own.bits[:requests]) for key, own in part.labels.tags.items()}
    labels: Labels = replace(part.labels, tags=tags)
    return replace(part, trace=part.trace.rows(0, requests), pages=pages, labels=labels)


def _fed_back(
    serving: CachingServing, part: Prepared, candidates: list[Candidate], capacity: int, advance: Advance
) -> tuple[list[Served], dict[str, F32]]:
    """All candidates in lockstep; the outputs are those of the middle one."""
    caches = [candidate.cache(capacity) for candidate in candidates]
    served = serving.run(batch_of(part.trace), part.pages, caches, keep=True, advance=advance)
    return [served], {candidates[0].teacher: served.outputs[len(caches) // 2]}


def _open_loop(
    serving: CachingServing, part: Prepared, candidates: list[Candidate], capacity: int, outputs: F32
) -> tuple[list[Served], dict[str, F32]]:
    """Each teacher's candidates together, by outputs float32[n, 1, K, 4] that no cache enters."""
    runs, of_teacher = [], {}
    for k, teacher in enumerate(dict.fromkeys(candidate.teacher for candidate in candidates)):
        caches = [candidate.cache(capacity) for candidate in candidates if candidate.teacher == teacher]
        lane_of = np.zeros(len(caches), np.int64)
        own = np.ascontiguousarray(outputs[:, :, k])
        runs.append(serving.serve(part.trace.op, part.pages, caches, own, lane_of))
        of_teacher[teacher] = own[:, 0]
    return runs, of_teacher


def _simulate(
    part: Prepared, model: FittedModel, weights: Mapping[str, F32], candidates: list[Candidate], settings: Settings
) -> _Simulated:
    capacity, threads = capacity_pages(settings.manager.capacity, part.pages.n_pages), int(model.arch["threads"])
    policies, calibration = base_policy(model, settings), {"threshold": candidates[0].threshold}
    values = model.model_dump(mode="json")
    serving = torch_serving(values, policies, calibration, one_teacher(weights, 0), threads)
    with progress(f"{model.model_id}: cache on {part.key}", len(part.trace)) as advance:
        if serving.fed_back:
            runs, outputs = _fed_back(serving, part, candidates, capacity, advance)
        else:
            rows = serving.inputs(batch_of(part.trace), part.pages, [capacity])
            every = teacher_outputs(weights, rows, threads, serving.reset_every, advance)
            runs, outputs = _open_loop(serving, part, candidates, capacity, every)
    warmup = auto_warmup(part.pages, capacity)
    names = [*classics(), *tuned_classics(settings.classics), OPTIMUM]
    rivals = {name: hits[warmup:] for name, hits in classic_hits(part, names, capacity)}
    optimum = rivals.pop(OPTIMUM)
    hits = [run.hits(lane)[warmup:] for run in runs for lane in range(len(run.totals))]
    written = [row["ssd_writes"] for run in runs for row in run.totals]
    return _Simulated(hits, written, outputs, rivals, optimum)


def classic_hits(part: Prepared, names: Sequence[str], capacity: int) -> Iterator[tuple[str, U8]]:
    """Each policy's page hits, uint8[m], on the very stream that the evaluation of a category runs it on."""
    simulator = Simulator(part.trace, part.pages)
    for name in names:
        yield name, (simulator.run(name, capacity, 0).outcome == HIT).astype(np.uint8)


def _pooled(hits: Sequence[U8]) -> float:
    return float(sum(int(h.sum()) for h in hits) / sum(len(h) for h in hits))


def _mean(rows: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in rows[0]:
        values = [value for row in rows if (value := row[name]) is not None]
        means[name] = float(np.mean(values)) if values else None
    return means


def choose(
    model: FittedModel, weights: Mapping[str, F32], parts: Sequence[Prepared], held_out: bool, settings: Settings
) -> Choice:
    """Choose among the candidates and compare with the best classic on the same page accesses.

    Args:
        model: the fitted model.
        weights: the network's, with the heads of all teachers in the order of `learned.teachers`.
        parts: validation traces.
        held_out: False where they are the train traces, for want of others: then nothing is claimed.
        settings: parameters.
    """
    manager, options = settings.manager, settings.judge
    candidates = [
        Candidate(teacher, on_hit, queues, threshold)
        for teacher in model.learned["teachers"] for on_hit in manager.on_hit for queues in manager.queues
        for threshold in options.thresholds
    ]  # fmt: skip
    simulated = [_shortened(part, options.closed_loop_requests) for part in parts]
    runs = [_simulate(part, model, weights, candidates, settings) for part in simulated]
    blocks = options.blocks

    def judged(hits: U8) -> U8:
        return halves(hits, blocks)[1]

    ratios = [_pooled([halves(run.hits[k], blocks)[0] for run in runs]) for k in range(len(candidates))]
    written = [sum(run.written[k] for run in runs) for k in range(len(candidates))]

    def best_of(some: Sequence[int]) -> int:
        return max(some, key=lambda k: (ratios[k], candidates[k].threshold))

    best = best_of(range(len(candidates)))
    chosen = candidates[best]
    paper = [k for k, candidate in enumerate(candidates) if (candidate.on_hit, candidate.queues) == PAPER_RULES]
    names = sorted(runs[0].classics)
    rivals = {name: _pooled([judged(run.classics[name]) for run in runs]) for name in names}
    rival = max(names, key=lambda name: rivals[name])
    choice = max(names, key=lambda name: _pooled([halves(run.classics[name], blocks)[0] for run in runs]))
    mine = np.concatenate([judged(run.hits[best]) for run in runs])
    theirs = np.concatenate([judged(run.classics[rival]) for run in runs])
    seed = model.seeds[CONTEXT]
    resampled = [resampled_ratios(hits, blocks, options.bootstrap_samples, seed) for hits in (mine, theirs)]
    low, high = interval(resampled[0] - resampled[1])
    policies = {**base_policy(model, settings), "on_hit": chosen.on_hit, "queues": chosen.queues}
    figures: dict[str, float | None] = {
        "hit_ratio": float(mine.mean()),
        "paper_rules_hit_ratio": _pooled([judged(run.hits[best_of(paper)]) for run in runs]) if paper else None,
        "best_classic_hit_ratio": rivals[rival],
        "chosen_classic_hit_ratio": rivals[choice],
        "optimum_hit_ratio": _pooled([judged(run.optimum) for run in runs]),
        "difference_low": low,
        "difference_high": high,
        **_mean([_tag_metrics(part, run, chosen, settings) for part, run in zip(simulated, runs, strict=True)]),
        **_mean([_ceilings(part, chosen, policies, settings) for part in parts]),
        "oracle_best_classic_hit_ratio": _mean([_whole(part, rival, settings) for part in parts])[rival],
    }
    ceiling, floor = figures["oracle_decided_hit_ratio"], figures["oracle_best_classic_hit_ratio"]
    able = ceiling is not None and floor is not None and ceiling >= floor
    beats, reason = _verdict(figures, rival, held_out, able)
    table = [
        {**asdict(candidate), "hit_ratio": ratio, "ssd_writes": count}
        for candidate, ratio, count in zip(candidates, ratios, written, strict=True)
    ]
    groups = [
        [k for k, candidate in enumerate(candidates) if candidate.kind == kind]
        for kind in dict.fromkeys(candidate.kind for candidate in candidates)
    ]
    curve = [table[k] for group in groups if best in group for k in group]
    return Choice(chosen, [table[best_of(group)] for group in groups], curve, figures, beats, able, reason)


def _tag_metrics(part: Prepared, run: _Simulated, chosen: Candidate, settings: Settings) -> dict[str, float | None]:
    """The model's tags against the chosen oracle's."""
    tags = part.labels.tags[chosen.teacher, percent(settings.manager.capacity)]
    return label_metrics(run.outputs[chosen.teacher], tags, chosen.threshold)


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


def _verdict(figures: Mapping[str, Any], rival: str, held_out: bool, able: bool) -> tuple[bool, str]:
    mine, theirs = figures["hit_ratio"], figures["best_classic_hit_ratio"]
    against = f"page hit ratio {mine:.4f} against {rival}'s {theirs:.4f} on the judging blocks of validation"
    span = f"90 % interval of the difference {figures['difference_low']:.4f} to {figures['difference_high']:.4f}"
    if not held_out:
        return False, "not judged: the category has no validation trace, so the train traces chose the threshold"
    if not able:
        ceiling = figures["oracle_decided_hit_ratio"]
        return False, f"the oracle it imitates reaches {ceiling:.4f}, less than {rival} on validation; {against}"
    if figures["difference_low"] <= 0:
        return False, f"no better than the best classic: {against}, {span}"
    return True, f"{against}, {span}"


def base_policy(model: FittedModel, settings: Settings) -> dict[str, Any]:
    """How a runtime uses the outputs, with the first of the candidate rules."""
    learned, manager = model.learned, settings.manager
    return {
        "type": "three_queue_manager",
        "state": learned["state"],
        "sequence": learned["sequence"],
        "memory": learned["memory"],
        "demote_capacities": manager.demote_capacities,
        "protected_percent": manager.protected_percent,
        "fill_free": manager.fill_free,
        "on_hit": manager.on_hit[0],
        "queues": manager.queues[0],
        "decide": "admitted iff cached >= calibration.threshold; queues three: to the likeliest of soon, mean, late; "
        "queues single: to mean; on_hit requeue: hits are decided on too",
        "capacity_ratio_log2": learned["capacity_ratio_log2"],
    }


def judge(
    model: FittedModel, weights: Mapping[str, F32], parts: Sequence[Prepared], held_out: bool, settings: Settings
) -> tuple[Verdict, str]:
    """Judge a fitted model.

    Args:
        model: the fitted model.
        weights: the network's, with the heads of all teachers.
        parts: validation traces; where there are none the train traces.
        held_out: they are validation traces.
        settings: parameters.

    Returns:
        The verdict, and the teacher whose heads are kept.
    """
    policies = base_policy(model, settings)
    calibration: dict[str, Any] = {"capacity": settings.manager.capacity, "capacities": model.learned["capacities"]}
    if not model.trained:
        teacher = model.learned["teachers"][0]
        calibration |= {"threshold": settings.judge.thresholds[0], "teacher": teacher}
        untrained = Verdict(
            calibration=calibration, policy=policies, validation={}, beats_baseline=False, reason=model.reason
        )
        return untrained, teacher
    found = choose(model, weights, parts, held_out, settings)
    chosen = found.chosen
    calibration |= {
        "threshold": chosen.threshold,
        "teacher": chosen.teacher,
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
    return verdict, chosen.teacher


def judge_caching(params: "Params", category: str) -> None:
    """Stage judge_caching@category: write `models/trained/caching.<category>.<arch>/`, the chosen oracle's heads kept.

    Raises:
        TrainingError: there is no readable fitted model.
        TraceError: a trace or its labels are missing or damaged.
    """
    settings = Settings.of(params, category)
    name = f"caching.{category}.{settings.arch}"
    folder = paths.fitted(name)
    fitted, weights = read_fitted(folder, "caching"), read_weights(folder)
    held = settings.roles.get("validation", [])
    parts, inputs = read_prepared(category, held or settings.roles.get("train", []), settings.label)
    verdict, teacher = judge(fitted, weights, parts, bool(held), settings)
    model = TrainedModel.of(fitted, verdict, inputs)
    kept = one_teacher(weights, fitted.learned["teachers"].index(teacher))
    write_judged_lstm(paths.trained(name), folder, model, kept)

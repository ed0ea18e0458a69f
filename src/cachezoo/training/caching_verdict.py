"""Is a caching model better than the best classic? Its cache is run on validation, in all candidate ways.

A candidate is an oracle to imitate, a threshold and the manager's rules. The counted accesses of each validation trace
are cut into time blocks: every other one chooses, the verdict is spoken on the rest, so that the choice cannot flatter
it. Each cache runs on through both kinds of blocks: its state at a block's start comes from the block before.
(Choosing on a first half alone was tried: what is best while counts are young was worst later.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cachezoo.console import Advance, progress
from cachezoo.evaluation.bootstrap import interval, resampled_ratios
from cachezoo.evaluation.caching import PAPER_RULES, label_metrics, oracle_figures, serving_of
from cachezoo.kernels.manager import HIT
from cachezoo.labels.benefit import Labels, Tags, capacity_pages, percent
from cachezoo.models.lstm_step import one_teacher, teacher_outputs
from cachezoo.models.trained import TrainedModel
from cachezoo.policies.rcrnn import Cache, CachingServing, Served
from cachezoo.policies.registry import OPTIMUM, classics, policy
from cachezoo.policies.simulate import auto_warmup
from cachezoo.traces.pages import PageAccesses

if TYPE_CHECKING:
    from cachezoo.training.caching import Part, Settings

U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]


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
class Verdict:
    """What validation says.

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
class _Replayed:
    """One judged trace: hits after warm-up of every candidate, classic and the optimum."""

    hits: list[U8]
    written: list[int]
    outputs: dict[str, F32]
    classics: dict[str, U8]
    optimum: U8


def _shortened(part: "Part", requests: int) -> "Part":
    """The first requests; the working set, and so the capacity, stays the whole trace's."""
    start = part.pages.request_start[: requests + 1]
    pages = PageAccesses(start, part.pages.page_ids[: start[-1]], part.pages.n_pages)
    tags = {key: Tags(own.bits[:requests]) for key, own in part.labels.tags.items()}
    labels: Labels = replace(part.labels, tags=tags)
    return replace(part, trace=part.trace.rows(0, requests), pages=pages, labels=labels)


def _arguments(part: "Part") -> dict[str, Any]:
    """What a model's cache reads of a trace."""
    names = ("time_us", "op", "offset", "size")
    columns = {name: getattr(part.trace, name) for name in names}
    return {**columns, "request_start": part.pages.request_start, "page_ids": part.pages.page_ids}


def _fed_back(
    serving: CachingServing, part: "Part", candidates: list[Candidate], capacity: int, advance: Advance
) -> tuple[list[Served], dict[str, F32]]:
    """All candidates in lockstep; the outputs are those of the middle one."""
    caches = [candidate.cache(capacity) for candidate in candidates]
    served = serving.run(**_arguments(part), caches=caches, keep=True, advance=advance)
    return [served], {candidates[0].teacher: served.outputs[len(caches) // 2]}


def _open_loop(
    serving: CachingServing, part: "Part", candidates: list[Candidate], capacity: int, outputs: F32
) -> tuple[list[Served], dict[str, F32]]:
    """Each teacher's candidates together, by outputs float32[n, 1, K, 4] that no cache enters."""
    runs, of_teacher = [], {}
    for k, teacher in enumerate(dict.fromkeys(candidate.teacher for candidate in candidates)):
        caches = [candidate.cache(capacity) for candidate in candidates if candidate.teacher == teacher]
        lane_of = np.zeros(len(caches), np.int64)
        own = np.ascontiguousarray(outputs[:, :, k])
        runs.append(serving.serve(part.trace.op, part.pages.request_start, part.pages.page_ids, caches, own, lane_of))
        of_teacher[teacher] = own[:, 0]
    return runs, of_teacher


def _replay(
    part: "Part", model: TrainedModel, weights: Mapping[str, F32], candidates: list[Candidate], settings: "Settings"
) -> _Replayed:
    capacity = capacity_pages(settings.manager.capacity, part.pages.n_pages)
    serving = serving_of(model, one_teacher(weights, 0))
    with progress(f"{model.model_id}: cache on {part.key}", len(part.trace)) as advance:
        if serving.fed_back:
            runs, outputs = _fed_back(serving, part, candidates, capacity, advance)
        else:
            rows = serving.inputs(**_arguments(part), capacities=[capacity])
            every = teacher_outputs(weights, rows, settings.train.threads, serving.reset_every, advance)
            runs, outputs = _open_loop(serving, part, candidates, capacity, every)
    warmup = auto_warmup(part.pages, capacity)
    rivals = {
        name: (policy(name).hits(part.pages.page_ids, part.pages.n_pages, capacity)[warmup:] == HIT).astype(np.uint8)
        for name in [*classics(), OPTIMUM]
    }
    optimum = rivals.pop(OPTIMUM)
    hits = [run.hits(lane)[warmup:] for run in runs for lane in range(len(run.totals))]
    written = [row["ssd_writes"] for run in runs for row in run.totals]
    return _Replayed(hits, written, outputs, rivals, optimum)


def halves(hits: U8, blocks: int) -> tuple[U8, U8]:
    """Cut a run's hits in time into twice `blocks` blocks: those that choose, and those that judge, by turns."""
    parts = np.array_split(hits, 2 * blocks)
    return np.concatenate(parts[::2]), np.concatenate(parts[1::2])


def _pooled(hits: Sequence[U8]) -> float:
    return float(sum(int(h.sum()) for h in hits) / sum(len(h) for h in hits))


def _mean(rows: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in rows[0]:
        values = [value for row in rows if (value := row[name]) is not None]
        means[name] = float(np.mean(values)) if values else None
    return means


def judge(
    model: TrainedModel, weights: Mapping[str, F32], teachers: Sequence[str], parts: "Sequence[Part]", held_out: bool,
    settings: "Settings",
) -> Verdict:  # fmt: skip
    """Choose among the candidates and compare with the best classic on the same page accesses.

    Args:
        model: its threshold and rules are not read.
        weights: the network's, with the heads of all teachers.
        teachers: in the order of the heads.
        parts: validation traces.
        held_out: False where they are the train traces, for want of others: then nothing is claimed.
        settings: parameters.
    """
    manager, options = settings.manager, settings.train
    candidates = [
        Candidate(teacher, on_hit, queues, threshold)
        for teacher in teachers for on_hit in manager.on_hit for queues in manager.queues
        for threshold in options.thresholds
    ]  # fmt: skip
    replayed = [_shortened(part, options.closed_loop_requests) for part in parts]
    runs = [_replay(part, model, weights, candidates, settings) for part in replayed]
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
    rivals = {name: _pooled([judged(run.classics[name]) for run in runs]) for name in classics()}
    rival = max(sorted(rivals), key=lambda name: rivals[name])
    mine = np.concatenate([judged(run.hits[best]) for run in runs])
    theirs = np.concatenate([judged(run.classics[rival]) for run in runs])
    seed = model.seeds["train_caching"]
    resampled = [resampled_ratios(hits, blocks, options.bootstrap_samples, seed) for hits in (mine, theirs)]
    low, high = interval(resampled[0] - resampled[1])
    policies = {**model.policy, "on_hit": chosen.on_hit, "queues": chosen.queues}
    figures: dict[str, float | None] = {
        "hit_ratio": float(mine.mean()),
        "paper_rules_hit_ratio": _pooled([judged(run.hits[best_of(paper)]) for run in runs]) if paper else None,
        "best_classic_hit_ratio": rivals[rival],
        "optimum_hit_ratio": _pooled([judged(run.optimum) for run in runs]),
        "difference_low": low,
        "difference_high": high,
        **_mean([_tag_metrics(part, run, chosen, settings) for part, run in zip(replayed, runs, strict=True)]),
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
    return Verdict(chosen, [table[best_of(group)] for group in groups], curve, figures, beats, able, reason)


def _tag_metrics(part: "Part", run: _Replayed, chosen: Candidate, settings: "Settings") -> dict[str, float | None]:
    """The model's tags against the chosen oracle's."""
    tags = part.labels.tags[chosen.teacher, percent(settings.manager.capacity)]
    return label_metrics(run.outputs[chosen.teacher], tags, chosen.threshold)


def _ceilings(
    part: "Part", chosen: Candidate, policies: Mapping[str, Any], settings: "Settings"
) -> dict[str, float | None]:
    """What the chosen oracle reaches."""
    fraction = settings.manager.capacity
    key = (chosen.teacher, percent(fraction))
    capacity = capacity_pages(fraction, part.pages.n_pages)
    return oracle_figures(part.labels, key, part.trace, part.pages, capacity, policies)


def _whole(part: "Part", rival: str, settings: "Settings") -> dict[str, float | None]:
    """The rival's hit ratio, warm-up included, as the oracles' are counted."""
    capacity = capacity_pages(settings.manager.capacity, part.pages.n_pages)
    outcome = policy(rival).hits(part.pages.page_ids, part.pages.n_pages, capacity)
    return {rival: float((outcome == HIT).mean())}


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

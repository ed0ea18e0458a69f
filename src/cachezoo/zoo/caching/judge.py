"""Judges a category's caching model: is it better than the best classic? Its cache is run on validation, in all ways.

A candidate is a network of the fit, an oracle to imitate, a threshold and the manager's rules. The counted accesses of
each validation trace are cut into time blocks: every other one chooses, the verdict is spoken on the rest, so that the
choice cannot flatter it. Each cache runs on through both kinds of blocks: its state at a block's start comes from the
block before. (Choosing on a first half alone was tried: what is best while counts are young was worst later.)

One training is an anecdote, so the verdict is on all networks, each run in its own best way. The rival is the classic
that hits most in the choosing blocks: it is chosen as freely. The lower end of the 90 % interval of the mean lead over
it, over seeds and blocks, has to be above 0, and the lead has to be worth having. Fewer than five networks have no
verdict.

The network that is shipped is then run at other sizes, and for each of them a threshold and a queue rule is chosen on
the same blocks. A runtime does not know the working set that it will see, so a size is what the model's own input
`capacity.ratio` says: log2 of the capacity over the distinct pages of the recent window, in the median of the counted
requests.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32, F64, U8, Bool
from cachezoo.console import progress
from cachezoo.contest.blocks import BLOCKS, block_means, halves
from cachezoo.contest.counting import first_access
from cachezoo.contest.lead import Mean, over_trainings
from cachezoo.devices.responses import read_responses
from cachezoo.devices.service import ServiceTimes
from cachezoo.io import sha256_file
from cachezoo.kernels.manager_limits import ByCapacity, Cache
from cachezoo.kernels.outcome import HIT
from cachezoo.labels.tags import Labels, Tags
from cachezoo.models.trained import FittedModel, TrainedModel, Verdict, read_fitted
from cachezoo.params import At, Picked
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Outcomes, Simulator, count
from cachezoo.policies.tuned import tuned_classics
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import BenefitLabel, ClassicsPolicy, ManagerPolicy
from cachezoo.traces.pages import capacity_pages, percent
from cachezoo.training.fitted import folder_of, read_networks, write_judged_lstm
from cachezoo.zoo.caching.infer import one_teacher, teacher_outputs, torch_serving
from cachezoo.zoo.caching.metrics import PAPER_RULES, label_metrics, oracle_figures
from cachezoo.zoo.caching.objective import best_of
from cachezoo.zoo.caching.prepared import Prepared, first_requests, judging_requests, read_prepared
from cachezoo.zoo.caching.serve import CachingServing, Served
from cachezoo.zoo.caching.settings import Judge

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

# Where outputs are wanted before there is a threshold.
EVEN_ODDS = 0.5
# Ends of every list of thresholds. No probability is above 1.
ADMIT_ALL, ADMIT_NONE = 0.0, 1.5
DIGITS = 3


@dataclass(frozen=True)
class Candidate:
    """One way to run a model's cache: which network of the fit, which oracle's heads, rules and threshold."""

    network: int
    teacher: str
    on_hit: str
    queues: str
    threshold: float

    @property
    def kind(self) -> tuple[int, str, str, str]:
        """What it is but for the threshold."""
        return self.network, self.teacher, self.on_hit, self.queues

    def cache(self, capacity: int) -> Cache:
        """The cache that it runs."""
        return Cache(capacity, self.threshold, self.on_hit, self.queues)


def thresholds_of(cached: F32, count: int) -> list[float]:
    """Thresholds that part a model's outputs into equal shares; between them lie every useful strictness.

    A fixed grid is not enough: a network may say 0.01 of most requests and 0.9 of none, and then the best threshold of
    the grid is its end. Values are rounded, so that few outputs equal a threshold to the last digit.

    Args:
        cached: float32[k] outputs of the requests that the oracle is asked about.
        count: thresholds wanted, both ends included; equal ones are given once.

    Returns:
        Rising, from `ADMIT_ALL` to `ADMIT_NONE`.
    """
    if not len(cached):
        return [ADMIT_ALL, ADMIT_NONE]
    inner = np.quantile(cached.astype(np.float64), np.linspace(0, 1, count)[1:-1])
    return sorted({ADMIT_ALL, *(_rounded(float(value)) for value in inner), ADMIT_NONE})


def _rounded(probability: float) -> float:
    """A probability to three digits of itself, or of what it lacks of 1 where that is less."""
    if probability <= 0.5:
        return float(f"{probability:.{DIGITS}g}")
    return round(1.0 - float(f"{1.0 - probability:.{DIGITS}g}"), 12)


def candidates_of(
    network: int, teachers: Sequence[str], thresholds: Sequence[Sequence[float]], manager: ManagerPolicy
) -> list[Candidate]:
    """Every way to run a network, teacher by teacher."""
    return [
        Candidate(network, teacher, on_hit, queues, threshold)
        for teacher, own in zip(teachers, thresholds, strict=True)
        for on_hit in manager.on_hit
        for queues in manager.queues
        for threshold in own
    ]


@dataclass(frozen=True)
class Settings(Picked):
    """What stage judge_caching reads of params.yaml."""

    label: Annotated[BenefitLabel, At("label.benefit")]
    manager: Annotated[ManagerPolicy, At("policy.manager")]
    classics: Annotated[ClassicsPolicy, At("policy.classics")]
    judge: Annotated[Judge, At("judge.caching")]
    arch: Annotated[str, At("model.caching.arch")]
    roles: Annotated[Roles, At("data.roles.{category}")]


@dataclass(frozen=True)
class Case:
    """A judged trace: its first requests, the cache's pages, and hits after warm-up of each classic and the optimum."""

    part: Prepared
    capacity: int
    warmup: int
    classics: dict[str, U8]
    optimum: U8
    times: ServiceTimes | None  # of its requests, where response times choose

    @cached_property
    def choosing(self) -> Bool:
        """bool[n]: counted requests without a page access in a judging block."""
        judging = judging_requests(self.part.pages, self.part.pages.n_requests)
        return ~judging & (self.part.pages.request_start[:-1] >= self.warmup)


@dataclass(frozen=True)
class Ran:
    """A candidate on one trace: hits after warm-up, pages written, and the outputs float32[n, 4] that it acted on."""

    hits: U8
    written: int
    outputs: F32
    waited_us: float  # service times of the choosing requests, in all; 0 without times


@dataclass(frozen=True)
class Tried:
    """A network in every way."""

    rows: list[dict[str, Any]]  # of each candidate its values, `hit_ratio` on the choosing blocks and `ssd_writes`
    kinds: list[tuple[int, str, str, str]]  # of each candidate all but the threshold
    best: int  # the place of the best
    chosen: Candidate  # the best
    runs: list[Ran]  # the best one's, trace by trace
    paper: list[Ran] | None  # those of the best one with the paper's rules; None where these are no candidates

    def best_of_kinds(self, options: Judge) -> list[dict[str, Any]]:
        """The best threshold's row of each kind."""
        found = []
        for kind in dict.fromkeys(self.kinds):
            rows = [row for row, own in zip(self.rows, self.kinds, strict=True) if own == kind]
            found.append(rows[best_of(rows, options.objective, options.least_gain)])
        return found

    def curve(self) -> list[dict[str, Any]]:
        """The rows of the best one's kind."""
        return [row for row, own in zip(self.rows, self.kinds, strict=True) if own == self.kinds[self.best]]


def case_of(part: Prepared, settings: Settings, times: tuple[F64, F64] | None = None) -> Case:
    """The first requests of a trace; the working set, and so the capacity, stays the whole trace's.

    `times` are its requests' on the disk and the SSD, where response times choose.
    """
    requests = settings.judge.closed_loop_requests
    pages = first_requests(part.pages, requests)
    tags = {key: Tags(own.bits[:requests]) for key, own in part.labels.tags.items()}
    labels: Labels = replace(part.labels, tags=tags)
    short = replace(part, trace=part.trace.rows(0, requests), pages=pages, labels=labels)
    capacity = capacity_pages(settings.manager.capacity, pages.n_pages)
    warmup = first_access(pages)
    names = [*classics(), *tuned_classics(settings.classics), OPTIMUM]
    rivals = {name: hits[warmup:] for name, hits in classic_hits(short, names, capacity)}
    served = None if times is None else ServiceTimes.of(short.trace, *(own[:requests] for own in times))
    return Case(short, capacity, warmup, rivals, rivals.pop(OPTIMUM), served)


def classic_hits(part: Prepared, names: Sequence[str], capacity: int) -> Iterator[tuple[str, U8]]:
    """Each policy's page hits, uint8[m], on the very stream that the evaluation of a category runs it on."""
    simulator = Simulator(part.trace, part.pages)
    for name in names:
        yield name, (simulator.run(name, capacity, 0).outcome == HIT).astype(np.uint8)


@dataclass(frozen=True)
class _Seen:
    """What a network makes of a trace at a case's capacity.

    Attributes:
        outputs: float32[n, 1, K, 4] of every teacher's heads; of a model fed its own tags, at even odds.
        ratio: float32[n, 1], log2(capacity / distinct pages of the recent window) before each request.
    """

    outputs: F32
    ratio: F32


def _see(case: Case, model: FittedModel, weights: Mapping[str, F32], serving: CachingServing) -> _Seen:
    batch, pages = batch_of(case.part.trace), case.part.pages
    with progress(f"{model.model_id}: outputs on {case.part.key}", len(batch)) as advance:
        rows, ratio = serving.read(batch, pages, [case.capacity])
        if not serving.fed_back:
            every = teacher_outputs(weights, rows, int(model.arch["threads"]), serving.reset_every, advance)
            return _Seen(every, ratio)
        own: F32 = serving.run(batch, pages, [serving.cache(case.capacity)], keep=True, advance=advance).outputs[0]
        return _Seen(own[:, None, None], ratio)


def run_all(
    case: Case, serving: CachingServing, candidates: Sequence[Candidate], seen: _Seen,
    by_capacity: ByCapacity | None = None,
) -> list[Ran]:  # fmt: skip
    """Run a network's candidates on a trace.

    Only where a cache's own tags enter the outputs, `serving` computes them. `by_capacity` takes the place of the
    candidates' thresholds and queue rules.
    """
    pages, found = case.part.pages, []
    for place, teacher in enumerate(dict.fromkeys(candidate.teacher for candidate in candidates)):
        caches = [candidate.cache(case.capacity) for candidate in candidates if candidate.teacher == teacher]
        caches = [replace(cache, by_capacity=by_capacity) for cache in caches]
        if serving.fed_back:
            served = serving.run(batch_of(case.part.trace), pages, caches, keep=True)
            each = list(served.outputs)
        else:
            own, lanes = np.ascontiguousarray(seen.outputs[:, :, place]), np.zeros(len(caches), np.int64)
            served = serving.serve(case.part.trace.op, pages, caches, own, seen.ratio, lanes)
            each = [own[:, 0]] * len(caches)
        hits = [served.hits(lane)[case.warmup :] for lane in range(len(caches))]
        written = [int(row["ssd_writes"]) for row in served.totals]
        waited = [_waited_us(case, served, lane) for lane in range(len(caches))]
        found += [Ran(*one) for one in zip(hits, written, each, waited, strict=True)]
    return found


def _waited_us(case: Case, served: Served, lane: int) -> float:
    """Service times of the choosing requests behind a lane's cache, in all; 0 without times."""
    if case.times is None:
        return 0.0
    outcomes = Outcomes(served.outcome[lane], served.replaced[lane], served.dirty_evicted[lane])
    run = count(case.part.trace, case.part.pages, "lane", case.capacity, case.warmup, outcomes)
    return float(case.times.served(run.missing)[case.choosing].sum())


def _thresholds(
    cases: Sequence[Case], teacher: str, outputs: Sequence[F32], share: float, settings: Settings
) -> list[float]:
    """Candidates for a teacher: quantiles of the outputs where its oracle was asked, on what does not judge.

    `outputs` are float32[n] of its cached head on each trace, at a share of the working set; the oracle's are those at
    the nearest share that is labelled.
    """
    options, asked = settings.judge, []
    labelled = min(settings.label.capacities, key=lambda one: abs(np.log2(one / share)))
    for case, cached in zip(cases, outputs, strict=True):
        tags = case.part.labels.tags[teacher, percent(labelled)]
        judging = judging_requests(case.part.pages, options.closed_loop_requests)
        asked.append(cached[tags.consulted & ~judging])
    return thresholds_of(np.concatenate(asked), options.thresholds)


def try_network(
    network: int, model: FittedModel, weights: Mapping[str, F32], cases: Sequence[Case], settings: Settings
) -> Tried:
    """Run a network in every way on every trace."""
    serving, options = _serving_of(model, weights, settings), settings.judge
    seen = [_see(case, model, weights, serving) for case in cases]
    teachers, share = model.learned["teachers"], settings.manager.capacity
    thresholds = [
        _thresholds(cases, teacher, [own.outputs[:, 0, place, 0] for own in seen], share, settings)
        for place, teacher in enumerate(teachers)
    ]
    candidates = candidates_of(network, teachers, thresholds, settings.manager)
    runs = [run_all(case, serving, candidates, own) for case, own in zip(cases, seen, strict=True)]
    rows = _rows(cases, candidates, runs)
    best = best_of(rows, options.objective, options.least_gain)
    paper = [k for k, row in enumerate(rows) if (row["on_hit"], row["queues"]) == PAPER_RULES]
    best_paper = None
    if paper:
        best_paper = paper[best_of([rows[k] for k in paper], options.objective, options.least_gain)]
    return Tried(
        rows, [candidate.kind for candidate in candidates], best, candidates[best], [own[best] for own in runs],
        None if best_paper is None else [own[best_paper] for own in runs],
    )  # fmt: skip


def _serving_of(model: FittedModel, weights: Mapping[str, F32], settings: Settings) -> CachingServing:
    """A network's serving, its first teacher's heads where it steps by itself."""
    values, threads = model.model_dump(mode="json"), int(model.arch["threads"])
    policies = base_policy(model, settings)
    return torch_serving(values, policies, {"threshold": EVEN_ODDS}, one_teacher(weights, 0), threads)


def _rows(
    cases: Sequence[Case], candidates: Sequence[Candidate], runs: Sequence[Sequence[Ran]]
) -> list[dict[str, Any]]:
    """Of each candidate its values and what the choosing blocks say of it; `runs` by trace, then by candidate."""
    rows: list[dict[str, Any]] = []
    asked = sum(int(case.choosing.sum()) for case in cases if case.times is not None)
    for k, candidate in enumerate(candidates):
        own = [runs_of_trace[k] for runs_of_trace in runs]
        row = {
            **asdict(candidate),
            "hit_ratio": pooled([halves(run.hits)[0] for run in own]),
            "ssd_writes": sum(run.written for run in own),
        }
        rows.append(row | ({"response_us": sum(run.waited_us for run in own) / asked} if asked else {}))
    return rows


@dataclass(frozen=True)
class _Sized:
    """A shipped network by size: its entries, smallest first, and its runs at the judged size as it acts by them."""

    entries: list[dict[str, Any]]
    runs: list[Ran]


def by_capacity(
    best: Tried, model: FittedModel, weights: Mapping[str, F32], cases: Sequence[Case], settings: Settings
) -> _Sized:
    """Choose a threshold and a queue rule for each size, with the shipped network, oracle and rule of hits.

    A size that the recent window cannot tell from the next smaller one has no entry; one alone would say nothing.
    """
    chosen, options, judged = best.chosen, settings.judge, settings.manager.capacity
    place = model.learned["teachers"].index(chosen.teacher)
    alone = one_teacher(weights, place)
    serving, entries, seen_at = _serving_of(model, alone, settings), [], {}
    for share in sorted({*options.capacities, judged}):
        sized = [replace(case, capacity=capacity_pages(share, case.part.pages.n_pages)) for case in cases]
        seen = seen_at[share] = [_see(case, model, alone, serving) for case in sized]
        if share == judged:
            row = best.rows[best.best]
        else:
            own = [one.outputs[:, 0, 0, 0] for one in seen]
            thresholds = _thresholds(sized, chosen.teacher, own, share, settings)
            manager = settings.manager.model_copy(update={"on_hit": [chosen.on_hit]})
            candidates = candidates_of(chosen.network, [chosen.teacher], [thresholds], manager)
            runs = [run_all(case, serving, candidates, one) for case, one in zip(sized, seen, strict=True)]
            rows = _rows(sized, candidates, runs)
            row = rows[best_of(rows, options.objective, options.least_gain)]
        ratio = np.concatenate(
            [
                one.ratio[case.part.pages.request_start[:-1] >= case.warmup, 0]
                for one, case in zip(seen, sized, strict=True)
            ]
        )
        kept = {name: row[name] for name in row if name not in ("network", "teacher", "on_hit")}
        entries.append({"capacity": share, "ratio_log2": float(np.median(ratio)), **kept})
    rising = [one for k, one in enumerate(entries) if k == 0 or one["ratio_log2"] > entries[k - 1]["ratio_log2"]]
    if len(rising) < 2:
        return _Sized([], best.runs)
    table, seen = ByCapacity.of(rising), seen_at[judged]
    return _Sized(
        rising,
        [run_all(case, serving, [chosen], one, table)[0] for case, one in zip(cases, seen, strict=True)],
    )


def pooled(hits: Sequence[U8]) -> float:
    """Page hit ratio over several runs."""
    return float(sum(int(h.sum()) for h in hits) / sum(len(h) for h in hits))


def base_policy(model: FittedModel, settings: Settings) -> dict[str, Any]:
    """How a runtime uses the outputs, with the first of the candidate rules."""
    learned, manager = model.learned, settings.manager
    return {
        "type": "three_queue_manager",
        "state": learned["state"],
        "sequence": learned["sequence"],
        "memory": learned["memory"],
        "ranges": learned["ranges"],
        "demote_capacities": manager.demote_capacities,
        "protected_percent": manager.protected_percent,
        "fill_free": manager.fill_free,
        "on_hit": manager.on_hit[0],
        "queues": manager.queues[0],
        "decide": "admitted iff cached >= calibration.threshold, or that of calibration.by_capacity, which names the "
        "queue rule, too; queues three: to the likeliest of soon, mean, late; queues single: to mean; on_hit requeue: "
        "hits are decided on too",
        "capacity_ratio_log2": learned["capacity_ratio_log2"],
    }


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
    best = tried[best_of([one.rows[one.best] for one in tried], options.objective, options.least_gain)]
    sized = by_capacity(best, model, networks[best.chosen.network], cases, settings)
    rivals = _Rivals.of(cases)

    def judged(runs: Sequence[Ran]) -> list[U8]:
        return [halves(run.hits)[1] for run in runs]

    mine = [judged(sized.runs if one is best else one.runs) for one in tried]
    ratios = [pooled(hits) for hits in mine]
    lead = lead_of(mine, rivals.hits[rivals.chosen])
    chosen = best.chosen
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
    table = [row for one in tried for row in one.best_of_kinds(options)]
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

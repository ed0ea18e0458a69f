"""RC-RNN's online reconfiguration on streams whose workload changes: its modes, their costs, and rivals.

The modes are those of the paper's Sec. 5.4 and Fig. 17, "periodic hit ratio in case of workload change":
    multiple_model  the monitor says which category is running and its model takes over; all models are in memory.
                    What becomes of the resident pages, and of an unknown workload, validation chooses.
    single_model    the same with one model in memory: the next is loaded in place of the last. Till then nobody
                    decides and what is missing passes by (the paper's "missed blocks in the reconfiguration process").
    fixed_model     one model "for all workload types". Of which workload the paper does not say: here each category's
                    of the stream; the one that leads are taken over is the first phase's, which would be loaded.
Beside them:
    each_minute     multiple_model whose monitor begins a vote once a minute at most, and each vote switches, as the
                    paper's does; two equal votes would take the monitor two minutes.
    exact_monitor   multiple_model with a monitor that knows of every change at its first request: what a better
                    monitor could gain.
    re_evaluated    models that decide on the resident pages again, as the paper's do, and what they do not want is the
                    next to leave: `alone` or `in_order`, with whom an unknown workload has and the votes that are
                    best on validation with it, be they multiple_model's or not.
    queues_kept     multiple_model whose models leave the resident pages where they are.
    one_model_renewed   the first phase's model in the place of all others, but doing with the resident pages what
                    multiple_model's do: what is gained without another model.
    rival           LRU, ARC, the best classic in hindsight, the next-use forest with its follower where it is trained,
                    and the optimum.

A decision of a caching model is charged to the request, a step for the resident pages to the one at which the model
takes over, each at `evaluate.decision_cost_us`, a cost at batch 1: of steps in batches the most that they can cost.
The monitor runs beside the requests (Sec. 4.2) and is charged nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from cachezoo import paths
from cachezoo.arrays import I32
from cachezoo.console import progress
from cachezoo.devices.responses import one_provenance, read_responses
from cachezoo.errors import ConfigError
from cachezoo.models.trained import read_trained
from cachezoo.models.weights import read_weights
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.questions.page.monitored import UNKNOWNS
from cachezoo.settings.data import Role
from cachezoo.traces.store import read_trace
from cachezoo.zoo.caching.infer import serving_of
from cachezoo.zoo.caching.switching import REQUEUES, Requeue
from cachezoo.zoo.reuse.model import load_reuse
from cachezoo.zoo.workload.infer import torch_windows, workload_serving
from lab.reconfigure.bench import AFTER, PERIOD, Bench, Models, Settings, Way
from lab.reconfigure.document import (
    FIXED,
    Candidate,
    Kind,
    Mode,
    Reconfigured,
    Row,
    Stream,
    StretchOf,
    summary_of,
)
from lab.reconfigure.monitor import loading_plan
from lab.reconfigure.streams import Changing, Part, changing

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

PAPER_REQUESTS = 50_000
# Turns that are no multiple of a vote's requests, so that changes fall within votes.
ALTERNATING_REQUESTS, ALL_REQUESTS = 24_700, 14_700
# The paper's 40 MB of a model, at 150 MB/s of a disk.
LOAD_US = 266_667
MINUTE_S, MINUTE_VOTES = 60, 1
SWITCH_VOTES = (1, 2, 3)
RIVALS = ("lru", "arc")
PAPER_REQUEUES: tuple[Requeue, ...] = ("alone", "in_order")


def read_models(settings: Settings) -> Models:
    """The trained models of the page categories.

    Raises:
        CachezooError: one is not there, or not readable.
        ConfigError: the monitor knows other categories than the caching models are of.
    """
    name = f"workload.{settings.workload}"
    trained, network = read_trained(paths.trained(name), "workload"), read_weights(paths.trained(name))
    classes = tuple(trained.policy["classes"])
    if sorted(classes) != sorted(settings.categories):
        message = f"{name}: tells {', '.join(classes)} apart, but page categories are {', '.join(settings.categories)}"
        raise ConfigError(message)
    infer = torch_windows(network, int(trained.arch["threads"]))
    monitors = {}
    for votes in SWITCH_VOTES:
        policy = {**trained.policy, "switch_votes": votes}
        monitors[votes] = workload_serving(trained.model_copy(update={"policy": policy}), infer)
    folders = [paths.trained(f"caching.{category}.{settings.caching}") for category in classes]
    caching = [serving_of(read_trained(folder, "caching"), read_weights(folder)) for folder in folders]
    follower = f"reuse.{settings.reuse}"
    has = paths.trained(follower).is_dir()
    return Models(classes, caching, monitors, (follower, load_reuse(paths.trained(follower))[1]) if has else None)


def _part(settings: Settings, key: str) -> Part:
    category = settings.traces[key].category
    trace = read_trace(paths.requests(category, key))
    return Part(key, category, trace, *read_responses(paths.responses(category, key), len(trace)))


def _keys(settings: Settings, role: Role) -> tuple[list[str], list[str]]:
    """The first trace of each category, in their order, and all traces of unseen programs.

    Raises:
        ConfigError: a category has none of a program that was seen in training, or there is one category alone.
    """
    own = [settings.roles[category].get(role, []) for category in settings.categories]
    seen = [[key for key in keys if not settings.traces[key].unseen] for keys in own]
    for category, keys in zip(settings.categories, seen, strict=True):
        if not keys:
            raise ConfigError(f"{category}: has no {role} trace of a seen program; add one to the matrix")
    if len(seen) < 2:
        message = f"page categories: {', '.join(settings.categories)} is one alone; a workload changes between two"
        raise ConfigError(message)
    return [keys[0] for keys in seen], [key for keys in own for key in keys if settings.traces[key].unseen]


def streams_of(settings: Settings, role: Role) -> Iterator[tuple[Kind, Changing]]:
    """Streams of the test traces, or, to choose by, of the validation traces: fewer, and of seen programs alone.

    Of each category one trace: each followed by the next one's, as long as the paper's; two and two in turns; all in
    turn. Of test traces those of unseen programs too.

    Raises:
        ConfigError: as `_keys`.
        CachezooError: a file is missing or damaged, or response times are of several devices.
    """
    seen, strange = _keys(settings, role)
    count = len(seen)
    one_provenance(paths.responses(settings.traces[key].category, key) for key in (*seen, *strange))
    parts = {key: _part(settings, key) for key in (*seen, *strange)}

    def stream(chosen: Sequence[str], requests: int, periods: int) -> Changing:
        name = ("-" if periods == 1 else "/").join(chosen)
        return changing(name, [parts[key] for key in chosen], requests, periods, settings.fraction)

    for k in range(count if role == "test" else 0):
        yield "two", stream([seen[k], seen[(k + 1) % count]], PAPER_REQUESTS, 1)
    for k in range(count // 2):
        yield "alternating", stream([seen[k], seen[k + count // 2]], ALTERNATING_REQUESTS, 2)
    if count > 2:
        yield "all in turn", stream(seen, ALL_REQUESTS, 2)
    if len(strange) > 1:
        yield "unseen programs", stream(strange, PAPER_REQUESTS, 1)


def choose(benches: Sequence[Bench]) -> list[Candidate]:
    """Every way to change models on validation streams, the best first; the first listed among equals."""
    ways = [Way(*values) for values in product(REQUEUES, UNKNOWNS, SWITCH_VOTES)]
    found = []
    with progress("reconfigure: ways to change models", len(ways)) as advance:
        for done, way in enumerate(ways):
            advance(done)
            ratios = [bench.run(bench.plan(way), way.requeue)[1].hit_ratio for bench in benches]
            found.append(
                Candidate(
                    requeue=way.requeue, unknown=way.unknown, switch_votes=way.switch_votes,
                    hit_ratio=float(np.mean(ratios)),
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: -one.hit_ratio)


def re_evaluating(candidates: Sequence[Candidate]) -> Way:
    """The best of the ways that do with resident pages what the paper does, of candidates whose best comes first."""
    return next(_way(one) for one in candidates if one.requeue in PAPER_REQUEUES)


def _way(one: Candidate) -> Way:
    return Way(one.requeue, one.unknown, one.switch_votes)


def rows_of(
    bench: Bench, way: Way, paper: Way, models: Models, decision_us: Mapping[str, float]
) -> tuple[list[Row], str]:
    """All caches on one stream, and the best classic's id."""
    stream, plan, classes = bench.stream, bench.plan(way), models.classes
    plans: dict[tuple[Mode, str], tuple[I32, Requeue]] = {
        ("multiple_model", ""): (plan, way.requeue),
        ("single_model", ""): (loading_plan(plan, stream.trace.time_us, LOAD_US), way.requeue),
        ("each_minute", ""): (bench.plan(replace(way, switch_votes=MINUTE_VOTES), MINUTE_S), way.requeue),
        ("exact_monitor", ""): (bench.truth, way.requeue),
        ("re_evaluated", ""): (bench.plan(paper), paper.requeue),
        ("queues_kept", ""): (plan, "none"),
    }
    ran = {name: (own, *bench.run(own, requeue)) for name, (own, requeue) in plans.items()}
    first = classes.index(stream.categories[0])
    ran["one_model_renewed", ""] = bench.renewed(plan, first, way.requeue)
    for category in stream.categories:
        fixed = np.full_like(plan, classes.index(category))
        ran[FIXED, category] = (fixed, *bench.run(fixed, "none"))
    base = ran[FIXED, stream.categories[0]][2]
    rows = [
        bench.row(*name, simulation, base, bench.charged(own, found), bench.cost(own, found))
        for name, (own, found, simulation) in ran.items()
    ]
    rivals, best = _rivals(bench, decision_us)
    rows += [
        bench.row("rival", name, own, base, np.full(len(plan), cost), None) for name, (own, cost) in rivals.items()
    ]
    return rows, best


def _rivals(bench: Bench, decision_us: Mapping[str, float]) -> tuple[dict[str, tuple[Simulation, float]], str]:
    """Rivals by id with the cost of their decisions, and the best classic's id."""
    hits = {name: bench.simulated(name) for name in classics()}
    best = min(hits, key=lambda name: (-hits[name].hits, name))
    rivals = {name: (hits[name], 0.0) for name in dict.fromkeys((*RIVALS, best))}
    followed = bench.followed()
    if followed is not None:
        rivals[followed[0]] = (followed[1], decision_us["reuse"])
    rivals[OPTIMUM] = (bench.simulated(OPTIMUM), 0.0)
    return rivals, best


def measure(
    settings: Settings, models: Models, validation: Sequence[Changing], tests: Sequence[tuple[Kind, Changing]]
) -> Reconfigured:
    """Choose on the validation streams, and judge on the test streams."""
    candidates = choose([Bench(stream, models, settings) for stream in validation])
    chosen = candidates[0]
    way, paper = _way(chosen), re_evaluating(candidates)
    streams, rows = [], []
    with progress("reconfigure: streams", len(tests)) as advance:
        for done, (kind, stream) in enumerate(tests):
            advance(done, stream.name)
            bench = Bench(stream, models, settings)
            own, best = rows_of(bench, way, paper, models, settings.decision_us)
            seen, minute = bench.watched(way.switch_votes), bench.watched(MINUTE_VOTES, MINUTE_S)
            rows += own
            streams.append(
                Stream(
                    name=stream.name,
                    kind=kind,
                    phases=[
                        StretchOf(trace=one.key, category=one.category, first=one.first, end=one.end)
                        for one in stream.phases
                    ],
                    page_accesses=len(stream.pages.page_ids),
                    capacity=stream.capacity,
                    warmup=stream.warmup,
                    first_counted=stream.first_counted,
                    votes=seen.votes,
                    wrong_votes=seen.wrong,
                    unknown_votes=seen.unknown,
                    minute_votes=minute.votes,
                    minute_wrong_votes=minute.wrong,
                    minute_unknown_votes=minute.unknown,
                    minute_looked_at=minute.looked_at,
                    best_classic=best,
                )
            )
    return Reconfigured(
        capacity_fraction=settings.fraction,
        period=PERIOD,
        after=AFTER,
        load_us=LOAD_US,
        decision_us=settings.decision_us["caching"],
        candidates=candidates,
        chosen=chosen,
        streams=streams,
        rows=rows,
        summary=summary_of(streams, rows),
    )


def reconfigure(params: "Params") -> Reconfigured:
    """What the stage reconfigure of lab/dvc.yaml finds, see `measure`."""
    settings = Settings.of(params)
    validation = [stream for _, stream in streams_of(settings, "validation")]
    return measure(settings, read_models(settings), validation, list(streams_of(settings, "test")))

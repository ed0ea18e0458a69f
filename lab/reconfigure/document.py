"""lab/results/reconfigure.json: caches on streams whose workload changes, and what changing the model costs."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal, get_args

from cachezoo.documents import Document, Interval
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from cachezoo.policies.registry import OPTIMUM
from cachezoo.questions.page.monitored import Unknown
from cachezoo.zoo.caching.switching import Requeue

FILE, PLOT = Path("lab/results/reconfigure.json"), Path("lab/results/reconfigure.png")
Mode = Literal[
    "multiple_model", "single_model", "each_minute", "exact_monitor", "re_evaluated", "queues_kept",
    "one_model_renewed", "fixed_model", "rival",
]  # fmt: skip
SWITCHING: tuple[Mode, ...] = get_args(Mode)[:-2]
Kind = Literal["two", "alternating", "all in turn", "unseen programs"]
FIXED: Mode = "fixed_model"


class StretchOf(Document):
    """A phase of a stream."""

    trace: Annotated[str, Means("key of the trace whose turn it is")]
    category: Annotated[str, Means("its category")]
    first: Annotated[int, Means("its first request, from 0")]
    end: Annotated[int, Means("the request after its last")]


class Stream(Document):
    """A stream whose workload changes."""

    name: Annotated[str, Means("the stream")]
    kind: Annotated[Kind, Means("how its workloads take turns")]
    phases: Annotated[list[StretchOf], Each("one phase", "place in the list")]
    page_accesses: Annotated[int, Means("page accesses")]
    capacity: Annotated[int, Means("of the cache", "4 KiB pages")]
    warmup: Annotated[int, Means("page accesses before counting")]
    first_counted: Annotated[int, Means("first request that is counted, from 0")]
    votes: Annotated[int, Means("of the monitor, one in 1,000 requests")]
    wrong_votes: Annotated[int, Means("those for another category than the one running for most of their requests")]
    unknown_votes: Annotated[int, Means("those for no category")]
    minute_votes: Annotated[int, Means("of the monitor of each_minute")]
    minute_wrong_votes: Annotated[int, Means("likewise, those for another category")]
    minute_unknown_votes: Annotated[int, Means("likewise, those for no category")]
    minute_looked_at: Annotated[float, Means("requests that this monitor looks at", "share")]
    best_classic: Annotated[str, Means("classic with its defaults that has the best hit ratio, in hindsight")]


class Cost(Document):
    """What the changes of model came to, over the whole stream."""

    takeovers: Annotated[int, Means("times that a model began to decide")]
    wrong_takeovers: Annotated[int, Means("those by a model of another category than the one running")]
    right: Annotated[float, Means("requests decided by the model of the category running", "share")]
    delays: Annotated[
        list[int | None],
        Means("requests from each change of workload until that model decides; null where it never does"),
    ]
    resident: Annotated[int, Means("pages in the cache at the takeovers, in all", "4 KiB pages")]
    moved: Annotated[int, Means("those put into another queue, or out of the cache", "4 KiB pages")]
    steps: Annotated[int, Means("steps of the models for them")]
    steps_us: Annotated[float, Means("time of these at a decision's cost each, per request of the stream", "µs")]


class Row(Document):
    """A cache on a stream, counted after the warm-up."""

    stream: Annotated[str, Means("the stream")]
    mode: Annotated[Mode, Means("how its model is chosen; a rival has none, or its own")]
    policy: Annotated[str, Means("of a fixed model its category, of a rival its id, else empty")]
    hit_ratio: Annotated[float, Means("page hits per page access", "ratio")]
    hit_ratio_interval: Annotated[Interval, Means("90 % interval, blocks in time resampled", "ratio")]
    lead: Annotated[float, Means("over the model of the first phase's category throughout", "points of 0.01")]
    lead_interval: Annotated[Interval, Means("90 % interval, the same blocks drawn for both", "points of 0.01")]
    phase_hit_ratios: Annotated[
        list[float | None], Means("of each phase's counted accesses; null where it has none", "ratio")
    ]
    after_hit_ratio: Annotated[
        float | None, Means("of the requests soon after the changes; null without one that counts", "ratio")
    ]
    mean_response_us: Annotated[
        float, Means("mean service time of a request, decisions and steps for resident pages included", "µs")
    ]
    phase_response_us: Annotated[list[float | None], Means("likewise, of each phase", "µs")]
    after_response_us: Annotated[float | None, Means("likewise, of the requests soon after the changes", "µs")]
    ssd_writes_per_100_io: Annotated[float, Means("pages written to the SSD per 100 requests")]
    cost: Annotated[Cost | None, Each("one cache that changes its model, or keeps one", "stream, mode and policy")]
    periods: Annotated[list[float], Means("page hit ratio of each period, from the stream's first request on", "ratio")]


class Candidate(Document):
    """A way to change models, on the validation streams."""

    requeue: Annotated[Requeue, Means("what a model that takes over does with the resident pages")]
    unknown: Annotated[Unknown, Means("who decides while the workload is unknown")]
    switch_votes: Annotated[int, Means("equal votes in a row that change the category")]
    hit_ratio: Annotated[float, Means("of multiple_model, the mean of the streams", "ratio")]


class Summary(Document):
    """A mode, or the best of some caches, over all streams."""

    mode: Annotated[str, Means("the mode, or who is meant")]
    hit_ratio: Annotated[float, Means("the mean of the streams", "ratio")]
    lead: Annotated[float, Means("over the first phase's model throughout, the mean", "points of 0.01")]
    lowest_lead: Annotated[float, Means("likewise, the lowest", "points of 0.01")]
    after_hit_ratio: Annotated[float | None, Means("soon after the changes, the mean", "ratio")]
    mean_response_us: Annotated[float, Means("the mean", "µs")]
    right: Annotated[float | None, Means("requests decided by the right model, the mean; null of others", "share")]


class Reconfigured(Document):
    """What reconfiguration gains and costs; settings are chosen on validation streams, rows are of test streams."""

    capacity_fraction: Annotated[float, Means("of one workload's distinct pages", "share")]
    period: Annotated[int, Means("requests of a period")]
    after: Annotated[int, Means("requests that are soon after a change")]
    load_us: Annotated[int, Means("time that single_model takes to load a model", "µs")]
    decision_us: Annotated[float, Means("charged for a decision and for a step of a caching model", "µs")]
    candidates: Annotated[list[Candidate], Each("one way to change models", "requeue, unknown and switch_votes")]
    chosen: Annotated[Candidate, Each("the best of them, which the rows have", "none")]
    streams: Annotated[list[Stream], Each("one stream", "name")]
    rows: Annotated[list[Row], Each("one cache on a stream", "stream, mode and policy")]
    summary: Annotated[list[Summary], Each("one mode", "mode")]


NAMED = ("lru", "arc", OPTIMUM)  # rivals that the summary names one by one


def _groups(streams: Sequence[Stream], rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows of each line of the summary, one for each stream."""
    by_stream = {stream.name: [row for row in rows if row.stream == stream.name] for stream in streams}
    first = {stream.name: stream.phases[0].category for stream in streams}
    best = {stream.name: stream.best_classic for stream in streams}
    groups: dict[str, list[Row]] = {}
    for mode in SWITCHING:
        groups[mode] = [row for row in rows if row.mode == mode]
    fixed = {name: [row for row in own if row.mode == FIXED] for name, own in by_stream.items()}
    groups["fixed_model, of the first phase"] = [
        row for name, own in fixed.items() for row in own if row.policy == first[name]
    ]
    groups["fixed_model, the best in hindsight"] = [max(own, key=lambda row: row.hit_ratio) for own in fixed.values()]
    rivals = [row for row in rows if row.mode == "rival"]
    groups["the best classic in hindsight"] = [row for row in rivals if row.policy == best[row.stream]]
    learned = [row.policy for row in rivals if row.policy not in (*NAMED, *best.values())]
    for policy in dict.fromkeys((*NAMED, *learned)):
        groups[policy] = [row for row in rivals if row.policy == policy]
    return groups


def summary_of(streams: Sequence[Stream], rows: Sequence[Row]) -> list[Summary]:
    """All streams together, a line for each mode and rival."""
    found = []
    for name, own in _groups(streams, rows).items():
        after = [row.after_hit_ratio for row in own if row.after_hit_ratio is not None]
        right = [row.cost.right for row in own if row.cost is not None]
        found.append(
            Summary(
                mode=name,
                hit_ratio=fmean(row.hit_ratio for row in own),
                lead=fmean(row.lead for row in own),
                lowest_lead=min(row.lead for row in own),
                after_hit_ratio=fmean(after) if after else None,
                mean_response_us=fmean(row.mean_response_us for row in own),
                right=fmean(right) if right else None,
            )
        )
    return found


def read_reconfigured(path: Path) -> Reconfigured:
    """lab/results/reconfigure.json, see `cachezoo.metrics.files.read`."""
    return read(path, Reconfigured, MAKE)

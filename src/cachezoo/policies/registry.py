"""The registry of cache policies: one frozen entry a policy, a duplicate raises."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Literal

import numpy as np

from cachezoo.arrays import I32, U8, Bool
from cachezoo.errors import ConfigError, TooSmallError
from cachezoo.policies.admissions import by_decision
from cachezoo.policies.bounds import BOUNDS
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import Run, Span, hits_only, simulate, spans
from cachezoo.policies.evictions import EVICTIONS
from cachezoo.policies.evictions.classics import LRU
from cachezoo.policies.following import FOLLOW, follow_runs, follow_spans, least_capacity
from cachezoo.policies.spec import Spec, parse
from cachezoo.policies.stream import LongStream, Stream
from cachezoo.policies.virtual import VRM, settings_of, virtual_run
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

Kind = Literal["classic", "online", "follower", "bound", "composed"]
ONE = Stream.of_pages(np.zeros(1, np.int32), 1)
OWN = ":"  # in the name of a part that is none of the zoo's


@dataclass(frozen=True)
class Policy:
    """A cache policy."""

    id: str  # lower case without punctuation, e.g. ``s3fifo``; of a composition its text, e.g. ``coinflip(p=0.3)+lru``
    # ``classic`` (registered, follows a rule), ``online`` (learns as it goes), ``follower`` (follows the best of
    # several caches), ``bound`` (sees the future), or ``composed`` (not registered; put together by who asks for it)
    kind: Kind
    title: str  # one line for people
    simulate: Callable[[Stream, int], Run]  # (stream, capacity) to what the cache does
    # (page_ids, n_pages, capacity) to uint8 outcomes of single page reads, by the fastest way there is
    hits: Callable[[I32, int, int], U8]
    spec: Spec | None = None  # what it is composed of, with what it prefetches; None for a bound
    trial: Callable[[], object] | None = None  # runs all of the policy's kernels; None where a run of one access does
    # for one that decides by the requests of a trace: it on that trace. Before that it serves no stream
    bind: Callable[[Trace, PageAccesses], "Policy"] | None = None
    # (stream, capacity, accesses at a time) to its spans, for a stream whose columns lie in files; None for one that
    # needs the whole stream in memory
    spans: Callable[[LongStream, int, int], Iterator[Span]] | None = None

    def compile(self) -> None:
        """Have its kernels ready, so that a time measured is a run's."""
        if self.trial is None:
            self.simulate(ONE, 1)
        else:
            self.trial()


def composed(name: str, kind: Kind, title: str, parts: Composition, spec: Spec | None = None) -> Policy:
    """The policy of a composition; a spec says what it prefetches."""
    return Policy(
        name, kind, title,
        lambda stream, capacity: simulate(parts, stream, capacity),
        lambda page_ids, n_pages, capacity: hits_only(parts, page_ids, n_pages, capacity),
        spec, spans=lambda stream, capacity, every: spans(parts, stream, capacity, every),
    )  # fmt: skip


def _follower(spec: Spec) -> Policy:
    experts = [expert.composition() for expert in spec.eviction.experts]
    values = dict(spec.eviction.values)

    def run(stream: Stream, capacity: int) -> Run:
        return follow_runs(stream, capacity, experts, values).run

    def trial() -> None:
        follow_runs(ONE, 1, experts)  # no sampled shadow need see the one page
        run(ONE, least_capacity(values))

    return Policy(
        str(spec), "follower", FOLLOW.title, run,
        lambda page_ids, n_pages, capacity: run(Stream.of_pages(page_ids, n_pages), capacity).outcome,
        spec, trial, spans=lambda stream, capacity, every: follow_spans(stream, capacity, experts, values, every),
    )  # fmt: skip


def _virtual(spec: Spec) -> Policy:
    queue, values = spec.eviction.queue, dict(spec.eviction.values)
    n, _ = settings_of(values)

    def run(stream: Stream, capacity: int) -> Run:
        return virtual_run(stream, capacity, queue, values)

    return Policy(
        str(spec), "composed", VRM.title, run,
        lambda page_ids, n_pages, capacity: run(Stream.of_pages(page_ids, n_pages), capacity).outcome,
        spec, lambda: run(ONE, n),
    )  # fmt: skip


def _registered(policy_id: str, title: str, kind: Kind = "classic") -> Policy:
    spec = parse(policy_id)
    return composed(policy_id, kind, title, spec.composition(), spec)


def build(entries: Iterable[Policy]) -> dict[str, Policy]:
    """Index policies by id.

    Raises:
        ConfigError: two entries share an id.
    """
    policies: dict[str, Policy] = {}
    for entry in entries:
        if entry.id in policies:
            raise ConfigError(f"policy {entry.id}: registered twice; give one of them another id")
        policies[entry.id] = entry
    return policies


POLICIES = build(
    (
        *(_registered(own.id, own.title, "online" if own.learn else "classic") for own in EVICTIONS),
        _registered("rejectx", "LRU, admission on the second miss within 4 capacities of accesses"),
        _follower(parse(FOLLOW.id)),
        *(Policy(own.id, "bound", own.title, own.simulate, own.hits, spans=own.spans) for own in BOUNDS),
    )
)
COMPOSED = {str(entry.spec): entry for entry in POLICIES.values() if entry.spec}
OPTIMUM = "belady_bypass"


def classics() -> list[str]:
    """Ids of every registered classic, in the registry's order."""
    return [policy.id for policy in POLICIES.values() if policy.kind == "classic"]


def policy(policy_id: str) -> Policy:
    """Look a policy up, or compose one.

    Args:
        policy_id: a registered id, a composition as `cachezoo.policies.spec` reads it, or one with parts of one's own,
            as `cachezoo.policies.own` does.

    Raises:
        ConfigError: no such policy or part, or a value outside its range.
    """
    if policy_id in POLICIES:
        return POLICIES[policy_id]
    if OWN in policy_id:
        # By its name: what a stage depends on is found by imports, and no stage runs a part of one's own.
        found: Policy = import_module("cachezoo.policies.own").policy_of(policy_id)
        return found
    spec = parse(policy_id)
    if str(spec) in COMPOSED:
        return COMPOSED[str(spec)]
    if spec.is_follower:
        return _follower(spec)
    if spec.is_virtual:
        return _virtual(spec)
    return composed(str(spec), "composed", "a composition", spec.composition(), spec)


def behind_decisions(name: str, decided: Bool) -> Policy:
    """LRU behind decisions made elsewhere: bool[n], one for each request, or bool[m] for each page access."""
    own, trial = (Composition(LRU, by_decision(decisions, name)) for decisions in (decided, np.ones(1, np.bool_)))
    found = composed(name, "composed", "LRU behind a model's decisions", own)
    return replace(found, trial=lambda: simulate(trial, ONE, 1))


@contextmanager
def in_sample(policy_id: str, capacity: int) -> Iterator[None]:
    """Where the cache of a sample is too small for its policy, the error names the cache of the whole trace.

    Args:
        policy_id: as of `policy`.
        capacity: pages of the whole trace's cache, for which the sample's stands.

    Raises:
        ConfigError: it is too small; as the policy says where that of the whole is, too.
    """
    try:
        yield
    except TooSmallError as error:
        policy(policy_id).simulate(ONE, capacity)
        message = f"policy {policy_id}: a cache of {capacity} pages is too small in the sample"
        raise ConfigError(f"{message}; give a higher --sample, or exact") from error

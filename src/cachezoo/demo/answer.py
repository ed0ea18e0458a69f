"""What is recommended for the demo's trace, and what each policy promises."""

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from cachezoo import runtime
from cachezoo.console import Advance
from cachezoo.demo.workload import NAME
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.stream import Writes
from cachezoo.questions.page.answer import answer as answer_lines
from cachezoo.questions.page.answer import run_it
from cachezoo.questions.page.recommendation import Options, models_of, recommend
from cachezoo.serve import found as places
from cachezoo.serve.metrics import counts
from cachezoo.sizes import Size
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_NAMES, Trace

BUDGET = "3MiB"


@dataclass(frozen=True)
class Answer:
    """A cache that is recommended, and how.

    Attributes:
        lines: what `recommend` says of it.
        policy: its text, or a bundle's path.
        pages: its size.
        writes: its mode.
        command: what runs it before a disk.
    """

    lines: tuple[str, ...]
    policy: str
    pages: int
    writes: Writes
    command: str


def answer(trace: Trace, advance: Advance | None = None) -> Answer:
    """What `cachezoo recommend` says of a trace, for a cache of at most `BUDGET`."""
    found = recommend(NAME, trace, models_of(None), Options(budget=Size.parse(BUDGET)), advance=advance)
    own = run_it(found)
    assert own is not None, "a cache helps on this trace"
    return Answer(tuple(answer_lines(found)), own.policy, found.row.capacity, own.mode, own.command)


def promised(trace: Trace, pages: PageAccesses, policy: str, capacity: int, writes: Writes) -> float:
    """The share of the second half's accesses that hit in a simulation, of those that count in the mode.

    Args:
        trace: requests.
        pages: their page accesses.
        policy: the text of a policy, or a bundle's path.
        capacity: pages.
        writes: what a write does.
    """
    kind, own = places.policy(policy)
    if kind == "cz-bundle":
        return _of_a_bundle(trace, own, capacity, writes)
    outcome = Simulator(trace, pages, writes).run(policy, capacity, 0).outcome
    counted = np.arange(len(outcome)) >= pages.request_start[len(trace) // 2]
    known = np.array([counts(writes, name) for name in OP_NAMES])
    counted &= np.repeat(known[trace.op], np.diff(pages.request_start))
    return float(np.mean(outcome[counted] == HIT))


def _of_a_bundle(trace: Trace, path: str, capacity: int, writes: Writes) -> float:
    """The same of a bundle, as libcachezoo runs it."""
    hits = asked = 0
    columns = (trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist())
    with runtime.open(path, capacity) as model, closing(model.cache(capacity, writes=writes)) as cache:
        for k, (time_us, op, offset, size) in enumerate(zip(*columns, strict=True)):
            found = cache.access(time_us, OP_NAMES[op], offset, size, NAME)
            if k >= len(trace) // 2 and counts(writes, OP_NAMES[op]):
                hits, asked = hits + found.hits, asked + found.hits + found.misses
    return hits / asked

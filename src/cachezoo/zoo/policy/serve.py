"""A classic as a runtime serves it: raw requests in, what became of each page out; numpy is all it needs.

It runs the simulator's own loops, so a bundle of a classic decides what `cachezoo compare` counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.policies import mounted
from cachezoo.policies.components import Admission, Eviction, Parameter, Whole, settle
from cachezoo.policies.engine import Run, simulate
from cachezoo.policies.prefetches import Prefetch, prefetched_stream
from cachezoo.policies.spec import ADMISSION, EVICTION, PREFETCH, Component, Spec
from cachezoo.policies.stream import Stream, Writes
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.table import Trace

TYPE = "composition"
PARTS = ("admission", "eviction", "prefetch")


def values_of(spec: Spec) -> dict[str, Any]:
    """The section `policy` of a composition: its text, and each component with all its values, defaults too."""
    tables: tuple[Mapping[str, Admission | Eviction | Prefetch], ...] = (ADMISSION, EVICTION, PREFETCH)
    own: list[Component] = [getattr(spec, part) for part in PARTS]
    parts = {
        part: {"name": one.id, **_settled(one, table[one.id].parameters)}
        for part, one, table in zip(PARTS, own, tables, strict=True)
    }
    return {"type": TYPE, "text": str(spec), **parts}


def _settled(component: Component, parameters: tuple[Parameter, ...]) -> dict[str, float]:
    whole = {one.name for one in parameters if isinstance(one, Whole)}
    values = settle(component.id, parameters, dict(component.values))
    return {name: int(value) if name in whole else float(value) for name, value in values.items()}


def spec_of(policy: Mapping[str, Any]) -> Spec:
    """The composition that a section `policy` describes.

    Raises:
        ConfigError: its text is none that a runtime runs or is not its shortest form, or its values are not its.
    """
    spec = mounted.mounted(policy["text"])
    wanted = values_of(spec)
    if policy["text"] != wanted["text"]:
        raise ConfigError(f"{wanted['text'][:80]} is how policy.text is written")
    for part in PARTS:
        if policy[part] != wanted[part]:
            raise ConfigError(f"policy.{part} is not that of policy.text {wanted['text'][:80]}")
    return spec


@dataclass(frozen=True)
class Served:
    """What happened."""

    # what the cache was asked: each request's pages, then those that are fetched ahead of it; pages are numbered in the
    # order in which they are named here
    stream: Stream
    run: Run  # what it did at each access of the stream


def _named(stream: Stream) -> Stream:
    """The stream with pages numbered in the order in which its accesses first name them.

    The simulator numbers pages that are only ever fetched ahead behind all others, which takes the whole trace. A
    runtime cannot, and W-TinyLFU counts a page by its number.
    """
    if not len(stream):
        return stream
    named, first, ids = np.unique(stream.page_ids, return_index=True, return_inverse=True)
    order = np.empty(len(named), np.int32)
    order[np.argsort(first)] = np.arange(len(named), dtype=np.int32)
    return replace(stream, page_ids=order[ids], n_pages=len(named))


class PolicyServing:
    """The page cache of one composition."""

    def __init__(self, *, policy: Mapping[str, Any]) -> None:
        """Build from a bundle's section `policy`.

        Raises:
            ConfigError: as `spec_of`.
        """
        self.spec = spec_of(policy)

    def run(self, batch: RequestBatch, capacity: int, writes: Writes = "back") -> Served:
        """Serve requests from an empty cache.

        Args:
            batch: requests, from the first on.
            capacity: pages, at least 1.
            writes: what a write does, as `cachezoo.policies.stream.Stream.writes`.

        Raises:
            ConfigError: a capacity below 1, or more pages fetched ahead than a stream holds.
        """
        # Of a trace a plan reads what a batch has too: operation, offset, size, and the volumes' codes.
        trace, pages = cast(Trace, batch), batch.pages()
        stream = _named(prefetched_stream(trace, pages, self.spec.plan(trace, pages), writes))
        return Served(stream, simulate(self.spec.composition(), stream, capacity))

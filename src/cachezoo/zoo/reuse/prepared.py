"""A page trace as the system reads it, at one capacity; two traces as one whose workload changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.arrays import F32, I64
from cachezoo.features.reuse import asked_of, input_rows, without_origin
from cachezoo.kernels.reuse.past import Asked
from cachezoo.policies.stream import Stream, build_stream
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Corpus, Roles
from cachezoo.traces import mixing
from cachezoo.traces.mixing import Turn
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.reuse.cache import Seen, look


@dataclass(frozen=True)
class Prepared:
    """A trace."""

    key: str  # of the trace
    path: Path | None  # its canonical requests; None where it was joined of several
    trace: Trace  # requests
    pages: PageAccesses  # their page accesses

    @classmethod
    def read(cls, key: str, path: Path) -> "Prepared":
        """Read one.

        Raises:
            TraceError: the file is missing or damaged.
        """
        return cls(key, path, read_trace(path), read_pages(path))

    @cached_property
    def asked(self) -> Asked:
        """The requests as the features' kernel takes them."""
        return asked_of(batch_of(self.trace), self.pages)

    @cached_property
    def stream(self) -> Stream:
        """What a write-back cache is asked, a page at a time."""
        return build_stream(self.trace, self.pages)

    def inputs(self, capacity: int, hidden: bool = False, of: I64 | None = None) -> F32:
        """float32[m, F], or of some accesses, rising, with the origin of the requests hidden or not."""
        return input_rows(without_origin(self.asked) if hidden else self.asked, capacity, of)

    def look(self, capacity: int, policy: Mapping[str, Any]) -> Seen:
        """What the accesses show at a capacity, see `cachezoo.zoo.reuse.cache.look`."""
        return look(self.asked, self.pages, self.stream, capacity, policy)


def in_turns(first: Prepared, second: Prepared) -> Prepared:
    """Two traces as one, each on pages of its own: half of the first, half of the second, and the rest of each."""
    own = [Turn(part.trace.meta.trace_id, requests=max(1, len(part.trace) // 2)) for part in (first, second)]
    turns = [*own, *(Turn(turn.trace_id) for turn in own)]
    key = f"{first.key}+{second.key}"
    trace = mixing.in_turns([first.trace, second.trace], key, turns)
    return Prepared(key, None, trace, expand_pages(trace))


def places(
    categories: list[str], roles: Mapping[str, Roles], corpus: Corpus, role: str
) -> dict[str, Path]:  # fmt: skip
    """Canonical requests of all page traces of one role, the corpus's too, by key."""
    own: dict[str, Path] = {}
    for category in categories:
        keys = [key for name, found in roles.get(category, {}).items() if name == role for key in found]
        own |= {key: paths.requests(category, key) for key in keys}
        rows = corpus.get(category, {})
        own |= {key: paths.corpus(category) / f"{key}.parquet" for key, row in sorted(rows.items()) if row.role == role}
    return own

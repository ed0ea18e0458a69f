"""Virtual I/O caches: one queue's, and one cache that several applications share."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

from cachezoo.runtime import abi
from cachezoo.runtime.abi import RuntimeFault, call
from cachezoo.runtime.kept import Kept, needed_library, whole
from cachezoo.runtime.model import Model

QUEUES = ("lru", "lfu", "arc")


class Settings(NamedTuple):
    """How a queue is kept and mapped.

    `profile` has the hits per reference of each fragment, from which the first mapping is made; None: it is the head.
    """

    queue: str = "lru"  # or lfu, arc
    pages: int = 1 << 18  # of the queue, at least the cache's
    fragment: int = 256  # positions that are mapped together
    runs: int = 2  # of neighbouring fragments, mapped at most
    decay: float = 0.95  # that values are multiplied by after each quantum
    quantum: int = 2000  # references from one mapping to the next
    cost: float = 0.0  # hits that a page costs which enters a run away from the queue's head; 0 as in the paper
    profile: Optional[Sequence[float]] = None


Source = Union[Settings, Model]


class Place(NamedTuple):
    """What became of a reference."""

    position: int  # of the page in the queue before it moved; -1 where it was not there
    hit: bool  # it was in the cache
    moved: int  # pages read from the disk besides a missed one


def _real(name: str, value: float) -> float:
    try:
        return ctypes.c_double(value).value
    except (TypeError, ValueError, OverflowError):
        raise RuntimeFault(f"{name}: give a number that a double holds") from None


def _profile(rates: Sequence[float], fragments: int) -> Any:  # noqa: ANN401 - an array of ctypes
    try:
        found = [_real("profile", rate) for rate in rates]
    except TypeError:
        raise RuntimeFault("profile: give a sequence of numbers, one for each fragment") from None
    if len(found) != fragments:
        raise RuntimeFault(f"profile: {len(found)} numbers, the queue has {fragments} fragments")
    return (ctypes.c_double * fragments)(*found)


def _row(source: Source) -> abi.VirtualSettings:
    """The settings as the library takes them; their profile lives as long as the row, or as the model."""
    if not isinstance(source, Settings):
        return source.virtual_settings()
    if source.queue not in QUEUES:
        raise RuntimeFault(f"queue {source.queue!r}: there are {', '.join(QUEUES)}")
    fragment, pages = whole("fragment", source.fragment, 32), whole("pages", source.pages, 64)
    row = abi.VirtualSettings(
        QUEUES.index(source.queue), fragment, whole("runs", source.runs, 32), pages,
        whole("quantum", source.quantum, 64), _real("decay", source.decay), _real("cost", source.cost),
    )  # fmt: skip
    if source.profile is not None:
        row.profile = _profile(source.profile, -(-pages // fragment) if fragment > 0 else 0)
    return row


def _runs(call: Any, *words: Any) -> tuple[tuple[int, int], ...]:  # noqa: ANN401 - a function of ctypes
    rows = (abi.Run * abi.MOST_RUNS)()
    return tuple((rows[k].low, rows[k].high) for k in range(call(*words, rows)))


class Virtual(Kept):
    """One queue and its cache."""

    def __init__(self, source: Source, capacity: int) -> None:
        """Begin with an empty queue.

        Args:
            source: settings, or an open model of kind virtual; afterwards the model may be closed.
            capacity: pages, at least a fragment for each run, at most the queue's.

        Raises:
            RuntimeFault: such a cache there is not, in one line that says why; or there is no library.
        """
        library, cache, row = needed_library(), ctypes.c_void_p(), _row(source)
        call(library.cz_virtual_new, ctypes.byref(row), whole("capacity", capacity, 64), ctypes.byref(cache))
        super().__init__(library, "cz_virtual", cache)

    def reference(self, key: int) -> Place:
        """Serve a page; the key is its address, or whatever else identifies it, below 2**64.

        Raises:
            RuntimeFault: the key is no such number.
        """
        place = abi.PlaceRow()
        self._refer(self._own.handle, whole("key", key, 64, signed=False), ctypes.byref(place))
        return Place(place.position, bool(place.hit), place.moved)

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """Positions [low, high) that are mapped now, the nearest to the head first."""
        return _runs(self._own.library.cz_virtual_runs, self._own.handle)


class Share(Kept):
    """One cache for several applications, each with a queue of its own."""

    def __init__(
        self, pages: int, applications: Sequence[Source], step: int = 1, reach: int = 1, fill: float = 0.0
    ) -> None:
        """Begin with empty queues and an equal split.

        Args:
            pages: of the cache; whole fragments of it are given out.
            applications: settings or an open model of kind virtual for each; 2 to 1024.
            step: fragments that a step moves from one application to another.
            reach: steps that an application moves at a quantum's end at most; 1 as in the paper.
            fill: hits that each page of a part that grows must save beyond what the other loses; 0 as in the paper.

        Raises:
            RuntimeFault: such a cache there is not, in one line that says why; or there is no library.
        """
        library, share = needed_library(), ctypes.c_void_p()
        rows = (abi.VirtualSettings * max(len(applications), 1))(*(_row(source) for source in applications))
        options = abi.ShareOptions(
            whole("pages", pages, 64), whole("step", step, 32), whole("reach", reach, 32), _real("fill", fill)
        )
        call(library.cz_share_new, ctypes.byref(options), rows, len(applications), ctypes.byref(share))
        super().__init__(library, "cz_share", share)
        self._count = len(applications)

    def reference(self, application: int, key: int) -> Place:
        """Serve a page of an application, from 0.

        Raises:
            RuntimeFault: there is no such application, or no such key.
        """
        place = abi.PlaceRow()
        index = whole("application", application, 32)
        if self._refer(self._own.handle, index, whole("key", key, 64, signed=False), ctypes.byref(place)) != 0:
            raise RuntimeFault(f"application {application}: there are {self._count}, from 0")
        return Place(place.position, bool(place.hit), place.moved)

    @property
    def split(self) -> tuple[int, ...]:
        """Pages that each application has now."""
        pages = self._own.library.cz_share_pages
        return tuple(int(pages(self._own.handle, a)) for a in range(self._count))

    def runs(self, application: int) -> tuple[tuple[int, int], ...]:
        """Positions [low, high) of an application's queue that are mapped now, the nearest to the head first.

        Raises:
            RuntimeFault: the application is no whole number of 32 bits.
        """
        index = whole("application", application, 32)
        return _runs(self._own.library.cz_share_runs, self._own.handle, index)

"""Memory that is left, and what a trace's pages take of it.

It is said before it is taken: who takes more than there is gets no error, but is ended by the kernel.
"""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cachezoo.arrays import MOST_NUMBERED
from cachezoo.errors import ConfigError, TraceError
from cachezoo.numerals import whole
from cachezoo.sizes import human
from cachezoo.traces.pages import accesses_of
from cachezoo.traces.table import PAGE_BYTES, Trace

LONG_FROM = 50_000_000
FROM = "CACHEZOO_LONG_FROM"
"""Environment variable: page accesses from which on a trace is long; `LONG_FROM` where it is not set."""
FIX = f"cut or sample it (--first, cachezoo trace cut, trace sample), or raise {FROM} where memory has the room"
"""What to do about a long trace, where all of it is needed in memory."""
ACCESS_BYTES = 32
"""Of a trace in memory, for each access to a page: its number, and the least that any simulation makes of it."""


def long_from() -> int:
    """Page accesses from which on a trace is long: it is read a row group at a time.

    Raises:
        ConfigError: CACHEZOO_LONG_FROM is no number.
    """
    given = os.environ.get(FROM, "")
    if given and (whole(given) or 0) < 1:
        raise ConfigError(f"{FROM}={given}: is no number of page accesses; give 1 or more")
    return int(given) if given else LONG_FROM


def _group_limits() -> Iterator[int]:
    """Bytes of memory that the control groups of this process may take; none where there is no limit."""
    groups = Path("/proc/self/cgroup")
    for line in groups.read_text().splitlines() if groups.is_file() else ():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):  # version 2, version 1
            root, name = Path("/sys/fs/cgroup") / controllers, ("limit_in_bytes", "max")[controllers == ""]
            for file in (root / path.lstrip("/") / f"memory.{name}", root / f"memory.{name}"):
                if file.is_file() and (text := file.read_text().strip()).isdecimal():
                    yield int(text)


def memory_left() -> int:
    """Bytes of memory that this process may still take, of the machine, of its control group and of its limits."""
    page = os.sysconf("SC_PAGE_SIZE")
    left = [page * os.sysconf("SC_PHYS_PAGES")]
    meminfo, statm = Path("/proc/meminfo"), Path("/proc/self/statm")
    if meminfo.is_file():
        entries = (line.split() for line in meminfo.read_text().splitlines())
        left += [int(words[1]) << 10 for words in entries if words[0] == "MemAvailable:"]
    taken = [int(pages) * page for pages in statm.read_text().split()] if statm.is_file() else [0] * 7
    left += [limit - taken[1] for limit in _group_limits()]
    for kind, used in ((resource.RLIMIT_AS, taken[0]), (resource.RLIMIT_DATA, taken[5])):
        limit, _ = resource.getrlimit(kind)
        left += [limit - used] if limit != resource.RLIM_INFINITY else []
    return max(min(left), 0)


def hold(accesses: int, needed: int, where: str) -> None:
    """Refuse a trace whose pages are more than there is memory for.

    Args:
        accesses: to pages, for the message.
        needed: bytes.
        where: the file.

    Raises:
        TraceError: they are too many.
    """
    left = memory_left()
    if needed > left:
        message = (
            f"{where}: its requests touch {accesses:,} pages, which take {human(needed)} of memory, and {human(left)} "
            "is left: check the unit of its sizes, or cut or sample it (cachezoo trace cut, trace sample)"
        )
        raise TraceError(message)


def hold_pages(trace: Trace, where: str, page_bytes: int = PAGE_BYTES) -> None:
    """Refuse a trace in memory whose pages, in memory too, are more than there is memory for.

    Raises:
        TraceError: they are too many.
    """
    accesses = int(accesses_of(trace, page_bytes).sum())
    if accesses <= MOST_NUMBERED:  # more cannot be numbered, and who numbers them says so
        hold(accesses, accesses * ACCESS_BYTES, where)


def pieces(trace: Trace, accesses: int) -> Iterator[Trace]:
    """A trace's requests, so many at a time that they touch about as many pages as given; at least one."""
    if int(trace.size.sum()) // PAGE_BYTES + 2 * len(trace) <= accesses:  # a request touches no more
        yield trace
        return
    ends = np.cumsum(accesses_of(trace))
    first = 0
    while first < len(trace):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + accesses, "right")), first + 1)
        yield trace.take(np.arange(first, last)) if last - first < len(trace) else trace
        first = last

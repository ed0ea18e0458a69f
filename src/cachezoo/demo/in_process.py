"""A cache of libcachezoo between files, for a machine without nbdkit: what the filter does, a request at a time."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from cachezoo import runtime
from cachezoo.demo.replay import Counted, Disk, Waiting
from cachezoo.policies.stream import Writes
from cachezoo.serve import found
from cachezoo.serve.metrics import counts
from cachezoo.sizes import PAGE_BYTES

VOLUME = "disk"


class Cached:
    """A page cache whose pages lie in the file of an SSD, before a disk; it is a `cachezoo.demo.replay.Disk`."""

    def __init__(self, cache: runtime.Cache, disk: Waiting, ssd: Path, writes: Writes) -> None:
        self._cache, self._disk, self._writes = cache, disk, writes
        self._ssd = ssd.open("w+b", buffering=0)
        self._hits = self._asked = 0

    @property
    def counted(self) -> Counted:
        """Accesses so far, of those that count in the mode."""
        return Counted(self._hits, self._asked)

    def _access(self, op: str, offset: int, size: int) -> runtime.Access:
        found = self._cache.access(0, op, offset, size, VOLUME)
        if counts(self._writes, op):
            self._hits += found.hits
            self._asked += found.hits + found.misses
        for victim in found.victims:
            if victim.dirty and victim.slot >= 0:  # else it came and went with this request, which keeps it itself
                self._disk.write(victim.number * PAGE_BYTES, self._load(victim.slot))
        return found

    def _load(self, slot: int) -> bytes:
        self._ssd.seek(slot * PAGE_BYTES)
        return self._ssd.read(PAGE_BYTES)

    def _store(self, slot: int, data: bytes) -> None:
        self._ssd.seek(slot * PAGE_BYTES)
        self._ssd.write(data)

    def read(self, offset: int, size: int) -> tuple[bytes, float]:
        """Hits come from the SSD, the rest from one read of the disk; what the policy admits is kept.

        A request's own pages come first; a slot of a hit may be given to a page that follows, so hits are read before.
        """
        begin = time.monotonic_ns()
        units = self._access("read", offset, size).units
        own = size // PAGE_BYTES
        pages = {unit.number: self._load(unit.slot) for unit in units[:own] if unit.outcome == "hit"}
        if len(pages) < own:
            behind, _ = self._disk.read(offset, size)
            for number in {unit.number for unit in units[:own]} - pages.keys():
                first = number * PAGE_BYTES - offset
                pages[number] = behind[first : first + PAGE_BYTES]
        data = b"".join(pages[unit.number] for unit in units[:own])
        for unit in units[own:]:
            pages[unit.number], _ = self._disk.read(unit.number * PAGE_BYTES, PAGE_BYTES)
        for unit in units:
            if unit.outcome == "admitted" and unit.slot >= 0:
                self._store(unit.slot, pages[unit.number])
        return data, (time.monotonic_ns() - begin) / 1000

    def write(self, offset: int, data: bytes) -> float:
        """Written through or around the disk has the data at once; written back what is resident waits."""
        begin = time.monotonic_ns()
        for unit in self._access("write", offset, len(data)).units:
            first = unit.number * PAGE_BYTES - offset
            page, resident = data[first : first + PAGE_BYTES], self._writes != "around" and unit.slot >= 0
            if resident:
                self._store(unit.slot, page)
            if not resident or self._writes == "through":
                self._disk.write(unit.number * PAGE_BYTES, page)
        return (time.monotonic_ns() - begin) / 1000

    def close(self) -> None:
        """Close the SSD's file."""
        self._ssd.close()


@contextmanager
def cached(policy: str | None, pages: int, writes: Writes, disk: Path, ssd: Path, wait_s: float) -> Iterator[Disk]:
    """A disk behind a cache.

    Args:
        policy: the text of a policy, or a bundle's path; None: no cache.
        pages: of the cache.
        writes: what a write does.
        disk: its file.
        ssd: the file of the cached pages, which is made.
        wait_s: what a read of the disk takes longer.

    Raises:
        RuntimeFault: libcachezoo refuses the policy.
    """
    with closing(Waiting(disk, wait_s)) as behind:
        if policy is None:
            yield behind
            return
        kind, own = found.policy(policy)
        with (
            runtime.open(own, pages) if kind == "cz-bundle" else runtime.policy(own, pages) as model,
            closing(model.cache(pages, writes=writes)) as cache,
            closing(Cached(cache, behind, ssd, writes)) as served,
        ):
            yield served

"""What the tenants of an object store ask for and when: pure draws from a recipe, before any program runs.

Every tenant's objects stand in a ring. Its head moves by `drift_objects` a day: the objects just behind it are the
newest, which streams and queries want most and which scans read; the objects just before it are the ones that ingest
writes next. A stream reads an object from its start in chunks until the listener leaves; a query reads a table's footer
and then a few of its columns, some columns far more often than others; a scan reads a window of the ring in order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I64
from cachezoo.seeds import derive_seed
from tools.capture.loads import BatchTenant, BlobLoad, ColumnTenant, StreamTenant, Tenant
from tools.capture.schedule import Segment

KIB = 1024
ALIGN = 4096
PHASE_AMPLITUDE = 0.8


@dataclass(frozen=True, order=True)
class Read:
    """A range that a client asks for.

    Attributes:
        due_s: when, from the start of the load or of the scan.
        tenant: name.
        index: object.
        first, last: bytes, both included.
    """

    due_s: float
    tenant: str
    index: int
    first: int
    last: int

    def line(self, start_s: float) -> str:
        """The request as the wrk script reads it: milliseconds after `start_s`, path, range."""
        path = object_path(self.tenant, self.index)
        return f"{(self.due_s - start_s) * 1000:.3f} {path} bytes={self.first}-{self.last}"


def object_path(tenant: str, index: int) -> str:
    """An object's path on the server."""
    return f"/{tenant}/objects/{index:06d}"


def object_sizes(tenant: Tenant, seed: int) -> I64:
    """int64[objects]: lognormal sizes in bytes, whole pages, within the tenant's bounds."""
    rng = np.random.default_rng(derive_seed(seed, "capture_objects", tenant.name))
    sizes = np.exp(rng.normal(np.log(tenant.median_kib * KIB), tenant.sigma, tenant.objects))
    pages = np.clip(sizes, tenant.min_kib * KIB, tenant.max_kib * KIB).astype(np.int64) // ALIGN
    return np.asarray(pages * ALIGN, np.int64)


def disk_order(tenant: Tenant, seed: int) -> list[int]:
    """The order in which the objects are written at first.

    Age has nothing to do with the place on disk, but for a batch tenant, whose logs came one after the other.
    """
    if isinstance(tenant, BatchTenant):
        return list(range(tenant.objects))
    rng = np.random.default_rng(derive_seed(seed, "capture_disk_order", tenant.name))
    return [int(index) for index in rng.permutation(tenant.objects)]


def head(tenant: Tenant, elapsed_days: float) -> int:
    """Where the ring's head is: the object that is written next."""
    return int(elapsed_days * tenant.drift_objects) % tenant.objects


class Client:
    """Draws the sessions of one tenant; a session is a list of (seconds after its start, first, last) of one object."""

    def __init__(self, tenant: StreamTenant | ColumnTenant, seed: int) -> None:
        """Prepare the draws.

        Args:
            tenant: whose.
            seed: of the recipe.
        """
        self.tenant = tenant
        self.sizes = object_sizes(tenant, seed)
        ranks = np.arange(1, tenant.objects + 1, dtype=np.float64)
        self._popularity = np.cumsum(ranks**-tenant.theta)
        self._layout = derive_seed(seed, "capture_columns", tenant.name)

    def session(self, rng: np.random.Generator, elapsed_days: float) -> Iterator[tuple[float, int, int, int]]:
        """One session: (seconds after its start, object, first, last) of each range."""
        rank = int(np.searchsorted(self._popularity, rng.random() * self._popularity[-1]))
        index = (head(self.tenant, elapsed_days) - 1 - rank) % self.tenant.objects
        ranges = (
            self._stream(rng, self.tenant, index)
            if isinstance(self.tenant, StreamTenant)
            else self._query(rng, self.tenant, index)
        )
        for step, (first, last) in enumerate(ranges):
            yield step * self.tenant.gap_s, index, first, last

    def _stream(self, rng: np.random.Generator, tenant: StreamTenant, index: int) -> Iterator[tuple[int, int]]:
        """Chunks from the start; after each the client goes on with probability `follow`."""
        size, chunk = int(self.sizes[index]), tenant.chunk_kib * KIB
        for first in range(0, size, chunk):
            yield first, min(first + chunk, size) - 1
            if rng.random() > tenant.follow:
                return

    def _query(self, rng: np.random.Generator, tenant: ColumnTenant, index: int) -> Iterator[tuple[int, int]]:
        """The footer, then the columns that the query names; each table has hot columns of its own."""
        size = int(self.sizes[index])
        footer = max(0, size - tenant.footer_kib * KIB)
        yield footer, size - 1
        pages = footer // ALIGN
        edges = np.arange(tenant.columns + 1) * pages // tenant.columns * ALIGN
        weights = 1.0 / np.arange(1, tenant.columns + 1)
        hot = np.random.default_rng([self._layout, index]).permutation(weights)
        count = min(int(rng.geometric(1.0 / tenant.columns_read)), tenant.columns)
        for column in np.sort(rng.choice(tenant.columns, count, replace=False, p=hot / hot.sum())):
            if edges[column] < edges[column + 1]:
                yield int(edges[column]), int(edges[column + 1]) - 1


def tenant_rates(load: BlobLoad, segment: Segment) -> dict[str, float]:
    """Requests a second of each tenant that is read all day: each has its own hour of most load."""
    phase = segment.elapsed_days % 1.0
    weights = {
        tenant.name: tenant.share * (1 + PHASE_AMPLITUDE * np.cos(2 * np.pi * (phase - tenant.peak)))
        for tenant in load.tenants
        if not isinstance(tenant, BatchTenant)
    }
    whole = sum(weights.values())
    return {name: float(segment.rate * weight / whole) for name, weight in weights.items()}


def plan_reads(load: BlobLoad, segments: Sequence[Segment], seed: int) -> list[Read]:
    """All ranges that streams and queries ask for over some segments, by rising time.

    Args:
        load: the tenants.
        segments: the schedule; a session that is not over at the end of its segment goes on in the next.
        seed: of the recipe.
    """
    clients = {tenant.name: Client(tenant, seed) for tenant in load.tenants if not isinstance(tenant, BatchTenant)}
    reads: list[Read] = []
    for segment in segments:
        for name, rate in tenant_rates(load, segment).items():
            rng = np.random.default_rng(derive_seed(segment.seed, "capture_sessions", name))
            wanted = int(rng.poisson(rate * segment.seconds))
            while wanted > 0:
                start = segment.start_s + rng.random() * segment.seconds
                session = clients[name].session(rng, segment.elapsed_days)
                made = [Read(start + after, name, *rest) for after, *rest in session]
                reads += made
                wanted -= len(made)
    return sorted(reads)


def plan_scan(tenant: BatchTenant, elapsed_days: float, seed: int) -> list[Read]:
    """A scan of the tenant's newest `window_objects` objects, oldest first, at its pace."""
    sizes, chunk = object_sizes(tenant, seed), tenant.chunk_kib * KIB
    first_object = head(tenant, elapsed_days) - tenant.window_objects
    reads, due = [], 0.0
    for place in range(first_object, first_object + tenant.window_objects):
        index = place % tenant.objects
        size = int(sizes[index])
        for first in range(0, size, chunk):
            last = min(first + chunk, size) - 1
            reads.append(Read(due, tenant.name, index, first, last))
            due += (last + 1 - first) / (tenant.scan_mib_s * KIB * KIB)
    return reads


def plan_ingest(tenant: Tenant, elapsed_days: float) -> list[int]:
    """The objects that an ingest writes: those that become the newest as the head moves on."""
    start = head(tenant, elapsed_days)
    return [(start + step) % tenant.objects for step in range(tenant.ingest_objects)]

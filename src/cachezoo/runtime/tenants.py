"""One cache for several tenants, without a model: shared, split for good, or split by UCP."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

from cachezoo.runtime import abi
from cachezoo.runtime.abi import RuntimeFault, call
from cachezoo.runtime.kept import Kept, needed_library, whole

POLICIES = ("azor", "lfu", "lirs", "lru", "s3fifo", "wtinylfu")
SHARED, FIXED, UCP = range(3)
BYPASSED, ADMITTED, HIT = range(3)


class Page(NamedTuple):
    """A page of a tenant."""

    tenant: int
    key: int


class Reference(NamedTuple):
    """What became of a reference."""

    hit: bool
    admitted: bool  # a miss, and the page is in the cache now
    victims: tuple[Page, ...]  # pages that left


class Tenants(Kept):
    """One cache for 2 to 1024 tenants; `shared`, `fixed` and `ucp` make one."""

    def __init__(self, options: abi.TenantsOptions, count: int) -> None:
        """Begin with an empty cache.

        Raises:
            RuntimeFault: such a cache there is not, in one line that says why; or there is no library.
        """
        library, tenants = needed_library(), ctypes.c_void_p()
        call(library.cz_tenants_new, ctypes.byref(options), whole("count", count, 32), ctypes.byref(tenants))
        super().__init__(library, "cz_tenants", tenants)
        self._count, self._access = count, abi.TenantAccess()

    @classmethod
    def shared(cls, count: int, pages: int, policy: str, remembered: int = 0) -> Tenants:
        """One cache for all.

        Args:
            count: tenants.
            pages: of the cache.
            policy: of `POLICIES`.
            remembered: pages known at once, ghosts and counts of LFU included; 0: four for each page of the cache.

        Raises:
            RuntimeFault: as of the class.
        """
        known = whole("remembered", remembered, 64)
        options = abi.TenantsOptions(SHARED, whole("pages", pages, 64), policy.encode(), None, 0, 0, known)
        return cls(options, count)

    @classmethod
    def fixed(cls, parts: Sequence[tuple[str, int]], remembered: int = 0) -> Tenants:
        """A part for each tenant.

        Args:
            parts: policy and pages of each tenant's.
            remembered: as of `shared`, of all parts together.

        Raises:
            RuntimeFault: as of the class.
        """
        rows = [abi.TenantRow(policy.encode(), whole("pages", pages, 64)) for policy, pages in parts]
        each = (abi.TenantRow * max(len(rows), 1))(*rows)
        options = abi.TenantsOptions(FIXED, 0, None, each, 0, 0, whole("remembered", remembered, 64))
        return cls(options, len(parts))

    @classmethod
    def ucp(cls, count: int, pages: int, fragment: int = 0, window: int = 0) -> Tenants:
        """Parts of LRU, sized by how many misses each size would have saved.

        Args:
            count: tenants.
            pages: of the cache; whole fragments of them are given out.
            fragment: pages that are given out together; 0: 256.
            window: references of a tenant, on average, that a split holds for; 0: 20,000.

        Raises:
            RuntimeFault: as of the class.
        """
        given = whole("fragment", fragment, 32), whole("window", window, 64)
        return cls(abi.TenantsOptions(UCP, whole("pages", pages, 64), None, None, *given, 0), count)

    def reference(self, tenant: int, key: int) -> Reference:
        """Serve a page of a tenant, from 0.

        Raises:
            RuntimeFault: there is no such tenant, or no such key.
        """
        found = self._access
        given = whole("tenant", tenant, 32), whole("key", key, 64, signed=False)
        if self._refer(self._own.handle, *given, ctypes.byref(found)) != 0:
            raise RuntimeFault(f"tenant {tenant}: there are {self._count}, from 0")
        victims = tuple(Page(found.victims[k].tenant, found.victims[k].key) for k in range(found.n_victims))
        return Reference(found.outcome == HIT, found.outcome == ADMITTED, victims)

    @property
    def split(self) -> tuple[int, ...]:
        """Pages that each tenant may have now; of a shared cache all of them."""
        pages = self._own.library.cz_tenants_pages
        return tuple(int(pages(self._own.handle, a)) for a in range(self._count))

    @property
    def resident(self) -> tuple[int, ...]:
        """Pages that each tenant has now."""
        pages = self._own.library.cz_tenants_resident
        return tuple(int(pages(self._own.handle, a)) for a in range(self._count))

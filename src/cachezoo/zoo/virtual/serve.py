"""The virtual I/O cache as a runtime runs it: page accesses in, what was in the cache out; its profile.

Built from the plain JSON values of `train.json` or a bundle's model.json and the profile; numpy is all it needs.

`profile.bin` holds hits per reference of each fragment of the queue, nearest the head first, as little-endian float64.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from cachezoo.arrays import F64, I32, Bool
from cachezoo.errors import BundleError, ConfigError
from cachezoo.kernels.virtual.queues import Moves, moves
from cachezoo.kernels.virtual.vrm import Served, Settings, simulate
from cachezoo.traces.pages import PageAccesses

WARM: Final = "warm"
COLD: Final = "cold"
FILE = "profile.bin"
DOUBLE = 8


def profile_of(position: I32, fragments: int, fragment: int) -> F64:
    """Hits per reference of each fragment.

    Args:
        position: int32[m] where each reference found its page in the queue; -1 where it was not there.
        fragments: of the queue.
        fragment: positions in each.

    Returns:
        float64[fragments]; zeros where nothing is accessed.
    """
    found = np.bincount(position[position >= 0] // fragment, minlength=fragments)
    rates: F64 = found / max(1, len(position))
    return rates


def to_bytes(profile: F64) -> bytes:
    """The bytes of `profile.bin`."""
    return profile.astype("<f8").tobytes()


def from_bytes(data: bytes) -> F64:
    """Read them.

    Raises:
        BundleError: they are no whole numbers of float64, or hold one that is no rate: below 0, above 1, not a number.
    """
    if len(data) % DOUBLE or not data:
        raise BundleError(f"{FILE}: has {len(data)} bytes, not 8 for each fragment; export the bundle again")
    profile: F64 = np.frombuffer(data, "<f8").astype(np.float64)
    if not bool(((profile >= 0) & (profile <= 1)).all()):
        raise BundleError(f"{FILE}: holds a number that is no rate of hits per reference; export the bundle again")
    return profile


def fitted_to(profile: F64, fragments: int) -> F64:
    """The rates of a queue of so many fragments: float64[fragments]; those that the profile lacks are 0."""
    return np.pad(profile[:fragments], (0, max(0, fragments - len(profile))))


@dataclass(frozen=True)
class ProfileSession:
    """`profile.bin` as an engine: `run(["profile"], {})` gives its float64[fragments]."""

    profile: F64

    def run(self, outputs: list[str] | None, inputs: dict[str, Any]) -> list[Any]:
        """The one output there is, `profile`."""
        return [self.profile]


@dataclass(frozen=True)
class Ran:
    """What the cache did."""

    moves: Moves  # of the queue, at each page access
    served: Served  # of the cache

    @property
    def hit(self) -> Bool:
        """bool[m]: the page was in the cache."""
        return self.served.hit

    @property
    def moved(self) -> I32:
        """int32[m]: pages read from the disk at the access, besides its own."""
        return self.served.moved


class VirtualServing:
    """The cache of one model."""

    def __init__(self, *, arch: Mapping[str, Any], policy: Mapping[str, Any], profile: F64) -> None:
        """Build from `TrainedModel.model_dump()`'s values.

        Args:
            arch: `queue`, `pages`, `fragment`, `runs`, `decay`, `quantum`, `cost`.
            policy: `start`: `warm`, from the profile, or `cold`, from the head of the queue.
            profile: float64[fragments], hits per reference.

        Raises:
            ConfigError: the queue is no whole number of fragments.
        """
        self.queue, self.pages = str(arch["queue"]), int(arch["pages"])
        self.settings = Settings(
            int(arch["fragment"]), int(arch["runs"]), float(arch["decay"]), int(arch["quantum"]), float(arch["cost"])
        )
        self.start, self.profile = str(policy["start"]), profile
        check_queue(arch)

    def run(self, pages: PageAccesses, capacity: int) -> Ran:
        """Serve page accesses from an empty cache.

        Args:
            pages: of the requests, from the first on.
            capacity: pages.

        Raises:
            ConfigError: the cache is longer than the queue, or has no room for a fragment of each run.
        """
        return self.follow(moves(self.queue, pages.page_ids, pages.n_pages, self.pages), capacity)

    def follow(self, moved: Moves, capacity: int) -> Ran:
        """The same of page accesses whose moves in the queue are known."""
        own = self.settings
        check_capacity(capacity, self.pages, own)
        rates = fitted_to(self.profile, self.pages // own.fragment) if self.start == WARM else None
        return Ran(moved, simulate(moved, capacity, self.pages, own, rates))


def check_queue(arch: Mapping[str, Any]) -> None:
    """Refuse a queue that is no whole number of fragments.

    Raises:
        ConfigError: it is none.
    """
    if arch["pages"] % arch["fragment"]:
        raise ConfigError(f"arch.pages {arch['pages']} is no multiple of arch.fragment {arch['fragment']}")


def check_capacity(capacity: int, pages: int, settings: Settings) -> None:
    """Refuse a cache that the queue cannot fill, or that has no room for a fragment of each run.

    Raises:
        ConfigError: the one or the other.
    """
    if capacity > pages:
        raise ConfigError(f"capacity {capacity}: n below the cache; the queue has {pages} pages")
    if capacity < settings.f * settings.fragment:
        message = (
            f"capacity {capacity}: a cache smaller than f fragments; f {settings.f} of {settings.fragment} pages are "
            f"{settings.f * settings.fragment}"
        )
        raise ConfigError(message)

"""What a comparison and a search are given, and the hierarchies that a search tries where none is named."""

from dataclasses import dataclass, field
from pathlib import Path

from cachezoo.contest.counting import SECOND_HALF, Count
from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.bench import NOTHING
from cachezoo.questions.tiers.budget import Money, Point
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_hierarchy
from cachezoo.questions.tiers.purchase import Shop, Terms
from cachezoo.questions.tiers.response import Loop
from cachezoo.questions.tiers.search import By
from cachezoo.settings.prices import Prices
from cachezoo.sizes import PAGE_BYTES, Size, human

NAMES = {
    "lru": "LRU in RAM alone",
    "arc": "ARC in RAM alone",
    "lirs": "LIRS in RAM alone",
    "wtinylfu": "W-TinyLFU in RAM alone",
    "hcalfu | tb=64K | lru": "HCA",
    "lru | tb=64K | lru": "LRU over LRU",
    "arc | tb=64K | lru": "ARC over LRU",
    "lirs | tb=64K | lru": "LIRS over LRU",
    "wtinylfu | tb=64K | lru": "W-TinyLFU over LRU",
    "lru | tb=64K | s3fifo": "LRU over S3-FIFO",
    "lru | tb=64K | rejectx+lru": "LRU over LRU behind RejectX",
    "promotion: lru | s3fifo": "LRU with copies on S3-FIFO",
    "promotion: arc | lru": "ARC with copies on LRU",
    "promotion: lirs | lfu": "LIRS with copies on LFU",
    "inclusive: lru | lru": "inclusive LRU and LRU",
    "inclusive: lru | s3fifo": "inclusive LRU and S3-FIFO",
    "l2arc": "L2ARC",
}
"""The candidates of a search, as people write them, by their texts."""
CANDIDATES = tuple(map(parse_hierarchy, NAMES))


def name_of(point: Point) -> str:
    """How people write a hierarchy; one that is no candidate by its text."""
    return "the disk alone" if point == NOTHING else NAMES.get(str(point.hierarchy), str(point.hierarchy))


@dataclass(frozen=True)
class Options:
    """What both commands are given."""

    hierarchies: tuple[Hierarchy, ...] = CANDIDATES
    device: str | None = None  # the profile's name as given; None for the one built in
    prices: str | None = None  # the price list as given; None for the one built in
    terms: Terms = field(default_factory=Terms)
    termed: tuple[str, ...] = ()  # the options that give the terms, as typed


@dataclass(frozen=True)
class TierOptions(Options):
    """Hierarchies that are compared at the same sizes."""

    ram: Size = field(kw_only=True)
    ssd: Size = field(kw_only=True)
    count: Count = SECOND_HALF
    loop: Loop | None = None  # None: what the trace has
    bundle: Path | None = None

    def __post_init__(self) -> None:
        """Refuse a bundle that no hierarchy uses, and one that is missing.

        Raises:
            ConfigError: either.
        """
        decided = next((own for own in self.hierarchies if own.is_decided), None)
        if self.bundle is None and decided is not None:
            example = "--bundle models/bundles/admission.CATEGORY.lgbm"
            raise ConfigError(f"--hierarchy {decided}: a bundle admits to it; name one, {example}")
        if self.bundle is not None and decided is None:
            message = f"--bundle {self.bundle}: --hierarchy does not name it; write it there as in lru | bundle+lru"
            raise ConfigError(message)

    def pages(self, n_pages: int) -> tuple[int, int]:
        """RAM and SSD of a trace with so many pages; no SSD where no hierarchy has one."""
        ssd = self.ssd.pages(n_pages) if any(own.has_ssd for own in self.hierarchies) else 0
        return self.ram.pages(n_pages), ssd


@dataclass(frozen=True)
class SizeOptions(Options):
    """What is to be reached, and what is assumed; at most one aim, and the knee of the front without."""

    budget: Money | None = None  # the most that may be spent on RAM and SSD
    hit: float | None = None  # part of the page reads that RAM and SSD have to serve
    ms: float | None = None  # mean time of a page read to reach
    working_set: int | None = None  # bytes that the trace's pages represent; None for what they are
    replaced: tuple[str, ...] = ()  # options that replace prices of the list
    reading: str = ""  # how the trace is read, as typed; empty where its content says it
    piped: bool = False  # the trace came by a pipe, and is gone
    sample: str = "auto"  # how much of it is read, as typed

    def __post_init__(self) -> None:
        """Refuse several aims, one that cannot be, and hierarchies that need a bundle.

        Raises:
            ConfigError: one of these.
        """
        decided = next((own for own in self.hierarchies if own.is_decided), None)
        if decided is not None:
            message = (
                f"--hierarchy {decided}: no bundle runs here; leave it out, or give sizes to --only tiers --bundle"
            )
            raise ConfigError(message)
        given = {"--spend": self.budget, "--target-hit": self.hit, "--target-ms": self.ms}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise ConfigError(f"{' and '.join(named)}: give one aim; the table shows what each sum brings of all")
        if self.ms is not None and not 0 < self.ms < float("inf"):
            raise ConfigError(f"--target-ms {self.ms:g}: give milliseconds above 0, such as 2")

    @property
    def by(self) -> By:
        """What is to be small."""
        return "amat" if self.hit is None else "disk"

    def shop(self, prices: Prices, n_pages: int) -> Shop:
        """What can be bought for a trace of so many pages, scaled to what it stands for.

        Raises:
            ConfigError: a working set smaller than the trace's pages.
        """
        touched = n_pages * PAGE_BYTES
        if self.working_set is not None and self.working_set < touched:
            message = (
                f"--working-set {human(self.working_set)}: the trace touches {human(touched)} itself; give more, "
                "or leave it out"
            )
            raise ConfigError(message)
        return Shop(prices, self.terms, n_pages, self.working_set / touched if self.working_set else 1.0)

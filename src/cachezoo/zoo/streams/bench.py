"""One drive that replays a category's cycles, the last of which counts, under placements, learned ones among them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product

import numpy as np

from cachezoo.arrays import U8
from cachezoo.errors import ConfigError
from cachezoo.flash_drive.names import LIFETIME, ONLINE
from cachezoo.flash_drive.placements import Parameters, Placement
from cachezoo.flash_drive.run import Wear, wear
from cachezoo.flash_drive.writes import DriveWrites, drive_writes
from cachezoo.settings.wear import Drive
from cachezoo.traces.chunks import FLASH_PAGE_BYTES
from cachezoo.traces.table import Trace
from cachezoo.zoo.streams.deaths import Lifetimes
from cachezoo.zoo.streams.learn import Variant
from cachezoo.zoo.streams.metrics import Tried
from cachezoo.zoo.streams.settings import Classes

SEEDS = 5  # of chance: 0, by which all else is told, and others


@dataclass
class Bench:
    """A drive and its writes."""

    writes: DriveWrites  # of all cycles
    drive: Drive
    streams: int = 1  # K, that it has, unless a placement has a number of its own
    since: int = 0  # the first page write that anything learned serves
    # By what is placed where, so that placements that agree run once.
    runs: dict[tuple[str, int, int, int], Wear] = field(default_factory=dict)

    @classmethod
    def of(cls, train: Sequence[Trace], served: Sequence[Trace], drive: Drive, streams: int) -> "Bench":
        """A drive that replays the train cycles, and then others, of which the last is counted.

        Raises:
            ConfigError: the drive's flash pages are not those that labels and forests were learned in.
            TraceError: nothing is written.
        """
        if drive.page_bytes != FLASH_PAGE_BYTES:
            message = (
                f"policy.drive.page_bytes: {drive.page_bytes}, but streams are learned in flash pages of "
                f"{FLASH_PAGE_BYTES} bytes"
            )
            raise ConfigError(message)
        writes = drive_writes([*train, *served], drive.page_bytes)
        return cls(writes, drive, streams, int(writes.starts[len(train)]))

    def run(self, placement: Placement, counted: int = -1, seed: int = 0) -> Wear:
        """What a placement does to the drive in a cycle; -1 is the last. `seed`: see `cachezoo.flash_drive.run`.

        Raises:
            DeviceError: the drive has no room for its streams.
            TraceError: the counted cycle writes too little.
        """
        placed = None if placement.place is None else placement.place(self.writes)
        what = sha256(repr(placement.inside).encode())
        if placed is not None:
            for part in self.writes.spans():
                what.update(placed[part].data)
        streams = placement.inside.streams or placement.streams or self.streams
        key = what.hexdigest(), streams, counted, seed
        if key not in self.runs:
            self.runs[key] = wear(
                self.writes, placed, self.drive, counted, n_streams=streams, rule=placement.inside, seed=seed
            )
        return self.runs[key]

    def fits(self, placement: Placement) -> bool:
        """Whether the drive keeps as many blocks free as a rule inside it copies to."""
        return placement.inside.keeps <= self.drive.gc_free_blocks

    def noise(self, placement: Placement, rival: Placement) -> float:
        """How far chance moves what a placement saves of a rival's flash writes in the last cycle: the widest distance.

        Chance is which of equal victims is erased and where the pre-fill begins, which no design fixes.
        """
        saved = [self.run(placement, seed=k).saved(self.run(rival, seed=k)).value for k in range(SEEDS)]
        return max(saved) - min(saved)

    def tried(self, placement: Placement) -> Tried:
        """A placement's figures on validation."""
        run, parameters = self.run(placement), dict(placement.parameters)
        return Tried(
            policy=placement.policy, kind=placement.kind, streams=run.streams_used, parameters=parameters, waf=run.waf
        )

    def learned(self, variant: Variant) -> Placement:
        """A variant as a placement on this drive."""
        return Placement(variant.name, variant.kind, lambda writes: variant.streams_of(writes, self.since))

    def forests(self, lifetimes: Lifetimes, parameters: Parameters) -> list[Placement]:
        """The placement by the forest of median WAF, the lower of two, then by each forest."""

        def by(seed: int) -> Placement:
            def place(writes: DriveWrites) -> U8:
                return lifetimes.streams_of(seed, writes, self.since, **parameters)

            return Placement(f"{LIFETIME}.{seed + 1}", "forest", place, parameters)

        each = [by(seed) for seed in range(len(lifetimes.forests))]
        middle = sorted(each, key=lambda one: self.run(one).waf)[(len(each) - 1) // 2]
        return [Placement(LIFETIME, middle.kind, middle.place, middle.parameters), *each]


def classes_and_parts(settings: Classes, streams: int) -> list[dict[str, int]]:
    """The combinations of classes and parts of forests that need no more streams than there are."""
    pairs = product(settings.classes, settings.parts)
    return [{"classes": classes, "parts": parts} for classes, parts in pairs if classes - 1 + parts <= streams]


def online(learned: Sequence[tuple[int, Variant]]) -> Placement:
    """A dictionary that is learned anew from each cycle just past.

    Args:
        learned: the first page write that each dictionary serves, rising, and the dictionary.
    """

    def place(writes: DriveWrites) -> U8:
        found: U8 = writes.room(np.uint8, len(writes))
        for since, variant in learned:
            writes.by_chunk(slice(since, len(writes)), variant.dictionary.look_up, found)
        return found

    return Placement(ONLINE, "online", place, {})

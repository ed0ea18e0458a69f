"""A cache that people run: its modes and knobs, a model of it, and the commands that set it up."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.targets.log import Log
from cachezoo.questions.tiers.stream import TierStream

Value = int | float | str
Settings = Mapping[str, Value]
"""Values of all knobs by their names."""
Writes = Literal["through", "back", "around", "none"]


WHOLE = re.compile(
    r"/dev/disk/by-(?:id|path|diskseq)/(?!dm-|lvm-|.*-part[0-9]+$).+"
    r"|/dev/(?:sd|hd|vd|xvd)[a-z]+|/dev/nvme[0-9]+n[0-9]+|/dev/(?:mmcblk|pmem|nbd|loop|md)[0-9]+"
)


@dataclass(frozen=True)
class Mode:
    """A mode, as the system calls it."""

    id: str
    writes: Writes  # what it does with writes; `none`: the SSD is passed by
    says: str  # what it does, in words of the field, without a subject


@dataclass(frozen=True)
class Knob:
    """A setting of a system: its name as the system's documentation has it, and values worth trying, default first."""

    name: str
    values: tuple[Value, ...]
    says: str
    modes: tuple[str, ...] = ()  # in which it does something; none named: in all
    unit: str = ""  # of the values

    @property
    def default(self) -> Value:
        """As the system comes."""
        return self.values[0]


@dataclass(frozen=True)
class Sizes:
    """Pages of 4 KiB."""

    ssd: int  # of data, at least 1
    ram: int = 0  # of a cache in RAM above it, for a system that has one
    disk: int = 0  # of the disk that are asked for, from its beginning to the highest


@dataclass(frozen=True)
class Devices:
    """What the commands name."""

    disk: str
    ssd: str
    name: str  # of the cache, volume group or pool

    @property
    def ssd_is_whole(self) -> bool:
        """Whether the SSD's name may be that of a whole drive, which can be given a partition table.

        By the names of the kernel (Linux Documentation/admin-guide/devices.txt) and of udev's links. What could be
        either, such as a link by UUID or a logical volume, is no whole drive: it is used as it is.
        """
        return WHOLE.fullmatch(self.ssd) is not None


@dataclass(frozen=True)
class TargetRun:
    """What a cache did with the n requests, or m page accesses, of a trace; I/Os as of `cachezoo.kernels.targets.log`.

    Order is that in which a cache issues them; a request's own I/Os are issued at once.
    """

    found: U8  # [m] `RAM`, `SSD` or `DISK` of `cachezoo.kernels.tiers`: where each access found its page, writes too
    code: U8  # [k]
    request: I32  # [k] never falling
    place: I64  # [k] first page: of the disk as `TierStream.address`, of the SSD from 0 on
    pages: I32  # [k]
    dirty: I32  # [n] pages that only the SSD holds, after each request

    @classmethod
    def of(cls, found: U8, log: Log, dirty: I32) -> "TargetRun":
        """A kernel's run."""
        k = int(log.used[0])
        return cls(
            found, log.code[:k].copy(), log.request[:k].copy(), log.place[:k].copy(), log.pages[:k].copy(), dirty
        )


@dataclass(frozen=True)
class Target:
    """A system."""

    id: str
    title: str
    runs: str  # what runs it
    source: str  # documentation and source that the model follows
    modes: tuple[Mode, ...]  # its default first
    knobs: tuple[Knob, ...]
    run: Callable[[TierStream, Sizes, str, Settings], TargetRun]
    commands: Callable[[Sizes, str, Settings, Devices], list[str]]
    ram: bool = False  # it has a cache in RAM, too
    least_ram_bytes: int = 0  # of that cache; less is ignored
    whole_ssd: bool = False  # it uses all of the device that it is given, so that a size takes a partition
    splits_ssd: bool = False  # likewise, and its commands give a whole drive such a partition

    @property
    def defaults(self) -> dict[str, Value]:
        """Every knob as the system comes."""
        return {knob.name: knob.default for knob in self.knobs}

    def mode(self, name: str) -> Mode:
        """The mode of that name, which it has."""
        return next(mode for mode in self.modes if mode.id == name)

    def changed(self, settings: Settings) -> dict[str, Value]:
        """The settings that are not the default."""
        return {name: value for name, value in settings.items() if value != self.defaults[name]}

    def said(self, settings: Settings) -> list[str]:
        """Settings as people read them, with their units."""
        units = {knob.name: knob.unit for knob in self.knobs}
        return [f"{name} {value} {units[name]}".rstrip() for name, value in settings.items()]


def moves(target: Target, mode: str, settings: Settings) -> Sequence[dict[str, Value]]:
    """Settings that differ from these in one knob, of those that do something in the mode."""
    return [
        {**settings, knob.name: value}
        for knob in target.knobs
        if not knob.modes or mode in knob.modes
        for value in knob.values
        if value != settings[knob.name]
    ]

"""What `recommend --for` is asked."""

import re
from dataclasses import dataclass, field

from cachezoo.errors import ConfigError
from cachezoo.questions.targets.target import Devices, Mode, Target
from cachezoo.sizes import Size

DISK, SSD, NAME = "/dev/disk/by-id/DISK", "/dev/disk/by-id/SSD", "cachezoo"
RAM_SHARE = "2%"
PATH = re.compile(r"/[A-Za-z0-9/_.:@+=,-]+")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def checked(devices: Devices) -> Devices:
    """The devices, which can be written into commands as they are.

    Raises:
        ConfigError: one cannot.
    """
    for option, path in (("--disk", devices.disk), ("--ssd", devices.ssd)):
        if PATH.fullmatch(path) is None:
            raise ConfigError(f"{option} {path[:60]!r}: give the path of a block device, such as {DISK}")
    if devices.disk == devices.ssd:
        raise ConfigError(f"--disk and --ssd are both {devices.disk[:60]}; name two devices")
    if WORD.fullmatch(devices.name) is None:
        raise ConfigError(f"--name {devices.name[:60]!r}: give letters, digits, '_', '.' or '-', a letter first")
    return devices


@dataclass(frozen=True)
class TargetOptions:
    """A system, what it may have, and what its commands name."""

    target: Target
    most: Size | None = None  # of SSD; None: as much as the trace touches
    ram: Size | None = None  # of a cache in RAM, for a system that has one; None: 2 % of what the trace touches
    modes: tuple[str, ...] = ()  # that may be chosen; none named: all
    devices: Devices = field(default_factory=lambda: Devices(DISK, SSD, NAME))

    def __post_init__(self) -> None:
        """Refuse what the system does not have.

        Raises:
            ConfigError: a mode that it has not or that caches nothing, or RAM for a system without a cache in it.
        """
        known = [mode.id for mode in self.target.modes if mode.writes != "none"]
        for name in self.modes:
            if name not in known:
                raise ConfigError(
                    f"--modes {name[:24]}: {self.target.title} caches in {', '.join(known)}; name of these"
                )
        if self.ram is not None and not self.target.ram:
            raise ConfigError(f"--ram: {self.target.title} has no cache in RAM; leave it out")

    @property
    def allowed(self) -> tuple[Mode, ...]:
        """The modes that cache, and may be chosen."""
        return tuple(
            mode for mode in self.target.modes if mode.writes != "none" and (not self.modes or mode.id in self.modes)
        )

    def ram_pages(self, touched: int) -> int:
        """Pages of RAM, of a trace that touches so many."""
        return (self.ram or Size.parse(RAM_SHARE)).pages(touched) if self.target.ram else 0

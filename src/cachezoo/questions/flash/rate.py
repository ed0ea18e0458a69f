"""How much a flash cache may write, as people type it: `10MB/s`, `10MiB/s`, `500GiB/day`, or `25%` of AcceptAll's."""

import re
from dataclasses import dataclass

from cachezoo.errors import ConfigError
from cachezoo.sizes import BYTES, human

SECONDS = {"s": 1, "min": 60, "h": 3600, "day": 86_400}
NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(.*)")
UNITS = {unit.lower(): value for unit, value in BYTES.items()}
LONGEST = 24  # characters: a longer text is no rate, and is cut in messages
HOW = "write a rate as 10MB/s, 500GiB/day or 25% (of what accept_all writes)"


@dataclass(frozen=True)
class WriteRate:
    """A write rate as typed.

    Attributes:
        text: as typed, with its unit.
        bytes_s: bytes a second of the trace's clock; None where it is a share.
        share: of what AcceptAll writes without prefetch; 0 where it is a rate.
    """

    text: str
    bytes_s: float | None
    share: float

    def segments(self, accept_all: int, seconds: float, segment_bytes: int) -> float:
        """Segments that a whole trace may write at this rate.

        Args:
            accept_all: segments that AcceptAll writes without prefetch.
            seconds: the trace's span; 0 where it has no clock.
            segment_bytes: bytes of a segment.

        Raises:
            ConfigError: less than one segment, or the trace has no clock to spread a rate over.
        """
        if self.bytes_s is None:
            return max(1.0, self.share * accept_all)
        if seconds <= 0:
            message = f"--write-rate {self.text}: the trace has no clock, so there is no rate; give a share as 25%"
            raise ConfigError(message)
        found = self.bytes_s * seconds / segment_bytes
        if found < 1:
            short = f"in the trace's {seconds:,.3g} s that is less than one segment of {human(segment_bytes)}"
            raise ConfigError(f"--write-rate {self.text}: {short}; give a higher rate, or a share as 25%")
        return found


def parse_rates(text: str) -> list[WriteRate]:
    """Rates from ``10,20,30MB/s``: each number takes the unit that stands next behind it.

    Args:
        text: as typed, with commas between rates.

    Returns:
        Each rate once, in the order given.

    Raises:
        ConfigError: no rate, a number without a unit, a rate of 0, or more than 100 %.
    """
    parts = [part.strip() for part in text.split(",")]
    unit, found = "", list[WriteRate]()
    for part in reversed(parts):
        match = NUMBER.fullmatch(part) if len(part) <= LONGEST else None
        if match is None:
            raise _refused(part, HOW)
        unit = match[2].strip() or unit
        if not unit:
            raise _refused(part, f"a number without a unit; {HOW}")
        found.append(_rate(match[1], unit))
    return list(dict.fromkeys(reversed(found)))


def _rate(number: str, unit: str) -> WriteRate:
    value, text = float(number), f"{number}{unit}"
    if value <= 0:
        raise _refused(text, "it must be above 0")
    if unit == "%":
        if value > 100:
            raise _refused(text, "at most 100 % of what accept_all writes; accept_all itself is a policy")
        return WriteRate(text, None, value / 100)
    size, _, time = unit.partition("/")
    size_bytes, seconds = UNITS.get(size.strip().lower()), SECONDS.get(time.strip().lower())
    if size_bytes is None or seconds is None:
        fix = f"unknown unit {unit!r}; a size ({', '.join(BYTES)}) over a time ({', '.join(SECONDS)}), or %"
        raise _refused(text, fix)
    return WriteRate(text, value * size_bytes / seconds, 0.0)


def _refused(text: str, fix: str) -> ConfigError:
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return ConfigError(f"--write-rate {shown!r}: {fix}")

"""Texts: what is read from options and files, and what is printed."""

from __future__ import annotations

import contextlib
import re
import sys
from decimal import Decimal


class ServeError(Exception):
    """Something cannot be served or done; one line. `cachezoo.errors` needs a newer Python."""


NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) *([a-z%]*)", re.IGNORECASE)
BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
# `cachezoo.sizes` has these, too; here K, M, G and T are powers of 1024, as nbdkit, LVM and qemu read them.
UNITS = {f"{c}{end}": 1024 ** (k + 1) for k, c in enumerate("kmgt") for end in ("", "ib")}
UNITS.update({"b": 1, **{f"{c}b": 1000 ** (k + 1) for k, c in enumerate("kmgt")}})
SECONDS = {"s": 1, "min": 60, "h": 3600, "day": 86_400}
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}")
# Options of the filter, by what sets them here.
OWN = (
    ("cz-ssd", "--ssd"), ("cz-size", "--size"), ("cz-policy", "--policy"), ("cz-bundle", "--policy"),
    ("cz-writes", "--mode"), ("cz-label", "--label"), ("cz-format", "--format"), ("cz-write-rate", "--write-rate"),
)  # fmt: skip
SPANS = ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def plain(text: str) -> str:
    """One line without what a terminal obeys; `cachezoo.console`, which needs Python 3.11, does the same there."""
    return "".join(one if one.isprintable() else chr(0x2400 + ord(one)) if one < " " else "\ufffd" for one in text)


def say(text: str) -> None:
    """A line on standard error; none where that is gone, as after a terminal was closed."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{plain(text)}\n")
        sys.stderr.flush()


def n_bytes(text: str, option: str) -> int:
    """Bytes of ``64G``, ``64GiB`` (both powers of 1024) or ``64GB`` (of 1000).

    Raises:
        ServeError: no size, a bare number or an unknown unit, or not a byte.
    """
    match = NUMBER.fullmatch(text.strip())
    if match is None or match[2].lower() not in UNITS:
        raise ServeError(f"{option} {text[:40]!r}: write a size as 64G, 64GiB or 64GB")
    found = int(Decimal(match[1]) * UNITS[match[2].lower()])
    if not 0 < found < 1 << 62:
        raise ServeError(f"{option} {text[:40]!r}: it must be above 0, and no drive is larger than 4 EiB")
    return found


def rate(text: str, option: str) -> float:
    """Bytes a second of ``20MB/s`` or ``1.5TB/day``."""
    size, slash, unit = text.strip().partition("/")
    if not slash or unit.strip() not in SECONDS:
        raise ServeError(f"{option} {text[:40]!r}: write a rate as 20MB/s or 1.5TB/day")
    found = n_bytes(size, option) / SECONDS[unit.strip()]
    if found < 1:
        raise ServeError(f"{option} {text[:40]!r}: the least is 1 B/s")
    return found


def share(text: str, option: str) -> float:
    """A share of 1, of ``50%`` or ``50 %``."""
    match = NUMBER.fullmatch(text.strip())
    if match is None or match[2] != "%" or not 0 < float(match[1]) <= 100:
        raise ServeError(f"{option} {text[:40]!r}: write a share as 50%")
    return float(match[1]) / 100


def name(text: str, option: str) -> str:
    """The name of a served disk: letters, digits and ``_.:-``."""
    if not NAME.fullmatch(text):
        rule = "use letters, digits and _ . : - alone, 64 at most; begin with a letter, a digit or _"
        raise ServeError(f"{option} {text[:40]!r}: {rule}")
    return text


def size_text(value: float) -> str:
    """Bytes for people, in powers of 1024."""
    unit = 0
    while round(value, 1) >= 1024 and unit < len(BINARY) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f}".replace(".0", "") + f" {BINARY[unit]}"


def rate_text(value: float) -> str:
    """Bytes a second for people, in powers of 1000, as drives state them."""
    for unit, scale in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.0f} B/s"


def span_text(seconds: float) -> str:
    """A time for people: ``3 h``, ``95 µs``."""
    scale, unit = next((one for one in SPANS if seconds >= one[0]), SPANS[-1])
    return f"{seconds / scale:.3g} {unit}"


def percent(value: float) -> str:
    """A share for people."""
    return f"{100 * value:.1f} %"


def here(text: str) -> str:
    """A line of the filter, with the options' names here."""
    for start in ("nbdkit: ", "error: ", "cachezoo: "):
        text = text[len(start) :] if text.startswith(start) else text
    for name, own in OWN:
        text = re.sub(rf"(?<![\w-]){name}(?![\w-])", own, text)
    return text


def of_system(error: OSError) -> str:
    """What the system refused, and of which file."""
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)

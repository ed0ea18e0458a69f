"""The grammars of options, each in one place: text into a value, or what is wrong with it and what to give.

Each takes the option's name, as every message begins with it and the text: `--size '64': a bare number ...; write 64p`.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from cachezoo.numerals import number, whole
from cachezoo.sizes import BYTES, LONGEST, NUMBER, PAGE_BYTES, UNITS, Size, human, refused

if TYPE_CHECKING:
    from cachezoo.questions.flash.options import WriteRate
    from cachezoo.questions.share.partition import Floor
    from cachezoo.questions.tiers.budget import Money
    from cachezoo.questions.tiers.purchase import Rating
    from cachezoo.settings.wear import Victim
    from cachezoo.traces.mixing import Turn

# Words of before, by those that stand for them now: the first that a command has.
OLD_OPTIONS = {
    "--capacity": ("--size",),
    "--cache": ("--size",),
    "--drive": ("--ssd",),
    "--budget": ("--spend", "--size"),
    "--by": ("--hierarchy", "--placement", "--partitioner", "--hits"),
    "--warmup": ("--count",),
    "--plot": ("--output",),
    "--csv": ("--output",),
    "--out": ("--output",),
    "--page": ("--output",),
    "--copy": ("--output",),
}
SECONDS = {"s": 1, "min": 60, "h": 3600, "day": 86_400}
TERABYTES = {"tbw": 1.0, "pbw": 1000.0}
ENDURANCE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(TBW|PBW)", re.IGNORECASE)
DWPD = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) *DWPD", re.IGNORECASE)
CLASS = re.compile(r"[a-z][a-z0-9-]{0,39}")
YEARS = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,6})?) *(y|years?|months?)", re.IGNORECASE)
RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(.*)")
SUFFIXED = re.compile(r"([0-9]{1,15}) *([KMGT])", re.IGNORECASE)
MOST_PRICE = 1e6
MOST_DWPD, MOST_YEARS = 1e3, 100.0
LEAST_OP, MOST_OP = 0.01, 0.9
MOST_PAGE_BYTES = 1 << 20


class Range(NamedTuple):
    """Least and most of an option that is a number."""

    least: float  # an int where the option is a whole number
    most: float | None = None


# Of options by their names in Python, which have no typer to check them; tests hold the commands' own to these.
RANGES = {
    "cycles": Range(2, 100),
    "decision_us": Range(0.0, 1e9),
    "disk_mib_s": Range(0.001, 1e9),
    "endurance": Range(1, 1_000_000),
    "first": Range(1),
    "fragment": Range(1, 65_536),
    "free": Range(1, 1_000),
    "most_busy": Range(0.01, 1.0),
    "points": Range(2, 1_000),
    "rated_dwpd": Range(0.001, 1e6),
    "seek_ms": Range(0.001, 1e6),
    "workers": Range(1, 1_024),
}


def is_number(given: object) -> bool:
    """Whether it is a finite number of Python or NumPy; True and False are none."""
    return isinstance(given, Real) and not isinstance(given, bool) and isfinite(given)


def in_range(given: Any, name: str) -> float:  # noqa: ANN401 - whatever Python gives
    """A number of the option `name`, of its range in `RANGES`.

    Raises:
        ConfigError: no number, or one outside the range.
    """
    least, most = RANGES[name]
    if not is_number(given) or given < least or (most is not None and given > most):
        to = "" if most is None else f" and at most {most:,.15g}"
        raise refused(name, str(given), f"give a number of at least {least:,.15g}{to}")
    return float(given)


def whole_in_range(given: Any, name: str) -> int:  # noqa: ANN401 - whatever Python gives
    """A whole number of the option `name`, of its range.

    Raises:
        ConfigError: none, or one outside the range.
    """
    if not isinstance(given, Integral):
        raise refused(name, str(given), "give a whole number")
    in_range(given, name)
    return int(given)


def parts(text: str) -> list[str]:
    """What commas part, each once, without the blanks around it."""
    return list(dict.fromkeys(part.strip() for part in text.split(",")))


def names(text: str, option: str, known: Sequence[str], fix: str) -> list[str]:
    """Names with commas, each once.

    Raises:
        ConfigError: one is unknown.
    """
    for name in (found := parts(text)):
        if name not in known:
            raise refused(option, name, fix)
    return found


def pairs(given: Sequence[str] | None, option: str = "--option") -> dict[str, str]:
    """KEY=VALUE, each; a key's last value counts.

    Raises:
        ConfigError: one has no key or no value.
    """
    found = [text.partition("=") for text in given or ()]
    for key, sign, value in found:
        if not key or not value:
            raise refused(option, f"{key}{sign}{value}", "write KEY=VALUE")
    return {key: value for key, _, value in found}


def sizes(given: Sequence[str] | None, default: str, option: str = "--size") -> list[Size]:
    """Sizes of a cache, with commas, from an option that may be repeated; each once, in their order."""
    return list(dict.fromkeys(Size.parse(text, option) for own in given or [default] for text in own.split(",")))


def in_bytes(text: str, option: str, least: int = 1, most: int | None = None, example: str = "10GiB") -> int:
    """Bytes, from `10GiB` or `1.5TB`.

    Raises:
        ConfigError: no number with a unit of bytes, or one that is too small or too large.
    """
    match = NUMBER.fullmatch(text.strip()) if len(text) <= LONGEST else None
    unit = UNITS.get(match[2].lower(), "") if match else ""
    if match is None or unit not in BYTES:
        raise refused(option, text, f"give bytes, such as {example}; units are {', '.join(BYTES)}")
    found = int(Decimal(match[1]) * BYTES[unit])
    if found < least:
        raise refused(option, text, f"the least is {human(least)}")
    if most is not None and found > most:
        raise refused(option, text, f"at most {human(most)} can be simulated")
    return found


def page_bytes(text: str, option: str = "--page-size") -> int:
    """Bytes of a page of the cache, whole pages of 4 KiB, up to 1 MiB.

    Raises:
        ConfigError: no such size.
    """
    found = in_bytes(text, option, 0, example="64KiB")
    if not PAGE_BYTES <= found <= MOST_PAGE_BYTES or found % PAGE_BYTES:
        raise refused(option, text, "give a multiple of 4KiB, up to 1MiB, such as 64KiB")
    return found


def device_bytes(text: str, option: str = "--size") -> int:
    """Whole bytes of a device: `4096`, `512MiB`, or as other tools write it, `20G` of 1,024 each.

    Raises:
        ConfigError: none of these.
    """
    own = text.strip()
    if (count := whole(own)) is not None and 0 <= count < 1 << 60:
        return count
    suffixed = SUFFIXED.fullmatch(own)
    return in_bytes(f"{suffixed[1]}{suffixed[2]}iB" if suffixed else own, option, example="512MiB or 20GiB")


def share(text: str) -> float | None:
    """A part of a whole, from `0.8` or `80%`; None where it is no number."""
    own = text.strip()
    value = number(own.removesuffix("%").rstrip())
    return None if value is None else value / 100 if own.endswith("%") else value


def hit_ratio(text: str, option: str = "--target-hit") -> float:
    """A hit ratio above 0 and at most 1.

    Raises:
        ConfigError: none.
    """
    value = share(text)
    if value is None or not 0 < value <= 1:
        raise refused(option, text, "give a hit ratio above 0 and at most 1, such as 0.8 or 80%")
    return value


def floors(
    given: Sequence[str] | None, applications: Sequence[str], pages: int, option: str = "--floor"
) -> list["Floor"]:  # fmt: skip
    """The least service of each application, from `APP=64MiB`, `APP=10%` of the cache, or `APP=hits:60%`.

    Args:
        given: as typed; a size and a hit ratio of one application both hold.
        applications: their names.
        pages: of the whole cache.
        option: as in messages.

    Returns:
        One for each application; none where nothing is given.

    Raises:
        ConfigError: no such application, no size, or no hit ratio.
    """
    from cachezoo.questions.share.partition import Floor

    if not given:
        return []
    sizes, hits = dict[str, int](), dict[str, float]()
    for text in given:
        name, sign, value = (word.strip() for word in text.rpartition("="))
        if not sign or name not in applications:
            fix = f"write APP=64MiB, APP=10% of the cache, or APP=hits:60%, APP one of {', '.join(applications)}"
            raise refused(option, text, fix)
        ratio = value.removeprefix("hits:")
        if ratio != value:
            hits[name] = hit_ratio(ratio, option)
        else:
            sizes[name] = Size.parse(value, option).pages(pages)
    return [Floor(sizes.get(name, 0), hits.get(name, 0.0)) for name in applications]


def sample_rate(text: str, option: str = "--sample") -> float | None:
    """The part of the pages to simulate; None for `auto` and `exact`.

    Raises:
        ConfigError: no part.
    """
    if text in ("auto", "exact"):
        return None
    value = share(text)
    if value is None or not 0 < value < 1:
        raise refused(option, text, "give auto, exact, or a part of the pages above 0 and below 1, such as 0.01")
    return value


def over_provisioning(text: str, option: str = "--op") -> tuple[float, ...]:
    """Parts of flash without an address, rising, each once: `7%,11%` or `0.07,0.11`.

    Raises:
        ConfigError: no part between 1 % and 89 %.
    """
    found = []
    for part in parts(text):
        value = share(part)
        if value is None or not LEAST_OP <= value < MOST_OP:
            raise refused(option, part, "give the share of flash without an address, 1% to 89%, such as 7%,11%,28%")
        found.append(value)
    return tuple(sorted(set(found)))


def stream_counts(text: str, option: str = "--streams") -> tuple[int, ...]:
    """Numbers of streams, rising, each once.

    Raises:
        ConfigError: none between 1 and 256.
    """
    from cachezoo.zoo.streams.dictionary import MOST_STREAMS

    found = []
    for part in parts(text):
        value = whole(part)
        if value is None or not 1 <= value <= MOST_STREAMS:
            raise refused(option, part, f"give numbers of streams between 1 and {MOST_STREAMS}, such as 1,4,16")
        found.append(value)
    return tuple(sorted(set(found)))


def victims(text: str, option: str = "--victim") -> "tuple[Victim, ...]":
    """Victims of a drive's garbage collection, each once.

    Raises:
        ConfigError: one is unknown.
    """
    from cachezoo.settings.wear import Victim

    known = get_args(Victim)
    found = names(text, option, known, f"the drive's victims are {', '.join(known)}")
    return cast("tuple[Victim, ...]", tuple(found))


def endurance(text: str, option: str = "--endurance") -> float:
    """Terabytes that may be written, from `600TBW` or `1.2PBW`.

    Raises:
        ConfigError: neither.
    """
    match = ENDURANCE.fullmatch(text.strip())
    if match is None:
        raise refused(option, text, "give the writes that the SSD's data sheet allows, such as 600TBW")
    return float(match[1]) * TERABYTES[match[2].lower()]


def rating(text: str, option: str = "--endurance") -> "Rating":
    """How much an SSD may be written: a class of the price list, `1DWPD`, or `600TBW`.

    Raises:
        ConfigError: none of these.
    """
    from cachezoo.questions.tiers.purchase import Rating

    own = text.strip()
    if (found := DWPD.fullmatch(own)) and 0 < float(found[1]) <= MOST_DWPD:
        return Rating(dwpd=float(found[1]))
    if ENDURANCE.fullmatch(own):
        return Rating(tbw=endurance(own, option))
    if not CLASS.fullmatch(own):
        raise refused(option, text, "give a class of the price list, such as mixed, or 1DWPD, or 600TBW")
    return Rating(kind=own)


def years(text: str, option: str = "--lifetime") -> float:
    """Years, from `5y` or `36months`.

    Raises:
        ConfigError: neither, or not between a month and a hundred years.
    """
    match = YEARS.fullmatch(text.strip())
    found = 0.0 if match is None else float(match[1]) / (12 if match[2].lower().startswith("m") else 1)
    if not 1 / 12 <= found <= MOST_YEARS:
        raise refused(option, text, "give how long what is bought has to serve, such as 5y or 36months")
    return found


def money(text: str, option: str = "--spend") -> "Money":
    """Dollars a month, `20/month`, or to buy, `500` or `$0.02`.

    Raises:
        ConfigError: no sum, or one that is not above 0.
    """
    from cachezoo.questions.tiers.budget import Money

    amount, sign, unit = text.strip().partition("/")
    value = number(amount.strip().removeprefix("$").strip())
    if value is None or not 0 < value < float("inf") or (sign and unit.strip().lower() not in ("month", "mo")):
        raise refused(option, text, "give dollars above 0, a month, such as 20/month, or to buy, such as 500 or $0.02")
    return Money(value, bool(sign))


def price(text: str, option: str) -> float:
    """Dollars a GB.

    Raises:
        ConfigError: no number above 0 and at most a million.
    """
    value = number(text.strip().removeprefix("$").strip())
    if value is None or not 0 < value <= MOST_PRICE:
        raise refused(option, text, "give dollars a GB above 0 and at most 1,000,000, such as 3 or 0.15")
    return value


def write_rates(text: str, option: str = "--write-rate") -> "list[WriteRate]":
    """Rates with commas, each once, from `10,20,30MB/s`: each number takes the unit that comes next after it.

    Raises:
        ConfigError: no rate, a number without a unit, a rate of 0, or more than 100 %.
    """
    how = "write a rate as 10MB/s, 500GiB/day or 25% (of what accept_all writes)"
    unit, found = "", list["WriteRate"]()
    for part in reversed([part.strip() for part in text.split(",")]):
        match = RATE.fullmatch(part) if len(part) <= LONGEST else None
        if match is None:
            raise refused(option, part, how)
        unit = match[2].strip() or unit
        if not unit:
            raise refused(option, part, f"a number without a unit; {how}")
        found.append(_rate(match[1], unit, option))
    return list(dict.fromkeys(reversed(found)))


def _rate(amount: str, unit: str, option: str) -> "WriteRate":
    from cachezoo.questions.flash.options import WriteRate

    value, text = float(amount), f"{amount}{unit}"
    if value <= 0:
        raise refused(option, text, "it must be above 0; give 10MB/s or 25%")
    if unit == "%":
        if value > 100:
            raise refused(option, text, "at most 100 % of what accept_all writes; accept_all itself is a policy")
        return WriteRate(text, None, value / 100)
    size, _, time = unit.partition("/")
    size_bytes, seconds = BYTES.get(UNITS.get(size.strip().lower(), "")), SECONDS.get(time.strip().lower())
    if size_bytes is None or seconds is None:
        fix = f"unknown unit {unit!r}; give a size ({', '.join(BYTES)}) over a time ({', '.join(SECONDS)}), or %"
        raise refused(option, text, fix)
    return WriteRate(text, value * size_bytes / seconds, 0.0)


def turn(text: str, option: str = "--turn") -> "Turn":
    """`NAME` (all that is left), `NAME=50000` (requests) or `NAME=30s` (seconds).

    Raises:
        ConfigError: what follows the name is neither.
    """
    from cachezoo.traces.mixing import Turn

    name, _, much = text.rpartition("=") if "=" in text else (text, "", "")
    seconds = much.endswith("s")
    value = number(much[:-1]) if seconds else whole(much)
    if much and value is None:
        raise refused(option, text, "write NAME, NAME=REQUESTS or NAME=SECONDSs, such as mail=50000 or mail=30s")
    return Turn(name, seconds=value) if seconds else Turn(name, requests=None if value is None else int(value))

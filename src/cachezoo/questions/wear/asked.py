"""What `cachezoo wear` is asked: placements, numbers of streams, over-provisioning, and the cycles of a trace."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachezoo.errors import ConfigError
from cachezoo.settings.wear import Drive
from cachezoo.sizes import BYTES, Size
from cachezoo.traces.table import Trace
from cachezoo.wear.names import AUTOSTREAM, BUNDLE, EQUAL, FIOS, LEGACY, LIFETIME, ORACLE, SEPBIT
from cachezoo.wear.writes import volume_starts
from cachezoo.zoo.streams.cluster import COMBINATIONS
from cachezoo.zoo.streams.dictionary import MOST_STREAMS

PLACEMENTS = (LEGACY, EQUAL, FIOS, AUTOSTREAM, SEPBIT, LIFETIME, ORACLE)
LEARNED = (FIOS, LIFETIME, BUNDLE)
USUAL_CYCLES = 3
MOST_DIGITS = 12
MOST_NAMED = 3  # volumes in a message
MOST_BYTES = 1 << 40  # of a drive that is simulated: each of its pages takes memory


@dataclass(frozen=True)
class WearAsked:
    """What is asked.

    Attributes:
        by: placements, of `PLACEMENTS`, `fios:LETTERS`, or `BUNDLE`; legacy first, which the others are compared with.
        streams: numbers of streams, rising; those above 1 are tried by each placement that is told how many there are.
        over_provisioning: shares of flash without an address, rising.
        drive: the rest of the drive.
        seed: of K-means.
    """

    by: tuple[str, ...]
    streams: tuple[int, ...]
    over_provisioning: tuple[float, ...]
    drive: Drive
    seed: int


def parse_by(text: str, bundle: bool) -> tuple[str, ...]:
    """Placements as given, each once, legacy first; that of a bundle last.

    Raises:
        ConfigError: an unknown one.
    """
    names = [part.strip() for part in text.split(",")]
    for name in names:
        kind, colon, letters = name.partition(":")
        if kind not in PLACEMENTS or (colon and kind != FIOS):
            raise ConfigError(f"--by {name[:40]!r}: there is no such placement; use {', '.join(PLACEMENTS)}")
        if colon and letters not in COMBINATIONS:
            raise ConfigError(f"--by {name[:40]!r}: FIOS has the features {', '.join(COMBINATIONS)}")
    return tuple(dict.fromkeys([LEGACY, *names, *([BUNDLE] if bundle else [])]))


def parse_streams(text: str) -> tuple[int, ...]:
    """Numbers of streams, rising, each once.

    Raises:
        ConfigError: no number between 1 and 256.
    """
    found = []
    for part in (part.strip() for part in text.split(",")):
        if not (part.isascii() and part.isdigit() and len(part) <= MOST_DIGITS and 1 <= int(part) <= MOST_STREAMS):
            message = f"--streams {part[:40]!r}: give numbers of streams between 1 and {MOST_STREAMS}, such as 1,4,16"
            raise ConfigError(message)
        found.append(int(part))
    return tuple(sorted(set(found)))


def parse_shares(text: str) -> tuple[float, ...]:
    """Over-provisioning as parts of the flash, rising, each once: `7%,11%` or `0.07,0.11`.

    Raises:
        ConfigError: no part of the flash between 1 % and 89 %.
    """
    found = []
    for part in (part.strip() for part in text.split(",")):
        try:
            value = float(part.removesuffix("%")) / (100 if part.endswith("%") else 1)
        except ValueError:
            value = 0.0
        if not 0.01 <= value < 0.9:
            message = f"--op {part[:40]!r}: give the share of flash without an address, 1% to 89%, such as 7%,11%,28%"
            raise ConfigError(message)
        found.append(value)
    return tuple(sorted(set(found)))


def parse_bytes(text: str, what: str) -> int:
    """A size in bytes.

    Raises:
        ConfigError: no size, one in pages or percent, or more than can be simulated.
    """
    try:
        size = Size.parse(text, what)
    except ConfigError as error:
        raise ConfigError(f"--{what} {text[:40]!r}: give bytes, at most 1TiB, such as 10GiB") from error
    if size.unit not in BYTES:
        raise ConfigError(f"--{what} {size}: give bytes, such as 10GiB")
    found = int(size.number * BYTES[size.unit])
    if found > MOST_BYTES:
        message = f"--{what} {size}: at most 1TiB can be simulated; a drive that is hardly written has nothing to gain"
        raise ConfigError(message)
    return found


def cycles_of(traces: Sequence[Trace], cycles: int | None) -> list[Trace]:
    """The cycles of a drive: one trace is cut into parts of equally many requests, several are a cycle each.

    Raises:
        ConfigError: cycles are given for several traces, or a trace has fewer requests than cycles.
    """
    if len(traces) > 1:
        if cycles is not None:
            raise ConfigError("--cycles: it cuts one trace; several traces are a cycle each, leave --cycles out")
        return list(traces)
    trace, count = traces[0], cycles or USUAL_CYCLES
    n = len(trace)
    if n < count:
        raise ConfigError(f"--cycles {count}: {trace.meta.trace_id} has {n} requests, too few to cut")
    return [trace.rows(k * n // count, (k + 1) * n // count) for k in range(count)]


def check_bundle(cycles: Sequence[Trace], name: str) -> None:
    """Refuse a bundle where several volumes are written: its dictionary knows the chunks of one.

    Args:
        cycles: of the drive.
        name: of what writes, for the message.

    Raises:
        ConfigError: there are several.
    """
    volumes = list(volume_starts(cycles))
    if len(volumes) > 1:
        more = " …" if len(volumes) > MOST_NAMED else ""
        message = (
            f"{name}: it writes to {len(volumes)} volumes ({', '.join(volumes[:MOST_NAMED])}{more}), and --bundle is "
            "of one: split the trace first (cachezoo trace split --by volume), or leave --bundle out"
        )
        raise ConfigError(message)

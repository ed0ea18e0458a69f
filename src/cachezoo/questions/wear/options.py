"""Options of `recommend --only wear`: placements, numbers of streams, over-provisioning, cycles of a trace."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachezoo.errors import ConfigError
from cachezoo.flash_drive.names import AUTOSTREAM, BOUNDS, BUNDLE, BY_DRIVE, EQUAL, FIOS, LEGACY, LIFETIME, MULTIQ
from cachezoo.flash_drive.writes import volume_starts
from cachezoo.settings.wear import Drive, Victim
from cachezoo.traces.table import Trace
from cachezoo.zoo.streams.cluster import COMBINATIONS

PLACEMENTS = (LEGACY, EQUAL, FIOS, AUTOSTREAM, MULTIQ, LIFETIME, *BY_DRIVE, *BOUNDS)
LEARNED = (FIOS, LIFETIME, BUNDLE)
USUAL_CYCLES = 3
MOST_DIGITS = 12
MOST_NAMED = 3  # volumes in a message
LEAST_UNIT, MOST_UNIT = 32 << 10, 1 << 30  # of an erase unit, in bytes
MOST_BYTES = 1 << 40  # of a drive that is simulated: each of its pages takes memory


@dataclass(frozen=True)
class WearOptions:
    """Which placements run on which drives."""

    by: tuple[str, ...]  # of `PLACEMENTS`, `fios:LETTERS`, or `BUNDLE`; legacy first, the others' rival
    streams: tuple[int, ...]  # rising; those above 1 are tried by each placement that knows how many there are
    over_provisioning: tuple[float, ...]  # shares of flash without an address, rising
    drive: Drive  # the rest of it
    seed: int  # of K-means
    victims: tuple[Victim, ...] = ("greedy",)  # the answer is for each; what is tuned is tuned under each


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

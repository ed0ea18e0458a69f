"""Options of `recommend --only wear`: placements, numbers of streams, over-provisioning, cycles of a trace."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cachezoo.errors import ConfigError
from cachezoo.flash_drive.names import AUTOSTREAM, BOUNDS, BUNDLE, BY_DRIVE, EQUAL, FIOS, LEGACY, LIFETIME, MULTIQ
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
            raise ConfigError(f"--placement {name[:40]!r}: there is no such placement; use {', '.join(PLACEMENTS)}")
        if colon and letters not in COMBINATIONS:
            raise ConfigError(f"--placement {name[:40]!r}: FIOS has the features {', '.join(COMBINATIONS)}")
    return tuple(dict.fromkeys([LEGACY, *names, *([BUNDLE] if bundle else [])]))


def cycles_of(traces: Sequence[Trace], cycles: int | None) -> list[Trace]:
    """The cycles of a drive: one trace is cut into parts of equally many requests, several are a cycle each.

    Raises:
        ConfigError: cycles are given for several traces, or a trace has fewer requests than cycles.
    """
    check_cycles(len(traces), cycles)
    if len(traces) > 1:
        return list(traces)
    trace = traces[0]
    return [trace.rows(*both) for both in pairwise(cuts_of(len(trace), cycles, trace.meta.trace_id))]


def check_cycles(traces: int, cycles: int | None) -> None:
    """Refuse to cut several traces.

    Raises:
        ConfigError: cycles are given for them.
    """
    if traces > 1 and cycles is not None:
        raise ConfigError("--cycles: it cuts one trace; several traces are a cycle each, leave --cycles out")


def cuts_of(requests: int, cycles: int | None, name: str) -> list[int]:
    """The first request of each cycle that one trace of so many is cut into, and their number.

    Raises:
        ConfigError: the trace, of that name, has fewer requests than cycles.
    """
    count = cycles or USUAL_CYCLES
    if requests < count:
        raise ConfigError(f"--cycles {count}: {name} has {requests} requests, too few to cut")
    return [k * requests // count for k in range(count + 1)]


def check_bundle(volumes: Sequence[str], name: str) -> None:
    """Refuse a bundle where several volumes are written: its dictionary knows the chunks of one.

    Args:
        volumes: that are written.
        name: of what writes, for the message.

    Raises:
        ConfigError: there are several.
    """
    if len(volumes) > 1:
        more = " …" if len(volumes) > MOST_NAMED else ""
        message = (
            f"{name}: it writes to {len(volumes)} volumes ({', '.join(volumes[:MOST_NAMED])}{more}), and --bundle is "
            "of one: split the trace first (cachezoo trace split --by volume), or leave --bundle out"
        )
        raise ConfigError(message)

"""Placements: the stream of each page write of a drive, by rules that no trace has taught.

Each takes the writes of all cycles and how many streams there are, and gives uint8[n] a stream a page write. The bound
that knows the future is one of them, to measure the others by.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np

from cachezoo.arrays import F64, I64, U8, Bool
from cachezoo.errors import ConfigError
from cachezoo.flash_drive import names
from cachezoo.flash_drive.names import BOUNDS, BY_DRIVE, LEGACY, Kind
from cachezoo.flash_drive.writes import NEVER, DriveWrites
from cachezoo.kernels.autostream import multiq as queues
from cachezoo.kernels.autostream import sfr
from cachezoo.kernels.page_writes import find_requests, place_by_class, place_by_death, spread
from cachezoo.kernels.placing import BY_HOST, Rule, SepBit
from cachezoo.kernels.placing.dac import Dac
from cachezoo.kernels.placing.foresight import Foresight
from cachezoo.kernels.placing.future import Future
from cachezoo.kernels.placing.mida import Mida
from cachezoo.kernels.placing.multilog import MultiLog
from cachezoo.kernels.placing.sfs import Sfs
from cachezoo.kernels.placing.warcip import Warcip

MIB = 1 << 20
Parameters = Mapping[str, Any]
Grids = Mapping[str, Mapping[str, Sequence[Any]]]


def legacy(writes: DriveWrites, streams: int = 1) -> U8:
    """One stream takes everything, as in a drive without streams."""
    placed: U8 = writes.room(np.uint8, len(writes))
    return placed


def equal(writes: DriveWrites, streams: int) -> U8:
    """The drive's address space cut into equal parts, a stream each (FIOS, Sec. IV-B)."""
    placed = writes.room(np.uint8, len(writes))
    for part in writes.spans():
        placed[part] = writes.pages[part].astype(np.int64) * streams // writes.footprint
    return placed


def autostream(writes: DriveWrites, streams: int, decay: float = 8.0, chunk_bytes: int = MIB) -> U8:
    """AutoStream's SFR (Yang et al., SYSTOR 2017): by how often and how lately a chunk was written, learned as it goes.

    See `cachezoo.kernels.autostream.sfr`. A request follows the one before where its first flash page is the one behind
    that one's last; so an overwrite of the same page, as of a log's end, counts as an update.

    Args:
        writes: of all cycles; nothing is known before the first, and the pre-fill does not count.
        streams: that there are; the last takes what is written most.
        decay: page writes in which a chunk's count halves, as a multiple of the drive's addresses.
        chunk_bytes: bytes whose writes are counted together; a multiple of a flash page.

    Raises:
        ConfigError: decay or chunk_bytes that cannot be.
    """
    if decay <= 0:
        raise ConfigError(f"autostream with decay {decay}: it is above 0")
    heads, follows, chunks, count, found = _requests(writes, chunk_bytes, "autostream")
    sfr(chunks, heads, follows, count, decay * writes.footprint, streams, found)
    return _of_requests(writes, found)


def multiq(writes: DriveWrites, streams: int, chunk_bytes: int = MIB) -> U8:
    """AutoStream's MQ (Yang et al., SYSTOR 2017): by the queue that a chunk is in, which its writes and its age decide.

    See `cachezoo.kernels.autostream.multiq`.

    Args:
        writes: of all cycles, as `autostream` has them.
        streams: that there are, a queue each; the last takes what is written most.
        chunk_bytes: bytes whose writes are counted together; a multiple of a flash page.

    Raises:
        ConfigError: chunk_bytes that cannot be.
    """
    heads, _, chunks, count, found = _requests(writes, chunk_bytes, "multiq")
    queues(chunks, heads, count, streams, found)
    return _of_requests(writes, found)


def _requests(writes: DriveWrites, chunk_bytes: int, policy: str) -> tuple[I64, Bool, I64, int, U8]:
    """Of each request what `find_requests` finds, how many chunks there are, and room for its stream."""
    if chunk_bytes < writes.page_bytes or chunk_bytes % writes.page_bytes:
        raise ConfigError(f"{policy} with chunk_bytes {chunk_bytes}: it is a multiple of {writes.page_bytes}")
    number = np.unique(writes.address // chunk_bytes, return_inverse=True)[1]
    count = int(np.count_nonzero(writes.begins))
    heads, follows, chunks = (writes.room(dtype, count) for dtype in (np.int64, np.bool_, np.int64))
    find_requests(writes.pages, writes.begins, writes.address, writes.page_bytes, number, heads, follows, chunks)
    writes.passed()
    return heads, follows, chunks, int(number.max()) + 1, writes.room(np.uint8, count)


def _of_requests(writes: DriveWrites, found: U8) -> U8:
    """Each page write's stream, of those of requests."""
    placed: U8 = writes.room(np.uint8, len(writes))
    spread(writes.begins, found, placed)
    writes.passed()
    return placed


def oracle(
    writes: DriveWrites, streams: int, rule: Literal["lifetime", "death", "both"] = "both", share: float = 0.25
) -> U8:
    """What is written together with what dies with it, by the true lifetimes, which no drive can know.

    It measures how much there is to gain, and is no strict bound: of the rules `both` is the best, or close to it, on
    the captured traces.

    Args:
        writes: of all cycles; what they do not overwrite lives for ever, and goes to the last stream.
        streams: at least 2.
        rule: `lifetime` cuts the lifetimes into classes of equally many writes. `death` cuts the time of death into
            windows and gives each window a stream, in turn; what dies later than all windows that are open goes to the
            last stream. `both` gives windows half of the streams but the last, and cuts what dies later than these into
            classes of lifetimes.
        share: a window's page writes, as a share of the drive's addresses in pages.

    Raises:
        ConfigError: fewer than two streams.
    """
    if streams < 2:
        raise ConfigError(f"oracle with {streams} stream: from 2 on what dies early is apart from what dies late")
    found, later = writes.room(np.uint8, len(writes)), writes.room(np.int64, len(writes))
    found[:] = streams - 1
    windows = {"lifetime": 0, "death": streams - 1, "both": (streams - 1) // 2}[rule]
    length = max(1, round(share * writes.footprint))
    far = place_by_death(writes.lifetimes, NEVER, length, windows, found, later)
    classes = streams - 1 - windows
    if classes and far:
        bounds = _quantiles(later[:far], np.arange(1, classes) / classes)
        place_by_class(writes.lifetimes, NEVER, length, windows, bounds, found)
    writes.passed()
    return found


def _quantiles(values: I64, shares: F64) -> F64:
    """As `numpy.quantile`, but in no more memory than the values, which change their order."""
    places = (len(values) - 1) * shares
    low = np.floor(places).astype(np.int64)
    high = np.minimum(low + 1, len(values) - 1)
    values.partition(np.union1d(low, high))
    ends = zip(values[low], values[high], places - low, strict=True)
    return np.array([np.quantile([begin, end], share) for begin, end, share in ends])


PLACEMENTS: Mapping[str, Callable[..., U8]] = {
    "legacy": legacy, "equal": equal, "autostream": autostream, "multiq": multiq, "oracle": oracle,
}  # fmt: skip

INSIDE: Mapping[str, type[Rule]] = {
    names.SEPBIT: SepBit, names.DAC: Dac, names.SFS: Sfs, names.MULTILOG: MultiLog, names.MIDA: Mida,
    names.WARCIP: Warcip, names.FORESIGHT: Foresight, names.FUTURE: Future,
}  # fmt: skip
"""Those that the drive itself places by."""


@dataclass(frozen=True)
class Placement:
    """A placement with its arguments."""

    policy: str
    kind: Kind
    place: Callable[[DriveWrites], U8] | None  # uint8[n] streams of the writes; None where the drive chooses
    parameters: Parameters = field(default_factory=dict)
    streams: int = 0  # that there are for it; 0: as many as the drive has
    note: str = ""  # on how it was chosen, in words that hold for fewer streams too
    inside: Rule = BY_HOST  # what the drive does with the streams that it is given, or places by


def rule(policy: str, parameters: Parameters, streams: int) -> Placement:
    """A placement that learns nothing, with arguments.

    Raises:
        ConfigError: there is none of that name.
    """
    kinds: Mapping[str, Kind] = {LEGACY: "legacy", **dict.fromkeys(BY_DRIVE, "drive"), **dict.fromkeys(BOUNDS, "bound")}
    kind = kinds.get(policy, "baseline")
    if policy in INSIDE:
        return Placement(policy, kind, None, parameters, inside=INSIDE[policy](**parameters))
    if policy not in PLACEMENTS:
        message = f"judge.streams.baselines.{policy}: no such placement; use {', '.join([*PLACEMENTS, *INSIDE])}"
        raise ConfigError(message)
    own = {"streams": streams, **parameters} if policy != LEGACY else dict(parameters)
    return Placement(policy, kind, lambda writes: PLACEMENTS[policy](writes, **own), parameters)


def combinations(values: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination of arguments' values."""
    return (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


def grid(baselines: Grids, streams: int) -> list[Placement]:
    """Every baseline with every combination of its arguments' values, the drive without streams first.

    Those of more streams than the drive has are left out.

    Raises:
        ConfigError: a name that no placement has.
    """
    tried = ((policy, own) for policy, values in baselines.items() for own in combinations(values))
    some = [rule(policy, own, streams) for policy, own in tried if own.get("streams", streams) <= streams]
    return [rule(LEGACY, {}, streams), *some]

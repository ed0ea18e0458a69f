"""Placements: the stream of each page write of a drive, by rules that no trace has taught.

Each takes the writes of all cycles and how many streams there are, and gives uint8[n] a stream a page write. The bound
that knows the future is one of them, to measure the others by.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np

from cachezoo.arrays import I64, U8
from cachezoo.errors import ConfigError
from cachezoo.flash_drive import names
from cachezoo.flash_drive.names import BOUNDS, BY_DRIVE, LEGACY, Kind
from cachezoo.flash_drive.writes import NEVER, DriveWrites
from cachezoo.kernels.autostream import multiq as queues
from cachezoo.kernels.autostream import sfr
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
    return np.zeros(len(writes.pages), np.uint8)


def equal(writes: DriveWrites, streams: int) -> U8:
    """The drive's address space cut into equal parts, a stream each (FIOS, Sec. IV-B)."""
    return (writes.pages.astype(np.int64) * streams // writes.footprint).astype(np.uint8)


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
    heads, begin, chunks = _heads(writes, chunk_bytes, "autostream")
    ends = writes.address[writes.pages[np.append(heads[1:], len(writes)) - 1]] + writes.page_bytes
    follows = np.append(False, begin[1:] == ends[:-1])
    found = sfr(chunks, heads, follows, int(chunks.max()) + 1, decay * writes.footprint, streams)
    return _of_requests(writes, heads, found)


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
    heads, _, chunks = _heads(writes, chunk_bytes, "multiq")
    return _of_requests(writes, heads, queues(chunks, heads, int(chunks.max()) + 1, streams))


def _heads(writes: DriveWrites, chunk_bytes: int, policy: str) -> tuple[I64, I64, I64]:
    """Of each request its first page write, its first byte, and the dense number of the chunk that this lies in."""
    if chunk_bytes < writes.page_bytes or chunk_bytes % writes.page_bytes:
        raise ConfigError(f"{policy} with chunk_bytes {chunk_bytes}: it is a multiple of {writes.page_bytes}")
    heads = np.flatnonzero(writes.begins)
    begin = writes.address[writes.pages[heads]]
    return heads, begin, np.unique(begin // chunk_bytes, return_inverse=True)[1]


def _of_requests(writes: DriveWrites, heads: I64, found: U8) -> U8:
    """Each page write's stream, of those of requests."""
    placed: U8 = np.repeat(found, np.diff(np.append(heads, len(writes))))
    return placed


def oracle(
    writes: DriveWrites, streams: int, rule: Literal["lifetime", "death", "both"] = "both", share: float = 0.25
) -> U8:
    """What is written together with what dies with it, by the true lifetimes, which no drive can know.

    It measures how much there is to gain, and is no strict bound: of the rules `both` is the best, or close to it, on
    the traces that docs/wear.md names.

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
    dies = np.flatnonzero(writes.lifetimes != NEVER)
    life = writes.lifetimes[dies]
    found = np.full(len(writes), streams - 1, np.uint8)
    windows = {"lifetime": 0, "death": streams - 1, "both": (streams - 1) // 2}[rule]
    length = max(1, round(share * writes.footprint))
    ends, begins = (dies + life) // length, dies // length
    near = ends - begins < windows
    found[dies[near]] = ends[near] % max(windows, 1)
    classes, far = streams - 1 - windows, life[~near]
    if classes and len(far):
        bounds = np.quantile(far, np.arange(1, classes) / classes)
        found[dies[~near]] = windows + np.searchsorted(bounds, far, side="left")
    return found


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

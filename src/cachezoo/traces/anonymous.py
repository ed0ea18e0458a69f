"""A trace without names and places: pseudonyms and a permutation of regions, both by a key.

Who has the key and the trace can do the same again; who has the result alone learns neither names nor addresses.
docs/anonymise.md says what is kept, and what that reveals.
"""

import hashlib
import hmac
import secrets
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.numerals import number
from cachezoo.traces.clock import NUMBERED, are_numbered
from cachezoo.traces.provenance import recorded
from cachezoo.traces.table import Trace

REGION_BYTES = 1 << 20
REGION_BITS = 42  # of a region's number; an address has 62
MOST_VOLUMES = 1 << 20
NAMED = ("volume", "namespace", "user", "host", "source")
LETTERS = 12  # of a pseudonym: 60 bits
TIME_SCALE = "time_scale"
LEAST_KEY_BYTES = 16
HOW = "head -c 32 /dev/urandom > FILE"


def drawn_key() -> bytes:
    """A key that nobody has."""
    return secrets.token_bytes(2 * LEAST_KEY_BYTES)


def read_key(path: Path) -> bytes:
    """The key in a file: all of its bytes.

    Raises:
        TraceError: it cannot be read, or is too short.
    """
    try:
        key = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: the key cannot be read ({error.strerror}); make one: {HOW}") from error
    _check_key(key, f"{path}: ")
    return key


def _check_key(key: bytes, where: str = "") -> None:
    if len(key) < LEAST_KEY_BYTES:
        raise TraceError(f"{where}a key of {len(key)} bytes is no secret, at least {LEAST_KEY_BYTES} are needed: {HOW}")


@dataclass(frozen=True)
class Anonymous:
    """A trace made anonymous."""

    trace: Trace  # what may be handed on
    groups: int  # runs of regions that were moved as one; the regions in each are in their old order
    longest: int  # regions of the longest


def anonymous(trace: Trace, key: bytes, name: str = "anonymous") -> Anonymous:
    """The trace with other names and in other places.

    Args:
        trace: any.
        key: secret; the same one gives the same result.
        name: of the result.

    Raises:
        TraceError: the key is too short, or there are more volumes than can be told apart.
    """
    _check_key(key)
    columns = {column: coded for column in NAMED if (coded := getattr(trace, column)) is not None}
    named: dict[str, Any] = {column: _pseudonyms(coded, key, column) for column, coded in columns.items()}
    groups = _Groups.of(trace)
    digest = hmac.new(key, trace.meta.source_sha256.encode(), hashlib.sha256).hexdigest()
    meta = replace(trace.meta, trace_id=name, source_sha256=digest, extra=_extra(trace.meta.extra))
    said = {"region_bytes": REGION_BYTES, "groups": len(groups.first), "longest": int(groups.lengths.max())}
    moved = replace(
        trace, offset=groups.moved(trace, key), discards=None, meta=recorded(meta, "anonymise", said), **named
    )
    return Anonymous(moved, len(groups.first), int(groups.lengths.max()))


def _extra(extra: Mapping[str, str]) -> dict[str, str]:
    """Of the metadata what a second of the trace stands for, and that it has no clock, where that is so."""
    scale = extra.get(TIME_SCALE, "")
    kept = {TIME_SCALE: scale} if number(scale) is not None else {}
    return kept | ({"time": NUMBERED} if are_numbered(extra) else {})


def _pseudonyms(coded: Coded, key: bytes, column: str) -> Coded:
    """The column with a pseudonym for each name that occurs, in the order in which they first do."""
    seen, first = np.unique(coded.codes[coded.codes >= 0], return_index=True)
    order = seen[np.argsort(first)]
    place = np.full(len(coded.names) + 1, -1, np.int32)  # the last one is of rows without a name
    place[order] = np.arange(len(order))
    return Coded(place[coded.codes], tuple(_pseudonym(key, column, coded.names[code]) for code in order))


def _pseudonym(key: bytes, column: str, name: str) -> str:
    said = hmac.new(key, f"{column}\0{name}".encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return f"{column}-{b32encode(said).decode().lower()[:LETTERS]}"


@dataclass(frozen=True)
class _Groups:
    """Regions that must stay beside each other: a request crosses their border, or goes on where another one ended.

    Places are numbers of regions with the volume's code above them.
    """

    first: I64  # int64, the first place of each group, rising
    lengths: I64  # int64, how many regions each has

    @classmethod
    def of(cls, trace: Trace) -> "_Groups":
        if len(trace.volume.names) > MOST_VOLUMES:
            raise TraceError(f"{trace.meta.trace_id}: more than {MOST_VOLUMES:,} volumes; take some of them alone")
        begin, end = _places(trace, trace.offset), _places(trace, trace.offset + trace.size - 1)
        met = _borders_met(trace)
        begin, end = np.concatenate([begin, met - 1]), np.concatenate([end, met])
        order = np.argsort(begin, kind="stable")
        begin, reach = begin[order], np.maximum.accumulate(end[order])
        starts = np.flatnonzero(np.concatenate([[True], begin[1:] > reach[:-1]]))
        last = reach[np.concatenate([starts[1:] - 1, [len(reach) - 1]])]
        return cls(begin[starts], last - begin[starts] + 1)

    def moved(self, trace: Trace, key: bytes) -> I64:
        """The offsets of the requests where the groups of each volume lie in another order, a region apart.

        Apart: else requests of two groups could follow each other that never did.
        """
        volume = self.first >> REGION_BITS
        place = self.first & ((1 << REGION_BITS) - 1)
        what = hashlib.sha256(self.first.tobytes() + self.lengths.tobytes()).digest()
        drawn = np.frombuffer(hashlib.shake_256(key + what).digest(8 * len(self.first)), "<u8")
        order = np.lexsort((drawn, volume))
        room = self.lengths[order] + 1
        ends = np.cumsum(room)
        begins = np.searchsorted(volume[order], volume[order])  # where each one's volume begins
        new = np.empty(len(order), np.int64)
        new[order] = ends - room - (ends - room)[begins]
        group = np.searchsorted(self.first, _places(trace, trace.offset), "right") - 1
        offset: I64 = trace.offset + (new - place)[group] * REGION_BYTES
        return offset


def _places(trace: Trace, offset: I64) -> I64:
    places: I64 = ((trace.volume.codes.astype(np.int64) + 1) << REGION_BITS) + offset // REGION_BYTES
    return places


def _borders_met(trace: Trace) -> I64:
    """The places behind a border at which a request ended and a later one began."""
    stop = trace.offset + trace.size
    ended, began = (np.flatnonzero(at % REGION_BYTES == 0) for at in (stop, trace.offset))
    left, first = np.unique(_places(trace, stop)[ended], return_index=True)
    right, last = np.unique(_places(trace, trace.offset)[began][::-1], return_index=True)
    both, at_left, at_right = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    met: I64 = both[ended[first[at_left]] < began[::-1][last[at_right]]]
    return met

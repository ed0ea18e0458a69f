"""Byte ranges as segments of blocks, with dense ids: the units of Baleen's flash cache.

A block is the unit an episode is defined on, a segment the unit that is cached (64 segments to a block). On
block traces a request may reach beyond the block that holds its first segment. It stays one access of that
first block: one request is one I/O and one decision, and splitting it would charge a seek per piece that no
disk pays. Source: Baleen post, "Background: Bulk storage systems"; the choice for requests across blocks is
ours.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cachezoo.arrays import EVERY, I32, I64, MOST_NUMBERED, Room, in_memory, stretches
from cachezoo.errors import ConfigError, TraceError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import unlocked

SEGMENT_BITS = 50
MAX_VOLUMES = 1 << (63 - SEGMENT_BITS)
FIRST_CAPACITY = 1 << 10
AT_ONCE = 1 << 20  # keys that are numbered before Ctrl-C is heeded
TOGETHER = 64  # keys that are looked up together
WORD = 32
HALF = 0xFFFFFFFF
LOW_FACTOR, HIGH_FACTOR = (
    0x61C88647,
    0x2545F491,
)  # of a key's halves; the first is 2^32 by the square of the golden ratio


@dataclass(frozen=True)
class Geometry:
    """Block and segment sizes in bytes; a block holds a whole number of segments."""

    block_bytes: int = 262_144
    segment_bytes: int = 4_096

    def __post_init__(self) -> None:
        if self.segment_bytes < 1 or self.block_bytes < 1 or self.block_bytes % self.segment_bytes:
            message = (
                f"geometry {self.block_bytes}/{self.segment_bytes} bytes: "
                "the block must be a positive multiple of the segment"
            )
            raise ConfigError(message)

    @property
    def per_block(self) -> int:
        """Segments to a block."""
        return self.block_bytes // self.segment_bytes


@dataclass(frozen=True)
class SegmentAccesses:
    """The segments each request touches.

    Attributes:
        start: int64[n + 1]; request i touches positions [start[i], start[i + 1]) of the arrays below, in
            rising address.
        segment: int32[m] dense ids of segments, numbered by first appearance.
        own: int32[m] ids of (block of the request, segment). Equal to `segment` inside the block; what a
            request touches beyond its first block has ids of its own, so that episodes of different blocks
            stay independent.
        block: int32[n] dense ids of the blocks that hold the requests' first segments.
        first: int32[n] index of the first segment within its block.
        place: int32[n_segments] each segment's place: its block * per_block + its index there. Blocks that hold no
            request's first segment are numbered on from n_blocks. Unlike the ids, places name every segment of a
            block, touched or not. Empty where there are more of them than int32 can number.
        n_segments, n_own, n_blocks: numbers of ids.
        per_block: segments to a block.
        n_places: places in all.
        room: where these lie, and what else is as long as the requests.
    """

    start: I64
    segment: I32
    own: I32
    block: I32
    first: I32
    place: I32
    n_segments: int
    n_own: int
    n_blocks: int
    per_block: int
    n_places: int
    room: Room = in_memory

    def __len__(self) -> int:
        return len(self.block)

    @property
    def sizes(self) -> I32:
        """int32[n]: segments of each request."""
        return self.sizes_of(EVERY)

    def sizes_of(self, rows: slice) -> I32:
        """The same of some requests."""
        return (self.start[1:][rows] - self.start[:-1][rows]).astype(np.int32)

    @cached_property
    def placed(self) -> I32:
        """int32[m]: `segment` by place.

        Raises:
            TraceError: the blocks have more places than int32 ids can number.
        """
        if self.n_places > MOST_NUMBERED:
            message = (
                f"{self.n_places} segments in the trace's blocks are more than int32 ids can number; "
                "sample the trace or take smaller blocks"
            )
            raise TraceError(message)
        placed: I32 = self.room(np.int32, len(self.segment))
        for part in stretches(len(placed)):
            placed[part] = self.place[self.segment[part]]
        return placed


@njit
def _slot(key: np.int64, shift: int) -> np.int64:
    """The first slot to look at: of the key's hash of 32 bits the highest, without so many; no product overflows."""
    hashed = (key & HALF) * LOW_FACTOR + (key >> 32 & HALF >> 1) * HIGH_FACTOR
    return (hashed & HALF) >> shift


@unlocked
@njit
def _assign(
    keys: I64, table_keys: I64, table_numbers: I32, shift: int, count: int, most: int, ids: I32
) -> tuple[int, int]:
    """Number keys up to the first that is new when `most` are numbered; how many keys, and how many are distinct."""
    mask = len(table_keys) - 1
    slots, there, number = np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.int32)
    for first in range(0, len(keys), TOGETHER):
        several = min(TOGETHER, len(keys) - first)
        for k in range(several):  # no slot's address depends on another's content, so that memory answers side by side
            slot = _slot(keys[first + k], shift)
            slots[k], there[k], number[k] = slot, table_keys[slot], table_numbers[slot]
        for k in range(several):
            key = keys[first + k]
            if number[k] and there[k] == key:  # an entry stays once it is there
                ids[first + k] = number[k] - 1
                continue
            slot = slots[k]
            while table_numbers[slot] and table_keys[slot] != key:
                slot = (slot + 1) & mask
            if not table_numbers[slot]:
                if count == most:
                    return first + k, count
                count += 1
                table_keys[slot] = key
                table_numbers[slot] = count
            ids[first + k] = table_numbers[slot] - 1
    return len(keys), count


@unlocked
@njit
def _move(old_keys: I64, old_numbers: I32, table_keys: I64, table_numbers: I32, shift: int) -> None:
    mask = len(table_keys) - 1
    for i in range(len(old_numbers)):
        if old_numbers[i]:
            slot = _slot(old_keys[i], shift)
            while table_numbers[slot]:
                slot = (slot + 1) & mask
            table_keys[slot] = old_keys[i]
            table_numbers[slot] = old_numbers[i]


@unlocked
@njit
def _fill(start: I64, first: I64, out: I64) -> None:
    for i in range(len(first)):
        value = first[i]
        for j in range(start[i], start[i + 1]):
            out[j] = value
            value += 1


class IdTable:
    """Dense int32 ids for int64 keys by first appearance, stable across calls (open addressing)."""

    def __init__(self) -> None:
        self._reset(FIRST_CAPACITY)

    def _reset(self, capacity: int) -> None:
        self._keys: I64 = np.zeros(capacity, np.int64)
        self._shift = 32 - (capacity.bit_length() - 1)
        self._numbers: I32 = np.zeros(capacity, np.int32)  # a key's id and one; 0 in a slot without a key
        self.count = 0

    def _grow(self) -> None:
        """Twice the room, the same ids."""
        keys, numbers, count = self._keys, self._numbers, self.count
        self._reset(2 * len(keys))
        self.count = count
        _move(keys, numbers, self._keys, self._numbers, self._shift)

    @property
    def room(self) -> int:
        """How many keys it holds before it grows to twice the slots; each slot takes 12 bytes."""
        return min(len(self._keys) // 8 * 5, MOST_NUMBERED)

    def keys(self) -> I64:
        """int64[count]: the keys in the order of their ids."""
        used = self._numbers > 0
        ordered = np.empty(self.count, np.int64)
        ordered[self._numbers[used] - 1] = self._keys[used]
        return ordered

    def rebuild(self, keys: I64) -> None:
        """Forget everything and number `keys` (distinct) in their order."""
        capacity = FIRST_CAPACITY
        while capacity < 4 * len(keys):
            capacity *= 2
        self._reset(capacity)
        ids = np.empty(len(keys), np.int32)
        _, self.count = _assign(keys, self._keys, self._numbers, self._shift, 0, len(keys), ids)

    def lookup(self, keys: I64) -> I32:
        """Ids of the keys, new ones numbered on from `count`.

        Args:
            keys: int64[m].

        Returns:
            int32[m].

        Raises:
            TraceError: more than `MOST_NUMBERED` distinct keys.
        """
        ids = np.empty(len(keys), np.int32)
        done = 0
        while done < len(keys):
            part, own = keys[done : done + AT_ONCE], ids[done : done + AT_ONCE]
            more, self.count = _assign(part, self._keys, self._numbers, self._shift, self.count, self.room, own)
            done += more
            if more < len(part):
                if self.count == MOST_NUMBERED:
                    message = (
                        f"more than {MOST_NUMBERED} distinct pages or keys, which is what ids of 32 bits can number: "
                        "check the unit of sizes and offsets (bytes), or cut or sample the trace"
                    )
                    raise TraceError(message)
                self._grow()
        return ids


def _starts(volume: I32, offset: I64, size: I64, geometry: Geometry) -> tuple[I64, I64]:
    """`SegmentAccesses.start`, and the key of each request's first segment, int64[n]; as `segment_keys`."""
    if len(volume) and int(volume.max()) >= MAX_VOLUMES:
        raise TraceError(f"volume number {int(volume.max())} is above {MAX_VOLUMES - 1}; split the trace by volume")
    first = offset // geometry.segment_bytes
    last = (offset + size - 1) // geometry.segment_bytes
    if len(last) and int(last.max()) >= 1 << SEGMENT_BITS:
        highest = (1 << SEGMENT_BITS) - 1
        raise TraceError(f"segment index {int(last.max())} is above {highest}; check the unit of offset (bytes)")
    start = np.zeros(len(offset) + 1, np.int64)
    np.cumsum(last - first + 1, out=start[1:])
    return start, (volume.astype(np.int64) << SEGMENT_BITS) + first


def segment_keys(volume: I32, offset: I64, size: I64, geometry: Geometry) -> tuple[I64, I64]:
    """Where each request's segments start, and one int64 key per segment touched.

    Args:
        volume: int32[n] volume numbers.
        offset: int64[n] bytes.
        size: int64[n] bytes.
        geometry: block and segment sizes.

    Returns:
        start int64[n + 1] and keys int64[m]; `key >> SEGMENT_BITS` is the volume, the rest the segment's
        index.

    Raises:
        TraceError: more volumes, or a larger address, than a key can hold.
    """
    start, first = _starts(volume, offset, size, geometry)
    keys = np.empty(int(start[-1]), np.int64)
    _fill(start, first, keys)
    return start, keys


@njit
def _ones(word: int) -> int:
    """Bits set of a word below 2**32."""
    word -= (word >> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return (word * 0x01010101 & 0xFFFFFFFF) >> 24


@njit
def _number(
    start: I64,
    rows: tuple[I32, I32],
    beyond: tuple[I64, I32],
    per_block: int,
    n_places: int,
    placed: bool,
    segment: I32,
) -> I32:
    block, first = rows
    behind, others = beyond
    # Which places are touched, 32 to a word, so that an id is looked up by how many touched places come before.
    words = np.zeros(n_places // WORD + 1, np.uint32)
    before = np.zeros(len(words), np.int64)
    for i in range(len(block)):
        for k in range(start[i + 1] - start[i]):
            index = first[i] + k
            own = block[i] if index < per_block else others[behind[i] + index // per_block - 1]
            place = np.int64(own) * per_block + index % per_block
            words[place // WORD] |= np.uint32(1 << (place % WORD))
    total = 0
    for w in range(len(words)):
        before[w] = total
        total += _ones(int(np.int64(words[w])))
    ids, places = np.full(total, -1, np.int32), np.zeros(total if placed else 0, np.int32)
    count = 0
    for i in range(len(block)):
        for k in range(start[i + 1] - start[i]):
            index = first[i] + k
            own = block[i] if index < per_block else others[behind[i] + index // per_block - 1]
            place = np.int64(own) * per_block + index % per_block
            w = place // WORD
            rank = before[w] + _ones(int(np.int64(words[w])) & ((1 << (place % WORD)) - 1))
            if ids[rank] < 0:
                ids[rank] = count
                if placed:
                    places[count] = place
                count += 1
            segment[start[i] + k] = ids[rank]
    return places


def expand_segments(volume: I32, offset: I64, size: I64, geometry: Geometry, room: Room = in_memory) -> SegmentAccesses:
    """Number the segments and blocks that requests touch.

    Args:
        volume: int32[n] volume numbers.
        offset: int64[n] bytes.
        size: int64[n] bytes.
        geometry: block and segment sizes.
        room: where the accesses lie.

    Raises:
        TraceError: ids or addresses outside what keys can hold.
    """
    n, per_block, blocks = len(offset), geometry.per_block, IdTable()
    start, block, first = room(np.int64, n + 1), room(np.int32, n), room(np.int32, n)
    behind = room(np.int64, n + 1)  # the blocks that a request reaches beyond its own

    def keys_of(rows: slice) -> tuple[I64, I64, I64]:
        """`_starts` of some requests, and the keys of their blocks."""
        own, key = _starts(volume[rows], offset[rows], size[rows], geometry)
        index = key & ((1 << SEGMENT_BITS) - 1)
        return own, index, key - index + index // per_block

    for rows in stretches(n):
        own_start, index, block_key = keys_of(rows)
        after = slice(rows.start + 1, rows.stop + 1)
        start[after] = start[rows.start] + own_start[1:]
        first[rows] = index % per_block
        block[rows] = blocks.lookup(block_key)
        more = np.maximum(first[rows].astype(np.int64) + np.diff(own_start) - 1, 0) // per_block
        behind[after] = behind[rows.start] + np.cumsum(more)
    n_blocks = blocks.count
    others: I32 = room(np.int32, int(behind[-1]))
    for rows in stretches(n):
        low, high = int(behind[rows.start]), int(behind[rows.stop])
        if low < high:
            keys = np.empty(high - low, np.int64)
            _fill(behind[rows.start : rows.stop + 1] - low, keys_of(rows)[2] + 1, keys)
            others[low:high] = blocks.lookup(keys)
    n_places = blocks.count * per_block
    segment: I32 = room(np.int32, int(start[-1]))
    place = _number(start, (block, first), (behind, others), per_block, n_places, n_places <= MOST_NUMBERED, segment)
    n_segments = max((int(segment[part].max()) + 1 for part in stretches(len(segment))), default=0)
    own, n_own = _own_ids(start, segment, block, first, n_segments, geometry, room)
    return SegmentAccesses(
        start=start,
        segment=segment,
        own=own,
        block=block,
        first=first,
        place=place,
        n_segments=n_segments,
        n_own=n_own,
        n_blocks=n_blocks,
        per_block=per_block,
        n_places=n_places,
        room=room,
    )


def _own_ids(
    start: I64, segment: I32, block: I32, first: I32, n_segments: int, geometry: Geometry, room: Room
) -> tuple[I32, int]:
    """Ids of (block of the request, segment), see `SegmentAccesses.own`."""
    own, table = segment, IdTable()
    for rows in stretches(len(block)):
        begins, ends = start[:-1][rows], start[1:][rows]
        over = np.flatnonzero(first[rows] + (ends - begins) > geometry.per_block)
        if not len(over):
            continue
        if own is segment:
            own = room(np.int32, len(segment))
            for part in stretches(len(segment)):
                own[part] = segment[part]
        begin = begins[over] + geometry.per_block - first[rows][over]
        where_start = np.zeros(len(over) + 1, np.int64)
        np.cumsum(ends[over] - begin, out=where_start[1:])
        where = np.empty(int(where_start[-1]), np.int64)
        keys = np.empty_like(where)
        _fill(where_start, begin, where)
        _fill(where_start, (block[rows][over].astype(np.int64) << 32) + geometry.per_block, keys)
        own[where] = table.lookup(keys) + n_segments
    return own, n_segments + table.count

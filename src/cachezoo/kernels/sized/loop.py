"""The loop that runs every cache of objects: a template, to which `cachezoo.kernels.jit.specialise` binds the steps.

The loop keeps what is resident and its bytes; a policy keeps its own order of the residents alone. An eviction is a
state (a NamedTuple of flat arrays, changed in place) and the six steps below; an admission a state and two, those of
`cachezoo.kernels.loops`. The functions here that only raise stand for them.

`held` is the loop's, a column of `cachezoo.kernels.sized.table`: the bytes that the cache holds of each object, 0 of
one not resident. An eviction may keep the array in its state and read it, and writes nothing to it.
"""

from typing import Any, NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.loops import admit, saw
from cachezoo.kernels.near import AHEAD, fetch
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT

State = Any

WRITE, DELETE = 1, 2
"""Operations of a request, uint8; 0 reads."""

EVICTIONS, EVICTED_BYTES, EXPIRED, DELETED, RESIZED, TOO_LARGE, UNKNOWN = range(7)
N_COUNTS = 7
"""What `serve` counts: objects evicted and their bytes; those void by their time to live, and by a delete; changes of a
resident object's size; misses of objects larger than the cache, and of those whose size no request said so far."""

REQUESTS, HITS, READS, READ_HITS, BYTES, BYTE_HITS, ADMISSIONS, BYTES_WRITTEN = range(8)
"""What `tally` counts, deletes left out: as `cachezoo.sized.simulate.SizedRun` says."""


class Asked(NamedTuple):
    """The requests.

    Attributes:
        ids: int32[n] objects, in [0, n_objects).
        size: int64[n] bytes of the object; 0 where unknown.
        op: uint8[n].
    """

    ids: I32
    size: I64
    op: U8


class Lives(NamedTuple):
    """How long what is written lives.

    Attributes:
        time: int64[n], never decreasing.
        expires: int64[n] the time from which on what each request writes is void.
        void_at: int64[n_objects] that of each resident object; the loop's.
    """

    time: I64
    expires: I64
    void_at: I64


class Store(NamedTuple):
    """What is resident, and how the cache is to treat it.

    Attributes:
        held: int64[n_objects] bytes held, 0 of an object not resident.
        resident: uint8[n_objects] 1 where it is: a byte an object, which stays in the processor's caches.
        used: int64[1] bytes held of all.
        counts: int64[N_COUNTS], added to.
        capacity: bytes.
        around: writes pass by and void what is held.
        resizing: an object takes the size of each request of it; otherwise it keeps that with which it entered, and
            a hit need not look at sizes.
        competes: what enters does so before room is made, and may be what leaves: it then stayed out.
    """

    held: I64
    resident: U8
    used: I64
    counts: I64
    capacity: int
    around: bool
    resizing: bool
    competes: bool


def touch(state: State, key: int, i: int) -> None:
    """Eviction: request number i hit the resident object."""
    raise NotImplementedError


def wants(state: State, key: int, i: int, size: int) -> bool:
    """Eviction: may an object of that many bytes, missed by request number i, enter at all? Asked at each miss."""
    raise NotImplementedError


def evict(state: State, i: int) -> int:
    """Eviction: take an object out of the order and return it; there is one. Its bytes are still in `held`."""
    raise NotImplementedError


def insert(state: State, key: int, i: int) -> None:
    """Eviction: the object missed by request number i enters, and its bytes are in `held`."""
    raise NotImplementedError


def remove(state: State, key: int) -> None:
    """Eviction: the resident object is void. Its bytes are still in `held`."""
    raise NotImplementedError


def resize(state: State, key: int, more: int) -> None:
    """Eviction: the resident object has so many bytes more (less, below 0); `held` has the new number."""
    raise NotImplementedError


def serve(asked: Asked, lives: Lives | None, store: Store, state: State, gate: State, span: tuple[int, int],
          outcome: U8) -> None:  # fmt: skip
    """Serve the requests from `span[0]` to before `span[1]`.

    Args:
        asked: all requests.
        lives: None where nothing expires, which costs nothing (numba drops the branches).
        store: of the loop, changed in place.
        state: the eviction's.
        gate: the admission's.
        span: first and past-last request.
        outcome: uint8[n] of all requests, written in the span: `BYPASSED`, `ADMITTED` or `HIT`; a delete is `BYPASSED`.
    """
    ids, size, op, held, resident, counts = asked.ids, asked.size, asked.op, store.held, store.resident, store.counts
    capacity = store.capacity
    used = store.used[0]
    evictions, evicted = 0, 0
    for i in range(span[0], span[1]):
        key = ids[i]
        if i + AHEAD < ids.size:
            fetch(held, ids[i + AHEAD])
        was = resident[key] != 0
        outcome[i] = BYPASSED
        if lives is not None:
            if was and lives.time[i] >= lives.void_at[key]:
                remove(state, key)
                used -= held[key]
                held[key] = 0
                resident[key] = 0
                was = False
                counts[EXPIRED] += 1
        kind = op[i]
        if kind == DELETE or (kind == WRITE and store.around):
            if was:
                remove(state, key)
                used -= held[key]
                held[key] = 0
                resident[key] = 0
                counts[DELETED] += 1
            continue
        asks = size[i]
        if was:
            if store.resizing and asks > 0 and asks != held[key]:
                counts[RESIZED] += 1
                if asks > capacity:
                    remove(state, key)
                    used -= held[key]
                    held[key] = 0
                    resident[key] = 0
                    counts[TOO_LARGE] += 1
                    continue
                more = asks - held[key]
                held[key] = asks
                used += more
                resize(state, key, more)
            outcome[i] = HIT
            touch(state, key, i)
            saw(gate, key, i)
            if lives is not None:
                if kind == WRITE:
                    lives.void_at[key] = lives.expires[i]
        elif asks <= 0:
            counts[UNKNOWN] += 1
        elif asks > capacity:
            counts[TOO_LARGE] += 1
        elif wants(state, key, i, asks) and admit(gate, key, i):
            if not store.competes:
                while used + asks > capacity:
                    left = evict(state, i)
                    gone = held[left]
                    held[left] = 0
                    resident[left] = 0
                    used -= gone
                    evictions += 1
                    evicted += gone
            held[key] = asks
            resident[key] = 1
            used += asks
            insert(state, key, i)
            outcome[i] = ADMITTED
            if lives is not None:
                lives.void_at[key] = lives.expires[i]
        while used > capacity:  # what entered competes, or what was hit has grown
            left = evict(state, i)
            gone = held[left]
            held[left] = 0
            resident[left] = 0
            used -= gone
            if left == key and not was:
                outcome[i] = BYPASSED
            else:
                evictions += 1
                evicted += gone
    store.used[0] = used
    counts[EVICTIONS] += evictions
    counts[EVICTED_BYTES] += evicted


@njit
def tally(size: I64, op: U8, outcome: U8, first: int) -> I64:
    """Count requests from number `first` on by what happened, int64[8] in the order of the names above.

    Args:
        size: int64[n] bytes.
        op: uint8[n].
        outcome: uint8[n] as `serve` writes it.
        first: request to begin with.
    """
    requests, hits, reads, read_hits, asked, hit, admissions, written = 0, 0, 0, 0, 0, 0, 0, 0
    for i in range(first, op.size):
        asked_for = op[i] != DELETE
        read, write = op[i] == 0, op[i] == WRITE
        is_hit, entered = outcome[i] == HIT, outcome[i] == ADMITTED
        requests += asked_for
        hits += is_hit
        reads += read
        read_hits += is_hit & read
        asked += size[i] * asked_for
        hit += size[i] * is_hit
        admissions += entered
        written += size[i] * (entered | (is_hit & write))
    return np.array([requests, hits, reads, read_hits, asked, hit, admissions, written])

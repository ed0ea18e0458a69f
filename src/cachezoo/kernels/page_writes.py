"""Columns derived from a drive's page writes in one pass, written to arrays of the caller, in memory or in a file."""

from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I32, I64, U8, Bool
from cachezoo.kernels.jit import njit

Column = npt.NDArray[Any]


@njit
def mark_begins(request: I64, starts: I64, found: Bool) -> None:
    """Whether each of n page writes is the first one of its request.

    Args:
        request: int64[n] row of each one's request in its cycle.
        starts: int64[c + 1] the first page write of each cycle, and n.
        found: bool[n], written.
    """
    for i in range(request.size):
        found[i] = i == 0 or request[i] != request[i - 1]
    for k in range(starts.size - 1):
        if starts[k] < request.size:
            found[starts[k]] = True


@njit
def mark_chunks(pages: I32, begins: Bool, page_chunks: I64, chunk: int, found: I64) -> int:
    """The chunk that the request of each page write begins in.

    Args:
        pages: int32[n].
        begins: bool[n] whether each is the first one of its request.
        page_chunks: int64[footprint] chunk of each page.
        chunk: that of the request before.
        found: int64[n], written.

    Returns:
        That of the last request.
    """
    for i in range(pages.size):
        if begins[i]:
            chunk = page_chunks[pages[i]]
        found[i] = chunk
    return chunk


@njit
def find_requests(
    pages: I32, begins: Bool, address: I64, page_bytes: int, number: I64, heads: I64, follows: Bool, chunks: I64
) -> None:
    """Of each of r write requests what `cachezoo.kernels.autostream` asks.

    Args:
        pages: int32[n].
        begins: bool[n] whether each page write is the first one of its request.
        address: int64[footprint] first byte of each page.
        page_bytes: of a page.
        number: int64[footprint] dense number of the chunk that each page lies in.
        heads: int64[r], written: its first page write.
        follows: bool[r], written: whether its first page is the one behind the last page of the request before.
        chunks: int64[r], written: `number` of its first page.
    """
    r, end = 0, 0
    for i in range(pages.size):
        first = address[pages[i]]
        if begins[i]:
            heads[r] = i
            follows[r] = r > 0 and first == end
            chunks[r] = number[pages[i]]
            r += 1
        end = first + page_bytes


@njit
def spread(begins: Bool, of_request: U8, found: U8) -> None:
    """Give each of n page writes, `found`, what its request has; `begins` says where each request begins."""
    r = -1
    for i in range(begins.size):
        r += begins[i]
        found[i] = of_request[r]


@njit
def merge(values: Column, at: I64, others: Column, found: Column) -> None:
    """Put k others between n values.

    Args:
        values: [n].
        at: int64[k], rising: values before each of the others.
        others: [k], or [0] to leave their places as they are.
        found: [n + k], written.
    """
    k = 0
    for i in range(values.size + 1):
        while k < at.size and at[k] == i:
            if others.size > 0:
                found[i + k] = others[k]
            k += 1
        if i < values.size:
            found[i + k] = values[i]


@njit
def place_by_death(life: I64, never: int, length: int, windows: int, placed: U8, later: I64) -> int:
    """Give the page writes that die in a window that is open a stream each window has, in turn.

    Args:
        life: int64[n] page writes until each one dies, or `never`.
        never: the lifetime of a write that nothing overwrites.
        length: page writes of a window.
        windows: that are open, from the one of the write on.
        placed: uint8[n], written where a write dies in an open window.
        later: int64[n], written from the front: lifetimes of those that die later.

    Returns:
        How many these are.
    """
    k = 0
    for i in range(life.size):
        if life[i] != never:
            end = (i + life[i]) // length
            if end - i // length < windows:
                placed[i] = end % windows
            else:
                later[k] = life[i]
                k += 1
    return k


@njit
def place_by_class(life: I64, never: int, length: int, windows: int, bounds: F64, placed: U8) -> None:
    """Give the others that die a stream by the class of their lifetimes, behind those of the windows.

    Args:
        life: as of `place_by_death`, like the next three.
        never: likewise.
        length: likewise.
        windows: likewise.
        bounds: float64[classes - 1] rising; a lifetime is of a class above so many as are below it.
        placed: uint8[n], written.
    """
    for i in range(life.size):
        if life[i] != never and (i + life[i]) // length - i // length >= windows:
            placed[i] = windows + np.searchsorted(bounds, life[i])

"""Events from text: blkparse's output and the kernel's trace text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.kernels import event_text as kernel
from cachezoo.traces.events import Events

BLANKS = b" \t\r\n"
FOLLOWING = 200
LOST = re.compile(r"LOST ([0-9]{1,18}) EVENTS|\[([0-9]{1,18}) EVENTS DROPPED\]")


@dataclass(frozen=True)
class Line:
    """A line that is no event."""

    row: int  # its number; blank lines and comments have none
    text: str  # without blanks around it
    damaged: bool  # it begins as an event
    following: bytes  # the text after it, `FOLLOWING` bytes at the most

    @property
    def lost_events(self) -> int | None:
        """How many events the line says that the kernel lost; None if it says no such thing."""
        found = LOST.search(self.text)
        return None if found is None else int(found[1] or found[2])


def with_following(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines cut elsewhere: what follows a line that is not blank stands in its block.

    The last such line of each block goes to the next one, with no more of the blanks after it than are looked at.
    """
    rest = b""
    for block in blocks:
        text = rest + block
        filled = text.rstrip(BLANKS)
        cut = filled.rfind(b"\n") + 1
        blanks = text[len(filled) : len(filled) + FOLLOWING]
        rest = filled[cut:] + blanks + b"\n" * (len(text) > len(filled) + FOLLOWING)
        if cut:
            yield text[:cut]
        if not filled:
            rest = b""
    if rest:
        yield rest


def scan(block: bytes, blkparse: bool, first_row: int) -> tuple[Events, I64, Iterator[Line], int]:
    """The events of whole lines of text.

    Args:
        block: the text.
        blkparse: it is of blkparse; else of the kernel.
        first_row: number of its first line that is neither blank nor a comment.

    Returns:
        The events; their rows; the lines that are none, made as they are asked for, as there may be millions; the
        number of the next line.
    """
    data = np.frombuffer(block, np.uint8)
    lines = kernel.scan(data, blkparse)
    if (nothing := lines[:, kernel.FOUND] == kernel.NOTHING).any():
        lines = lines[~nothing]
    found = lines[:, kernel.FOUND]
    odd = (
        Line(
            int(first_row + index),
            block[lines[index, kernel.START] : lines[index, kernel.END]].decode("utf-8", "replace").strip(),
            bool(found[index] == kernel.DAMAGED),
            block[lines[index, kernel.END] : lines[index, kernel.END] + FOLLOWING],
        )
        for index in np.flatnonzero(found <= kernel.UNKNOWN)
    )
    is_event = (found >= 0) & (found != kernel.PASSED)
    kept = lines[is_event]
    sectors = np.minimum(kept[:, kernel.SECTORS], 2**31 - 1)
    events = Events(
        time_ns=kept[:, kernel.TIME_NS].copy(),
        kind=kept[:, kernel.FOUND].astype(np.uint8),
        device=kept[:, kernel.DEVICE].astype(np.int32),
        # A flush has no address; the kernel prints -1 as unsigned.
        sector=np.where(sectors > 0, kept[:, kernel.SECTOR], 0),
        sectors=sectors.astype(np.int32),
        error=kept[:, kernel.ERROR].astype(np.int32),
        rwbs=_texts(block, kept[:, kernel.RWBS], kept[:, kernel.RWBS_END]),
        comm=_texts(block, kept[:, kernel.COMM], kept[:, kernel.COMM_END]),
    )
    return events, first_row + np.flatnonzero(is_event), odd, first_row + len(lines)


def _texts(block: bytes, start: I64, end: I64) -> Coded:
    start, end = start.copy(), end.copy()
    codes, first = kernel.numbered(np.frombuffer(block, np.uint8), start, end)
    names = (block[start[at] : end[at]].decode("utf-8", "replace") for at in first.tolist())
    return Coded(codes, tuple(names))

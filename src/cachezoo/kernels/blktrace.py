"""Scan of blktrace's binary records: their lengths differ, so that one record has to be read to find the next."""

import numpy as np

from cachezoo.arrays import I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.match import COMPLETE, ISSUE, QUEUE, REQUEUE

# Columns of a scan: one row an event that makes requests, or a process name.
RECORD = 0
KIND = 1
TIME_NS = 2
SECTOR = 3
BYTES = 4
CATEGORY = 5
PID = 6
DEVICE = 7
ERROR = 8
PDU = 9
PDU_BYTES = 10
COLUMNS = 11

NAME = 5  # a kind besides the events': the pdu names the process
NOTIFY = 1 << 10
_CGROUP = 0x100
_Q, _R, _D, _C = 1, 6, 7, 8

# How a scan ended.
ENOUGH = 0  # at the end of the data, or in a record that it does not hold whole
NO_MAGIC = 1


@njit
def _unsigned(data: U8, at: int, width: int, big: bool) -> int:
    value = 0
    for i in range(width):
        value |= int(data[at + i]) << (8 * (width - 1 - i if big else i))
    return value


@njit
def _signed64(data: U8, at: int, big: bool) -> int:
    top = int(data[at if big else at + 7])
    rest = _unsigned(data, at + 1 if big else at, 7, big)
    return (top - 256 if top >= 128 else top) << 56 | rest


@njit
def _kind(action: int) -> int:
    """The kind of a record's action; -1 makes no request."""
    category = action >> 16
    low = action & 0xFFFF & ~_CGROUP
    if category & NOTIFY:
        return NAME if low == 0 else -1
    if low == _D:
        return ISSUE
    if low == _C:
        return COMPLETE
    if low == _Q:
        return QUEUE
    return REQUEUE if low == _R else -1


@njit
def scan(data: U8, at: int, record: int, version: int, big: bool) -> tuple[I64, int, int, int]:
    """Scan records.

    Args:
        data: uint8 of the file.
        at: where a record starts.
        record: its number in the file.
        version: 7 or 8, of the format.
        big: the records are big-endian.

    Returns:
        int64[rows, COLUMNS] of the events that make requests and of process names: number of the record, kind,
        nanoseconds, sector (as signed), bytes, category bits, process, device (major << 20 | minor), error, and
        where its pdu starts and how long it is; where the scan ended; the number of the record there; and how it
        ended, `ENOUGH` or `NO_MAGIC`.
    """
    width = 48 if version == 7 else 64
    found = np.empty(((len(data) - at) // width, COLUMNS), np.int64)
    rows = 0
    ended = ENOUGH
    while at + width <= len(data):
        if _unsigned(data, at, 4, big) != 0x65617400 | version:
            ended = NO_MAGIC
            break
        pdu_bytes = _unsigned(data, at + (46 if version == 7 else 50), 2, big)
        if at + width + pdu_bytes > len(data):
            break
        action = _unsigned(data, at + 28, 4, big) if version == 7 else _signed64(data, at + 32, big)
        kind = _kind(action)
        if kind >= 0:
            row = found[rows]
            row[RECORD] = record
            row[KIND] = kind
            row[TIME_NS] = _signed64(data, at + 8, big)
            row[SECTOR] = _signed64(data, at + 16, big)
            row[BYTES] = _unsigned(data, at + 24, 4, big)
            row[CATEGORY] = action >> 16
            row[PID] = _unsigned(data, at + (32 if version == 7 else 28), 4, big)
            row[DEVICE] = _unsigned(data, at + (36 if version == 7 else 40), 4, big)
            error = _unsigned(data, at + (44 if version == 7 else 48), 2, big)
            row[ERROR] = error - 65536 if error >= 32768 else error
            cgroup = 8 if action & _CGROUP and pdu_bytes >= 8 else 0
            row[PDU] = at + width + cgroup
            row[PDU_BYTES] = pdu_bytes - cgroup
            rows += 1
        at += width + pdu_bytes
        record += 1
    return found[:rows], at, record, ended

"""Accesses from block requests: the pieces into which one contiguous read or write was cut are one row again."""

from dataclasses import replace

import numpy as np

from cachezoo.arrays import I64
from cachezoo.traces.events import JoinedRequests
from cachezoo.traces.table import UNKNOWN_LATENCY

MAX_ACCESS_BYTES = 1 << 30


def join_requests(requests: JoinedRequests, within_us: int, max_bytes: int = MAX_ACCESS_BYTES) -> JoinedRequests:
    """Join contiguous requests of one device and operation.

    A request continues the access that ends where it begins if its issue is at most `within_us` after that of the
    access's latest piece; of several such accesses, the one whose latest piece is the latest. The process does not
    matter, for a server's threads and the kernel's writers may each issue a part. An access has the time, process and
    flags of its first piece, the pieces' whole size, and lasts until the last of them is complete; its latency is
    unknown where one piece's is.

    Args:
        requests: in the order of issue.
        within_us: longest gap between two pieces.
        max_bytes: a piece that would make an access larger begins another.

    Returns:
        The accesses in the order of their first pieces, with the count `joined` of requests that are no longer rows.
    """
    time, size, offset = requests.time_us.tolist(), requests.size.tolist(), requests.offset.tolist()
    device, op = requests.device.tolist(), requests.op.tolist()
    # The place where accesses end, to each and the issue of its latest piece; that with the latest piece is the last.
    ends: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    access = np.empty(len(time), np.int64)
    sizes: list[int] = []
    for row in range(len(time)):
        ending = ends.get((device[row], op[row], offset[row]))
        if ending and time[row] - ending[-1][1] <= within_us and sizes[ending[-1][0]] + size[row] <= max_bytes:
            joined = ending.pop()[0]
        else:
            joined = len(sizes)
            sizes.append(0)
        access[row] = joined
        sizes[joined] += size[row]
        ends.setdefault((device[row], op[row], offset[row] + size[row]), []).append((joined, time[row]))
    return _rows(requests, access, np.array(sizes, np.int64))


def _rows(requests: JoinedRequests, access: I64, size: I64) -> JoinedRequests:
    """The accesses, given the access of each request and the accesses' sizes."""
    first = np.unique(access, return_index=True)[1]
    unknown = requests.latency_us == UNKNOWN_LATENCY
    ended = np.full(len(first), np.iinfo(np.int64).min)
    np.maximum.at(ended, access, requests.time_us + requests.latency_us)
    lost = np.bincount(access[unknown], minlength=len(first)) > 0
    time_us = requests.time_us[first]

    return replace(
        requests,
        time_us=time_us,
        op=requests.op[first],
        offset=requests.offset[first],
        size=size,
        latency_us=np.where(lost, UNKNOWN_LATENCY, ended - time_us),
        device=requests.device[first],
        flags=requests.flags.take(first),
        comm=requests.comm.take(first),
        counts=requests.counts | {"joined": len(access) - len(first)},
    )

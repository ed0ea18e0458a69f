"""Traces, runs and devices for tests of hierarchies."""

import numpy as np

from cachezoo.coded import Coded
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.run import TierRun
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.settings.device import AnalyticDevice, Hdd, Ssd
from cachezoo.traces.table import Trace, TraceMeta

PAGE = 4096
# Times that can be added in the head: a disk of 1 ms and an SSD of 10 µs an I/O, and 1 µs a KiB on both.
HDD = Hdd(
    capacity_bytes=1 << 40,
    rotation_us=1e-3,
    seek_base_us=1000.0,
    seek_root_us=0.0,
    outer_mb_s=1024.0,
    inner_mb_s=1024.0,
    interface_mb_s=1e6,
)
SSD = Ssd(read_us=10.0, write_us=20.0, read_mb_s=1024.0, write_mb_s=1024.0)
DEVICE = AnalyticDevice(source="analytic", hdd=HDD, ssd=SSD)
WRITTEN, EVICTED, MOVED_UP, VOIDED = range(4)
RAM_TIER, BUFFER_TIER, SSD_TIER, DISK_TIER = range(4)


def trace_of(requests, gap_us=10_000):
    """A trace of (op, first page, pages), one each `gap_us`."""
    op, first, count = (np.array(column, np.int64) for column in zip(*requests, strict=True))
    n = len(requests)
    return Trace(
        time_us=np.arange(n, dtype=np.int64) * gap_us,
        op=op.astype(np.uint8),
        offset=first * PAGE,
        size=count * PAGE,
        volume=Coded.constant("vda", n),
        meta=TraceMeta("made", "database", "test", "0" * 64),
    )


def stream_of(requests, gap_us=10_000):
    return tier_stream(trace_of(requests, gap_us))


def run_of(tier, events=(), ssd_pages=8, text="hca"):
    """What a hierarchy did, by hand: the tier of each access, and (access, page id, what) of the SSD."""
    at, page, what = (np.array([event[k] for event in events], np.int32) for k in range(3))
    hierarchy = parse_hierarchy(text)
    return TierRun(np.array(tier, np.uint8), at, page, what.astype(np.uint8), 4, ssd_pages, hierarchy)

"""Traces, runs and devices for tests of hierarchies."""

import numpy as np
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.kernels.tiers import BUFFER as BUFFER_TIER
from cachezoo.kernels.tiers import DISK as DISK_TIER
from cachezoo.kernels.tiers import EVICTED, MOVED_UP, VOIDED, WRITTEN
from cachezoo.kernels.tiers import RAM as RAM_TIER
from cachezoo.kernels.tiers import SSD as SSD_TIER
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.run import TierRun
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.settings.device import AnalyticDevice, Hdd, Ssd
from cachezoo.traces.table import Trace, TraceMeta

__all__ = (
    "BUFFER_TIER", "DEVICE", "DISK_TIER", "EVICTED", "HDD", "MOVED_UP", "PAGE", "RAM_TIER", "SSD", "SSD_TIER", "VOIDED",
    "WRITTEN", "byte_trace", "held_after", "page_stream", "run_of", "skewed", "stream_of", "tier_streams", "trace_of",
)  # fmt: skip

PAGE = 4096
# Times that can be added in the head: a disk of 1 ms and an SSD of 10 µs an I/O, and 1 µs a KiB on both.
HDD = Hdd(
    capacity_bytes=1 << 40, rotation_us=1e-3, seek_base_us=1000.0, seek_root_us=0.0, outer_mb_s=1024.0,
    inner_mb_s=1024.0, interface_mb_s=1e6,
)  # fmt: skip
SSD = Ssd(read_us=10.0, write_us=20.0, read_mb_s=1024.0, write_mb_s=1024.0)
DEVICE = AnalyticDevice(source="analytic", hdd=HDD, ssd=SSD)


def byte_trace(offset, size, write, time_us=None, volume=None):
    """Requests by offset and size in bytes, one each millisecond."""
    n = len(offset)
    return Trace(
        time_us=np.arange(n, dtype=np.int64) * 1000 if time_us is None else np.asarray(time_us, np.int64),
        op=np.asarray(write, np.uint8),
        offset=np.asarray(offset, np.int64),
        size=np.asarray(size, np.int64),
        volume=Coded.constant("vda", n) if volume is None else Coded.of(volume),
        meta=TraceMeta("made", "database", "test", "0" * 64),
    )


def trace_of(requests, gap_us=10_000):
    """A trace of (op, first page, pages), one each `gap_us`."""
    op, first, count = (np.array(column, np.int64) for column in zip(*requests, strict=True))
    return byte_trace(first * PAGE, count * PAGE, op, np.arange(len(op)) * gap_us)


def stream_of(requests, gap_us=10_000):
    """The accesses of such a trace."""
    return tier_stream(trace_of(requests, gap_us))


def page_stream(pages, write=None, time_us=None):
    """Accesses to a page each, by page numbers on the volume."""
    pages = np.asarray(pages, np.int64)
    write = np.zeros(len(pages)) if write is None else write
    return tier_stream(byte_trace(pages * PAGE, np.full(len(pages), PAGE), write, time_us))


def run_of(tier, events=(), ssd_pages=8, text="hca"):
    """What a hierarchy did, by hand: the tier of each access, and (access, page id, what) of the SSD."""
    at, page, what = (np.array([event[k] for event in events], np.int32) for k in range(3))
    hierarchy = parse_hierarchy(text)
    return TierRun(np.array(tier, np.uint8), at, page, what.astype(np.uint8), 4, ssd_pages, hierarchy)


@st.composite
def tier_streams(draw, most=60, pages=16):
    """Requests of one to three pages, a fifth of them writes, in a few erase blocks of two volumes."""
    n = draw(st.integers(1, most))

    def column(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    place = np.array(column(st.integers(0, pages - 1)), np.int64)
    time_us = np.cumsum(column(st.sampled_from([0, 1, 400, 90_000])))
    return tier_stream(
        byte_trace(
            ((place % 3) * 64 + place) * 4096 + np.array(column(st.integers(0, 4095))),
            np.array(column(st.integers(1, 8192))), np.array(column(st.integers(0, 4))) == 0, time_us,
            column(st.sampled_from("ab")),
        )
    )  # fmt: skip


def skewed(n=30_000, pages=3000, writes=0.2, seed=1):
    """Skewed accesses to a page each, one each millisecond; a third of them scan."""
    rng = np.random.default_rng(seed)
    page = rng.permutation(pages)[rng.zipf(1.1, n) % pages]
    scan = rng.random(n) < 0.3
    page[scan] = (np.arange(int(scan.sum())) * 3) % pages
    return page_stream(page, rng.random(n) < writes)


def held_after(run, n_pages):
    """Pages of the SSD after each event, checked on the way.

    Returns:
        int64[e] how many it held after each, and the set at the end.
    """
    held, sizes = set(), []
    for page, code in zip(run.event_page.tolist(), run.event.tolist(), strict=True):
        assert 0 <= page < n_pages
        if code == WRITTEN:
            assert page not in held
            held.add(page)
            sizes.append(len(held))
            continue
        held.remove(page)  # a KeyError: something left that was not there
        if code == EVICTED:
            sizes.append(len(held) + 1)  # for the page that comes in its place
        else:
            sizes.append(len(held))
    return np.array(sizes, np.int64), held

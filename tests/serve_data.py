"""A status of the filter and a note of what is served, as docs/mounted.md and `serve` have them."""


def histogram(*buckets):
    """A latency of the status, with so many cumulative buckets."""
    bounds = [2.0**k * 1e-9 for k in range(7, 7 + len(buckets) - 1)]
    return {"bounds": bounds, "buckets": [*buckets], "count": buckets[-1], "sum": 0.5, "max": 0.1, "p50": 95e-6,
            "p90": 2e-4, "p99": 3e-4}  # fmt: skip


def counters(**changes):
    """Counters of a cache around which writes go."""
    found = {
        "version": "1.4.0", "writes": "around", "mode": "policy", "policy": "s3fifo", "kind": "", "bundle": "",
        "volume": "d", "uptime_s": 12.5, "reloads": 0, "takeovers": 0, "attaches": 0, "unit_bytes": 4096, "units": 64,
        "cache_bytes": 262144, "disk_bytes": 1 << 20, "resident": 32, "dirty": 0, "read_requests": 10,
        "write_requests": 4, "zeroes": 0, "trims": 0, "read_bytes": 40960, "write_bytes": 16384, "read_hits": 6,
        "read_misses": 4, "write_hits": 0, "write_misses": 0, "admitted": 4, "refused": 0, "prefetched": 0,
        "evicted": 0, "invalidated": 1, "resident_at_start": 0, "hits_read_from_disk": 0, "ssd_read_bytes": 24576,
        "disk_reads": 4, "disk_read_bytes": 16384, "disk_read_units": 4, "ssd_writes": 4, "ssd_write_bytes": 16384,
        "ssd_writes_cancelled": 0, "ssd_writes_over_budget": 0, "write_rate": 0, "ssd_write_rate": 0.25,
        "writes_waited": 0, "bypassed": False, "bypass_reason": "", "bypassed_at_s": -1, "writes_refused": False,
        "ssd_errors": 0, "ssd_corrupt": 0, "policy_failures": 0, "ssd_writes_skipped": 0,
        "written_back": 0, "writes_waited_for_room": 0, "lost_units": 0, "model_decisions": {"admit": 3, "refuse": 1},
        "latency": {name: histogram(1, 2, 2) for name in ("read_ssd", "read_disk", "read_both", "write", "decision")},
    }  # fmt: skip
    return found | changes


def note(**changes):
    """The note of a served disk."""
    found = {
        "name": "d", "pid": 7, "nbdkit_pid": 8, "disk": "/dev/sdb", "ssd": "/dev/nvme0n1p4", "size": 1 << 36,
        "mode": "around", "policy": "s3fifo", "write_rate": None, "uri": "nbd+unix:///?socket=/run/cachezoo/d/nbd.sock",
        "socket": "/run/cachezoo/d/nbd.sock", "device": None, "no_device": "the kernel has no nbd", "config": None,
        "metrics": None, "started": 0.0, "seconds": 7200.0, "promised": None, "measured": 0.52,
        "measured_accesses": 5000, "measured_seconds": 3600.0, "promise_missed": False, "counters": counters(),
    }  # fmt: skip
    return found | changes

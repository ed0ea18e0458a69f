"""Caches of objects next to libCacheSim: misses, which are to be equal (status 1 where they are not), and speed.

The misses of libCacheSim are kept in tests/golden/objects.json, with which a test compares; `--keep` writes them anew.
"""

import argparse
import json
import os
import sys
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import libcachesim as lcs
import numpy as np
from timing import compiled, least

from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.following import next_access
from cachezoo.sized.bounds import hit_bounds
from cachezoo.sized.requests import Requests
from cachezoo.sized.simulate import simulate
from tests.sized_data import PUBLIC, read_public, skewed

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "objects.json"
SHARES = (0.01, 0.1, 0.3)
HASHPOWERS = (16, 20)  # a small table suits a small cache; the peer gets its best
ENDLESS = "rejectx(window_capacities=1000000)+lru"
PEERS: dict[str, Any] = {
    "fifo": lcs.FIFO, "lru": lcs.LRU, "sieve": lcs.Sieve, "s3fifo": lcs.S3FIFO, "gdsf": lcs.GDSF, "inlfu": lcs.LFU,
    "belady": lcs.Belady,
}  # fmt: skip
ALIKE: dict[str, Any] = {
    "wtinylfu": lcs.WTinyLFU,
    "lhd": lcs.LHD,
    "adaptsize+lru": lambda **sizes: lcs.LRU(**{**sizes, "admissioner": lcs.AdaptSizeAdmissioner()}),
    "lrb": lcs.LRB,
    "lrb(objects=1)": lambda **sizes: lcs.LRB(**sizes, objective="object-miss-ratio"),
    "threelcache": lcs.ThreeLCache,
    "threelcache(objects=1)": lambda **sizes: lcs.ThreeLCache(**sizes, objective="object-miss-ratio"),
    "beladysize": lcs.BeladySize,
}
ADMITTED: dict[str, Any] = {
    ENDLESS: lambda: lcs.BloomFilterAdmissioner(),
    "bysize(largest=20000)+lru": lambda: lcs.SizeAdmissioner(20_001),
}


def reader(requests: Requests, folder: Path) -> lcs.TraceReader:
    """The requests as libCacheSim's binary format: u32 time, u64 id, u32 size, i64 next access (-1 none)."""
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows = np.zeros(len(requests), record)
    following = next_access(requests.ids, requests.n_objects).astype(np.int64)
    rows["id"], rows["size"] = requests.ids + 1, requests.size
    rows["next"] = np.where(following < len(requests), following + 1, -1)
    path = folder / "objects.oracleGeneral.bin"
    rows.tofile(path)
    return lcs.TraceReader(str(path), lcs.TraceType.ORACLE_GENERAL_TRACE, lcs.ReaderInitParam())


def theirs(text: str, opened: lcs.TraceReader, capacity: int, hashpower: int = 20) -> float:
    """LibCacheSim's object miss ratio."""
    opened.reset()
    gate = ADMITTED[text]() if text in ADMITTED else None
    policy = PEERS[text.rpartition("+")[2]]
    cache = policy(cache_size=capacity, hashpower=hashpower, admissioner=gate)
    return float(cache.process_trace(opened)[0])


def ours(text: str, requests: Requests, capacity: int) -> int:
    """Our misses; libCacheSim heeds no change of an object's size."""
    run = simulate(requests, text, capacity, resizing=False)
    return run.requests - run.hits


def table(name: str, requests: Requests, folder: Path) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Print a trace's misses; returns libCacheSim's by policy and share, and what is not equal."""
    opened = reader(requests, folder)
    print(
        f"\n**{name}**, {len(requests):,} requests, {requests.n_objects:,} objects, {requests.footprint_bytes:,} bytes"
    )
    print(f"\n| policy | {' | '.join(f'{share:.0%}' for share in SHARES)} |\n|---|{'---|' * len(SHARES)}")
    kept: dict[str, dict[str, int]] = {}
    failed = []
    for text in (*PEERS, *ADMITTED):
        cells = []
        for share in SHARES:
            capacity = int(requests.footprint_bytes * share)
            peer = round(theirs(text, opened, capacity) * len(requests))
            own = ours(text, requests, capacity)
            kept.setdefault(text, {})[str(share)] = peer
            cells.append(f"{own:,}" if own == peer else f"{own:,} (**{peer:,}**)")
            failed += [] if own == peer else [f"{text} on {name} at {share:.0%}"]
        print(f"| {text} | {' | '.join(cells)} |", flush=True)
    return kept, failed


def alike(requests: Requests, folder: Path) -> None:
    """Print object and byte miss ratios of policies that are not the same step by step, and the bounds, in percent."""
    opened = reader(requests, folder)
    print(f"\n{len(requests):,} requests, {requests.n_objects:,} objects, {requests.footprint_bytes:,} bytes")
    print(f"\n| policy | {' | '.join(f'{share:.0%}' for share in SHARES)} |\n|---|{'---|' * len(SHARES)}")
    capacities = [int(requests.footprint_bytes * share) for share in SHARES]
    for text, policy in ALIKE.items():
        cells = []
        for capacity in capacities:
            run = simulate(requests, text, capacity)
            opened.reset()
            peer = policy(cache_size=capacity).process_trace(opened)
            own = (1 - run.hit_ratio, 1 - run.byte_hit_ratio)
            cells.append(", ".join(f"{100 * a:.1f} ({100 * b:.1f})" for a, b in zip(own, peer, strict=True)))
        print(f"| {text} | {' | '.join(cells)} |", flush=True)
    bounds = [hit_bounds(requests, capacity) for capacity in capacities]
    least_misses = (f"{100 - 100 * b.hit_ratio.upper:.1f}, {100 - 100 * b.byte_hit_ratio.upper:.1f}" for b in bounds)
    print(f"| no cache misses less (PFOO) | {' | '.join(least_misses)} |")


def speed(requests: Requests, folder: Path) -> None:
    """Print requests a second of both at a tenth of the bytes, by processor time."""
    opened = reader(requests, folder)
    capacity = requests.footprint_bytes // 10
    print(f"\n| policy | M requests/s | libCacheSim's | ratio |\n|---|---|---|---|  {len(requests):,} requests")
    for text in PEERS:
        own, run = compiled(lambda text=text: simulate(requests, text, capacity), 3)
        peer = min(least(lambda text=text, power=power: theirs(text, opened, capacity, power), 2)[0]
                   for power in HASHPOWERS)  # fmt: skip
        n = run.requests / 1e6
        print(f"| {text} | {n / own:.1f} | {n / peer:.1f} | {peer / own:.1f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="write libCacheSim's misses to tests/golden/objects.json")
    parser.add_argument("--speed", type=int, metavar="N", help="measure speed on N generated requests instead")
    parser.add_argument("--alike", type=int, metavar="N", help="policies that differ in steps, on N generated requests")
    given = parser.parse_args()
    with TemporaryDirectory() as place:
        folder = Path(place)
        if given.speed:
            speed(skewed(given.speed, given.speed // 10), folder)
            return
        if given.alike:
            alike(skewed(given.alike, given.alike // 10), folder)
            return
        if "CACHEZOO_PUBLIC_TRACES" not in os.environ:
            raise ConfigError("set CACHEZOO_PUBLIC_TRACES to the folder of the public traces (docs/benchmarks.md)")
        kept, failed = {}, []
        print("Misses; libCacheSim's in brackets where it does not miss exactly as often.")
        for name, requests in (("generated", skewed()), *((name, read_public(name)) for name in PUBLIC)):
            kept[name], unequal = table(name, requests, folder)
            failed += unequal
    if given.keep:
        found = {"libcachesim": metadata.version("libcachesim"), "misses": kept}
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"\n{'; '.join(failed) or 'All misses are equal.'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()

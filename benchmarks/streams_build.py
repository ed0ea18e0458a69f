"""Time and memory to build a dictionary of streams, from a trace's writes to `sid.bin`.

    .venv/bin/python benchmarks/streams_build.py --writes 10000000 [--tb 1] [--window 60s] [--combination FASC]

Writes are generated: of 4 to 128 KiB, half of them to popular places and half in runs, on one volume. Kernels are
compiled on a small trace first. Memory is the process's peak, of which the trace is a part; it is also given alone.

The paper says 600 s for 3*10**9 of its chunks (Sec. IV-E). What it counts there can be read in three ways, and the
measured time is given in proportion for each: chunk writes, so that a chunk counts as often as it is written; distinct
chunks; or what its dictionary's size is given for, 3 TB, which are 92 million chunks of 32 KiB. The paper clusters one
feature matrix of one window, so one window's features are counted; `lifetimes`, which number our clusters, are given
apart, as are K-means on real values and the dictionary made to fit. Seconds are of the clock, and of the one core that
the process has.
"""

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from cachezoo.coded import Coded
from cachezoo.features.fios import Theta, chunk_features
from cachezoo.kernels.characteristics import updates
from cachezoo.kernels.chunks import lifetimes
from cachezoo.labels.streams import label_streams
from cachezoo.traces.chunks import CHUNK_BYTES, WINDOWS, chunk_writes
from cachezoo.traces.table import OP_WRITE, Trace, TraceMeta
from cachezoo.zoo.streams.cluster import REAL_SETS, bits_of, cluster_bits, cluster_reals, dictionary_of, reals_of
from cachezoo.zoo.streams.dictionary import RANGE_BYTES, base_bytes
from cachezoo.zoo.streams.learn import Evidence, compact, most_ranges

PAPER_CHUNKS, PAPER_BYTES, PAPER_S = 3_000_000_000, 3e12, 600
SMALL = 20_000
BYTES_PER_TB = 8e6  # that a dictionary is made to fit into
PIECE = 1 << 22
NO_THETA = Theta(None, 0.0, 0.0, 0.0, None)


def generated(writes: int, volume_bytes: int) -> Trace:
    """Writes of a volume, piece by piece so that little but the trace is held."""
    rng = np.random.default_rng(1)
    blocks = volume_bytes // 4096
    time_us, offset, size = (np.empty(writes, np.int64) for _ in range(3))
    now = 0
    for low in range(0, writes, PIECE):
        n = min(PIECE, writes - low)
        part, row = slice(low, low + n), np.arange(low, low + n)
        popular = (blocks * rng.random(n) ** 4).astype(np.int64)
        runs = row // 64 * 7_919_003 % blocks + row % 64 * 8
        size[part] = 4096 << rng.integers(0, 6, n)
        offset[part] = np.minimum(np.where(rng.random(n) < 0.5, popular, runs), blocks - 32) * 4096
        time_us[part] = now + np.cumsum(rng.exponential(300, n)).astype(np.int64)
        now = int(time_us[low + n - 1])
    meta = TraceMeta("generated", "unknown", "test", "0" * 64)
    return Trace(time_us, np.full(writes, OP_WRITE, np.uint8), offset, size, Coded.constant("vda", writes), meta)


def peak_gib() -> float:
    """The process's peak memory so far, GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Timed:
    """Seconds of the core that each part takes, printed as they end."""

    def __init__(self, shown: bool) -> None:
        self.shown, self.seconds = shown, dict[str, float]()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what stands inside."""
        began, worked = time.perf_counter(), time.process_time()
        yield
        self.seconds[name] = time.process_time() - worked
        if self.shown:
            clock = time.perf_counter() - began
            print(f"{name:34}{clock:9.2f} s, core {self.seconds[name]:7.2f} s, peak {peak_gib():6.2f} GiB", flush=True)


def build(trace_of: Callable[[], Trace], window: str, combination: str, streams: int, shown: bool) -> None:
    """Build a dictionary by bits and one by each set of real values."""
    timed, real = Timed(shown), Timed(shown)
    trace = trace_of()
    requests = len(trace)
    if shown:
        print(f"the trace alone: peak {peak_gib():.2f} GiB")
    with timed.part("chunks of the writes"):
        writes = chunk_writes(trace)
    del trace
    with timed.part(f"features, window {window}"):
        features = chunk_features(writes, [window])
    with real.part("lifetimes"):
        lifetimes(writes.rows, features.pages, features.total)
    with real.part("intervals of updates, twice"):
        updates(writes.rows.first, writes.rows.chunks, writes.when, len(writes.chunk))
    labels = label_streams(writes, features, NO_THETA, ("", ""))
    touched = int(writes.rows.chunks.sum(dtype=np.int64))
    del writes, features
    starts = dict.fromkeys(labels.volume.names, 0)
    with timed.part(f"K-means on {combination}"):
        clusters = cluster_bits(bits_of(labels, combination, window), labels, streams, seed=1)
    with timed.part("dictionary"):
        sid = dictionary_of(clusters, labels, starts)
        size = len(sid.to_bytes())
    span = int(labels.chunk[-1]) + 1
    evidence = Evidence(labels.chunk, labels.columns["pages"], labels.columns["life_mean"])
    with real.part("dictionary made to fit"):
        small = compact(sid, evidence, most_ranges(span, BYTES_PER_TB))
    if not shown:
        return
    total = sum(timed.seconds.values())
    tb = span * CHUNK_BYTES / 1e12
    print(f"{requests} writes, {touched} chunk writes, {len(labels)} chunks of {span} ({tb:.2f} TB)")
    print(
        f"{clusters.effective} of {clusters.count} streams; {len(sid)} ranges, sid.bin {size / 1e6:.2f} MB, "
        f"{sid.bytes_per_tb() / 1e6:.2f} MB per TB"
    )
    print(f"made to fit: {len(small)} ranges, {RANGE_BYTES * len(small) / tb / 1e6:.2f} MB per TB")
    print(f"BD {base_bytes(span) / 1e6:.2f} MB, {base_bytes(span) / tb / 1e6:.2f} MB per TB")
    print(f"core: {total:.1f} s, {total / touched * 1e9:.0f} ns a chunk write, {total / requests * 1e9:.0f} ns a write")
    print_beside_paper(total, touched, len(labels))
    for name in REAL_SETS:
        with real.part(f"K-means on real values, {name}"):
            found = cluster_reals(reals_of(labels, name, window), labels, streams, seed=1)
        sid = dictionary_of(found, labels, starts)
        print(f"  {len(sid)} ranges, {sid.bytes_per_tb() / 1e6:.2f} MB per TB")


def print_beside_paper(seconds: float, touched: int, chunks: int) -> None:
    """What the paper's size would take in proportion, by each way to read it.

    Args:
        seconds: of one core, measured.
        touched: chunk writes that were measured.
        chunks: distinct ones.
    """
    whole = PAPER_BYTES / CHUNK_BYTES
    print(f"in proportion, where the paper says {PAPER_S} s:")
    print(f"  {seconds / touched * PAPER_CHUNKS:.0f} s for {PAPER_CHUNKS:.0e} chunk writes")
    print(f"  {seconds / chunks * PAPER_CHUNKS:.0f} s for {PAPER_CHUNKS:.0e} distinct chunks")
    print(f"  {seconds / chunks * whole:.0f} s for {PAPER_BYTES / 1e12:.0f} TB, {whole / 1e6:.0f} M distinct chunks")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writes", type=int, default=10_000_000)
    parser.add_argument("--tb", type=float, default=1.0, help="size of the volume")
    parser.add_argument("--window", choices=list(WINDOWS), default="60s")
    parser.add_argument("--combination", default="FASC")
    parser.add_argument("--streams", type=int, default=16)
    given = parser.parse_args()
    build(lambda: generated(SMALL, 1 << 32), given.window, given.combination, given.streams, shown=False)
    size = int(given.tb * 1e12)
    build(lambda: generated(given.writes, size), given.window, given.combination, given.streams, shown=True)


if __name__ == "__main__":
    main()

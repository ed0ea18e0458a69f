"""How much traces write: footprints in all and by part, sizes, skew, and what a part writes again of the first.

`benchmarks/write_traces.py data/raw/captured/{ledger,spool}.parquet` prints what data/raw/captured/README.md sums up.
Pages are a drive's, of 8 KiB; a page that a request touches in part counts as written. Parts are cut by requests.
"""

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from cachezoo.arrays import I64
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ, Trace

CUTS = (0.0, 0.4, 0.7, 1.0)
PAGE = 8192
CHUNK = 32768
MIB = 1 << 20


def touched(offset: I64, size: I64, unit: int) -> I64:
    """int64[m]: the units that requests touch, in their order.

    Args:
        offset: int64[n] first bytes of the requests.
        size: int64[n] their bytes.
        unit: bytes.
    """
    first = offset // unit
    count = (offset + size - 1) // unit - first + 1
    return np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())


def parts_of(trace: Trace, unit: int, cuts: Sequence[float] = CUTS) -> list[I64]:
    """Units that each part of a trace of one volume writes, in their order."""
    bounds = [int(cut * len(trace)) for cut in cuts]
    rows = [np.flatnonzero(trace.op[a:b] != OP_READ) + a for a, b in pairwise(bounds)]
    return [touched(trace.offset[part], trace.size[part], unit) for part in rows]


def show(path: Path) -> None:
    """Print a trace's figures."""
    trace = read_trace(path)
    writes = trace.op != OP_READ
    pages, chunks = parts_of(trace, PAGE), parts_of(trace, CHUNK)
    written = np.concatenate(pages)
    footprint = len(np.unique(written))
    print(
        f"{path.stem}: {len(trace):,} requests in {trace.time_us[-1] / 1e6:.0f} s, {writes.mean():.0%} writes of"
        f" {trace.size[writes].mean() / 1024:.1f} KiB on average; footprint {footprint * PAGE // MIB} MiB, written"
        f" {len(written) / footprint:.1f} times; {path.stat().st_size / 1e6:.1f} MB of Parquet"
    )
    for number, (own, parts) in enumerate(zip(pages, chunks, strict=True)):
        counts = np.sort(np.unique(own, return_counts=True)[1])[::-1]
        often = [np.mean((counts >= low) & (counts <= high)) for low, high in ((1, 1), (2, 3), (4, 15), (16, 1 << 62))]
        top = counts[: max(1, len(counts) // 100)].sum() / len(own)
        again = np.isin(np.unique(parts), chunks[0]).mean(), np.isin(own, pages[0]).mean()
        print(
            f"  part {number}: {len(own) / footprint:.1f} footprints, {len(counts) * PAGE // MIB} MiB of its own; pages"
            f" written 1, 2-3, 4-15, more times: {', '.join(f'{share:.0%}' for share in often)}; the top 1 % take"
            f" {top:.0%}; of its chunks {again[0]:.0%}, of its page writes {again[1]:.0%} are to what part 0 wrote"
        )


def main() -> None:
    """Print the figures of each trace."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=Path, nargs="+", help="canonical Parquet files, of one volume each")
    for path in parser.parse_args().traces:
        show(path)


if __name__ == "__main__":
    main()

"""What FIOS makes of traces: the characteristics that choose, its choice, the streams in use, and the size of its SID.

    .venv/bin/python benchmarks/streams_features.py TRACE ... [--window 1s] [--streams 16]

Traces are canonical Parquet (data/requests), or of a foreign format that is recognised. A dictionary is learned on the
whole trace. `missed` is the share of chunks with a friend whom the limited history of windows does not find.
"""

import argparse
from pathlib import Path

from cachezoo.features.fios import chosen, chunk_features, shared_of, theta_of
from cachezoo.flash_drive.writes import volume_starts
from cachezoo.labels.streams import label_streams
from cachezoo.traces.chunks import CHUNK_BYTES, WINDOWS, chunk_writes
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.table import OP_WRITE
from cachezoo.zoo.streams.cluster import COMBINATIONS, bits_of, cluster_bits, dictionary_of
from cachezoo.zoo.streams.dictionary import base_bytes

UNLIMITED = 1000


def show(path: Path, window: str, streams: int) -> None:
    """Print a trace's figures."""
    trace = read_any(path)
    if not (trace.op == OP_WRITE).any():
        print(f"{path.name}: nothing is written")
        return
    writes = chunk_writes(trace)
    theta = theta_of(writes, trace, expand_pages(trace))
    high, features = chosen(theta)
    labels = label_streams(writes, chunk_features(writes), theta, (high, features))
    far = shared_of(writes, window, UNLIMITED).coherent_pair
    missed = far.mean() - labels.columns[f"c_pair_{window}"].mean()
    said = labels.figures
    print(f"\n{trace.meta.trace_id}: {said.writes} writes, {len(labels)} chunks, {said.page_writes} page writes")
    print(f"  theta {theta}")
    print(
        f"  high {high}, FIOS chooses {features or 'no feature, so one stream'}; missed {100 * missed:.2f} % of chunks"
    )
    found = {name: cluster_bits(bits_of(labels, name, window), labels, streams, 1) for name in COMBINATIONS}
    print("  effective streams: " + ", ".join(f"{name} {one.effective}" for name, one in found.items()))
    starts = volume_starts([trace])
    span = int(labels.drive_chunks(starts).max()) + 1
    for name in dict.fromkeys(["FASC", features]):
        if name:
            sid = dictionary_of(found[name], labels, starts)
            size, written = len(sid.to_bytes()), len(labels) * CHUNK_BYTES / 1e12
            print(
                f"  {name}: {len(sid)} ranges, {size} bytes, {sid.bytes_per_tb() / 1e6:.2f} MB per TB of addresses, "
                f"{size / 1e6 / written:.1f} MB per TB written; BD {base_bytes(span)} bytes"
            )


def main() -> None:
    """Print the figures of each trace."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--window", choices=list(WINDOWS), default="1s")
    parser.add_argument("--streams", type=int, default=16)
    given = parser.parse_args()
    for path in given.traces:
        show(path, given.window, given.streams)


if __name__ == "__main__":
    main()

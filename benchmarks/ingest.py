"""Rows per second of trace readers, next to what merely parses the same bytes, on one core; and of ingest.

Ingest is timed on one core and on all, where reading, numbering and writing go on side by side.

With CACHEZOO_PUBLIC_TRACES each sample is read too, decompressed and many times over. `--large` also ingests a trace of
100 million requests in a process of its own and reports its peak memory.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from timing import least

from cachezoo.coded import Coded
from cachezoo.io import write_json
from cachezoo.traces.formats.msr import LAYOUT
from cachezoo.traces.ingest import ingest
from cachezoo.traces.mixing import interleave
from cachezoo.traces.read import OpenTrace, TraceFiles, silent
from cachezoo.traces.recognise import choose
from cachezoo.traces.sampling import sample
from cachezoo.traces.source import Source
from cachezoo.traces.table import Trace, TraceMeta
from cachezoo.traces.transforms import cut, split_by

CSV_ROWS = 3_000_000
LONG_CSV_ROWS = 12_000_000  # as a volume of MSR-Cambridge has on average
RECORDS = 10_000_000
LARGE = 100_000_000
AT_ONCE = 4_000_000
PAGES = 8_000_000
REPEATS = 3
SAMPLE_ROWS = 500_000
TRANSFORM_ROWS = 2_000_000
NOT_TRACES = ("README.md", "DISKSIM_COPYING")
FILETIME = 128_166_372_003_061_629
VSCSI = np.dtype("<u4,<u4,<u4,<u2,<u2,<u8,<u8")
VSCSI.names = ("sn", "len", "sg", "cmd", "ver", "lbn", "ts")
ORACLE = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])


def requests(n: int, seed: int) -> dict[str, np.ndarray]:
    """Skewed page-aligned requests of 4 to 64 KiB, three quarters of them of 4 KiB, 30 % writes."""
    rng = np.random.default_rng(seed)
    return {
        "gap": rng.integers(1, 2000, n),
        "page": (PAGES * rng.random(n) ** 4).astype(np.int64),
        "pages": np.where(rng.random(n) < 0.75, 1, rng.integers(2, 17, n)),
        "write": rng.random(n) < 0.3,
        "latency": rng.integers(100, 90_000, n),
    }


def write_msr(path: Path, n: int) -> None:
    """MSR-Cambridge rows."""
    columns = requests(n, 1)
    ticks = FILETIME + np.cumsum(columns["gap"]) * 10
    kinds = np.array(["Read", "Write"])[columns["write"].astype(np.int8)]
    rows = pa.table(
        {
            "Timestamp": ticks,
            "Hostname": pa.array(["hm"] * n),
            "DiskNumber": columns["page"] & 1,
            "Type": kinds,
            "Offset": columns["page"] * 4096,
            "Size": columns["pages"] * 4096,
            "ResponseTime": columns["latency"],
        }
    )
    pacsv.write_csv(rows, path, pacsv.WriteOptions(include_header=False, quoting_style="none"))


def write_vscsi(path: Path, n: int) -> None:
    """CloudPhysics records of version 1."""
    columns = requests(n, 2)
    rows = np.zeros(n, VSCSI)
    rows["len"], rows["lbn"] = columns["pages"] * 4096, columns["page"] * 8
    rows["cmd"], rows["ver"] = np.where(columns["write"], 0x2A, 0x28), 0x0100
    rows["ts"] = np.cumsum(columns["gap"])
    rows.tofile(path)


def write_oracle_general(path: Path, n: int, late_s: int = 0) -> None:
    """Records of libCacheSim, in parts; every second one `late_s` seconds back. Nobody here reads the next access."""
    seconds = 0
    with path.open("wb") as file:
        for first in range(0, n, AT_ONCE):
            columns = requests(min(AT_ONCE, n - first), 3 + first)
            rows = np.zeros(len(columns["page"]), ORACLE)
            gaps = np.cumsum(columns["gap"])
            rows["time"], rows["id"] = seconds + gaps // 1_000_000, columns["page"] * 8
            rows["size"], rows["next"] = columns["pages"] * 4096, -1
            seconds = int(rows["time"][-1])
            rows["time"][1::2] -= np.minimum(rows["time"][1::2], late_s).astype(np.uint32)
            rows.tofile(file)


def count(*paths: Path) -> int:
    """Requests that the reader of some files yields."""
    return sum(len(chunk) for chunk in OpenTrace(TraceFiles(paths), silent).chunks())


def parse_only(path: Path) -> None:
    """The same columns through pyarrow.csv alone."""
    names = [column.name for column in LAYOUT.columns]
    kinds = {"int": pa.int64(), "text": pa.dictionary(pa.int32(), pa.string())}
    reader = pacsv.open_csv(
        path,
        read_options=pacsv.ReadOptions(use_threads=False, column_names=names),
        convert_options=pacsv.ConvertOptions(column_types={c.name: kinds[c.kind] for c in LAYOUT.columns}),
    )
    for _ in reader:
        pass


def load_only(path: Path, record: np.dtype) -> None:
    """The records' columns through numpy alone, each made contiguous."""
    rows = np.fromfile(path, record)
    for name in record.names:
        np.ascontiguousarray(rows[name])


def best(run: Callable[[], object]) -> float:
    """Least seconds of a few runs."""
    return least(run, REPEATS, time.perf_counter)[0]


def samples(folder: Path) -> list[tuple[str, int, float]]:
    """Format, rows and seconds of each kind of public sample, read until there are `SAMPLE_ROWS` of them."""
    root, seen, rows = os.environ.get("CACHEZOO_PUBLIC_TRACES"), set(), []
    for path in sorted(Path(root).rglob("*")) if root else ():
        if path.is_dir() or path.name in NOT_TRACES:
            continue
        plain = folder / path.name
        plain.write_bytes(b"".join(Source(path).blocks()))
        name, once = choose(Source(plain), "auto", {}).format.id, count(plain)
        if name not in seen:
            seen.add(name)
            many = [plain] * (1 + SAMPLE_ROWS // once)
            rows.append((name, once * len(many), best(lambda many=many: count(*many))))
    return rows


def transforms() -> list[tuple[str, int, float]]:
    """Name, rows and seconds of transforms of traces in memory."""
    columns = requests(TRANSFORM_ROWS, 5)
    volume = Coded((columns["page"] % 8).astype(np.int32), tuple("abcdefgh"))
    one, two = (
        Trace(
            time_us=np.cumsum(columns["gap"]),
            op=columns["write"].astype(np.uint8),
            offset=columns["page"] * 4096,
            size=columns["pages"] * 4096,
            volume=volume,
            meta=TraceMeta(name, "none", "none", ""),
        )
        for name in ("one", "two")
    )
    n = TRANSFORM_ROWS
    return [
        ("cut to its middle half", n, best(lambda: cut(one, first=n // 4, last=3 * n // 4))),
        ("split by volume", n, best(lambda: split_by(one, "volume"))),
        ("interleave two, 60/40", 2 * n, best(lambda: interleave([one, two], "both", (0.6, 0.4)))),
        ("sample 0.1, 64 KiB", n, best(lambda: sample(one, 0.1, 1))),
        ("sample 0.1, 4 KiB", n, best(lambda: sample(one, 0.1, 1, 4096))),
    ]


def large(folder: Path, late_s: int) -> dict[str, float]:
    """Ingest a large trace through the command line, alone in a process; returns seconds and peak MiB."""
    raw, out = folder / "large.oracleGeneral.bin", folder / "large.parquet"
    write_oracle_general(raw, LARGE, late_s)
    command = [sys.executable, "-c", "from cachezoo.cli import main; main()", "trace", "ingest", raw, "-o", out]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"ingest ended with {process.returncode}")
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak_mib": usage.ru_maxrss / 1024, "output_mib": out.stat().st_size / 2**20}


def main() -> None:
    """Print the table; `--json PATH` also writes its rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--large", action="store_true", help=f"also ingest {LARGE:,} requests")
    args = parser.parse_args()
    cores = os.sched_getaffinity(0)
    one = {max(cores)}
    os.sched_setaffinity(0, one)
    rows = []

    def show(what: str, n: int, ours: float, peer: str = "", theirs: float | None = None) -> None:
        row = {"what": what, "rows": n, "rows_per_s": n / ours, "peer": peer}
        rows.append({**row, "peer_rows_per_s": n / theirs if theirs else None})
        line = f"{what:<34}{n / 1e6:>8.0f}{n / ours / 1e6:>12.2f}"
        print(line + (f"{peer:>16}{n / theirs / 1e6:>12.2f}{theirs / ours:>8.2f}" if theirs else ""), flush=True)

    print(f"one core, but where it says {len(cores)}; best of {REPEATS}")
    print(f"{'what':<34}{'M rows':>8}{'M rows/s':>12}{'peer':>16}{'its M/s':>12}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        msr, vscsi, oracle = folder / "t.csv", folder / "t.vscsi", folder / "t.oracleGeneral.bin"
        long = folder / "long.csv"
        write_msr(msr, CSV_ROWS)
        write_msr(long, LONG_CSV_ROWS)
        packed = folder / "t.csv.gz"
        packed.write_bytes(gzip.compress(msr.read_bytes(), 1))
        write_vscsi(vscsi, RECORDS)
        write_oracle_general(oracle, RECORDS)
        count(msr)
        for label, path in (("MSR CSV", msr), ("MSR CSV, .gz", packed)):
            ours, theirs = best(lambda path=path: count(path)), best(lambda path=path: parse_only(path))
            show(f"read {label}", CSV_ROWS, ours, "pyarrow.csv", theirs)
        for label, path, record in (("vSCSI", vscsi, VSCSI), ("oracleGeneral", oracle, ORACLE)):
            ours, theirs = best(lambda path=path: count(path)), best(lambda p=path, r=record: load_only(p, r))
            show(f"read {label}", RECORDS, ours, "numpy", theirs)
        ingested = (("MSR CSV", msr, CSV_ROWS), ("MSR CSV", long, LONG_CSV_ROWS), ("vSCSI", vscsi, RECORDS))
        for label, path, n in ingested:
            for held in (one, cores):
                os.sched_setaffinity(0, held)  # threads that begin hereafter have it
                seconds = best(lambda path=path: ingest(TraceFiles([path]), folder / "o"))
                show(f"ingest {label}, {len(held)} of {len(cores)} cores", n, seconds)
        os.sched_setaffinity(0, one)
        for name, n, seconds in samples(folder):
            show(f"read {name}, sample", n, seconds)
        for name, n, seconds in transforms():
            show(name, n, seconds)
        for late_s in (0, 3) if args.large else ():
            done = large(folder, late_s)
            what = "sorted" if late_s == 0 else f"every second one {late_s} s late"
            rows.append({"what": f"large, {what}", "rows": LARGE, **done})
            print(
                f"ingest {LARGE:,} requests (oracleGeneral, {what}): {done['seconds']:.0f} s, "
                f"{LARGE / done['seconds'] / 1e6:.2f} M requests/s, peak {done['peak_mib']:,.0f} MiB resident, "
                f"{done['output_mib']:,.0f} MiB written"
            )
    if args.json is not None:
        write_json(args.json, rows)


if __name__ == "__main__":
    main()

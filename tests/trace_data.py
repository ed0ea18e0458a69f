"""Real samples of foreign traces, and small ways to read them."""

import os
from pathlib import Path
from typing import Any

from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.read import TraceFiles, read_either, read_files
from cachezoo.traces.table import Trace


def sample(name: str) -> Path:
    """A file of the public samples; for tests that need public_traces."""
    return Path(os.environ["CACHEZOO_PUBLIC_TRACES"]) / name


def read(*paths: Path, fmt: str = "auto", skip_bad_rows: int = 0, **options: str) -> Trace:
    """Read files whole."""
    return read_files(TraceFiles(list(paths), fmt, options=options, skip_bad_rows=skip_bad_rows))


def objects(*paths: Path, fmt: str = "auto", skip_bad_rows: int = 0, **options: str) -> ObjectTrace:
    """Read files of requests of objects whole."""
    found = read_either(TraceFiles(list(paths), fmt, options=options, skip_bad_rows=skip_bad_rows))
    assert isinstance(found, ObjectTrace)
    return found


def keys(trace: ObjectTrace) -> list[int] | list[str]:
    """The keys of each request as its source has them."""
    names = trace.key_names
    return trace.key.tolist() if names is None else [names[key] for key in trace.key.tolist()]


def texts(column: Any) -> list[str]:
    """A coded column's values."""
    return [column.names[code] for code in column.codes]


def text_lines(rows: int) -> dict[str, list[str]]:
    """Lines of a trace of so many requests in each format of lines, by the format's id; headers are among them."""
    ks = range(rows)
    word = ["Read", "Write"]
    disk = ["DiskRead", "DiskWrite"]
    time = [f"{k // 10}.{k % 10}00000" for k in ks]
    return {
        "csv": ["time_us,op,offset,size,user", *(f"{k},{'RW'[k % 2]},{4096 * k},{512 + k},u{k % 3}" for k in ks)],
        "msr": [f"{128166372003061629 + 10 * k},usr,{k % 2},{word[k % 2]},{4096 * k},4096,{k}" for k in ks],
        "systor": [f"{1456095145 + k}.5,0.{k},{'RW'[k % 2]},{k % 3},{4096 * k},4096" for k in ks],
        "tencent": [f"{1538323200 + k},{8 * k},8,{k % 2},{k % 3}" for k in ks],
        "alibaba": [f"{k % 3},{'RW'[k % 2]},{4096 * k},4096,{1577808000000000 + k}" for k in ks],
        "fiu": [f"{k * 1000} 12 p{k % 3} {8 * k} 8 {'RW'[k % 2]} 6 0 d{k}" for k in ks],
        "spc": [f"{k % 3},{8 * k},4096,{'rw'[k % 2]},{k}.5,more" for k in ks],
        "spc_pages": [f"{k}\t{k * 1000}\t0\t{k % 3}\t{word[k % 2]}\t{16 * k}\t16\t1" for k in ks],
        "disksim": [f"{k}.5 {k % 3} {8 * k} 8 {k % 2}" for k in ks],
        "mqsim": [f"{k * 3000000} {k % 3} {8 * k} 8 {k % 2}" for k in ks],
        "disksim_validate": [f"{'RW'[k % 2]} Read {8 * k} 8 {k}.5 100.25" for k in ks],
        "etw": [
            f"{disk[k % 2]}, {100 * k + 99}, p ( {k % 3}), 1, 0x1, {4096 * k:#x}, 0x1000, {k}, 0, 0x6, 5" for k in ks
        ],
        "blkparse": [f"8,0 1 {k} {time[k]}000 10 D {'RW'[k % 2]}S {8 * k} + 8 [w{k % 3}]" for k in ks],
        "tracefs": [f"w-9 [000] d.h. {time[k]}: block_rq_issue: 8,0 {'RW'[k % 2]} 4096 () {8 * k} + 8 [w]" for k in ks],
        "fio": [
            *("fio version 3 iolog", "0 f add", "0 f open"),
            *(f"{k} f {word[k % 2].lower()} {4096 * k} 4096" for k in ks),
            f"{rows} f close",
        ],
        "vscsi_csv": ["version,time,op,size,lbn", *(f"1,{1000 + k},{('28', '2a')[k % 2]},4096,{8 * k}" for k in ks)],
        "libcachesim_csv": ["time,obj_id,size,op", *(f"{k},{8 * k},{512 * (1 + k % 8)},{('get', 'set')[k % 2]}" for k in ks)],
        "lis": [f"{k} {1 + k % 5} 0 {k}" for k in ks],
        "tectonic": [f"{k} {512 * (k % 9)} 4096 {1000 + k}.5 {1 + 2 * (k % 2)} n{k % 3} u{k % 2}" for k in ks],
    }

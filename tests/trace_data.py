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
    at = [f"offset={4096 * k:#x}" for k in ks]
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
        "blkparse_f": [f"{time[k]}000 D {'RW'[k % 2]}S {8 * k} 8" for k in ks],
        "tracefs": [f"w-9 [000] d.h. {time[k]}: block_rq_issue: 8,0 {'RW'[k % 2]} 4096 () {8 * k} + 8 [w]" for k in ks],
        "fio": [
            *("fio version 3 iolog", "0 f add", "0 f open"),
            *(f"{k} f {word[k % 2].lower()} {4096 * k} 4096" for k in ks),
            f"{rows} f close",
        ],
        "vscsi_csv": ["version,time,op,size,lbn", *(f"1,{1000 + k},{('28', '2a')[k % 2]},4096,{8 * k}" for k in ks)],
        "libcachesim_csv": [
            "time,obj_id,size,op",
            *(f"{k},{8 * k},{512 * (1 + k % 8)},{('get', 'set')[k % 2]}" for k in ks),
        ],
        "lis": [f"{k} {1 + k % 5} 0 {k}" for k in ks],
        "k5": [f"{k % 3},{1500000000000000 + k},{'RW'[k % 2]},{4096 * k},4096" for k in ks],
        "camelab": [f"{time[k]} {'rw'[k % 2]} {8 * k} 8 0.00{1 + k % 9}" for k in ks],
        "netsys": [f"{k // 10} {k * 7} {'-+'[k % 2]}{k} {1 + k % 4}" for k in ks],
        "thesios": [
            "filename,c_time,file_offset,op_type,request_io_size_bytes,start_time",
            *(f"f{k % 3},1.5,{4096 * k},{word[k % 2].upper()},4096,{1700000000 + k}.25" for k in ks),
        ],
        "iotracer": [
            "timestamp,command,sector,operation,size,latency_ms",
            *(f"2024-01-15 10:{k // 60:02d}:{k % 60:02d}.5,p{k % 3},{8 * k},{word[k % 2].lower()},512,0.5" for k in ks),
        ],
        "fio_log": [f"{k}, 4200, {k % 2}, 4096, {4096 * k}, 0x0000" for k in ks],
        "biosnoop": [
            "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)",
            *(f"{time[k]}    p {k % 3}  12  vda  {'RW'[k % 2]}  {8 * k}  4096  0.00" for k in ks),
        ],
        "nbdkit_log": [
            f"2024-05-02 10:{k // 60:02d}:{k % 60:02d} connection=1 {word[k % 2]} id={k} {at[k]} count=0x200 ..."
            for k in ks
        ],
        "opencas": [
            f'{{"header": {{"timestamp": "{k}000"}}, "io": {{"operation": "{word[k % 2]}", "lba": {8 * k}, "len": 8}}}}'
            for k in ks
        ],
        "strace": [f"9 17{time[k]:0>10} p{word[k % 2].lower()}64(3</f>, ..., 8, {k}) = 4096 <0.000001>" for k in ks],
        "tectonic": [f"{k} {512 * (k % 9)} 4096 {1000 + k}.5 {1 + 2 * (k % 2)} n{k % 3} u{k % 2}" for k in ks],
    }


def object_lines(rows: int) -> dict[str, list[str]]:
    """Lines of a trace of so many requests of objects in each format of lines, as `text_lines`."""
    ks = range(rows)
    ops = ["get", "set"]
    wiki = "relative_unix\thashed_path_query\tresponse_size\ttime_firstbyte"
    return {
        "webcachesim": [f"{k // 9} {7 + 31 * (k % 7)} {701 + k % 7}" for k in ks],
        "cachelib_kv": ["key,op,size,op_count", *(f"k{k % 7},{ops[k % 2]},{k},{1 + k % 3}" for k in ks)],
        "cachelib_cdn": ["timestamp,cacheKey,OpType,objectSize", *(f"{k},{k % 7},1,{k}" for k in ks)],
        "twitter": [f"{k},k{k % 7},2,{k},{k % 3},{ops[k % 2]},{k % 2}" for k in ks],
        "ibm_cos": [f"{k} REST.{('GET', 'PUT')[k % 2]}.OBJECT a{k % 7}" + f" {k}" * (k % 4) for k in ks],
        "wikimedia": [wiki, *(f"{k}\t{k % 7}\t{k}\t0.5" for k in ks)],
    }

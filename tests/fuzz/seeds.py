"""Valid traces of every registered format, made here: what the fuzzing of a reader starts from.

A format's first seed is recognised by its content; all of them are read without a bad row.
"""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cachezoo.coded import Coded
from cachezoo.traces.formats import write_as
from cachezoo.traces.table import Trace, TraceMeta
from tests.block_records import COMPLETE, DISCARD, FLUSH, ISSUE, QUEUE, READ, SYNC, WRITE, Records

ROWS = 24
FILETIME = 128166372003061629
ETW_COLUMNS = "TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, IrpFlags"


def _numbers(seed: int) -> list[tuple[int, int, int, int, int]]:
    """(time step, write, block of 4 KiB, blocks, volume) of some requests: hot blocks and a scan."""
    rng = np.random.default_rng(seed)
    block = np.where(rng.random(ROWS) < 0.5, rng.integers(0, 6, ROWS), 100 + np.arange(ROWS))
    columns = (rng.integers(1, 900, ROWS), rng.integers(0, 2, ROWS), block, rng.integers(1, 9, ROWS))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(1000 * k + step, write, at, size, k % 2) for k, (step, write, at, size) in enumerate(rows)]


def _text(row: Callable[[int, int, int, int, int], str], head: str = "", seed: int = 0, tail: str = "") -> bytes:
    """A line a request, after a head and before a tail."""
    return (head + "".join(row(*numbers) + "\n" for numbers in _numbers(seed)) + tail).encode()


def _quoted(text: bytes, sign: bytes = b",") -> bytes:
    """The same lines with every field in double quotes."""
    return b"".join(b'"' + line.replace(sign, b'"%b"' % sign) + b'"\n' for line in text.splitlines())


def _op(write: int) -> str:
    return "Write" if write else "Read"


def some_trace(seed: int, rich: bool = True) -> Trace:
    """A small canonical trace; a rich one has every column."""
    numbers = np.array(_numbers(seed), np.int64)
    time_us, write, block, blocks, volume = numbers.T
    own = Coded(volume.astype(np.int32), ("vda", "v,b"))
    more = {
        "latency_us": np.where(write, 70, -1),
        "count": np.arange(1, ROWS + 1, dtype=np.int32),
        **{name: own for name in ("namespace", "user", "host", "flags", "source")},
    }
    return Trace(
        time_us=time_us - time_us[0],
        op=write.astype(np.uint8),
        offset=block * 4096,
        size=blocks * 4096,
        volume=own,
        meta=TraceMeta("made", "database", "test", "0" * 64, "CC0", extra={"machine": "made"}),
        **(more if rich else {}),
    )


def _frame(seed: int, arrow: bool) -> bytes:
    """A table as data frames write it: whole numbers as floats, moments as timestamps, no metadata of the project."""
    trace = some_trace(seed)
    table = pa.table(
        {
            "time_us": pa.array(trace.time_us, pa.timestamp("us")) if arrow else trace.time_us,
            "op": pa.array(["Write" if op else "Read" for op in trace.op]) if arrow else trace.op,
            "offset": trace.offset.astype(np.float64),
            "size": trace.size.astype(np.int32),
            "latency_us": np.where(trace.op == 1, 70.5, np.nan),
            "volume": pa.DictionaryArray.from_arrays(trace.volume.codes, list(trace.volume.names)),
            "more": np.arange(len(trace)),
        }
    )
    sink = pa.BufferOutputStream()
    if arrow:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    else:
        pq.write_table(table, sink, row_group_size=9)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _written(fmt: str, trace: Trace, **options: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write_as(trace, path, fmt, options)
        return path.read_bytes()


def _etw(header: str) -> bytes:
    def row(time: int, write: int, block: int, size: int, disk: int) -> str:
        name = f"Disk{_op(write)}"
        return (
            f"{name:>12}, {time + 900}, System (   4), 72, 0xfffffa800e8d2010, {block * 4096:#x}, {size * 4096:#x},"
            f' 500, {disk}, 0x060043, 499, Normal, , 0xfffff8a000a52010, "C:\\$Mft, of it"'
        )

    others = "DiskFlush, 2100, svchost.exe ( 880), 1, 0xfffffa8012345678, 900, 0, 0x060000\nCSwitch, 2100, a ( 1)\n"
    return _text(row, header, tail=others)


def _blkparse(seed: int, summary: str = "") -> bytes:
    lines = []
    for k, (time, write, block, size, disk) in enumerate(_numbers(seed)):
        rwbs, place = "WS" if write else "RA", f"{block * 8} + {size * 8}"
        lines += [
            f"  8,{disk}    1 {3 * k + 1:8d} {time // 10**6:5d}.{time % 10**6:06d}000   101  Q  {rwbs} {place} [dd]",
            f"  8,{disk}    1 {3 * k + 2:8d} {time // 10**6:5d}.{time % 10**6:06d}100   101  D  {rwbs} {place} [dd]",
            f"  8,{disk}    0 {3 * k + 3:8d} {time // 10**6:5d}.{time % 10**6:06d}900     0  C  {rwbs} {place} [0]",
        ]
    other = "  8,0    0        0     0.090000000     0  m   N some text + 8 [x]\n"
    flush = "  8,0    1        9     0.090000100   101  D  FN [dd]\n  8,0    0   9     0.090000300     0  C  FN 0 [0]\n"
    return ("\n".join(lines) + "\n" + other + flush + summary).encode()


def _tracefs(seed: int, head: str = "") -> bytes:
    lines = []
    for time, write, block, size, disk in _numbers(seed):
        rwbs, place = "WS" if write else "RA", f"{block * 8} + {size * 8}"
        lines += [
            f"  dd-9     [001] ..... 10.{time:06d}: block_rq_issue: 8,{disk} {rwbs} 4096 () {place} be,0,4 [dd]",
            f"  <idle>-0 [000] ..s.. 10.{time + 90:06d}: block_rq_complete: 8,{disk} {rwbs} () {place} be,0,4 [0]",
        ]
    other = "  dd-12   [000] ..... 11.000000: sched_switch: prev_comm=dd prev_pid=1 ==> next_comm=swapper\n"
    lost = "CPU:1 [LOST 7 EVENTS]\n"
    return (head + "\n".join(lines) + "\n" + other + lost).encode()


def _blktrace(version: int, order: str) -> bytes:
    log = Records(version, order).name(1, "dd")
    for time, write, block, size, disk in _numbers(version):
        bits = (WRITE | SYNC) if write else READ
        for step, (action, after) in enumerate(((QUEUE, 0), (ISSUE, 100), (COMPLETE, 900))):
            log.add(action, bits, 1000 * time + after + step, block * 8, size * 8, device=(8, disk))
    log.add(ISSUE, FLUSH | WRITE, 10**9).add(ISSUE, DISCARD, 10**9 + 1, 8, 8)
    return log.name(1, "renamed", 10**9).data


def _srt() -> bytes:
    head = b'$$TR_IOREC-1.3 (Upgrade)\nversion = 1.3;\ntracedate = "Fri Apr 17 17:00:00 1992";\ndisks = {\n'
    head += b"    0 -> { adaptor = 1 -> { x , 250 }, sectorsize = 256 },\n    1 -> { sectorsize  = 512 }\n};\n\f"
    records = []
    for k, (time, write, block, size, disk) in enumerate(_numbers(0)):
        words = [(4 << 16) | (1 if k % 5 else 2), *divmod(time, 10**6), 10, 1000, size * 512, block * 8]
        words += [0x08000000 | disk << 8, 4, 7, 1 - write, 0x70000, 3]
        records.append(struct.pack(f">{len(words) + 1}I", 4 * len(words) + 4, *words))
    return head + b"".join(records)


def _nbdkit() -> bytes:
    lines = ['2024-05-02 10:11:11.99 connection=1 Connect export="disk" tls=0 size=0x80000000 write=1']
    for k, (time, write, block, size, _) in enumerate(_numbers(0)):
        begin, more = f"2024-05-02 10:11:12.{time:06d} connection=1 ", "fua=0 " if write else ""
        range_ = f"offset={block * 4096:#x} count={size * 4096:#x} "
        lines += [f"{begin}{_op(write)} id={k} {range_}{more}...", f"{begin}...{_op(write)} id={k} return=0 (Success)"]
    flush = "2024-05-02 10:11:13.000000 connection=1 Flush id=99 ...", "2024-05-02 10:11:13.1 connection=1 Disconnect"
    return "\n".join((*lines, *flush, "")).encode()


def _vscsi(version: int) -> bytes:
    parts = []
    for k, (time, write, block, size, _) in enumerate(_numbers(version)):
        command = 0x35 if k % 7 == 3 else 0x2A if write else 0x28
        if version == 1:
            parts.append(struct.pack("<IIIHHQQ", k, size * 512, 1, command, 0x0100, block, time))
        else:
            parts.append(struct.pack("<HHIIIQQQ", command, 0x0200, k, size * 512, 1, block, time, 900))
    return b"".join(parts)


def _oracle() -> bytes:
    rows = [(time // 1000, block, size * 512) for time, _, block, size, _ in _numbers(0)]
    following = [next((j for j in range(k + 1, ROWS) if rows[j][1] == row[1]), -2) for k, row in enumerate(rows)]
    return b"".join(struct.pack("<IQIq", *row, after + 1) for row, after in zip(rows, following, strict=True))


def _tectonic(head: str, rest: str) -> bytes:
    return _text(lambda t, w, b, s, v: f"{b} {4096 * v} {s * 4096} {t / 1000:.3f} {3 if w else 1} {rest}", head)


def _tencent(head: str = "", part: str = "") -> bytes:
    """Tencent's rows, whole numbers with what floats have behind them."""
    return _text(
        lambda t, w, b, s, v: f"{1538323200 + t // 1000},{b * 8}{part},{s * 8}{part},{w},{v}",
        head,
    )


def _objects(sign: str) -> bytes:
    """libCacheSim's CSV with a delimiter."""
    head = sign.join(("time", "obj_id", "obj_size", "op", "tenant")) + "\n"
    return _text(lambda t, w, b, s, v: sign.join(map(str, (t, b, s * 512, ("get", "set")[w], f"t{v}"))), head)


def _of_objects(row: Callable[[int, str, str, int, int], str], head: str = "") -> bytes:
    """Rows of time in seconds, key, op, size and row number of requests of objects."""
    ops = ("get", "set", "delete")
    return _text(lambda t, w, b, s, v: row(t // 1000, f"k{b}", ops[w if b % 5 else 2], 700 * s + b, b), head)


KV = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n"
CDN = "timestamp,cacheKey,OpType,objectSize,responseSize,rangeStart,rangeEnd,TTL,cdn_content_type_id,vip_type\n"
KV2022 = "key,op,size,op_count,key_size\n"
IBM_OPS = {"get": "GET", "set": "PUT", "delete": "DELETE"}
WIKI_TYPED = "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n"
WIKI = "relative_unix\thashed_host_path_query\tresponse_size\ttime_firstbyte\n"
IBM = "# timestamp (ms), op type [Put:0, Get:1, Delete:2], object id, object size (byte)\n"
FIO_2 = """\
fio version 2 iolog
/dev/a add
/dev/a open
/dev/a wait 5 0
/dev/a read 0 4096
/dev/a wait 9 0
/dev/a write 4096 8192
/dev/a sync
/dev/a trim 0 512
/dev/a read 0 4096
/dev/a close
"""
NAMES = "# block_id io_offset io_size op_time op_name user_namespace user_name\n"
META, CHUNKS = (
    "op_time,block_id,io_size,io_offset,op_name,op_count\n",
    ("getChunkData.Permanent", "putChunk.NotInitialized"),
)
STRACE_TAIL = """\
9 18.0 read(3, "a", 1 <unfinished ...>
9 18.1 <... read resumed>) = 1 <0.1>
9 19.0 +++ exited with 0 +++
"""
BIOSNOOP = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n"
FLUSH_LINE = "9.000000 dd 1 vda FF 18446744073709551615 0 0.10 1.50\n"
THESIOS = "filename,file_offset,application,op_type,request_io_size_bytes,start_time,simulated_latency\n"
THESIOS_PLAIN = "start_time,op_type,filename,file_offset,request_io_size_bytes\n"
IOTRACER = "timestamp,pid,command,sector,operation,size,latency_ms,tid\n"
SUMMARY = "CPU1 (8,0):\n Reads Queued:          24,      96KiB\n"


def _all() -> dict[str, Callable[[], Sequence[bytes]]]:
    sector = 8
    return {
        "parquet": lambda: [_written("parquet", some_trace(0)), _written("parquet", some_trace(1, rich=False))],
        "csv": lambda: [_written("csv", some_trace(0)), _written("csv", some_trace(1, rich=False))],
        "table": lambda: [_frame(0, arrow=False), _frame(1, arrow=True)],
        "msr": lambda: (
            [
                _text(
                    lambda t, w, b, s, v: f"{FILETIME + 10 * t},usr,{v},{_op(w)},{b * 4096},{s * 4096},{70 + t}", head
                )
                for head in ("", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n")
            ]
            + [
                _text(
                    lambda t, w, b, s, v: f"{(FILETIME + 10 * t) / 1e17:.16f}E+17,usr,{v},{_op(w)},{b * 4096},{s}e3,7.0"
                )
            ]
        ),
        "systor": lambda: [
            _text(
                lambda t, w, b, s, v: f"14.{t:06d},{'' if w else '0.0009'},{_op(w)[0]},{v},{b * 4096},{s * 512}", head
            )
            for head in ("Timestamp,Response,IOType,LUN,Offset,Size\n",)
        ],
        "tencent": lambda: [
            _tencent(),
            _tencent("Timestamp,Offset,Size,IOType,VolumeID\n"),
            _tencent(part=".0"),
        ],
        "alibaba": lambda: (
            [
                _text(lambda t, w, b, s, v: f"{v},{_op(w)[0]},{b * 4096},{s * 4096},{1577808000000000 + t}", head)
                for head in ("", "device_id,opcode,offset,length,timestamp\n")
            ]
            + [_quoted(_text(lambda t, w, b, s, v: f"{v},{_op(w)[0]},{b * 4096},{s * 4096},{1577808000000000 + t}"))]
        ),
        "blkparse": lambda: [_blkparse(0), _blkparse(1, SUMMARY)],
        "blkparse_f": lambda: [
            _text(lambda t, w, b, s, v: f"0.{t:09d} Q {'RW'[w]}S {b * 8} {s * 4096}", tail=SUMMARY),
            _text(lambda t, w, b, s, v: f"0.{t:09d}, 811, a b, {'DC'[v]}, {b * 8}, {s * 8}, {'RW'[w]}"),
        ],
        "blktrace": lambda: [_blktrace(version, order) for version in (7, 8) for order in "<>"],
        "tracefs": lambda: [_tracefs(0), _tracefs(1, "# tracer: nop\n#\n\n")],
        "spc": lambda: [
            _text(lambda t, w, b, s, v: f"{v},{b * sector},{s * 512},{_op(w)[0]},{t / 10**6:.6f}"),
            _quoted(_text(lambda t, w, b, s, v: f"{v},{b * sector},{s * 512},{_op(w)[0]},{t / 10**6:.6f},more")),
        ],
        "spc_pages": lambda: [
            _text(lambda t, w, b, s, v: f"{t}\t{1000 * t}\t0\t{v}\t{_op(w)}\t{b * 16}\t{s * 16}\t1"),
        ],
        "fiu": lambda: [
            _text(lambda t, w, b, s, v: f"{1000 * t} 4892 syslogd {b * 8} {s * 8} {'RW'[w]} 6 {v} {'0af1' * 8}"),
            _text(lambda t, w, b, s, v: f"{1000 * t} 4892 syslogd {b * 8} {s * 8} {'RW'[w]} 6 {v}"),
        ],
        "disksim": lambda: [
            _text(lambda t, w, b, s, v: f"{t / 1000:.3f} {v} {b * 8} {s * 8} {1 - w}", head)
            for head in ("", "time devno blkno bcount flags\n")
        ],
        "mqsim": lambda: [_text(lambda t, w, b, s, v: f"{1000 * t} {v} {b * 8} {s * 8} {1 - w}")],
        "disksim_validate": lambda: [_text(lambda t, w, b, s, v: f"{'RW'[w]} Bogus {b * 8} {s * 8} {t / 9:.4f} 33.5")],
        "srt": lambda: [_srt()],
        "etw": lambda: [
            _etw(""),
            _etw(f"BeginHeader\n DiskRead, {ETW_COLUMNS}\nEndHeader\nOS Version: 6.0.6001, Trace Size: 6144KB\n"),
        ],
        "vscsi": lambda: [_vscsi(1), _vscsi(2)],
        "vscsi_csv": lambda: [
            _text(lambda t, w, b, s, v: f"1,{t},{'2a' if w else '28'},{s * 512},{b}", head)
            for head in ("version,time,op,size,lbn\n", "")
        ],
        "binary_ids": lambda: [b"".join(struct.pack("<I", block) for _, _, block, _, _ in _numbers(0))],
        "oraclegeneral": lambda: [_oracle(), _written("oraclegeneral", some_trace(1))],
        "libcachesim_csv": lambda: [_objects(sign) for sign in ",\t; "],
        "webcachesim": lambda: [
            _text(lambda t, w, b, s, v: f"{t // 1000} {b * 7} {900 * b % 4099 + 600}"),
            _text(lambda t, w, b, s, v: f"{t // 1000} {b * 7} {900 * b % 4099 + 600} {w} {v}"),
        ],
        "cachelib_kv": lambda: [
            _of_objects(lambda t, key, op, size, b: f"{key},{op.upper()},{size},{1 + b % 3},40", KV2022),
            _of_objects(lambda t, key, op, size, b: f"{t},{b},40,{op.upper()},{1 + b % 3},{size},1,60,{key},x", KV),
        ],
        "cachelib_cdn": lambda: [
            _of_objects(lambda t, key, op, size, b: f"{t},{key},1,{size},{size},0,9,{b % 2},3,v", CDN)
        ],
        "twitter": lambda: [
            _of_objects(lambda t, key, op, size, b: f"{t},{key},17,{size},{b},{op},{60 * (op == 'set')}")
        ],
        "ibm_cos": lambda: [
            _of_objects(lambda t, key, op, size, b: f"{t} REST.{IBM_OPS[op]}.OBJECT {key} {size} 0 {b}"),
            _of_objects(lambda t, key, op, size, b: f"{t},{('set', 'get', 'delete').index(op)},{key},{size}", IBM),
        ],
        "wikimedia": lambda: [
            _of_objects(lambda t, key, op, size, b: f"{t}\t{b}\tpng\t{size}\t1.5e-04", WIKI_TYPED),
            _of_objects(lambda t, key, op, size, b: f"{t}\t{b}\t{size}\t1.5e-04", WIKI),
        ],
        "lis": lambda: [_text(lambda t, w, b, s, v: f"{b} {s} 0 {t}")],
        "tectonic": lambda: [
            _tectonic(NAMES, "3 5"),
            _tectonic("", "3 5"),
            _text(lambda t, w, b, s, v: f"{t // 1000},{b},{s * 512},{4096 * v},{CHUNKS[w]},{1 + v}", META),
        ],
        "k5": lambda: [_text(lambda t, w, b, s, v: f"{v},{1500000000000000 + t},{'RW'[w]},{b * 4096},{s * 4096}")],
        "camelab": lambda: [_text(lambda t, w, b, s, v: f"{t / 10**6:.6f} {'rw'[w]} {b * 8} {s * 8} 0.00{1 + v}")],
        "netsys": lambda: [_text(lambda t, w, b, s, v: f"{v} {t} {'-+'[w]}{b} {s}")],
        "thesios": lambda: [
            _text(lambda t, w, b, s, v: f"f{v},{b * 4096},app,{_op(w).upper()},{s * 512},17{t:08d}.5,0.25", THESIOS),
            _text(lambda t, w, b, s, v: f'17{t:08d}.5,{_op(w)},"f,{v}",{b * 4096},{s * 512}', THESIOS_PLAIN),
        ],
        "iotracer": lambda: [
            _text(
                lambda t, w, b, s, v: f"2024-01-15 10:30:45.{t:06d},9,a b,{b * 8},{_op(w).lower()},{s * 512},0.{v}5,9",
                IOTRACER,
                tail="2024-01-15 10:30:46,9,p,8,discard,4096,1.5,9\n2024-01-15 10:30:46,9,p,0,flush,0,1.5,9\n",
            ),
        ],
        "fio_log": lambda: [
            _text(lambda t, w, b, s, v: f"{t // 1000}, {t}, {w}, {s * 512}, {b * 4096}, 0x000{v}"),
            _text(lambda t, w, b, s, v: f"{t // 1000}, {t}, {w}, {s * 512}, {b * 4096}", tail="9, 1, 2, 512, 4096\n"),
        ],
        "strace": lambda: [
            _text(
                lambda t, w, b, s, v: (
                    f'9 17.{t:06d} p{_op(w).lower()}64({3 + v}, "\\")"..., 9, {b * 4096}) = {s} <0.000009>'
                ),
                '9 17.0 openat(AT_FDCWD, "f, g", O_RDWR|O_APPEND, 0666) = 3 <0.1>\n',
                tail=STRACE_TAIL,
            ),
            _text(lambda t, w, b, s, v: f'[pid {v}] 10:11:12.{t:06d} {_op(w).lower()}(3</f>, "a", 9) = {s}'),
        ],
        "biosnoop": lambda: [
            _text(
                lambda t, w, b, s, v: f"{t / 10**6:.6f}  a b  12  vd{v}  {'RW'[w]}  {b * 8}  {s * 512}  0.9{v}",
                BIOSNOOP,
            ),
            _text(
                lambda t, w, b, s, v: f"{t / 10**6:.6f} dd 1 vd{v} {'RW'[w]}S {b * 8} {s * 512}  0.10 0.9{v}",
                tail=FLUSH_LINE,
            ),
        ],
        "nbdkit_log": lambda: [_nbdkit()],
        "opencas": lambda: [
            _text(
                lambda t, w, b, s, v: (
                    f'{{"header": {{"sid": "1", "timestamp": "{t}000"}}, "io": {{"operation": "{_op(w)}", '
                    f'"lba": "{b * 8}", "len": {s * 8}, "deviceId": "{v}"}}}}'
                ),
                '{"header": {"sid": "0"}, "deviceDescription": {"id": "0", "name": "/dev/sda"}}\n',
                tail='{"header": {"timestamp": "9"}, "io": {"operation": "Discard", "len": 8}}\n',
            ),
        ],
        "fio": lambda: [
            _written("fio", some_trace(1, rich=False)),
            FIO_2.encode(),
            _written("fio", some_trace(1, rich=False), version="2"),
        ],
    }


TRACES = _all()


@cache
def trace_seeds(fmt: str) -> tuple[bytes, ...]:
    """Valid files of a format."""
    return tuple(TRACES[fmt]())

"""What the name of a column says of it: its role, how surely, and its unit."""

import re
from typing import NamedTuple

from cachezoo.traces.reading import SECTOR_BYTES
from cachezoo.traces.table import PAGE_BYTES

UNITS = ("ns", "us", "ms", "s")
SPELLED = {
    **dict.fromkeys(("sec", "secs", "seconds"), "s"),
    **dict.fromkeys(("msec", "msecs", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("usec", "usecs", "micros", "microseconds"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nanos", "nanoseconds"), "ns"),
}
BINARY = {"kb": 1 << 10, "kib": 1 << 10, "mib": 1 << 20}
SECTORS = ("sector", "sectors", "lba", "slba", "lbn")
BLOCKS = ("block", "blocks", "blk", "blks", "blkno", "nblocks", "blkcnt", "nlb", "bcount")
PAGES = ("page", "pages", "pageno", "pfn", "lpn", "ppn")
TIMES = ("timestamp", "time", "ts", "when", "date", "datetime", "clock", "arrival", "issued", "unix", "epoch", "zeit")
LATENCIES = (
    *("latency", "lat", "duration", "elapsed", "response", "responsetime", "rt", "service", "svc", "firstbyte"),
    *("delay", "wait", "took", "dur", "seek"),
)
LATE = ("end", "complete", "completion", "completed", "finish", "done", "creation", "created", "c", "m", "a", "ctime")
OTHER_CLOCKS = ("disk", "simulated", "sim", "cpu", "ctime", "mtime", "atime", "creation", "c", "m", "a")
OFFSETS = (
    *("offset", "off", "addr", "address", "pos", "position", "adresse", "byteoffset"),
    *("lba", "slba", "lbn", "sector", "blkno", "pageno", "pfn", "lpn", "ppn"),
)
BLOCK_NUMBERS = ("block", "blk", "page", "byte")
KEYS = (
    "key",
    "keys",
    "obj",
    "object",
    "objid",
    "url",
    "uri",
    "path",
    "hash",
    "hashed",
    "query",
    "uuid",
    "guid",
    "etag",
)
SIZES = ("size", "len", "length", "bytes", "nbytes", "groesse", "laenge", "count", "cnt")
OPS = (
    *("op", "ops", "opcode", "operation", "rw", "dir", "direction", "ddir", "rwbs", "optype", "iotype", "reqtype"),
    *("cmd", "command", "action", "type", "kind", "vorgang", "method"),
)
SURE_OPS = OPS[: OPS.index("cmd")]
FLAGS = {"isread": "1/0", "is_read": "1/0", "iswrite": "0/1", "is_write": "0/1", "write": "0/1", "read": "1/0"}
VOLUMES = ("dev", "devno", "device", "deviceid", "disk", "diskid", "volume", "volumeid", "vol", "lun", "drive", "asu")
FILES = ("file", "filename", "fname", "inode", "ino", "fd")
NUMBERS = ("count", "cnt", "nr", "num", "number", "n")
LIVES = ("ttl", "expiry", "expires", "expiration")
REST = (
    *("pid", "tid", "ppid", "uid", "gid", "cpu", "core", "process", "proc", "comm", "thread", "user", "username"),
    *("host", "hostname", "prio", "priority", "flags", "flag", "hit", "hits", "version", "seq", "sequence", "queue"),
    *("md5", "checksum", "crc", "status", "error", "ret", "zone", "class", "tenant", "namespace", "major", "minor"),
)
MODIFIED = ("req", "request", "io", "op", "access", "rw")
OTHER_TYPES = ("image", "content", "file", "redundancy", "mime", "service", "storage", "media")


class Named(NamedTuple):
    """What a column's name says."""

    # ``time``, ``latency``, ``offset``, ``size``, ``op``, ``flag``, ``volume``, ``file``, ``key``, ``count``, ``ttl``,
    # ``rest`` of what is none of them, or empty where the name is none or unknown
    role: str
    doubt: float = 0.0  # powers of ten against it
    unit: str = ""  # of a time, or bytes of an offset or size; empty where the name says none
    free: bool = False  # whether another unit is nearly as good, as of blocks


def words_of(name: str) -> list[str]:
    """The words of a name in small letters: of `firstLBA_us` first, lba and us."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip().strip('"'))
    return re.findall(r"[^\W\d_]+", apart.lower())


def named(name: str) -> Named:
    """What a column's name says of it."""
    words = words_of(name)
    if not words:
        return Named("")
    whole = "".join(words)
    have = set(words)
    if "_".join(words) in FLAGS or whole in FLAGS:
        return Named("flag")
    unit = next((SPELLED.get(word, word) for word in reversed(words) if SPELLED.get(word, word) in UNITS), "")
    for found in (_lives(have), _time(words, have, unit), _size(words, have), _address(words, have)):
        if found:
            return found
    return _other(words, have, whole)


def _lives(have: set[str]) -> Named | None:
    return Named("ttl") if have & set(LIVES) else None


def _time(words: list[str], have: set[str], unit: str) -> Named | None:
    timed = bool(have & set(TIMES)) or words in (["t"], ["t", "s"])
    if have & set(LATENCIES) and (timed or unit or not have & {*SIZES, *KEYS}):
        return Named("latency", 0.0, unit)
    if not timed:
        return Named("time", 0.7, unit) if unit and len(words) > 1 and not have & {*SIZES, *OFFSETS} else None
    clock = bool(have & set(OTHER_CLOCKS))
    return Named("time", 2.0 if clock else 0.7 if have & set(LATE) else 0.0, unit)


def _counted(have: set[str]) -> tuple[str, bool]:
    """The bytes of what a name counts, and whether that may as well be otherwise."""
    if have & set(PAGES):
        return str(PAGE_BYTES), False
    if have & set(SECTORS):
        return str(SECTOR_BYTES), False
    if have & set(BLOCKS):
        return str(SECTOR_BYTES), True
    binary = next((str(BINARY[word]) for word in have if word in BINARY), "")
    return binary or "1", not binary


def _size(words: list[str], have: set[str]) -> Named | None:
    unit, free = _counted(have)
    if have & {"sectors", "blocks", "blks", "pages", "nblocks", "blkcnt", "nlb", "bcount"} and not have & {"id"}:
        return Named("size", 0.0, unit, free)
    if have & set(NUMBERS) and have & {"sector", "block", "blk", "page", "lba"}:
        return Named("size", 0.0, unit, free)
    if not have & set(SIZES) or (have & set(OFFSETS) and "size" not in have and "len" not in have):
        return None
    if have & set(NUMBERS) and len(words) > 1 and not have & {"byte", "bytes"}:
        return Named("count")
    other = bool(have & {"key", "id", "block", "disk", "response", "compressed", "cache", "header"})
    meant = bool(have & {"req", "request", "obj", "object", "value", "access"})
    if {"key", "size"} <= have or {"id", "size"} <= have:
        return Named("rest")
    one_of_many = bool(have & {"count", "cnt"})
    return Named("size", 0.5 if one_of_many else 0.3 if other and not meant else 0.0, "1", True)


def _address(words: list[str], have: set[str]) -> Named | None:
    unit, free = _counted(have)
    if have & set(OFFSETS):
        if have & {"offset", "off", "byteoffset"} and not have & {*SECTORS, *BLOCKS, *PAGES}:
            return Named("offset", 0.0, "1", True)
        return Named("offset", 0.0, unit, free)
    if have & set(KEYS) or words == ["id"]:
        return Named("key")
    if have & set(FILES):
        return Named("file")
    if have & set(BLOCK_NUMBERS) and "id" not in have:
        return Named("offset", 0.2, unit, True)
    if have & {"block", "chunk"} and "id" in have:
        return Named("key", 0.3)
    return None


def _other(words: list[str], have: set[str], whole: str) -> Named:
    if have & set(VOLUMES):
        return Named("volume")
    if have & set(OTHER_TYPES) and words[-1] in ("type", "kind", "class"):
        return Named("rest")
    if whole in OPS or have & set(SURE_OPS):
        return Named("op", 0.0 if have & set(SURE_OPS) else 0.3)
    if words[-1] in OPS and have & set(MODIFIED):
        return Named("op")
    if have & set(REST) or words[-1] in ("id", "name", "type"):
        return Named("rest")
    return Named("op", 0.6) if have & set(OPS) else Named("")

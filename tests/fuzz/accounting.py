"""How many records a trace's file holds, counted naively: what a reader may not lose without a word."""

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

BOM = b"\xef\xbb\xbf"
TECTONIC = {"block_id": "block", "io_offset": "offset", "io_size": "size", "op_time": "time", "op_name": "op"}
NO_HEADER: Callable[[str], bool] = lambda line: False  # noqa: E731
ANY_HEADER: Callable[[str], bool] = lambda line: True  # noqa: E731
LEAST_SRT = 8
BLANKS = re.compile(r"[ \t]+")
ETW_OTHER = re.compile(r"[ \t]*(OS Version\b|BeginHeader\b|\w+[ \t]*,[ \t]*TimeStamp\b)")
ETW_HEADER = re.compile(r"[ \t]*(BeginHeader|EndHeader)\b")
BIOSNOOP_OTHER = re.compile(r"Tracing block |Detaching|TIME\(s\)\s+COMM\s+PID\s+DISK\s+T\s", re.ASCII)
ETW_END = re.compile(r"[ \t]*EndHeader\b")


def _starts(*words: str) -> Callable[[str], bool]:
    """Whether a line, small and without blanks, starts with some columns."""
    return lambda line: line.replace(" ", "").lower().startswith(",".join(words))


def _tectonic(line: str) -> bool:
    names = [TECTONIC.get(name, name) for name in line.lstrip("#").replace(",", " ").lower().split()]
    return set(TECTONIC.values()) <= set(names) and len(set(names)) == len(names)


HEADERS: dict[str, Callable[[str], bool]] = {
    "csv": ANY_HEADER,
    "msr": lambda line: line.lower().startswith("timestamp,hostname"),
    "systor": _starts("timestamp", "response", "iotype", "lun", "offset", "size"),
    "tencent": NO_HEADER,
    "alibaba": lambda line: line.replace(" ", "").lower().startswith("device_id,opcode,"),
    "spc": NO_HEADER,
    "spc_pages": NO_HEADER,
    "fiu": NO_HEADER,
    "disksim": NO_HEADER,
    "mqsim": NO_HEADER,
    "disksim_validate": NO_HEADER,
    "vscsi_csv": _starts("version", "time", "op", "size", "lbn"),
    "libcachesim_csv": ANY_HEADER,  # without one no column has ids
    "libcachesim_csv-columns": NO_HEADER,
    "lis": NO_HEADER,
    "webcachesim": NO_HEADER,
    "cachelib_kv": ANY_HEADER,
    "cachelib_cdn": ANY_HEADER,
    "twitter": NO_HEADER,
    "ibm_cos": NO_HEADER,
    "wikimedia": ANY_HEADER,
    "columns-named": ANY_HEADER,
    "tectonic": _tectonic,
    "fio": ANY_HEADER,
    **dict.fromkeys(("k5", "camelab", "netsys", "fio_log", "opencas"), NO_HEADER),
    **dict.fromkeys(("thesios", "iotracer"), ANY_HEADER),  # without one no column has a name
}


def lines_of(data: bytes) -> list[str]:
    """Lines of a text, ended by a line feed, a carriage return, or both in this order."""
    return re.split("\r\n|\n|\r", data.removeprefix(BOM).decode("utf-8", "replace"))


def row_like(line: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    return bool(line.strip(" \t")) and not line.startswith("#")


def _lines(data: bytes) -> list[str]:
    """Lines that are neither blank nor comments."""
    return [line for line in lines_of(data) if row_like(line)]


def text_rows(data: bytes, header: Callable[[str], bool]) -> int:
    """Lines of a delimited text but for blank ones, comments and the header."""
    lines = _lines(data)
    return len(lines) - (bool(lines) and header(lines[0]))


def may_name(line: str) -> bool:
    """Whether a line may be one of columns' names: two fields or more begin with a letter, and no format's own."""
    fields = [field.strip(' \t"') for field in re.split(r"[,;|\t ]", line)]
    return sum(field[:1].isalpha() or field[:1] == "_" for field in fields) > 1


def fio_waits(data: bytes) -> int:
    """Rows of a version 2 log that only pass time."""
    lines = [[field.strip() for field in BLANKS.split(line.strip(" \t"))] for line in _lines(data)]
    return sum(line[1:2] == ["wait"] for line in lines) if lines[:1] == [["fio", "version", "2", "iolog"]] else 0


def etw_rows(data: bytes) -> int:
    """Events after the header, of whatever kind."""
    lines = lines_of(data)
    if any(ETW_HEADER.match(line) for line in lines):
        first = next(index for index, line in enumerate(lines) if ETW_END.match(line))
        lines = lines[first + 1 :]
    blank = [line for line in lines if not line.strip(" \t")]
    return len(lines) - len(blank) - sum(ETW_OTHER.match(line) is not None for line in lines)


def biosnoop_rows(data: bytes) -> int:
    """Lines but for blank ones, comments, and those that name the columns or say what the tool does."""
    return sum(not BIOSNOOP_OTHER.match(line.strip(" \t")) for line in _lines(data))


def _records(width: int) -> Callable[[bytes], int]:
    return lambda data: -(-len(data) // width)


def srt_records(data: bytes) -> int:
    """Records after the header; what is left at the end counts as one."""
    at, count = data.index(b"\f") + 1, 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big") if at + 4 <= len(data) else 0
        at = at + size if size >= LEAST_SRT and size % 4 == 0 else len(data)
        count += 1
    return count


COUNTED: dict[str, Callable[[bytes], int]] = {
    "oraclegeneral": _records(24),
    "binary_ids": _records(4),
    "srt": srt_records,
    "etw": etw_rows,
    "biosnoop": biosnoop_rows,
}


def span(name: str, data: bytes, path: Path, notes: dict[str, str]) -> tuple[int, int] | None:
    """The least and the most records that a reader must account for.

    Args:
        name: the format, or a target of it that counts in its own way.
        data: the file.
        path: where it lies.
        notes: what the reader found out of it.

    Returns:
        None for formats whose records cannot be counted.
    """
    if name == "parquet":
        rows = pq.read_metadata(path).num_rows
        return rows, rows
    if name == "table":
        with pa.memory_map(str(path)) as file:
            rows = len((pq.read_table if data.startswith(b"PAR1") else feather.read_table)(file))
        return rows, rows
    if name == "vscsi":
        rows = _records(32 if notes["vscsi_version"] == "1" else 40)(data)
        return rows, rows
    if name in COUNTED:
        rows = COUNTED[name](data)
        return rows, rows
    if name not in HEADERS:
        return None
    rows, lines = text_rows(data, HEADERS[name]), _lines(data)
    named = bool(lines) and not HEADERS[name](lines[0]) and may_name(lines[0])
    # A wait passes time and is no record, but one that is no time is a bad row.
    return rows - named - (fio_waits(data) if name == "fio" else 0), rows

"""The readers of traces: each registered format as it is, some with options, and compressed files."""

import bz2
import gzip
import lzma
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from unittest import mock

import numpy as np

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces import binary
from cachezoo.traces.formats import FORMATS
from cachezoo.traces.objects import OBJECT_CODED, OBJECT_NUMBERS, ObjectTrace
from cachezoo.traces.read import TraceFiles, read_either
from cachezoo.traces.recognise import choose
from cachezoo.traces.source import READ_BYTES, Source
from cachezoo.traces.table import CODED_COLUMNS, NUMBER_COLUMNS, Trace
from tests.fuzz import mutators
from tests.fuzz.accounting import HEADERS, row_like, span
from tests.fuzz.seeds import TRACES, trace_seeds
from tests.fuzz.target import Broken, Target
from tests.trace_data import keys

ANY_ROWS = 10**9
LEAST_BLOCK = 256
WIDTH_LINES = 12  # a reader learns a file's width from as many lines of its first block
MOST_MESSAGE = 4000
BINARY_FORMATS = ("parquet", "table", "blktrace", "srt", "vscsi", "oraclegeneral", "binary_ids")
VARIANTS: Mapping[str, tuple[str, dict[str, str]]] = {
    "fio-relative": ("fio", {"wait": "relative", "time_unit": "ns"}),
    "libcachesim_csv-columns": (
        "libcachesim_csv",
        {"time_col": "1", "obj_id_col": "2", "obj_size_col": "3", "has_header": "false", "ids": "object"},
    ),
    "oraclegeneral-object": ("oraclegeneral", {"ids": "object"}),
    "binary_ids-u32": ("binary_ids", {"type": "u32", "unit_bytes": "512"}),
    "blkparse-queue": ("blkparse", {"event": "queue", "device": "8,0"}),
    "mqsim-auto": ("mqsim", {"time_unit": "auto"}),
    "columns-named": (
        "columns",
        {"time": "#1:s", "offset": "#5", "size": "#6", "op": "#3", "latency": "#2:s", "volume": "#4"}
        | {"has_header": "true", "delimiter": "comma"},
    ),
}
ASKED = ("columns", "binary_ids")  # what has to be said of these makes them variants alone
UNPACK = {
    "gzip": gzip.decompress,
    "bzip2": bz2.decompress,
    "xz": lambda data: lzma.decompress(data.rstrip(b"\0"), lzma.FORMAT_XZ),
}


def told(error: Exception, path: Path) -> str:
    """The text of a typed error, which is one line that names the file."""
    text = str(error)
    if "\n" in text or "\r" in text or not text.strip() or len(text) > MOST_MESSAGE:
        message = f"one line: {text[:200]!r}"
        raise Broken(message)
    if str(path) not in text:
        message = f"the file is named: {text[:200]!r}"
        raise Broken(message)
    return text


def outcome(path: Path, fmt: str, options: dict[str, str], skip: int) -> Trace | ObjectTrace | str:
    """The trace, or what the typed error says."""
    try:
        return read_either(TraceFiles([path], fmt, options=options, skip_bad_rows=skip))
    except TraceError as error:
        return told(error, path)


def _texts(column: Coded) -> list[str]:
    return [column.names[code] for code in column.codes]


def differences(one: Trace | ObjectTrace, two: Trace | ObjectTrace) -> list[str]:
    """Names of the columns, and of provenance, that differ."""
    if isinstance(one, ObjectTrace) != isinstance(two, ObjectTrace):
        return ["kind"]
    objects = isinstance(one, ObjectTrace)
    found = []
    # Which number a text has among the keys is free.
    for name in tuple(name for name in OBJECT_NUMBERS if name != "key") if objects else NUMBER_COLUMNS:
        first, second = getattr(one, name), getattr(two, name)
        if (first is None) != (second is None) or (first is not None and not np.array_equal(first, second)):
            found.append(name)
    for name in OBJECT_CODED if objects else CODED_COLUMNS:
        first, second = getattr(one, name), getattr(two, name)
        if (first is None) != (second is None) or (first is not None and _texts(first) != _texts(second)):
            found.append(name)
    if isinstance(one, ObjectTrace) and isinstance(two, ObjectTrace) and keys(one) != keys(two):
        found.append("key")
    return found + (["meta"] if one.meta != two.meta else [])


def same(one: Trace | ObjectTrace | str, two: Trace | ObjectTrace | str, what: str) -> None:
    """Both readings failed, or gave the same trace."""
    if isinstance(one, str) or isinstance(two, str):
        if isinstance(one, str) != isinstance(two, str):
            message = f"{what}: {str(one)[:300]} / {str(two)[:300]}"
            raise Broken(message)
    elif found := differences(one, two):
        message = f"{what}: {', '.join(found)} differ: {one.meta.extra} / {two.meta.extra}"
        raise Broken(message)


@contextmanager
def small_blocks(size: int) -> Iterator[None]:
    """Files are read in blocks of so many bytes, records a few at once."""
    whole = Source.blocks

    def blocks(self: Source, given: int = READ_BYTES, *, to_damage: bool = False) -> Iterator[bytes]:
        return whole(self, size if given == READ_BYTES else given, to_damage=to_damage)

    with mock.patch.object(Source, "blocks", blocks), mock.patch.object(binary, "RECORDS_AT_ONCE", 3):
        yield


def block_of(data: bytes) -> int:
    """The size of small blocks: the lines that a width is learnt from stand in the first."""
    rows = size = 0
    for line in re.split(b"(?<=\n)", data.replace(b"\r", b"\n")):
        size += len(line)
        rows += row_like(line.rstrip(b"\n").decode("utf-8", "replace"))
        if rows == WIDTH_LINES:
            break
    return max(size, LEAST_BLOCK)


def account(name: str, data: bytes, path: Path, trace: Trace | ObjectTrace) -> None:
    """Requests, skipped rows and records that move no data are all that the file holds."""
    extra = trace.meta.extra
    left_out = sum(int(count) for key, count in extra.items() if key.startswith("left_out."))
    skipped = int(extra.get("skipped_rows", "0"))
    bounds = span(name, data, path, extra)
    found = len(trace) + skipped + left_out
    if bounds is not None and not bounds[0] <= found <= bounds[1]:
        message = f"no silent loss: {len(trace)} requests, {skipped} skipped, {left_out} left out; {bounds} in the file"
        raise Broken(message)


def _check(name: str, fmt: str, options: dict[str, str], data: bytes, folder: Path) -> None:
    path = folder / "trace"
    path.write_bytes(data)
    strict, lenient = (outcome(path, fmt, options, skip) for skip in (0, ANY_ROWS))
    if not isinstance(strict, str):
        same(strict, lenient, "a trace without bad rows")
    if isinstance(lenient, str):
        return
    account(name if name in HEADERS else fmt, data, path, lenient)
    same(lenient, outcome(path, fmt, options, ANY_ROWS), "read again")
    if fmt != "parquet":
        with small_blocks(block_of(data)):
            same(lenient, outcome(path, fmt, options, ANY_ROWS), "read in small blocks")


def _any_format(data: bytes, folder: Path) -> None:
    """The format is recognised, or the file refused; what is recognised is read, or refused."""
    path = folder / "trace"
    path.write_bytes(data)
    try:
        choose(Source(path), "auto", {})
    except TraceError as error:
        told(error, path)
    outcome(path, "auto", {}, ANY_ROWS)


def _variant_seeds(fmt: str, options: dict[str, str]) -> tuple[bytes, ...]:
    seeds = trace_seeds("systor" if fmt == "columns" else fmt)
    # Columns that are named by their numbers go with files that have no header.
    return tuple(seed.partition(b"\n")[2] for seed in seeds) if options.get("has_header") == "false" else seeds


def _unpacked(data: bytes, folder: Path) -> None:
    """What is read of a compressed file is what Python's own libraries read; one that they refuse is refused."""
    path = folder / "trace"
    path.write_bytes(data)
    source = Source(path)
    try:
        plain = b"".join(source.blocks())
    except TraceError as error:
        told(error, path)
        return
    if source.compression in UNPACK and plain != UNPACK[source.compression](data):
        message = "unpacked: the bytes differ from those that Python's library reads"
        raise Broken(message)
    outcome(path, "auto", {}, ANY_ROWS)


def _packed_seeds() -> tuple[bytes, ...]:
    text = trace_seeds("msr")[0]
    packed = (pack(text) + extra for pack in mutators.PACKERS.values() for extra in (b"", pack(text)))
    return (*packed, text.decode().encode("utf-16"))


def _mutate_packed(data: bytes, rng: Random) -> bytes:
    """Damaged streams, and whole streams of damaged text, one after another."""
    if rng.random() < 0.5:
        return mutators.binary(data, rng)
    pack = rng.choice(list(mutators.PACKERS.values()))
    parts = [pack(mutators.text(trace_seeds("msr")[0], rng)) for _ in range(rng.randint(1, 2))]
    return b"".join(parts) + rng.choice((b"", b"", bytes(8), b"garbage", data[: rng.randint(1, 40)]))


def _mutate_any(data: bytes, rng: Random) -> bytes:
    """The beginning of one format under the end of another."""
    other = rng.choice(trace_seeds(rng.choice(sorted(TRACES))))
    if rng.random() < 0.3:
        data = data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]
    return (mutators.binary if b"\0" in data else mutators.text)(data, rng)


def trace_target(name: str) -> Target:
    """The target of a registered format, or of a variant."""
    fmt, options = VARIANTS.get(name, (name, {}))
    mutate = mutators.binary if fmt in BINARY_FORMATS else mutators.text
    return Target(name, partial(_variant_seeds, fmt, options), mutate, partial(_check, name, fmt, options))


def _first_seeds() -> tuple[bytes, ...]:
    return tuple(trace_seeds(name)[0] for name in sorted(TRACES))


def trace_targets() -> list[Target]:
    """A target for each registered format and variant, for recognition, and for compressed files."""
    return [
        *(trace_target(name) for name in (*(name for name in FORMATS if name not in ASKED), *VARIANTS)),
        Target("any-format", _first_seeds, _mutate_any, _any_format),
        Target("compressed", _packed_seeds, _mutate_packed, _unpacked),
    ]

"""Raw requests as a serving object takes them and a golden folder holds them: arrays, or CSV for any language.

numpy is all they need.
"""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import I64, U8
from cachezoo.coded import Coded
from cachezoo.errors import BundleError, ConfigError
from cachezoo.kernels.segments import IdTable, segment_keys
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.traces.pages import PAGES, PageAccesses
from cachezoo.traces.table import OP_NAMES, Trace

WHOLE = re.compile(r"[0-9]{1,19}")
MOST_TEXT = 131_072  # bytes; what Python's csv takes, in characters
NUMBERS = ("time_us", "op", "offset", "size")
TEXTS = ("volume", "namespace", "user", "flags")
GOLDEN = Table(
    Each("one golden request", "row number", text="raw requests that every runtime must answer alike"),
    {
        "time_us": Column("integer", Means("issue time", "µs")),
        "op": Column("text", Means("read or write")),
        "offset": Column("integer", Means("start, from the volume's start", "bytes")),
        "size": Column("integer", Means("at least 1", "bytes")),
        "volume": Column("text", Means("device")),
        "namespace": Column("text", Means("as in data/requests"), "sometimes"),
        "user": Column("text", Means("as in data/requests"), "sometimes"),
        "flags": Column("text", Means("as in data/requests"), "sometimes"),
    },
)


@dataclass(frozen=True)
class RequestBatch:
    """Requests in issue order; columns as in the canonical request table.

    Raises:
        ConfigError: a column has another length than the others.
    """

    time_us: I64  # int64[n] microseconds since the first request's trace began
    op: U8  # uint8[n] 0 read, 1 write
    offset: I64  # int64[n] bytes
    size: I64  # int64[n] bytes
    volume: Coded  # the device that each offset counts on
    namespace: Coded | None = None  # of the requests; None where it is not known
    user: Coded | None = None  # process names; None where they are not known
    flags: Coded | None = None  # of the requests, as block traces write them; None where they are not known

    def __post_init__(self) -> None:
        texts = [coded.codes for name in TEXTS if (coded := getattr(self, name)) is not None]
        if len({len(column) for column in (*(getattr(self, name) for name in NUMBERS), *texts)}) > 1:
            message = f"{', '.join((*NUMBERS, *TEXTS))}: a batch has one entry a request in each column that it has"
            raise ConfigError(message)

    def __len__(self) -> int:
        return len(self.time_us)

    def part(self, first: int, end: int) -> "RequestBatch":
        """Requests first to end - 1, at their times."""
        columns: dict[str, Any] = {name: getattr(self, name)[first:end] for name in NUMBERS}
        for name in TEXTS:
            coded: Coded | None = getattr(self, name)
            columns[name] = None if coded is None else coded.part(first, end)
        return RequestBatch(**columns)

    def taken(self, places: I64) -> "RequestBatch":
        """The requests at some places, int64[m]."""
        columns: dict[str, Any] = {name: getattr(self, name)[places] for name in NUMBERS}
        for name in TEXTS:
            coded: Coded | None = getattr(self, name)
            columns[name] = None if coded is None else coded.take(places)
        return RequestBatch(**columns)

    def pages(self) -> PageAccesses:
        """Page accesses, as `cachezoo.traces.pages.expand_pages` numbers them."""
        start, keys = segment_keys(self.volume.codes, self.offset, self.size, PAGES)
        table = IdTable()
        ids = table.lookup(keys)
        return PageAccesses(start, ids, table.count)


def batch_of(trace: Trace) -> RequestBatch:
    """A canonical trace's requests; its arrays are not copied."""
    return RequestBatch(**{name: getattr(trace, name) for name in (*NUMBERS, *TEXTS)})


def join(parts: Sequence[RequestBatch]) -> RequestBatch:
    """Requests of several traces one after the other, the clock running on."""
    gap, clock, times = 1, 0, []
    for part in parts:
        times.append(part.time_us - part.time_us[0] + clock)
        clock = int(times[-1][-1]) + gap
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in NUMBERS[1:]}
    for name in TEXTS:
        coded = [getattr(part, name) for part in parts]
        columns[name] = None if any(column is None for column in coded) else _join_codes(coded)
    return RequestBatch(np.concatenate(times), **columns)


def _join_codes(parts: Sequence[Coded]) -> Coded:
    numbers: dict[str, int] = {}
    codes = []
    for part in parts:
        table = [numbers.setdefault(name, len(numbers)) for name in part.names]
        codes.append(np.array(table, np.int32)[part.codes])
    return Coded(np.concatenate(codes), tuple(numbers))


def to_csv(requests: RequestBatch) -> bytes:
    """CSV with a header, `op` as a word, texts quoted where they need it; absent columns are left out."""
    columns: dict[str, list[str]] = {name: [str(v) for v in getattr(requests, name)] for name in NUMBERS}
    columns["op"] = [OP_NAMES[value] for value in requests.op]
    for name in TEXTS:
        coded = getattr(requests, name)
        if coded is not None:
            columns[name] = [coded.names[code] for code in coded.codes]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return buffer.getvalue().encode("utf-8")


def _number(text: str) -> int:
    """Raises ValueError: the text is no number of digits alone."""
    if WHOLE.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is no number, or negative")
    return int(text)


def from_csv(data: bytes, where: str) -> RequestBatch:
    """Read what `to_csv` wrote.

    Raises:
        BundleError: another header, or a value that no request has.
    """
    try:
        if b"\0" in data:
            raise ValueError("it holds a zero")
        rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
        header, body = rows[0], rows[1:]
        names = {*header[5:], "volume"}
        if tuple(header[:5]) != (*NUMBERS, "volume") or not names <= set(TEXTS) or len(names) < len(header[4:]):
            raise ValueError(f"its header is {','.join(header)[:80]!r}")
        if not body or any(len(text.encode()) > MOST_TEXT for row in body for text in row):
            raise ValueError(f"no request stands in it, or a text of more than {MOST_TEXT} bytes")
        columns = dict(zip(header, zip(*body, strict=True), strict=True))
        given: dict[str, Any] = {
            name: np.array([_number(v) for v in columns[name]], np.int64) for name in NUMBERS if name != "op"
        }
        if int(given["size"].min()) < 1 or (np.diff(given["time_us"]) < 0).any():
            raise ValueError("a size is 0, or a request is earlier than the one before")
        given["op"] = np.array([OP_NAMES.index(value) for value in columns["op"]], np.uint8)
    except (ValueError, IndexError, OverflowError, csv.Error) as error:
        raise BundleError(f"{where}: not golden requests of a bundle ({error}); export the bundle again") from error
    given.update({name: Coded.of(columns[name]) for name in TEXTS if name in columns})
    return RequestBatch(**given)

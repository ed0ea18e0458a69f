"""Raw requests as the golden folder holds them: arrays for the runtime, CSV on disk for any language."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cachezoo.errors import BundleError
from cachezoo.features.history import Codes
from cachezoo.kernels.segments import I32, I64, Geometry, IdTable, segment_keys

U8 = npt.NDArray[np.uint8]
NUMBERS = ("time_us", "op", "offset", "size")
TEXTS = ("volume", "namespace", "user")
OP_NAMES = ("read", "write")
PAGE_BYTES = 4096


class CodedColumn(Protocol):
    """A dictionary-coded text column."""

    @property
    def codes(self) -> I32:
        """int32[n]."""

    @property
    def names(self) -> Sequence[str]:
        """The texts that codes count."""


class TraceLike(Protocol):
    """What is read of `cachezoo.traces.table.Trace`, which needs pyarrow and so is not imported here."""

    @property
    def time_us(self) -> I64: ...  # noqa: D102
    @property
    def op(self) -> U8: ...  # noqa: D102
    @property
    def offset(self) -> I64: ...  # noqa: D102
    @property
    def size(self) -> I64: ...  # noqa: D102
    @property
    def volume(self) -> CodedColumn: ...  # noqa: D102
    @property
    def namespace(self) -> CodedColumn | None: ...  # noqa: D102
    @property
    def user(self) -> CodedColumn | None: ...  # noqa: D102


@dataclass(frozen=True)
class Requests:
    """Requests in issue order; columns as in the canonical request table.

    Attributes:
        time_us: int64[n] microseconds since the first request's trace began.
        op: uint8[n] 0 read, 1 write.
        offset: int64[n] bytes.
        size: int64[n] bytes.
        volume, namespace, user: coded texts; the last two may be None (not known).
    """

    time_us: I64
    op: U8
    offset: I64
    size: I64
    volume: Codes
    namespace: Codes | None = None
    user: Codes | None = None

    def __len__(self) -> int:
        return len(self.time_us)

    def part(self, first: int, end: int) -> "Requests":
        """Requests first to end - 1."""
        texts = {name: getattr(self, name) for name in TEXTS}
        cut = {name: None if c is None else Codes(c.codes[first:end], c.names) for name, c in texts.items()}
        numbers = {name: getattr(self, name)[first:end] for name in NUMBERS}
        return Requests(**numbers, **cut)  # type: ignore[arg-type]

    def pages(self) -> tuple[I64, I32]:
        """Page accesses: start int64[n + 1], and int32[m] dense page ids numbered by first appearance.

        The same numbers as `cachezoo.traces.pages.expand_pages` gives.
        """
        geometry = Geometry(PAGE_BYTES, PAGE_BYTES)
        start, keys = segment_keys(self.volume.codes, self.offset, self.size, geometry)
        return start, IdTable().lookup(keys)


def requests_of(trace: TraceLike, rows: int) -> Requests:
    """The first `rows` requests of a canonical trace."""
    texts = {name: getattr(trace, name) for name in TEXTS}
    coded = {name: None if c is None else Codes(c.codes, tuple(c.names)) for name, c in texts.items()}
    return Requests(trace.time_us, trace.op, trace.offset, trace.size, **coded).part(0, rows)  # type: ignore[arg-type]


def join(parts: Sequence[Requests]) -> Requests:
    """Requests of several traces one after the other, the clock running on."""
    gap, clock, times = 1, 0, []
    for part in parts:
        times.append(part.time_us - part.time_us[0] + clock)
        clock = int(times[-1][-1]) + gap
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in NUMBERS[1:]}
    texts: dict[str, Codes | None] = {}
    for name in TEXTS:
        coded = [getattr(part, name) for part in parts]
        texts[name] = None if any(column is None for column in coded) else _join_codes(coded)
    return Requests(np.concatenate(times), **columns, **texts)  # type: ignore[arg-type]


def _join_codes(parts: Sequence[Codes]) -> Codes:
    numbers: dict[str, int] = {}
    codes = []
    for part in parts:
        table = [numbers.setdefault(name, len(numbers)) for name in part.names]
        codes.append(np.array(table, np.int32)[part.codes])
    return Codes(np.concatenate(codes), tuple(numbers))


def to_csv(requests: Requests) -> bytes:
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


def from_csv(data: bytes, where: str) -> Requests:
    """Read what `to_csv` wrote.

    Raises:
        BundleError: another header, or a value that no request has.
    """
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))
        header, body = rows[0], rows[1:]
        if tuple(header[:5]) != (*NUMBERS, "volume") or not set(header[5:]) <= set(TEXTS) or not body:
            message = f"its header is {','.join(header)[:80]}"
            raise ValueError(message)
        columns = dict(zip(header, zip(*body, strict=True), strict=True))
        numbers = {name: np.array([int(v) for v in columns[name]], np.int64) for name in NUMBERS if name != "op"}
        op = np.array([OP_NAMES.index(value) for value in columns["op"]], np.uint8)
        if min(int(numbers[name].min()) for name in numbers) < 0 or int(numbers["size"].min()) < 1:
            message = "a number is negative or a size is 0"
            raise ValueError(message)
    except (ValueError, IndexError, OverflowError, csv.Error) as error:
        message = f"{where}: not golden requests of a bundle ({error}); export the bundle again"
        raise BundleError(message) from error
    texts = {name: _encode(columns[name]) if name in columns else None for name in TEXTS}
    return Requests(op=op, **numbers, **texts)  # type: ignore[arg-type]


def _encode(values: Sequence[str]) -> Codes:
    numbers: dict[str, int] = {}
    codes = np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)
    return Codes(codes, tuple(numbers))

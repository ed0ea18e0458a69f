"""A trace made fit for fio's replay, and fio's iolog files.

What fio 3.33 does with rows that are not fit, as measured: a length of 0 loses the end of the job; an offset or length
that is no multiple of the logical block stops the job; a request past the end succeeds with libaio and io_uring in no
time, with 0 bytes. So no such row reaches it, and every changed row is counted.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I64, U8
from cachezoo.errors import DeviceError
from cachezoo.traces.table import OP_NAMES, OP_READ, OP_WRITE

Writes = Literal["refuse", "as_reads", "replay"]

SENTINELS = 64
SENTINEL_GAP_US = 1000
FILE_NAME = "disk"
PART_ROWS = 1 << 18
# A golden-ratio walk: however many sentinels there are, they are spread over the whole target.
GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class Cleaning:
    """How many rows of a trace were changed before its replay."""

    requests: int  # rows of the trace
    zero_length: int  # not replayed
    rounded: int  # offset or length extended to the logical block
    folded: int  # address moved into the target
    writes_as_reads: int  # writes replayed as reads

    def counts(self) -> dict[str, int]:
        """Name to count."""
        return asdict(self)


@dataclass(frozen=True)
class ReplayRows:
    """Requests that fio can replay; arrays have one entry a request."""

    time_us: I64  # int64, issue times
    op: U8  # uint8, `OP_READ` or `OP_WRITE`
    offset: I64  # int64, bytes from the target's start
    size: I64  # int64, bytes
    row: I64  # int64, which row of the trace it is; -1 for a request of the replay's own

    def __len__(self) -> int:
        return len(self.op)

    @property
    def writes(self) -> bool:
        """Whether there are writes among them."""
        return bool((self.op == OP_WRITE).any())

    def where(self, index: int) -> str:
        """Name a request in an error."""
        row = int(self.row[index])
        name = f"row {row + 1}" if row >= 0 else "a read of the replay's own"
        return f"{name} ({OP_NAMES[self.op[index]]} of {self.size[index]} bytes at {self.offset[index]})"


@dataclass(frozen=True)
class Rules:
    """What cleaning goes by."""

    block_bytes: int  # offsets and lengths are multiples of it
    data_offset: int  # added to every address
    data_bytes: int  # addresses, before `data_offset` is added, lie below it
    fold: bool  # let addresses past it wrap around instead of refusing the trace
    writes: Writes  # what becomes of writes
    label: str  # the target's name in errors

    @property
    def capacity(self) -> int:
        """`data_bytes`, whole blocks of it."""
        return self.data_bytes // self.block_bytes * self.block_bytes


def clean(time_us: I64, op: U8, offset: I64, size: I64, rules: Rules) -> tuple[ReplayRows, Cleaning]:
    """Make a trace fit for a target.

    A request is extended to whole logical blocks. With `fold`, its address is taken modulo the target's capacity, and
    what would then run over the end is moved back to end there.

    Args:
        time_us: int64[n] issue times.
        op: uint8[n].
        offset: int64[n] bytes.
        size: int64[n] bytes.
        rules: what goes by.

    Returns:
        The requests to replay, rows without length left out, and the counts.

    Raises:
        DeviceError: writes that are refused, a request larger than the target or beyond its end, or nothing to replay.
    """
    row = np.flatnonzero(size > 0)
    if not len(row):
        raise DeviceError(f"{rules.label}: the trace has no request with a length above 0; there is nothing to replay")
    op, offset, size = op[row].astype(np.uint8), offset[row].astype(np.int64), size[row].astype(np.int64)
    written = op == OP_WRITE
    if rules.writes == "refuse" and written.any():
        message = (
            f"{rules.label}: row {int(row[written.argmax()]) + 1} is a write, one of {int(written.sum())}; "
            "set device.writes to as_reads, or to replay on a prepared scratch target"
        )
        raise DeviceError(message)
    as_reads = written if rules.writes == "as_reads" else np.zeros(len(row), bool)
    block = rules.block_bytes
    start = offset // block * block
    length = -(-(offset + size) // block) * block - start
    place = _placed(start, length, row, rules)
    counts = Cleaning(
        requests=len(time_us),
        zero_length=len(time_us) - len(row),
        rounded=int(((start != offset) | (length != size)).sum()),
        folded=int((place != start).sum()),
        writes_as_reads=int(as_reads.sum()),
    )
    op = np.where(as_reads, OP_READ, op).astype(np.uint8)
    return ReplayRows(time_us[row].astype(np.int64), op, place + rules.data_offset, length, row), counts


def _placed(start: I64, length: I64, row: I64, rules: Rules) -> I64:
    """Addresses inside the target, or a refusal."""
    capacity = rules.capacity
    largest = int(length.argmax())
    if length[largest] > capacity:
        message = (
            f"{rules.label}: row {int(row[largest]) + 1} is a request of {length[largest]} bytes, and the target has "
            f"{capacity}; give a larger one"
        )
        raise DeviceError(message)
    beyond = start + length > capacity
    if not beyond.any():
        return start
    if not rules.fold:
        first = int(beyond.argmax())
        message = (
            f"{rules.label}: row {int(row[first]) + 1} ends at byte {start[first] + length[first]}, the trace at "
            f"{int((start + length).max())}, the target at {capacity}; give a larger target or set device.fold"
        )
        raise DeviceError(message)
    folded = start % capacity
    return np.minimum(folded, capacity - length)


def framed(requests: ReplayRows, rules: Rules, lead_in: int, sentinels: int) -> ReplayRows:
    """The requests between reads of the replay's own.

    The first request of a fio job takes longer than the others (it opens and maps), and at queue depth n the last n - 1
    to complete are not logged: reads before and after bear that.

    Args:
        requests: of the trace.
        rules: of the target.
        lead_in: reads before, all of the target's first block.
        sentinels: reads after, spread over the target.
    """
    block, blocks = rules.block_bytes, rules.capacity // rules.block_bytes
    steps = (np.arange(1, sentinels + 1) * GOLDEN) % 1.0
    after = (steps * blocks).astype(np.int64) * block
    own = np.concatenate([np.zeros(lead_in, np.int64), after]) + rules.data_offset
    last = int(requests.time_us[-1])
    late = last + SENTINEL_GAP_US * np.arange(1, sentinels + 1)

    def between(before: I64 | U8, middle: I64 | U8, behind: I64 | U8) -> npt.NDArray[np.int64]:
        return np.concatenate([before, middle, behind])

    first = np.full(lead_in, requests.time_us[0], np.int64)
    minus = np.full(lead_in + sentinels, -1, np.int64)
    reads = np.full(lead_in + sentinels, OP_READ, np.uint8)
    sizes = np.full(lead_in + sentinels, block, np.int64)
    return ReplayRows(
        between(first, requests.time_us, late.astype(np.int64)),
        between(reads[:lead_in], requests.op, reads[lead_in:]).astype(np.uint8),
        between(own[:lead_in], requests.offset, own[lead_in:]),
        between(sizes[:lead_in], requests.size, sizes[lead_in:]),
        between(minus[:lead_in], requests.row, minus[lead_in:]),
    )


def write_iolog(requests: ReplayRows, path: Path, timed: bool) -> None:
    """Write fio's iolog: version 2, or with times version 3, whose unit is µs.

    Version 3 ignores the wait after a line at time 0, so its times begin at 1.

    Args:
        requests: what to replay, in order.
        path: the file.
        timed: whether with issue times.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    stamp = "1 " if timed else ""
    options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    base = int(requests.time_us[0]) - 1
    names = pa.array(OP_NAMES)
    with path.open("wb") as file:
        file.write(f"fio version {3 if timed else 2} iolog\n{stamp}{FILE_NAME} add\n{stamp}{FILE_NAME} open\n".encode())
        for start in range(0, len(requests), PART_ROWS):
            part = slice(start, start + PART_ROWS)
            op = requests.op[part]
            columns = {
                "file": pa.array(np.full(len(op), FILE_NAME)),
                "op": names.take(pa.array(op)),
                "offset": pa.array(requests.offset[part]),
                "size": pa.array(requests.size[part]),
            }
            if timed:
                columns = {"time": pa.array(requests.time_us[part] - base), **columns}
            csv.write_csv(pa.table(columns), file, options)
        end = f"{int(requests.time_us[-1]) - base} " if timed else ""
        file.write(f"{end}{FILE_NAME} close\n".encode())

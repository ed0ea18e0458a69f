"""Requests with measured service times: what a device model is fitted to."""

import gzip
import io
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from cachezoo.arrays import F64, I64, U8
from cachezoo.errors import DeviceError

B1 = npt.NDArray[np.bool_]

SECTOR_BYTES = 512
COLUMNS = ["op", "action", "sector", "sectors", "time_us", "inter_us"]
FEWEST = 100


@dataclass(frozen=True)
class Samples:
    """Requests in the order in which one device served them, one at a time.

    A model runs through all of them, because each moves the head and fills buffers; it is fitted and scored only where
    a service time is known.
    """

    offset: I64  # int64[n] bytes
    size: I64  # int64[n] bytes
    write: U8  # uint8[n], 1 for writes
    time_us: F64  # float64[n] µs, the measured service time; without meaning where `timed` is false
    think_us: F64  # float64[n] µs for which the device was idle before each request
    # bool[n], whose service time is known; of all if not given
    timed: B1 = field(default_factory=lambda: np.empty(0, np.bool_))

    def __post_init__(self) -> None:
        """Let all be timed where nothing else is said."""
        if not self.timed.size:
            object.__setattr__(self, "timed", np.ones(len(self), np.bool_))

    def __len__(self) -> int:
        """How many requests, timed or not."""
        return int(self.offset.size)

    @property
    def known(self) -> int:
        """How many service times."""
        return int(np.count_nonzero(self.timed))

    def of(self, op: int) -> B1:
        """bool[n], the timed reads (0) or writes (1)."""
        marks: B1 = self.timed & (self.write == op)
        return marks

    def part(self, begin: int, end: int) -> "Samples":
        """The requests [begin, end)."""
        return Samples(*(getattr(self, name.name)[begin:end] for name in fields(self)))

    def halves(self) -> tuple["Samples", "Samples"]:
        """The first half of the service times, to fit on, and the second, to test on, each with what lies between."""
        middle = int(np.flatnonzero(self.timed)[self.known // 2]) if self.known else 0
        return self.part(0, middle), self.part(middle, len(self))

    def check(self, where: str) -> "Samples":
        """These samples, if a model can be fitted to them.

        Args:
            where: what error messages name.

        Raises:
            DeviceError: too few, or one that no device can have served.
        """
        if self.known < FEWEST:
            raise DeviceError(f"{where}: {self.known} requests with service times; a fit takes {FEWEST} at least")
        wrong = (self.offset < 0) | (self.size <= 0) | (self.timed & ~(self.time_us > 0)) | ~(self.think_us >= 0)
        if wrong.any():
            row = int(wrong.argmax())
            message = (
                f"{where}: request {row + 1}: offset {self.offset[row]}, size {self.size[row]}, "
                f"time {self.time_us[row]:g} µs, idle before it {self.think_us[row]:g} µs; drop it or fix it"
            )
            raise DeviceError(message)
        return self


def join(parts: Sequence[Samples]) -> Samples:
    """The parts' requests, one part after the other."""
    return Samples(*(np.concatenate([getattr(part, name.name) for part in parts]) for name in fields(Samples)))


def read_disk_trace(path: Path) -> Samples:
    """Read DiskSim's validation format: R or W, buffer action, sector, sectors, service µs, µs until the next issue.

    The last column counts from the end of a request: in the disks' published traces it is often shorter than the
    request's service time, and no request was issued while another was served.

    Raises:
        DeviceError: not readable, or not of this format.
    """
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        rows = pd.read_csv(
            io.BytesIO(text),
            sep=r"\s+",
            names=COLUMNS,
            dtype={
                "op": str,
                "action": str,
                "sector": np.int64,
                "sectors": np.int64,
                "time_us": float,
                "inter_us": float,
            },
        )
    except (OSError, EOFError, ValueError) as error:
        message = f"{path}: not readable as a disk's service times ({' '.join(str(error).split())[:200]})"
        raise DeviceError(message) from error
    known = rows["op"].isin(["R", "W"])
    if not known.all():
        message = f"{path}: line {int(known.argmin()) + 1}: begins with {rows['op'][int(known.argmin())]!r}, not R or W"
        raise DeviceError(message)
    think = np.concatenate([[0.0], rows["inter_us"].to_numpy()[:-1]])
    return Samples(
        rows["sector"].to_numpy() * SECTOR_BYTES,
        rows["sectors"].to_numpy() * SECTOR_BYTES,
        (rows["op"] == "W").to_numpy().astype(np.uint8),
        rows["time_us"].to_numpy(),
        think,
    ).check(str(path))

"""Requests with measured service times: what a device model is fitted to."""

import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from cachezoo.errors import DeviceError

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
U8 = npt.NDArray[np.uint8]

SECTOR_BYTES = 512
COLUMNS = ["op", "action", "sector", "sectors", "time_us", "inter_us"]
FEWEST = 100


@dataclass(frozen=True)
class Samples:
    """Requests in the order in which one device served them, one at a time.

    Attributes:
        offset: int64[n] bytes.
        size: int64[n] bytes.
        write: uint8[n], 1 for writes.
        time_us: float64[n] µs, the measured service time.
        think_us: float64[n] µs for which the device was idle before each request.
    """

    offset: I64
    size: I64
    write: U8
    time_us: F64
    think_us: F64

    def __len__(self) -> int:
        """How many requests."""
        return int(self.offset.size)

    def part(self, begin: int, end: int) -> "Samples":
        """The requests [begin, end)."""
        cut = slice(begin, end)
        return Samples(self.offset[cut], self.size[cut], self.write[cut], self.time_us[cut], self.think_us[cut])

    def halves(self) -> tuple["Samples", "Samples"]:
        """The first half, to fit on, and the second, to test on."""
        return self.part(0, len(self) // 2), self.part(len(self) // 2, len(self))

    def check(self, where: str) -> "Samples":
        """These samples, if a model can be fitted to them.

        Args:
            where: what error messages name.

        Raises:
            DeviceError: too few, or one that no device can have served.
        """
        if len(self) < FEWEST:
            message = f"{where}: {len(self)} requests with service times; a fit takes {FEWEST} at least"
            raise DeviceError(message)
        wrong = (self.offset < 0) | (self.size <= 0) | ~(self.time_us > 0) | ~(self.think_us >= 0)
        if wrong.any():
            row = int(wrong.argmax())
            message = (
                f"{where}: request {row + 1}: offset {self.offset[row]}, size {self.size[row]}, "
                f"time {self.time_us[row]:g} µs, idle before it {self.think_us[row]:g} µs; drop it or mend it"
            )
            raise DeviceError(message)
        return self


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

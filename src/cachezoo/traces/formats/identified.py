"""Requests that name what they are of by an id: an address in units, or an object's key."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cachezoo.arrays import I64
from cachezoo.traces.formats.base import Options
from cachezoo.traces.table import MAX_END_BYTES


class IdOptions(Options):
    """What ids are."""

    # ``address``: an id counts units from the volume's start; ``object``: an id names an object and is no address
    ids: Literal["address", "object"] = "address"
    unit_bytes: int = Field(default=512, ge=1, le=2**30)  # bytes to a unit of an address

    @property
    def objects(self) -> bool:
        """Whether ids are objects."""
        return self.ids == "object"

    def said(self) -> str:
        """How ids are read, for a trace's metadata."""
        return "an object's key" if self.objects else f"an address in units of {self.unit_bytes} bytes"

    def addresses(self, ids: npt.NDArray[Any]) -> tuple[I64, npt.NDArray[np.bool_]]:
        """Offsets of 64-bit ids, and where an address overflows (its offset is 0 then)."""
        over = ids > np.array(MAX_END_BYTES // self.unit_bytes, ids.dtype)
        return np.where(over, 0, ids).astype(np.int64) * self.unit_bytes, over

    def overflow(self, value: object) -> str:
        """What is wrong with an id whose address overflows, and the fix."""
        unit = self.unit_bytes
        return f"id is {value}, whose address overflows at {unit} bytes a unit; read with the option ids=object"

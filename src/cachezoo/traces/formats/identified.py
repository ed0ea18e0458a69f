"""Objects with ids instead of addresses, as in libCacheSim's formats."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cachezoo.arrays import I64
from cachezoo.kernels.segments import IdTable
from cachezoo.traces.formats.base import Options
from cachezoo.traces.table import MAX_END_BYTES, PAGE_BYTES


class IdOptions(Options):
    """How ids become addresses."""

    # ``address``: an id counts units from the volume's start; ``object``: each distinct id becomes a 4 KiB page of its
    # own, numbered by first appearance, whatever the object's size
    ids: Literal["address", "object"] = "address"
    unit_bytes: int = Field(default=512, ge=1, le=2**30)  # bytes to a unit of an address


class Addresses:
    """Offsets of ids over the chunks of a trace; objects need 24 to 48 bytes of memory a distinct id."""

    def __init__(self, options: IdOptions) -> None:
        self.options = options
        self._table = IdTable()

    @property
    def objects(self) -> bool:
        """Whether ids are objects."""
        return self.options.ids == "object"

    def of(self, ids: npt.NDArray[Any]) -> tuple[I64, npt.NDArray[np.bool_]]:
        """Offsets of 64-bit ids, and where an address overflows (its offset is 0 then)."""
        if self.objects:
            return self._table.lookup(ids.view(np.int64)).astype(np.int64) * PAGE_BYTES, np.zeros(len(ids), bool)
        over = ids > np.array(MAX_END_BYTES // self.options.unit_bytes, ids.dtype)
        return np.where(over, 0, ids).astype(np.int64) * self.options.unit_bytes, over

    def overflow(self, value: object) -> str:
        """What is wrong with an id whose address overflows, and the fix."""
        unit = self.options.unit_bytes
        return f"id is {value}, whose address overflows at {unit} bytes a unit; read with the option ids=object"

    def said(self) -> str:
        """How ids were read, for a trace's metadata."""
        return "a 4,096-byte page each" if self.objects else f"addresses in units of {self.options.unit_bytes} bytes"

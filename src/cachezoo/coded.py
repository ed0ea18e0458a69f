"""Text columns as numbers into a list of names; numpy is all they need."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32


@dataclass(frozen=True)
class Coded:
    """A dictionary-coded text column: `names[codes[i]]` is row i's value."""

    codes: I32  # int32[n] places in `names`
    names: tuple[str, ...]  # the texts

    @classmethod
    def constant(cls, name: str, rows: int) -> "Coded":
        """The same value in every row."""
        return cls(np.zeros(rows, np.int32), (name,))

    @classmethod
    def of(cls, values: Sequence[str]) -> "Coded":
        """Code a text a row, names in the order in which they first occur."""
        numbers: dict[str, int] = {}
        codes = np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int32)
        return cls(codes, tuple(numbers))

    def take(self, order: npt.NDArray[Any]) -> "Coded":
        """The rows that an index array or mask selects."""
        return Coded(self.codes[order], self.names)

    def part(self, start: int, stop: int) -> "Coded":
        """Rows [start, stop) with the names that occur in them and no other, so that no later row shows."""
        codes = self.codes[start:stop]
        used = np.unique(codes[codes >= 0])
        place = np.full(len(self.names) + 1, -1, np.int32)
        place[used] = np.arange(len(used))
        return Coded(np.where(codes >= 0, place[codes], codes), tuple(self.names[code] for code in used))

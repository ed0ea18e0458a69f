"""What the values of a column of text can be: numbers, moments, ops, or names."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.traces.column_names import Named, named
from cachezoo.traces.delimited import NUMBERS
from cachezoo.traces.formats.columns import READS, WRITES, spelled

MOST_BAD = 0.1
MOST_OPS = 8  # different values of a column of ops
READ_WORDS = {*READS, "reading", "lesen", "fetch", "head"}
WRITE_WORDS = {*WRITES, "add", "append", "update", "replace", "schreiben", "copy"}
MARKS = re.compile(r"[,|/:=\s]")
DEVICE = re.compile(r"(/dev/.*|sd[a-z]+[0-9]*|[vh]d[a-z][0-9]*|xvd[a-z]+|nvme[0-9].*|dm-[0-9]+|md[0-9]+)")
FALLS = 0.05  # the share of steps back of times of completion


@dataclass(frozen=True)
class Field:
    """A column of the beginning of a delimited file.

    Attributes:
        place: its index.
        name: in the header; empty without one.
        said: what `--columns` calls it.
        values: a text for each row.
    """

    place: int
    name: str
    said: str
    values: tuple[str, ...]

    @cached_property
    def named(self) -> Named:
        """What its name says."""
        return named(self.name)

    @cached_property
    def numbers(self) -> F64 | None:
        """float64 for each row; None where a value is no number."""
        if all(NUMBERS["hex"][0].fullmatch(value) for value in self.values):
            return np.array([float(int(value, 16)) for value in self.values])
        if not all(NUMBERS["float"][0].fullmatch(value) and len(value) < 100 for value in self.values):
            return None
        found = np.array([float(value) for value in self.values])
        return found if bool(np.isfinite(found).all()) else None

    @cached_property
    def whole(self) -> I64 | None:
        """int64 for each row; None where a value is no whole number of 62 bits."""
        numbers = self.numbers
        if numbers is None or (np.abs(numbers) >= 2.0**62).any() or (numbers != np.floor(numbers)).any():
            return None
        exact = [value for value in self.values if NUMBERS["int"][0].fullmatch(value)]
        if len(exact) == len(self.values):
            return np.array([int(value) for value in exact], np.int64)
        if NUMBERS["hex"][0].fullmatch(self.values[0]):
            return np.array([int(value, 16) for value in self.values], np.int64)
        return numbers.astype(np.int64)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Its distinct values, in order."""
        return tuple(sorted(set(self.values)))

    @property
    def constant(self) -> bool:
        """Whether all values are one."""
        return len(self.kinds) == 1

    @cached_property
    def falls(self) -> float:
        """The share of steps that go down; 1 of what are no numbers."""
        if self.numbers is None:
            return 1.0
        return float(np.count_nonzero(np.diff(self.numbers) < 0)) / max(len(self.numbers) - 1, 1)

    @cached_property
    def counts_rows(self) -> bool:
        """Whether it goes up by one each row."""
        return self.whole is not None and len(self.whole) > 2 and bool((np.diff(self.whole) == 1).all())

    @cached_property
    def decimals(self) -> int:
        """The most digits behind a point."""
        return max((len(value.partition(".")[2].partition("e")[0]) for value in self.values), default=0)

    @property
    def is_signed(self) -> bool:
        """Whether its whole numbers have signs, a plus before some and a minus before others."""
        signs = {value[:1] for value in self.values}
        return signs == {"+", "-"} and self.whole is not None

    @property
    def is_device(self) -> bool:
        """Whether its values are names of disks."""
        return all(DEVICE.fullmatch(value) for value in self.kinds)

    @cached_property
    def ops(self) -> str | None:
        """What to say after its name for it to be an op: nothing where it spells one; None where it is none."""
        if len(self.kinds) > MOST_OPS * 4:
            return None
        reads, writes = (sorted(value for value in self.kinds if _says(value) == word) for word in ("read", "write"))
        if not reads and not writes:
            return None
        if all(map(spelled, self.kinds)):
            return ""
        known = len(reads) + len(writes)
        if 2 * known < len(self.kinds) or not reads or not writes or any(map(MARKS.search, [*reads, *writes])):
            return None
        return f"{'|'.join(reads)}/{'|'.join(writes)}"


def _says(value: str) -> str:
    """Whether a value of an op means a read or a write, by the first of its words that says so; else empty."""
    lower = value.lower()
    letters = re.fullmatch(r"f?([rw])[asmf]*", lower)
    if letters:
        return "read" if letters[1] == "r" else "write"
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", value)
    for word in re.findall(r"[^\W\d_]+", apart.lower()):
        if word in READ_WORDS:
            return "read"
        if word in WRITE_WORDS:
            return "write"
    return ""

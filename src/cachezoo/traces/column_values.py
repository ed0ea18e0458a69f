"""What the values of a column of text can be: numbers, moments, ops, or names."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from cachezoo.arrays import F64, I64
from cachezoo.traces.column_names import Named, named
from cachezoo.traces.formats.columns import HEX, MOMENTS, READS, RWBS, WRITES, spelled
from cachezoo.traces.formats.keyed import STORE_OPS
from cachezoo.traces.reading import SECTOR_BYTES
from cachezoo.traces.table import OP_READ
from cachezoo.traces.values import KINDS, whole_of

MOST_BAD = 0.1
MOST_OPS = 8  # different values of a column of ops that are in words of its own
MOST_SPELLED = 32
READ_WORDS = {*READS, "reading", "lesen", "fetch", "head"}
WRITE_WORDS = {*WRITES, "add", "append", "update", "replace", "schreiben", "copy"}
DELETE_WORDS = {name for name, op in STORE_OPS.items() if op not in (OP_READ, STORE_OPS["set"])}
MARKS = re.compile(r"[,|/:=\s]")
DEVICE = re.compile(r"(/dev/.*|sd[a-z]+[0-9]*|[vh]d[a-z][0-9]*|xvd[a-z]+|nvme[0-9].*|dm-[0-9]+|md[0-9]+)")
NUMERIC = ("int", "float", "hex", "decimal_comma", *MOMENTS)
MOST_HEX = 12  # digits of an address; longer ones are hashes


@dataclass(frozen=True)
class Field:
    """A column of the beginning of a delimited file.

    Attributes:
        place: its index.
        name: in the header; empty without one.
        said: what `--columns` calls it.
        values: a text for each row.
        hexadecimal: whether whole numbers are taken for hexadecimal ones without 0x.
    """

    place: int
    name: str
    said: str
    values: tuple[str, ...]
    hexadecimal: bool = False

    @cached_property
    def named(self) -> Named:
        """What its name says."""
        return named(self.name)

    @cached_property
    def kind(self) -> str:
        """How its values are written, a key of `KINDS`; empty where they are no numbers."""
        if self.hexadecimal:
            return "bare_hex"
        written = (kind for kind in NUMERIC if all(map(KINDS[kind].pattern.fullmatch, self.kinds)))
        return next((kind for kind in written if not _numbers(kind, self.kinds).null_count), "")

    @cached_property
    def numbers(self) -> F64 | None:
        """float64 for each row; None where a value is no number."""
        if not self.kind:
            return None
        return np.asarray(_numbers(self.kind, self.values).cast(pa.float64(), safe=False))

    @cached_property
    def whole(self) -> I64 | None:
        """int64 for each row; None where a value is no whole number of 62 bits."""
        if self.kind in ("hex", "bare_hex"):
            found = [int(value, 16) for value in self.values]
        elif self.kind in ("int", "float"):
            texts = [whole_of(value) for value in self.values]
            found = [number for number in texts if number is not None]
        else:
            return None
        if len(found) < len(self.values) or max(map(abs, found)) >= 2**62:
            return None
        return np.array(found, np.int64)

    @cached_property
    def as_hexadecimal(self) -> "Field | None":
        """The same as hexadecimal numbers without 0x, where that alone makes its values whole sectors; else None."""
        if self.kind not in ("", "int") or max(map(len, self.kinds)) > MOST_HEX:
            return None
        if not all(map(KINDS["bare_hex"].matches, self.kinds)):
            return None
        taken = Field(self.place, self.name, self.said, self.values, hexadecimal=True)
        values, decimal = taken.whole, self.whole
        if values is None or (values % SECTOR_BYTES).any() or not values.any():
            return None
        return taken if decimal is None or (decimal % SECTOR_BYTES).any() else None

    def spelled(self, unit: int) -> str:
        """As `--columns` says it, its values counting units of some bytes."""
        how = [HEX] if self.hexadecimal else []
        return ":".join([self.said, *how, *([str(unit)] if unit > 1 or not how else [])])

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
        return max((len(re.split("[.,]", value + ".")[1].partition("e")[0]) for value in self.values), default=0)

    @property
    def is_signed(self) -> bool:
        """Whether its whole numbers have signs, a plus before some and a minus before others."""
        signs = {value[:1] for value in self.values}
        return signs == {"+", "-"} and self.numbers is not None and not (self.numbers % 1).any()

    @property
    def is_device(self) -> bool:
        """Whether its values are names of disks."""
        return all(DEVICE.fullmatch(value) for value in self.kinds)

    def ops(self, objects: bool) -> str | None:
        """What to say after its name for it to be an op: nothing where it spells one; None where it is none.

        Args:
            objects: whether requests are of objects, which may be deleted.
        """
        if len(self.kinds) > MOST_SPELLED or self.kind:
            return None
        reads, writes, deletes = (
            [value for value in self.kinds if _says(value) == word] for word in ("read", "write", "delete")
        )
        if not reads and not writes:
            return None
        if all(spelled(value) or (objects and value.lower() in STORE_OPS) for value in self.kinds):
            return ""
        groups = [reads, writes, *([deletes] if objects and deletes else [])]
        known = [value for group in groups for value in group]
        if 2 * len(known) < len(self.kinds) or not reads or not writes or any(map(MARKS.search, known)):
            return None
        return "/".join("|".join(group) for group in groups)


def _numbers(kind: str, values: tuple[str, ...]) -> pa.ChunkedArray:
    """Numbers of texts that look as a kind does, null where a text is none after all."""
    if kind in ("int", "hex", "bare_hex"):
        exact = [int(value, 16) if kind != "int" else whole_of(value) for value in values]
        return pa.chunked_array([pa.array([None if number is None else float(number) for number in exact])])
    texts = pa.chunked_array([pa.array(values, pa.string())])
    return KINDS[kind].of(texts.cast(pa.float64()) if kind == "float" else texts)


def _says(value: str) -> str:
    """Whether a value of an op means a read, a write or a delete, by the first word that says so; else empty."""
    if letters := RWBS.fullmatch(value.lower()):
        return "read" if letters[1] == "r" else "write"
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", value)
    for word in re.findall(r"[^\W\d_]+", apart.lower()):
        for said, words in (("read", READ_WORDS), ("write", WRITE_WORDS), ("delete", DELETE_WORDS)):
            if word in words:
                return said
    return ""

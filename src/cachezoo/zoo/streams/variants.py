"""What a category's fit learned, each a way to say which stream a write belongs to; dictionaries among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import U8
from cachezoo.errors import BundleError, TrainingError
from cachezoo.wear.writes import DriveWrites
from cachezoo.zoo.streams.dictionary import Dictionary

VARIANTS = "variants"
SUFFIX = ".sid"
LETTERS = frozenset("FASC")


class Variant(Protocol):
    """Something learned on the train cycle.

    Attributes:
        name: of it, as it stands in metrics.
        kind: `fios`, a combination of FIOS's features, or `ours`.
    """

    @property
    def name(self) -> str:
        """See the class."""

    @property
    def kind(self) -> Literal["fios", "ours"]:
        """See the class."""

    def streams_of(self, writes: DriveWrites, since: int) -> U8:
        """The stream of each page write: uint8[n].

        Args:
            writes: of all cycles.
            since: the first page write that it is asked for; those before, of the cycle it learned on, go to stream 0.
        """


@dataclass(frozen=True)
class Known:
    """A dictionary with its name.

    Attributes:
        name: its features' letters and their window, as `FSC.100th`, or a name of ours.
        dictionary: chunk to stream.
    """

    name: str
    dictionary: Dictionary

    @property
    def kind(self) -> Literal["fios", "ours"]:
        """FIOS's where its name is of the paper's four features alone."""
        return "fios" if LETTERS.issuperset(self.name.partition(".")[0]) else "ours"

    def streams_of(self, writes: DriveWrites, since: int) -> U8:
        """See `Variant`: a page goes where the chunk does that its request begins in, as a drive is told by command."""
        found = np.zeros(len(writes.pages), np.uint8)
        found[since:] = self.dictionary.look_up(first_chunks(writes)[since:])
        return found


def first_chunks(writes: DriveWrites) -> npt.NDArray[np.int64]:
    """The chunk that the request of each page write begins in: int64[n]."""
    new = writes.begins
    first: npt.NDArray[np.int64] = writes.chunks[np.flatnonzero(new)[np.cumsum(new) - 1]]
    return first


def write_variants(variants: Sequence[Known], folder: Path) -> None:
    """Write each dictionary into `folder`/variants."""
    (folder / VARIANTS).mkdir()
    for variant in variants:
        (folder / VARIANTS / f"{variant.name}{SUFFIX}").write_bytes(variant.dictionary.to_bytes())


def read_variants(folder: Path, names: Sequence[str]) -> list[Known]:
    """The dictionaries of a fitted model's folder, in the order of their names.

    Raises:
        TrainingError: a file is missing, or holds no dictionary.
    """
    return [Known(name, read_dictionary(folder / VARIANTS / f"{name}{SUFFIX}")) for name in names]


def read_dictionary(file: Path) -> Dictionary:
    """A dictionary's file.

    Raises:
        TrainingError: it is missing, or holds none.
    """
    if not file.exists():
        raise TrainingError(f"{file}: is missing; fit the model again")
    try:
        return Dictionary.from_bytes(file.read_bytes())
    except BundleError as error:
        raise TrainingError(f"{file}: {error}") from error

"""MiDA: a page that was copied so many times goes with others that were copied so many times.

Source: Park, Lee, Kim and Noh, "Lightweight Data Lifetime Classification Using Migration Counts to Improve Performance
and Lifetime of Flash-Based SSDs", APSys 2021. All that the host writes goes to the first class. The pages of a block
have one count, so that the block's class is all that is kept, and no page takes memory. MiDAS (Oh et al., FAST 2024)
chooses how many such classes there are and how large each may grow, and keeps hot pages in a class of their own; that
needs a victim for each class, and is not here.
"""

from dataclasses import dataclass
from typing import ClassVar

from cachezoo.kernels.placing.state import CLASSES, MIDA, Rule
from cachezoo.kernels.step import step


@step
def of_copy(stream: int) -> int:
    """The class behind that of the block which is erased."""
    return min(stream + 1, CLASSES - 1)


@dataclass(frozen=True)
class Mida(Rule):
    """MiDA."""

    scheme: ClassVar[int] = MIDA
    streams: ClassVar[int] = CLASSES
    keeps: ClassVar[int] = CLASSES

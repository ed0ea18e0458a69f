"""FK, future knowledge: what dies within the same short time lies together.

Source: Wang et al., "Separating Data via Block Invalidation Time Inference for Write Amplification Reduction in
Log-Structured Storage", FAST 2022: with the future known, what will die within the next segment of writes goes to the
first class, what will die within the segment after that to the second, and so on; the last class takes the rest. A
copied page is placed anew by what is left of its life. Their segments are of 512 MiB; on a drive of small blocks six
such classes see little of the future. So the length of a class in page writes is an argument here, which is ours.
"""

from dataclasses import dataclass
from typing import ClassVar

from cachezoo.errors import ConfigError
from cachezoo.kernels.placing.state import CLASSES, FUTURE, Placing, Rule
from cachezoo.kernels.step import step

SPAN = 0  # of Placing.numbers: page writes of a class


@step
def class_of(placing: Placing, left: int) -> int:
    """By the page writes that are left until the version dies, at least 1."""
    return int(min((left - 1) // placing.numbers[SPAN], CLASSES - 1))


@dataclass(frozen=True)
class Future(Rule):
    """FK.

    Attributes:
        span: page writes of a class; the paper's is a block's, which is told by nothing here.
    """

    scheme: ClassVar[int] = FUTURE
    streams: ClassVar[int] = CLASSES
    keeps: ClassVar[int] = CLASSES + 1
    fills: ClassVar[int] = CLASSES - 1
    knows: ClassVar[bool] = True
    span: int = 64

    def __post_init__(self) -> None:
        if self.span < 1:
            raise ConfigError(f"FK with classes of {self.span} page writes: at least 1")

    def start(self, logical_pages: int, blocks: int) -> Placing:
        """See `Rule.start`."""
        return self._state(death=logical_pages, numbers=(self.span,))

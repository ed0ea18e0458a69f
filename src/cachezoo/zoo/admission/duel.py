"""Disk-head time with a model and with a rival, in the same windows of time."""

from dataclasses import dataclass

from cachezoo.arrays import F64
from cachezoo.contest.lead import Lead, saving


@dataclass(frozen=True)
class Duel:
    """Load of the model and of a rival in the same windows.

    Attributes:
        ours: float64[w] disk-head seconds per second with the model.
        theirs: float64[w] with the rival.
        least: share of the rival's mean load that has to be saved.
    """

    ours: F64
    theirs: F64
    least: float

    @property
    def saved(self) -> Lead:
        """The share of the rival's mean load that is saved, in pairs of windows."""
        return saving(self.ours, self.theirs)

    @property
    def won(self) -> bool:
        """The saving is above chance and worth having, and the peak is no higher."""
        return bool(self.saved.worth(self.least) and self.ours.max() <= self.theirs.max())

    def describe(self) -> str:
        """Mean and peak of both, in words."""
        low, high = self.saved.ends
        return (
            f"mean read disk-head time {self.ours.mean():.4f} against {self.theirs.mean():.4f}, "
            f"90 % interval of the saving [{low:.1%}, {high:.1%}], "
            f"peak {self.ours.max():.4f} against {self.theirs.max():.4f} (disk-head seconds per second)"
        )

"""Share or split: what the test mixes say of the choice of validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cachezoo.contest.verdict import LEAST_SAVING
from cachezoo.questions.share.columns import Kind, Saved, ShareMetrics, ShareMix, ShareRow

Verdict = Literal["split", "share", "no matter", "cannot be told"]
"""Of a rival's transfers: what is less is no reason to choose."""


@dataclass(frozen=True)
class Case:
    """The advised family on a test mix at a size.

    Attributes:
        name, mix: the test mix.
        row: what the family does there.
        rival: what the best family does there that does the other thing, share or split; None without one.
    """

    name: str
    mix: ShareMix
    row: ShareRow
    rival: ShareRow | None

    @property
    def saved(self) -> Saved | None:
        """Against the rival."""
        return self.row.saved.get(self.rival.family) if self.rival is not None else None

    @property
    def verdict(self) -> Verdict:
        """What this case says."""
        saved = self.saved
        if saved is None:
            return "cannot be told"
        low, high = saved.interval
        own, other = _both(self.row.splits)
        if saved.transfers >= LEAST_SAVING and low > 0:
            return own
        if saved.transfers <= -LEAST_SAVING and high < 0:
            return other
        return "no matter" if -LEAST_SAVING < low and high < LEAST_SAVING else "cannot be told"

    @property
    def refuted(self) -> bool:
        """Whether the test mix says the other thing than validation."""
        return self.verdict == _both(self.row.splits)[1]

    @property
    def tone(self) -> str:
        """Of the verdict, as `cachezoo.show.table.Cell` has it."""
        if self.refuted:
            return "bad"
        return {"cannot be told": "unsure", "no matter": ""}.get(self.verdict, "good")


def _both(splits: bool) -> tuple[Verdict, Verdict]:
    return ("split", "share") if splits else ("share", "split")


def cases(metrics: ShareMetrics, kinds: Sequence[Kind] = ("all", "unseen", "pair")) -> list[Case]:
    """The advised family on the test mixes of some kinds, at each size."""
    found = []
    for name, mix in metrics.mixes.items():
        for size in metrics.sizes if mix.kind in kinds else []:
            row = mix.row(size.share, metrics.advised or "")
            if row is not None:
                found.append(Case(name, mix, row, mix.row(size.share, metrics.rival or "")))
    return found


def verdict_of(found: Sequence[Case]) -> Verdict:
    """What most of some cases say; without such a majority it cannot be told."""
    said = [case.verdict for case in found]
    verdicts: tuple[Verdict, ...] = ("split", "share", "no matter")
    return next((one for one in verdicts if 2 * said.count(one) > len(said)), "cannot be told")

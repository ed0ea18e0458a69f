"""What a cache does on a test trace, beside what one would run instead."""

from dataclasses import dataclass

from cachezoo.contest.verdict import LEAST_HITS
from cachezoo.metrics.flash import FlashRow, Gap
from cachezoo.metrics.page import PolicyRow


@dataclass(frozen=True)
class Case:
    """What is run on a test trace.

    Attributes:
        trace: its key.
        unseen: of a program that no train trace of the category was recorded from.
    """

    trace: str
    unseen: bool


@dataclass(frozen=True)
class InPage(Case):
    """In the page cache.

    Attributes:
        own: figures of what is run.
        best: of the trace's best classic, in hindsight.
        choice: of the classic that validation would have chosen; None without validation.
    """

    own: PolicyRow
    best: PolicyRow
    choice: PolicyRow | None

    @property
    def rival(self) -> PolicyRow:
        """What one would run instead."""
        return self.choice or self.best


@dataclass(frozen=True)
class InFlash(Case):
    """In the flash cache.

    Attributes:
        own: figures of what is run.
        beside: of the best policy without a model.
        best: the models' comparison with it, at the same writes, and OPT.
        plain: the same with RejectX without prefetch.
        rival: that best policy, for people.
        mode: the prefetch mode of the models.
        accept_all: figures of the cache that lets everything in.
    """

    own: FlashRow
    beside: FlashRow
    best: Gap
    plain: Gap
    rival: str
    mode: str
    accept_all: FlashRow


def surely_more_hits(row: PolicyRow) -> bool:
    """More hits than the best classic: the interval of the gap closed above 0, and a lead that is worth having."""
    sure = row.gap_closed_interval is not None and row.gap_closed_interval[0] > 0
    return sure and row.gap_points >= 100 * LEAST_HITS


def surely_fewer_hits(row: PolicyRow) -> bool:
    """Fewer hits than the best classic, beyond what chance explains; without an interval, fewer at all."""
    return row.gap_points < 0 if row.gap_closed_interval is None else row.gap_closed_interval[1] < 0


def slower_by(case: InPage) -> float:
    """µs of mean response time lost to the classic that one would run instead; negative where it is won."""
    return case.own.mean_response_us - case.rival.mean_response_us


def fewer_writes(case: InPage) -> bool:
    """Whether less is written to the SSD than with that classic."""
    return case.own.ssd_writes_per_100_io < case.rival.ssd_writes_per_100_io


def break_even_us(case: InPage) -> float:
    """What a decision may cost for the mean response time to equal that classic's."""
    return case.own.decision_us - slower_by(case)

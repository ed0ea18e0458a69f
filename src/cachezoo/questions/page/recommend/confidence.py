"""How far a recommendation can be trusted, and why not further."""

from dataclasses import dataclass
from typing import Literal

from cachezoo.contest.verdict import Verdict
from cachezoo.flash.load import DAY_S
from cachezoo.questions.page.recommend.bench import Bench
from cachezoo.questions.page.recommend.candidates import SIMPLEST
from cachezoo.questions.page.recommend.contest import Contest
from cachezoo.questions.page.recommend.rows import Row
from cachezoo.show.formats import duration, number, share

Level = Literal["high", "medium", "low"]
FEW_ACCESSES = 20_000
FEW_RETURNS = 1_000
SURE = 0.03
"""Half the interval of the hit ratio up to which confidence may be high."""
STILL_NEW = 0.02
"""Share of first accesses up to which all pages of the trace are taken for all that there are."""
STEADY_LOSS = 0.01
"""Hit ratio by which the best policy of the first half may fall behind on the second."""


@dataclass(frozen=True)
class Confidence:
    """How sure a recommendation is.

    Attributes:
        level: in a word.
        reasons: why it is not higher, sentences without a full stop; empty where it is high.
        times_best: time blocks in which no candidate had more hits than the recommended policy; of `blocks`.
        blocks: time blocks of the second half.
    """

    level: Level
    reasons: tuple[str, ...]
    times_best: int
    blocks: int


def _doubt_of_span(bench: Bench) -> list[tuple[Level, str]]:
    days = bench.span_days
    if not bench.short:
        return []
    what = "how long the trace lasted is unknown" if days is None else f"only {duration(DAY_S * days)} are counted"
    return [("medium", f"{what}: other hours may differ")]


def _doubts(bench: Bench, row: Row, contest: Contest, place: int | None, useful: bool) -> list[tuple[Level, str]]:
    doubts = _doubt_of_span(bench)
    if not bench.blocks:
        few = f"the trace has {len(bench.pages.page_ids):,} page accesses, too few for time blocks"
        return [("low", few), *doubts]
    if bench.counted < FEW_ACCESSES:
        doubts.insert(0, ("low", f"only {bench.counted:,} page accesses are counted"))
    if not useful:
        return doubts
    returns = round((1 - bench.first_share) * bench.counted)
    if returns < FEW_RETURNS:
        doubts.append(("low", f"only {returns:,} of the accesses that are counted are of pages seen before"))
    seen = int(bench.pages.page_ids[: bench.half].max(initial=-1)) + 1
    if seen < row.capacity < bench.pages.n_pages:
        doubts.append(("medium", "a cache of this size is not yet full when counting begins"))
    if row.capacity >= bench.pages.n_pages and bench.first_share > STILL_NEW:
        new = f"{share(bench.first_share)} of the accesses that are counted are of new pages"
        doubts.append(("medium", f"{new}, so a longer trace would touch more than this holds"))
    if row.ran.policy == row.chosen != SIMPLEST and row.verdict == Verdict.EVEN:
        doubts.append(("medium", "chance may explain the lead over LRU"))
    interval = row.ran.interval
    if interval is not None and (half := (interval[1] - interval[0]) / 2) > SURE:
        doubts.append(("medium", f"the hit ratio changes over time: ± {number(100 * half)} points on average"))
    if place is not None:
        loss = float(contest.judged[:, place].max() - contest.judged[contest.policies.index(row.ran.policy), place])
        if loss > STEADY_LOSS:
            best = contest.policies[int(contest.judged[:, place].argmax())]
            but = "but not steadily" if best == row.chosen else "and did not on the first"
            doubts.append(("medium", f"{best} hits {number(100 * loss, 1)} points more on the second half, {but}"))
    return doubts


def confidence(bench: Bench, row: Row, contest: Contest, useful: bool = True) -> Confidence:
    """What speaks against a recommendation.

    Args:
        bench: the trace.
        row: what is recommended.
        contest: all candidates.
        useful: a cache is recommended; few returns to pages speak for it that none is.
    """
    place = contest.capacities.index(row.capacity) if row.capacity in contest.capacities else None
    doubts = _doubts(bench, row, contest, place, useful)
    levels = {level for level, _ in doubts}
    level: Level = "low" if "low" in levels else "medium" if levels else "high"
    best = contest.times_best(row.ran.policy, place) if place is not None else 0
    return Confidence(level, tuple(reason for _, reason in doubts), best, bench.blocks if place is not None else 0)

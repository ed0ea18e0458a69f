"""The choices of validation, and the bounds, on a test mix: figures with intervals, and who reads less than whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64
from cachezoo.contest.blocks import BLOCKS
from cachezoo.contest.lead import ahead
from cachezoo.questions.share.choose import Case, splits
from cachezoo.questions.share.columns import EQUAL, STATIC, App, AppRow, Count, Saved, ShareMix, ShareRow, Timeline
from cachezoo.questions.share.judged import Judged, lead
from cachezoo.questions.share.partition import Asked, Shared
from cachezoo.questions.share.stage_bench import MixBench


@dataclass(frozen=True)
class Plan:
    """What runs on every test mix.

    Attributes:
        chosen: by size and family.
        bounds: by name.
        rivals: families and bounds that each row is compared with.
        lines: the family whose split over time is kept; None where none splits.
    """

    chosen: Mapping[float, Mapping[str, Asked]]
    bounds: Mapping[str, Asked]
    rivals: Sequence[str]
    lines: str | None


@dataclass(frozen=True)
class Ran:
    """A family or bound on a test mix at a size.

    Attributes:
        asked: what was run.
        shared: what it did.
        judged: its figures.
    """

    asked: Asked
    shared: Shared
    judged: Judged

    @classmethod
    def of(cls, case: Case, asked: Asked) -> "Ran | None":
        """Run it; None where the cache is too small for it."""
        shared = case.run(asked)
        return None if shared is None else cls(asked, shared, case.judged(asked, shared))

    def saved(self, rival: "Ran") -> Saved:
        """How much less it reads than a rival."""
        own, other = self.judged, rival.judged
        hits = ahead(own.block_hits, other.block_hits, own.hit_ratio - other.hit_ratio)
        reads = lead(own, other)
        return Saved(transfers=reads.value, interval=reads.ends, hits=hits.value, hits_interval=hits.ends)


def judge(bench: MixBench, plan: Plan) -> ShareMix:
    """Run every family's choice and every bound at every size."""
    rows: list[ShareRow] = []
    lines: list[Timeline] = []
    mix, counted = bench.mix, 0
    for size, chosen in plan.chosen.items():
        case = Case.of(bench, size)
        counted = int(case.counting.counted.sum())
        asked = {**chosen, **plan.bounds}
        every = {one: Ran.of(case, one) for one in dict.fromkeys(asked.values())}
        ran = {name: found for name, one in asked.items() if (found := every[one]) is not None}
        rivals = {name: ran[name] for name in plan.rivals if name in ran}
        rows += [_row(case, name, own, rivals, name in plan.bounds) for name, own in ran.items()]
        if plan.lines is not None and plan.lines in ran:
            shares = timeline(ran[plan.lines].shared, len(mix), BLOCKS)
            parts = {name: shares[:, a].tolist() for a, name in enumerate(mix.names)}
            lines.append(Timeline(size=size, family=plan.lines, shares=parts))
    return ShareMix(
        role="test", kind=bench.named.kind, order=mix.order, references=len(mix), counted=counted, pages=mix.n_pages,
        apps={
            one.name: App(category=part.category, references=len(one), pages=one.n_pages)
            for one, part in zip(mix.applications, bench.parts, strict=True)
        },
        rows=rows, timelines=lines,
    )  # fmt: skip


def _row(case: Case, family: str, own: Ran, rivals: Mapping[str, Ran], bound: bool) -> ShareRow:
    judged, pages = own.judged, case.whole(own.asked)
    apps = {
        one.name: AppRow(
            hit_ratio=one.hit_ratio,
            transfers=one.transfers,
            slowdown=one.slowdown,
            share=None if one.pages is None else one.pages / pages,
        )
        for one in judged.applications
        if one.hit_ratio is not None and one.transfers is not None and one.slowdown is not None
    }
    return ShareRow(
        size=case.size,
        pages=pages,
        family=family,
        partitioner=str(own.asked),
        splits=splits(own.asked),
        bound=bound,
        hit_ratio=judged.hit_ratio,
        hit_interval=judged.hits.ends,
        transfers=judged.transfers,
        transfers_interval=judged.reads.ends,
        moved=judged.moved,
        fairness=judged.fairness,
        slowest=max(one.slowdown for one in apps.values()),
        apps=apps,
        saved={name: own.saved(rival) for name, rival in rivals.items() if name != family},
    )


def timeline(shared: Shared, references: int, blocks: int) -> F64:
    """float64[blocks, A]: mean part of what is split that each application has, in blocks of as many references.

    Args:
        shared: what a partitioner did.
        references: of all applications.
        blocks: of time, over the whole mix.
    """
    kept = shared.begins < references
    begins, splits = shared.begins[kept], shared.splits[kept]
    spans = np.diff(np.append(begins, references))[:, None]
    area = np.concatenate([np.zeros((1, splits.shape[1])), np.cumsum(splits * spans, axis=0)])
    edges, ends = np.linspace(0, references, blocks + 1), np.append(begins, references)
    at = np.stack([np.interp(edges, ends, area[:, a]) for a in range(splits.shape[1])], axis=1)
    means = np.diff(at, axis=0)
    found: F64 = means / means.sum(axis=1, keepdims=True)
    return found


def counts(mixes: Sequence[ShareMix], family: str, near: float) -> Count:
    """On how many mixes and sizes a family reads least, near the best fixed split, or less or more than equal parts.

    Args:
        mixes: test mixes.
        family: which.
        near: how much above the best fixed split is near it.
    """
    rows = [(mix, row) for mix in mixes for row in mix.rows if row.family == family]
    against = [row.saved[EQUAL] for _, row in rows if EQUAL in row.saved]
    fixed = [(row, best) for mix, row in rows if (best := mix.row(row.size, STATIC)) is not None]
    return Count(
        cases=len(rows),
        least=sum(row.transfers == _least(mix, row.size) for mix, row in rows),
        near_static=sum(row.transfers <= (1 + near) * best.transfers for row, best in fixed),
        below_equal=sum(one.interval[0] > 0 for one in against),
        above_equal=sum(one.transfers < 0 for one in against),
        surely_above_equal=sum(one.interval[1] < 0 for one in against),
    )


def _least(mix: ShareMix, size: float) -> float:
    return min(row.transfers for row in mix.rows if row.size == size and not row.bound)

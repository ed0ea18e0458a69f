"""Labels of the caching model: what an oracle cache did with each request of one trace.

Every trace is labelled from its own accesses alone (cut first, label after). All candidate teachers are labelled;
training chooses among the benefit oracle's horizons by their hit ratio on validation.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cachezoo.config.rcrnn import BenefitLabel
from cachezoo.errors import TraceError
from cachezoo.io import dump_json, read_rows, write_table
from cachezoo.kernels.benefit import page_benefit
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.oracle_cache import (
    CACHED,
    CONSULTED,
    DURATION_MASK,
    DURATION_SHIFT,
    FORCED,
    KEPT,
    KEPT_SETTLED,
    SETTLED,
    OracleRun,
    decided_cache,
    oracle_cache,
    request_tags,
    useful_stays,
)
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

U8 = npt.NDArray[np.uint8]
F64 = npt.NDArray[np.float64]
F32 = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]
BELADY = "belady"
METADATA_KEY = "cachezoo.benefit_labels"
UNITS = {
    "cachezoo.unit.benefit": "mean benefit of the request's pages, RC-RNN Eq. 3",
    "cachezoo.unit.tags": "bits: 1 cached, 2 consulted, 4 settled, 8 forced, 16 kept, 128 kept settled; "
    "bits 5 and 6: 0 unknown, 1 soon, 2 mean, 3 late",
}
# Belady's tags look at most this part of a trace ahead, so that most of its rows can settle.
BELADY_SHARE = 4


@dataclass(frozen=True)
class Tags:
    """Tags of each request at one capacity; see `cachezoo.kernels.oracle_cache.request_tags`.

    Attributes:
        bits: uint8[n].
    """

    bits: U8

    def _flag(self, bit: int) -> Bool:
        flag: Bool = (self.bits & bit) != 0
        return flag

    @property
    def cached(self) -> Bool:
        """At least half of the missing pages were admitted, or nothing was missing."""
        return self._flag(CACHED)

    @property
    def consulted(self) -> Bool:
        """Something was missing."""
        return self._flag(CONSULTED)

    @property
    def settled(self) -> Bool:
        """A longer trace has the same tag."""
        return self._flag(SETTLED)

    @property
    def forced(self) -> Bool:
        """Free space decided, not the page's worth."""
        return self._flag(FORCED)

    @property
    def kept(self) -> Bool:
        """At least half of its pages are used again, within the teacher's horizon, before they leave."""
        return self._flag(KEPT)

    @property
    def kept_settled(self) -> Bool:
        """A longer trace has the same `kept`."""
        return self._flag(KEPT_SETTLED)

    @property
    def duration(self) -> U8:
        """uint8[n]: 0 unknown, 1 soon, 2 mean, 3 late."""
        duration: U8 = (self.bits >> np.uint8(DURATION_SHIFT)) & np.uint8(DURATION_MASK)
        return duration

    @property
    def taught(self) -> Bool:
        """Rows whose cached tag a model learns from."""
        return self.consulted & self.settled & ~self.forced


@dataclass(frozen=True)
class Labels:
    """Labels of a trace.

    Attributes:
        tags: by teacher (``benefit_3``, ``belady``) and capacity in percent.
        hit_ratio: the oracle's page hit ratio, by the same.
        decided_hit_ratio: the same when one decision is taken for all of a request's missing pages.
        benefit: float32[n], mean benefit of a request's pages at the first horizon and the smallest capacity.
    """

    tags: dict[tuple[str, int], Tags]
    hit_ratio: dict[tuple[str, int], float]
    decided_hit_ratio: dict[tuple[str, int], float]
    benefit: F32


def capacity_pages(fraction: float, n_pages: int) -> int:
    """A cache's size in pages, at least 1, from its share of the working set."""
    return max(1, round(fraction * n_pages))


def percent(fraction: float) -> int:
    """A capacity as the whole percents that columns are named by."""
    return round(100 * fraction)


def teacher_names(params: BenefitLabel) -> list[str]:
    """Every teacher labelled, the benefit oracle's horizons first."""
    return [*(f"benefit_{horizon}" for horizon in params.horizons), BELADY]


def tag_column(teacher: str, capacity: int) -> str:
    """Column of a teacher's tags in the labels file, e.g. ``tags_benefit_3_10``."""
    return f"tags_{teacher}_{capacity:02d}"


def belady_worth(pages: PageAccesses) -> F64:
    """Negated index of the next use: the page used again soonest is worth most; -inf if never."""
    following = next_access(pages.page_ids, pages.n_pages)
    worth = -following.astype(np.float64)
    worth[following >= len(pages.page_ids)] = -np.inf
    return worth


def reach_of(teacher: str, capacity: int, accesses: int, params: BenefitLabel) -> int:
    """Page accesses ahead within which a use counts for a teacher's tags.

    A benefit teacher's own horizon. For Belady the longest of them, but at most a quarter of the trace: the optimum
    may hold a page for a use at the very end, and were that a tag, no row could settle where the cache always holds
    a page that is not used again within the trace.

    Args:
        teacher: one of `teacher_names`.
        capacity: pages.
        accesses: page accesses of the trace.
        params: `label.benefit`.
    """
    if teacher == BELADY:
        return max(1, min(max(params.horizons) * capacity, accesses // BELADY_SHARE))
    return int(teacher.removeprefix("benefit_")) * capacity


def belady_settled(run: OracleRun, reach: int) -> int:
    """The access from which on a longer trace may give `useful_stays` of the optimum another outcome.

    A longer trace leaves the pages that are used again within the part where they are, for the others are worth
    less; which of those are in the cache is open, but none is where it was full of pages used again. A page that is
    not used again has earned nothing if it left before such an access, or if `reach` ended within the part.
    """
    return max(0, run.contested, len(run.outcome) - reach)


def label_trace(
    trace: Trace, pages: PageAccesses, t_hdd_us: F64, t_ssd_us: F64, params: BenefitLabel
) -> Labels:
    """Label a trace by every teacher at every capacity.

    Args:
        trace: requests of one part.
        pages: its page accesses.
        t_hdd_us: float64[n] replayed service times of the hard disk.
        t_ssd_us: float64[n] of the SSD.
        params: `label.benefit`.

    Raises:
        TraceError: responses of another length than the trace.
    """
    if len(t_hdd_us) != len(trace) or len(t_ssd_us) != len(trace):
        message = f"{trace.meta.trace_id}: {len(t_hdd_us)} responses for {len(trace)} requests; replay the trace again"
        raise TraceError(message)
    tags, ratio, decided = {}, {}, {}
    benefit = np.zeros(len(trace), np.float32)
    for fraction in params.capacities:
        capacity = capacity_pages(fraction, pages.n_pages)
        for teacher in teacher_names(params):
            reach = reach_of(teacher, capacity, len(pages.page_ids), params)
            worth = _worth(teacher, reach, trace, pages, t_hdd_us, t_ssd_us)
            run = oracle_cache(pages.page_ids, worth, pages.n_pages, capacity)
            key = (teacher, percent(fraction))
            tags[key] = tags_of(teacher, run, pages, capacity, reach)
            ratio[key] = run.hits / len(pages.page_ids)
            decided[key] = _decided_ratio(tags[key], worth, pages, capacity)
            if len(tags) == 1:
                sums = np.add.reduceat(worth, pages.request_start[:-1])
                benefit = (sums / np.diff(pages.request_start)).astype(np.float32)
    return Labels(tags, ratio, decided, benefit)


def _worth(
    teacher: str, reach: int, trace: Trace, pages: PageAccesses, t_hdd_us: F64, t_ssd_us: F64
) -> F64:
    if teacher == BELADY:
        return belady_worth(pages)
    return page_benefit(pages.request_start, pages.page_ids, trace.op, t_hdd_us, t_ssd_us, pages.n_pages, reach)


def tags_of(teacher: str, run: OracleRun, pages: PageAccesses, capacity: int, reach: int) -> Tags:
    """Tags of each request from a teacher's run.

    Args:
        teacher: one of `teacher_names`.
        run: of the oracle cache on the teacher's worth.
        pages: page accesses of one part.
        capacity: pages.
        reach: page accesses ahead within which a use counts, as of `reach_of`.
    """
    if teacher == BELADY:
        settled_end = kept_end = belady_settled(run, reach)
        run = useful_stays(pages.page_ids, run, reach, pages.n_pages)
    else:
        # An access's worth is known where its horizon ends within the part, a hit's fate one horizon before that.
        m = len(pages.page_ids)
        settled_end, kept_end = max(0, m - reach), max(0, m - 2 * reach)
        run = replace(run, reuse=np.where(run.reuse <= reach, run.reuse, 0))
    return Tags(request_tags(pages.request_start, run, settled_end, kept_end, capacity))


def _decided_ratio(tags: Tags, worth: F64, pages: PageAccesses, capacity: int) -> float:
    decision = tags.cached.astype(np.uint8)
    hits = decided_cache(pages.request_start, pages.page_ids, worth, decision, pages.n_pages, capacity)
    return float(hits.mean())


def write_benefit_labels(
    trace: Trace, pages: PageAccesses, t_hdd_us: F64, t_ssd_us: F64, params: BenefitLabel, path: Path
) -> Labels:
    """Label a trace and write the table: `benefit`, and one column of tag bits a teacher and capacity.

    The oracles' hit ratios stand in the file's metadata.
    """
    import pyarrow as pa

    labels = label_trace(trace, pages, t_hdd_us, t_ssd_us, params)
    columns = {"benefit": pa.array(labels.benefit, pa.float32())}
    for (teacher, capacity), tags in labels.tags.items():
        columns[tag_column(teacher, capacity)] = pa.array(tags.bits, pa.uint8())
    figures = {
        name: {tag_column(*key).removeprefix("tags_"): value for key, value in table.items()}
        for name, table in (("hit_ratio", labels.hit_ratio), ("decided_hit_ratio", labels.decided_hit_ratio))
    }
    metadata = {METADATA_KEY: dump_json(figures), "cachezoo.trace_id": trace.meta.trace_id, **UNITS}
    write_table(path, pa.table(columns), metadata)
    return labels


def read_benefit_labels(path: Path, params: BenefitLabel, requests: int | None = None) -> Labels:
    """Read what `write_benefit_labels` wrote.

    Raises:
        TraceError: the file is damaged, has not as many rows as there are `requests`, or holds other labels than
            `params` asks for.
    """
    table, metadata = read_rows(path, "label_benefit", requests)
    keys = [(teacher, percent(c)) for c in params.capacities for teacher in teacher_names(params)]
    missing = [tag_column(*key) for key in keys if tag_column(*key) not in table.column_names]
    if METADATA_KEY not in metadata or missing:
        message = f"{path}: holds no {(missing or ['labels'])[0]}; run the stage label_benefit"
        raise TraceError(message)
    figures = json.loads(metadata[METADATA_KEY])
    name = {key: tag_column(*key).removeprefix("tags_") for key in keys}
    return Labels(
        {key: Tags(table.column(tag_column(*key)).to_numpy()) for key in keys},
        {key: figures["hit_ratio"][name[key]] for key in keys},
        {key: figures["decided_hit_ratio"][name[key]] for key in keys},
        table.column("benefit").to_numpy(),
    )

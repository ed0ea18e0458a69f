"""Labels of the caching model: what an oracle cache did with each request of one trace.

Every trace is labelled from its own accesses alone (cut first, label after). All candidate teachers are labelled;
training chooses among the benefit oracle's horizons by their hit ratio on validation.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from cachezoo.arrays import F64, Bool
from cachezoo.errors import TraceError
from cachezoo.io import dump_json, table_of, write_table
from cachezoo.kernels.benefit import page_benefit, time_saved
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.oracle_cache import (
    KEPT_SETTLED,
    OracleRun,
    decided_cache,
    oracle_cache,
    request_tags,
    useful_stays,
)
from cachezoo.kernels.request_oracle import request_oracle
from cachezoo.labels.tags import BELADY, COST_BELADY, METADATA_KEY, Labels, Tags, tag_column, teacher_names
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces.pages import PageAccesses, capacity_pages, percent
from cachezoo.traces.table import Trace

UNITS = {
    "cachezoo.unit.benefit": "mean benefit of the request's pages, RC-RNN Eq. 3",
    "cachezoo.unit.tags": "bits: 1 cached, 2 consulted, 4 settled, 8 forced, 16 kept, 128 kept settled; "
    "bits 5 and 6: 0 unknown, 1 soon, 2 mean, 3 late",
}
COLUMNS = {
    "benefit": Column(
        "float32",
        Means(
            "mean benefit of the request's pages at the first horizon and the smallest capacity (RC-RNN Eq. 3)", "µs"
        ),
    ),
    "tags_benefit_<horizon>_<capacity>": Column(
        "uint8",
        Means(
            "oracle of that horizon (in capacities; future or trace: all uses) at that capacity (in %): 1 cached, 2 "
            "consulted, 4 settled, 8 forced by free space, 16 used again before leaving, 32 and 64 the duration (0 "
            "unknown, 1 soon, 2 mean, 3 late), 128 the bit 16 is settled",
            "bits",
        ),
    ),
    "tags_belady_<capacity>": Column("uint8", Means("as tags_benefit, the oracle being Belady's", "bits")),
    "tags_cost_belady_<capacity>": Column(
        "uint8",
        Means(
            "as tags_benefit, the oracle being the one that saves response time and decides by request; there with "
            "label.benefit.oracle: cost_belady alone",
            "bits",
        ),
        "sometimes",
    ),
}
LABELS = Table(
    Each("one request", "row number, as in data/requests", text="RC-RNN's oracle caches and their tags"),
    COLUMNS,
    {
        "cachezoo.trace_id": Column("text", Means("the trace")),
        METADATA_KEY: Column(
            "text",
            Means(
                "JSON: page hit ratio of each oracle over the whole trace, page by page (hit_ratio) and by one "
                "decision a request (decided_hit_ratio)",
                "ratio",
            ),
        ),
        "cachezoo.unit.<column>": Column("text", Means("unit of a column")),
    },
)
# Belady's tags look at most this part of a trace ahead, so that most of its rows can settle.
BELADY_SHARE = 4
# A page that is held longer than this part of a trace saves little for the room that it takes; half of the rows settle.
COST_SHARE = 2
WHOLE_TRACE = "benefit_trace"
# Benefits that count all uses: those to come, or past ones too.
ENDLESS = ("benefit_future", WHOLE_TRACE)


def belady_worth(pages: PageAccesses) -> F64:
    """Negated index of the next use: the page used again soonest is worth most; -inf if never."""
    following = next_access(pages.page_ids, pages.n_pages)
    worth = -following.astype(np.float64)
    worth[following >= len(pages.page_ids)] = -np.inf
    return worth


def reach_of(teacher: str, capacity: int, accesses: int, params: BenefitLabel) -> int:
    """Page accesses ahead within which a use counts for a teacher's tags.

    A benefit teacher's own horizon; the whole trace where it counts all uses. For Belady the longest of them, but at
    most a quarter of the trace: the optimum may hold a page for a use at the very end, and were that a tag, no row
    could settle where the cache always holds a page that is not used again within the trace. For the oracle that saves
    time the longest too, at most half of the trace; it knows no use beyond.

    Args:
        teacher: one of `teacher_names`.
        capacity: pages.
        accesses: page accesses of the trace.
        params: `label.benefit`.
    """
    if teacher in (BELADY, COST_BELADY):
        share = BELADY_SHARE if teacher == BELADY else COST_SHARE
        longest = max(horizon for horizon in params.horizons if isinstance(horizon, int))
        return max(1, min(longest * capacity, accesses // share))
    if teacher in ENDLESS:
        return accesses
    return int(teacher.removeprefix("benefit_")) * capacity


def belady_settled(run: OracleRun, reach: int) -> int:
    """The access from which on a longer trace may give `useful_stays` of the optimum another outcome.

    A longer trace leaves the pages that are used again within the part where they are, for the others are worth
    less; which of those are in the cache is open, but none is where it was full of pages used again. A page that is
    not used again has earned nothing if it left before such an access, or if `reach` ended within the part.
    """
    return max(0, run.contested, len(run.outcome) - reach)


def label_trace(trace: Trace, pages: PageAccesses, t_hdd_us: F64, t_ssd_us: F64, params: BenefitLabel) -> Labels:
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
            worth = worth_of(teacher, reach, trace, pages, t_hdd_us, t_ssd_us)
            run = run_of(teacher, worth, pages, capacity)
            key = (teacher, percent(fraction))
            tags[key] = tags_of(teacher, run, pages, capacity, reach)
            ratio[key] = run.hits / len(pages.page_ids)
            by_request = teacher == COST_BELADY
            decided[key] = ratio[key] if by_request else _decided_ratio(tags[key], worth, pages, capacity)
            if len(tags) == 1:
                sums = np.add.reduceat(worth, pages.request_start[:-1])
                benefit = (sums / np.diff(pages.request_start)).astype(np.float32)
    return Labels(tags, ratio, decided, benefit)


def worth_of(teacher: str, reach: int, trace: Trace, pages: PageAccesses, t_hdd_us: F64, t_ssd_us: F64) -> F64:
    """What each accessed page is worth to a teacher, float64[m].

    Args:
        teacher: one of `teacher_names`.
        reach: as of `reach_of`.
        trace: requests of one part.
        pages: its page accesses.
        t_hdd_us: float64[n] replayed service times of the hard disk.
        t_ssd_us: float64[n] of the SSD.
    """
    if teacher == BELADY:
        return belady_worth(pages)
    if teacher == COST_BELADY:
        return time_saved(pages.request_start, pages.page_ids, t_hdd_us, t_ssd_us, pages.n_pages, reach)
    horizon = None if teacher == WHOLE_TRACE else reach
    return page_benefit(pages.request_start, pages.page_ids, trace.op, t_hdd_us, t_ssd_us, pages.n_pages, horizon)


def run_of(teacher: str, worth: F64, pages: PageAccesses, capacity: int) -> OracleRun:
    """A teacher's cache on what pages are worth to it: page by page, or by request where whole requests save time."""
    if teacher == COST_BELADY:
        return request_oracle(pages.request_start, pages.page_ids, worth, pages.n_pages, capacity)
    return oracle_cache(pages.page_ids, worth, pages.n_pages, capacity)


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
        # Where all uses count, a longer trace would change every worth: the part is taken for the whole.
        m = len(pages.page_ids)
        settled_end, kept_end = (m, m) if teacher in ENDLESS else (max(0, m - reach), max(0, m - 2 * reach))
        run = replace(run, reuse=np.where(run.reuse <= reach, run.reuse, 0))
    bits = request_tags(pages.request_start, run, settled_end, kept_end, capacity)
    if teacher == COST_BELADY:
        bits |= np.where(_fates_settled(run, pages, settled_end), np.uint8(KEPT_SETTLED), np.uint8(0))
    return Tags(bits)


def _fates_settled(run: OracleRun, pages: PageAccesses, settled_end: int) -> Bool:
    """bool[n]: requests of whose pages it is certain whether they are used again before they leave.

    One `reach` before `settled_end` that is so of all. Later it is so of a page that was used again, or had left, by
    then: half of a trace is too much to mask.
    """
    place = np.arange(len(run.outcome))
    left = np.where(run.entry >= 0, run.left[run.entry], -1)
    again = (run.reuse > 0) & (place + run.reuse < settled_end)
    certain = (place < settled_end) & (again | (left < settled_end))
    whole: Bool = np.minimum.reduceat(certain, pages.request_start[:-1])
    return whole


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
    labels = label_trace(trace, pages, t_hdd_us, t_ssd_us, params)
    tags = {tag_column(teacher, capacity): own.bits for (teacher, capacity), own in labels.tags.items()}
    figures = {
        name: {tag_column(*key).removeprefix("tags_"): value for key, value in table.items()}
        for name, table in (("hit_ratio", labels.hit_ratio), ("decided_hit_ratio", labels.decided_hit_ratio))
    }
    metadata = {METADATA_KEY: dump_json(figures), "cachezoo.trace_id": trace.meta.trace_id, **UNITS}
    write_table(path, table_of({"benefit": labels.benefit, **tags}, COLUMNS), metadata)
    return labels

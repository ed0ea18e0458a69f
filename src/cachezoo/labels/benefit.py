"""Labels of the caching model: what an oracle cache did with each request of one trace.

Every trace is labelled from its own accesses alone (cut first, label after). All candidate teachers are labelled;
training chooses among the benefit oracle's horizons by their hit ratio on validation.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from cachezoo.arrays import F64, I32, I64
from cachezoo.devices.responses import read_responses
from cachezoo.errors import TraceError
from cachezoo.io import ROW_GROUP_ROWS, dump_json
from cachezoo.kernels.benefit import Benefit, TimeSaved
from cachezoo.kernels.bounds.following import width_of
from cachezoo.kernels.oracle_cache import DecidedCache, Fates, OracleCache, OracleRun, RequestTags
from cachezoo.kernels.request_oracle import RequestOracle
from cachezoo.labels.part import Part
from cachezoo.labels.tags import BELADY, COST_BELADY, METADATA_KEY, Labels, Tags, tag_column, teacher_names
from cachezoo.meanings import Column, Each, Means, Table
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces.pages import PageAccesses, capacity_pages, percent
from cachezoo.traces.rows import is_read_in_pieces, row_writer
from cachezoo.traces.store import read_meta, read_pages, read_trace
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


def belady_worth(following: I32 | I64, accesses: int) -> F64:
    """Negated index of the next use: the page used again soonest is worth most; -inf if never.

    Args:
        following: of some page accesses, as `next_access` gives it.
        accesses: how many there are in all.
    """
    worth = -following.astype(np.float64)
    worth[following >= accesses] = -np.inf
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
    """The access from which on a longer trace may give useful stays of the optimum another outcome.

    A longer trace leaves the pages that are used again within the part where they are, for the others are worth
    less; which of those are in the cache is open, but none is where it was full of pages used again. A page that is
    not used again has earned nothing if it left before such an access, or if `reach` ended within the part.
    """
    return max(0, run.contested, len(run.outcome) - reach)


class Worth:
    """What each accessed page is worth to a teacher: float64 of a part's spans in order, as often as wanted."""

    def __init__(self, part: Part, teacher: str, reach: int) -> None:
        """Prepare.

        Args:
            part: which; with shares for the teacher that saves time.
            teacher: one of `teacher_names`.
            reach: as of `reach_of`.
        """
        self._part, self._teacher, self._reach = part, teacher, reach
        self._saved = self._time_saved() if teacher == COST_BELADY else None
        self._whole: F64 | None = None  # of a part in memory

    def __iter__(self) -> Iterator[F64]:
        if self._whole is not None:
            yield self._whole
            return
        for worth in self._spans():
            self._whole = worth if self._part.spill is None else None
            yield worth

    def _spans(self) -> Iterator[F64]:
        part = self._part
        if self._teacher == BELADY:
            following = part.following()
            yield from (belady_worth(following[span.places], len(part)) for span in part.spans())
        elif self._saved is not None:
            yield from (self._saved[span.places] for span in part.spans())
        else:
            horizon = None if self._teacher == WHOLE_TRACE else self._reach
            benefit = Benefit(part.page_ids, part.flags, part.n_pages, horizon)
            yield from (benefit.serve(span.start, part.ratio[span.rows]) for span in part.spans())

    def _time_saved(self) -> F64:
        part = self._part
        assert part.share is not None
        saved = part.room("saved", np.float64, len(part))
        saving = TimeSaved(part.page_ids, part.n_pages, self._reach)
        for span in part.spans(backwards=True):
            saving.serve(span.start, part.share[span.rows], saved[span.places])
        return saved


def run_of(part: Part, teacher: str, worth: Worth, capacity: int) -> OracleRun:
    """A teacher's cache on what pages are worth to it: page by page, or by request where whole requests save time."""
    outcome = part.room("outcome", np.uint8, len(part))
    victim = part.room("victim", width_of(len(part)), len(part))
    kind = RequestOracle if teacher == COST_BELADY else OracleCache
    cache = kind(part.page_ids, part.n_pages, capacity)
    for span, values in zip(part.spans(), worth, strict=True):
        cache.serve(span.start, values, outcome[span.places], victim[span.places])
    return cache.run(outcome, victim)


def tags_of(part: Part, teacher: str, run: OracleRun, capacity: int, reach: int) -> Tags:
    """Tags of each request from a teacher's run, which is used up: its columns are written over.

    Args:
        part: of a trace.
        teacher: one of `teacher_names`.
        run: of the oracle cache on the teacher's worth.
        capacity: pages.
        reach: page accesses ahead within which a use counts, as of `reach_of`.
    """
    m, useful, by_request = len(part), teacher == BELADY, teacher == COST_BELADY
    if useful:
        settled_end = kept_end = belady_settled(run, reach)
    else:
        # An access's worth is known where its horizon ends within the part, a hit's fate one horizon before that; where
        # requests decide, of one that was used again, or had left, by then, too: half of a trace is too much to mask.
        # Where all uses count, a longer trace would change every worth: the part is taken for the whole.
        settled_end, kept_end = (m, m) if teacher in ENDLESS else (max(0, m - reach), max(0, m - 2 * reach))
    fates = Fates(part.page_ids, part.n_pages, reach, settled_end, by_request=by_request, useful=useful)
    for span in part.spans(backwards=True):
        fates.serve(span.start, run.outcome[span.places], run.victim[span.places])
    stays = reach if useful else None
    tags = RequestTags(part.page_ids, part.n_pages, capacity, settled_end, kept_end, stays, by_sure=by_request)
    bits = part.room(f"tags of {teacher} at {capacity}", np.uint8, part.requests)
    for span in part.spans():
        bits[span.rows] = tags.serve(span.start, run.outcome[span.places], run.victim[span.places])
    return Tags(bits)


def decided_hits(part: Part, tags: Tags, worth: Worth, capacity: int) -> int:
    """Page hits of the cache where one decision, `cached`, admits or bypasses all of a request's missing pages."""
    cache, hits = DecidedCache(part.page_ids, part.n_pages, capacity), 0
    for span, values in zip(part.spans(), worth, strict=True):
        decision = Tags(tags.bits[span.rows]).cached.astype(np.uint8)
        hits += int(np.count_nonzero(cache.serve(span.start, values, decision)))
    return hits


def label_part(part: Part, params: BenefitLabel) -> Labels:
    """Label a part by every teacher at every capacity.

    Args:
        part: of a trace; with shares where `COST_BELADY` is a teacher.
        params: `label.benefit`.
    """
    tags, ratio, decided = {}, {}, {}
    benefit = part.room("benefit", np.float32, part.requests)
    for fraction in params.capacities:
        capacity = capacity_pages(fraction, part.n_pages)
        for teacher in teacher_names(params):
            reach = reach_of(teacher, capacity, len(part), params)
            worth = Worth(part, teacher, reach)
            run = run_of(part, teacher, worth, capacity)
            key = (teacher, percent(fraction))
            ratio[key] = run.hits / len(part)
            tags[key] = tags_of(part, teacher, run, capacity, reach)
            by_request = teacher == COST_BELADY
            decided[key] = ratio[key] if by_request else decided_hits(part, tags[key], worth, capacity) / len(part)
            if len(tags) == 1:
                for span, values in zip(part.spans(), worth, strict=True):
                    sums = np.add.reduceat(values, span.start[:-1] - span.start[0])
                    benefit[span.rows] = (sums / np.diff(span.start)).astype(np.float32)
    return Labels(tags, ratio, decided, benefit)


def label_trace(trace: Trace, pages: PageAccesses, t_hdd_us: F64, t_ssd_us: F64, params: BenefitLabel) -> Labels:
    """Label a trace in memory.

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
    return label_part(Part.of(trace.op, pages, t_hdd_us, t_ssd_us), params)


def write_benefit_labels(
    trace: Trace, pages: PageAccesses, t_hdd_us: F64, t_ssd_us: F64, params: BenefitLabel, path: Path
) -> Labels:
    """Label a trace in memory as `label_trace`, and write the table."""
    labels = label_trace(trace, pages, t_hdd_us, t_ssd_us, params)
    _write(labels, trace.meta.trace_id, path)
    return labels


def label_requests(requests: Path, responses: Path, params: BenefitLabel, path: Path) -> None:
    """Label a canonical trace, a long one from files, and write the table.

    Args:
        requests: the trace, with page ids.
        responses: its replayed service times.
        params: `label.benefit`.
        path: the table.

    Raises:
        TraceError: a file cannot be read, they are of different traces, or there is no room.
    """
    if not is_read_in_pieces(requests):
        trace = read_trace(requests)
        write_benefit_labels(
            trace, read_pages(requests), *read_responses(responses, len(trace)), params, path
        )  # fmt: skip
        return
    part = Part.read(requests, responses, shares=COST_BELADY in teacher_names(params))
    _write(label_part(part, params), read_meta(requests).trace_id, path, part.release)


def _write(labels: Labels, trace_id: str, path: Path, release: Callable[[], None] | None = None) -> None:
    """Write `benefit`, and one column of tag bits a teacher and capacity; the hit ratios are in the metadata."""
    figures = {
        name: {tag_column(*key).removeprefix("tags_"): value for key, value in table.items()}
        for name, table in (("hit_ratio", labels.hit_ratio), ("decided_hit_ratio", labels.decided_hit_ratio))
    }
    columns = {"benefit": labels.benefit} | {tag_column(*key): own.bits for key, own in labels.tags.items()}
    with row_writer(path, COLUMNS) as writer:
        for low in range(0, len(labels.benefit), ROW_GROUP_ROWS):
            writer.add({name: values[low : low + ROW_GROUP_ROWS] for name, values in columns.items()})
            if release is not None:
                release()
        writer.close({METADATA_KEY: dump_json(figures), "cachezoo.trace_id": trace_id, **UNITS})

"""Runs every combination of FIOS's features, and what stands beside them, on one drive a category and a corpus trace.

Dictionaries learn on the train cycle. For each combination validation chooses the window and the number of streams, and
the test cycle is counted with these. Beside each stands a dictionary of the same window and number that learned on the
test cycle itself. A trace of the corpus is cut into three cycles by its requests, as the write traces of
conf/matrix.yaml are, and its drive has small erase blocks: it writes so few places that 16 open blocks of 64 pages
would leave none to spare.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import pstdev
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cachezoo.errors import DeviceError, TraceError
from cachezoo.flash_drive.names import EQUAL, LEGACY
from cachezoo.flash_drive.placements import Placement, grid, rule
from cachezoo.flash_drive.run import Wear
from cachezoo.flash_drive.writes import drive_writes
from cachezoo.jobs import run_all
from cachezoo.labels.streams import StreamLabels, labels_of
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.data import Corpus, Roles
from cachezoo.settings.wear import Drive, StreamsLabel
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import OP_WRITE, Trace
from cachezoo.zoo.streams.bench import Bench
from cachezoo.zoo.streams.cluster import COMBINATIONS
from cachezoo.zoo.streams.fit import why_not
from cachezoo.zoo.streams.judge import least
from cachezoo.zoo.streams.judge import run_all as run_candidates
from cachezoo.zoo.streams.learn import COHERENT, HEAT, NEAR, PAIR, PARTS, Variant, learn, named
from cachezoo.zoo.streams.settings import Fit, Judge, Model
from lab.fios.document import DriveCase, DriveRow, FiosFigure, figure_of

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

CONTEXT, SEEDS = "fios", 5
CUTS = (0.0, 0.4, 0.7, 1.0)
OVERWRITTEN = 2  # footprints that a trace of the corpus writes to be run
SMALL_BLOCK = 16  # flash pages of an erase block of the corpus's drives
EXACT = 2e8  # bytes a TB that a dictionary may take: none needs more, so that each is whole, as in the paper
FEWER = (4, 8)  # streams that K-means may make beside as many as the drive has
REALS = ("interval", HEAT, "all", f"{HEAT}+{NEAR}", f"{HEAT}+at10+{NEAR}", f"{PARTS}+{NEAR}")


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    model: Annotated[Model, At("model.streams")]
    label: Annotated[StreamsLabel, At("label.streams")]
    fit: Annotated[Fit, At("fit.streams")]
    judge: Annotated[Judge, At("judge.streams")]
    drive: Annotated[Drive, At("policy.drive")]
    cycles: Annotated[dict[str, Roles], At("data.cycles")]
    corpus: Annotated[Corpus, At("data.corpus")]
    seed: Annotated[int, At("seed")]


class Source(NamedTuple):
    """A drive's traces.

    Attributes:
        key: the category, or the trace of the corpus.
        cycles: canonical requests of its train, validation and test cycles; of the corpus one file in all.
        corpus: whether it is of the corpus.
    """

    key: str
    cycles: tuple[tuple[str, ...], ...]
    corpus: bool


class Cycle(NamedTuple):
    """The requests of a cycle, those that write anything, and the labels of the last of them."""

    traces: list[Trace]
    labels: list[StreamLabels]


@dataclass(frozen=True)
class Tried:
    """A dictionary that was tried: its name, K, itself as a placement, and its WAF on validation."""

    known: Variant
    asked: int
    placement: Placement
    waf: float
    streams: int


def sources(settings: Settings) -> list[Source]:
    """All categories, then the corpus without its long traces, which are of the same programs."""
    roles = ("train", "validation", "test")
    found = [
        Source(name, tuple(tuple(cycles.get(role, [])) for role in roles), corpus=False)  # type: ignore[call-overload]
        for name, cycles in sorted(settings.cycles.items())
    ]
    for category, rows in sorted(settings.corpus.items()):
        keys = (key for key, row in sorted(rows.items()) if not row.long)
        found += [Source(key, ((f"data/corpus/{category}/{key}.parquet",),), corpus=True) for key in keys]
    return found


def part_of(trace: Trace, pages: PageAccesses, low: int, high: int) -> tuple[Trace, PageAccesses]:
    """Some requests of a trace with their page accesses."""
    start = pages.request_start[low : high + 1]
    own = PageAccesses(start - start[0], pages.page_ids[start[0] : start[-1]], pages.n_pages)
    return trace.rows(low, high), own


def _cycle(parts: Sequence[tuple[Trace, PageAccesses]], thresholds: StreamsLabel | None) -> Cycle:
    """Without labels where there are no thresholds."""
    own = [(trace, pages) for trace, pages in parts if (trace.op == OP_WRITE).any()]
    return Cycle([trace for trace, _ in own], [labels_of(*part, thresholds) for part in own] if thresholds else [])


def read_cycles(source: Source, thresholds: StreamsLabel) -> list[Cycle]:
    """Train, validation and test; none of a trace of the corpus that does not overwrite.

    Raises:
        TraceError: a file is no readable trace.
    """
    if not source.corpus:
        parts = [[(read_trace(Path(file)), read_pages(Path(file))) for file in files] for files in source.cycles]
    else:
        file = Path(source.cycles[0][0])
        trace, pages = read_trace(file), read_pages(file)
        if not overwrites(trace):
            return []
        cuts = [round(cut * len(trace)) for cut in CUTS]
        parts = [[part_of(trace, pages, low, high)] for low, high in pairwise(cuts)]
    return [_cycle(own, None if k == 1 else thresholds) for k, own in enumerate(parts)]


def overwrites(trace: Trace) -> bool:
    """Whether it writes at least so many of its footprints."""
    if not (trace.op == OP_WRITE).any():
        return False
    writes = drive_writes([trace])
    return len(writes) >= OVERWRITTEN * writes.footprint


def families(windows: Sequence[str]) -> dict[str, list[str]]:
    """The names in `cachezoo.zoo.streams.learn` of each combination, by every window."""
    pairs = [features.replace(COHERENT, PAIR) for features in COMBINATIONS if COHERENT in features]
    found = {one: list(dict.fromkeys(named(one, window) for window in windows)) for one in (*COMBINATIONS, *pairs)}
    return found | {one: [one] for one in REALS}


def _tried(
    bench: Bench, labels: StreamLabels, names: Sequence[str], settings: Settings, seed: int
) -> dict[str, list[Tried]]:
    """By name, each dictionary with every number of streams on validation."""
    found: dict[str, list[Tried]] = {name: [] for name in names}
    for asked in (settings.model.streams, *(fewer for fewer in FEWER if fewer < settings.model.streams)):
        for known in learn(labels, names, asked, settings.model.window, seed, EXACT, settings.fit.weights):
            placement = bench.learned(known)
            run = bench.run(placement)
            found[known.name].append(Tried(known, asked, placement, run.waf, run.streams_used))
    return found


@dataclass(frozen=True)
class Test:
    """The test cycle of a drive.

    Attributes:
        bench: the drive.
        legacy: its run without streams.
    """

    bench: Bench
    legacy: Wear

    def row(
        self, placement: Placement, asked: int, *, window: str = "", seeds_sd: float | None = None,
        validation_waf: float | None = None, hindsight: Wear | None = None,
    ) -> DriveRow:  # fmt: skip
        """A placement's row."""
        run = self.bench.run(placement)
        return DriveRow(
            policy=placement.policy, kind=placement.kind, window=window, asked=asked, streams=run.streams_used,
            waf=run.waf, of_legacy=run.waf / self.legacy.waf,
            of_legacy_interval=run.over(self.legacy).ends, seeds_sd=seeds_sd,
            validation_waf=validation_waf,
            hindsight_of_legacy=None if hindsight is None else hindsight.waf / self.legacy.waf,
        )  # fmt: skip


def _plain(bench: Bench, test: Test, settings: Settings) -> list[DriveRow]:
    """Placements that nobody taught, with the arguments of least WAF on validation."""
    rows = run_candidates(bench, grid(settings.judge.baselines.model_dump(exclude_none=True), bench.streams))
    found = []
    for policy in dict.fromkeys(row.tried.policy for row in rows):
        best = least([row for row in rows if row.tried.policy == policy])
        asked = 1 if policy == LEGACY else int(best.tried.parameters.get("streams", bench.streams))
        found.append(test.row(best.placement, asked, validation_waf=best.tried.waf))
    return found


def _learned(
    cycles: Sequence[Cycle], bench: Bench, test: Test, settings: Settings, key: str
) -> tuple[list[DriveRow], Tried]:
    """A row a combination and a variant of ours; the combination of least WAF on validation."""
    seeds, weights = [derive_seed(settings.seed, CONTEXT, key, str(k)) for k in range(SEEDS)], settings.fit.weights
    train, own, window = cycles[0].labels[-1], cycles[2].labels[-1], settings.model.window
    groups = families(settings.fit.windows)
    tried = _tried(bench, train, [name for names in groups.values() for name in names], settings, seeds[0])
    rows, best = [], []
    for family, names in groups.items():
        one = min((each for name in names for each in tried[name]), key=lambda each: (each.waf, each.streams))
        (hindsight,) = learn(own, [one.known.name], one.asked, window, seeds[0], EXACT, weights)
        others = [learn(train, [one.known.name], one.asked, window, seed, EXACT, weights)[0] for seed in seeds[1:]]
        wafs = [test.bench.run(test.bench.learned(known)).waf for known in (one.known, *others)]
        placed = replace(test.bench.learned(one.known), policy=family)
        told = test.bench.run(test.bench.learned(hindsight))
        rows.append(
            test.row(placed, one.asked, window=one.known.name.partition(".")[2], seeds_sd=pstdev(wafs),
                     validation_waf=one.waf, hindsight=told)
        )  # fmt: skip
        best += [one] if rows[-1].kind == "fios" else []
    return rows, min(best, key=lambda each: (each.waf, each.streams))


def measure(source: Source, settings: Settings) -> DriveCase | None:
    """A drive's case; None of a trace of the corpus that does not overwrite."""
    cycles = read_cycles(source, settings.label)
    if not cycles:
        return None
    drive = settings.drive.model_copy(update={"pages_per_block": SMALL_BLOCK}) if source.corpus else settings.drive
    empty = DriveCase(
        key=source.key, corpus=source.corpus, reason="", theta={}, high="", automatic="",
        pages_per_block=drive.pages_per_block, host_pages=0, footprint_pages=0, sid_mb_per_tb=None, rows=[],
    )  # fmt: skip
    reason = why_not(source.key, {one.meta.trace_id: one for one in cycles[0].traces}, cycles[0].labels)
    if not reason and not all(cycle.traces for cycle in cycles):
        reason = "nothing is written in a later cycle"
    if reason:
        return empty.model_copy(update={"reason": reason})
    try:
        return _measured(empty, cycles, drive, settings)
    except (DeviceError, TraceError) as error:
        return empty.model_copy(update={"reason": str(error)})


def _measured(empty: DriveCase, cycles: Sequence[Cycle], drive: Drive, settings: Settings) -> DriveCase:
    train, validation, last = (cycle.traces for cycle in cycles)
    streams = settings.model.streams
    bench = Bench.of(train, validation, drive, streams)
    end = Bench.of(train, [*validation, *last], drive, streams)
    test = Test(end, end.run(rule(LEGACY, {}, streams)))
    plain = _plain(bench, test, settings)
    learned, chosen = _learned(cycles, bench, test, settings, empty.key)
    figures, sid = cycles[0].labels[-1].figures, chosen.known.dictionary
    beside = [
        test.row(replace(rule(EQUAL, {"streams": count}, streams), policy=f"{EQUAL}.{count}"), count)
        for count in sorted({streams, chosen.streams})
    ]
    return empty.model_copy(
        update={
            "theta": figures.theta,
            "high": figures.high,
            "automatic": figures.features,
            "host_pages": int(test.legacy.host.sum()),
            "footprint_pages": end.writes.footprint,
            "sid_mb_per_tb": sid.bytes_per_tb() / 1e6 if len(sid) > 1 else None,
            "rows": [*plain, *beside, *learned],
        }
    )


def fios(params: "Params", pool: Executor) -> FiosFigure:
    """Measure all drives.

    Args:
        params: as read.
        pool: a drive is a job.

    Raises:
        CachezooError: a trace is missing or damaged.
    """
    settings = Settings.of(params)
    found = run_all("drives", pool, measure, [(source, settings) for source in sources(settings)])
    return figure_of(
        [case for case in found if case is not None], settings.judge.least_waf, settings.drive.over_provisioning
    )

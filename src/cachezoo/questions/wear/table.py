"""Write amplification of placements on a drive that replays a trace's cycles: rows, and their plot.

Placements that learn do so on the cycle before, others are tuned there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cachezoo.arrays import U8
from cachezoo.console import Advance
from cachezoo.contest.blocks import BLOCKS
from cachezoo.contest.lead import Interval
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.errors import DeviceError, TraceError
from cachezoo.flash_drive.names import (
    AUTOSTREAM,
    BOUNDS,
    BUNDLE,
    BY_DRIVE,
    DAC,
    FIOS,
    FUTURE,
    LEGACY,
    LIFETIME,
    MULTIQ,
    ORACLE,
    SEPBIT,
    WARCIP,
    Kind,
)
from cachezoo.flash_drive.placements import INSIDE, Grids, Parameters, Placement, combinations, rule
from cachezoo.flash_drive.run import Wear, drive_for
from cachezoo.flash_drive.writes import DriveWrites, drive_writes
from cachezoo.io import atomic_file
from cachezoo.labels.streams import StreamLabels, labels_of
from cachezoo.questions.wear.options import WearOptions
from cachezoo.seeds import derive_seed
from cachezoo.settings.wear import Drive, Victim
from cachezoo.show.style import AMBER, BLACK, BLUE, GREY, NARROW, SMALL, settings, write
from cachezoo.sizes import human
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace
from cachezoo.zoo.streams.bench import Bench, classes_and_parts
from cachezoo.zoo.streams.cluster import bits_of, cluster_bits, dictionary_of
from cachezoo.zoo.streams.deaths import Lifetimes, fit_lifetimes
from cachezoo.zoo.streams.dictionary import Dictionary
from cachezoo.zoo.streams.settings import Classes, Lifetime

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_CYCLES = 2  # one to learn on, one to count
MAIN_SHARE = 0.11  # parameters are chosen at the over-provisioning that is nearest to this, and the answer is of it
WINDOW = "100th"
# What is tried of each placement that has parameters.
GRIDS: Grids = {
    AUTOSTREAM: {"decay": (0.5, 2.0, 8.0, 32.0), "chunk_bytes": (1 << 15, 1 << 17, 1 << 20)},
    MULTIQ: {"chunk_bytes": (1 << 15, 1 << 17, 1 << 20)},
    SEPBIT: {"collected": (4, 16, 64)},
    DAC: {"young": (0.0, 0.1, 0.5, 2.0)},
    WARCIP: {"window": (32, 256)},
    ORACLE: {"rule": ("both",), "share": (0.0625, 0.125, 0.25, 0.5, 1.0)},
    FUTURE: {"span": (63, 1024, 4096, 16384)},
}
NOT_THE_HOSTS = (LEGACY, *BY_DRIVE, *BOUNDS)  # placements that no host can use, and the one that all are compared with
BAR = 0.72
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
ROOM = 1.6  # of the longest bar, so that its value fits into the panel
COLUMNS = ("WAF, with\n90 % interval", "erases of blocks\nin the cycle", "drive writes\nuntil worn out")


@dataclass
class Placing:
    """Placements on one drive's writes."""

    bench: Bench  # the drive that placements are tuned on
    cycles: Sequence[Trace]  # what the writes are of, for FIOS; empty where they are a cache's or of long traces
    seed: int  # of K-means
    bundle: Dictionary | None = None
    labels: dict[int, StreamLabels] = field(default_factory=dict)  # of the cycles that were learned from
    forest: Lifetimes | None = None  # learned on the first cycles, once it is needed

    def of(self, name: str, streams: int) -> Placement:
        """A placement for so many streams, with the parameters that suit the cycle before the last.

        Where that cycle writes too little to tune on, the first of its parameters are taken, and the note says so.

        Raises:
            DeviceError: the drive has no room for the streams.
        """
        kind, _, letters = name.partition(":")
        if kind == FIOS:
            return self._fios(name, streams, letters)
        if name == LIFETIME:
            return self._lifetime(streams)
        writes = self.bench.writes
        if name == BUNDLE:
            assert self.bundle is not None, "placed by one alone"
            found = writes.room(np.uint8, len(writes))
            writes.by_chunk(slice(int(writes.starts[1]), len(writes)), self.bundle.look_up, found)
            return _fixed(name, "ours", found, {}, self.bundle.count)
        tried = (rule(name, own, streams) for own in combinations(GRIDS.get(name, {})))
        count = 1 if name == LEGACY else INSIDE[name].streams if name in INSIDE else streams
        return self._tuned(
            replace(one, streams=count)
            if one.place is None
            else _fixed(name, one.kind, one.place(writes), one.parameters, count)
            for one in tried
        )

    def _tuned(self, tried: Iterable[Placement]) -> Placement:
        """The best on the cycle before the last; a single one is not run."""
        tried = iter(tried)
        first = next(tried)
        second = next(tried, None)
        if second is None:
            return first
        writes = self.bench.writes
        number = writes.cycles - 2
        part = writes.cycle(number)
        if part.stop - part.start < BLOCKS:
            note = (
                f"{first.policy}: cycle {number + 1} of {writes.cycles} writes {part.stop - part.start} pages, too "
                f"few to tune on: it takes {_words(first.parameters)}"
            )
            return replace(first, note=note)
        return min(chain([first, second], tried), key=lambda placement: self.bench.run(placement, number).waf)

    def _lifetime(self, streams: int) -> Placement:
        """The forest of lifetimes, learned on all cycles but the last two; of two cycles on the first."""
        writes = self.bench.writes
        train = max(writes.cycles - 2, 1)  # cycles
        since = int(writes.starts[train])
        if self.forest is None and since > 0:  # of cycles that only read there is nothing to learn
            self.forest = fit_lifetimes(writes.until(train), Lifetime(seeds=1), self.seed, "wear")
        if self.forest is None:
            note = "lifetime: the cycles that it learns on write too little, so that all goes to stream 0"
            return _fixed(LIFETIME, "forest", writes.room(np.uint8, len(writes)), {}, streams, note)
        forest = self.forest
        # Of two cycles the first one teaches, and all there goes to stream 0 whatever is tried: the first is taken.
        alone = "lifetime: two cycles leave none to choose its classes and parts on: it takes "
        return self._tuned(
            _fixed(
                LIFETIME, "forest", forest.streams_of(0, writes, since, **own), own, streams,
                alone + _words(own) if writes.cycles == train + 1 else "",
            )
            for own in classes_and_parts(Classes(), streams)
        )  # fmt: skip

    def _fios(self, name: str, streams: int, letters: str) -> Placement:
        """FIOS by some features, or by those that it chooses: a cycle teaches the next."""
        writes = self.bench.writes
        found, features, note = writes.room(np.uint8, len(writes)), letters, ""
        seed = derive_seed(self.seed, "wear", FIOS)
        for number in range(len(self.cycles) - 1):
            labels = self._labels(number)
            features = letters or labels.figures.features
            if not len(labels):
                note = f"cycle {number + 1} writes nothing to learn from, so that all of cycle {number + 2}"
                note += " goes to stream 0"
            elif not features:
                note = f"FIOS's rule chooses no feature by cycle {number + 1}, so that all goes to stream 0; "
                note += "--placement fios:FASC names some"
            else:
                clusters = cluster_bits(bits_of(labels, features, WINDOW), labels, streams, seed)
                own = dictionary_of(clusters, labels, writes.volumes)
                writes.by_chunk(writes.cycle(number + 1), own.look_up, found)
                note = "; ".join(filter(None, ("" if letters else f"FIOS's rule chooses {features}", clusters.note)))
        return _fixed(name, "fios", found, {"features": features}, streams, f"{name}: {note}" if note else "")

    def _labels(self, number: int) -> StreamLabels:
        """Of the chunks of a cycle, made once."""
        if number not in self.labels:
            trace = self.cycles[number]
            self.labels[number] = labels_of(trace, expand_pages(trace))
        return self.labels[number]


def _fixed(name: str, kind: Kind, placed: U8, parameters: Parameters, streams: int, note: str = "") -> Placement:
    """A placement that was computed for the drive's writes."""
    return Placement(name, kind, lambda _: placed, parameters, streams, note)


def _words(parameters: Parameters) -> str:
    """Parameters in a line."""
    return ", ".join(f"{name} {value}" for name, value in parameters.items())


def counts_of(name: str, streams: Sequence[int]) -> list[int]:
    """The numbers of streams that a placement is tried with: legacy with 1, the drive's own with theirs."""
    if name == LEGACY:
        return [1]
    if name in INSIDE:
        return [INSIDE[name].streams]
    return [0] if name == BUNDLE else [count for count in streams if count > 1]


@dataclass(frozen=True)
class WearRow:
    """A placement on a drive, counted over the last cycle."""

    placement: str
    streams: int  # that there are for it
    streams_used: int  # that the host wrote to
    over_provisioning: float  # share of the flash without an address
    victim: str  # of the drive
    waf: float  # flash pages written over those that the host wrote
    waf_interval: Interval
    waf_bytes: float  # bytes written to flash for each byte of the host
    fewer: float  # share of the flash writes without streams that is saved
    fewer_interval: Interval
    verdict: Verdict  # on that saving
    erases: int  # of blocks in the cycle
    erases_least: int  # of a block, since the drive was new
    erases_mean: float
    erases_most: int
    # Times that the host can write all addresses, in bytes, until the blocks have had the erases that they endure, if
    # they wear evenly.
    drive_writes: float
    parameters: dict[str, Any]  # chosen on the cycle before
    # The WAF on the cycle before, which the verdict chooses by; None where there is none to choose on, as what learns
    # has served no cycle before the last, or where that cycle writes too little.
    waf_before: float | None

    @property
    def shown(self) -> str:
        """Placement and streams in a word or two."""
        alone = self.placement == LEGACY or self.placement in INSIDE
        return self.placement if alone else f"{self.placement}, {self.streams} streams"


@dataclass(frozen=True)
class Advice:
    """The placement to speak of under a victim, at the main over-provisioning."""

    victim: str
    legacy: WearRow
    chosen: WearRow | None  # None: no placement that a host can use is among the rows
    hindsight: bool  # whether it was chosen on the cycle that it is quoted from
    noise: float  # how far chance moves what `chosen` saves, see `Bench.noise`
    rival: WearRow | None  # the best of the other placements that a host can use, chosen alike
    over_rival: float  # share of the rival's flash writes that `chosen` saves
    over_rival_interval: Interval

    @property
    def verdict(self) -> Verdict:
        """On what `chosen` saves; what chance moves as far is not told apart from nothing."""
        assert self.chosen is not None, "there is one to judge"
        return Verdict.EVEN if abs(self.chosen.fewer) <= self.noise else self.chosen.verdict


@dataclass(frozen=True)
class WearTable:
    """All rows."""

    rows: tuple[WearRow, ...]  # by over-provisioning, then by victim, placement and streams
    advice: tuple[Advice, ...]  # for each victim
    page_bytes: int  # of a flash page
    footprint: int  # distinct flash pages that are written
    host_pages: int  # page writes of the last cycle
    host_bytes: int  # that it writes
    cycles: int
    endured: int  # erases of a block
    trims: int  # discards of all cycles
    trimmed: int  # flash pages that they give up
    heeded: bool  # whether the drive does
    capacity_bytes: int | None  # of the drive; None where it is as large as what is written
    notes: tuple[str, ...]  # on how placements were chosen, one each at most

    @property
    def main(self) -> float:
        """The over-provisioning that the verdict is on."""
        return nearest(sorted({row.over_provisioning for row in self.rows}))


def nearest(shares: Sequence[float]) -> float:
    """The over-provisioning that is nearest to the one that FIOS's drive has."""
    return min(shares, key=lambda share: abs(share - MAIN_SHARE))


def count_rows(options: WearOptions) -> int:
    """Rows that a table will have."""
    return (
        len(options.over_provisioning)
        * len(options.victims)
        * sum(len(counts_of(name, options.streams)) for name in options.by)
    )


def writes_of(cycles: Sequence[Trace], drive: Drive) -> DriveWrites:
    """The page writes of a drive.

    Raises:
        TraceError: nothing is written, or as `check_writes`.
    """
    writes = drive_writes(cycles, drive.page_bytes)
    check_writes(writes, cycles[0].meta.trace_id, cycles[-1].meta.trace_id)
    return writes


def check_writes(writes: DriveWrites, first: str, last: str) -> None:
    """Refuse writes of which there is nothing to say.

    Args:
        writes: of a drive.
        first: what the first cycle is of, for the message.
        last: likewise the last.

    Raises:
        TraceError: one chunk alone is written, or too little in the cycle that is counted.
    """
    if len(np.unique(writes.page_chunks)) < 2:
        message = (
            f"{first}: one chunk of 32 KiB alone is written, so that there is nothing to tell apart: "
            "give a trace that writes more places"
        )
        raise TraceError(message)
    part = writes.cycle(-1)
    if part.stop - part.start < BLOCKS:
        message = (
            f"{last}: cycle {writes.cycles} of {writes.cycles}, which is counted, writes "
            f"{part.stop - part.start} pages of {human(writes.page_bytes)}, at least {BLOCKS} are needed: give a "
            "longer trace, or fewer --cycles"
        )
        raise TraceError(message)


def check_room(
    writes: DriveWrites, options: WearOptions, name: str, bundle: Dictionary | None = None, larger: str = ""
) -> None:
    """Refuse drives that are too small before anything runs on them.

    Args:
        writes: of a drive.
        options: placements and drives.
        name: of what writes, for the message.
        bundle: the dictionary of one.
        larger: what else makes room for streams, for the message.

    Raises:
        DeviceError: a drive that is too small; it says which of the shares and numbers of streams fit.
    """
    shares, streams = options.over_provisioning, options.streams

    def refused(share: float, numbers: Sequence[int]) -> DeviceError | None:
        counts = [count for by in options.by for count in counts_of(by, numbers)]
        most = max([*counts, bundle.count if bundle else 1])
        try:
            drive_for(writes, options.drive.model_copy(update={"over_provisioning": share}), most)
        except DeviceError as error:
            return error
        return None

    error = refused(shares[0], streams)  # the smallest drive, and all streams: where they fit, the others do
    if error is None:
        return
    fitting = [
        (shares[k:], streams[:m])
        for k in range(len(shares))
        for m in range(1, len(streams) + 1)
        if streams[m - 1] > 1 and refused(shares[k], streams[:m]) is None
    ]
    fits = ""
    if fitting:
        own, numbers = max(fitting, key=lambda pair: len(pair[0]) * len(pair[1]))
        fits = "; these fit: --op " + ",".join(f"{100 * part:g}%" for part in own)
        fits += " --streams " + ",".join(map(str, numbers))
    holds = options.drive.capacity_bytes is None or writes.footprint * writes.page_bytes <= options.drive.capacity_bytes
    raise DeviceError(f"{name}: {error}{larger if holds else ''}{fits}") from error


def wear_table(
    writes: DriveWrites,
    cycles: Sequence[Trace],
    options: WearOptions,
    advance: Advance,
    bundle: Dictionary | None = None,
) -> WearTable:
    """Run every placement on every drive.

    Args:
        writes: of a drive, of at least two cycles; the last is counted.
        cycles: the traces that the writes are of; none for the writes of a cache.
        options: placements and drives.
        advance: progress, in rows.
        bundle: the dictionary of one.

    Raises:
        DeviceError: a drive that is too small, see `cachezoo.flash_drive.run.drive_for`.
        TraceError: the cycle that is counted writes too little.
    """
    drives = list(product(options.over_provisioning, options.victims))
    benches = {
        (share, victim): Bench(writes, options.drive.model_copy(update={"over_provisioning": share, "victim": victim}))
        for share, victim in drives
    }
    main = nearest(options.over_provisioning)
    placing = Placing(benches[drives[0]], cycles, options.seed, bundle)
    before = writes.cycle(writes.cycles - 2)
    chooses = writes.cycles > LEAST_CYCLES and before.stop - before.start >= BLOCKS
    found: dict[tuple[float, Victim], list[Ran]] = {drive: [] for drive in drives}
    notes, done = dict[str, str](), 0
    for name, victim in product(options.by, options.victims):
        placing.bench = benches[main, victim]
        for count in counts_of(name, options.streams):
            placement = placing.of(name, count)
            if placement.note:
                notes[name] = placement.note  # numbers of streams rise, and the note for the most holds for fewer
            for share in options.over_provisioning:
                bench = benches[share, victim]
                earlier = bench.run(placement, writes.cycles - 2).waf if chooses else None
                run, legacy = bench.run(placement), found[share, victim][0].run if found[share, victim] else None
                row = _row(placement, run, earlier, legacy or run, bench.drive)
                found[share, victim].append(Ran(placement, run, row))
                advance(done := done + 1, name)
    part = writes.cycle(-1)
    return WearTable(
        rows=tuple(one.row for own in found.values() for one in own),
        advice=tuple(_advice(benches[main, victim], found[main, victim]) for victim in options.victims),
        page_bytes=writes.page_bytes,
        footprint=writes.footprint,
        host_pages=part.stop - part.start,
        host_bytes=writes.host_bytes(part.start, part.stop),
        cycles=writes.cycles,
        endured=options.drive.cycles,
        trims=0 if writes.trims is None else writes.trims.commands,
        trimmed=0 if writes.trims is None else len(writes.trims.pages),
        heeded=options.drive.trims,
        capacity_bytes=options.drive.capacity_bytes,
        notes=(*notes.values(), *_trimmed(writes, options.drive.trims)),
    )


def _trimmed(writes: DriveWrites, heeded: bool) -> list[str]:
    """A note on trims, where the traces have any."""
    if writes.trims is None:
        return []
    said = f"trims: {writes.trims.commands:,} discards give up {len(writes.trims.pages):,} flash pages"
    return [f"{said}, {'and the drive heeds them' if heeded else 'which the drive does not heed'}"]


class Ran(NamedTuple):
    """A placement that was run."""

    placement: Placement
    run: Wear
    row: WearRow


def _advice(bench: Bench, ran: Sequence[Ran]) -> Advice:
    """The placement to speak of; where it can be chosen on the cycle before the counted one, it is."""
    usable = [one for one in ran if one.row.placement not in NOT_THE_HOSTS]
    hindsight = len(usable) > 1 and any(one.row.waf_before is None for one in usable)

    def rank(one: Ran) -> tuple[float, int]:
        return (one.row.waf if one.row.waf_before is None or hindsight else one.row.waf_before, one.row.streams)

    chosen = min(usable, key=rank, default=None)
    others = [one for one in usable if chosen is not None and one.row.placement != chosen.row.placement]
    rival = min(others, key=rank, default=None)
    noise, over = 0.0, None
    if chosen is not None:
        noise = bench.noise(chosen.placement, ran[0].placement)
        over = None if rival is None else chosen.run.saved(rival.run)
    return Advice(
        victim=bench.drive.victim,
        legacy=ran[0].row,
        chosen=None if chosen is None else chosen.row,
        hindsight=hindsight,
        noise=noise,
        rival=None if rival is None else rival.row,
        over_rival=0.0 if over is None else over.value,
        over_rival_interval=(0.0, 0.0) if over is None else over.ends,
    )


def _row(placement: Placement, run: Wear, before: float | None, legacy: Wear, drive: Drive) -> WearRow:
    fewer = run.saved(legacy)
    return WearRow(
        placement=placement.policy,
        streams=placement.streams,
        streams_used=run.streams_used,
        over_provisioning=drive.over_provisioning,
        victim=drive.victim,
        waf=run.waf,
        waf_interval=run.waf_mean.ends,
        waf_bytes=run.by_bytes,
        fewer=fewer.value,
        fewer_interval=fewer.ends,
        verdict=verdict(fewer, LEAST_SAVING),
        erases=int(run.erased.sum()),
        erases_least=int(run.erases.min()),
        erases_mean=float(run.erases.mean()),
        erases_most=int(run.erases.max()),
        drive_writes=run.drive_writes,
        parameters=dict(placement.parameters),
        waf_before=before,
    )


def draw_wear(table: WearTable, title: str, path: Path) -> None:
    """Write a PNG or SVG; its bytes depend on the rows alone.

    Args:
        table: the rows.
        title: of the trace.
        path: where to.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    drives = list(dict.fromkeys((row.over_provisioning, row.victim) for row in table.rows))
    height = 1.0 + len(drives) * 0.7 + 0.25 * len(table.rows)
    with settings(narrow=True), atomic_file(path) as temporary:
        canvas = Figure(figsize=(NARROW, height), layout="constrained")
        grid = canvas.subplots(len(drives), len(COLUMNS), squeeze=False)
        for line, drive in zip(grid, drives, strict=True):
            rows = [row for row in table.rows if (row.over_provisioning, row.victim) == drive]
            _bars(line[0], rows, [row.waf for row in rows], "{:.2f}", [row.waf_interval for row in rows])
            _bars(line[1], rows, [row.erases for row in rows], "{:,.0f}")
            _bars(line[2], rows, [row.drive_writes for row in rows], "{:,.0f}")
            for axes in line[1:]:
                axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 400M in place of a power of ten in the corner
            line[0].axvline(1, color=GREY, linewidth=0.8)  # no drive can write less
            line[0].set_title(f"{drive[0]:.0%} over-provisioning, {drive[1]} victims", loc="left")
            line[0].set_yticks(range(len(rows)), [row.shown for row in rows])
        for axes, label in zip(grid[-1], COLUMNS, strict=True):
            axes.set_xlabel(label)
        canvas.suptitle(f"{title}: what placements wear out (dashed: without streams)", x=0.01, ha="left")
        write(canvas, temporary, path)


def _bars(
    axes: "Axes",
    rows: Sequence[WearRow],
    values: Sequence[float],
    form: str,
    intervals: Sequence[tuple[float, float]] = (),
) -> None:
    """A bar a row, legacy on top; placements that know the future in grey.

    Args:
        axes: where to.
        rows: of one over-provisioning.
        values: of each.
        form: of a value, as text.
        intervals: of each; may be none.
    """
    places = list(range(len(rows)))
    colours = {LEGACY: BLACK, ORACLE: GREY}
    axes.barh(places, values, BAR, color=[colours.get(row.placement, BLUE) for row in rows])
    axes.axvline(values[0], color=BLACK, linewidth=0.8, linestyle="--")
    ends = [max(value, high) for value, (_, high) in zip(values, intervals or [(0.0, 0.0)] * len(rows), strict=True)]
    if intervals:
        spread = [
            [max(0.0, value - low) for value, (low, _) in zip(values, intervals, strict=True)],
            [end - value for value, end in zip(values, ends, strict=True)],
        ]
        axes.errorbar(values, places, xerr=spread, fmt="none", ecolor=AMBER, elinewidth=1.5)
    for place, (value, end) in enumerate(zip(values, ends, strict=True)):
        axes.text(end, place, f" {form.format(value)}", va="center", fontsize=SMALL, bbox=BEHIND)
    axes.set_xlim(0, ROOM * max([*ends, 1]))
    axes.locator_params(axis="x", nbins=2)  # numbers of many digits do not touch
    axes.set_yticks(places, [""] * len(rows))
    axes.grid(False, axis="y")
    axes.set_ylim(len(rows) - 0.4, -0.6)

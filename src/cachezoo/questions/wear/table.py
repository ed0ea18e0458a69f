"""Write amplification of placements on a drive that lives through a trace's cycles, and what that says."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cachezoo.console import Advance
from cachezoo.contest.blocks import BLOCKS
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.errors import DeviceError, TraceError
from cachezoo.questions.wear.asked import WearAsked
from cachezoo.questions.wear.placing import Placed, Placing, counts_of
from cachezoo.settings.wear import Drive
from cachezoo.show.formats import number, ordinary, percent, span
from cachezoo.sizes import human
from cachezoo.traces.table import Trace
from cachezoo.wear.drive import drive_for
from cachezoo.wear.names import LEGACY, ORACLE, SEPBIT
from cachezoo.wear.run import Wear
from cachezoo.wear.writes import DriveWrites, drive_writes
from cachezoo.zoo.streams.compare import lead, waf
from cachezoo.zoo.streams.dictionary import Dictionary

LEAST_CYCLES = 2  # one to learn on, one to count
SHORT = 0.5  # a cycle that writes less than this of the trace's distinct pages is little to judge by
ROOMY = 0.9  # a trace that writes less of a drive than this leaves it room that no over-provisioning counts
LEAST_WAF = 1.05  # of a drive without streams; below it there is nothing to gain
MAIN_SHARE = 0.11  # the over-provisioning that parameters are chosen at, and that is spoken of: the nearest to it


PAYS = {
    Verdict.BETTER: "Yes",
    Verdict.TRIFLE: "Hardly",
    Verdict.EVEN: "Not clearly",
    Verdict.SHORT: "Not clearly",
    Verdict.WORSE: "No",
}


@dataclass(frozen=True)
class WearRow:
    """A placement on a drive, counted over the last cycle.

    Attributes:
        placement: its name.
        streams: that it is told there are.
        streams_used: that the host wrote to.
        over_provisioning: share of the flash without an address.
        waf: flash pages written over those that the host wrote, with its 90 % interval by blocks of time.
        fewer: share of the flash writes without streams that is saved, with its 90 % interval.
        verdict: on that saving.
        erases: of blocks in the cycle.
        erases_least, erases_mean, erases_most: of a block, since the drive was new.
        drive_writes: times that the host can write all addresses until the blocks have had the erases that they endure,
            if they wear evenly.
        parameters: chosen on the cycle before.
        waf_before: the WAF on the cycle before, which the answer chooses by; None where there is none to choose on, as
            what learns has served no cycle before the last, or where that cycle writes too little.
    """

    placement: str
    streams: int
    streams_used: int
    over_provisioning: float
    waf: float
    waf_interval: tuple[float, float]
    fewer: float
    fewer_interval: tuple[float, float]
    verdict: Verdict
    erases: int
    erases_least: int
    erases_mean: float
    erases_most: int
    drive_writes: float
    parameters: dict[str, Any]
    waf_before: float | None

    @property
    def shown(self) -> str:
        """Placement and streams in a word or two."""
        told = self.placement not in (LEGACY, SEPBIT)
        return f"{self.placement}, {self.streams} streams" if told else self.placement


@dataclass(frozen=True)
class WearTable:
    """All rows.

    Attributes:
        rows: by over-provisioning, then by placement and streams.
        page_bytes: of a flash page.
        footprint: distinct flash pages that are written.
        host_pages: page writes of the last cycle.
        cycles: that there are.
        endured: erases of a block.
        capacity_bytes: of the drive; None where it is as large as what is written.
        notes: what placements say of themselves, one each at most.
    """

    rows: tuple[WearRow, ...]
    page_bytes: int
    footprint: int
    host_pages: int
    cycles: int
    endured: int
    capacity_bytes: int | None
    notes: tuple[str, ...]

    @property
    def main(self) -> float:
        """The over-provisioning that is spoken of."""
        return nearest(sorted({row.over_provisioning for row in self.rows}))

    def values(self) -> dict[str, Any]:
        """For `--json`."""
        said = {name: getattr(self, name) for name in ("page_bytes", "footprint", "host_pages", "cycles", "endured")}
        return {
            **said,
            "answer": ordinary(answer(self)),
            "notes": list(self.notes),
            "rows": [asdict(row) for row in self.rows],
        }


def nearest(shares: Sequence[float]) -> float:
    """The over-provisioning that is nearest to the one that FIOS's drive has."""
    return min(shares, key=lambda share: abs(share - MAIN_SHARE))


def count_rows(asked: WearAsked) -> int:
    """Rows that a table will have."""
    return len(asked.over_provisioning) * sum(len(counts_of(name, asked.streams)) for name in asked.by)


def writes_of(cycles: Sequence[Trace], drive: Drive) -> DriveWrites:
    """The page writes of a drive.

    Raises:
        TraceError: nothing is written, one chunk alone, or too little in the cycle that is counted.
    """
    writes = drive_writes(cycles, drive.page_bytes)
    if len(np.unique(writes.page_chunks)) < 2:
        message = (
            f"{cycles[0].meta.trace_id}: one chunk of 32 KiB alone is written, so that there is nothing to tell apart: "
            "give a trace that writes more places"
        )
        raise TraceError(message)
    part = writes.cycle(-1)
    if part.stop - part.start < BLOCKS:
        message = (
            f"{cycles[-1].meta.trace_id}: cycle {writes.cycles} of {writes.cycles}, which is counted, writes "
            f"{part.stop - part.start} pages of {human(writes.page_bytes)}, at least {BLOCKS} are needed: give a "
            "longer trace, or fewer --cycles"
        )
        raise TraceError(message)
    return writes


def check_room(
    writes: DriveWrites, asked: WearAsked, name: str, bundle: Dictionary | None = None, larger: str = ""
) -> None:
    """Refuse drives that are too small before anything runs on them.

    Args:
        writes: of a drive.
        asked: placements and drives.
        name: of what writes, for the message.
        bundle: the dictionary of one.
        larger: what else makes room for streams, for the message.

    Raises:
        DeviceError: a drive that is too small; it says which of the shares and numbers of streams asked for fit.
    """
    shares, streams = asked.over_provisioning, asked.streams

    def refused(share: float, numbers: Sequence[int]) -> DeviceError | None:
        counts = [count for by in asked.by for count in counts_of(by, numbers)]
        most = max([*counts, bundle.count if bundle else 1])
        try:
            drive_for(writes, asked.drive.model_copy(update={"over_provisioning": share}), most)
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
    holds = asked.drive.capacity_bytes is None or writes.footprint * writes.page_bytes <= asked.drive.capacity_bytes
    raise DeviceError(f"{name}: {error}{larger if holds else ''}{fits}") from error


def wear_table(
    writes: DriveWrites, cycles: Sequence[Trace], asked: WearAsked, advance: Advance, bundle: Dictionary | None = None
) -> WearTable:
    """Run every placement on every drive.

    Args:
        writes: of a drive, of at least two cycles; the last is counted.
        cycles: the traces that the writes are of; none for the writes of a cache.
        asked: placements and drives.
        advance: progress, in rows.
        bundle: the dictionary of one.

    Raises:
        DeviceError: a drive that is too small, see `cachezoo.wear.drive.drive_for`.
        TraceError: the cycle that is counted writes too little.
    """
    shares = asked.over_provisioning
    drives = {share: asked.drive.model_copy(update={"over_provisioning": share}) for share in shares}
    placing = Placing(writes, cycles, drives[nearest(shares)], asked.seed, bundle)
    before = writes.cycle(writes.cycles - 2)
    judged = writes.cycles > LEAST_CYCLES and before.stop - before.start >= BLOCKS
    found: dict[float, list[tuple[Placed, Wear, float | None]]] = {share: [] for share in shares}
    notes, done = dict[str, str](), 0
    for name in asked.by:
        for count in counts_of(name, asked.streams):
            placed = placing.of(name, count)
            notes[name] = placed.note  # numbers of streams rise, and what is said of the most holds for fewer
            for share, drive in drives.items():
                earlier = placed.run(writes, drive, writes.cycles - 2).waf if judged else None
                found[share].append((placed, placed.run(writes, drive), earlier))
                advance(done := done + 1, name)
    part = writes.cycle(-1)
    return WearTable(
        rows=tuple(_row(*one, own[0][1], share) for share, own in found.items() for one in own),
        page_bytes=writes.page_bytes,
        footprint=writes.footprint,
        host_pages=part.stop - part.start,
        cycles=writes.cycles,
        endured=asked.drive.cycles,
        capacity_bytes=asked.drive.capacity_bytes,
        notes=tuple(note for note in notes.values() if note),
    )


def _row(placed: Placed, run: Wear, before: float | None, legacy: Wear, share: float) -> WearRow:
    fewer = lead(run, legacy)
    return WearRow(
        placement=placed.name,
        streams=placed.streams,
        streams_used=run.streams_used,
        over_provisioning=share,
        waf=run.waf,
        waf_interval=waf(run).ends,
        fewer=fewer.value,
        fewer_interval=fewer.ends,
        verdict=verdict(fewer, LEAST_SAVING),
        erases=int(run.erased.sum()),
        erases_least=int(run.erases.min()),
        erases_mean=float(run.erases.mean()),
        erases_most=int(run.erases.max()),
        drive_writes=run.drive_writes,
        parameters=dict(placed.parameters),
        waf_before=before,
    )


def answer(table: WearTable) -> str:
    """Whether it pays to use streams, in a sentence or two."""
    own = [row for row in table.rows if row.over_provisioning == table.main]
    legacy = own[0]
    said = (
        f"at {percent(table.main, 0)} over-provisioning the drive without streams writes {number(legacy.waf, 2)} flash "
        "pages for each page of the host"
    )
    times = f"times that it can be written in full, at {table.endured:,} erases a block"
    lasts = f"{number(legacy.drive_writes)} drive writes ({times})"
    if legacy.waf < LEAST_WAF:
        return f"No, there is nothing to gain: {said}, and lasts {lasts}. {_wrote(table)}"
    usable = [row for row in own if row.placement not in (LEGACY, SEPBIT, ORACLE)]
    least = {row.placement: row for row in sorted(own, key=lambda row: -row.waf)}
    if not usable:
        found = f"No placement was asked for that a host can use: {said}, and lasts {lasts}. {_wrote(table)}"
        best = legacy
    else:
        best, how = _choice(usable)
        pays = PAYS[best.verdict] if best.fewer > 0 else PAYS[Verdict.WORSE]
        found = f"{pays}: {said}, and with {best.shown}{how} {best.waf:.2f}: {percent(best.fewer)} fewer flash writes "
        found += f"(90 % interval {span(best.fewer_interval, 1)}). "
        found += f"It lasts {number(best.drive_writes)} in place of {lasts}."
        found += f" {_wrote(table)}" if table.host_pages < SHORT * table.footprint else ""
    if SEPBIT in least and least[SEPBIT].waf < best.waf:
        found += f" A drive that places by itself (sepbit) has {least[SEPBIT].waf:.2f}."
    if ORACLE in least:
        found += f" Known lifetimes would allow {least[ORACLE].waf:.2f}."
    return found


def _choice(usable: Sequence[WearRow]) -> tuple[WearRow, str]:
    """The placement to speak of, and how it was chosen: where it can be, by the cycle before the quoted one."""
    if len(usable) == 1:
        return usable[0], ""
    if any(row.waf_before is None for row in usable):
        return min(usable, key=lambda row: (row.waf, row.streams)), ", the best in hindsight,"
    return min(usable, key=lambda row: (row.waf_before, row.streams)), ", the best on the cycle before,"


def _wrote(table: WearTable) -> str:
    """How much the answer stands on."""
    written = table.footprint * table.page_bytes
    said = (
        f"The last cycle writes {human(table.host_pages * table.page_bytes)}, {table.host_pages / table.footprint:.1f} "
    )
    said += f"times the trace's distinct pages ({human(written)})"
    said += "; a longer trace may say otherwise." if table.host_pages < SHORT * table.footprint else "."
    if table.capacity_bytes is not None and written < ROOMY * table.capacity_bytes:
        said += f" They are {percent(written / table.capacity_bytes, 0)} of the drive, and the rest is room to spare."
    return said

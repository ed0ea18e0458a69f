"""Write amplification of placements on a drive that replays a trace's cycles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.console import Advance
from cachezoo.contest.blocks import BLOCKS
from cachezoo.contest.lead import Interval
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.errors import DeviceError, TraceError
from cachezoo.questions.wear.options import WearOptions
from cachezoo.questions.wear.placing import Placing, counts_of
from cachezoo.settings.wear import Drive
from cachezoo.sizes import human
from cachezoo.traces.table import Trace
from cachezoo.wear.names import LEGACY, SEPBIT
from cachezoo.wear.placements import Placement
from cachezoo.wear.run import Wear, drive_for
from cachezoo.wear.writes import DriveWrites, drive_writes
from cachezoo.zoo.streams.bench import Bench
from cachezoo.zoo.streams.dictionary import Dictionary

LEAST_CYCLES = 2  # one to learn on, one to count
MAIN_SHARE = 0.11  # the over-provisioning that parameters are chosen at, and that is spoken of: the nearest to it


@dataclass(frozen=True)
class WearRow:
    """A placement on a drive, counted over the last cycle.

    Attributes:
        drive_writes: times that the host can write all addresses until the blocks have had the erases that they endure,
            if they wear evenly.
        waf_before: the WAF on the cycle before, which the verdict chooses by; None where there is none to choose on, as
            what learns has served no cycle before the last, or where that cycle writes too little.
    """

    placement: str
    streams: int  # that there are for it
    streams_used: int  # that the host wrote to
    over_provisioning: float  # share of the flash without an address
    waf: float  # flash pages written over those that the host wrote
    waf_interval: Interval
    fewer: float  # share of the flash writes without streams that is saved
    fewer_interval: Interval
    verdict: Verdict  # on that saving
    erases: int  # of blocks in the cycle
    erases_least: int  # of a block, since the drive was new
    erases_mean: float
    erases_most: int
    drive_writes: float
    parameters: dict[str, Any]  # chosen on the cycle before
    waf_before: float | None

    @property
    def shown(self) -> str:
        """Placement and streams in a word or two."""
        alone = self.placement in (LEGACY, SEPBIT)
        return self.placement if alone else f"{self.placement}, {self.streams} streams"


@dataclass(frozen=True)
class WearTable:
    """All rows."""

    rows: tuple[WearRow, ...]  # by over-provisioning, then by placement and streams
    page_bytes: int  # of a flash page
    footprint: int  # distinct flash pages that are written
    host_pages: int  # page writes of the last cycle
    cycles: int
    endured: int  # erases of a block
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
    return len(options.over_provisioning) * sum(len(counts_of(name, options.streams)) for name in options.by)


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
        DeviceError: a drive that is too small, see `cachezoo.wear.run.drive_for`.
        TraceError: the cycle that is counted writes too little.
    """
    shares = options.over_provisioning
    benches = {share: Bench(writes, options.drive.model_copy(update={"over_provisioning": share})) for share in shares}
    placing = Placing(benches[nearest(shares)], cycles, options.seed, bundle)
    before = writes.cycle(writes.cycles - 2)
    chooses = writes.cycles > LEAST_CYCLES and before.stop - before.start >= BLOCKS
    found: dict[float, list[tuple[Placement, Wear, float | None]]] = {share: [] for share in shares}
    notes, done = dict[str, str](), 0
    for name in options.by:
        for count in counts_of(name, options.streams):
            placement = placing.of(name, count)
            notes[name] = placement.note  # numbers of streams rise, and the note for the most holds for fewer
            for share, bench in benches.items():
                earlier = bench.run(placement, writes.cycles - 2).waf if chooses else None
                found[share].append((placement, bench.run(placement), earlier))
                advance(done := done + 1, name)
    part = writes.cycle(-1)
    return WearTable(
        rows=tuple(_row(*one, own[0][1], share) for share, own in found.items() for one in own),
        page_bytes=writes.page_bytes,
        footprint=writes.footprint,
        host_pages=part.stop - part.start,
        cycles=writes.cycles,
        endured=options.drive.cycles,
        capacity_bytes=options.drive.capacity_bytes,
        notes=tuple(note for note in notes.values() if note),
    )


def _row(placement: Placement, run: Wear, before: float | None, legacy: Wear, share: float) -> WearRow:
    fewer = run.saved(legacy)
    return WearRow(
        placement=placement.policy,
        streams=placement.streams,
        streams_used=run.streams_used,
        over_provisioning=share,
        waf=run.waf,
        waf_interval=run.waf_mean.ends,
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

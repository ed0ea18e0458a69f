"""Where a verdict on wear is decided: for `recommend --only wear` and `--only cache-wear`, and for the report.

A placement is compared with a drive without streams, by the share of flash writes that it saves (`Wear.saved`), and has
to save `LEAST_SAVING` above chance. Which placement is compared is chosen on the cycle before the counted one: by
the command here, for the report by the judge of the model (`cachezoo.zoo.streams.judge`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cachezoo.contest.verdict import LEAST_SAVING, Verdict
from cachezoo.questions.wear.cache import CacheWrites
from cachezoo.questions.wear.table import WearRow, WearTable
from cachezoo.show.formats import number, ordinary, percent, share, span
from cachezoo.show.table import Cell
from cachezoo.sizes import human
from cachezoo.wear.names import BOUNDS, BY_DRIVE, EQUAL, LEGACY
from cachezoo.zoo.streams.metrics import StreamsModel, StreamsRow

SHORT = 0.5  # a cycle that writes less than this of the trace's distinct pages is little to judge by
ROOMY = 0.9  # a trace that writes less of a drive than this leaves it room that no over-provisioning counts
LEAST_WAF = 1.05  # of a drive without streams; below it there is nothing to gain
PAYS = {
    Verdict.BETTER: "Yes",
    Verdict.TRIFLE: "Hardly",
    Verdict.EVEN: "Not clearly",
    Verdict.SHORT: "Not clearly",
    Verdict.WORSE: "No",
}
YES, PARTS, NO, UNSURE = "yes", "equal parts", "don't", "cannot be told"
CHOSEN = "chosen"  # the dictionary that validation chose, among rows that are compared
MOST_OF_LEGACY = 1 - LEAST_SAVING


def values(table: WearTable) -> dict[str, Any]:
    """For `--json`."""
    known = {name: getattr(table, name) for name in ("page_bytes", "footprint", "host_pages", "cycles", "endured")}
    rows = [asdict(row) for row in table.rows]
    return {**known, "answer": ordinary(answer(table)), "notes": list(table.notes), "rows": rows}


def answer(table: WearTable) -> str:
    """Whether it pays to use streams, in a sentence or two."""
    own = [row for row in table.rows if row.over_provisioning == table.main]
    legacy = own[0]
    text = (
        f"at {percent(table.main, 0)} over-provisioning the drive without streams writes {number(legacy.waf, 2)} flash "
        "pages for each page of the host"
    )
    times = f"times that it can be written in full, at {table.endured:,} erases a block"
    lasts = f"{number(legacy.drive_writes)} drive writes ({times})"
    if legacy.waf < LEAST_WAF:
        return f"No, there is nothing to gain: {text}, and lasts {lasts}. {_wrote(table)}"
    usable = [row for row in own if row.placement not in (LEGACY, *BY_DRIVE, *BOUNDS)]
    least = {row.placement: row for row in sorted(own, key=lambda row: -row.waf)}
    if not usable:
        found = f"No placement that a host can use is among these: {text}, and lasts {lasts}. {_wrote(table)}"
        best = legacy
    else:
        best, how = _choice(usable)
        pays = PAYS[best.verdict] if best.fewer > 0 else PAYS[Verdict.WORSE]
        found = f"{pays}: {text}, and with {best.shown}{how} {best.waf:.2f}: {percent(best.fewer)} fewer flash writes "
        found += f"(90 % interval {span(best.fewer_interval, 1)}). "
        found += f"It lasts {number(best.drive_writes)} in place of {lasts}."
        found += f" {_wrote(table)}" if table.host_pages < SHORT * table.footprint else ""
    inside = min((least[name] for name in BY_DRIVE if name in least), key=lambda row: row.waf, default=None)
    if inside is not None and inside.waf < best.waf:
        found += f" A drive that places by itself ({inside.placement}) has {inside.waf:.2f}."
    known = [least[name].waf for name in BOUNDS if name in least]
    if known:
        found += f" Known lifetimes would allow {min(known):.2f}."
    return found


def _choice(usable: Sequence[WearRow]) -> tuple[WearRow, str]:
    """The placement to speak of, and how it was chosen: where it can be, by the cycle before the quoted one."""
    if len(usable) == 1:
        return usable[0], ""
    if any(row.waf_before is None for row in usable):
        return min(usable, key=lambda row: (row.waf, row.streams)), ", the best in hindsight,"
    return min(usable, key=lambda row: (row.waf_before, row.streams)), ", the best on the cycle before,"


def _wrote(table: WearTable) -> str:
    """How much the answer rests on."""
    written = table.footprint * table.page_bytes
    text = (
        f"The last cycle writes {human(table.host_pages * table.page_bytes)}, {table.host_pages / table.footprint:.1f} "
    )
    text += f"times the trace's distinct pages ({human(written)})"
    text += "; a longer trace may say otherwise." if table.host_pages < SHORT * table.footprint else "."
    if table.capacity_bytes is not None and written < ROOMY * table.capacity_bytes:
        text += f" They are {percent(written / table.capacity_bytes, 0)} of the drive, and the rest is room to spare."
    return text


def pays(model: StreamsModel, rows: Mapping[str, StreamsRow]) -> Cell:
    """Whether to use streams, and whose: validation says whether the model's, the test cycle whether it pays.

    Args:
        model: the dictionary's verdict.
        rows: of `compared`.
    """
    row, note = rows[CHOSEN], ""
    if not model.promoted:
        row, note = rows.get(EQUAL, row), "the dictionary is not promoted"
    if row.of_legacy_interval[1] < 1 and row.of_legacy <= MOST_OF_LEGACY:
        return Cell(YES if model.promoted else PARTS, note=note, tone="good")
    if row.of_legacy_interval[0] < 1 and row.of_legacy <= MOST_OF_LEGACY:
        return Cell(UNSURE, note=note, tone="unsure")
    return Cell(NO, note=note, tone="bad")


def cache_answer(caches: list[CacheWrites], tables: list[WearTable]) -> str:
    """Which admission erases least, in a sentence; on the drive without streams."""
    main = tables[0].main
    own = [
        next(row for row in table.rows if row.placement == LEGACY and row.over_provisioning == main) for table in tables
    ]
    first, least = 0, min(range(len(own)), key=lambda k: own[k].erases)
    text = f"At {percent(main, 0)} over-provisioning {caches[0].policy} erases {own[0].erases:,} blocks"
    text += f" for {tables[0].host_pages:,} pages that it writes (WAF {own[0].waf:.2f})"
    if least != first and own[first].erases:
        fewer = 1 - own[least].erases / own[first].erases
        text += f"; {caches[least].policy} erases {share(fewer)} fewer, {own[least].erases:,} for "
        text += f"{tables[least].host_pages:,} pages (WAF {own[least].waf:.2f}), at a hit ratio of "
        text += f"{percent(caches[least].hit_ratio)} against {percent(caches[first].hit_ratio)}"
    return text + "."

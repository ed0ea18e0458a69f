"""Where a verdict on wear is decided: for `recommend --only wear` and `--only cache-wear`, and for the report.

A placement is compared with a drive without streams, by the share of flash writes that it saves (`Wear.saved`), and has
to save `LEAST_SAVING` above chance, and more than chance among equal victims moves. Which placement is compared is
chosen on the cycle before the counted one: by the command here, for the report by the judge of the model
(`cachezoo.zoo.streams.judge`). Whether streams pay is said for each victim: a drive's own choice of it may be worth
more than any placement.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from cachezoo.contest.verdict import LEAST_SAVING, Verdict
from cachezoo.contest.words import saves
from cachezoo.flash_drive.names import AUTOSTREAM, BOUNDS, BY_DRIVE, EQUAL, FIOS, LEGACY, LIFETIME, MULTIQ
from cachezoo.questions.wear.cache import CacheWrites
from cachezoo.questions.wear.table import Advice, WearTable
from cachezoo.show.formats import number, ordinary, percent, share, span
from cachezoo.show.table import Cell
from cachezoo.sizes import human
from cachezoo.zoo.streams.metrics import StreamsModel, StreamsRow

SHORT = 0.5  # a cycle that writes less than this of the trace's distinct pages is little to judge by
ROOMY = 0.9  # a trace that writes less of a drive than this leaves it room that no over-provisioning counts
WHOLE = 0.9  # bytes of the host over those of the pages that it writes; below it small writes are named
LEAST_WAF = 1.05  # of a drive without streams; below it there is nothing to gain
PAYS = {
    Verdict.BETTER: "Yes",
    Verdict.TRIFLE: "Hardly",
    Verdict.EVEN: "Not clearly",
    Verdict.SHORT: "Not clearly",
    Verdict.WORSE: "No",
}
YES, PARTS, DEPENDS, NO, UNSURE = "yes", "equal parts", "depends on the drive", "don't", "cannot be told"
_BUNDLES = "a bundle of kind streams, which libcachezoo runs"
RUNS = {
    EQUAL: "Equal parts need no model: a host names the stream of each part (docs/streams.md, Run it).",
    LIFETIME: f"Forests of lifetimes are trained on your traces and exported as {_BUNDLES} (docs/streams.md).",
    FIOS: f"Dictionaries are trained on your traces and exported as {_BUNDLES} (docs/streams.md).",
    AUTOSTREAM: "AutoStream is simulation only: no runtime of cachezoo has it.",
    MULTIQ: "AutoStream's queues are simulation only: no runtime of cachezoo has them.",
}
CHOSEN = "chosen"  # the dictionary that validation chose, among rows that are compared
MOST_OF_LEGACY = 1 - LEAST_SAVING


def values(table: WearTable) -> dict[str, Any]:
    """For `--json`."""
    names = ("page_bytes", "footprint", "host_pages", "host_bytes", "cycles", "endured", "trims", "trimmed", "heeded")
    known = {name: getattr(table, name) for name in names}
    advice = [_advised(one) for one in table.advice]
    rows = [asdict(row) for row in table.rows]
    answered = {"answer": ordinary(answer(table)), "advice": advice, "notes": list(table.notes)}
    return {**known, **answered, "rows": rows}


def _advised(one: Advice) -> dict[str, Any]:
    chosen, rival = one.chosen, one.rival
    return {
        "victim": one.victim,
        "placement": None if chosen is None else chosen.placement,
        "streams": None if chosen is None else chosen.streams,
        "verdict": None if chosen is None else one.verdict,
        "fewer": None if chosen is None else chosen.fewer,
        "noise": one.noise,
        "rival": None if rival is None else rival.placement,
        "rival_streams": None if rival is None else rival.streams,
        "fewer_than_rival": None if rival is None else one.over_rival,
        "fewer_than_rival_interval": None if rival is None else one.over_rival_interval,
    }


def answer(table: WearTable) -> str:
    """Whether it pays to use streams, in a sentence or more."""
    first, *others = table.advice
    under = f" and with {first.victim}" if others else ""
    text = (
        f"Do streams pay? {_begin(table)}. At {percent(table.main, 0)} over-provisioning{under} the drive without "
        f"streams writes {number(first.legacy.waf, 2)} flash pages for each page of the host."
    )
    times = f"times that it can be written in full until blocks have had {table.endured:,} erases, if they wear evenly"
    lasts = f"{number(first.legacy.drive_writes)} drive writes ({times})"
    speaks = first.chosen is not None and first.legacy.waf >= LEAST_WAF
    text += f"{_with(first)} The drive lasts {number(first.chosen.drive_writes)} instead of {lasts}." if (
        speaks and first.chosen is not None
    ) else f" The drive lasts {lasts}."  # fmt: skip
    for one in others:
        text += f" With {one.victim} it writes {number(one.legacy.waf, 2)} without streams."
        text += _with(one) if one.chosen is not None and one.legacy.waf >= LEAST_WAF else ""
    if not speaks or table.host_pages < SHORT * table.footprint:
        text += f" {_wrote(table)}"
    return _small(table) + text + _bounds(table) + _runs(table)


def _runs(table: WearTable) -> str:
    """What runs the placements that are spoken of; a host sends the stream of each write to a drive of several."""
    speaks = [one.chosen for one in table.advice if one.chosen is not None and one.legacy.waf >= LEAST_WAF]
    spoken = [row.placement.partition(":")[0] for row in speaks]
    return "".join(f" {RUNS[name]}" for name in dict.fromkeys(spoken) if name in RUNS)


def _begin(table: WearTable) -> str:
    """The answer in a few words; where several rules for what is erased were tried, with what it is under each."""
    said, first = {one.victim: _word(one) for one in table.advice}, table.advice[0]
    if len(set(said.values())) > 1:
        each = "; ".join(f"{victim}: {word[0].lower()}{word[1:]}" for victim, word in said.items())
        return f"It depends on the rule by which the drive chooses the block to erase ({each})"
    if len(said) == 1 or first.chosen is None:
        return said[first.victim]
    return f"{said[first.victim]}, under each rule by which the drive chose the block to erase ({', '.join(said)})"


def _word(one: Advice) -> str:
    """The answer under one victim."""
    if one.legacy.waf < LEAST_WAF:
        return "No, there is nothing to gain"
    if one.chosen is None:
        return "No placement that a host can use is among these"
    if one.verdict == Verdict.EVEN and one.chosen.verdict in (Verdict.BETTER, Verdict.TRIFLE):
        return "No, chance moves as much"
    return PAYS[one.verdict] if one.chosen.fewer > 0 else PAYS[Verdict.WORSE]


def _with(one: Advice) -> str:
    """The placement that is spoken of, what it saves, and its strongest rival."""
    assert one.chosen is not None, "there is one to speak of"
    chosen, usable = one.chosen, one.rival is not None
    how = ", the best in hindsight," if one.hindsight else ", chosen on the previous cycle," if usable else ""
    by = f"{chosen.shown}{how}" if how else f"{chosen.shown},"
    text = f" With {by} it writes {chosen.waf:.2f}: {percent(chosen.fewer)} fewer flash writes "
    text += f"(90 % interval {span(chosen.fewer_interval, 1)}"
    text += f"; ties between blocks move it by {percent(one.noise)})"
    if one.rival is not None:
        than = saves(one.over_rival, one.over_rival_interval, LEAST_SAVING)
        text += f". Against {one.rival.shown} ({one.rival.waf:.2f}) it {than}"
    return text + "."


def _small(table: WearTable) -> str:
    """A first sentence on writes that are smaller than a flash page, where there are many."""
    share_ = table.host_bytes / (table.host_pages * table.page_bytes)
    if share_ > WHOLE:
        return ""
    legacy = table.advice[0].legacy
    return (
        f"Writes smaller than a flash page come first: a page of {human(table.page_bytes)} is written for "
        f"{human(round(share_ * table.page_bytes))} of the host on average, so that without streams flash takes "
        f"{number(legacy.waf_bytes, 1)} bytes for each byte of the host, {number(1 / share_, 1)} by small writes times "
        f"{number(legacy.waf, 2)} by garbage collection. Streams act on the second alone. "
    )


def _bounds(table: WearTable) -> str:
    """What a drive reaches that places by itself, or knows the future, under each victim."""
    inside, known = [], []
    for one in table.advice:
        own = [row for row in table.rows if (row.over_provisioning, row.victim) == (table.main, one.victim)]
        by_drive = min((row for row in own if row.placement in BY_DRIVE), key=lambda row: row.waf, default=None)
        under = f" with {one.victim}" if one != table.advice[0] else ""
        if one.legacy.waf < LEAST_WAF:
            continue
        if by_drive is not None and by_drive.waf < (one.chosen or one.legacy).waf:
            inside.append(f"{by_drive.waf:.2f}{under} ({by_drive.placement})")
        if reached := [row.waf for row in own if row.placement in BOUNDS]:
            known.append(f"{min(reached):.2f}{under}")
    text = f" A drive that places by itself, which no host can choose, has {', and '.join(inside)}." if inside else ""
    return text + (f" Known lifetimes would allow {', and '.join(known)}." if known else "")


def _wrote(table: WearTable) -> str:
    """How much the answer rests on."""
    written = table.footprint * table.page_bytes
    text = (
        f"The last cycle writes {human(table.host_bytes)}, in page writes {table.host_pages / table.footprint:.1f} "
        f"times the trace's distinct pages ({human(written)})"
    )
    text += "; a longer trace may say otherwise." if table.host_pages < SHORT * table.footprint else "."
    if table.capacity_bytes is not None and written < ROOMY * table.capacity_bytes:
        text += f" They are {percent(written / table.capacity_bytes, 0)} of the drive, and the rest is room to spare."
    return text


def pays(model: StreamsModel, rows: Mapping[str, StreamsRow]) -> Cell:
    """Whether to use streams, and whose: validation says whether the model's, the test cycle whether it pays.

    It pays where it saves flash writes above chance, more than chance among equal victims moves, by a share worth
    having, and under each victim that was tried; what pays under the main one alone depends on the drive.

    Args:
        model: the verdict of what was learned.
        rows: of `compared`.
    """
    row, note = rows[CHOSEN], ""
    if not model.promoted:
        row, note = rows.get(EQUAL, row), "what was learned is not promoted"
    if row.of_legacy > min(MOST_OF_LEGACY, 1 - (row.noise or 0.0)) or row.of_legacy_interval[0] >= 1:
        return Cell(NO, note=note, tone="bad")
    if row.of_legacy_interval[1] >= 1:
        return Cell(UNSURE, note=note, tone="unsure")
    fails = [
        victim
        for victim, found in row.victim_of_legacy.items()
        if found > MOST_OF_LEGACY or row.victim_of_legacy_interval[victim][1] >= 1
    ]
    if fails:
        return Cell(DEPENDS, note=f"not under {', '.join(fails)} victims", tone="unsure")
    return Cell(YES if model.promoted else PARTS, note=note, tone="good")


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

"""What `recommend --only flash` says: its answers, its table's cells, what was assumed, and the values of `--json`."""

from collections.abc import Sequence
from typing import Any

from cachezoo.contest.verdict import LEAST_SAVING, Verdict
from cachezoo.flash_cache.modes import NONE
from cachezoo.flash_cache.policies import is_mounted
from cachezoo.metrics.flash import RateRow, Yearly
from cachezoo.questions.flash.bench import MODEL, ORACLE
from cachezoo.questions.flash.model import FlashModel
from cachezoo.questions.flash.options import CONSTANTS, FlashOptions
from cachezoo.questions.flash.table import FlashTable
from cachezoo.show import formats
from cachezoo.show.formats import lifetime, money, number, percent, rate, span, words
from cachezoo.sizes import human


def values_of(name: str, tables: Sequence[FlashTable], models: Sequence[FlashModel]) -> dict[str, Any]:
    """What `--json` prints: the trace, each size's cache, and all rows."""
    first = tables[0]
    return {
        "trace": name,
        "trace_id": first.trace_id,
        "requests": first.requests,
        "seconds": first.seconds,
        "clock": first.clock,
        "time_scale": first.scale,
        "segment_bytes": first.geometry.segment_bytes,
        "block_bytes": first.geometry.block_bytes,
        "caches": [_cache_values(table) for table in tables],
        "rows": [row.values() for table in tables for row in table.rows],
        "leads": [{"size": table.size, **lead.values()} for table in tables for lead in table.leads],
        "kept": [{"size": table.size, **lead.values()} for table in tables for lead in table.kept],
        "bundles": [{"id": own.name, "inputs": own.inputs, "drifted": own.drifted} for own in models],
        **({} if first.sampled is None else {"trace_sampled": first.sampled}),
    }


def _cache_values(found: FlashTable) -> dict[str, Any]:
    windows, cheapest = found.windows, found.cheapest[:1]
    return {
        "size": found.size,
        "capacity_segments": found.capacity,
        "capacity_bytes": found.capacity * found.geometry.segment_bytes,
        "warmup_requests": windows.first,
        "windows": {"count": windows.count, "seconds": windows.seconds},
        "write_disks_busy": found.write_disks_busy,
        "disks_without": None if found.without is None else found.without.disks,
        "usd_a_year_without": None if found.without is None else found.without.usd,
        "cheapest": [row.values("policy", "prefetch", "asked", "disks", "usd_a_year") for row in cheapest],
    }


def heads_of(tables: Sequence[FlashTable]) -> dict[str, bool]:
    """The columns of the table, and whether each is of words."""
    names = [*(["cache"] if len(tables) > 1 else []), "policy", "prefetch", "may write"]
    busy = ["disks busy", "at peak"] if tables[0].clock else ["disk ms a read"]
    figures = ["writes", *busy, "reads hit", *(["a day", "SSD lives"] if lived(tables) else [])]
    return dict.fromkeys(names, True) | dict.fromkeys([*figures, *(["$ a year"] if tables[0].clock else [])], False)


def lived(tables: Sequence[FlashTable]) -> bool:
    """Whether the trace is long enough to say how long the SSD lives."""
    return any(row.lifetime_years is not None for table in tables for row in table.rows)


def cells(row: RateRow, tables: Sequence[FlashTable]) -> list[str]:
    """A row, for `heads_of`."""
    limit = ", ".join(filter(None, (row.asked, row.set_by))) or "no limit"
    below = "" if row.reached in (None, True) else " *" if row.more_helps else " +"
    found = [row.size] if len(tables) > 1 else []
    found += [row.policy, row.prefetch, limit, _written(row) + below]
    if row.disks_busy is None or row.disks_busy_peak is None:
        found.append(f"{row.disk_ms_per_read:.3f}{_error(row, 'disk_ms_per_read', 3)}")
    else:
        found.append(number(row.disks_busy, 3) + _error(row, "disks_busy", 3))
        found.append(number(row.disks_busy_peak, 2) + _error(row, "disks_busy_peak", 2))
    found.append(percent(row.io_hit_ratio) + _error(row, "io_hit_ratio", 1, 100))
    if lived(tables):
        day, years = row.ssd_bytes_a_day, row.lifetime_years
        found += [formats.NONE if day is None else human(day), formats.NONE if years is None else lifetime(years)]
    if tables[0].clock:
        error = row.errors_90.get("usd_a_year")
        found.append(money(row.usd_a_year) + ("" if error is None else f" ± {money(error)}"))
    return found


def _error(row: RateRow, figure: str, digits: int, times: float = 1) -> str:
    """Of an estimate, half its 90 % interval."""
    error = row.errors_90.get(figure)
    return "" if error is None else f" ± {number(times * error, digits)}"


def _written(row: RateRow) -> str:
    """What is written: by the second where there is a clock, else as a share of what accept_all writes."""
    return percent(row.written_share) if row.written_bytes_s is None else rate(row.written_bytes_s)


def answers(tables: Sequence[FlashTable], options: FlashOptions) -> list[str]:
    """What the table says: of each size who is ahead at each rate, in hindsight and kept, and what costs least.

    With several sizes each sentence names its own.
    """
    said = []
    for table in tables:
        head = f"{table.size} ({human(table.capacity * table.geometry.segment_bytes)}): " if len(tables) > 1 else ""
        lines = [*leads_of(table), *kept_of(table), *shipped_of(table), *_cost_of(table, options)]
        said += [f"{head}{line[0].lower() if head else line[0]}{line[1:]}" for line in lines]
    return said


def leads_of(found: FlashTable) -> list[str]:
    """A sentence a rate: the best policy without a model in hindsight, and what the best bundle saves against it."""
    lines = []
    for lead in found.leads:
        rival, model, saved = lead.rival, lead.model, lead.saved
        wrote = _written(rival)
        text = (
            f"At a limit of {lead.asked}, settings chosen in hindsight: of the policies without a model "
            f"{rival.policy}{_with(rival)} keeps the disks least busy"
        )
        text += f"; the sample does not tell it from {words(lead.level)}" if lead.level else ""
        text += "" if lead.more_helps else f"; more writes do not help it beyond {wrote}"
        if model is not None and saved is not None:
            text += f"; {model.policy}{_with(model)} {'saves' if saved.value > 0 else 'costs'} "
            text += f"{percent(abs(saved.value))} of that time (90 % interval {span(saved.ends, 1)} saved) within the "
            text += f"same limit, writing {_written(model)} against {wrote}"
            text += "" if lead.verdict in (Verdict.BETTER, Verdict.WORSE) else f": {lead.verdict}"
        lines.append(text + ".")
    return lines


def _with(row: RateRow) -> str:
    return f" with prefetch {row.prefetch}" if row.prefetch != NONE else ""


def kept_of(found: FlashTable) -> list[str]:
    """A sentence a rate, and bundle as shipped if there is one: what a controller reaches that knows no future."""
    lines = []
    for lead in found.kept:
        rival, model, saved = lead.rival, lead.model, lead.saved
        name = f"{rival.policy}{_with(rival)}"
        if model is None or saved is None:
            text = f"Kept at {lead.asked} throughout, {name} is the best of the policies without a model: it "
            text += f"{_keeps(rival)}, writing {_written(rival)}"
        else:
            does = "saves" if saved.value > 0 else "costs"
            text = f"As a cache would run it at {lead.asked}, as shipped{_with(model)}: {model.policy} "
            text += f"{_keeps(model)}, writing {_written(model)}; it {does} {percent(abs(saved.value))} (90 % interval "
            text += f"{span(saved.ends, 1)} saved) of what the best here without a model under the same controller "
            text += f"takes, {name}, writing {_written(rival)}"
            text += "" if lead.verdict in (Verdict.BETTER, Verdict.WORSE) else f": {lead.verdict}"
        lines.append(f"{text} (simulated; {how_run(rival.policy)}).")
    return lines


def how_run(policy: str) -> str:
    """Whether what was simulated of a policy without a model can be run."""
    return "a mounted cache runs it only at a fixed setting" if is_mounted(policy) else "no runtime has it"


def _keeps(row: RateRow) -> str:
    if row.disks_busy is None:
        return f"costs {row.disk_ms_per_read:.3f}{_error(row, 'disk_ms_per_read', 3)} disk ms a read"
    return f"keeps {row.disks_busy:.3f}{_error(row, 'disks_busy', 3)} disks busy"


def shipped_of(found: FlashTable) -> list[str]:
    """A sentence a bundle and rate that `kept_of` has none of: what it does in the prefetch mode a cache runs it with.

    A bundle's modes are in its rows as shipped; the one that prefetches is what a runtime takes.
    """
    lines = []
    told = {(lead.model.policy, lead.asked) for lead in found.kept if lead.model is not None}
    shipped = [row for row in found.rows if row.as_shipped and row.kind == MODEL]
    shipped = [row for row in shipped if (row.policy, row.asked) not in told]
    for name, asked in dict.fromkeys((row.policy, row.asked) for row in shipped):
        own = [row for row in shipped if (row.policy, row.asked) == (name, asked)]
        row = next((row for row in own if row.prefetch != NONE), own[0])
        kept = "" if asked is None else f" at {asked}"
        lines.append(
            f"As a cache would run it{kept}, as shipped{_with(row)}: {name} {_keeps(row)}, writing {_written(row)}."
        )
    return lines


def _cost_of(found: FlashTable, options: FlashOptions) -> list[str]:
    """Which write rate costs least a year, by how much, and whether no flash costs less; nothing without a clock.

    Of a sample: that it does not say so.
    """
    if not found.cheapest or found.without is None:
        return []
    if found.sampled is not None:
        return [
            "What costs least a year is not said from a sample: disks are bought for the busiest window, whose load a "
            "sample tells too roughly. Run all of the trace for it: --sample exact."
        ]
    best, *others = found.cheapest
    none, own = found.without, best.year
    assert own is not None
    name = f"{best.policy}{_with(best)} {_limit(best)}"
    parts = f"{_disks(own)}, {money(own.flash_usd)} for flash"
    if abs(none.usd - own.usd) < LEAST_SAVING * none.usd:
        text = f"A year costs about as much without flash, {money(none.usd)} for {_disks(none)}, as with {name}, "
        return [f"{text}{money(own.usd)} ({parts}); prices: {options.prices.name}."]
    if none.usd <= own.usd:
        text = f"A year costs least without flash: {money(none.usd)} for {_disks(none)}, against {money(own.usd)} with "
        return [f"{text}{name} ({parts}); prices: {options.prices.name}."]
    text = f"A year costs least with {name}: {money(own.usd)} ({parts})"
    if others and others[0].year is not None and others[0].year.usd - own.usd >= LEAST_SAVING * own.usd:
        text += f", {money(others[0].year.usd - own.usd)} less than the next, {others[0].policy} {_limit(others[0])}"
    text += f"; without flash {money(none.usd)} ({_disks(none)}); disks for the peak at "
    return [f"{text}{percent(options.most_busy, 0)} busy, prices: {options.prices.name}."]


def _limit(row: RateRow) -> str:
    found = [f"at {row.asked}"] if row.asked else []
    return ", ".join(filter(None, (*found, row.set_by))) or "without a limit"


def _disks(year: Yearly) -> str:
    return f"{year.disks:,} disk{'' if year.disks == 1 else 's'}"


def notes(tables: Sequence[FlashTable], options: FlashOptions) -> list[str]:
    """What was counted, and how."""
    found = tables[0]
    geometry, windows = found.geometry, found.windows
    every = [row for table in tables for row in table.rows]
    busy = (
        "disk ms a read: milliseconds of seek and transfer that reads which miss take, over all reads. The trace has "
        "no clock (its times are row numbers, or all equal): nothing is said by the second or the day."
    )
    if found.write_disks_busy is not None:
        busy = (
            "disks busy: how many disks are busy with seeks and transfers of reads that miss, mean and peak of "
            f"{windows.count} windows of {windows.seconds:,.3g} s; the trace's writes keep "
            f"{found.write_disks_busy:.3f} more busy where all is admitted."
        )
    firsts = sorted({table.windows.first for table in tables})
    after = " to ".join(f"{first:,}" for first in dict.fromkeys((firsts[0], firsts[-1])))
    lines = [
        busy,
        _disk_note(options),
        f"Counted after {after} of {found.requests:,} requests, SSD writes from the first on; cached in "
        f"segments of {human(geometry.segment_bytes)}, prefetched within blocks of {human(geometry.block_bytes)}; "
        "each policy's setting is the best on this very trace that keeps the limit, of those set to the limit and to "
        "halves of it until that no longer helps.",
    ]
    if found.sampled is not None:
        lines.append(
            f"Estimated from {percent(found.sampled)} of the blocks, drawn by a hash, with as small a part of cache "
            "and writes. ±: half a 90 % interval, from eight parts of the sample; on some traces it is too narrow. The "
            "peak, and with it $ a year, rests on one window of the sample: it is rough."
        )
    if any(row.set_by for row in every):
        lines.append("kept, as shipped: a controller keeps the limit as the trace goes by, without knowing the rest.")
    if any(row.kind == ORACLE for row in every):
        lines.append("opt knows the future: Baleen's oracle, an estimate of what is within reach, and no strict bound.")
    below = [row for row in every if row.reached is False]
    if any(not row.more_helps for row in below):
        lines.append("+: writes less than it may; settings that write more keep the disks no less busy.")
    if any(row.more_helps for row in below):
        lines.append("*: writes less than it may; of those tried no setting within the limit writes more.")
    days = windows.days
    if lived(tables):
        much = "" if days >= 1 else f"; extrapolated from {24 * days:.1f} h"
        lines.append(
            f"SSD lives: of an SSD as large as the cache, rated for {options.rated_dwpd:g} drive writes a day over "
            f"five years; one ten times as large lives ten times as long{much}."
        )
    if found.scale != 1 and found.clock:
        lines.append(f"Rates and $ are of the trace's clock; one second of it is {found.scale:g} s of a recorded day.")
    return lines


def title_of(name: str, tables: Sequence[FlashTable]) -> str:
    """What the table is of."""
    first = tables[0]
    caches = words([human(table.capacity * table.geometry.segment_bytes) for table in tables])
    text = f"{name}: a flash cache of {caches} before hard disks"
    return text if first.sampled is None else f"{text}, estimated from {percent(first.sampled)} of the blocks"


def _disk_note(options: FlashOptions) -> str:
    """What an I/O costs."""
    if options.disk == CONSTANTS:
        cost = options.cost
        return f"An I/O costs the disk {cost.seek_ms:g} ms and its bytes at {cost.rate_mib_s:g} MiB/s, wherever it is."
    return (
        f"An I/O costs what a model of the disk {options.disk} says: a seek from where the one before ended, rotation, "
        "transfer; no seek where it goes on there. The rows of --json also have disks_busy_constants."
    )

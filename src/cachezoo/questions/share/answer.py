"""A comparison of partitioners as the command shows it: cells, sentences, JSON."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cachezoo.contest.choice import Goal
from cachezoo.contest.verdict import LEAST_SAVING
from cachezoo.contest.words import saves
from cachezoo.questions.share.case import CACHE_US, Case, Comparison, Score
from cachezoo.questions.share.partition import FRAGMENT
from cachezoo.runtime.tenants import POLICIES
from cachezoo.show.formats import NONE, number, ordinary, percent, share, span, words
from cachezoo.sizes import PAGE_BYTES, human

NOTED = 0.005  # of a hit ratio, or a part of transfers: less is not worth a sentence
EARLY = 0.5  # of the run: an application that ends before it leaves the cache to the others for most of the time
FEW = 0.25  # of an application's page accesses
MOST_NAMED = 3
EACH = "for each page access"
CHOOSING = "the first part of the traces"
DAEMON, OF_DAEMON = "in a cache daemon:", "of cachezoo.runtime, or cz_tenants_new (docs/runtime.md)"
FILTER = {"lru": "cz-mode=lru", "rejectx": "cz-mode=rejectx"}  # policies of the nbdkit filter, and how each is typed


def cells(row: Score) -> dict[str, str]:
    """A partitioner's row, by the titles of its columns."""
    return {
        "partitioner": str(row.candidate),
        "transfers": give_or_take(number(row.transfers, 4), row.error_90, 4),
        "hit ratio": give_or_take(number(row.hit_ratio, 4), row.hits_error_90, 4),
        "90 %": span(row.hits.interval, 3, 1) or NONE,
        "knows ahead": row.candidate.knows or NONE,
        "misses": number(row.misses, 4),
        "runs": number(row.moved if row.fragmentation is None else row.fragmentation, 4),
        "new splits": "in runs" if row.allocation is None else number(row.allocation, 4),
        "fairness": number(row.fairness, 3),
        "speed-up": number(row.speedup, 2),
    }


def give_or_take(text: str, error: float | None, digits: int) -> str:
    """A figure, with half its 90 % interval where it is an estimate that has one."""
    return text if error is None or np.isnan(error) else f"{text} ± {number(error, digits)}"


def by_application(found: Comparison, cell: Callable[[Score, int], str]) -> list[dict[str, str]]:
    """A row for each application: a cell of its figures under each partitioner."""
    return [
        {"application": name} | {str(row.candidate): cell(row, a) for row in found.rows}
        for a, name in enumerate(found.case.mix.names)
    ]


def hits_and_slowdown(row: Score, a: int) -> str:
    """An application's hit ratio, and x its slowdown."""
    one, errors = row.applications[a], row.application_errors
    if one.hit_ratio is None or one.slowdown is None:
        return NONE
    hits = give_or_take(number(one.hit_ratio, 3), None if errors is None else errors[a, 0], 3)
    return f"{hits} x{number(one.slowdown, 2)}"


def reads(row: Score, a: int) -> str:
    """The pages read for an application, for each of its page accesses."""
    one, errors = row.applications[a], row.application_errors
    return give_or_take(number(one.transfers, 3), None if errors is None else errors[a, 1], 3)


def _compared(own: Score, other: Score, name: str) -> str:
    """What one saves of the pages that another reads, and how sure that is."""
    lead = own.lead(other, Goal.COST)
    return saves(lead.value, lead.interval, LEAST_SAVING, name, "reads")


def answer(found: Comparison) -> str:
    """What to do first: share the cache, split it, or change nothing, in a few sentences.

    What is advised was chosen on the page accesses before those that count, the first half unless something else is
    given, and is compared on those that count with what runs today.
    """
    caches = [row for row in found.rows if not row.candidate.knows]
    if not caches:
        return "No partitioner here can do without the future; ask for one that can, such as equal, shared or gvpa."
    if not found.earlier:
        least = min(caches, key=lambda row: row.transfers)
        return (
            "Nothing is advised: too few page accesses come before those that count to choose by them; leave --count "
            f"at half, or give longer traces. {least.candidate} reads least, {least.transfers:.4f} pages {EACH}."
        )
    best, now = found.best(), found.row(found.now)
    if best is None:
        return f"None keeps the floors. {_least_unmet(caches)}"
    stays = now if now is not None and found.advised is None else best
    texts = (
        _advice(best, now, found), _hindsight(best, now, caches, found), _floors(stays), _higher(stays, caches),
        _bound(stays, found), _sampled(found),
    )  # fmt: skip
    return " ".join(text for text in texts if text)


def _advice(best: Score, now: Score | None, found: Comparison) -> str:
    """What to do, what it reads, and its rivals."""
    read = f"reads {give_or_take(f'{best.transfers:.4f}', best.error_90, 4)} pages {EACH}"
    other = found.best(splits=not best.candidate.splits)
    if best is now:
        rival = other or next((row for row in found.rows if row is not best and not row.candidate.knows), None)
        ahead = rival is not None and rival.transfers >= best.transfers  # what reads less is in `_hindsight`
        compared = f"; it {_compared(best, rival, str(rival.candidate))}" if rival is not None and ahead else ""
        return f"Change nothing: {best.candidate}, which runs today, {read}{compared}."
    if now is not None and found.advised is None:
        return (
            f"Change nothing: {now.candidate}, which runs today, reads {now.transfers:.4f} pages {EACH}. "
            f"{best.candidate} was best on {CHOOSING}; on the rest it {_compared(best, now, '')}."
        )
    if now is None:
        text = f"{_begin(best)} {read}"
    elif found.keeps_floors(now):
        text = f"{_begin(best)} {read} and {_compared(best, now, f'{now.candidate}, which runs today')}"
    else:
        kept = f"kept the floors on {CHOOSING}, and {now.candidate}, which runs today, does not keep them"
        text = f"{_begin(best)} {kept}. It {read} and {_compared(best, now, str(now.candidate))}"
    if other is None or other is now:
        return f"{text}."
    kind = "one cache for all" if best.candidate.splits else "split"
    return f"{text}. It {_compared(best, other, f'the best {kind}, {other.candidate}')}."


def _hindsight(best: Score, now: Score | None, caches: Sequence[Score], found: Comparison) -> str:
    """Where nothing is to change, what reads least of all where it counts, and how sure that is; or empty."""
    if now is None or (best is not now and found.advised is not None):
        return ""
    least = min((row for row in caches if found.keeps_floors(row)), key=lambda row: row.transfers, default=now)
    if least is best or least is now or least.lead(now, Goal.COST).value < NOTED:
        return ""
    compared = _compared(least, now, str(now.candidate))
    return f"In hindsight {least.candidate} reads least, which {CHOOSING} did not choose: it {compared}."


def _begin(best: Score) -> str:
    """What to do, and how the cache is split."""
    verb, parts = "Split it" if best.candidate.splits else "Share it", parts_of(best)
    return f"{verb}: {best.candidate}{f' ({parts})' if parts else ''}"


def parts_of(row: Score) -> str:
    """`database 96 MiB with s3fifo, web 32 MiB with lru`, of a split that stays; of a shared cache its policy."""
    if not row.candidate.splits:
        return "" if row.candidate.options.texts["policy"] in row.shared.policies else row.shared.policies[0]
    sizes = [human(int(pages) * PAGE_BYTES) for pages in row.shared.splits[0]] if row.shared.policies else []
    parts = zip(row.case.mix.names, sizes, row.shared.policies, strict=False)
    return words([f"{name} {size} with {own}" for name, size, own in parts])


def service(found: Comparison) -> list[str]:
    """How what is advised is put into service, a line each; empty where nothing is to change."""
    return [] if found.advised is None else put_into_service(found.advised)


def put_into_service(row: Score) -> list[str]:
    """What to type for a candidate, or that it is simulation only, a line each."""
    own, one, count = row.shared.policies, row.candidate, row.case.mix.count
    pages = row.case.usable(one)
    if one.partitioner.id == "gvpa":
        return ["in a cache daemon: cz_share_new of libcachezoo, with these values for each tenant (docs/runtime.md)"]
    if one.partitioner.id == "ucp" and one.options.texts["policy"] == "lru":
        given = f"fragment={one.fragment}, window={one.options.integer('window')}"
        return [f"{DAEMON} Tenants.ucp({count}, {pages}, {given}) {OF_DAEMON}"]
    if not own:
        return [f"simulation only: cachezoo cannot run {one}"]
    unable = [name for name in dict.fromkeys(own) if name not in POLICIES]
    if not one.splits:
        lines = [] if unable else [f"{DAEMON} Tenants.shared({count}, {pages}, {own[0]!r}) {OF_DAEMON}"]
        return lines + _by_filter(["all"], own, [pages]) or [_only(unable)]
    sizes = row.shared.splits[0].tolist()
    lines = [] if any(" " in name for name in own) else [_again(own, sizes, one.fragment)]
    if not unable:
        lines.append(f"{DAEMON} Tenants.fixed({list(zip(own, sizes, strict=True))}) {OF_DAEMON}")
    filters = _by_filter(row.case.mix.names, own, sizes)
    if unable:
        lines.append(_only([name for name in unable if name not in FILTER] or unable))
    return lines + (filters if len(filters) == len(own) else [])


def _again(policies: Sequence[str], sizes: Sequence[int], fragment: int) -> str:
    given = f", fragment={fragment}" if fragment != FRAGMENT.default else ""
    text = f"fixed(pages={'/'.join(map(str, sizes))}, policy={'/'.join(policies)}{given})"
    return f"to try it on other traces: --partitioner '{text}'"


def _by_filter(names: Sequence[str], policies: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """A line for each disk whose policy the nbdkit filter has."""
    return [
        f"on a disk of {name}: nbdkit --filter=cachezoo file DISK cz-ssd=PART cz-size={size * PAGE_BYTES // 1024}K "
        f"{FILTER[policy]}"
        for name, policy, size in zip(names, policies, sizes, strict=True) if policy in FILTER
    ]  # fmt: skip


def _only(unable: Sequence[str]) -> str:
    return (
        f"simulation only: cachezoo cannot run {words(unable)}; a daemon runs {', '.join(POLICIES)}, the filter "
        f"{words(list(FILTER))}"
    )


def _floors(best: Score) -> str:
    if not any(floor.pages or floor.hits for floor in best.case.floors):
        return ""
    return f"Not all floors are kept: {', '.join(best.unmet)}." if best.unmet else "All floors are kept."


def _least_unmet(caches: Sequence[Score]) -> str:
    least = min(caches, key=lambda row: (len(row.unmet), row.transfers))
    missed = ", ".join(least.unmet) or f"it did not keep them on {CHOOSING}"
    return f"{least.candidate} comes nearest: {missed}."


def _higher(best: Score, caches: list[Score]) -> str:
    """Who hits more often, at what price."""
    top = max(caches, key=lambda row: row.hit_ratio)
    if top is best or top.hit_ratio - best.hit_ratio < NOTED or top.transfers <= best.transfers:
        return ""
    more = top.transfers / best.transfers if best.transfers else float("inf")
    return (
        f"{top.candidate} hits more often but is no option: it also reads pages that it brings into the cache "
        f"without a miss, and so {more:.2f} times as many in all."
    )


def _sampled(found: Comparison) -> str:
    """That all of it is estimated, where it is."""
    if not found.case.sampled:
        return ""
    return (
        f"All of it is estimated from a sample, {percent(found.case.mix.rate)} of the pages; ±: half a 90 % interval."
    )


def _bound(best: Score, found: Comparison) -> str:
    """How far the best fixed split is ahead, where it is."""
    known = [row for row in found.rows if row.candidate.partitioner.id == "static-best"]
    if not known or not best.transfers:
        return ""
    less = 1 - known[0].transfers / best.transfers
    if less < NOTED:
        return "Fixed splits with LRU in each part do not help." if less <= 0 else ""
    return f"The best fixed split with LRU in each part, known only afterwards, reads {percent(less)} less."


def uneven(case: Case) -> list[str]:
    """What to know of applications of which little is there, a line each; of many the first to end, and how many more.

    One ends long before the others, or few of its page accesses count: the answer holds little for it.
    """
    mix, counted = case.mix, case.references.tolist()
    ends = [(int(mix.before(places[-1])) + 1) / mix.references for places in mix.at]
    few = [own < FEW * one.references for own, one in zip(counted, mix.applications, strict=True)]
    named = sorted((k for k in range(mix.count) if ends[k] < EARLY or few[k]), key=lambda k: ends[k])
    lines = []
    for k in named[:MOST_NAMED]:
        count = f"{counted[k]:,} of the {mix.applications[k].references:,} page accesses of {mix.names[k]} count"
        left = [name for name, end in zip(mix.names, ends, strict=True) if end > ends[k]]
        after = f"{left[0]} has the cache to itself" if len(left) == 1 else f"the {len(left)} that go on have the cache"
        early = f"{mix.names[k]} ends at {share(ends[k])} of the run; after that {after}; {count}"
        lines.append(early if ends[k] < EARLY else f"only {count}")
    if len(named) > MOST_NAMED:
        lines.append(f"{len(named) - MOST_NAMED} more applications end early too, or few of their page accesses count")
    return lines


def caption(found: Comparison, device: str) -> str:
    """What the tables' figures are of."""
    counted, total = found.case.counted, found.case.mix.references
    order = (
        "in lockstep, a page access of each in turn"
        if found.case.mix.order == "lockstep"
        else "in the order of their times, each trace from its own 0 on"
    )
    together = any(not row.shared.known for row in found.rows)
    return "; ".join([
        f"{found.case.mix.count} applications {order}",
        f"{counted:,} of {total:,} page accesses count",
        f"transfers: pages read from the disk {EACH}, the sum of the columns misses, runs and new splits",
        "runs: pages that gvpa reads as they move into a part of its queue that is cached",
        "new splits: pages read as the split changed",
        *(["in runs: both together"] if together else []),
        "slowdown: mean page time over that with all of the cache to itself under LRU",
        "fairness: harmonic mean of the inverses; speed-up: their sum",
        f"page times: {device}, nothing waits, and what is read besides misses is not counted in",
    ])  # fmt: skip


def title(found: Comparison) -> str:
    """What the tables are of."""
    have, touched = (human(pages * PAGE_BYTES) for pages in (found.case.pages, found.case.mix.n_pages))
    part = f"; from {percent(found.case.mix.rate)} of the pages" if found.case.sampled else ""
    return f"{found.case.mix.count} applications and one cache of {have}, of {touched} that they touch{part}"


def values(found: Comparison) -> dict[str, Any]:
    """For JSON."""
    return {
        "order": found.case.mix.order,
        "remarks": [*found.case.mix.remarks, *found.fitted, *uneven(found.case)],
        "cache_pages": found.case.pages,
        "distinct_pages": found.case.mix.n_pages,
        "references": found.case.mix.references,
        "counted": found.case.counted,
        "counted_from": found.case.mix.before(found.case.start).tolist(),
        "applications": list(found.case.mix.names),
        "cache_us": CACHE_US,
        "disk_us": found.case.disk_us.tolist(),
        "rows": [row.values() for row in found.rows],
        "left_out": list(found.left_out),
        "now": str(found.now),
        "chosen_on": {str(one): transfers for one, transfers in found.earlier.items()},
        "answer": ordinary(answer(found)),
        "service": service(found),
        **({"trace_sampled": found.case.mix.rate} if found.case.sampled else {}),
    }

"""The first answer: seven labelled parts at most, in a terminal, on top of the page and in JSON; what must hold of it.

Read as · Answer · Learned? · Buy · SSD wear · Trust · Run it. Nothing is said that another line refutes: `check` sees
to it before a word is printed.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cachezoo.contest.verdict import LEAST_HITS, Worth
from cachezoo.errors import CachezooError
from cachezoo.flash_cache.load import DAY_S
from cachezoo.policies.mounted import missing
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Writes
from cachezoo.questions.page import sentences
from cachezoo.questions.page.buy import Buy
from cachezoo.questions.page.candidates import SIMPLEST, UNBOUNDED, name_of
from cachezoo.questions.page.learned import Learned
from cachezoo.questions.page.recommendation import Recommendation
from cachezoo.questions.page.sizes import DAYS_A_YEAR, TERABYTE, beats, typed
from cachezoo.questions.tiers.purchase import Bought
from cachezoo.settings.prices import BUILT_IN
from cachezoo.show.formats import duration, lifetime, money, number, ordinary, percent, points, rate, share
from cachezoo.sizes import Size, human
from cachezoo.traces.clock import are_numbered, time_scale
from cachezoo.traces.table import PAGE_BYTES

DISK, SSD = "DISK", "SSD"
CANONICAL = ".parquet"
SYSTEMS = "bcache, dm-cache, Open CAS, ZFS"
ROUNDING = 1e-9
SHARE_DIGITS = 1
COPIES = "its SSD holds only copies"
RECORD = f"cachezoo trace capture --device {DISK} --seconds 86400 -o day.parquet"


@dataclass(frozen=True)
class Line:
    """A label, and what is said below it; commands are told apart, as they are never wrapped."""

    label: str
    texts: Sequence[str]
    commands: Sequence[str] = ()


def lines(found: Recommendation, timed: bool = False) -> list[Line]:
    """The answer.

    Args:
        found: the recommendation.
        timed: say how long the learned cache took here, which no file has, as it is of this run.
    """
    check(found)
    said = [Line("Read as", [read_as(found)]), Line("Answer", answer(found))]
    if found.picked.useful:
        said += [Line("Learned?", [learned(found, timed)])]
        said += [Line("Buy", [buying(found)]), Line("SSD wear", [wear(found)])]
    trust, record = _trust(found)
    said.append(Line("Trust", [trust], [record] if record else []))
    if (own := run_it(found)) is not None:
        said.append(Line("Run it", [], [own.command, *_or_else(found, own)]))
    return said


def _or_else(found: Recommendation, own: "RunIt") -> list[str]:
    """What may be run in place of that."""
    reads = run_reads(found)
    device = f" --device {shlex.quote(found.options.device)}" if found.options.device else ""
    system = f"or {SYSTEMS}: cachezoo recommend {_trace(found)} --for bcache --size {own.size}{device}"
    return [*([] if reads is None else [f"or, as a read cache: {reads.command}"]), system]


def values(found: Recommendation) -> dict[str, Any]:
    """As JSON values."""
    own = run_it(found)
    return {
        "answer": {
            line.label: [*map(ordinary, line.texts), *map(ordinary, line.commands)] for line in lines(found)
        },
        "mode": None if own is None else own.mode,
        "optimum_hit_ratio": found.best.mean,
        "lfu_of_all_counts_hit_ratio": found.unbounded.hit_ratio if found.unbounded else None,
        "read_cache": found.reads.values() if found.reads else None,
        "learned": found.learned.values() if found.learned else None,
        "buy": found.bought.values() if found.bought else None,
        "run": None if own is None else vars(own),
    }  # fmt: skip


def _trace(found: Recommendation) -> str:
    """The trace as a command takes it."""
    name = sentences.SAVED if found.options.piped else shlex.quote(found.name)
    return " ".join(filter(None, [name, found.options.reading]))


def read_as(found: Recommendation) -> str:
    """What was read."""
    trace, sample = found.bench.trace, found.bench.sample
    first_us, last_us = (trace.time_us[0], trace.time_us[-1]) if sample is None else sample.ends_us
    seconds = float(last_us - first_us) / 1e6
    span = "without a clock"
    if seconds > 0 and not are_numbered(trace.meta.extra):
        scale = time_scale(trace)
        span = f"in {duration(seconds * scale)}"
        if scale != 1:
            what = "compressed" if scale > 1 else "stretched"
            span += f" (time is {what}: a second of the file is {scale:g} s)"
    reads = share(found.bench.read_share)
    touched = human(found.bench.n_pages * PAGE_BYTES)
    text = f"{trace.meta.source_format}, {found.bench.requests:,} requests {span}, {reads} reads, {touched} touched"
    text += sentences.sampled(found)
    named = found.name.endswith(CANONICAL) or found.options.piped or found.options.reading
    return text if named else f"{text} (not right? cachezoo trace formats {shlex.quote(found.name)})"


def answer(found: Recommendation) -> list[str]:
    """Size, policy, mode and hits; then the same as a read cache before the disk."""
    row, why = found.row, found.picked.why
    if not found.picked.useful:
        return [sentences.headline(found)]
    best = _best(row.ran.hit_ratio, found.best.mean)
    if why in ("unreachable", "on average") or sentences.slower(found):
        first = f"{sentences.headline(found)} {'' if found.all_read else 'Write-back; '}{best}.{_at_risk(found)}"
        return [first, reading(found)]
    what = "SSD cache" if found.all_read else "write-back SSD cache"
    beside = [best] if row.ran.policy == SIMPLEST or found.whole else [f"LRU {share(row.lru)}", best]
    if found.unbounded is not None:
        beside.append(f"{UNBOUNDED.name}, in simulation only, {share(found.unbounded.hit_ratio)}")
    hits = f"{share(row.ran.hit_ratio)} of page accesses hit ({'; '.join(beside)})."
    name = "any policy" if found.whole else name_of(row.ran.policy)
    times = f" Modelled without queues, {sentences.waits(found)}."
    text = f"{_size(found)} of {what}, {name}: {hits}{sentences.on_average(found)}{times}{_at_risk(found)}"
    return [text, reading(found)]


def _at_risk(found: Recommendation) -> str:
    """What its SSD takes with it; empty where nothing is written back, or nothing is run."""
    if found.all_read or sentences.slower(found):
        return ""
    return " If its SSD is lost, so is what was written last."


def _best(hits: float, best: float, explained: bool = False) -> str:
    """What could be had at most, and once in an answer by whom."""
    if hits >= best - ROUNDING:
        return "the most possible"
    return f"best possible {share(best)}{'' if explained else ', if the future were known'}"


def _size(found: Recommendation) -> str:
    text = human(found.row.capacity * PAGE_BYTES)
    return f"{text} (all that is touched)" if found.whole else text


def reading(found: Recommendation) -> str:
    """The read cache of the same size."""
    own = found.reads
    if found.all_read:
        return "Nothing is written: a read cache before the disk finds the same."
    if own is None:
        return "As a read cache before the disk: nothing, as all that is counted are writes."
    explained = found.row.ran.hit_ratio < found.best.mean - ROUNDING  # in the line before
    hits = f"{share(own.mean)} of reads ({_best(own.mean, own.best, explained)})"
    return f"As a read cache, {name_of(own.policy)}: {hits}; {COPIES}."


def _promise(hits: float | None) -> list[str]:
    """The option of `serve` with which its hits are compared."""
    text = "" if hits is None else f"{100 * hits:.{SHARE_DIGITS}f}"
    return ["--promise", f"{text}%"] if text and float(text) > 0 else []  # `serve` takes no promise of nothing


def learned(found: Recommendation, timed: bool = False) -> str:
    """Whether the learned cache is worth it, as it was measured."""
    own = found.learned
    if not found.zoo:
        if not found.options.ask_models:
            return "Not measured, as --no-models was given."
        return "Not measured: no trained models here. Train them with make repro, or give --models DIR."
    if found.whole:
        return "No: at this size nothing is evicted, so that no policy matters."
    if own is None:
        return "Not shown: the trace is too long to run it whole, and too few of its blocks differ for a sample."
    lead = own.lead
    told = {Worth.YES: "Yes", Worth.NO: "No", Worth.UNSURE: "Not shown"}[own.worth]
    ends = lead.interval
    interval = "too short for an interval" if ends is None else (
        f"90 % interval {number(100 * ends[0], 1, signed=True)} to {number(100 * ends[1], 1, signed=True)}"
    )  # fmt: skip
    against = "over" if lead.value >= 0 else "against"
    tail = [f"{own.page_us:.1f} µs a page"] if timed else []
    tail += [f"on a sample of {percent(own.rate)} of the pages"] if own.rate < 1 else []
    hits = f"{own.ran.policy} {percent(own.ran.hit_ratio)}, {points(100 * lead.value)} ({interval}) {against} "
    return f"{told}: {hits}{', '.join([name_of(own.rival.policy), *tail])}."


def buying(found: Recommendation) -> str:
    """What to buy."""
    own = found.bought
    assert own is not None
    if sentences.slower(found):
        return "Nothing for speed: by the model the disk alone is faster."
    yours = f"({BUILT_IN.dated[:4]} prices; yours: --only ram-ssd)"
    aside = "" if own.clock else ", wear aside"
    there = "The cache above is for an SSD that you have."
    if own.what == "all in RAM":
        pays = "No SSD bears these writes for less"
        if own.pays_bytes:
            pays = f"Above {_short(own.pays_bytes)} touched, an SSD for all is cheaper{aside}"
        size = human(found.bench.n_pages * PAGE_BYTES)
        hits = "" if found.whole else f"; {share(found.picked.rows[-1].ran.hit_ratio)} hit"
        return f"RAM for all of it, no SSD: {size}, {_modules(own.all_ram)}{hits}. {there} {pays} {yours}."
    if own.what == "RAM":
        dear = f"an SSD that bears these writes costs more {yours}"
        return f"RAM of this size, no SSD: {_modules(own.ram)}; {dear}. {there}"
    drives = own.ssd.ssd
    assert drives is not None
    many = f"{drives.count:,} SSDs" if drives.count > 1 else "An SSD"
    what = f"{many} of {number(drives.each_bytes / 1e9)} GB ({drives.kind}), {money(own.ssd.usd)}"
    return f"{what}{aside}; RAM for as much costs {money(own.ram.usd)} {yours}."


def _modules(own: Bought) -> str:
    """Modules of RAM as they are sold."""
    assert own.ram is not None
    many = f"{own.ram.count:,} of " if own.ram.count > 1 else ""
    return f"sold as {many}{_short(own.ram.each_bytes)} for {money(own.usd)}"


def _short(size: float) -> str:
    """A size without a digit that says nothing."""
    return human(size).replace(".0 ", " ")


def wear(found: Recommendation) -> str:
    """How long an SSD lasts as the recommended cache."""
    if found.taken is None or found.taken.rate == 1:
        return _wear(found)
    return f"{_wear(found)} That is with {name_of(found.row.ran.policy)}: the learned cache ran on a sample alone."


def _wear(found: Recommendation) -> str:
    bench, own = found.bench, found.advised or found.row.ran
    written = bench.written_a_day(own)
    if written is None:
        return f"Unknown without a clock: {human(own.ssd_writes / bench.counted * 2**30)} a GiB of page accesses."
    if bench.short:
        short = f"{duration(DAY_S * (bench.span_days or 0.0))} are too short to say"
        return f"{short}; under this load the SSD takes {rate(written / DAY_S)}."
    if not written:
        return "None: nothing is written to the SSD."
    endured = found.options.endurance_tb
    lasts = lifetime(endured * TERABYTE / written / DAYS_A_YEAR)
    text = f"Lasts {lasts}: {human(written)} written a day, rated for {endured:,.0f} TB."
    if (other := found.admitted) is not None:
        cost = points(100 * (other.ran.hit_ratio - own.hit_ratio))
        text += f" With --policy {other.ran.policy} it lasts {lifetime(other.years)}, at {cost} of hits."
    return text


def _is_brief(found: Recommendation) -> bool:
    """Whether a longer trace is to be recorded first, so that one reason is enough."""
    return found.bench.short or found.confidence.level == "low"


def untold(found: Recommendation) -> list[str]:
    """The trust with all reasons, where the answer names the first of several alone."""
    return [sentences.how_sure(found)] if _is_brief(found) and len(found.confidence.reasons) > 1 else []


def _trust(found: Recommendation) -> tuple[str, str]:
    """The level, why it is no higher, and what to record if more is to be known."""
    own, bench = found.confidence, found.bench
    level = own.level[0].upper() + own.level[1:]
    faster = sentences.faster(found) if found.picked.useful and not sentences.slower(found) else ""
    if not own.reasons:
        counted = duration(DAY_S * (bench.span_days or 0.0))
        return f"{level}: nothing speaks against it in {counted} counted.{faster}", ""
    if _is_brief(found):
        return f"{level}: {own.reasons[0]}.{faster} Record a day:", RECORD
    return f"{level}: {'; '.join(own.reasons)}.{faster}", ""


@dataclass(frozen=True)
class RunIt:
    """What `cachezoo serve` is to run."""

    policy: str  # a composition, or a bundle's folder
    size: str
    mode: Writes
    promise: float | None  # share of what the mode counts that hits; None where it is not known
    command: str


def _mode(found: Recommendation) -> Writes:
    """Write-back, which the answer is about; without writes it needs none."""
    return "around" if found.all_read else "back"


def run_it(found: Recommendation) -> RunIt | None:
    """The answer as a command; None where no cache helps, or makes requests slower."""
    if not found.picked.useful or sentences.slower(found):
        return None
    name = found.row.ran.policy if found.taken is None else found.taken.bundle
    promise = None if found.advised is None else found.advised.hit_ratio
    return _served(found, name, _mode(found), promise)


def run_reads(found: Recommendation) -> RunIt | None:
    """The read cache as a command; None where there is none, or where `run_it` is one already."""
    own = found.reads
    if own is None or found.all_read or sentences.slower(found):
        return None
    return _served(found, own.policy, own.writes, own.mean)


def _served(found: Recommendation, policy: str, mode: Writes, promise: float | None) -> RunIt:
    size = typed(found.row.capacity, found.whole)
    words = ["--policy", shlex.quote(policy), "--size", size, "--mode", mode, *_promise(promise)]
    return RunIt(policy, size, mode, promise, f"cachezoo serve {DISK} --ssd {SSD} {' '.join(words)}")


def check(found: Recommendation) -> None:
    """What must hold of an answer.

    No size that is shown is smaller, hits as much and is as fast; LRU does not hit more; no cache hits more than the
    best that is possible; what is to be run is what a mounted cache runs, and is as large as was said; a learned cache
    is run only if it is ahead; the cheapest is bought.

    Raises:
        CachezooError: one does not hold, which is a fault of this program.
    """
    for name, holds in _invariants(found).items():
        if not holds:
            message = f"{found.name}: this answer contradicts itself ({name}); it is a fault of cachezoo: report it"
            raise CachezooError(message)


def _invariants(found: Recommendation) -> dict[str, bool]:
    row, own, bought = found.row, run_it(found), found.bought
    if not found.picked.useful:
        return {}
    hits = row.ran.hit_ratio
    names = [row.ran.policy] + ([found.reads.policy] if found.reads else [])
    runs = [(hits, found.best.mean)] + ([(found.reads.mean, found.reads.best)] if found.reads else [])
    return {
        "a smaller size does as well": not any(beats(other, row) for other in found.picked.rows),
        "LRU hits more": row.lru <= hits + ROUNDING,
        "more hits than are possible": all(some <= most + ROUNDING for some, most in runs),
        "no runtime runs the policy": all(missing(parse(name)) is None for name in names),
        "the size to run is another": own is None or found.whole or Size.parse(own.size).pages(1) == row.capacity,
        "a learned cache that is not ahead": found.learned is None or _earned(found.learned),
        "something cheaper can be bought": bought is None or _cheapest(bought),
    }


def _earned(own: Learned) -> bool:
    return own.worth != Worth.YES or (own.lead.value >= LEAST_HITS and own.ran.hit_ratio > own.rival.hit_ratio)


def _cheapest(own: Buy) -> bool:
    return all(one.usd >= own.bought.usd for one in (own.all_ram, own.ram))

"""The answer of `recommend` on a trace of objects, in a few labelled lines."""

import shlex

from cachezoo.contest.verdict import Verdict
from cachezoo.questions.objects.bench import ObjectBench
from cachezoo.questions.objects.recommendation import SIMPLEST, ObjectRecommendation
from cachezoo.show.formats import duration, number, points, share
from cachezoo.sizes import BINARY, BYTES, MOST_PAGES, PAGE_BYTES, Size, human
from cachezoo.traces.clock import Clock
from cachezoo.traces.objects import OP_DELETE
from cachezoo.traces.table import OP_READ

FEW_RETURNS = 1_000
SURE = 0.03
"""Half the interval of the hit ratio up to which confidence may be high."""
CANONICAL = ".parquet"


def lines(found: ObjectRecommendation, name: str, reading: str = "") -> list[tuple[str, str]]:
    """Labels, and what is said below each.

    Args:
        found: the recommendation.
        name: the trace's file.
        reading: options with which a command reads it, as typed.
    """
    said = [("Read as", read_as(found, name)), ("Answer", answer(found)), ("Trust", trust(found))]
    if found.useful:
        said.append(("Run it", run_it(found, name, reading)))
    return said


def read_as(found: ObjectRecommendation, name: str) -> str:
    """What was read."""
    trace, bench = found.bench.trace, found.bench
    clock = Clock()
    clock.add(trace.time_us)
    span = "without a clock"
    if clock.ticks(trace.meta.extra):
        span = f"in {duration(float(trace.time_us[-1] - trace.time_us[0]) / 1e6)}"
    ops = bench.requests.op
    kinds = [f"{share(float((ops == OP_READ).mean()))} reads"]
    if (deletes := int((ops == OP_DELETE).sum())) and bench.rules.deletes:
        kinds.append(f"{deletes:,} deletes")
    objects = f"{bench.requests.n_objects:,} objects"
    sized = f"{objects} of {human(bench.whole)}" if bench.rules.sizes else f"{objects}, their sizes ignored"
    text = f"{trace.meta.source_format}, {len(bench.requests):,} requests {span}, {', '.join(kinds)}, {sized}"
    return text if name.endswith(CANONICAL) else f"{text} (not right? cachezoo trace formats {shlex.quote(name)})"


def answer(found: ObjectRecommendation) -> str:
    """Size, policy, and what hits."""
    row, of = found.row, "bytes asked for" if found.aim.by == "bytes" else "requests"
    if not found.useful:
        return f"No cache: even one for all objects hits only {share(max(own.hits for own in found.rows))} of {of}."
    size = f"{found.bench.shown(row.capacity)}{' (all objects)' if found.whole else ''}"
    policy = "any policy" if found.whole else row.ran.policy
    against = [] if found.whole or row.ran.policy == SIMPLEST else [f"lru {share(row.lru)}"]
    against.append(f"no cache of this size hits more than {share(row.upper)}")
    text = f"{size}, {policy}: {share(row.hits)} of {of} hit ({', '.join(against)})."
    if found.why == "on average":
        return f"{text} That is on average: its interval begins below {share(found.aim.hit)}."
    if found.why == "unreachable":
        return f"{share(found.aim.hit)} cannot be reached with any size or policy tried; nearest: {text}"
    return text


def trust(found: ObjectRecommendation) -> str:
    """How sure it is, and why not more."""
    row, bench = found.row, found.bench
    own, doubts = row.ran.found, list[str]()
    if row.counted.interval is None:
        return f"Low: only {own.requests:,} requests are counted."
    returns, half = bench.returns(own.warmup), (row.counted.interval[1] - row.counted.interval[0]) / 2
    if returns < FEW_RETURNS:
        doubts.append(f"only {returns:,} of the requests that are counted are of objects seen before")
    if half > SURE:
        doubts.append(f"the hit ratio changes over time: ± {number(100 * half)} points on average")
    if row.chosen != SIMPLEST and row.ran.policy == SIMPLEST:
        doubts.append(f"{row.chosen} did better on the first half, and by {points(100 * row.lead.value)} on the second")
    elif row.ran.policy != SIMPLEST and row.verdict == Verdict.EVEN:
        doubts.append(f"its lead over lru, {points(100 * row.lead.value)}, may be chance")
    if own.unknown:
        doubts.append(f"{own.unknown:,} requests missed objects of unknown size")
    level = "Low" if returns < FEW_RETURNS else "Medium" if doubts else "High"
    return f"{level}: {'; '.join(doubts)}." if doubts else f"{level}: nothing speaks against it in what is counted."


def typed(bench: ObjectBench, capacity: int) -> str:
    """A size as `--size` takes it, which is that capacity exactly."""
    if bench.rules.sizes and PAGE_BYTES <= capacity <= PAGE_BYTES * MOST_PAGES:
        unit = next(unit for unit in reversed(BINARY) if capacity % BYTES[unit] == 0)
        return f"{capacity // BYTES[unit]}{unit}"
    shares = (f"{100 * capacity / bench.whole:.{digits}f}%" for digits in range(17))
    return next(text for text in shares if float(text[:-1]) and bench.size(Size.parse(text)) == capacity)


def run_it(found: ObjectRecommendation, name: str, reading: str) -> str:
    """The command that repeats the figures: nothing here serves objects."""
    bench, policy = found.bench, found.row.ran.policy
    size = typed(bench, found.row.capacity)
    ignored = [what for what in ("deletes", "ttl", "sizes") if not getattr(bench.rules, what)]
    words = ["cachezoo", "simulate", shlex.quote(name), "--policy", shlex.quote(policy), "--size", size]
    words += ["--ignore", ",".join(ignored)] if ignored else []
    words += ["--writes", "around"] if bench.rules.around else []
    command = " ".join([*words, *([reading] if reading else [])])
    return f"no runtime here serves objects: set up {policy} in the cache that you run. In simulation: {command}"

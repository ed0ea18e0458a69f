"""What the simulation commands compute and print of a trace of objects; from Python the same is computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.cli.common import hand_out, print_values
from cachezoo.cli.options import names
from cachezoo.console import Advance
from cachezoo.errors import ConfigError
from cachezoo.show.output import print_lines, print_rows

if TYPE_CHECKING:
    from cachezoo.questions.flash.options import FlashOptions
    from cachezoo.questions.objects.bench import ObjectBench, Rules
    from cachezoo.questions.objects.flash import ObjectFlash, ObjectLead
    from cachezoo.questions.objects.recommendation import Aim, ObjectRecommendation
    from cachezoo.sizes import Size
    from cachezoo.traces.objects import ObjectTrace

IGNORED = ("deletes", "ttl", "sizes")
RATIOS = ("hit_ratio", "byte_hit_ratio")
COUNTS = ("bytes_written", "evictions", "expired", "deleted", "too_large", "unknown")
CURVE_SHARES = (0.001, 1.0)


def rules_of(ignore: str | None, writes: str = "back") -> "Rules":
    """What of a trace of objects a cache heeds.

    Raises:
        ConfigError: `--ignore` names something else, or objects are written through.
    """
    from cachezoo.questions.objects.bench import Rules

    ignored = names(ignore, "--ignore", IGNORED, f"a trace of objects has {', '.join(IGNORED)}") if ignore else []
    # Through or back is a matter of when the backend is written, which no figure of an object cache has.
    return Rules("deletes" not in ignored, "ttl" not in ignored, "sizes" not in ignored, writes == "around")


def refuse_of_pages(given: Mapping[str, bool]) -> None:
    """Refuse options that need addresses or pages on a trace of objects.

    Args:
        given: whether each option, as typed, was given.

    Raises:
        ConfigError: one was.
    """
    for option, is_given in given.items():
        if is_given:
            message = f"{option}: the trace names objects by keys, and this is of addresses or pages; leave it out"
            raise ConfigError(message)


def refuse_of_objects(ignore: str | None, hits: str = "objects") -> None:
    """Refuse what a trace of addresses does not have.

    Raises:
        ConfigError: `--ignore` was given, or `--hits bytes`.
    """
    for option, is_given in (("--ignore", ignore is not None), ("--hits bytes", hits != "objects")):
        if is_given:
            raise ConfigError(f"{option}: the trace has addresses, and this is of traces of objects; leave it out")


@dataclass(frozen=True)
class Asked:
    """A trace of objects, and how a command is to take it."""

    trace: "ObjectTrace"
    name: str  # of its file
    rules: "Rules"  # what of it a cache heeds
    count: str = "half"  # from where on it counts, as typed


def first_of(trace: "ObjectTrace", first: int | None) -> "ObjectTrace":
    """The trace's first requests; all of them where no number is given."""
    return trace if first is None or first >= len(trace) else trace.rows(0, first)


def bench_of(asked: Asked, sizes: "Sequence[Size]") -> "tuple[ObjectBench, list[int]]":
    """The trace, ready, and the capacities; says where one is above all objects."""
    from cachezoo.console import err
    from cachezoo.contest.counting import Count
    from cachezoo.questions.objects.bench import ObjectBench

    bench = ObjectBench(asked.trace, asked.rules, Count(asked.count))
    found = [bench.size(own) for own in sizes]
    for capacity in found:
        if capacity > bench.whole:
            err().print(
                f"warning: a size of {bench.shown(capacity)} is above {bench.shown(bench.whole)} of all objects, each "
                "as large as it first was"
            )
    return bench, found


@dataclass(frozen=True)
class Answer:
    """What was computed: all figures as `--json` prints them, and the rows of the table, which a picture is of."""

    bench: "ObjectBench"
    capacities: Sequence[int]  # of the bench's unit
    values: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]


def simulated(asked: Asked, policies: Sequence[str], sizes: "Sequence[Size]", advance: Advance | None = None) -> Answer:
    """A run for each policy and size."""
    from cachezoo.questions.objects.sweep import rows_of

    ids = _known(policies or ["lru"])
    bench, capacities = bench_of(asked, sizes)
    rows = rows_of(bench, ids, capacities, advance)
    return Answer(bench, capacities, {"trace": asked.name, "policies": ids, "runs": rows}, rows)


def compared(
    asked: Asked, policies: Sequence[str], every: bool, sizes: "Sequence[Size]", advance: Advance | None = None
) -> Answer:
    """A run for each policy and size, best first at each, with what no cache beats; `every` adds all classics."""
    from cachezoo.questions.objects import sweep as engine

    ids = _known([*policies, *(engine.classics() if every else [])])
    bench, capacities = bench_of(asked, sizes)
    rows = engine.rows_of(bench, ids, capacities, advance)
    runs = [engine.compare(bench, rows[k :: len(capacities)], size) for k, size in enumerate(capacities)]
    shown = [row for run in runs for row in run["rows"]]
    return Answer(bench, capacities, {"trace_id": asked.trace.meta.trace_id, "runs": runs}, shown)


def measured(
    asked: Asked, policies: Sequence[str], points: int, sizes: "Sequence[Size]", advance: Advance | None = None
) -> Answer:
    """Object and byte hit ratios over rising sizes; without sizes so many points, up to all objects."""
    import numpy as np

    from cachezoo.questions.objects.sweep import rows_of

    ids = _known(policies or ["lru"])
    bench, capacities = bench_of(asked, sizes)
    if not capacities:
        low, high = (max(1.0, share * bench.whole) for share in CURVE_SHARES)
        capacities = list({round(own) for own in np.geomspace(low, high, points).tolist()})
    rows = rows_of(bench, ids, sorted(capacities), advance)
    values = {"trace": asked.name, "requests": len(bench.requests), "rows": rows}
    return Answer(bench, sorted(capacities), values, rows)


def flashed(
    asked: Asked, options: "FlashOptions", chosen: bool, advance: Advance | None = None
) -> "tuple[ObjectBench, dict[Size, ObjectFlash]]":
    """A flash cache of objects before hard disks at each size; `chosen` says whether its policies were named.

    Raises:
        ConfigError: a policy that needs addresses or the future was asked for.
    """
    from cachezoo.questions.objects.flash import ALL, POLICIES, object_flash

    admissions = list(options.policies if chosen else POLICIES)
    if (left := next((name for name in admissions if name not in ALL), None)) is not None:
        raise ConfigError(f"--policy {left}: a flash cache of objects has {', '.join(ALL)}")
    bench, capacities = bench_of(asked, options.sizes)
    found = dict["Size", "ObjectFlash"]()
    for size, capacity in zip(options.sizes, capacities, strict=True):
        part = None if advance is None else _part(advance, len(found), len(capacities))
        found[size] = object_flash(bench, capacity, options.rates, admissions, options.cost, part)
    return bench, found


def _part(advance: Advance, before: int, parts: int) -> Advance:
    """Progress of one of several equal parts of the work."""

    def own(done: float, note: str = "") -> None:
        advance((before + done) / parts, note)

    return own


def flash_values(name: str, found: "Mapping[Size, ObjectFlash]") -> dict[str, Any]:
    """What `--json` prints of a flash cache of objects: all rows and leads, each with the cache that it is of."""
    caches = {str(size): {"size": str(size), "capacity_bytes": own.capacity} for size, own in found.items()}
    every = {str(size): own.values() for size, own in found.items()}
    return {
        "trace": name,
        "caches": list(caches.values()),
        **{key: [caches[size] | row for size, own in every.items() for row in own[key]] for key in ("rows", "leads")},
        "left_out": list(dict.fromkeys(text for own in every.values() for text in own["left_out"])),
    }


def simulate(
    asked: Asked, policies: Sequence[str], sizes: "Sequence[Size]",
    files: Mapping[str, Path], as_json: bool,
) -> None:  # fmt: skip
    """`cachezoo simulate` on objects."""
    from cachezoo.console import progress

    with progress(f"simulating {asked.name}", 1.0) as advance:
        found = simulated(asked, policies, sizes, advance)
    bench, rows, ids = found.bench, found.rows, found.values["policies"]
    draw(files.get("plot"), bench, rows, asked.name)
    if hand_out(found.values, as_json, files, rows):
        return
    title = f"{', '.join(ids) if len(ids) < 4 else f'{len(ids)} policies'} on {asked.name}"
    if len(rows) == 1:
        print_values(_shown(bench, rows)[0], False, f"{title}, {counted(rows, bench)}")
    else:
        columns = [*(["policy"] if len(ids) > 1 else []), "cache", *RATIOS, *_there(rows)]
        print_rows(_shown(bench, rows), title, counted(rows, bench), columns)


def compare(
    asked: Asked, policies: Sequence[str], every: bool,
    sizes: "Sequence[Size]", files: Mapping[str, Path], as_json: bool,
) -> None:  # fmt: skip
    """`cachezoo compare` on objects."""
    from cachezoo.console import progress
    from cachezoo.show.formats import percent

    every = every or not policies
    with progress(f"comparing policies on {asked.name}", 1.0) as advance:
        found = compared(asked, policies, every, sizes, advance)
    bench = found.bench
    draw(files.get("plot"), bench, found.rows, asked.name)
    if hand_out(found.values, as_json, files, found.rows):
        return
    for run, size in zip(found.values["runs"], found.capacities, strict=True):
        best = run["best_classic"] or "none is shown"
        named = f"best classic with defaults{'' if every else ', of those shown'}: {best}"
        most = percent(run["bounds"]["hit_ratio_upper"], 2)
        table = [{**row, "gap_closed": percent(row["gap_closed"])} for row in _shown(bench, run["rows"])]
        columns = ["policy", RATIOS[0], "gap_points", "gap_closed", RATIOS[1], *_there(run["rows"])]
        title = f"{asked.name}: {bench.shown(size)}, {counted(run['rows'], bench)}"
        print_rows(table, title, f"{named} · no cache of this size hits more than {most}", columns)


def curve(
    asked: Asked, policies: Sequence[str], points: int,
    sizes: "Sequence[Size]", files: Mapping[str, Path], as_json: bool,
) -> None:  # fmt: skip
    """`cachezoo curve` on objects: object and byte hit ratios over the size."""
    from cachezoo.console import progress

    with progress(f"curves of {asked.name}", 1.0) as advance:
        found = measured(asked, policies, points, sizes, advance)
    bench, rows, count = found.bench, found.rows, len(found.capacities)
    draw(files.get("plot"), bench, rows, asked.name)
    if hand_out(found.values, as_json, files, rows):
        return
    ids, table = [row["policy"] for row in rows[::count]], list[dict[str, Any]]()
    for k, size in enumerate(found.capacities):
        own: dict[str, Any] = {"cache": bench.shown(size)}
        for j, policy in enumerate(ids):
            row = rows[j * count + k]
            own[policy], own[f"bytes of {policy}"] = row["hit_ratio"], row["byte_hit_ratio"]
        table.append(own)
    heads = [head for policy in ids for head in (policy, *([f"bytes of {policy}"] if asked.rules.sizes else []))]
    print_rows(table, f"{asked.name}: object and byte hit ratio, {counted(rows, bench)}", "", ["cache", *heads], heads)


def bounds(
    asked: Asked, sizes: "Sequence[Size]", files: Mapping[str, Path],
    as_json: bool,
) -> None:  # fmt: skip
    """`cachezoo bounds` on objects."""
    from cachezoo.questions.objects.sweep import bounds_row

    bench, capacities = bench_of(asked, sizes)
    rows = [bounds_row(bench, size) for size in capacities]
    if hand_out({"trace": asked.name, "runs": rows}, as_json, files, rows):
        return
    shown = [key for key, value in rows[0].items() if key.endswith(("lower", "upper")) and value is not None]
    below = "shares of what is asked for; the best cache lies between lower, which one attains, and upper"
    print_rows(_shown(bench, rows), f"{asked.name}, {counted(rows, bench)}", below, ["cache", *shown])


def flash(
    asked: Asked, options: "FlashOptions", chosen: bool, files: Mapping[str, Path], as_json: bool
) -> None:  # fmt: skip
    """`cachezoo recommend --only flash` on objects; see `flashed`.

    Raises:
        ConfigError: a picture was asked for, or as `flashed`.
    """
    from cachezoo.console import progress

    refuse_of_pages({"--output with a plot": "plot" in files})
    with progress(f"flash cache on {asked.name}", 1.0) as advance:
        bench, found = flashed(asked, options, chosen, advance)
    values = flash_values(asked.name, found)
    if hand_out(values, as_json, files, values["rows"]):
        return
    _print_flash(asked.name, bench, found)


def _print_flash(name: str, bench: "ObjectBench", found: "Mapping[Size, ObjectFlash]") -> None:
    """What the table says, and the table."""
    from cachezoo.show.formats import percent, words

    for line in leads_of(bench, found):
        print_lines(line)
    rows = [
        {
            **row.values(),
            "cache": str(size),
            "write_rate": row.rate or "all",
            "written": percent(row.written_share, 1) + ("" if row.reached else " *"),
        }
        for size, one in found.items()
        for row in one.rows
    ]
    columns = ["write_rate", "admission", "hit_ratio", "byte_hit_ratio", "written", "disk_seconds_per_request"]
    if len(found) > 1:
        columns.insert(0, "cache")
    if any(row["disks_busy"] is not None for row in rows):
        columns.append("disks_busy")
    caches = words([bench.shown(one.capacity) for one in found.values()])
    title = f"{name}: a flash cache of {caches} of objects before hard disks"
    below = "knobs are set on the first half, figures are of the second; written: share of what accept_all writes"
    if not all(row.reached for one in found.values() for row in one.rows):
        below += "; * no setting comes close to the rate: the next below it"
    print_rows(rows, title, below, columns)


def leads_of(bench: "ObjectBench", found: "Mapping[Size, ObjectFlash]") -> list[str]:
    """What the table of a flash cache of objects says: at each size which admission leads, and what none does."""
    from cachezoo.questions.flash.options import BALEEN

    said = list[str]()
    for size, one in found.items():
        head = f"{size} ({bench.shown(one.capacity)}), " if len(found) > 1 else ""
        said += [f"{head}at {own.rate}: {_led(own)}" for own in one.leads]
    said += dict.fromkeys(text for one in found.values() for text in one.left_out)
    if not any(row.admission == BALEEN or one.left_out for one in found.values() for row in one.rows):
        said.append("--policy baleen also runs an admission that learns on the first half what is worth a write.")
    return [*said, "Nothing is read ahead, and no model that sees addresses decides: objects have none."]


def _led(own: "ObjectLead") -> str:
    """What a lead says, and of a model whether it is ahead."""
    from cachezoo.contest.choice import Goal
    from cachezoo.show.formats import percent

    ours, rival = own.ours, own.rival
    name, share = rival.admission, percent(abs(own.lead.value), 1)
    does = f"saves {share} of the disks' time of {name}" if own.lead.value >= 0 else f"takes {share} more than {name}"
    said = f"{ours.admission} {does} ({own.verdict})"
    if ours.trainings:
        each = [Goal.COST.lead(one.mean, rival.mean) for one in ours.trainings]
        said += f", by seed {percent(min(each), 1)} to {percent(max(each), 1)}"
    if own.overwrites or ours.trainings:
        said += f"; it writes {percent(ours.written_share, 1)}, {name} {percent(rival.written_share, 1)}"
    if own.overwrites:
        return f"{said}, and {percent(own.allowed, 1)} are allowed: it is not ahead"
    return said if own.ahead or not ours.trainings else f"{said}: run {name}, which needs no model"


def recommend(
    asked: Asked, aim: "Aim", reading: str, files: Mapping[str, Path], as_json: bool,
    more: bool,
) -> None:  # fmt: skip
    """`cachezoo recommend` on objects."""
    from cachezoo.console import progress
    from cachezoo.questions.objects.answer import lines
    from cachezoo.questions.objects.recommendation import recommend as run

    with progress(f"recommending for {asked.name}", 1.0) as advance:
        found = run(asked.trace, asked.rules, aim, advance=advance)
    if hand_out({"trace": asked.name, **found.values()}, as_json, files):
        return
    for label, text in lines(found, asked.name, reading):
        print_lines(f"{label:<11}{text}")
    if more:
        _print_sizes(found)


def _print_sizes(found: "ObjectRecommendation") -> None:
    """What each size brings."""
    bench = found.bench
    rows = [
        {
            "cache": ("> " if k == found.place and found.useful else "") + bench.shown(row.capacity),
            "policy": row.ran.policy, "hits": row.hits, "lru": row.lru, "upper_bound": row.upper,
            "lead": row.lead.value, "verdict": str(row.verdict),
        }
        for k, row in enumerate(found.rows)
    ]  # fmt: skip
    what = "byte hit ratio" if found.aim.by == "bytes" else "object hit ratio"
    below = "policies chosen on the first half; hits, and leads over LRU, of the second; none has more than upper bound"
    print_rows(rows, f"{what} by size", below, list(rows[0]))


def draw(plot: Path | None, bench: "ObjectBench", rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """Draw the object hit ratios of runs where a plot is wanted."""
    if plot is not None:
        from cachezoo.questions.page.plot import draw_hit_ratios

        page_bytes = 1 if bench.rules.sizes else 0
        drawn = [
            {"policy": row["policy"], "kind": row["kind"],
             "capacity": row[f"capacity_{bench.unit}"], "hit_ratio": row["hit_ratio"], "page_bytes": page_bytes}
            for row in rows
        ]  # fmt: skip
        draw_hit_ratios(drawn, title, plot, "object hit ratio")


def counted(rows: Sequence[Mapping[str, Any]], bench: "ObjectBench") -> str:
    """From where on the runs count, in words, and what a cache does not heed."""
    firsts, total = sorted({row["warmup"] for row in rows}), len(bench.requests)
    span = f"{firsts[0]:,}" if len(firsts) == 1 else f"{firsts[0]:,} to {firsts[-1]:,}"
    ignored = [name for name in IGNORED if not getattr(bench.rules, name)]
    return f"counted after {span} of {total:,} requests" + (f", {', '.join(ignored)} ignored" if ignored else "")


def _known(policies: Sequence[str]) -> list[str]:
    """The policies' canonical texts, each once.

    Raises:
        ConfigError: no cache of objects has one of them.
    """
    from cachezoo.sized.spec import parse

    return [*dict.fromkeys(str(parse(text)) for text in policies)]


def _shown(bench: "ObjectBench", rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows for people: the capacity first, in its unit."""
    unit = f"capacity_{bench.unit}"
    return [
        {"cache": bench.shown(row[unit])} | {k: own for k, own in row.items() if k != unit and own is not None}
        for row in rows
    ]


def _there(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Counts that are worth a column."""
    return [name for name in COUNTS if any(row[name] for row in rows)]

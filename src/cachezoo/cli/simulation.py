"""Simulating traces with policies: `simulate`, `compare`, `sweep`, `policies`."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cachezoo.cli.common import (
    Address,
    AllFiles,
    Engine,
    Json,
    TableFiles,
    engage,
    hand_out,
    outputs,
    print_values,
    shows,
)
from cachezoo.cli.options import sizes
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, reading_of
from cachezoo.cli.runs import (
    LEAST_DECISION,
    MOST_DECISION,
    ByOp,
    Counted,
    DecisionUs,
    DeviceOption,
    First,
    Ignore,
    ModelsFolder,
    PageSize,
    Policies,
    Sampled,
    Sizes,
    TracePath,
    UnitOption,
    WritesOption,
    bench_of,
    check_sizes,
    counted_words,
    draw,
    known,
    known_anywhere,
    of_models,
    of_pages,
    options_of,
    present,
    refuse_of_samples,
    shown,
    simulated_of,
    taking_turns,
    turns_values,
    turns_words,
)  # fmt: skip
from cachezoo.errors import ConfigError
from cachezoo.remote import located
from cachezoo.show.formats import number, percent
from cachezoo.show.output import print_lines, print_rows
from cachezoo.sizes import human_pages

if TYPE_CHECKING:
    from cachezoo.questions.page.bench import Run
    from cachezoo.traces.table import Trace

app = typer.Typer()
Workers = Annotated[int | None, typer.Option(metavar="N", min=1, max=256, help="Processes; default one a processor.")]
RATIOS = ("hit_ratio", "transfers", "request_hit_ratio", "byte_hit_ratio")
OPS = ("read_hit_ratio", "write_hit_ratio")
COUNTS = ("ssd_writes", "replacements", "dirty_evictions", "disk_writes")
PREFETCHED = ("prefetched", "prefetch_hits")
RESPONSE = "mean_response_us"
MARK = "†"  # behind a model that was chosen for caches of other sizes


@app.command(
    cls=shows(
        "simulate trace.parquet --policy lru --policy s3fifo --size 1%,10%",
        "simulate trace.parquet --over-time 24 -o day.png",
    )
)
def simulate(
    trace: TracePath,
    policy: Policies = None,
    size: Sizes = None,
    models: ModelsFolder = None,
    counted: Counted = "half",
    writes: WritesOption = "back",
    unit: UnitOption = "page",
    page_size: PageSize = "4KiB",
    first: First = None,
    sample: Sampled = "exact",
    device: DeviceOption = None,
    decision_us: DecisionUs = 0.0,
    by_op: ByOp = False,
    ignore: Ignore = None,
    over_time: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=10_000, help="Add the hit ratio in N equal periods.")
    ] = None,
    misses: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one policy's misses at one size, as a trace."),
    ] = None,
    outcomes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write each page access's outcome (Parquet): 0 bypassed, 1 admitted, 2 hit."),
    ] = None,
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Simulate policies on a trace.

    The default size is 10%.
    """
    from cachezoo.cli import objects
    from cachezoo.console import progress
    from cachezoo.policies.registry import policy as entry
    from cachezoo.questions.page.misses import misses_of, outcome_writer
    from cachezoo.questions.page.over_time import Windows, draw_over_time
    from cachezoo.questions.page.sweep import check_sampled
    from cachezoo.traces.objects import ObjectTrace

    known_anywhere(policy or [])
    files, capacities = outputs(output, ("plot", "csv", "json"), [trace]), sizes(size, "10%")
    reading = reading_of([trace], fmt, option, columns, ask=not as_json)
    options = options_of(counted, writes, unit, device, decision_us, reading, page_size, first, sample)
    requests = simulated_of(trace, options)
    if isinstance(requests, ObjectTrace):
        of_rows = {
            "--by-op": by_op, "--over-time": over_time is not None, "--misses": misses is not None,
            "--outcomes": outcomes is not None,
        }  # fmt: skip
        objects.refuse_of_pages({**of_pages(options), **of_rows, **of_models(policy or [], models)})
        asked = objects.Asked(objects.first_of(requests, first), trace.name, objects.rules_of(ignore, writes), counted)
        return objects.simulate(asked, policy or [], capacities, files, as_json)
    objects.refuse_of_objects(ignore)
    ids = known(policy or ["lru"], turns=True)
    caches = taking_turns(ids, models, options)
    bench = bench_of(requests, options, capacities)
    if bench.sample is not None:
        of_all = {
            "--over-time": over_time is not None, "--misses": misses is not None, "--outcomes": outcomes is not None,
        }  # fmt: skip
        refuse_of_samples({**of_all, **of_models(policy or [], models)})
        for own in ids:
            check_sampled(own)
    check_sizes(bench, ids, capacities)
    runs = [(own, one) for own in ids for one in capacities]
    for option_name, file in (("--misses", misses), ("--outcomes", outcomes)):
        if file is not None:
            _check_single(option_name, file, trace, len(runs))
    windows = None if over_time is None else Windows.of(bench, over_time)
    rows, parts, missed = list[dict[str, Any]](), list[list[dict[str, Any]]](), 0
    with progress(f"simulating {len(runs)} caches", len(runs)) as advance:
        for done, (own, one) in enumerate(runs):
            advance(done, own)
            capacity, cache = bench.size(one), caches.get(own)
            if cache is None and windows is None and misses is None:
                with nullcontext() if outcomes is None else outcome_writer(outcomes) as keep:
                    rows.append(bench.run(own, capacity, options.decision_us, keep).values())
                continue
            found = bench.simulated(own, capacity) if cache is None else cache.simulated(bench, capacity)
            if outcomes is not None:
                with outcome_writer(outcomes) as keep:
                    keep(found.outcome)
            kind = entry(own).kind if cache is None else cache.kind
            rows.append(bench.counted_run(found, kind, options.decision_us).values())
            if windows is not None:
                parts.append(windows.rows(bench, found.outcome))
            if misses is not None:
                missed = _write_misses(misses_of(bench, own, found.capacity, found.outcome), misses)
    named = [(_name(row, ids), part) for row, part in zip(rows, parts, strict=bool(parts))]
    if windows is None:
        draw(files.get("plot"), rows, trace.name)
    elif "plot" in files:
        draw_over_time(named, trace.name, files["plot"])
    told = [{**row, "over_time": part} for row, part in zip(rows, parts, strict=True)] if parts else rows
    written = {} if misses is None else {"misses": {"requests": missed, "output": str(misses)}}
    kept = {} if outcomes is None else {"outcomes": str(outcomes)}
    values = {"trace": trace.name, "policies": ids, "runs": told, **written, **kept, **turns_values(caches)}
    if hand_out(values, as_json, files, rows):
        return
    title = f"{', '.join(ids) if len(ids) < 4 else f'{len(ids)} policies'} on {trace.name}"
    if len(rows) == 1:
        print_values(shown(rows)[0], False, f"{title}, {counted_words(rows)}")
    else:
        print_rows(
            shown(rows),
            title,
            counted_words(rows),
            [*(["policy"] if len(ids) > 1 else []), "capacity", *_columns(rows, by_op)],
        )
    print_lines(*turns_words(caches))
    if named:
        _print_over_time(named, title, by_op)
    if misses is not None:
        print_lines(f"what missed, {missed:,} requests: {misses}")
    if outcomes is not None:
        print_lines(f"what became of each page access: {outcomes}")


@app.command(
    cls=shows(
        "compare trace.parquet --size 10%",
        "compare trace.parquet --policy lru --policy arc -o curves.png",
    )
)
def compare(
    trace: TracePath,
    size: Sizes = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="POLICY", help="As in simulate; repeatable; default every classic."),
    ] = None,
    every: Annotated[bool, typer.Option("--all-classics", help="Add every classic to --policy.")] = False,
    bundle: Annotated[
        list[Path] | None, typer.Option(metavar="BUNDLE", help="Caching or reuse bundle; repeatable.")
    ] = None,
    models: ModelsFolder = None,
    counted: Counted = "half",
    writes: WritesOption = "back",
    unit: UnitOption = "page",
    page_size: PageSize = "4KiB",
    first: First = None,
    sample: Sampled = "auto",
    device: DeviceOption = None,
    decision_us: Annotated[
        float,
        typer.Option(
            metavar="US",
            min=LEAST_DECISION,
            max=MOST_DECISION,
            help="Time of a bundle's decision, added to each request.",
        ),
    ] = 0.0,
    by_op: ByOp = False,
    ignore: Ignore = None,
    output: AllFiles = None,
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Compare policies and models with the optimum.

    The default size is 10%. With --policy, the best classic is the best of those named.
    """
    from cachezoo.bundles.released import load
    from cachezoo.cli import objects
    from cachezoo.console import progress
    from cachezoo.questions.page import sweep as sweeping
    from cachezoo.questions.page.bundle import BundleCache, refuse_options
    from cachezoo.questions.page.compare import ModelCache, compared, names_of
    from cachezoo.traces.objects import ObjectTrace

    known_anywhere(policy or [])
    engage(engine, address)
    files, capacities = outputs(output, ("plot", "csv", "json"), [trace]), sizes(size, "10%")
    reading = reading_of([trace], fmt, option, columns, ask=not as_json)
    options = options_of(counted, writes, unit, device, decision_us, reading, page_size, first, sample)
    if bundle:
        refuse_options(options, "a bundle's", "--bundle")
    present([trace])
    requests = simulated_of(trace, options)
    if isinstance(requests, ObjectTrace):
        bundled = {"--by-op": by_op, "--bundle": bool(bundle), **of_models(policy or [], models)}
        objects.refuse_of_pages({**of_pages(options), **bundled})
        asked = objects.Asked(objects.first_of(requests, first), trace.name, objects.rules_of(ignore, writes), counted)
        return objects.compare(asked, policy or [], every, capacities, files, as_json)
    objects.refuse_of_objects(ignore)
    ids = known(policy or [], turns=True)
    caches = taking_turns(ids, models, options)
    bench = bench_of(requests, options, capacities)
    if bench.sample is not None:
        refuse_of_samples({"--bundle": bool(bundle), **of_models(policy or [], models)})
    every = every or not ids
    names = names_of([own for own in ids if own not in caches], every)
    check_sizes(bench, names, capacities)
    deciding: list[ModelCache] = [*(BundleCache(load(path)) for path in bundle or []), *caches.values()]
    count = len(names) + len(deciding)
    own = replace(options, decision_us=0.0, quiet=True)
    with progress(f"comparing {count} policies", count) as advance:

        def swept() -> list["Run"]:
            def further(done: float, note: str = "") -> None:
                advance(len(deciding) + done, note)

            return sweeping.runs([trace], names, capacities, own, workers, further, bench)

        found = compared(bench, deciding, capacities, options.decision_us, swept, advance, trace.name)
    draw(files.get("plot"), found.rows, trace.name)
    values = {"trace_id": bench.runs.meta.trace_id, "runs": found.runs, **turns_values(caches)}
    if hand_out(values, as_json, files, found.rows):
        return
    for run, outside in zip(found.runs, found.outside, strict=True):
        _compared(run, trace.name, every, by_op, outside)
    print_lines(*turns_words(caches))


def _check_single(option: str, output: Path, trace: Path, runs: int) -> None:
    """Refuse a file of one cache that is of several, or cannot be written, before anything runs."""
    from cachezoo.cli.trace import check_output

    if runs > 1:
        raise ConfigError(f"{option} {output}: is of one cache, and these are {runs}; give one --policy and --size")
    check_output([trace], output)


def _write_misses(found: "Trace", output: Path) -> int:
    """Write a trace of misses; how many requests it has."""
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.store import write_trace

    write_trace(found, output, expand_pages(found))
    return len(found)


def _name(row: dict[str, Any], ids: list[str]) -> str:
    """Of a run, among others of these policies."""
    size = human_pages(row["capacity"], row["page_bytes"])
    return f"{row['policy']}, {size}" if len(ids) > 1 else size


def _print_over_time(runs: list[tuple[str, list[dict[str, Any]]]], title: str, by_op: bool) -> None:
    """A row a window, a column a run; of a single run its reads and writes apart where that is wanted.

    Args:
        runs: a name and the windows of each.
        title: of the runs.
        by_op: as of `_columns`.
    """
    first = runs[0][1]
    spans = [*(("from_s", "to_s") if first[0]["from_s"] is not None else ()), "requests"]
    below = "all requests, those before counting begins too; a ratio is missing where nothing was requested"
    title = f"page hit ratio over time: {title}"
    if len(runs) == 1:
        print_rows(first, title, below, [*spans, "hit_ratio", *(OPS if by_op else ())])
        return
    names = [name for name, _ in runs]
    rows = [{**row, **{name: own[k]["hit_ratio"] for name, own in runs}} for k, row in enumerate(first)]
    print_rows(rows, title, below, [*spans, *names], names)


def _compared(
    run: dict[str, Any], name: str, every: bool, by_op: bool, outside: dict[str, tuple[float, float]]
) -> None:
    """The table of a comparison at one capacity; `outside` has the sizes that models were calibrated for, if others."""
    from cachezoo.questions.page.bundle import calibration_words

    best = f"best classic with defaults{'' if every else ', of those shown'}: {run['best_classic']}"
    if run["best_classic"] is None:
        best = "no classic is shown to state gaps to; see --all-classics"
    columns = [
        "policy",
        "kind",
        "hit_ratio",
        "transfers",
        "gap_points",
        "gap_closed",
        *_columns(run["rows"], by_op)[2:],
    ]
    size = human_pages(run["capacity"], run["rows"][0]["page_bytes"])
    title = f"{name}: {size}, {counted_words(run['rows'])}"
    rows = [
        {
            **row,
            "policy": f"{row['policy']} {MARK}" if row["policy"] in outside else row["policy"],
            "gap_closed": _closed(exact),
        }
        for row, exact in zip(shown(run["rows"]), run["rows"], strict=True)
    ]
    print_rows(rows, title, f"{best} · optimum: {run['optimum']}", columns)
    print_lines(*(f"{MARK} {calibration_words(policy, outside[policy])}" for policy in sorted(outside)))


def _closed(row: dict[str, Any]) -> str:
    """How much of the gap is closed, with half its 90 % interval where it is an estimate."""
    closed, off = row["gap_closed"], row.get("gap_closed_error_90")
    return percent(closed) if off is None else f"{number(100 * closed, 1)} ± {percent(off)}"


@app.command(cls=shows("sweep a.parquet b.parquet --policy lru --policy arc -o rows.csv"))
def sweep(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE...", parser=located, help="Traces of any known format.")
    ],
    size: Sizes = None,
    policy: Annotated[
        list[str] | None, typer.Option(metavar="POLICY", help="As in simulate; repeatable; default every classic.")
    ] = None,
    counted: Counted = "half",
    writes: WritesOption = "back",
    unit: UnitOption = "page",
    page_size: PageSize = "4KiB",
    first: First = None,
    sample: Sampled = "auto",
    device: DeviceOption = None,
    decision_us: DecisionUs = 0.0,
    by_op: ByOp = False,
    workers: Workers = None,
    engine: Engine = None,
    address: Address = None,
    output: TableFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Simulate policies on several traces, in parallel.

    Default sizes are 1%, 2%, 5%, 10% and 20%.
    """
    from cachezoo.console import progress
    from cachezoo.policies.registry import OPTIMUM, classics
    from cachezoo.questions.page.sweep import sweep as run

    ids = known(policy or [*classics(), OPTIMUM])
    engage(engine, address)
    present(traces)
    files, capacities = outputs(output, ("csv", "json"), traces), sizes(size, "1%,2%,5%,10%,20%")
    reading = reading_of(traces, fmt, option, columns, ask=not as_json and len(traces) == 1)
    options = options_of(counted, writes, unit, device, decision_us, reading, page_size, first, sample)
    with progress(f"{len(ids)} policies on {len(traces)} traces", len(ids) * len(traces)) as advance:
        rows = run(traces, ids, capacities, options, workers, advance)
    names = dict.fromkeys(name for row in rows for name in row)  # of a sample they are more
    rows = [{name: row.get(name) for name in names} for row in rows]
    if hand_out(rows, as_json, files, rows):
        return
    columns_ = ["trace", "policy", "capacity", *_columns(rows, by_op)]
    print_rows(shown(rows), f"{len(rows)} runs", counted_words(rows), columns_)


@app.command(cls=shows("policies"))
def policies(as_json: Json = False) -> None:
    """List policies and their parts."""
    from cachezoo.policies.admissions import ADMISSIONS
    from cachezoo.policies.prefetches import PREFETCHES
    from cachezoo.policies.registry import POLICIES
    from cachezoo.policies.virtual import VRM
    from cachezoo.questions.page.rcrnn import FORM, TITLE

    lines = {entry.id: f"{entry.kind}: {entry.title}" for entry in POLICIES.values()}
    lines[VRM.id] = f"composed: {VRM.title}"
    lines[FORM] = f"model: {TITLE}"
    lines |= {f"{part.id}+": f"admission: {part.title}" for part in ADMISSIONS}
    lines |= {f"+{part.id}": f"prefetch: {part.title}" for part in PREFETCHES}
    print_values(lines, as_json, "policies")


def _columns(rows: list[dict[str, Any]], by_op: bool = False) -> list[str]:
    """What is worth a column: ratios and counts; prefetches, moves and response times where there are any.

    Args:
        rows: of the table.
        by_op: hit ratios of reads and of writes too.
    """
    columns = [*RATIOS[:2], *(OPS if by_op else ()), *RATIOS[2:], *COUNTS]
    if any(row["prefetched"] for row in rows):
        columns += PREFETCHED
    if any(row["moved"] for row in rows):
        columns.append("moved")
    if any(row[RESPONSE] is not None for row in rows):
        columns.append(RESPONSE)
    return columns

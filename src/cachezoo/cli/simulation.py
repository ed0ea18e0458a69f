"""Simulating traces with policies: `simulate`, `compare`, `sweep`, `policies`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cachezoo.cli.common import AllFiles, Json, TableFiles, hand_out, outputs, print_values
from cachezoo.cli.options import sizes
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, reading_of
from cachezoo.cli.runs import (
    Counted,
    DecisionUs,
    DeviceOption,
    Policies,
    Sizes,
    TracePath,
    UnitOption,
    WritesOption,
    bench_of,
    check_sizes,
    counted_words,
    draw,
    known,
    options_of,
    present,
)  # fmt: skip
from cachezoo.errors import ConfigError
from cachezoo.show.output import print_rows

app = typer.Typer()
Workers = Annotated[int | None, typer.Option(min=1, max=256, help="Processes; default one a processor.")]
RATIOS = ("hit_ratio", "transfers", "request_hit_ratio", "byte_hit_ratio")
COUNTS = ("ssd_writes", "replacements", "dirty_evictions", "disk_writes")
PREFETCHED = ("prefetched", "prefetch_hits")
RESPONSE = "mean_response_us"


@app.command()
def simulate(
    trace: TracePath,
    policy: Policies = None,
    size: Sizes = None,
    counted: Counted = "half",
    writes: WritesOption = "back",
    unit: UnitOption = "page",
    device: DeviceOption = None,
    decision_us: DecisionUs = 0.0,
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Simulate a trace with one policy or several, at one cache size or several.

    Without --size it is 10% of the trace's distinct pages.
    """
    from cachezoo.console import progress

    ids, files = known(policy or ["lru"]), outputs(output, ("plot", "csv", "json"), [trace])
    capacities = sizes(size, "10%")
    reading = reading_of([trace], fmt, option, columns, ask=not as_json)
    options = options_of(counted, writes, unit, device, decision_us, reading)
    bench = bench_of(trace, options, capacities)
    check_sizes(bench, ids, capacities)
    runs = [(own, one) for own in ids for one in capacities]
    rows = []
    with progress(f"simulating {len(runs)} caches", len(runs)) as advance:
        for done, (own, one) in enumerate(runs):
            advance(done, own)
            rows.append(bench.run(own, bench.size(one), options.decision_us).values())
    draw(files.get("plot"), rows, trace.name)
    if hand_out({"trace": trace.name, "policies": ids, "runs": rows}, as_json, files, rows):
        return
    title = f"{', '.join(ids) if len(ids) < 4 else f'{len(ids)} policies'} on {trace.name}"
    if len(rows) == 1:
        print_values(rows[0], False, f"{title}, {counted_words(rows)}")
    else:
        print_rows(
            rows, title, counted_words(rows), [*(["policy"] if len(ids) > 1 else []), "capacity", *_columns(rows)]
        )


@app.command()
def compare(
    trace: TracePath,
    size: Sizes = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="As of simulate, repeatable; default every classic. The optimum runs too.")
    ] = None,
    every: Annotated[bool, typer.Option("--all-classics", help="Run every classic beside each --policy.")] = False,
    bundle: Annotated[
        list[Path] | None, typer.Option(help="A caching or reuse bundle, repeatable; others: recommend --only flash.")
    ] = None,
    counted: Counted = "half",
    writes: WritesOption = "back",
    unit: UnitOption = "page",
    device: DeviceOption = None,
    decision_us: Annotated[
        float, typer.Option(min=0.0, max=1e9, help="Microseconds a bundle's decision takes, charged to each request.")
    ] = 0.0,
    output: AllFiles = None,
    workers: Workers = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Run policies and bundles side by side, with the optimum, at one cache size or several.

    Without --size it is 10% of the trace's distinct pages. Gaps are to the best classic of the table: of all
    classics, or with --policy of those named there.
    """
    from cachezoo.console import progress
    from cachezoo.policies.registry import OPTIMUM, classics
    from cachezoo.questions.page import sweep as engine
    from cachezoo.questions.page.bundle import run_bundle

    ids, files = known(policy or []), outputs(output, ("plot", "csv", "json"), [trace])
    capacities = sizes(size, "10%")
    reading = reading_of([trace], fmt, option, columns, ask=not as_json)
    options = options_of(counted, writes, unit, device, decision_us, reading)
    if bundle and (options.writes, options.unit) != ("back", "page"):
        message = "a bundle's cache writes back and admits page by page; leave --writes and --unit out beside --bundle"
        raise ConfigError(message)
    present([trace])
    bench = bench_of(trace, options, capacities)
    every = every or not ids
    names = [*dict.fromkeys([*ids, *(classics() if every else []), OPTIMUM])]
    bundles, models = bundle or [], []
    check_sizes(bench, names, capacities)
    count = len(names) + len(bundles)
    with progress(f"comparing {count} policies", count) as advance:
        for done, path in enumerate(bundles):
            advance(done, path.name)
            found = [run_bundle(bench, path, bench.size(own), options.decision_us) for own in capacities]
            models.append([run.values() for run in found])
        own = replace(options, decision_us=0.0, quiet=True)
        rows = engine.sweep(
            [trace], names, capacities, own, workers, lambda done, note="": advance(len(bundles) + done, note)
        )
    runs = []
    for k in range(len(capacities)):
        runs.append(engine.compare([*rows[k :: len(capacities)], *(model[k] for model in models)]))
    shown = [row for run in runs for row in run["rows"]]
    draw(files.get("plot"), shown, trace.name)
    if hand_out({"trace_id": bench.simulator.trace.meta.trace_id, "runs": runs}, as_json, files, shown):
        return
    for compared in runs:
        _compared(compared, trace.name, every)


def _compared(run: dict[str, Any], name: str, every: bool) -> None:
    """The table of a comparison at one capacity."""
    from cachezoo.show.formats import percent
    from cachezoo.sizes import human_pages

    best = f"best classic{'' if every else ' of those shown'}: {run['best_classic']}"
    if run["best_classic"] is None:
        best = "no classic is shown to state gaps to; see --all-classics"
    columns = ["policy", "kind", "hit_ratio", "transfers", "gap_points", "gap_closed", *_columns(run["rows"])[2:]]
    title = f"{name}: {human_pages(run['capacity'])}, {counted_words(run['rows'])}"
    rows = [{**row, "gap_closed": percent(row["gap_closed"])} for row in run["rows"]]
    print_rows(rows, title, f"{best} · optimum: {run['optimum']}", columns)


@app.command()
def sweep(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Canonical or raw traces.")],
    size: Sizes = None,
    policy: Annotated[list[str] | None, typer.Option(help="As of simulate, repeatable; default every classic.")] = None,
    counted: Counted = "half",
    writes: WritesOption = "back",
    unit: UnitOption = "page",
    device: DeviceOption = None,
    decision_us: DecisionUs = 0.0,
    workers: Workers = None,
    output: TableFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Run policies at several cache sizes over several traces, in processes.

    Without --size these are 1%, 2%, 5%, 10% and 20% of each trace's distinct pages.
    """
    from cachezoo.console import progress
    from cachezoo.policies.registry import OPTIMUM, classics
    from cachezoo.questions.page.sweep import sweep as run

    ids = known(policy or [*classics(), OPTIMUM])
    present(traces)
    files, capacities = outputs(output, ("csv", "json"), traces), sizes(size, "1%,2%,5%,10%,20%")
    reading = reading_of(traces, fmt, option, columns, ask=not as_json and len(traces) == 1)
    options = options_of(counted, writes, unit, device, decision_us, reading)
    with progress(f"{len(ids)} policies on {len(traces)} traces", len(ids) * len(traces)) as advance:
        rows = run(traces, ids, capacities, options, workers, advance)
    if hand_out(rows, as_json, files, rows):
        return
    print_rows(rows, f"{len(rows)} runs", counted_words(rows), ["trace", "policy", "capacity", *_columns(rows)])


@app.command()
def policies(as_json: Json = False) -> None:
    """List the registered policies, and the parts that compositions are made of."""
    from cachezoo.policies.admissions import ADMISSIONS
    from cachezoo.policies.prefetches import PREFETCHES
    from cachezoo.policies.registry import POLICIES
    from cachezoo.policies.virtual import VRM

    lines = {entry.id: f"{entry.kind}: {entry.title}" for entry in POLICIES.values()}
    lines[VRM.id] = f"composed: {VRM.title}"
    lines |= {f"{part.id}+": f"admission: {part.title}" for part in ADMISSIONS}
    lines |= {f"+{part.id}": f"prefetch: {part.title}" for part in PREFETCHES}
    print_values(lines, as_json, "policies")


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    """What is worth a column: ratios and counts; prefetches, moves and response times where there are any."""
    columns = [*RATIOS, *COUNTS]
    if any(row["prefetched"] for row in rows):
        columns += PREFETCHED
    if any(row["moved"] for row in rows):
        columns.append("moved")
    if any(row[RESPONSE] is not None for row in rows):
        columns.append(RESPONSE)
    return columns

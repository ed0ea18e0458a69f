"""Replaying traces through policies: `simulate`, `compare`, `sweep`, `curve`, `bounds`, `policies`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cachezoo.cli.common import Json, cell, png_path, print_values
from cachezoo.errors import ConfigError, TraceError

if TYPE_CHECKING:
    from cachezoo.evaluation.sweep import Asked, Bench
    from cachezoo.settings.device import AnalyticDevice

app = typer.Typer()
TracePath = Annotated[Path, typer.Argument(metavar="TRACE", help="A canonical Parquet file, or a raw trace.")]
Capacities = Annotated[
    str, typer.Option("--capacity", help="Pages, or N% of the distinct pages; several with commas: 1%,5%,10%.")
]
Warmup = Annotated[str, typer.Option(help="Page accesses simulated before counting, or auto.")]
WritesOption = Annotated[str, typer.Option("--writes", help="What a write does: back, through or around the cache.")]
UnitOption = Annotated[str, typer.Option("--unit", help="What one admission decision covers: page, segment, request.")]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device", metavar="PROFILE", help="A device profile (YAML, or a name in conf/device): response times too."
    ),
]
DecisionUs = Annotated[
    float, typer.Option(min=0.0, max=1e9, help="Microseconds a decision takes, charged to each request.")
]
Plot = Annotated[Path | None, typer.Option("--plot", help="Draw the hit ratios into this PNG or SVG file.")]
Workers = Annotated[int, typer.Option(min=1, max=256, help="Processes.")]
RATIOS = ("hit_ratio", "request_hit_ratio", "byte_hit_ratio")
COUNTS = ("ssd_writes", "replacements", "dirty_evictions", "disk_writes")
PREFETCHED = ("prefetched", "prefetch_hits")
RESPONSE = "mean_response_us"
LEFT = ("trace", "policy", "kind")
CELL_EDGES, LEAST_COLUMNS = 3, 3  # a blank at both sides and a line; columns shown in a terminal however narrow


def _device(given: str | None) -> "AnalyticDevice | None":
    if given is None:
        return None
    from cachezoo.devices.profile import load_models

    return load_models(given)


def _asked(warmup: str, writes: str, unit: str, device: str | None, decision_us: float) -> "Asked":
    from cachezoo.evaluation.sweep import Asked
    from cachezoo.policies.stream import known_unit, known_writes

    return Asked(warmup, known_writes(writes), known_unit(unit), _device(device), decision_us)


def _list(capacities: str) -> list[str]:
    """The capacities as given, each once; an ill-formed one is refused before anything is read."""
    from cachezoo.policies.simulate import parse_capacity

    texts = [*dict.fromkeys(text.strip() for text in capacities.split(","))]
    for text in texts:
        if len(text) < 20:  # a longer one is told from the trace's working set, once that is known
            parse_capacity(text, 1)
    return texts


def _known(ids: list[str]) -> list[str]:
    """The policy ids as given; an unknown one is refused before anything runs."""
    from cachezoo.policies.registry import policy

    return [policy(policy_id).id for policy_id in ids]


def _present(traces: list[Path]) -> None:
    """A trace that is not there, or cannot be read more than once, is refused before the others run."""
    from cachezoo.traces.source import refuse_pipe

    for path in traces:
        if not path.exists():
            message = f"{path}: no such file"
            raise TraceError(message)
        refuse_pipe(path)


def _bench(path: Path, asked: "Asked", capacities: list[str]) -> "Bench":
    """The trace, ready; says where a capacity is above its working set."""
    from cachezoo.console import err
    from cachezoo.evaluation.sweep import Bench
    from cachezoo.policies.simulate import Simulator, capacity_of
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import read_any

    trace = read_any(path)
    pages = expand_pages(trace)
    for text in capacities:
        if (size := capacity_of(text, pages)) > pages.n_pages:
            err().print(
                f"warning: a capacity of {size} pages is above the working set of {pages.n_pages}: only first touches "
                "miss"
            )
    return Bench.of(Simulator(trace, pages, asked.writes, asked.unit), asked.device)


@app.command()
def simulate(
    trace: TracePath,
    policy: Annotated[
        str, typer.Option(help="Id, or [admission+] eviction [+prefetch], or follow(experts=A|B); see policies.")
    ] = "lru",
    capacity: Capacities = "10%",
    warmup: Warmup = "0",
    writes: WritesOption = "back",
    unit: UnitOption = "page",
    device: DeviceOption = None,
    decision_us: DecisionUs = 0.0,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Simulator a trace through one policy, at one capacity or several."""
    from cachezoo.evaluation.sweep import run_row

    policy, plot = _known([policy])[0], png_path(plot)
    capacities = _list(capacity)
    asked = _asked(warmup, writes, unit, device, decision_us)
    bench = _bench(trace, asked, capacities)
    rows = [run_row(bench, policy, text, asked) for text in capacities]
    _draw(plot, rows, trace.name)
    if as_json:
        typer.echo(json.dumps({"trace": trace.name, "policy": policy, "runs": rows}, allow_nan=False))
    elif len(rows) == 1:
        print_values(rows[0], False, f"{policy} on {trace.name}")
    else:
        _table(rows, f"{policy} on {trace.name}", "", ["capacity", *_columns(rows)])


@app.command()
def compare(
    trace: TracePath,
    capacity: Capacities = "10%",
    policy: Annotated[list[str] | None, typer.Option(help="As of simulate, repeatable; default every classic.")] = None,
    bundle: Annotated[list[Path] | None, typer.Option(help="An admission or caching bundle, repeatable.")] = None,
    warmup: Warmup = "auto",
    writes: WritesOption = "back",
    unit: UnitOption = "page",
    device: DeviceOption = None,
    decision_us: Annotated[
        float, typer.Option(min=0.0, max=1e9, help="Microseconds a bundle's decision takes, charged to each request.")
    ] = 0.0,
    plot: Plot = None,
    workers: Workers = 1,
    as_json: Json = False,
) -> None:
    """Run policies and bundles side by side, with the optimum."""
    from cachezoo.evaluation.compare import compare as beside
    from cachezoo.policies.registry import classics

    ids, plot = _known(policy or classics()), png_path(plot)
    capacities = _list(capacity)
    asked = _asked(warmup, writes, unit, device, decision_us)
    if bundle and (asked.writes, asked.unit) != ("back", "page"):
        message = "a bundle's cache writes back and admits page by page; leave --writes and --unit out beside --bundle"
        raise ConfigError(message)
    _present([trace])
    bench = _bench(trace, asked, capacities)
    models = [_bundle_rows(path, bench, capacities, asked) for path in bundle or []]
    rows = _all_rows(trace, ids, capacities, replace(asked, decision_us=0.0), workers)
    runs = []
    for k in range(len(capacities)):
        own = [row for index, row in enumerate(rows) if index % len(capacities) == k]
        runs.append(beside([*own, *(model[k] for model in models)], ids))
    _draw(plot, [row for run in runs for row in run["rows"]], trace.name)
    if as_json:
        typer.echo(json.dumps({"trace_id": bench.simulator.trace.meta.trace_id, "runs": runs}, allow_nan=False))
        return
    for run in runs:
        title = f"{trace.name}: {run['capacity']:,} pages, counted after {run['warmup']:,} of "
        title += f"{len(bench.simulator.pages.page_ids):,} page accesses"
        below = f"best classic: {run['best_classic']} · optimum: {run['optimum']}"
        columns = ["policy", "kind", "hit_ratio", "gap_points", "gap_closed", *_columns(run["rows"])[1:]]
        _table(run["rows"], title, below, columns)


def _all_rows(trace: Path, ids: list[str], capacities: list[str], asked: "Asked", workers: int) -> list[dict[str, Any]]:
    from cachezoo.console import progress
    from cachezoo.evaluation.compare import contenders
    from cachezoo.evaluation.sweep import sweep

    run = contenders(ids)
    with progress(f"comparing {len(run)} policies", len(run)) as advance:
        return sweep([trace], run, capacities, asked, workers, advance)


def _bundle_rows(path: Path, bench: "Bench", capacities: list[str], asked: "Asked") -> list[dict[str, Any]]:
    from cachezoo.evaluation.bundle import simulate_bundle
    from cachezoo.policies.simulate import capacity_of, counted_from

    rows = []
    for text in capacities:
        pages = bench.simulator.pages
        size = capacity_of(text, pages)
        found = simulate_bundle(path, bench.simulator.trace, pages, size, counted_from(asked.warmup, pages, size))
        rows.append(bench.row("model", found, asked.decision_us))
    return rows


@app.command()
def sweep(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Canonical or raw traces.")],
    capacity: Capacities = "1%,2%,5%,10%,20%",
    policy: Annotated[list[str] | None, typer.Option(help="As of simulate, repeatable; default every classic.")] = None,
    warmup: Warmup = "auto",
    writes: WritesOption = "back",
    unit: UnitOption = "page",
    device: DeviceOption = None,
    decision_us: DecisionUs = 0.0,
    workers: Annotated[int | None, typer.Option(min=1, max=256, help="Processes; default one a processor.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the rows into this CSV file.")] = None,
    as_json: Json = False,
) -> None:
    """Run policies at several capacities over several traces, in processes."""
    from cachezoo.console import progress
    from cachezoo.evaluation.sweep import sweep as run
    from cachezoo.io import check_file
    from cachezoo.policies.registry import OPTIMUM, classics

    ids = _known(policy or [*classics(), OPTIMUM])
    _present(traces)
    if out is not None:
        check_file(out)
    capacities = _list(capacity)
    asked = _asked(warmup, writes, unit, device, decision_us)
    with progress(f"{len(ids)} policies on {len(traces)} traces", len(ids) * len(traces)) as advance:
        rows = run(traces, ids, capacities, asked, workers, advance)
    if out is not None:
        import pandas as pd

        from cachezoo.io import atomic_file

        with atomic_file(out) as temporary:
            pd.DataFrame(rows).drop(columns="requests_per_s").to_csv(temporary, index=False, lineterminator="\n")
    if as_json:
        typer.echo(json.dumps(rows, allow_nan=False))
        return
    _table(rows, f"{len(rows)} runs", "", ["trace", "policy", "capacity", *_columns(rows)])


@app.command()
def curve(
    trace: TracePath,
    policy: Annotated[
        list[str] | None, typer.Option(help="As of simulate, repeatable; default LRU and the optimum.")
    ] = None,
    points: Annotated[int, typer.Option(min=2, max=1000, help="Capacities, a thousandth of the pages to all.")] = 24,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Page hit ratio over capacity; LRU at every capacity in one pass."""
    from cachezoo.console import progress
    from cachezoo.evaluation.curve import capacities_of, hit_ratio_curves
    from cachezoo.policies.registry import OPTIMUM
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import read_any

    ids, plot = _known(policy or ["lru", OPTIMUM]), png_path(plot)
    pages = expand_pages(read_any(trace))
    capacities = capacities_of(pages, points)
    with progress(f"curves of {len(ids)} policies", len(ids) * len(capacities)) as advance:
        found = hit_ratio_curves(pages, ids, capacities, advance)
    _draw(plot, found["rows"], trace.name)
    if as_json:
        typer.echo(json.dumps({"trace": trace.name, **found}, allow_nan=False))
        return
    ratios = {(row["policy"], row["capacity"]): row["hit_ratio"] for row in found["rows"]}
    rows = [{"capacity": size, **{own: ratios[own, size] for own in ids}} for size in capacities.tolist()]
    title = f"{trace.name}: page hit ratio, counted after {found['warmup']:,} of {len(pages.page_ids):,} page accesses"
    _table(rows, title, "", ["capacity", *dict.fromkeys(ids)], tuple(ids))


@app.command()
def bounds(
    trace: TracePath,
    capacity: Capacities = "1%,5%,10%,20%",
    warmup: Warmup = "auto",
    writes: WritesOption = "back",
    device: DeviceOption = None,
    as_json: Json = False,
) -> None:
    """What the best cache could reach: page hits, byte hits, and with a device the time saved."""
    from cachezoo.console import progress
    from cachezoo.evaluation.bounds import bounds_row

    capacities = _list(capacity)
    asked = _asked(warmup, writes, "page", device, 0.0)
    bench = _bench(trace, asked, capacities)
    rows = []
    with progress(f"bounds of {trace.name}", len(capacities)) as advance:
        for done, text in enumerate(capacities):
            advance(done, text)
            rows.append(bounds_row(bench, text, warmup))
    if as_json:
        typer.echo(json.dumps({"trace": trace.name, "runs": rows}, allow_nan=False))
        return
    columns = [name for name in rows[0] if rows[0][name] is not None]
    _table(rows, trace.name, "shares of what is asked for; the best cache lies between lower and upper", columns)


@app.command()
def policies(as_json: Json = False) -> None:
    """List the registered policies, and the parts that compositions are made of."""
    from cachezoo.policies.admissions import ADMISSIONS
    from cachezoo.policies.prefetches import PREFETCHES
    from cachezoo.policies.registry import POLICIES

    lines = {entry.id: f"{entry.kind}: {entry.title}" for entry in POLICIES.values()}
    lines |= {f"{part.id}+": f"admission: {part.title}" for part in ADMISSIONS}
    lines |= {f"+{part.id}": f"prefetch: {part.title}" for part in PREFETCHES}
    print_values(lines, as_json, "policies")


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    """What is worth a column: ratios and counts; prefetches and response times where there are any."""
    columns = [*RATIOS, *COUNTS]
    if any(row["prefetched"] for row in rows):
        columns += PREFETCHED
    if any(row[RESPONSE] is not None for row in rows):
        columns.append(RESPONSE)
    return columns


def _table(
    rows: list[dict[str, Any]], title: str, caption: str, columns: list[str], policies: tuple[str, ...] = ()
) -> None:
    """Print the columns that the terminal has room for; headers are in words, but those of policies are ids."""
    from textwrap import fill

    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out

    heads = {column: column if column in policies else column.replace("_", " ") for column in columns}
    cells = {column: [cell(row[column]) for row in rows] for column in columns}
    # Headers wrap at words, so that a dozen columns fit a terminal; a column without room for its cells is left out.
    least = {column: max(map(len, (*heads[column].split(), *cells[column]))) + CELL_EDGES for column in columns}
    shown = list(columns)
    while out().is_terminal and len(shown) > LEAST_COLUMNS and sum(map(least.__getitem__, shown)) >= out().width:
        shown.pop()
    if len(shown) < len(columns):
        left_out = f"no room for {', '.join(heads[column] for column in columns[len(shown) :])}; see --json"
        caption = f"{caption} · {left_out}" if caption else left_out
    table = Table(title=escape(title), caption=escape(caption) if caption else None)
    roomy = sum(max(least[column], len(heads[column]) + CELL_EDGES) for column in shown) < out().width
    for column in shown:
        table.add_column(
            heads[column] if roomy else fill(heads[column], least[column] - CELL_EDGES, break_long_words=False),
            justify="left" if column in LEFT else "right", overflow="fold",
        )  # fmt: skip
    for k in range(len(rows)):
        table.add_row(*(escape(cells[column][k]) for column in shown))
    room = out().width if out().is_terminal else max(out().width, sum(least.values()) + 1)
    out().print(table, width=room, crop=False)


def _draw(plot: Path | None, rows: list[dict[str, Any]], title: str) -> None:
    if plot is not None:
        from cachezoo.evaluation.plot import draw_hit_ratios

        draw_hit_ratios(rows, title, plot)

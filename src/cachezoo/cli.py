"""`cachezoo …`, the command line for people. Each command has `--json`; bad input ends in one clear line."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
import typer.main

from cachezoo.errors import CachezooError, ConfigError

if TYPE_CHECKING:
    from cachezoo.traces.pages import PageAccesses
    from cachezoo.traces.table import Trace

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Training pipeline and model zoo for storage caches."
)
trace_app = typer.Typer(no_args_is_help=True, help="Ingest and describe traces.")
app.add_typer(trace_app, name="trace")
bundle_app = typer.Typer(no_args_is_help=True, help="Verify and inspect bundles.")
app.add_typer(bundle_app, name="bundle")
track_app = typer.Typer(no_args_is_help=True, help="MLflow as a view of the stage outputs.")
app.add_typer(track_app, name="track")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
TracePath = Annotated[Path, typer.Argument(metavar="TRACE", help="A canonical Parquet file, or a raw trace.")]
Capacity = Annotated[str, typer.Option(help="Pages, or N% of the distinct pages.")]
BundlePath = Annotated[Path, typer.Argument(metavar="DIR", help="A bundle's folder or .zip.")]
Warmup = Annotated[str, typer.Option(help="Page accesses replayed before counting, or auto.")]
MAX_CAPACITY = 2**31 - 1
USAGE_STATUS = 2
INTERRUPT_STATUS = 130


def _load(path: Path) -> "tuple[Trace, PageAccesses]":
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import read_any

    trace = read_any(path)
    return trace, expand_pages(trace)


def _print(value: dict[str, Any], as_json: bool, title: str) -> None:
    if as_json:
        typer.echo(json.dumps(value, allow_nan=False))
        return
    from rich.table import Table

    from cachezoo.console import out

    table = Table(title=title, show_header=False)
    for key, item in value.items():
        table.add_row(key, _cell(item))
    out().print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _pages_of(capacity: str, pages: "PageAccesses") -> int:
    from cachezoo.console import err
    from cachezoo.policies.simulate import parse_capacity

    try:
        size = parse_capacity(capacity, pages.n_pages)
    except (OverflowError, ValueError):
        size = MAX_CAPACITY + 1
    if size > MAX_CAPACITY:
        message = f"capacity {capacity[:40]}: no cache has so many pages; the trace's working set is {pages.n_pages}"
        raise ConfigError(message)
    if size > pages.n_pages:
        err().print(
            f"warning: a capacity of {size} pages is above the working set of {pages.n_pages}: only first touches miss"
        )
    return size


def _counted_from(warmup: str, pages: "PageAccesses", capacity: int) -> int:
    from cachezoo.policies.simulate import parse_warmup

    if warmup != "auto" and not (warmup.isascii() and warmup.isdigit() and len(warmup) <= len(str(2**63))):
        message = f"warmup {warmup[:40]!r}: give auto or page accesses below {len(pages.page_ids)}"
        raise ConfigError(message)
    return parse_warmup(warmup, pages, capacity)


def _known(ids: list[str]) -> list[str]:
    """The policy ids as given; an unknown one is refused before anything runs."""
    from cachezoo.policies.registry import policy

    return [policy(policy_id).id for policy_id in ids]


def _project() -> Path:
    """The working folder, if a project lies there."""
    folder = Path.cwd()
    if not (folder / "dvc.yaml").is_file() and not (folder / "conf").is_dir():
        message = f"{folder}: no project here (neither dvc.yaml nor conf/); run this in the project's folder"
        raise ConfigError(message)
    return folder


@trace_app.command("ingest")
def trace_ingest(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The raw trace.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Canonical Parquet to write.")],
    fmt: Annotated[str, typer.Option("--format", help="auto, csv, msr or parquet.")] = "auto",
    category: Annotated[str, typer.Option(help="Workload category to record.")] = "unknown",
    as_json: Json = False,
) -> None:
    """Turn a raw trace into canonical Parquet. Latencies below 0 count as unknown."""
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import read_any
    from cachezoo.traces.stats import describe
    from cachezoo.traces.store import write_trace

    if file.exists() and output.exists() and output.samefile(file):
        message = f"{output}: is the raw trace itself and would be replaced; name another output file"
        raise ConfigError(message)
    trace = read_any(file, fmt, category)
    pages = expand_pages(trace)
    write_trace(trace, output, pages)
    _print(
        {**describe(trace, pages), "output": str(output)},
        as_json,
        f"ingested {file.name} as {trace.meta.source_format}",
    )


@trace_app.command("info")
def trace_info(trace: TracePath, as_json: Json = False) -> None:
    """Describe a trace."""
    from cachezoo.traces.stats import describe

    rows, pages = _load(trace)
    _print(describe(rows, pages), as_json, str(trace))


@trace_app.command("capture")
def trace_capture(
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="database or web.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Canonical Parquet to write.")],
    recipe: Annotated[Path | None, typer.Option(help="Default: conf/capture/WORKLOAD_train.yaml.")] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the recipe's.")] = None,
    duration: Annotated[int | None, typer.Option(help="Seconds, instead of the recipe's days.")] = None,
    as_json: Json = False,
) -> None:
    """Record the block requests of a real workload (as root)."""
    import dataclasses

    from cachezoo.console import progress
    from cachezoo.traces.capture.run import capture, choose_recipe

    chosen = choose_recipe(workload, recipe, seed, duration)
    with progress(f"capturing {workload}", chosen.schedule.days * chosen.schedule.day_s) as advance:
        report = capture(chosen, output, advance)
    value = dataclasses.asdict(report)
    value |= value.pop("counts")
    _print(value, as_json, f"captured {workload}")


@app.command()
def simulate(
    trace: TracePath,
    policy: Annotated[str, typer.Option(help="Policy id; `cachezoo policies` lists them.")] = "lru",
    capacity: Capacity = "10%",
    warmup: Warmup = "0",
    as_json: Json = False,
) -> None:
    """Replay a trace through one policy."""
    from cachezoo.policies.simulate import simulate as run

    _known([policy])
    rows, pages = _load(trace)
    size = _pages_of(capacity, pages)
    result = run(rows, pages, policy, size, _counted_from(warmup, pages, size))
    value = {
        "policy": policy,
        "capacity": size,
        "warmup": result.warmup,
        "requests": result.requests,
        "page_accesses": result.page_accesses,
        "hits": result.hits,
        "hit_ratio": result.hit_ratio,
        "ssd_writes": result.ssd_writes,
        "requests_per_s": len(rows) / max(result.kernel_s, 1e-9),
    }
    _print(value, as_json, f"{policy} on {trace.name}")


@app.command()
def compare(
    trace: TracePath,
    capacity: Capacity = "10%",
    policy: Annotated[list[str] | None, typer.Option(help="Policy id, repeatable; default every classic.")] = None,
    bundle: Annotated[list[Path] | None, typer.Option(help="An admission or caching bundle, repeatable.")] = None,
    warmup: Warmup = "auto",
    as_json: Json = False,
) -> None:
    """Run policies and bundles side by side, with the optimum."""
    from cachezoo.console import progress
    from cachezoo.evaluation.compare import compare as run
    from cachezoo.policies.registry import classics

    ids = _known(policy or classics())
    rows, pages = _load(trace)
    size = _pages_of(capacity, pages)
    counted_from = _counted_from(warmup, pages, size)
    models = []
    for path in bundle or []:
        from cachezoo.evaluation.bundle import simulate_bundle

        models.append(simulate_bundle(path, rows, pages, size, counted_from))
    with progress(f"comparing {len(ids)} policies", len(ids) + 1) as advance:
        result = run(rows, pages, ids, size, counted_from, models, advance)
    if as_json:
        typer.echo(json.dumps(result, allow_nan=False))
        return
    from rich.table import Table

    from cachezoo.console import out

    title = f"{trace.name}: {size:,} pages, counted after {result['warmup']:,} of {len(pages.page_ids):,} page accesses"
    columns = ["policy", "kind", "hit_ratio", "gap_points", "gap_closed", "ssd_writes"]
    table = Table(title=title, caption=f"best classic: {result['best_classic']} · optimum: {result['optimum']}")
    for column in columns:
        table.add_column(column, justify="left" if column in ("policy", "kind") else "right")
    for row in result["rows"]:
        table.add_row(*(_cell(row[column]) for column in columns))
    out().print(table)


@bundle_app.command("verify")
def bundle_verify(path: BundlePath, as_json: Json = False) -> None:
    """Check every file of a bundle and replay its golden rows."""
    from cachezoo.bundles.verify import verify

    _print(verify(path), as_json, f"{path}: verified")


@bundle_app.command("inspect")
def bundle_inspect(path: BundlePath, as_json: Json = False) -> None:
    """Show what a bundle says of itself."""
    from cachezoo.bundles.inspect import inspect, render
    from cachezoo.console import out

    report = inspect(path)
    if as_json:
        typer.echo(json.dumps(report, allow_nan=False))
    else:
        out().print(render(report))


@track_app.command("sync")
def track_sync(as_json: Json = False) -> None:
    """Bring the project's MLflow up to date with the stage outputs, or build it anew."""
    import dataclasses

    from cachezoo.tracking.sync import sync

    report = dataclasses.asdict(sync(_project()))
    _print(report, as_json, "MLflow runs")


@track_app.command("ui")
def track_ui(port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 5000) -> None:
    """Serve MLflow's pages on 127.0.0.1 until interrupted."""
    from cachezoo.console import err
    from cachezoo.tracking.sync import ui_address, ui_command

    folder = _project()
    command = ui_command(folder, port)
    err().print(f"MLflow: {ui_address(folder, port)} (Ctrl-C ends it)", soft_wrap=True)
    os.execvp(command[0], command)


@app.command()
def policies(as_json: Json = False) -> None:
    """List the registered policies."""
    from cachezoo.policies.registry import POLICIES

    _print({entry.id: f"{entry.kind}: {entry.title}" for entry in POLICIES.values()}, as_json, "policies")


@app.command()
def results(as_json: Json = False) -> None:
    """Print what the pipeline found: policies by test traces, the bundles, and what to do with them."""
    from cachezoo import paths
    from cachezoo.console import out
    from cachezoo.evaluation.results import bundles_of, bundles_table, next_steps, results_table, rows_of_tests

    files = sorted(paths.METRICS.glob("*.json"))
    if not files:
        _project()
    rows, bundles = rows_of_tests(files), bundles_of(files)
    if as_json:
        typer.echo(json.dumps({"rows": rows, "bundles": bundles}, allow_nan=False))
    elif rows:
        out().print(results_table(rows), bundles_table(bundles))
        out().print(next_steps(bundles), soft_wrap=True, markup=False, highlight=False)
    else:
        out().print("No results yet: list traces in conf/matrix.yaml (see README), then run `make repro`.")


def _fail(message: str, status: int) -> NoReturn:
    sys.stderr.write(f"cachezoo: {' '.join(message.split())}\n")
    raise SystemExit(status)


def _os_message(error: OSError) -> str:
    """The file and what is wrong with it; of a rename, the target."""
    name = error.filename2 or error.filename
    said = error.strerror or str(error) or type(error).__name__
    return f"{os.fsdecode(name)}: {said}" if isinstance(name, str | bytes | os.PathLike) else said


def main() -> None:
    """Run the command line; an expected error is one line on standard error.

    The exit status is 1 after an error, 2 after a command line that cannot be understood, 130 after Ctrl-C.
    """
    command = typer.main.get_command(app)
    try:
        status = command.main(prog_name="cachezoo", standalone_mode=False)
    except CachezooError as error:
        _fail(str(error), 1)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        asked = context.command_path if context else "cachezoo"
        message = error.format_message()
        if not message.strip():  # a group without a command has printed its help
            raise SystemExit(USAGE_STATUS) from error
        _fail(f"{message.strip().rstrip('.')}; see {asked} --help", USAGE_STATUS)
    except OSError as error:
        _fail(_os_message(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPT_STATUS)
    if status == INTERRUPT_STATUS:
        _fail("interrupted", INTERRUPT_STATUS)
    raise SystemExit(status if isinstance(status, int) else 0)

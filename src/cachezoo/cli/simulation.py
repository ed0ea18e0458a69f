"""Replaying traces through policies: `simulate`, `compare`, `policies`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachezoo.cli.common import Json, cell, print_values
from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from cachezoo.traces.pages import PageAccesses
    from cachezoo.traces.table import Trace

app = typer.Typer()
TracePath = Annotated[Path, typer.Argument(metavar="TRACE", help="A canonical Parquet file, or a raw trace.")]
Capacity = Annotated[str, typer.Option(help="Pages, or N% of the distinct pages.")]
Warmup = Annotated[str, typer.Option(help="Page accesses replayed before counting, or auto.")]
MAX_CAPACITY = 2**31 - 1


def _load(path: Path) -> "tuple[Trace, PageAccesses]":
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import read_any

    trace = read_any(path)
    return trace, expand_pages(trace)


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
    print_values(value, as_json, f"{policy} on {trace.name}")


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
    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out

    title = f"{trace.name}: {size:,} pages, counted after {result['warmup']:,} of {len(pages.page_ids):,} page accesses"
    columns = ["policy", "kind", "hit_ratio", "gap_points", "gap_closed", "ssd_writes"]
    table = Table(title=escape(title), caption=f"best classic: {result['best_classic']} · optimum: {result['optimum']}")
    for column in columns:
        table.add_column(column, justify="left" if column in ("policy", "kind") else "right")
    for row in result["rows"]:
        table.add_row(*(cell(row[column]) for column in columns))
    out().print(table)


@app.command()
def policies(as_json: Json = False) -> None:
    """List the registered policies."""
    from cachezoo.policies.registry import POLICIES

    print_values({entry.id: f"{entry.kind}: {entry.title}" for entry in POLICIES.values()}, as_json, "policies")

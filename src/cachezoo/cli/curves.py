"""Hit ratio over the size of the cache, and what the best cache could reach: `curve`, `bounds`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cachezoo.cli.common import AllFiles, Json, TableFiles, hand_out, outputs
from cachezoo.cli.options import sample_rate, sizes
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, read_given, reading_of
from cachezoo.cli.runs import (
    Counted,
    DeviceOption,
    Sizes,
    TracePath,
    WritesOption,
    bench_of,
    draw,
    known,
    options_of,
)  # fmt: skip
from cachezoo.show.output import print_rows

if TYPE_CHECKING:
    from cachezoo.curves.curve import Curve

app = typer.Typer()
MOST_SIMULATED = 1_000_000_000  # page accesses of all simulations of a curve together; more are sampled


@app.command()
def curve(
    trace: TracePath,
    policy: Annotated[
        list[str] | None, typer.Option(help="As of simulate, repeatable; default LRU and the optimum.")
    ] = None,
    points: Annotated[int, typer.Option(min=2, max=1000, help="How many, if --size is not given.")] = 24,
    size: Sizes = None,
    sample: Annotated[
        str, typer.Option(metavar="auto|exact|RATE", help="Simulate a part of the pages: 0.01; auto: if need be.")
    ] = "auto",
    counted: Counted = "half",
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Page hit ratio over the size of the cache; LRU at every size in one pass.

    Of a long trace, other policies are simulated in small on a sample of the pages, with standard errors.
    """
    from cachezoo.console import progress
    from cachezoo.contest.counting import Count
    from cachezoo.curves.curve import capacities_of, rising
    from cachezoo.curves.measure import curves
    from cachezoo.policies.registry import OPTIMUM
    from cachezoo.traces.pages import expand_pages

    ids, files = known(policy or ["lru", OPTIMUM]), outputs(output, ("plot", "csv", "json"), [trace])
    rate, typed = sample_rate(sample), sizes(size, "") if size else []
    requests = read_given(trace, fmt, option, columns, ask=not as_json, replay=True)
    pages = expand_pages(requests)
    rule = Count(counted).on(pages, requests.time_us)
    capacities = rising([own.pages(pages.n_pages) for own in typed]) if typed else capacities_of(pages, points)
    most = MOST_SIMULATED // (len(ids) * len(capacities)) if sample == "auto" else None
    with progress(f"curves of {len(ids)} policies", len(ids) * len(capacities)) as advance:
        found = curves(pages, ids, capacities, most_accesses=most, rate=rate, count=rule, advance=advance)
    rows = [row for own in found for row in own.rows()]
    draw(files.get("plot"), rows, trace.name)
    if hand_out({"trace": trace.name, "page_accesses": len(pages.page_ids), "rows": rows}, as_json, files, rows):
        return
    _curve_table(found, trace.name, len(pages.page_ids))


def _curve_table(found: list["Curve"], name: str, accesses: int) -> None:
    """A row a size, a column a policy."""
    from cachezoo.contest.counting import counted_words
    from cachezoo.show.formats import significant
    from cachezoo.traces.falling import unlike

    sizes, first = found[0].capacities.tolist(), found[0].warmup.tolist()
    rows: list[dict[str, Any]] = [{"capacity": size} for size in sizes]
    ids: list[str] = []
    for own in found:
        read = f"transfers of {own.policy}"  # of another policy they are the misses
        ids += [own.policy] if own.moved is None else [own.policy, read]
        for k, row in enumerate(rows):
            row[own.policy], row[read] = own.shown(k), f"{own.transfers[k]:.4f}"
    rates = [own.rate for own in found if own.error is not None]
    sampled = f"a sample of {significant(100 * rates[0], 3)} % of the pages, ± one standard error" if rates else ""
    below = " · ".join(filter(None, (sampled, unlike(first, sizes))))
    title = f"{name}: page hit ratio, {counted_words(first, [accesses] * len(first))}"
    print_rows(rows, title, below, ["capacity", *ids], tuple(ids))


@app.command()
def bounds(
    trace: TracePath,
    size: Sizes = None,
    counted: Counted = "half",
    writes: WritesOption = "back",
    device: DeviceOption = None,
    output: TableFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """What the best cache could reach: page hits, byte hits, and with a device the time saved.

    Without --size the sizes are 1%, 5%, 10% and 20% of the trace's distinct pages.
    """
    from cachezoo.console import progress
    from cachezoo.contest.counting import counted_words
    from cachezoo.questions.page.sweep import bounds_row

    files, capacities = outputs(output, ("csv", "json"), [trace]), sizes(size, "1%,5%,10%,20%")
    reading = reading_of([trace], fmt, option, columns, ask=not as_json)
    options = options_of(counted, writes, "page", device, 0.0, reading)
    bench = bench_of(trace, options, capacities)
    rows = []
    with progress(f"bounds of {trace.name}", len(capacities)) as advance:
        for done, own in enumerate(capacities):
            advance(done, str(own))
            rows.append(bounds_row(bench, own))
    if hand_out({"trace": trace.name, "runs": rows}, as_json, files, rows):
        return
    shown = [name for name in rows[0] if rows[0][name] is not None and name != "warmup"]
    accesses = len(bench.simulator.pages.page_ids)
    below = (
        "shares of what is asked for; the best cache lies between lower and upper; static hindsight: a cache that "
        "holds the most accessed pages of the whole trace throughout, chosen with knowledge of it"
    )
    title = f"{trace.name}, {counted_words([row['warmup'] for row in rows], [accesses] * len(rows))}"
    print_rows(rows, title, below, shown)

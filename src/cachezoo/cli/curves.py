"""Hit ratio over the size of the cache, and what the best cache could reach: `curve`, `bounds`."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cachezoo.cli.common import AllFiles, Json, TableFiles, hand_out, outputs, shows
from cachezoo.cli.options import RANGES, page_bytes, sample_rate, sizes
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, given_files, reading_of
from cachezoo.cli.runs import (
    Counted,
    DeviceOption,
    First,
    Ignore,
    PageSize,
    Sizes,
    TracePath,
    WritesOption,
    bench_of,
    draw,
    known,
    known_anywhere,
    of_pages,
    options_of,
    part_of,
    requests_of,
    shown,
)  # fmt: skip
from cachezoo.show.output import print_rows
from cachezoo.sizes import PAGE_BYTES, Size

if TYPE_CHECKING:
    from cachezoo.contest.counting import Count
    from cachezoo.curves.curve import Curve
    from cachezoo.traces.long import LongTrace
    from cachezoo.traces.pages import PageAccesses
    from cachezoo.traces.sampling import SampledTrace
    from cachezoo.traces.table import Trace

app = typer.Typer()
LEAST, MOST = RANGES["points"]
MOST_SIMULATED = 1_000_000_000  # page accesses of all simulations of a curve together; more are sampled


@app.command(cls=shows("curve trace.parquet -o curve.png", "curve trace.parquet --policy arc --sample 10%"))
def curve(
    trace: TracePath,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="POLICY", help="As in simulate; repeatable; default LRU and the optimum."),
    ] = None,
    points: Annotated[int, typer.Option(metavar="N", min=LEAST, max=MOST, help="Sizes, without --size.")] = 24,
    size: Sizes = None,
    sample: Annotated[
        str, typer.Option(metavar="auto|exact|RATE", help="Simulate this share of pages; auto: if needed.")
    ] = "auto",
    counted: Counted = "half",
    page_size: PageSize = "4KiB",
    first: First = None,
    ignore: Ignore = None,
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Show how the hit ratio depends on the cache size.

    On long traces, policies other than LRU are estimated from a sample, with 90 % intervals.
    """
    from cachezoo.cli import objects
    from cachezoo.contest.counting import Count
    from cachezoo.policies.registry import OPTIMUM
    from cachezoo.questions.page.sweep import taken
    from cachezoo.traces.long import opened
    from cachezoo.traces.objects import ObjectTrace
    from cachezoo.traces.table import Trace

    known_anywhere(policy or [])
    files = outputs(output, ("plot", "csv", "json"), [trace])
    rate, typed, page = sample_rate(sample), sizes(size, "") if size else [], page_bytes(page_size)
    source = given_files([trace], fmt, option, columns, ask=not as_json)
    read = opened(source, part_of(sample, first=first), page, first, requests=False, unread=rate is None)
    if isinstance(read, ObjectTrace):
        objects.refuse_of_pages({"--page-size": page != PAGE_BYTES, "--sample": rate is not None})
        asked = objects.Asked(objects.first_of(read, first), trace.name, objects.rules_of(ignore), counted)
        return objects.curve(asked, policy or [], points, typed, files, as_json)
    objects.refuse_of_objects(ignore)
    ids, requests = known(policy or ["lru", OPTIMUM]), taken(read, first) if isinstance(read, Trace) else read
    found, accesses, rows, _ = measured(requests, ids, typed, points, page, sample, Count(counted), shown=True)
    draw(files.get("plot"), rows, trace.name)
    if hand_out({"trace": trace.name, "page_accesses": accesses, "rows": rows}, as_json, files, rows):
        return
    _curve_table(found, trace.name, accesses, page)


def measured(
    trace: "Trace | SampledTrace | LongTrace", ids: list[str], typed: list[Size], points: int, page: int, sample: str,
    count: "Count", *, shown: bool = False,
) -> tuple[list["Curve"], int, list[dict[str, Any]], str]:  # fmt: skip
    """Curves of policies on a trace, from Python too.

    Args:
        trace: the trace, a sample of it, or one that is too long for memory.
        ids: of policies.
        typed: sizes of the cache; without any, `points` of them.
        points: how many sizes.
        page: bytes of a page of the cache.
        sample: `auto`, `exact`, or a part of the pages, as typed.
        count: from where on it counts.
        shown: with a progress bar.

    Returns:
        The curves, how many page accesses the trace has, a row for each policy and size, and what the trace is called.
    """
    from cachezoo.console import progress
    from cachezoo.curves.curve import capacities_of, rising
    from cachezoo.curves.measure import curves
    from cachezoo.policies.long import LongSimulator
    from cachezoo.traces.long import LongTrace
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.sampling import SampledTrace

    rate, rule = sample_rate(sample), count
    pages: PageAccesses | SampledTrace | LongSimulator
    if isinstance(trace, SampledTrace):
        pages, accesses, meta = trace, trace.accesses, trace.trace.meta
    elif isinstance(trace, LongTrace):
        with progress(f"reading {trace.files.paths[0].name}", 1) if shown else nullcontext() as advance:
            pages = LongSimulator(trace, page_bytes=page, count=count, advance=advance, alone=True)
        accesses, meta = pages.accesses, pages.meta
    else:
        pages = expand_pages(trace, page)
        rule, accesses, meta = count.on(pages, trace.time_us), len(pages.page_ids), trace.meta
    capacities = rising([own.pages(pages.n_pages, page) for own in typed]) if typed else capacities_of(pages, points)
    points = len(ids) * len(capacities)
    most = MOST_SIMULATED // points if sample == "auto" else None
    with progress(f"curves of {len(ids)} policies", points) if shown else nullcontext() as advance:
        found = curves(pages, ids, capacities, most_accesses=most, rate=rate, count=rule, advance=advance)
    return found, accesses, [{**row, "page_bytes": page} for own in found for row in own.rows()], meta.trace_id


def _curve_table(found: list["Curve"], name: str, accesses: int, page: int) -> None:
    """A row a size, a column a policy."""
    from cachezoo.contest.counting import counted_words
    from cachezoo.show.formats import significant
    from cachezoo.traces.falling import unlike

    sizes, first = found[0].capacities.tolist(), found[0].warmup.tolist()
    rows: list[dict[str, Any]] = shown([{"capacity": size, "page_bytes": page} for size in sizes])
    ids: list[str] = []
    for own in found:
        read = f"transfers of {own.policy}"  # of another policy they are the misses
        ids += [own.policy] if own.moved is None else [own.policy, read]
        for k, row in enumerate(rows):
            row[own.policy], row[read] = own.shown(k), f"{own.transfers[k]:.4f}"
    rates = [own.rate for own in found if own.error_90 is not None]
    sampled = f"a sample of {significant(100 * rates[0], 3)} % of the pages, ± 90 %" if rates else ""
    below = " · ".join(filter(None, (sampled, unlike(first, sizes))))
    title = f"{name}: page hit ratio, {counted_words(first, [accesses] * len(first))}"
    print_rows(rows, title, below, ["capacity", *ids], tuple(ids))


@app.command(cls=shows("bounds trace.parquet --size 10%"))
def bounds(
    trace: TracePath,
    size: Sizes = None,
    counted: Counted = "half",
    writes: WritesOption = "back",
    page_size: PageSize = "4KiB",
    first: First = None,
    ignore: Ignore = None,
    device: DeviceOption = None,
    output: TableFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Compute the hits and saved time that no cache exceeds.

    Default sizes are 1%, 5%, 10% and 20%.
    """
    from cachezoo.cli import objects
    from cachezoo.console import progress
    from cachezoo.contest.counting import counted_words
    from cachezoo.questions.page.sweep import bounds_row
    from cachezoo.traces.objects import ObjectTrace

    files, capacities = outputs(output, ("csv", "json"), [trace]), sizes(size, "1%,5%,10%,20%")
    reading = reading_of([trace], fmt, option, columns, ask=not as_json)
    options = options_of(counted, writes, "page", device, 0.0, reading, page_size, first)
    requests = requests_of(trace, reading)
    if isinstance(requests, ObjectTrace):
        objects.refuse_of_pages(of_pages(options))
        asked = objects.Asked(objects.first_of(requests, first), trace.name, objects.rules_of(ignore, writes), counted)
        return objects.bounds(asked, capacities, files, as_json)
    objects.refuse_of_objects(ignore)
    bench = bench_of(requests, options, capacities)
    rows = []
    with progress(f"bounds of {trace.name}", len(capacities)) as advance:
        for done, own in enumerate(capacities):
            advance(done, str(own))
            rows.append(bounds_row(bench, own))
    if hand_out({"trace": trace.name, "runs": rows}, as_json, files, rows):
        return
    seen = [name for name in rows[0] if rows[0][name] is not None and name not in ("page_bytes", "warmup")]
    accesses = len(bench.simulator.pages.page_ids)
    below = (
        "shares of what is asked for; the best cache lies between lower and upper; static hindsight: a cache that "
        "holds the most accessed pages of the whole trace throughout, chosen with knowledge of it"
    )
    title = f"{trace.name}, {counted_words([row['warmup'] for row in rows], [accesses] * len(rows))}"
    print_rows(shown(rows), title, below, seen)

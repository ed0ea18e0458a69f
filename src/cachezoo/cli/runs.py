"""What the simulation commands share: their options, a trace ready to be simulated, and words for tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cachezoo.cli.reading import AUTO, Reading
from cachezoo.errors import TraceError

if TYPE_CHECKING:
    from cachezoo.questions.page.bench import Bench, Options
    from cachezoo.sizes import Size

TracePath = Annotated[Path, typer.Argument(metavar="TRACE", help="A canonical Parquet file, or a raw trace.")]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        help="64MiB, 10% of the trace's distinct pages, or 4096p (pages of 4 KiB); several with commas, repeatable.",
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        help="Id, [admission+]eviction[+prefetch], follow(experts=A|B) or vrm(...); see policies. Repeatable; "
        "default lru.",
    ),
]
Counted = Annotated[
    str,
    typer.Option(
        "--count",
        help="From where on to count: half: the second half of the trace; auto: from where LRU has filled the cache, "
        "after 10 to 33 % of it; all; 25%, 60s or 1000: from that share, time, or page access or request on.",
    ),
]
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


def options_of(
    count: str, writes: str, unit: str, device: str | None, decision_us: float, reading: Reading = AUTO
) -> "Options":
    """How the policies run, from the options; what is unknown is refused before anything is read."""
    from cachezoo.contest.counting import Count
    from cachezoo.devices.profile import load_models
    from cachezoo.policies.stream import known_unit, known_writes
    from cachezoo.questions.page.bench import Options

    rules = Count(count), known_writes(writes), known_unit(unit)
    return Options(*rules, None if device is None else load_models(device), decision_us, reading)


def known(ids: list[str]) -> list[str]:
    """The policy ids as given; an unknown one is refused before anything runs."""
    from cachezoo.policies.registry import policy

    return [*dict.fromkeys(policy(policy_id).id for policy_id in ids)]


def present(traces: list[Path]) -> None:
    """A trace that is not there, or cannot be read more than once, is refused before the others run."""
    from cachezoo.traces.source import refuse_pipe

    for path in traces:
        if not path.exists():
            raise TraceError(f"{path}: no such file")
        refuse_pipe(path)


def bench_of(path: Path, options: "Options", sizes: "list[Size]") -> "Bench":
    """The trace, ready; says where a size is above its working set."""
    from cachezoo.console import err
    from cachezoo.policies.simulate import Simulator
    from cachezoo.questions.page.bench import Bench
    from cachezoo.sizes import human_pages
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import read_any

    trace = read_any(path, options.reading[0], options=dict(options.reading[1]), replay=True)
    pages = expand_pages(trace)
    for own in sizes:
        if (size := own.pages(pages.n_pages)) > pages.n_pages:
            err().print(
                f"warning: a size of {human_pages(size)} is above the working set of {human_pages(pages.n_pages)}: "
                "only first touches miss"
            )
    return Bench.of(Simulator(trace, pages, options.writes, options.unit), options.device, options.count)


def check_sizes(bench: "Bench", ids: list[str], sizes: "list[Size]") -> None:
    """Refuse a size that a policy cannot have before the others run: each such policy serves one page access.

    Raises:
        ConfigError: what the policy says of the size.
    """
    from cachezoo.policies.registry import ONE, policy

    for entry in map(policy, ids):
        if (entry.spec is not None and entry.spec.is_virtual) or entry.kind == "follower":
            for size in sizes:
                entry.simulate(ONE, bench.size(size))


def counted_words(rows: list[dict[str, Any]]) -> str:
    """From where on the runs count, in words."""
    from cachezoo.contest import counting

    warmups = [row["warmup"] for row in rows]
    return counting.counted_words(warmups, [row["warmup"] + row["page_accesses"] for row in rows])


def draw(plot: Path | None, rows: list[dict[str, Any]], title: str) -> None:
    """Draw the hit ratios of runs where a plot is wanted."""
    if plot is not None:
        from cachezoo.questions.page.plot import draw_hit_ratios

        draw_hit_ratios(rows, title, plot)

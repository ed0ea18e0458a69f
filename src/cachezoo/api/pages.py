"""Page caches from Python: `simulate`, `compare`, `curve` and `recommend`, as the commands of these names."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cachezoo.api.reading import read
from cachezoo.api.results import Result
from cachezoo.cli.options import endurance as endurance_of
from cachezoo.cli.options import hit_ratio, sample_rate
from cachezoo.cli.options import sizes as sizes_of
from cachezoo.cli.runs import check_sizes, known, options_of
from cachezoo.contest.counting import Count
from cachezoo.curves.curve import capacities_of, rising
from cachezoo.curves.measure import curves
from cachezoo.errors import ConfigError
from cachezoo.policies.own import named as own_name
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.page import sweep as engine
from cachezoo.questions.page.answer import lines
from cachezoo.questions.page.bench import Bench, Options
from cachezoo.questions.page.bundle import run_bundle
from cachezoo.questions.page.likeness import bundles_folder
from cachezoo.questions.page.recommendation import Options as Aim
from cachezoo.questions.page.recommendation import models_of
from cachezoo.questions.page.recommendation import recommend as recommended
from cachezoo.questions.page.report import curve as drawn_curve
from cachezoo.questions.page.report import values_of
from cachezoo.sizes import Size
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace

Several = str | Sequence[str]
MOST_SIMULATED = 1_000_000_000  # page accesses of all simulations of a curve together; more are sampled


def several(given: Several) -> list[str]:
    """One text or several, as a list.

    Raises:
        ConfigError: something else.
    """
    found = list(given) if isinstance(given, list | tuple) else [given]
    for own in found:
        if not isinstance(own, str):
            raise ConfigError(f"{own!r}: give a text, as the command's option takes it, such as '64MiB' or 's3fifo'")
    return [str(own) for own in found]


def policies(given: Any) -> list[str]:  # noqa: ANN401 - a text, a class, or several
    """Ids of policies, known ones; a class of one's own stands for itself.

    Raises:
        ConfigError: as `cachezoo.policies.registry.policy`.
    """
    found = given if isinstance(given, list | tuple) else [given]
    return known(several([own if isinstance(own, str) else own_name(own) for own in found]))


def named(source: Any, trace: Trace) -> tuple[str, bool]:  # noqa: ANN401 - as of `read`
    """What commands to run next call a trace, and whether it is in memory alone, so that it has to be saved first."""
    return (str(source), False) if isinstance(source, str | Path) else (trace.meta.trace_id, True)


def bench_of(source: Any, options: Options) -> Bench:  # noqa: ANN401 - as of `read`
    """A trace, ready to be simulated."""
    trace = read(source)
    simulator = Simulator(trace, expand_pages(trace), options.writes, options.unit)
    return Bench.of(simulator, options.device, options.count)


def _drawn(rows: Sequence[dict[str, Any]], title: str, path: Path) -> None:
    from cachezoo.questions.page.plot import draw_hit_ratios

    draw_hit_ratios(rows, title, path)


def simulate(
    trace: Any,  # noqa: ANN401 - as of `read`
    policy: Any = "lru",  # noqa: ANN401 - as described
    size: Several = "10%",
    *,
    count: str = "half",
    writes: str = "back",
    unit: str = "page",
    device: str | None = None,
    decision_us: float = 0.0,
) -> Result:
    """Simulate a trace with one policy or several, at one cache size or several: `cachezoo simulate`.

    Args:
        trace: a trace, or what `read` takes.
        policy: as `--policy`: `s3fifo`, `rejectx+lirs+next(n=4)`, `mymodule:MRU`; or a class of one's own
            (docs/python.md); or several.
        size: as `--size`: `256MiB`, `10%` of the trace's distinct pages, or `4096p`; or several.
        count: from where on to count, as `--count`.
        writes: what a write does: back, through or around.
        unit: what one admission decision covers: page, segment or request.
        device: a device profile; with one there are response times, in µs.
        decision_us: time of one decision in µs, charged to every request.

    Returns:
        A row for each policy and size; `hit_ratio` of a single run.

    Raises:
        ConfigError: an unknown policy, or an option that cannot be.
        TraceError: what the reader says.
    """
    ids, sizes = policies(policy), sizes_of(several(size), "10%")
    bench = bench_of(trace, options_of(count, writes, unit, device, decision_us))
    check_sizes(bench, ids, sizes)
    rows = [bench.run(own, bench.size(one), decision_us).values() for own in ids for one in sizes]
    name = bench.trace.meta.trace_id
    title = f"{', '.join(ids)} on {name}"
    values = {"trace": name, "policies": ids, "runs": rows}
    return Result(title, values, rows, found=bench, draw=lambda path: _drawn(rows, title, path))


def compare(
    trace: Any,  # noqa: ANN401 - as of `read`
    policy: Any = (),  # noqa: ANN401 - as of `simulate`
    size: Several = "10%",
    *,
    all_classics: bool = False,
    bundle: Sequence[Path | str] = (),
    count: str = "half",
    writes: str = "back",
    unit: str = "page",
    device: str | None = None,
    decision_us: float = 0.0,
) -> Result:
    """Run policies and bundles side by side, with the optimum: `cachezoo compare`.

    Args:
        trace: a trace, or what `read` takes.
        policy: as of `simulate`; by default every classic.
        size: as of `simulate`.
        all_classics: run every classic beside each policy that is given.
        bundle: folders of caching or reuse bundles.
        count: as of `simulate`, like the next three.
        writes: what a write does.
        unit: what one admission decision covers.
        device: a device profile.
        decision_us: time of a bundle's decision in µs.

    Returns:
        A row for each run, best first at each size, with its gap to the best classic.

    Raises:
        ConfigError: as `simulate`, or a bundle with other writes than back or another unit than a page.
        BundleError: a damaged bundle, or one that decides nothing in a page cache.
    """
    ids, sizes = policies(policy), sizes_of(several(size), "10%")
    options = options_of(count, writes, unit, device, decision_us)
    if bundle and (options.writes, options.unit) != ("back", "page"):
        raise ConfigError("a bundle's cache writes back and admits page by page; leave writes and unit out beside it")
    bench = bench_of(trace, options)
    names = [*dict.fromkeys([*ids, *(classics() if all_classics or not ids else []), OPTIMUM])]
    check_sizes(bench, names, sizes)
    runs = []
    for one in sizes:
        pages = bench.size(one)
        rows = [bench.run(name, pages).values() for name in names]
        rows += [run_bundle(bench, Path(path), pages, decision_us).values() for path in bundle]
        runs.append(engine.compare(rows))
    shown = [row for run in runs for row in run["rows"]]
    name = bench.trace.meta.trace_id
    best = dict.fromkeys(run["best_classic"] for run in runs if run["best_classic"] is not None)
    says = [f"best classic: {', '.join(best)}"] if best else []
    values = {"trace_id": name, "runs": runs}
    title = f"{len(names) + len(bundle)} caches on {name}"
    return Result(title, values, shown, says, bench, lambda path: _drawn(shown, title, path))


def curve(
    trace: Any,  # noqa: ANN401 - as of `read`
    policy: Any = ("lru", OPTIMUM),  # noqa: ANN401 - as of `simulate`
    size: Several = (),
    *,
    points: int = 24,
    sample: str = "auto",
    count: str = "half",
) -> Result:
    """Page hit ratio over the size of the cache: `cachezoo curve`.

    Args:
        trace: a trace, or what `read` takes.
        policy: as of `simulate`, without prefetch.
        size: as of `simulate`; by default as many as `points`, from a thousandth of the pages to all.
        points: how many sizes.
        sample: `auto`, `exact`, or the part of the pages to simulate, such as `0.01`.
        count: as of `simulate`.

    Returns:
        A row for each policy and size; an estimate has its standard error.

    Raises:
        ConfigError: as `simulate`, or a policy that has no curve.
    """
    ids, rate = policies(policy), sample_rate(sample)
    typed = sizes_of(several(size), "") if size else []
    own = read(trace)
    pages = expand_pages(own)
    rule = Count(count).on(pages, own.time_us)
    capacities = rising([one.pages(pages.n_pages) for one in typed]) if typed else capacities_of(pages, points)
    most = MOST_SIMULATED // (len(ids) * len(capacities)) if sample == "auto" else None
    found = curves(pages, ids, capacities, most_accesses=most, rate=rate, count=rule)
    rows = [row for one in found for row in one.rows()]
    name = own.meta.trace_id
    values = {"trace": name, "page_accesses": len(pages.page_ids), "rows": rows}
    return Result(f"{name}: page hit ratio", values, rows, found=found, draw=lambda path: _drawn(rows, name, path))


def recommend(
    trace: Any,  # noqa: ANN401 - as of `read`
    size: str | None = None,
    *,
    target_hit: str | float | None = None,
    target_ms: float | None = None,
    device: str | None = None,
    endurance: str = "1200TBW",
    models: Path | str | None = None,
    ask_models: bool = True,
) -> Result:
    """Which cache to run and how large, and what it brings: `cachezoo recommend`.

    Args:
        trace: a trace, or what `read` takes.
        size: the most cache that you would buy, as of `simulate`.
        target_hit: the hit ratio to reach, such as `80%` or 0.8.
        target_ms: the mean response time to reach, in ms.
        device: a device profile for response times; by default the one built in.
        endurance: writes that the SSD's data sheet allows.
        models: folder of the zoo's bundles; by default `models/bundles`, where it is there.
        ask_models: run the learned cache of that folder too.

    Returns:
        A row for each size; `says` is the answer, `values["policy"]` and `values["capacity_bytes"]` what to run.

    Raises:
        ConfigError: an aim that cannot be, or a folder that is not there.
        BundleError: a damaged bundle.
    """
    aim = Aim(
        Size.parse(size) if size is not None else None,
        hit_ratio(str(target_hit)) if target_hit is not None else None,
        target_ms, device, endurance_of(endurance), ask_models=ask_models,
    )  # fmt: skip
    profile = models_of(device)
    folder = bundles_folder(None if models is None else Path(models)) if ask_models else None
    own = read(trace)
    name, piped = named(trace, own)
    found = recommended(name, own, profile, replace(aim, piped=piped), folder, classify=True)
    values = values_of(found)
    says = [f"{line.label}: {' '.join([*line.texts, *line.commands])}" for line in lines(found)]

    def draw(path: Path) -> None:
        from cachezoo.io import atomic_file

        if path.suffix != ".svg":
            raise ConfigError(f"{path}: this picture is an SVG; give a name that ends in .svg")
        with atomic_file(path) as temporary:
            temporary.write_text(drawn_curve(found).svg, encoding="utf-8")

    return Result(f"Which cache for {name}?", values, values["sizes"], says, found, draw)

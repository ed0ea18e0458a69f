"""Caches from Python: `simulate`, `compare`, `curve` and `recommend`, as the commands of these names."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cachezoo.api import objects
from cachezoo.api.given import (
    number,
    one_of,
    path,
    paths,
    renamed,
    switch,
    text,
    text_or_none,
    texts,
    with_commas_or_none,
)
from cachezoo.api.given import policies as given_policies
from cachezoo.api.reading import in_memory, opened
from cachezoo.api.results import Picture, Result
from cachezoo.bundles.released import load
from cachezoo.cli.curves import measured
from cachezoo.cli.objects import refuse_of_objects
from cachezoo.cli.options import endurance as endurance_of
from cachezoo.cli.options import hit_ratio, in_range, page_bytes, sample_rate, whole_in_range
from cachezoo.cli.options import sizes as sizes_of
from cachezoo.cli.runs import (
    bench_of,
    check_sizes,
    known,
    known_anywhere,
    of_models,
    of_pages,
    options_of,
    part_of,
    refuse_of_samples,
    taking_turns,
    turns_values,
    turns_words,
)
from cachezoo.contest.counting import Count
from cachezoo.devices.built_in import DEFAULT_ENDURANCE_TB
from cachezoo.policies.registry import OPTIMUM
from cachezoo.questions.objects.recommendation import Aim as ObjectAim
from cachezoo.questions.objects.recommendation import By
from cachezoo.questions.page import sweep as engine
from cachezoo.questions.page.answer import lines
from cachezoo.questions.page.bench import Bench, Options
from cachezoo.questions.page.bundle import BundleCache, calibration_words, refuse_options
from cachezoo.questions.page.compare import ModelCache, compared, names_of
from cachezoo.questions.page.likeness import bundles_folder
from cachezoo.questions.page.recommendation import Options as Aim
from cachezoo.questions.page.recommendation import models_of
from cachezoo.questions.page.recommendation import recommend as recommended
from cachezoo.questions.page.report import curve as drawn_curve
from cachezoo.questions.page.report import values_of
from cachezoo.questions.page.turns import TurnsCache
from cachezoo.sizes import PAGE_BYTES, Size
from cachezoo.traces.long import LongTrace
from cachezoo.traces.objects import Either, ObjectTrace
from cachezoo.traces.sampling import SampledTrace
from cachezoo.traces.table import Trace

Several = str | Sequence[str]


def policies(given: Any, *, least: int = 0) -> list[str]:  # noqa: ANN401 - a text, a class, or several
    """Texts of policies that a cache of pages or one of objects has; a class of one's own by its name.

    Raises:
        ConfigError: neither has one, or there are fewer than `least`.
    """
    texts = given_policies([] if given is None and not least else given, least=least)
    known_anywhere(texts)
    return texts


def _sizes(given: Any) -> list[Size]:  # noqa: ANN401 - a text, or several
    return sizes_of(texts(given, "size", least=1), "")


def _options(
    count: str, writes: str, unit: str, device: str | None, decision_us: float, page_size: str, first: int | None,
    sample: str | float,
) -> Options:  # fmt: skip
    """How policies run, with each option checked as the command line checks it.

    Raises:
        ConfigError: one cannot be.
    """
    charged = in_range(decision_us, "decision_us")
    words = (text(count, "count"), text(writes, "writes"), text(unit, "unit"), text_or_none(device, "device"))
    taken = None if first is None else whole_in_range(first, "first")
    return options_of(*words, charged, page_size=text(page_size, "page_size"), first=taken, sample=str(sample))


def _bench(
    source: Trace | SampledTrace | LongTrace, options: Options, sizes: list[Size], whole: dict[str, bool]
) -> Bench:
    """A trace ready to be simulated; `whole` are options that no sample can stand for.

    Raises:
        ConfigError: one was given, of a sample.
    """
    if isinstance(source, SampledTrace):
        refuse_of_samples(whole)
    return bench_of(source, options, sizes)


def named(source: Any, trace: Either | SampledTrace) -> tuple[str, bool]:  # noqa: ANN401 - as of `read`
    """What commands to run next call a trace, and whether it is in memory alone, so that it has to be saved first."""
    whole = trace.trace if isinstance(trace, SampledTrace) else trace
    return (str(source), False) if isinstance(source, str | Path) else (whole.meta.trace_id, True)


def _drawn(rows: Sequence[dict[str, Any]], title: str, path: Path) -> None:
    from cachezoo.questions.page.plot import draw_hit_ratios

    draw_hit_ratios(rows, title, path)


def _row(bench: Bench, own: str, capacity: int, decision_us: float, caches: dict[str, TurnsCache]) -> dict[str, Any]:
    """The figures of a policy, or of one of RC-RNN's caches."""
    cache = caches.get(own)
    run = bench.run(own, capacity, decision_us) if cache is None else cache.run(bench, capacity, decision_us)
    return run.values()


def simulate(
    trace: Any,  # noqa: ANN401 - as of `read`
    policy: Any = "lru",  # noqa: ANN401 - as described
    size: Several = "10%",
    *,
    models: Path | str | None = None,
    count: str = "half",
    writes: str = "back",
    unit: str = "page",
    device: str | None = None,
    decision_us: float = 0.0,
    page_size: str = "4KiB",
    first: int | None = None,
    sample: str | float = "exact",
    ignore: str | None = None,
) -> Result:
    """Simulate a trace with one policy or several, at one cache size or several: `cachezoo simulate`.

    Args:
        trace: a trace, or what `read` takes.
        policy: as `--policy`: `s3fifo`, `rejectx+lirs+next(n=4)`, `mymodule:MRU`; or a class of one's own
            (docs/python.md); or several.
        size: as `--size`: `256MiB`, `10%` of the trace's distinct pages or of its objects' bytes, or `4096p`; or
            several.
        models: folder of the bundles of `rcrnn`; by default `models/bundles`, where it is there.
        count: from where on to count, as `--count`.
        writes: what a write does: back, through or around.
        unit: what one admission decision covers: page, segment or request.
        device: a device profile; with one there are response times, in µs.
        decision_us: time of one decision in µs, charged to every request.
        page_size: of a page of the cache: `4KiB` to `1MiB`.
        first: so many of the trace's first requests alone.
        sample: `exact`; the part of the pages to simulate, such as `0.01`; or `auto`, a sample of files with more than
            50 million page accesses.
        ignore: what a cache of objects does not heed: deletes, ttl, sizes; with commas.

    Returns:
        A row for each policy and size; `hit_ratio` of a single run.

    Raises:
        ConfigError: an unknown policy, or an option that cannot be.
        TraceError: what the reader says.
    """
    names, sizes, folder = policies(policy, least=1), _sizes(size), None if models is None else path(models, "models")
    options = _options(count, writes, unit, device, decision_us, page_size, first, sample)
    ignored = with_commas_or_none(ignore, "ignore")
    own = opened(trace, options.sample, options.page_bytes, options.first)
    if isinstance(own, ObjectTrace):
        given = {**of_pages(options), **of_models(names, folder)}
        asked = objects.asked(own, ignored, options.first, options.writes, count, given)
        return objects.simulate(asked, names, sizes)
    refuse_of_objects(ignored)
    ids = known(names, turns=True)
    caches = taking_turns(ids, folder, options)
    bench = _bench(own, options, sizes, of_models(names, folder))
    if bench.sample is not None:
        for one in ids:
            engine.check_sampled(one)
    check_sizes(bench, ids, sizes)
    rows = [_row(bench, own, bench.size(one), options.decision_us, caches) for own in ids for one in sizes]
    name = bench.runs.meta.trace_id
    title = f"{', '.join(ids)} on {name}"
    values = {"trace": name, "policies": ids, "runs": rows, **turns_values(caches)}
    return Result(title, values, rows, turns_words(caches), bench, lambda path: _drawn(rows, title, path))


def compare(
    trace: Any,  # noqa: ANN401 - as of `read`
    policy: Any = (),  # noqa: ANN401 - as of `simulate`
    size: Several = "10%",
    *,
    all_classics: bool = False,
    bundle: Path | str | Sequence[Path | str] = (),
    models: Path | str | None = None,
    count: str = "half",
    writes: str = "back",
    unit: str = "page",
    device: str | None = None,
    decision_us: float = 0.0,
    page_size: str = "4KiB",
    first: int | None = None,
    sample: str | float = "auto",
    ignore: str | None = None,
) -> Result:
    """Run policies and bundles side by side, with the optimum: `cachezoo compare`.

    Args:
        trace: a trace, or what `read` takes.
        policy: as of `simulate`; by default every classic.
        size: as of `simulate`.
        all_classics: run every classic beside each policy that is given.
        bundle: folders of caching or reuse bundles.
        models: as of `simulate`.
        count: as of `simulate`, like the next three.
        writes: what a write does.
        unit: what one admission decision covers.
        device: a device profile.
        decision_us: time of a bundle's decision in µs.
        page_size: as of `simulate`, like the next three.
        first: so many requests alone.
        sample: how much of it is simulated.
        ignore: of a trace of objects.

    Returns:
        A row for each run, best first at each size, with its gap to the best classic.

    Raises:
        ConfigError: as `simulate`, or a bundle with other writes than back or another unit than a page.
        BundleError: a damaged bundle, or one that decides nothing in a page cache.
    """
    given, sizes, every = policies(policy), _sizes(size), switch(all_classics, "all_classics")
    folders, folder = paths(bundle, "bundle"), None if models is None else path(models, "models")
    ignored = with_commas_or_none(ignore, "ignore")
    options = _options(count, writes, unit, device, decision_us, page_size, first, sample)
    if folders:
        refuse_options(options, "a bundle's", "--bundle")
    own = opened(trace, options.sample, options.page_bytes, options.first)
    if isinstance(own, ObjectTrace):
        bundled = {**of_pages(options), "--bundle": bool(folders), **of_models(given, folder)}
        asked = objects.asked(own, ignored, options.first, options.writes, count, bundled)
        return objects.compare(asked, given, every, sizes)
    refuse_of_objects(ignored)
    ids = known(given, turns=True)
    caches = taking_turns(ids, folder, options)
    bench = _bench(own, options, sizes, {"--bundle": bool(folders), **of_models(given, folder)})
    names = names_of([name for name in ids if name not in caches], every or not ids)
    check_sizes(bench, names, sizes)
    deciding: list[ModelCache] = [*(BundleCache(load(own)) for own in folders), *caches.values()]
    found = compared(
        bench, deciding, sizes, options.decision_us,
        lambda: [bench.run(name, bench.size(one)) for name in names for one in sizes],
    )  # fmt: skip
    outside = {name: chosen for own in found.outside for name, chosen in own.items()}
    runs, shown = found.runs, found.rows
    name = bench.runs.meta.trace_id
    best = dict.fromkeys(run["best_classic"] for run in runs if run["best_classic"] is not None)
    says = [f"best classic with defaults: {', '.join(best)}"] if best else []
    says += [*(calibration_words(name, outside[name]) for name in sorted(outside)), *turns_words(caches)]
    values = {"trace_id": name, "runs": runs, **turns_values(caches)}
    title = f"{len(names) + len(deciding)} caches on {name}"
    return Result(title, values, shown, says, bench, lambda path: _drawn(shown, title, path))


def curve(
    trace: Any,  # noqa: ANN401 - as of `read`
    policy: Any = (),  # noqa: ANN401 - as of `simulate`
    size: Several = (),
    *,
    points: int = 24,
    sample: str = "auto",
    count: str = "half",
    page_size: str = "4KiB",
    first: int | None = None,
    ignore: str | None = None,
) -> Result:
    """Page hit ratio over the size of the cache, or object and byte hit ratio of objects: `cachezoo curve`.

    Args:
        trace: a trace, or what `read` takes.
        policy: as of `simulate`, without prefetch; by default LRU and, of pages, the optimum.
        size: as of `simulate`; by default as many as `points`, from a thousandth of the pages to all.
        points: how many sizes.
        sample: `auto`, `exact`, or the part of the pages to simulate, such as `0.01`.
        count: as of `simulate`, like the next three.
        page_size: of a page of the cache.
        first: so many requests alone.
        ignore: of a trace of objects.

    Returns:
        A row for each policy and size; an estimate has `error_90`, half its 90 % interval.

    Raises:
        ConfigError: as `simulate`, or a policy that has no curve.
    """
    given, sample, page = policies(policy), str(sample), page_bytes(text(page_size, "page_size"))
    rate = sample_rate(sample)
    typed = sizes_of(texts(size, "size"), "") if size else []
    points, rule = whole_in_range(points, "points"), Count(text(count, "count"))
    first = None if first is None else whole_in_range(first, "first")
    ignored = with_commas_or_none(ignore, "ignore")
    source = opened(trace, part_of(sample, first=first), page, first, requests=False, unread=rate is None)
    if isinstance(source, ObjectTrace):
        sampled = {"--page-size": page != PAGE_BYTES, "--sample": rate is not None}
        asked = objects.asked(source, ignored, first, count=count, of_pages=sampled)
        return objects.curve(asked, given, points, typed)
    refuse_of_objects(ignored)
    ids, own = known(given or ["lru", OPTIMUM]), engine.taken(source, first) if isinstance(source, Trace) else source
    found, accesses, rows, name = measured(own, ids, typed, points, page, sample, rule)
    values = {"trace": name, "page_accesses": accesses, "rows": rows}
    return Result(f"{name}: page hit ratio", values, rows, found=found, draw=lambda path: _drawn(rows, name, path))


@renamed(by="hits")
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
    hits: By = "objects",
    sample: str | float = "auto",
    ignore: str | None = None,
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
        hits: of a trace of objects: which hits to maximise, those of `objects` (requests for them) or of `bytes`.
        sample: as of `simulate`; `exact` takes the whole trace in memory.
        ignore: as of `simulate`.

    Returns:
        A row for each size; `says` is the answer, `values["policy"]` and `values["capacity_bytes"]` what to run.

    Raises:
        ConfigError: an aim that cannot be, or a folder that is not there.
        BundleError: a damaged bundle.
    """
    one_of(hits, "hits", By)
    most, device = text_or_none(size, "size"), text_or_none(device, "device")
    aim = Aim(
        None if most is None else Size.parse(most),
        None if target_hit is None else hit_ratio(str(target_hit)),
        number(target_ms, "target_ms"), device, endurance_of(text(endurance, "endurance")),
        ask_models=switch(ask_models, "ask_models"), sample=str(sample),
    )  # fmt: skip
    profile, ignored = models_of(device), with_commas_or_none(ignore, "ignore")
    folder = bundles_folder(None if models is None else path(models, "models")) if ask_models else None
    read_in = in_memory(trace, part_of(aim.sample))
    name, piped = named(trace, read_in)
    if isinstance(read_in, ObjectTrace):
        aims_of_pages = {
            "--target-ms": target_ms is not None, "--device": device is not None, "--models": models is not None,
            "--endurance": aim.endurance_tb != DEFAULT_ENDURANCE_TB, "--sample": aim.sample not in ("auto", "exact"),
        }  # fmt: skip
        asked = objects.asked(read_in, ignored, of_pages=aims_of_pages)
        return objects.recommend(asked, ObjectAim(hits, aim.budget, aim.hit), name, piped=piped)
    refuse_of_objects(ignored, hits)
    found = recommended(name, read_in, profile, replace(aim, piped=piped), folder, classify=True)
    values = values_of(found)
    says = [f"{line.label}: {' '.join([*line.texts, *line.commands])}" for line in lines(found)]

    def draw(path: Path) -> None:
        Picture(drawn_curve(found).svg).save(path)

    return Result(f"Which cache for {name}?", values, values["sizes"], says, found, draw)

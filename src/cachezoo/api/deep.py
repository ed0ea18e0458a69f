"""The deep answers from Python: `flash`, `wear`, `size` and `share`, as `cachezoo recommend --only` gives them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cachezoo.api import objects
from cachezoo.api.given import number, one_of, path, paths, renamed, switch, text, text_or_none, texts
from cachezoo.api.given import with_commas as listed
from cachezoo.api.given import with_commas_or_none as listed_or_none
from cachezoo.api.pages import Several, named
from cachezoo.api.reading import files_of, in_memory, read
from cachezoo.api.results import Result
from cachezoo.cli.flash import (
    geometry_given,
    modes_of,
    of_whole,
    policies_of,
    refuse_beside_try,
    refuse_unbundled,
)
from cachezoo.cli.objects import refuse_of_objects
from cachezoo.cli.options import floors, in_range, sizes, whole_in_range, write_rates
from cachezoo.cli.options import victims as victims_of
from cachezoo.cli.runs import part_of, refuse_of_samples
from cachezoo.cli.share import DEFAULT_BY, ApartOption, column_of
from cachezoo.cli.size import options_of as size_options
from cachezoo.cli.size import prices_of
from cachezoo.cli.terms import terms_of
from cachezoo.cli.wear import SEED, dictionary_of, drive_of
from cachezoo.cli.wear import options_of as wear_options
from cachezoo.contest.counting import Count
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.devices.profile import load_models
from cachezoo.errors import ConfigError
from cachezoo.questions.flash.fitness import try_model
from cachezoo.questions.flash.model import FlashModel, decide, geometry_of, open_bundles
from cachezoo.questions.flash.options import MODELLED, RIVALS, FlashOptions, disk_given, geometry_by_reads
from cachezoo.questions.flash.plot import draw_flash
from cachezoo.questions.flash.sampled import geometry_of_sample, read_requests
from cachezoo.questions.flash.sentences import answers as flash_answers
from cachezoo.questions.flash.sentences import values_of as flash_values
from cachezoo.questions.flash.table import flash_tables
from cachezoo.questions.page.recommendation import models_of
from cachezoo.questions.share import answer as share_words
from cachezoo.questions.share.case import compare as compare_shares
from cachezoo.questions.share.mix import OrderOption, mixed
from cachezoo.questions.share.partitioners import parse, parse_several
from cachezoo.questions.share.plot import draw as draw_share
from cachezoo.questions.tiers import sentences as size_words
from cachezoo.questions.tiers.advice import advise
from cachezoo.questions.tiers.plot import draw_front
from cachezoo.questions.tiers.prices import load_prices
from cachezoo.questions.wear.long import written_by
from cachezoo.questions.wear.options import check_bundle
from cachezoo.questions.wear.table import check_room, draw_wear, wear_table
from cachezoo.questions.wear.verdict import answer as wear_answer
from cachezoo.questions.wear.verdict import values as wear_values
from cachezoo.settings.wear import Copies
from cachezoo.sizes import Size
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.read import Drawn, OpenTrace, read_together, silent
from cachezoo.traces.sampling import Part, SampledTrace
from cachezoo.traces.table import Trace


def _no_progress(done: float, note: str = "") -> None:
    del done, note


def _several(given: Any) -> list[Any]:  # noqa: ANN401 - as of `read`
    """One trace, or each of several."""
    return [*given] if isinstance(given, list | tuple) else [given]


def _traces(given: Any) -> list[Trace]:  # noqa: ANN401 - as of `read`
    """Those of addresses, in memory.

    Raises:
        TraceError: one is of objects.
    """
    return [objects.addressed(read(own), each_access=False) for own in _several(given)]


def _together(given: Any, part: Part, apart: ApartOption) -> list[Trace] | list[Drawn]:  # noqa: ANN401 - as of `read`
    """Applications' traces whole, or samples of them; what is in memory is sampled at a rate, or with long files."""
    found = list[OpenTrace | Trace]()
    for own in _several(given):
        files = files_of(own)
        found.append(objects.addressed(read(own)) if files is None else OpenTrace(files, silent))
    in_memory = all(isinstance(own, Trace) for own in found)
    return read_together(found, "exact" if in_memory and part == "auto" else part, column_of(apart, len(found)))


def flash(
    trace: Any,  # noqa: ANN401 - as of `read`
    policy: Several | None = None,
    *,
    bundle: Path | str | Sequence[Path | str] = (),
    write_rate: Several = "25%",
    prefetch: Several | None = None,
    size: Several = "10%",
    segment: str | None = None,
    block: str | None = None,
    count: str = "half",
    disk: str | None = None,
    seek_ms: float | None = None,
    disk_mib_s: float | None = None,
    rated_dwpd: float = 1.0,
    prices: str | None = None,
    most_busy: float = 0.7,
    try_it: bool = False,
    ignore: str | None = None,
    sample: str | float = "auto",
) -> Result:
    """Baleen's flash cache before hard disks: `cachezoo recommend --only flash`.

    Args:
        trace: a trace, or what `cachezoo.read` takes.
        policy: of accept_all, coin_flip, rejectx, baleen, opt; on objects by_size; with commas; by default all.
        bundle: folders of admission bundles.
        write_rate: what the SSD may be written at most: `10,20MB/s`, `500GiB/day`, `25%`.
        prefetch: modes with commas.
        size: of the cache: `64GiB`, or `10%` of the trace's distinct segments; with commas.
        segment: what is cached at a time, such as `4KiB`.
        block: what is prefetched at most, such as `256KiB`.
        count: as of `cachezoo.simulate`.
        disk: `wdredpro2tb`, a model of that disk, or `baleen`, the next two; by default the model.
        seek_ms: of a disk's I/O, by constants; Baleen's is 11.5.
        disk_mib_s: MiB a second that a disk transfers; Baleen's is 143.
        rated_dwpd: drive writes a day that the SSD is rated for over five years.
        prices: a YAML file, or a name in conf/prices, for the cost of a year.
        most_busy: share of a disk's time that may be taken at the peak.
        try_it: train a model on the trace's first day, and say by the rest whether it pays; `--try`.
        ignore: as of `cachezoo.simulate`, of a trace of objects: deletes, ttl.
        sample: as of `cachezoo.recommend`.

    Returns:
        A row for each size, policy, prefetch and rate; with `try_it` for each size, rate and policy.

    Raises:
        ConfigError, BundleError, TraceError: as the command says.
    """
    given = geometry_given(text_or_none(segment, "segment"), text_or_none(block, "block"))
    cost, behind = disk_given(
        text_or_none(disk, "disk"), None if seek_ms is None else in_range(seek_ms, "seek_ms"),
        None if disk_mib_s is None else in_range(disk_mib_s, "disk_mib_s"),
    )  # fmt: skip
    folders, ignored = paths(bundle, "bundle"), listed_or_none(ignore, "ignore")
    if switch(try_it, "try_it"):
        refuse_beside_try({"policy": policy is not None, "bundle": bool(folders), "prefetch": prefetch is not None})
    options = FlashOptions(
        sizes=sizes(texts(size, "size", least=1), ""), rates=write_rates(listed(write_rate, "write_rate")),
        policies=policies_of(listed_or_none(policy, "policy"), bool(folders)),
        rivals=RIVALS if policy is None else (),
        prefetch=modes_of(listed_or_none(prefetch, "prefetch")), count=Count(text(count, "count")),
        cost=cost, disk=behind, rated_dwpd=in_range(rated_dwpd, "rated_dwpd"),
        prices=load_prices(text_or_none(prices, "prices")), most_busy=in_range(most_busy, "most_busy"),
    )  # fmt: skip
    opened = open_bundles(folders)
    geometry, part = geometry_of(opened, given), part_of(str(sample))
    own = read_requests(files_of(trace) or read(trace), part, geometry)
    if isinstance(own, ObjectTrace):
        of_pages = {
            "--bundle": bool(folders), "--prefetch": prefetch is not None, "--segment": segment is not None,
            "--block": block is not None, "--disk": behind == disk == MODELLED, "--count": options.count != Count(),
            "--try": try_it, "--sample": not isinstance(part, str),
        }  # fmt: skip
        return objects.flash(objects.asked(own, ignored, of_pages=of_pages), options, policy is not None)
    refuse_of_objects(ignored)
    refuse_unbundled(options, bool(folders))
    models = list[FlashModel]()
    if isinstance(own, SampledTrace):
        refuse_of_samples(of_whole(options, bool(folders), try_it))
        geometry = geometry_of_sample(own)
    else:
        geometry = geometry or geometry_by_reads(own)
        if try_it:
            trial = try_model(own, geometry, options)
            values = trial.values(own.meta.trace_id)
            rows = [row for one in values["trials"] for row in one["rows"]]
            return Result(f"{own.meta.trace_id}, after its first day", values, rows, trial.answers(), trial)
        models = [decide(one, own) for one in opened]
    found = flash_tables(own, geometry, models, options, SEED, _no_progress)
    name = found[0].trace_id
    values, says = flash_values(name, found, models), flash_answers(found, options)
    title = f"{name}: a flash cache before hard disks"
    return Result(title, values, values["rows"], says, found, lambda path: draw_flash(found, name, path))


@renamed(by="placement")
def wear(
    trace: Any,  # noqa: ANN401 - as of `read`
    placement: Several = "legacy,equal,fios,autostream,sepbit,lifetime,oracle",
    *,
    streams: str | int | Sequence[int] = "1,4,16",
    op: str | float | Sequence[str | float] = "11%",
    cycles: int | None = None,
    bundle: Path | str | None = None,
    ssd: str | None = None,
    endurance: int = 3000,
    victim: Several = "greedy,cost-benefit",
    copies: Copies = "keep",
    unit: str = "512KiB",
    trims: bool = True,
    free: int = 8,
) -> Result:
    """What a flash drive writes and erases for a trace's writes: `cachezoo recommend --only wear`.

    Args:
        trace: a trace, or what `cachezoo.read` takes; a list of them are successive cycles of one drive.
        placement: placements with commas.
        streams: numbers of streams, with commas.
        op: shares of flash without an address, with commas.
        cycles: parts that one trace is cut into; the last counts.
        bundle: folder of a streams bundle, as a further placement.
        ssd: the drive, such as `10GiB`; by default as large as what is written.
        endurance: erases that a block endures.
        victim: which block the drive erases, with commas.
        copies: where the drive copies valid pages to: keep, shared or apart.
        unit: what is erased at once, such as `512KiB`.
        trims: whether the drive heeds discards.
        free: blocks that the drive keeps free.

    Returns:
        A row for each placement; `says` is the answer.

    Raises:
        ConfigError, BundleError, TraceError: as the command says.
    """
    one_of(copies, "copies", Copies)
    cycles = None if cycles is None else whole_in_range(cycles, "cycles")
    options = wear_options(
        listed(placement, "placement"), listed(streams, "streams"), listed(op, "op"),
        whole_in_range(endurance, "endurance"), text_or_none(ssd, "ssd"), bundle is not None,
    )  # fmt: skip
    drive = drive_of(options.drive, text(unit, "unit"), whole_in_range(free, "free"), copies)
    drive = drive.model_copy(update={"trims": switch(trims, "trims")})
    options = replace(options, victims=victims_of(listed(victim, "victim")), drive=drive)
    learned = None if bundle is None else dictionary_of(path(bundle, "bundle"))
    given = [files_of(one) or objects.addressed(read(one)) for one in _several(trace)]
    own = written_by(given, options, cycles)
    names = own.traces
    if learned is not None:
        check_bundle([*own.writes.volumes], ", ".join(names))
    check_room(own.writes, own.options, ", ".join(names), learned, larger=", or a larger ssd")
    found = wear_table(own.writes, own.cycles, own.options, _no_progress, learned)
    found = replace(found, notes=(*own.notes, *found.notes))
    values = {"trace": names, **wear_values(found)}
    says = [wear_answer(found), *found.notes]
    title = f"{' '.join(names)}: wear by placement"
    return Result(title, values, values["rows"], says, found, lambda path: draw_wear(found, names[-1], path))


@renamed(by="hierarchy")
def size(
    trace: Any,  # noqa: ANN401 - as of `read`
    spend: str | None = None,
    *,
    target_ms: float | None = None,
    target_hit: str | float | None = None,
    prices: str | None = None,
    lifetime: str = "5y",
    endurance: str | None = None,
    parts: bool = False,
    working_set: str | None = None,
    hierarchy: Several | None = None,
    device: str | None = None,
    workers: int = 1,
    sample: str | float = "auto",
) -> Result:
    """How much RAM and how much SSD to buy, by money a month: `cachezoo recommend --only ram-ssd`.

    Args:
        trace: a trace, or what `cachezoo.read` takes.
        spend: the most for RAM and SSD: `20/month`, or `500` to buy.
        target_ms: the mean time of a page read to reach, in ms.
        target_hit: part of reads for RAM and SSD to serve: `80%` or 0.8.
        prices: a YAML file, or a name in conf/prices; by default the list built in.
        lifetime: that what is bought has to serve: `5y`, `36months`.
        endurance: of the SSD: a class of the prices, `1DWPD`, or `600TBW`.
        parts: sizes to the byte, of modules and drives that are there anyway.
        working_set: what the pages of the trace stand for, such as `2TiB`.
        hierarchy: hierarchies with commas that may be bought.
        device: a device profile for times; by default the one built in.
        workers: processes, of a long trace.
        sample: as of `cachezoo.recommend`.

    Returns:
        A row for each sum; `says` is the advice and its reasons.

    Raises:
        ConfigError, TraceError: as the command says.
    """
    hit, device = None if target_hit is None else str(target_hit), text_or_none(device, "device")
    workers, listed_prices = whole_in_range(workers, "workers"), text_or_none(prices, "prices")
    options = replace(
        size_options(
            text_or_none(spend, "spend"), number(target_ms, "target_ms"), hit,
            text_or_none(working_set, "working_set"), listed_or_none(hierarchy, "hierarchy"), device,
        ),
        **terms_of(text(lifetime, "lifetime"), text_or_none(endurance, "endurance"), switch(parts, "parts")),
    )  # fmt: skip
    sets = prices_of(listed_prices, {})
    if len(sets) > 1:
        raise ConfigError(f"prices {prices}: give one name; compare answers of several")
    ((listed, one),) = sets.items()
    own = in_memory(trace, part_of(str(sample)), keyed=False)
    assert not isinstance(own, ObjectTrace)
    name, piped = named(trace, own)
    options = replace(options, prices=listed, piped=piped, sample=str(sample))
    found = advise(name, own, models_of(device), one, options, workers=workers)
    values = size_words.values(found)
    says = [size_words.headline(found), *size_words.lines(found)]
    title = f"{name}: what each sum buys"
    return Result(title, values, values["rows"], says, found, lambda path: draw_front(found, path))


@renamed(by="partitioner")
def share(
    traces: Any,  # noqa: ANN401 - as of `read`
    size: str = "10%",
    *,
    partitioner: Several | None = None,
    now: str = "shared",
    floor: Several = (),
    fragment: int = 256,
    order: OrderOption = "auto",
    apart: ApartOption = "auto",
    names: Several = (),
    count: Several = "half",
    device: str | None = None,
    sample: str | float = "auto",
) -> Result:
    """One cache for several applications: `cachezoo recommend --only share`.

    Args:
        traces: a list of traces, or of what `cachezoo.read` takes, one an application; or one mixture.
        size: `64MiB`, `10%` of the distinct pages of all applications, or `4096p`.
        partitioner: partitioners with commas; by default all that can have so small a cache.
        now: what runs today.
        floor: `web=64MiB`, `web=10%` or `web=hits:60%`; or several.
        fragment: pages that are given out together.
        order: lockstep, clock, or auto.
        apart: what makes an application of one trace: source, volume or auto.
        names: of the applications.
        count: as of `cachezoo.simulate`; several with commas are of each application's own.
        device: a device profile for page times; by default the one built in.
        sample: as of `cachezoo.recommend`; samples of all are at one rate.

    Returns:
        A row for each partitioner; `says` is the answer.

    Raises:
        ConfigError, TraceError: as the command says.
    """
    one_of(order, "order", OrderOption)
    one_of(apart, "apart", ApartOption)
    partitioners = listed_or_none(partitioner, "partitioner") or DEFAULT_BY
    candidates = parse_several(partitioners, whole_in_range(fragment, "fragment"))
    cache, current, counted = Size.parse(text(size, "size")), text(now, "now"), listed(count, "count")
    called = [name.strip() for name in names.split(",")] if isinstance(names, str) and names else texts(names, "names")
    least = texts(floor, "floor")
    profile = text_or_none(device, "device")
    models = BUILT_IN if profile is None else load_models(profile)
    given = _together(traces, part_of(str(sample)), apart)
    mix = mixed(given, order, None if apart == "auto" else apart, tuple(called))
    pages = cache.pages(mix.n_pages)
    found = compare_shares(
        mix, candidates, pages, counted, models.hdd, _no_progress, must_fit=partitioner is not None,
        now=parse(current, candidates[0].fragment), floors=floors(least, mix.names, pages),
    )  # fmt: skip
    values, title = share_words.values(found), share_words.title(found)
    says = [share_words.answer(found), *mix.remarks, *found.fitted, *found.left_out]
    return Result(title, values, values["rows"], says, found, lambda path: draw_share(found, title, path))

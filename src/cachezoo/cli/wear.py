"""What a trace's writes do to flash: `cachezoo recommend --only wear`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cachezoo.cli.common import AllFiles, Json, TableFiles, hand_out, outputs, shows
from cachezoo.cli.options import RANGES, in_bytes, over_provisioning, stream_counts, victims
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, given_files
from cachezoo.cli.runs import Policies, TracePath, known
from cachezoo.errors import ConfigError
from cachezoo.remote import located
from cachezoo.show.output import print_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cachezoo.questions.wear.cache import CacheWrites
    from cachezoo.questions.wear.options import WearOptions
    from cachezoo.questions.wear.table import WearRow, WearTable
    from cachezoo.settings.wear import Copies, Drive
    from cachezoo.zoo.streams.dictionary import Dictionary

app = typer.Typer()
SEED = 0
Shares = Annotated[str, typer.Option("--op", metavar="SHARE,…", help="Over-provisioning.")]
EXPLAINED = "recommend --only wear"  # in whose help these options are
Streams = Annotated[str, typer.Option(metavar="N,…", help="Numbers of streams.", rich_help_panel=EXPLAINED)]
Cycles = Annotated[
    int | None,
    typer.Option(
        min=RANGES["cycles"].least,
        max=RANGES["cycles"].most,
        metavar="N",
        help="Cycles of one trace; default 3.",
        rich_help_panel=EXPLAINED,
    ),
]
Endurance = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=RANGES["endurance"].least,
        max=RANGES["endurance"].most,
        help="Erases per block.",
        rich_help_panel=EXPLAINED,
    ),
]
COLUMNS = [
    "placement",
    "OP",
    "victim",
    "WAF",
    "90 %",
    "fewer flash writes",
    "erases",
    "of a block",
    "drive writes",
    "streams",
]
CACHE_COLUMNS = [
    "policy",
    "OP",
    "hit ratio",
    "pages written",
    "WAF",
    "erases",
    "drive writes",
    "placement",
    "of a block",
]


@app.command(
    cls=shows(
        "recommend --only wear trace.parquet -o wear.svg", "recommend --only wear mon.parquet tue.parquet --streams 8"
    )
)
def wear(
    trace: Annotated[
        list[Path],
        typer.Argument(metavar="TRACE…", parser=located, help="One, to be cut into cycles, or one for each cycle."),
    ],
    placement: Annotated[
        str,
        typer.Option(metavar="PLACEMENT,…", help="See docs/wear.md; fios:FC uses the named features of FIOS."),
    ] = "legacy,equal,fios,autostream,sepbit,lifetime,oracle",
    streams: Streams = "1,4,16",
    op: Shares = "11%",
    cycles: Cycles = None,
    bundle: Annotated[Path | None, typer.Option(metavar="BUNDLE", help="Streams bundle, as another placement.")] = None,
    ssd: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Capacity, at most 1TiB; default what is written."),
    ] = None,
    endurance: Endurance = 3000,
    victim: Annotated[
        str,
        typer.Option(
            metavar="VICTIM,…",
            help="Blocks to erase: greedy, wear, cost-benefit, cost-age-times, d-choices, windowed, fifo.",
        ),
    ] = "greedy,cost-benefit",
    copies: Annotated[
        Literal["keep", "shared", "apart"],
        typer.Option(
            help="Valid pages move to their stream's block (keep), one for all streams (shared: FDP initially "
            "isolated) or one for each (apart: persistently isolated)."
        ),
    ] = "keep",
    unit: Annotated[str, typer.Option(metavar="SIZE", help="Erase block or reclaim unit, at most 1GiB.")] = "512KiB",
    trims: Annotated[
        bool,
        typer.Option(help="Discarded pages become garbage."),
    ] = True,
    free: Annotated[
        int,
        typer.Option(metavar="N", min=RANGES["free"].least, max=RANGES["free"].most, help="Blocks kept free."),
    ] = 8,
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Predict flash writes and erases of a drive, with and without streams.

    The drive is filled once and replays all cycles; the last one counts. Models learn on one cycle for the next.
    """
    from cachezoo.console import progress
    from cachezoo.questions.wear.long import written_by
    from cachezoo.questions.wear.options import check_bundle
    from cachezoo.questions.wear.table import check_room, count_rows, wear_table
    from cachezoo.questions.wear.verdict import values

    files = outputs(output, ("plot", "csv", "json"), trace)
    options = options_of(placement, streams, op, endurance, ssd, bundle is not None)
    drive = drive_of(options.drive, unit, free, copies).model_copy(update={"trims": trims})
    options = replace(options, victims=victims(victim), drive=drive)
    learned = None if bundle is None else dictionary_of(bundle)
    names = [path.name for path in trace]
    given = [given_files([path], fmt, option, columns, ask=not as_json) for path in trace]
    with progress(f"reading {names[-1]}", 1.0) as advance:
        own = written_by(given, options, cycles, advance)
    if learned is not None:
        check_bundle([*own.writes.volumes], ", ".join(names))
    check_room(own.writes, own.options, ", ".join(names), learned, larger=", or a larger --ssd")
    with progress(f"wear of {names[-1]}", count_rows(own.options)) as advance:
        found = wear_table(own.writes, own.cycles, own.options, advance, learned)
    found = replace(found, notes=(*own.notes, *found.notes))
    if "plot" in files:
        from cachezoo.questions.wear.table import draw_wear

        draw_wear(found, names[-1], files["plot"])
    answer = {"trace": names, **values(found)}
    if hand_out(answer, as_json, files, answer["rows"]):
        return
    _print(found, " ".join(names))


def drive_of(drive: "Drive", unit: str, free: int, copies: "Copies") -> "Drive":
    """A drive with another erase unit and other copies.

    Raises:
        ConfigError: a unit that cannot be.
    """
    from cachezoo.questions.wear.options import LEAST_UNIT, MOST_UNIT

    size = in_bytes(unit, "--unit", LEAST_UNIT, MOST_UNIT, "512KiB")
    if size % drive.page_bytes:
        raise ConfigError(f"--unit {unit}: give a multiple of a flash page of {drive.page_bytes} bytes")
    own = {"pages_per_block": size // drive.page_bytes, "gc_free_blocks": free, "copies": copies}
    return drive.model_copy(update=own)


def options_of(
    placement: str, streams: str, op: str, endurance: int, ssd: str | None = None, bundle: bool = False
) -> "WearOptions":
    """What the options say.

    Raises:
        ConfigError: one says what cannot be.
    """
    from cachezoo.questions.wear.options import MOST_BYTES, WearOptions, parse_by
    from cachezoo.settings.wear import Drive
    from cachezoo.sizes import PAGE_BYTES

    return WearOptions(
        by=parse_by(placement, bundle),
        streams=stream_counts(streams),
        over_provisioning=over_provisioning(op),
        drive=Drive(
            capacity_bytes=None if ssd is None else in_bytes(ssd, "--ssd", PAGE_BYTES, MOST_BYTES), cycles=endurance
        ),
        seed=SEED,
    )


@app.command(
    "cache-wear",
    cls=shows("recommend --only cache-wear trace.parquet --policy lru --policy rejectx --size 30%"),
)
def cache_wear(
    trace: TracePath,
    policy: Policies = None,
    size: Annotated[str, typer.Option(metavar="SIZE", help="64MiB, 10% (of distinct pages) or 4096p.")] = "10%",
    placement: Annotated[
        str, typer.Option(metavar="PLACEMENT,…", help="Those without training; see docs/wear.md.")
    ] = "legacy",
    streams: Streams = "1,4,16",
    op: Shares = "7%,11%,28%",
    cycles: Cycles = None,
    endurance: Endurance = 3000,
    output: TableFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Predict SSD writes and erases of a page cache.

    The SSD is as large as the cache; a page takes the slot of the evicted one.
    """
    from cachezoo.console import progress
    from cachezoo.policies.long import LongSimulator
    from cachezoo.policies.simulate import Simulator
    from cachezoo.questions.wear.cache import cache_tables, check_cache, page_cache_writes
    from cachezoo.questions.wear.options import USUAL_CYCLES
    from cachezoo.questions.wear.table import count_rows
    from cachezoo.questions.wear.verdict import values
    from cachezoo.sizes import Size, human_pages
    from cachezoo.traces.long import LongTrace, is_long
    from cachezoo.traces.pages import expand_pages
    from cachezoo.traces.read import read_files

    options = options_of(placement, streams, op, endurance)
    check_cache(options)
    ids, cache_size = known(policy or ["lru"]), Size.parse(size)
    files = outputs(output, ("csv", "json"), [trace])
    given = given_files([trace], fmt, option, columns, ask=not as_json)
    simulator: Simulator | LongSimulator
    if is_long(given):
        with progress(f"reading {trace.name}", 1.0) as advance:
            simulator = LongSimulator(LongTrace(given), advance=advance)
    else:
        own = read_files(given, replay=True)
        simulator = Simulator(own, expand_pages(own))
    pages = cache_size.pages(simulator.n_pages)
    caches = [page_cache_writes(simulator, name, pages, cycles or USUAL_CYCLES) for name in ids]
    with progress(f"wear of caches on {trace.name}", len(ids) * count_rows(options)) as advance:
        tables = cache_tables(caches, pages, options, advance)
    runs = [
        {"policy": cache.policy, "hit_ratio": cache.hit_ratio, **values(table)}
        for cache, table in zip(caches, tables, strict=True)
    ]
    rows = [{"policy": run["policy"], "hit_ratio": run["hit_ratio"], **row} for run in runs for row in run["rows"]]
    if hand_out({"trace": trace.name, "capacity": pages, "runs": runs}, as_json, files, rows):
        return
    _print_caches(caches, tables, f"{trace.name}: a cache of {human_pages(pages)}")


def _print_caches(caches: "list[CacheWrites]", tables: "list[WearTable]", title: str) -> None:
    from cachezoo.console import out
    from cachezoo.questions.wear.verdict import cache_answer
    from cachezoo.show.formats import number, percent

    out().print(cache_answer(caches, tables), soft_wrap=True, markup=False)
    rows = [
        {
            "policy": cache.policy,
            "hit ratio": percent(cache.hit_ratio),
            "pages written": number(table.host_pages),
            **_cells(row),
        }
        for cache, table in zip(caches, tables, strict=True)
        for row in table.rows
    ]
    caption = (
        f"counted: cycle {tables[0].cycles} of {tables[0].cycles}; pages of 4 KiB; WAF: flash pages written for each "
        f"that the cache writes; drive writes until blocks have had {tables[0].endured:,} erases, if they wear evenly"
    )
    print_rows(rows, title, caption, CACHE_COLUMNS, tuple(CACHE_COLUMNS))
    for cache, table in zip(caches, tables, strict=True):
        _print_notes([f"{cache.policy}, {note}" for note in table.notes])


def dictionary_of(path: Path) -> "Dictionary":
    """The dictionary of a streams bundle.

    Raises:
        BundleError: damaged.
        ConfigError: a bundle of another kind.
    """
    from cachezoo.bundles.released import load
    from cachezoo.zoo.streams.dictionary import FILE, Dictionary

    found = load(path)
    if found.kind != "streams":
        raise ConfigError(f"{path}: a {found.kind} bundle says nothing of streams; give one of kind streams")
    if FILE not in found.files:
        raise ConfigError(
            f"{path}: it places by lifetime and has no dictionary; --placement lifetime fits one on these cycles"
        )
    return Dictionary.from_bytes(found.files[FILE], str(path))


def _print(found: "WearTable", name: str) -> None:
    from cachezoo.console import out
    from cachezoo.flash_drive.names import BOUNDS, BY_DRIVE
    from cachezoo.questions.wear.verdict import answer

    out().print(answer(found), soft_wrap=True, markup=False)
    caption = (
        f"counted: cycle {found.cycles} of {found.cycles}; victim: which block the drive erases; WAF: flash pages "
        "written for each of the host, with its interval by blocks of time; of a block: its erases since the drive was "
        "new, least / mean / most; drive writes "
        f"until blocks have had {found.endured:,} erases, if they wear evenly; streams: that writes of the host went to"
    )
    shown = dict.fromkeys(row.placement for row in found.rows)
    for names, what in (
        (BY_DRIVE, "that run inside a drive, where no host can choose them"),
        (BOUNDS, "that know the future"),
    ):
        own = [name for name in shown if name in names]
        caption += f"; {what}: {', '.join(own)}" if own else ""
    print_rows([_cells(row) for row in found.rows], f"{name}: wear by placement", caption, COLUMNS, tuple(COLUMNS))
    _print_notes(found.notes)


def _print_notes(notes: "Sequence[str]") -> None:
    """A line each, below the table."""
    from cachezoo.console import out

    for note in notes:
        out().print(note, soft_wrap=True, markup=False)


def _cells(row: "WearRow") -> dict[str, str]:
    from cachezoo.show.formats import number, percent, span

    return {
        "placement": row.shown,
        "OP": percent(row.over_provisioning, 0),
        "victim": row.victim,
        "WAF": number(row.waf, 3),
        "90 %": span(row.waf_interval, 2, 1),
        "fewer flash writes": percent(row.fewer),
        "erases": number(row.erases),
        "of a block": f"{row.erases_least} / {row.erases_mean:.1f} / {row.erases_most}",
        "drive writes": number(row.drive_writes),
        "streams": str(row.streams_used),
    }

"""`cachezoo recommend`: from a trace to a policy and a size, as a line, a table and a page."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cachezoo.cli.common import Json, hand_out, output_option, outputs
from cachezoo.cli.options import endurance, hit_ratio
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, as_typed, given_files
from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from cachezoo.questions.page.recommendation import Recommendation

app = typer.Typer()
MOST_ROWS = 9


@app.command()
def recommend(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A raw trace of any known format, or Parquet.")],
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The most cache that you would buy: 64GiB, 10% or 4096p.")
    ] = None,
    target_hit: Annotated[
        str | None, typer.Option(metavar="RATIO", help="The hit ratio to reach, such as 0.8 or 80%.")
    ] = None,
    target_ms: Annotated[float | None, typer.Option(help="The mean response time to reach, in milliseconds.")] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE", help="Disk and SSD (YAML, or a name in conf/device) that times are modelled on."
        ),
    ] = None,
    endure: Annotated[
        str, typer.Option("--endurance", metavar="TBW", help="Writes that the SSD's data sheet allows.")
    ] = "1200TBW",
    models: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Bundles of models; default models/bundles.")
    ] = None,
    no_models: Annotated[bool, typer.Option("--no-models", help="Ask no models.")] = False,
    try_model: Annotated[bool, typer.Option("--try", help="Run the zoo's page cache on the trace too; slow.")] = False,
    _only: Annotated[
        Literal["ram-ssd", "tiers", "flash", "wear", "cache-wear", "share"] | None,
        typer.Option(
            "--only",
            expose_value=False,
            help="A deep answer, with options of its own (--only NAME --help): RAM and SSD for your money; hierarchies "
            "of given sizes; a flash cache before disks; what writes do to a drive; what a page cache does to its SSD; "
            "one cache for several applications.",
        ),
    ] = None,
    _for: Annotated[
        Literal["bcache", "dm-cache", "open-cas", "zfs", "nbdkit"] | None,
        typer.Option(
            "--for",
            expose_value=False,
            help="A system that people run, with options of its own (--for NAME --help): its mode, size and settings "
            "in commands.",
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        output_option("The page (.html; default TRACE.recommend.html here) or all figures (.json); repeatable."),
    ] = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Say which policy to run and with how much cache, and why.

    Without an aim the size is the knee of the curve. The page holds the curve, what each size brings, how sure it is,
    and what was assumed. With --json a page is written only if -o names it.
    """
    from cachezoo.console import progress
    from cachezoo.io import atomic_file
    from cachezoo.questions.page.likeness import bundles_folder, page_cache
    from cachezoo.questions.page.recommendation import Options, models_of
    from cachezoo.questions.page.recommendation import recommend as run
    from cachezoo.questions.page.report import page_of, values_of
    from cachezoo.sizes import Size
    from cachezoo.traces.read import read_files

    if no_models and (models is not None or try_model):
        raise ConfigError("--no-models: leave it out beside --models or --try")
    most = Size.parse(size) if size is not None else None
    hit = hit_ratio(target_hit) if target_hit is not None else None
    options = Options(
        most, hit, target_ms, device, endurance(endure), ask_models=not no_models, piped=not trace.is_file()
    )
    profile, folder = models_of(device), None if no_models else bundles_folder(models)
    if try_model:
        page_cache(folder)  # refused before the trace is read
    usual = None if as_json or output else [Path(f"{trace.name}.recommend.html")]
    wanted = outputs(output or usual, ("page", "json"), [trace])
    page = wanted.get("page")
    files = given_files([trace], fmt, option, columns, ask=not as_json)
    options = replace(options, reading=as_typed(files.fmt, files.options))
    with progress(f"recommending for {trace.name}", 1.0) as advance:
        requests = read_files(files)
        found = run(str(trace), requests, profile, options, folder, try_model=try_model, advance=advance)
        if page is not None:
            advance(0.95, "page")
            with atomic_file(page) as temporary:
                temporary.write_text(page_of(found), encoding="utf-8", errors="replace")
    if hand_out(values_of(found), as_json, wanted):
        return
    _print(found, page)


def _print(found: "Recommendation", page: Path | None) -> None:
    from rich.text import Text

    from cachezoo.console import out
    from cachezoo.questions.page import sentences

    out().print(Text(sentences.headline(found), style="bold"))
    out().print(_table(found))
    lines = [*sentences.reasons(found), sentences.how_sure(found), *sentences.notes(found)]
    for line in (*lines, *sentences.model_words(found)):
        out().print(Text(line))
    if page is not None:
        out().print(f"page: {page}", soft_wrap=True, markup=False)
    first = f" (save what came by the pipe as {sentences.SAVED} first)" if found.options.piped else ""
    out().print(f"next{first}: {sentences.commands(found)[0]}", soft_wrap=True, markup=False)


def _table(found: "Recommendation") -> "Table":
    """What each size brings; of many sizes those about the recommended one."""
    from rich import box
    from rich.table import Table

    from cachezoo.questions.page.report import wear_cells
    from cachezoo.questions.page.sizes import shown
    from cachezoo.show.formats import number

    rows, place = found.picked.rows, found.picked.place
    first = max(0, min(place - MOST_ROWS // 2, len(rows) - MOST_ROWS))
    caption = f"hits, LRU in %; more in points; counted after {found.bench.half:,} page accesses"
    caption += "; SSD: written per GiB accessed" if found.bench.short else ""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, caption=caption)
    table.add_column("cache", no_wrap=True)
    table.add_column("policy", no_wrap=True)
    wear = ("SSD per GiB",) if found.bench.short else ("SSD a day", "lasts")
    for title in ("hits", "more", "LRU", "ms", *wear):
        table.add_column(title, justify="right", no_wrap=True)
    for k in range(first, min(first + MOST_ROWS, len(rows))):
        row, ran = rows[k], rows[k].ran
        chosen = k == place and found.picked.useful
        more = number(100 * (ran.hit_ratio - rows[k - 1].ran.hit_ratio), 1, signed=True) if k > first else ""
        table.add_row(
            ("> " if chosen else "  ") + shown(row.capacity, found.bench.pages.n_pages), ran.policy,
            number(100 * ran.hit_ratio, 1), more, number(100 * row.lru, 1), number(ran.response_us / 1e3, 2),
            *(cell.text for cell in wear_cells(row)),
            style="bold" if chosen else "",
        )  # fmt: skip
    return table

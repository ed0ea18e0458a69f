"""`cachezoo recommend`: from a trace to a policy and a size, as a line, a table and a page."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachezoo.cli.common import Json
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, as_typed, given_files
from cachezoo.cli.trace import refuse_same
from cachezoo.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from cachezoo.questions.page.recommendation import Recommendation

app = typer.Typer()
MOST_ROWS = 9
TB = {"tbw": 1.0, "pbw": 1000.0}


def endurance(text: str) -> float:
    """Terabytes written, from `600TBW` or `1.2PBW`.

    Raises:
        ConfigError: neither.
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(TBW|PBW)\s*", text, re.IGNORECASE)
    if match is None:
        raise ConfigError(f"endurance {text[:24]!r}: give the writes that the SSD's data sheet allows, such as 600TBW")
    return float(match[1]) * TB[match[2].lower()]


def hit_ratio(text: str) -> float:
    """A hit ratio, from `0.8` or `80%`.

    Raises:
        ConfigError: neither.
    """
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(%?)\s*", text)
    if match is None:
        raise ConfigError(f"target-hit {text[:24]!r}: give a hit ratio such as 0.8 or 80%")
    return float(match[1]) / (100 if match[2] else 1)


@app.command()
def recommend(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A raw trace of any known format, or Parquet.")],
    budget: Annotated[
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
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PAGE", help="The HTML page; default TRACE.recommend.html here."),
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
    from cachezoo.io import atomic_file, check_file
    from cachezoo.questions.page.likeness import bundles_folder, page_cache
    from cachezoo.questions.page.recommendation import Options, models_of
    from cachezoo.questions.page.recommendation import recommend as run
    from cachezoo.questions.page.report import page_of, values_of
    from cachezoo.sizes import Size
    from cachezoo.traces.read import read_files

    if no_models and (models is not None or try_model):
        raise ConfigError("--no-models: leave it out beside --models or --try")
    size = Size.parse(budget, "budget") if budget is not None else None
    hit = hit_ratio(target_hit) if target_hit is not None else None
    options = Options(
        size, hit, target_ms, device, endurance(endure), ask_models=not no_models, piped=not trace.is_file()
    )
    profile, folder = models_of(device), None if no_models else bundles_folder(models)
    if try_model:
        page_cache(folder)  # refused before the trace is read
    page = output or (None if as_json else Path(f"{trace.name}.recommend.html"))
    if page is not None:
        refuse_same([trace], page)
        check_file(page)
    files = given_files([trace], fmt, option, columns, ask=not as_json)
    options = replace(options, reading=as_typed(files.fmt, files.options))
    with progress(f"recommending for {trace.name}", 1.0) as advance:
        requests = read_files(files)
        found = run(str(trace), requests, profile, options, folder, try_model=try_model, advance=advance)
        if page is not None:
            advance(0.95, "page")
            with atomic_file(page) as temporary:
                temporary.write_text(page_of(found), encoding="utf-8", errors="replace")
    if as_json:
        typer.echo(json.dumps(values_of(found), allow_nan=False))
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

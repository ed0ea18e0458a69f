"""`cachezoo recommend`: from a trace to a cache that runs, in a few lines; its table, and a page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cachezoo.cli.common import Json, hand_out, output_option, outputs, shows
from cachezoo.cli.options import endurance, hit_ratio
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, as_typed, given_files
from cachezoo.cli.runs import Ignore, Sampled, TracePath, sample_of
from cachezoo.errors import ConfigError
from cachezoo.show.output import print_lines

if TYPE_CHECKING:
    from rich.table import Table

    from cachezoo.questions.page.recommendation import Recommendation

app = typer.Typer()
MOST_ROWS = 9
LABEL, LEAST_WIDTH = 11, 40


@app.command(cls=shows("recommend trace.parquet", "recommend trace.parquet --size 10% -o page.html"))
def recommend(
    trace: TracePath,
    size: Annotated[str | None, typer.Option(metavar="SIZE", help="Largest cache: 64GiB, 10% or 4096p.")] = None,
    target_hit: Annotated[str | None, typer.Option(metavar="RATIO", help="Hit ratio to reach: 0.8 or 80%.")] = None,
    target_ms: Annotated[float | None, typer.Option(metavar="MS", help="Mean response time to reach.")] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="PROFILE", help="YAML file, or name in conf/device."),
    ] = None,
    endure: Annotated[str, typer.Option("--endurance", metavar="TBW", help="Rated endurance of the SSD.")] = "1200TBW",
    models: Annotated[Path | None, typer.Option(metavar="DIR", help="Model bundles; default models/bundles.")] = None,
    no_models: Annotated[bool, typer.Option("--no-models", help="Consider no trained model.")] = False,
    more: Annotated[bool, typer.Option("--more", "-v", help="Show all sizes, reasons and assumptions.")] = False,
    _only: Annotated[
        Literal["ram-ssd", "tiers", "flash", "wear", "cache-wear", "share"] | None,
        typer.Option(
            "--only",
            expose_value=False,
            help="Another question, as cachezoo --help lists them.",
        ),
    ] = None,
    _for: Annotated[
        Literal["bcache", "dm-cache", "open-cas", "zfs", "nbdkit"] | None,
        typer.Option(
            "--for",
            expose_value=False,
            help="Configure a system; see --for NAME --help.",
        ),
    ] = None,
    hits: Annotated[
        Literal["objects", "bytes"], typer.Option(help="Maximise request or byte hits of an object trace.")
    ] = "objects",
    ignore: Ignore = None,
    sample: Sampled = "auto",
    output: Annotated[
        list[Path] | None,
        output_option("Write .html or .json; repeatable."),
    ] = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Recommend a cache policy and size for a trace.

    The page cache is write-back. Without a goal, its size is the knee of the curve. A trained model must beat the
    recommended classic on this trace.
    """
    from cachezoo.cli import objects
    from cachezoo.console import progress
    from cachezoo.devices.built_in import DEFAULT_ENDURANCE_TB
    from cachezoo.io import atomic_file
    from cachezoo.questions.objects.recommendation import Aim
    from cachezoo.questions.page.likeness import bundles_folder
    from cachezoo.questions.page.recommendation import Options, models_of
    from cachezoo.questions.page.recommendation import recommend as run
    from cachezoo.questions.page.report import page_of, values_of
    from cachezoo.sizes import Size
    from cachezoo.traces.objects import ObjectTrace

    if no_models and models is not None:
        raise ConfigError("--no-models and --models exclude each other: leave one out")
    most = Size.parse(size) if size is not None else None
    hit = hit_ratio(target_hit) if target_hit is not None else None
    options = Options(
        most,
        hit,
        target_ms,
        device,
        endurance(endure),
        ask_models=not no_models,
        piped=not trace.is_file(),
        sample=sample,
    )
    profile, folder = models_of(device), None if no_models else bundles_folder(models)
    wanted = outputs(output, ("page", "json"), [trace])
    page = wanted.get("page")
    files = given_files([trace], fmt, option, columns, ask=not as_json)
    options = replace(options, reading=as_typed(files.fmt, files.options))
    requests = sample_of(files, sample)
    if isinstance(requests, ObjectTrace):
        objects.refuse_of_pages(
            {"--target-ms": target_ms is not None, "--device": device is not None, "--models": models is not None,
             "--endurance": options.endurance_tb != DEFAULT_ENDURANCE_TB, "--sample": sample not in ("auto", "exact"),
             "--output with a page": page is not None}
        )  # fmt: skip
        asked = objects.Asked(requests, str(trace), objects.rules_of(ignore))
        return objects.recommend(asked, Aim(hits, most, hit), options.reading, wanted, as_json, more)
    objects.refuse_of_objects(ignore, hits)
    with progress(f"recommending for {trace.name}", 1.0) as advance:
        classify = more or as_json or bool(wanted)
        found = run(str(trace), requests, profile, options, folder, classify=classify, advance=advance)
        if page is not None:
            advance(0.95, "page")
            with atomic_file(page) as temporary:
                temporary.write_text(page_of(found), encoding="utf-8", errors="replace")
    if hand_out(values_of(found), as_json, wanted):
        return
    _print(found, page)
    if more:
        _print_more(found)


def _print(found: "Recommendation", page: Path | None) -> None:
    """The first answer: labels in a column of their own, commands whole."""
    from textwrap import wrap

    from rich.text import Text

    from cachezoo.console import out
    from cachezoo.questions.page.answer import Line, lines

    written = [Line("Page", [], [str(page)])] if page is not None else []
    for line in (*lines(found, timed=True), *written):
        texts = [row for text in line.texts for row in wrap(text, max(out().width - LABEL, LEAST_WIDTH))]
        for place, text in enumerate(_with_commands(texts, line.commands, out().width - LABEL)):
            label = f"{line.label if not place else '':<{LABEL}}"
            shown = Text.assemble((label, "dim"), (text, "bold" if line.label == "Answer" and not place else ""))
            out().print(shown, soft_wrap=True)


def _with_commands(texts: list[str], commands: Sequence[str], width: int) -> list[str]:
    """Rows with the commands behind the last or below it, each on one row so that it can be copied."""
    if texts and commands and len(texts[-1]) + len(commands[0]) < width:
        return [*texts[:-1], f"{texts[-1]} {commands[0]}", *commands[1:]]
    return [*texts, *commands]


def _print_more(found: "Recommendation") -> None:
    """What each size brings, and the reasons."""
    from rich.text import Text

    from cachezoo.console import out
    from cachezoo.questions.page import sentences
    from cachezoo.questions.page.answer import untold
    from cachezoo.questions.page.candidates import name_of

    out().print(_table(found))
    replaced = f"The table and what follows are of {name_of(found.row.ran.policy)}, which the learned cache replaces."
    first_line = replaced if found.taken is not None else sentences.headline(found)
    lines = [first_line, *sentences.reasons(found), *untold(found), *sentences.notes(found)]
    for line in (*lines, *sentences.model_words(found)):
        out().print(Text(line))
    first = f" (save what came by the pipe as {sentences.SAVED} first)" if found.options.piped else ""
    print_lines(*(f"again{first}: {command}" for command in sentences.commands(found)))


def _table(found: "Recommendation") -> "Table":
    """What each size brings; of many sizes those about the recommended one."""
    from rich import box
    from rich.table import Table

    from cachezoo.questions.page.report import wear_cells
    from cachezoo.questions.page.sizes import shown
    from cachezoo.show.formats import number

    rows, place = found.picked.rows, found.picked.place
    first = max(0, min(place - MOST_ROWS // 2, len(rows) - MOST_ROWS))
    caption = f"hits, LRU in %; more in points; counted after {found.bench.first:,} page accesses"
    caption += "; ±: 90 %, of an estimate from a sample" if found.bench.sample is not None else ""
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
            ("> " if chosen else "  ") + shown(row.capacity, found.bench.n_pages), ran.policy,
            _share(ran.hit_ratio, ran.error_90), more, _share(row.lru, row.lru_error), number(ran.response_us / 1e3, 2),
            *(cell.text for cell in wear_cells(row)),
            style="bold" if chosen else "",
        )  # fmt: skip
    return table


def _share(ratio: float, error: float | None) -> str:
    """A hit ratio in %, with half its 90 % interval where it is an estimate."""
    from cachezoo.show.formats import number

    return number(100 * ratio, 1) + ("" if error is None else f" ± {number(100 * error, 1)}")

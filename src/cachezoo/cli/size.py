"""`cachezoo recommend --only ram-ssd`: how much RAM and SSD to buy for a trace, and in which order."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachezoo.cli.common import AllFiles, Json, hand_out, outputs, refuse_same, shows
from cachezoo.cli.options import RANGES, hit_ratio, in_bytes, money, price
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, as_typed, given_files
from cachezoo.cli.runs import Sampled, TracePath, addressed_of
from cachezoo.cli.terms import Endurance, Lifetime, Parts, terms_of
from cachezoo.errors import ConfigError
from cachezoo.show.output import print_rows

if TYPE_CHECKING:
    from cachezoo.questions.tiers.advice import Advice
    from cachezoo.questions.tiers.options import SizeOptions
    from cachezoo.settings.prices import Prices

app = typer.Typer()


@app.command(
    cls=shows(
        "recommend --only ram-ssd trace.parquet", "recommend --only ram-ssd trace.parquet --spend 20/month -o front.png"
    )
)
def size(
    trace: TracePath,
    spend: Annotated[
        str | None,
        typer.Option(metavar="DOLLARS", help="Budget: 20/month, or 500 to buy."),
    ] = None,
    target_ms: Annotated[float | None, typer.Option(metavar="MS", help="Mean page read time to reach.")] = None,
    target_hit: Annotated[
        str | None, typer.Option(metavar="RATIO", help="Share of reads from RAM and SSD to reach: 0.8 or 80%.")
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(metavar="PRICES", help="YAML files, or names in conf/prices, to compare."),
    ] = None,
    ram_price: Annotated[str | None, typer.Option(metavar="$/GB", help="Other price of RAM.")] = None,
    ssd_price: Annotated[str | None, typer.Option(metavar="$/GB", help="Other price of SSD.")] = None,
    lifetime: Lifetime = "5y",
    endurance: Endurance = None,
    in_parts: Parts = False,
    working_set: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Scale pages, costs and times to this size, e.g. 2TiB."),
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(metavar="HIERARCHY,…", help="Candidates, as of tiers; default a list of 17."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(metavar="PROFILE", help="YAML file, or name in conf/device."),
    ] = None,
    output: AllFiles = None,
    resume: Annotated[Path | None, typer.Option(metavar="FILE", help="Save progress here, and resume from it.")] = None,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N", min=RANGES["workers"].least, max=RANGES["workers"].most, help="Processes for a long trace."
        ),
    ] = 2,
    sample: Sampled = "auto",
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Recommend how much RAM and SSD to buy, if any.

    Monthly costs include purchase, wear and power. Without a goal, the budget is the knee of time over cost.
    """
    from cachezoo.questions.page.recommendation import models_of
    from cachezoo.questions.tiers.advice import advise
    from cachezoo.questions.tiers.sentences import values

    wanted = outputs(output, ("plot", "csv", "json"), [trace])
    plot = wanted.get("plot")
    options = replace(
        options_of(spend, target_ms, target_hit, working_set, hierarchy, device),
        **terms_of(lifetime, endurance, in_parts),
    )  # fmt: skip
    own = {"--ram-price": ram_price, "--ssd-price": ssd_price}
    sets = prices_of(prices, own)
    if plot is not None and len(sets) > 1:
        raise ConfigError(f"--output {plot}: a picture is of one set of prices; give --prices one name")
    models = models_of(device)
    if resume is not None:
        _check_resume(resume, trace)
    files = given_files([trace], fmt, option, columns, ask=not as_json)
    options = replace(
        options, replaced=tuple(name for name, text in own.items() if text), piped=not trace.is_file(),
        reading=as_typed(files.fmt, files.options), sample=sample,
    )  # fmt: skip
    requests = addressed_of(files, sample)
    found = [
        advise(str(trace), requests, models, one, replace(options, prices=name), workers=workers, resume=resume)
        for name, one in sets.items()
    ]
    if plot is not None:
        from cachezoo.questions.tiers.plot import draw_front

        draw_front(found[0], plot)
    every = [values(one) for one in found]
    offers = [offer for one in every for offer in one["rows"]]
    if hand_out(every[0] if len(every) == 1 else {"by_prices": every}, as_json, wanted, offers):
        return
    for one in found:
        _print(one, plot)
    if len(found) > 1:
        _compare(found)


def options_of(
    spend: str | None,
    ms: float | None,
    hit: str | None,
    working_set: str | None,
    hierarchy: str | None,
    device: str | None,
) -> "SizeOptions":
    """What is given, checked before a trace is read."""
    from cachezoo.questions.tiers.hierarchy import parse_by
    from cachezoo.questions.tiers.options import CANDIDATES, SizeOptions

    return SizeOptions(
        CANDIDATES if hierarchy is None else tuple(parse_by(hierarchy)),
        device,
        working_set=None if working_set is None else in_bytes(working_set, "--working-set", example="2TiB"),
        budget=None if spend is None else money(spend),
        hit=None if hit is None else hit_ratio(hit),
        ms=ms,
    )


def prices_of(given: str | None, own: dict[str, str | None]) -> "dict[str | None, Prices]":
    """The price lists by the names given, None for the one built in, with what options replace in them."""
    from cachezoo.questions.tiers.prices import load_prices

    names: list[str | None] = [None] if given is None else [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise ConfigError(f"--prices: it names none in {(given or '')[:24]!r}; leave it out for the list built in")
    new = {option: price(text, option) for option, text in own.items() if text is not None}
    sets: dict[str | None, Prices] = {}
    for name in dict.fromkeys(names):
        found = load_prices(name)
        for option, own_price in new.items():
            medium = option.removeprefix("--").removesuffix("-price")
            priced = getattr(found, medium).model_copy(
                update={"usd_per_gb": own_price, "low": own_price, "high": own_price, "source": "the command line"}
            )
            found = found.model_copy(update={medium: priced})
        sets[name] = found
    return sets


def _check_resume(resume: Path, trace: Path) -> None:
    """Refuse a file that cannot be kept before the trace is read."""
    from cachezoo.io import check_file

    refuse_same([trace], resume)
    if not resume.exists():
        check_file(resume)


def _print(found: "Advice", plot: Path | None) -> None:
    from rich.text import Text

    from cachezoo.console import out
    from cachezoo.questions.page.sentences import SAVED
    from cachezoo.questions.tiers.sentences import OFFERS, command, headline, lines, offer_cells

    out().print(Text(headline(found), style="bold"))
    caption = (
        f"> marks the advice; other rows: the best for sums that double, the disk alone, and RAM for all pages; AMAT: "
        "mean time of a page read; "
        f"counted from page access {found.bench.counted_from:,} of {found.bench.accesses:,} on; a month: purchase over "
        f"{found.shop.terms.lifetime_years:g} years, wear and power; as parts: of a module and a drive that are there"
    )
    rows = [offer_cells(found, one) for one in found.rows]
    print_rows(rows, f"{found.name}: what each sum buys", caption, OFFERS, ("",))
    for line in lines(found):
        out().print(Text(line))
    if plot is not None:
        out().print(f"plot: {plot}", soft_wrap=True, markup=False)
    first = f" (save what came by the pipe as {SAVED} first)" if found.options.piped else ""
    out().print(f"next{first}: {command(found)}", soft_wrap=True, markup=False)


def _compare(found: "list[Advice]") -> None:
    """What each set of prices says to buy."""
    from cachezoo.questions.tiers.sentences import OFFERS, offer_cells

    rows = [
        {**offer_cells(one, one.answer), "prices": one.prices.name,
         "RAM : SSD": f"{one.prices.ram.usd_per_gb / one.prices.ssd.usd_per_gb:.3g}"}
        for one in found
    ]  # fmt: skip
    columns = ["prices", "RAM : SSD", *OFFERS[1:]]
    print_rows(rows, "what to buy by prices", "RAM : SSD: times that RAM is as dear", columns, tuple(columns))

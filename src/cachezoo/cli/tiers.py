"""RAM before an SSD before a disk: `cachezoo recommend --only tiers`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cachezoo.cli.common import AllFiles, Json, hand_out, outputs, shows
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, given_files
from cachezoo.cli.runs import Counted, Sampled, Speed, TracePath, addressed_of, at_speed, refuse_of_samples
from cachezoo.cli.terms import Endurance, Lifetime, Parts, terms_of
from cachezoo.errors import ConfigError
from cachezoo.show.output import print_rows

if TYPE_CHECKING:
    from cachezoo.arrays import Bool
    from cachezoo.bundles.reader import Bundle
    from cachezoo.questions.tiers.bench import Bench
    from cachezoo.questions.tiers.stream import TierStream
    from cachezoo.settings.device import AnalyticDevice, RealDevice

app = typer.Typer()
DEFAULT_BY = "hca,l2arc,lru | lru,arc | rejectx+lru,promotion: lru | rejectx+fifo,inclusive: lru | lru"


@app.command(
    cls=shows(
        "recommend --only tiers trace.parquet --ram 1% --ssd 10%",
        "recommend --only tiers trace.parquet --hierarchy 'hca,lru | lru' -o tiers.png",
    )
)
def tiers(
    trace: TracePath,
    hierarchy: Annotated[
        str,
        typer.Option(
            metavar="HIERARCHY,…",
            help="hca, l2arc, RAM, RAM | SSD, RAM | tb=64K | SSD, promotion: RAM | SSD, inclusive: RAM | SSD; RAM and "
            "SSD are policies.",
        ),
    ] = DEFAULT_BY,
    ram: Annotated[str, typer.Option(metavar="SIZE", help="64MiB, 2% (of distinct pages) or 4096p.")] = "2%",
    ssd: Annotated[str, typer.Option(metavar="SIZE", help="Likewise.")] = "20%",
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="PROFILE",
            help="YAML file, or name in conf/device; with source real, fio replays the I/Os.",
        ),
    ] = None,
    prices: Annotated[
        str | None, typer.Option("--prices", metavar="PRICES", help="YAML file, or name in conf/prices.")
    ] = None,
    lifetime: Lifetime = "5y",
    endurance: Endurance = None,
    in_parts: Parts = False,
    counted: Counted = "half",
    loop: Annotated[
        Literal["auto", "closed", "open", "alone"],
        typer.Option(
            help="closed: as many outstanding as captured; open: as traced; alone: one at a time; auto: closed if "
            "known, else alone."
        ),
    ] = "auto",
    speed: Speed = None,
    bundle: Annotated[
        Path | None,
        typer.Option(metavar="BUNDLE", help="Admission bundle, named in --hierarchy: lru | bundle+lru."),
    ] = None,
    sample: Sampled = "auto",
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Compare hierarchies of RAM, SSD and disk: speed, cost, SSD lifetime.

    All get the same RAM and SSD. RAM alone and the disk alone are ranked too.
    """
    from cachezoo.console import out
    from cachezoo.contest.counting import Count
    from cachezoo.devices.built_in import DEFAULT
    from cachezoo.questions.flash.model import open_bundles
    from cachezoo.questions.tiers.bench import Bench, compare
    from cachezoo.questions.tiers.hierarchy import parse_by
    from cachezoo.questions.tiers.options import TierOptions
    from cachezoo.questions.tiers.prices import load_prices
    from cachezoo.questions.tiers.sentences import COLUMNS, answer, caption, cells
    from cachezoo.sizes import Size
    from cachezoo.traces.sampling import SampledTrace

    files = outputs(output, ("plot", "csv", "json"), [trace])
    if speed is not None and loop != "open":
        message = f"--speed {speed:g}: requests come at times of their own in the open loop alone; give --loop open too"
        raise ConfigError(message)
    options = TierOptions(
        tuple(parse_by(hierarchy)), device, prices, ram=Size.parse(ram, "--ram"), ssd=Size.parse(ssd, "--ssd"),
        count=Count(counted), loop=None if loop == "auto" else loop, bundle=bundle,
        **terms_of(lifetime, endurance, in_parts),
    )  # fmt: skip
    opened = None if bundle is None else open_bundles([bundle])[0]
    models, paid = device_of(device), load_prices(prices)
    requests = addressed_of(given_files([trace], fmt, option, columns, ask=not as_json), sample)
    if isinstance(requests, SampledTrace):
        refuse_of_samples({"--bundle": bundle is not None, "--speed": speed is not None})
    else:
        requests = at_speed(requests, speed)
    bench = Bench.of_trace(
        trace.name, requests, models, paid, count=options.count, fill=options.ram, loop=options.loop
    )  # fmt: skip
    ram_pages, ssd_pages = options.pages(bench.footprint)
    if opened is not None:
        bench = replace(bench, decisions=_decisions(opened, bench.ts))
    found = compare(bench, options.hierarchies, ram_pages, ssd_pages, options.terms)
    title, profile = _title(bench, ram_pages, ssd_pages), Path(device).stem if device else DEFAULT
    if "plot" in files:
        from cachezoo.questions.tiers.plot import draw_comparison

        draw_comparison(found, title, files["plot"])
    if as_json or files:
        about = {"trace": trace.name, "first": bench.counted_from, "page_accesses": bench.accesses,
                 "ram_pages": ram_pages, "ssd_pages": ssd_pages, "disk_pages": bench.ts.span_pages, "loop": bench.loop,
                 "stretched": bench.stretched,
                 "device": profile, "prices": paid.model_dump(mode="json")}  # fmt: skip
        about |= {} if bench.sample is None else {"trace_sampled": bench.rate}
        rows = found.values()
        if hand_out({**about, "rows": rows}, as_json, files, rows):
            return
    out().print(answer(found), soft_wrap=True, markup=False)
    print_rows([cells(row, found) for row in found.rows], title, caption(found, profile), COLUMNS, tuple(COLUMNS))


def _decisions(opened: "Bundle", ts: "TierStream") -> "Bool":
    """bool[n]: whether each request's pages are admitted, by the threshold that the bundle was shipped with."""
    from cachezoo.cli.flash import warn_of_drift
    from cachezoo.flash_cache.modes import NONE
    from cachezoo.questions.flash.model import decide

    model = decide(opened, ts.trace)
    warn_of_drift(model)
    admits: Bool = model.scores >= model.thresholds[NONE]
    return admits


def device_of(given: str | None) -> "AnalyticDevice | RealDevice":
    """The models of a profile, or its real devices; the built-in models where none is given.

    Raises:
        ConfigError: no such profile.
    """
    from cachezoo.devices.profile import load_device
    from cachezoo.questions.page.recommendation import models_of
    from cachezoo.settings.device import RealDevice

    if given is not None:
        device = load_device(given)
        if isinstance(device, RealDevice):
            return device
    return models_of(given)


def _title(bench: "Bench", ram_pages: int, ssd_pages: int) -> str:
    from cachezoo.sizes import PAGE_BYTES, human

    ram, ssd, touched = (human(pages * PAGE_BYTES) for pages in (ram_pages, ssd_pages, bench.footprint))
    below = f", {ssd} of SSD" if ssd_pages else ""
    return f"{bench.key}: {ram} of RAM{below}, of {touched} that are touched"

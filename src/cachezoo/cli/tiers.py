"""RAM before an SSD before a disk: `cachezoo recommend --only tiers`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cachezoo.cli.common import AllFiles, Json, hand_out, outputs
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, read_given
from cachezoo.cli.runs import Counted, TracePath
from cachezoo.errors import ConfigError
from cachezoo.show.output import print_rows

if TYPE_CHECKING:
    from cachezoo.arrays import Bool
    from cachezoo.questions.flash.model import FlashBundles
    from cachezoo.questions.tiers.hierarchy import Hierarchy
    from cachezoo.questions.tiers.judged import Contest
    from cachezoo.questions.tiers.stream import TierStream
    from cachezoo.settings.device import AnalyticDevice, RealDevice

app = typer.Typer()
DEFAULT_BY = "hca,l2arc,lru | lru,arc | rejectx+lru,promotion: lru | rejectx+fifo,inclusive: lru | lru"
BRACKETS = re.compile(r"\([^()]*\)")
PARTED = re.compile(r"[|+:]")
NAME = re.compile(r"[A-Za-z]\w*")


@app.command()
def tiers(
    trace: TracePath,
    by: Annotated[
        str,
        typer.Option(
            help="Hierarchies with commas: RAM | SSD, RAM | tb=64K | SSD, promotion: RAM | SSD, inclusive: RAM | SSD, "
            "l2arc, hca, or RAM alone; RAM and SSD are policies, as of simulate."
        ),
    ] = DEFAULT_BY,
    ram: Annotated[str, typer.Option(help="64MiB, 2% of the trace's distinct pages, or 4096p.")] = "2%",
    ssd: Annotated[str, typer.Option(help="The same of the SSD.")] = "20%",
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="PROFILE",
            help="A device profile (YAML, or a name in conf/device); of source real: fio replays each tier's I/Os.",
        ),
    ] = None,
    prices: Annotated[
        str | None, typer.Option("--prices", metavar="PRICES", help="A YAML file, or a name in conf/prices.")
    ] = None,
    counted: Counted = "half",
    loop: Annotated[
        Literal["auto", "closed", "open", "alone"],
        typer.Option(
            help="closed: as many requests outstanding as when the trace was captured; open: at the trace's own times; "
            "alone: one at a time; auto: closed, or alone where that number is not known."
        ),
    ] = "auto",
    bundle: Annotated[
        Path | None,
        typer.Option(help="An admission bundle (folder or .zip), which stands in --by as: lru | bundle+lru."),
    ] = None,
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """RAM before an SSD before a disk: which hierarchy is fastest, what each I/O costs, how long the SSD lasts.

    All hierarchies get the same RAM and the same SSD. Beside them runs the RAM of each without an SSD.
    """
    from cachezoo.console import progress
    from cachezoo.contest.counting import Count, first_access
    from cachezoo.questions.tiers.judged import contest, steps, terms_of
    from cachezoo.questions.tiers.prices import load_prices
    from cachezoo.questions.tiers.stream import tier_stream
    from cachezoo.sizes import Size

    files = outputs(output, ("plot", "csv", "json"), [trace])
    hierarchies, sizes = parse_by(by), (Size.parse(ram, "--ram"), Size.parse(ssd, "--ssd"))
    opened = _opened(bundle, hierarchies)
    models, paid = device_of(device), load_prices(prices)
    ts = tier_stream(read_given(trace, fmt, option, columns, ask=not as_json))
    ram_pages, ssd_pages = (size.pages(ts.pages.n_pages) for size in sizes)
    if not any(own.has_ssd for own in hierarchies):
        ssd_pages = 0
    first = first_access(ts.pages, Count(counted), ram_pages, ts.trace.time_us)
    terms = terms_of(ts, models, paid, first, None if loop == "auto" else loop)
    decisions = _decisions(opened, ts)
    with progress(f"{len(hierarchies)} hierarchies on {trace.name}", steps(hierarchies)) as advance:
        found = contest(ts, hierarchies, ram_pages, ssd_pages, terms, advance, decisions)
    if "plot" in files:
        from cachezoo.questions.tiers.plot import draw_contest

        draw_contest(found, _title(trace, ts, ram_pages, ssd_pages), files["plot"])
    if as_json or files:
        about = {"trace": trace.name, "first": terms.first, "page_accesses": len(ts), "ram_pages": ram_pages,
                 "ssd_pages": ssd_pages, "disk_pages": ts.span_pages, "loop": terms.loop, "stretched": terms.stretched,
                 "device": _device_name(device), "prices": paid.model_dump(mode="json")}  # fmt: skip
        if hand_out({**about, "rows": found.values()}, as_json, files, found.values()):
            return
    _print(found, ts, _title(trace, ts, ram_pages, ssd_pages), _device_name(device))


def parse_by(text: str) -> "list[Hierarchy]":
    """The hierarchies of `--by`, each once; a comma within brackets parts none.

    Raises:
        ConfigError: one names no hierarchy, or there is none.
    """
    from cachezoo.questions.tiers.hierarchy import parse_hierarchy

    pieces, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    for piece in pieces:
        _check_names(piece)
    found = {str(own): own for own in map(parse_hierarchy, pieces)}
    return list(found.values())


def _check_names(text: str) -> None:
    """Refuse a name that neither policies nor hierarchies have, more briefly than a policy is refused.

    Raises:
        ConfigError: there is one, outside of brackets.
    """
    from difflib import get_close_matches

    from cachezoo.policies.following import FOLLOW
    from cachezoo.policies.spec import BOUNDS, TABLES
    from cachezoo.policies.virtual import VRM
    from cachezoo.questions.tiers.evictions import HCALFU
    from cachezoo.questions.tiers.hierarchy import HCA, MARKED
    from cachezoo.questions.tiers.part import BUNDLE

    bare = text
    while (inner := BRACKETS.sub("", bare)) != bare:
        bare = inner
    parts = [*(name for table in TABLES for name in table), *BOUNDS, FOLLOW.id, VRM.id, HCALFU.id, BUNDLE]
    known = [HCA, "l2arc", *MARKED, *parts]
    for name in (word.strip() for word in PARTED.split(bare)):
        if NAME.fullmatch(name) and name not in known:
            close = get_close_matches(name.lower(), known, n=2)
            meant = f", did you mean {' or '.join(close)}?" if close else ""
            what = "cachezoo policies lists what RAM and SSD may run"
            raise ConfigError(f"--by {text.strip()[:40]}: {name[:24]} is unknown{meant}; {what}")


def _opened(bundle: Path | None, hierarchies: "list[Hierarchy]") -> "FlashBundles | None":
    """The admission bundle that hierarchies ask for.

    Raises:
        BundleError: it is damaged.
        ConfigError: there is one and none asks for it, or the other way round; or it is of another kind.
    """
    from cachezoo.questions.flash.model import open_bundles

    asking = [own for own in hierarchies if own.is_decided]
    if bundle is None and asking:
        message = f"--by {asking[0]}: a bundle admits to it; name one, --bundle models/bundles/admission.CATEGORY.lgbm"
        raise ConfigError(message)
    if bundle is not None and not asking:
        raise ConfigError(f"--bundle {bundle}: no hierarchy of --by asks it; write it there as in lru | bundle+lru")
    return None if bundle is None else open_bundles([bundle])[0]


def _decisions(opened: "FlashBundles | None", ts: "TierStream") -> "Bool | None":
    """bool[n]: whether each request's pages are admitted, by the threshold that the bundle was shipped with."""
    from cachezoo.cli.flash import warn_of_drift
    from cachezoo.flash.modes import NONE
    from cachezoo.questions.flash.model import decide

    if opened is None:
        return None
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


def _device_name(given: str | None) -> str:
    from cachezoo.devices.built_in import DEFAULT

    return Path(given).stem if given else DEFAULT


def _title(trace: Path, ts: "TierStream", ram_pages: int, ssd_pages: int) -> str:
    from cachezoo.sizes import PAGE_BYTES, human

    ram, ssd, touched = (human(pages * PAGE_BYTES) for pages in (ram_pages, ssd_pages, ts.pages.n_pages))
    below = f", {ssd} of SSD" if ssd_pages else ""
    return f"{trace.name}: {ram} of RAM{below}, of {touched} that are touched"


def _print(found: "Contest", ts: "TierStream", title: str, device: str) -> None:
    from cachezoo.console import out
    from cachezoo.questions.tiers.said import COLUMNS, answer, caption, cells

    out().print(answer(found), soft_wrap=True, markup=False)
    rows = [cells(row, found) for row in found.rows]
    print_rows(rows, title, caption(found, ts, device), COLUMNS, tuple(COLUMNS))

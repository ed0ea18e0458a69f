"""One cache for several applications: `cachezoo recommend --only share`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cachezoo.cli.common import AllFiles, Json, hand_out, outputs
from cachezoo.cli.options import RANGES, floors
from cachezoo.cli.reading import Columns, FormatName, FormatOptions, read_several
from cachezoo.cli.runs import Sampled, part_of
from cachezoo.remote import located
from cachezoo.show.output import print_rows

if TYPE_CHECKING:
    from cachezoo.questions.share.case import Comparison
    from cachezoo.questions.share.mix import Apart

app = typer.Typer()
ApartOption = Literal["auto", "source", "volume"]
OURS = "gvpa(alpha=0.98, cost=1, fill=0.5, reach=64)"  # chosen on mixes of training traces: benchmarks/share.py
DEFAULT_BY = (
    f"shared,shared(policy=auto),equal,equal(policy=auto),proportional,learned,learned(talus=1),ucp,climb,gvpa,{OURS},"
    "static-best,hindsight"
)


def column_of(apart: ApartOption, traces: int) -> "Apart | None":
    """The column by which traces are split into applications; None: each trace is one."""
    if apart == "auto":
        return "source" if traces == 1 else None
    return apart


@app.command()
def share(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE", parser=located, help="A trace of each application, or one mixture made by trace merge."
        ),
    ],
    size: Annotated[
        str, typer.Option(help="64MiB, 10% of the distinct pages of all applications, or 4096p (pages of 4 KiB).")
    ] = "10%",
    by: Annotated[
        str | None,
        typer.Option(
            help="Partitioners with commas: learned(policy=auto), shared(policy=s3fifo), equal(policy=auto), "
            "proportional, fixed(pages=2048/512, policy=s3fifo/lru), ucp(window=20000), climb, gvpa(cost=1, reach=4), "
            "static-best, hindsight; values in brackets may be left out. Default: all of them that can have so small a "
            "cache, and fixed where you give it."
        ),
    ] = None,
    now: Annotated[
        str, typer.Option(help="What runs today, as in --by: nothing is advised that is not better than that.")
    ] = "shared",
    floor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="APP=FLOOR",
            help="The least that an application is to have: web=64MiB or web=10% of the cache, or web=hits:60%, a hit "
            "ratio. Repeat it for several.",
        ),
    ] = None,
    fragment: Annotated[
        int,
        typer.Option(
            min=RANGES["fragment"].least,
            max=RANGES["fragment"].most,
            help="Pages of 4 KiB that are given out together, for partitioners without a fragment= of their own.",
        ),
    ] = 256,
    order: Annotated[
        Literal["auto", "lockstep", "clock"],
        typer.Option(
            help="lockstep: one page of each application in turn; clock: by the traces' times, all from 0 on; auto: "
            "clock where all traces have one."
        ),
    ] = "auto",
    apart: Annotated[
        ApartOption,
        typer.Option(
            help="What makes an application: source: the source that a request of a mixture came from; volume: its "
            "volume; auto: a trace each, or of one trace its sources."
        ),
    ] = "auto",
    names: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Of the applications, in place of their files'.")
    ] = None,
    count: Annotated[
        str,
        typer.Option(
            "--count",
            help="From where on to count: half: the second half of all references; auto: from where the cache could be "
            "full, after 10 to 33 % of them; all; 25% or 1000: from there on; several with commas: of each "
            "application's own.",
        ),
    ] = "half",
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="PROFILE", help="A device profile (YAML, or a name in conf/device) for page times."
        ),
    ] = None,
    sample: Sampled = "auto",
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """One cache for several applications: share it or split it, and by what; hits, transfers and fairness of each way.

    Every reference is a page of 4 KiB, read or written alike. All partitioners get the same cache, in whole fragments.
    """
    from cachezoo.cli.runs import present
    from cachezoo.console import err, progress
    from cachezoo.devices.built_in import BUILT_IN
    from cachezoo.devices.profile import load_models
    from cachezoo.questions.share.answer import title, values
    from cachezoo.questions.share.case import compare
    from cachezoo.questions.share.mix import mixed
    from cachezoo.questions.share.partitioners import parse, parse_several
    from cachezoo.sizes import Size

    files, cache, part = outputs(output, ("plot", "csv", "json"), traces), Size.parse(size), part_of(sample)
    candidates = parse_several(DEFAULT_BY if by is None else by, fragment)
    models = BUILT_IN if device is None else load_models(device)
    present(traces)
    given = read_several(traces, fmt, option, columns, ask=not as_json, part=part, column=column_of(apart, len(traces)))
    called = tuple(name.strip() for name in names.split(",")) if names else ()
    mix = mixed(given, order, None if apart == "auto" else apart, called)
    for remark in mix.remarks:
        err().print(f"note: {remark}", soft_wrap=True, markup=False)
    with progress(f"{len(candidates)} partitioners, {mix.count} applications", len(candidates)) as advance:
        pages = cache.pages(mix.n_pages)
        found = compare(
            mix, candidates, pages, count, models.hdd, advance, must_fit=by is not None,
            now=parse(now, candidates[0].fragment), floors=floors(floor, mix.names, pages),
        )  # fmt: skip
    for line in (*found.fitted, *found.left_out):
        err().print(f"note: {line}", soft_wrap=True, markup=False)
    if "plot" in files:
        from cachezoo.questions.share.plot import draw

        draw(found, title(found), files["plot"])
    if hand_out(figures := values(found), as_json, files, figures["rows"]):
        return
    _print(found, device)


def _print(found: "Comparison", device: str | None) -> None:
    from cachezoo.console import out
    from cachezoo.devices.built_in import DEFAULT
    from cachezoo.questions.share import answer

    out().print(answer.answer(found), soft_wrap=True, markup=False)
    rows, drive = [answer.cells(row) for row in found.rows], Path(device).stem if device else DEFAULT
    print_rows(rows, answer.title(found), "", list(rows[0]), tuple(rows[0]))
    hits = answer.by_application(found, answer.hits_and_slowdown)
    reads = answer.by_application(found, answer.reads)
    names, about = list(hits[0]), answer.caption(found, drive)
    print_rows(hits, "hit ratio of each application, and x its slowdown", "", names, tuple(names))
    print_rows(reads, "transfers of each application, a reference of its own", about, names, tuple(names))
    for line in answer.uneven(found.case):  # next to the answer, which it qualifies
        out().print(f"note: {line}", soft_wrap=True, markup=False)
    for line in answer.service(found):
        out().print(line, soft_wrap=True, markup=False)

"""One cache for several applications: `cachezoo recommend --only share`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cachezoo.cli.common import AllFiles, Json, hand_out, outputs, shows
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


@app.command(
    cls=shows(
        "recommend --only share web.parquet mail.parquet --size 20%",
        "recommend --only share mixture.parquet --floor web=hits:60% -o share.png",
    )
)
def share(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE", parser=located, help="One for each application, or a mixture from trace merge."
        ),
    ],
    size: Annotated[str, typer.Option(metavar="SIZE", help="64MiB, 10% (of all distinct pages) or 4096p.")] = "10%",
    partitioner: Annotated[
        str | None,
        typer.Option(
            metavar="PARTITIONER,…",
            help="learned(policy=auto), shared(policy=s3fifo), equal(policy=auto), proportional, fixed(pages=2048/512, "
            "policy=s3fifo/lru), ucp(window=20000), climb, gvpa(cost=1, reach=4), static-best, hindsight; default all "
            "but fixed.",
        ),
    ] = None,
    now: Annotated[str, typer.Option(metavar="PARTITIONER", help="What runs now: advice must beat it.")] = "shared",
    floor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="APP=FLOOR",
            help="Guarantee: web=64MiB, web=10% (of the cache) or web=hits:60% (hit ratio); repeatable.",
        ),
    ] = None,
    fragment: Annotated[
        int,
        typer.Option(
            min=RANGES["fragment"].least,
            max=RANGES["fragment"].most,
            metavar="N",
            help="Pages allocated together.",
        ),
    ] = 256,
    order: Annotated[
        Literal["auto", "lockstep", "clock"],
        typer.Option(help="lockstep: a page of each in turn; clock: by time from 0; auto: clock if all have one."),
    ] = "auto",
    apart: Annotated[
        ApartOption,
        typer.Option(help="An application is a source or volume; auto: a trace, or of one trace a source."),
    ] = "auto",
    names: Annotated[str | None, typer.Option(metavar="A,B,…", help="Other names of the applications.")] = None,
    count: Annotated[
        str,
        typer.Option(
            "--count",
            metavar="FROM,…",
            help="As in simulate, but not a time; with commas for each application.",
        ),
    ] = "half",
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="PROFILE", help="YAML file, or name in conf/device."),
    ] = None,
    sample: Sampled = "auto",
    output: AllFiles = None,
    fmt: FormatName = "auto",
    option: FormatOptions = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Decide whether applications should share a cache or split it.

    Pages are of 4 KiB; reads and writes count alike. All partitioners get the same cache, in whole fragments.
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
    candidates = parse_several(DEFAULT_BY if partitioner is None else partitioner, fragment)
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
            mix, candidates, pages, count, models.hdd, advance, must_fit=partitioner is not None,
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
    print_rows(reads, "transfers of each application, for each of its page accesses", about, names, tuple(names))
    for line in answer.uneven(found.case):  # next to the answer, which it qualifies
        out().print(f"note: {line}", soft_wrap=True, markup=False)
    for line in answer.service(found):
        out().print(line, soft_wrap=True, markup=False)

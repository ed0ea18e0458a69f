"""lab/results/baleen_public.json: whether a model pays on public block traces, by the protocol of `--try`.

Each trace is a user's own: its first day (or its first half, where that is shorter) trains and chooses, the rest
judges, against the best policy without a model. No stage reads these traces; where an environment variable names their
folder, `make figures` runs them (`lab.rcrnn.public` says which).
"""

from pathlib import Path
from typing import Annotated

from cachezoo.cli.options import write_rates
from cachezoo.console import progress
from cachezoo.contest.verdict import Worth
from cachezoo.documents import Document, Interval
from cachezoo.errors import TraceError, TrainingError
from cachezoo.io import atomic_file, write_json
from cachezoo.jobs import spread
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, read
from cachezoo.questions.flash.fitness import Fitness, try_model
from cachezoo.questions.flash.options import POLICIES, FlashOptions, geometry_by_reads
from cachezoo.questions.flash.protocol import SEEDS
from cachezoo.show import markdown
from cachezoo.show.formats import percent
from cachezoo.show.output import drawn
from cachezoo.show.table import Cell, Column, Table, share_cell
from cachezoo.sizes import Size
from cachezoo.traces.table import Trace
from lab.rcrnn.public import VARIABLE, block_traces, public_folder

FILE, TABLE = Path("lab/results/baleen_public.json"), Path("lab/results/baleen_public.md")
SIZE, RATE = "10%", "25%"
SAID = {Worth.YES: "pays", Worth.NO: "does not pay", Worth.UNSURE: "cannot be told"}
HEAD = """# Does a model pay on public traces?

Written by `make figures`. Trained on the first day of each trace (at least 10,000 requests, at most half), judged on
the rest ([docs/flash.md](../../docs/flash.md#your-own-trace)). The first 150,000 requests of a trace are run at most.
"""


class PublicRow(Document):
    """A public trace; figures are null where there was nothing to learn from."""

    trace: Annotated[str, Means("its file's name, without what the format puts behind it")]
    format: Annotated[str, Means("that it was read as")]
    requests: Annotated[int, Means("that were run")]
    train_requests: Annotated[int | None, Means("of these, that trained")]
    reason: Annotated[str, Means("why nothing was measured; empty where something was")]
    verdict: Annotated[str, Means("pays, does not pay, or cannot be told")]
    rival: Annotated[str, Means("best policy without a model, with its prefetch, as the first day chose it")]
    saved: Annotated[float | None, Means("of its mean disk-head time, by the model", "share")]
    saved_interval: Annotated[Interval | None, Means("90 % interval of it over trainings and windows", "share")]
    saved_by_seed: Annotated[list[float], Means("the same of each training", "share")]
    peak_saved: Annotated[float | None, Means("of the busiest window, mean of the trainings", "share")]
    gap_closed: Annotated[
        float | None, Means("of the way from it to OPT at the limit; null where OPT is hardly ahead", "share")
    ]
    written_share: Annotated[float | None, Means("written by the model", "share of AcceptAll's")]


class PublicTraces(Document):
    """The protocol on every public block trace."""

    size: Annotated[str, Means("of the cache, of the first day's distinct segments")]
    rate: Annotated[str, Means("that thresholds are set for, of what AcceptAll writes")]
    seeds: Annotated[int, Means("trainings")]
    rows: Annotated[list[PublicRow], Each("one trace", "trace")]


def measure(name: str, trace: Trace) -> PublicRow:
    """A trace's row."""
    row = PublicRow(
        trace=name, format=trace.meta.source_format, requests=len(trace), train_requests=None, reason="", verdict="",
        rival="", saved=None, saved_interval=None, saved_by_seed=[], peak_saved=None, gap_closed=None,
        written_share=None,
    )  # fmt: skip
    options = FlashOptions([Size.parse(SIZE)], write_rates(RATE), POLICIES)
    try:
        trial = try_model(trace, geometry_by_reads(trace), options)
    except (TraceError, TrainingError) as error:
        return row.model_copy(update={"reason": str(error)})
    (own,) = trial.found
    return row.model_copy(update={"train_requests": len(trial.days.train), **_figures(own)})


def _figures(own: Fitness) -> dict[str, object]:
    values = own.values()
    kept = ("saved", "saved_interval", "saved_by_seed", "peak_saved", "gap_closed", "written_share")
    return {**{name: values[name] for name in kept}, "verdict": SAID[own.worth], "rival": own.rival}


def run_public(folder: Path) -> PublicTraces:
    """Every block trace of a folder, side by side.

    Raises:
        TraceError: the folder has no block trace.
    """
    with progress("reading public traces", 1):
        found = list(block_traces(folder))
    if not found:
        raise TraceError(f"{folder}: has no block trace; put some there, or unset {VARIABLE}")
    rows = spread("a model on public traces", measure, found)
    return PublicTraces(size=SIZE, rate=RATE, seeds=len(SEEDS), rows=rows)


def table(found: PublicTraces) -> Table:
    """A line a trace."""
    rows = [
        [Cell(one.trace), Cell(f"{one.requests:,}", one.requests), Cell(one.verdict or one.reason), Cell(one.rival),
         share_cell(one.saved, one.saved_interval), Cell(_range(one.saved_by_seed)), share_cell(one.peak_saved),
         share_cell(one.gap_closed), share_cell(one.written_share)]
        for one in found.rows
    ]  # fmt: skip
    heads = ("saved", "by seed", "at peak", "gap closed", "writes")
    columns = [Column("trace", numeric=False), Column("requests"), Column("the model", numeric=False),
               Column("best without a model", numeric=False), *map(Column, heads)]  # fmt: skip
    title = f"A model on public traces: cache {found.size}, thresholds set for {found.rate}, {found.seeds} trainings"
    return Table(title, columns, rows)


def _range(values: list[float]) -> str:
    return f"{percent(min(values))} to {percent(max(values))}" if values else ""


def update() -> None:
    """Run the protocol on the folder that the environment names; where it names none, all stays as it is.

    Raises:
        CachezooError: the folder is not there or has no block trace, or a file cannot be written.
    """
    folder = public_folder()
    if folder is None:
        return
    if not folder.is_dir():
        raise TraceError(f"{folder}: is not there; {VARIABLE} names its parent, which has block traces in it")
    found = run_public(folder)
    write_json(FILE, found.model_dump(mode="json"))
    with atomic_file(TABLE) as temporary:
        temporary.write_text(f"{HEAD}\n{markdown.table(drawn(table(found)))}\n", encoding="utf-8")


def read_public(path: Path) -> PublicTraces:
    """lab/results/baleen_public.json, see `cachezoo.metrics.files.read`."""
    return read(path, PublicTraces, MAKE)

"""`cachezoo demo`: a cache that is recommended, and at work, in less than a minute."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cachezoo.cli.common import AllFiles, Json, hand_out, outputs, shows

if TYPE_CHECKING:
    from cachezoo.demo.run import Demo

app = typer.Typer()
NEXT = "cachezoo recommend TRACE, on a trace of your own: sudo cachezoo trace capture --device /dev/sdb -o day.parquet"
WORDS = {"around": "a read cache", "through": "a write-through cache", "back": "a write-back cache"}


@app.command(cls=shows("demo -o demo.png"))
def demo(output: AllFiles = None, as_json: Json = False) -> None:
    """Recommend and run a cache for a small trace, in a minute.

    It runs in nbdkit, or else in libcachezoo, before a file with 1 ms reads. All data is checked.
    """
    from cachezoo.console import progress
    from cachezoo.demo.run import show

    files = outputs(output, ("plot", "csv", "json"))
    with progress("demo", 1.0) as advance:
        found = show(advance=advance)
    if "plot" in files:
        _plot(found, files["plot"])
    values = found.values()
    if not hand_out(values, as_json, {kind: path for kind, path in files.items() if kind != "plot"}, values["rows"]):
        _print(found)


def _print(found: "Demo") -> None:
    from cachezoo.demo.run import WAIT_S
    from cachezoo.show.formats import latency, percent
    from cachezoo.show.output import print_lines, print_table
    from cachezoo.show.table import text_table
    from cachezoo.sizes import human_pages

    own, wait = found.answer, latency(1e6 * WAIT_S)
    print_lines(f"Trace      {found.requests:,} requests of a small database, made here; the second half counts")
    print_lines(*(f"{'' if k else 'Answer':11}{line}" for k, line in enumerate(own.lines)))
    what = f"{WORDS[own.writes]} of {human_pages(own.pages)}, by {found.by}"
    print_lines(f"Running    {what}; a read of the disk waits {wait} here")
    rows = []
    for row in found.rows:
        values = row.values()
        times = (latency(values["mean_us"]), latency(values["p99_us"]))
        rows.append((row.policy, percent(row.promised), percent(row.measured), *times))
    heads = ("policy", "hits promised", "hits measured", "mean read", "99 % within")
    print_table(text_table("", heads, rows, left=1))
    print_lines(
        "Every byte that was read was the one written last. Nothing is left behind.",
        f"On a disk  {own.command}",
        f"Next       {NEXT}",
    )


def _plot(found: "Demo", path: Path) -> None:
    import numpy as np
    from matplotlib.figure import Figure

    from cachezoo.io import atomic_file
    from cachezoo.show.palette import looks
    from cachezoo.show.style import NARROW, settings, write

    styles = looks([(row.policy, "") for row in found.rows])
    with settings(narrow=True):
        canvas = Figure(figsize=(NARROW, 3.6), layout="constrained")
        axes = canvas.subplots()
        for row in found.rows:
            ms, look = np.sort(row.read_us) / 1e3, styles[row.policy]
            share = np.arange(1, len(ms) + 1) / len(ms)
            axes.plot(ms, share, color=look.colour, linestyle=look.line, label=row.policy)
        axes.set(xscale="log", xlabel="response time of a read, ms", ylabel="share of reads", ylim=(0, 1))
        axes.legend(loc="upper left")
        with atomic_file(path) as temporary:
            write(canvas, temporary, path)

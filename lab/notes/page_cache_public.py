"""lab/results/page_cache_public.json and .md: the trained page cache on public traces of pages, at their full length.

    CACHEZOO_PUBLIC_TRACES=FOLDER python -m lab.notes.page_cache_public [TRACE …]

Each trace is judged as the test streams in metrics/reuse.json are: every seed's forest against every way to run a
classic, LRB, 3L-Cache and the optimum, at every capacity of `judge.reuse.sizes`. The model was trained on none of them.
The files are written after each trace. What they have of the same model at the same capacities is not run again.
Needs the stages up to judge_reuse. One core; minutes to hours a trace.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cachezoo.config.load import load_params
from cachezoo.console import complain, progress
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.io import atomic_file, write_json
from cachezoo.metrics.base import Judged
from cachezoo.show import markdown
from cachezoo.show.formats import number, percent
from cachezoo.show.output import drawn
from cachezoo.show.table import Cell, Column, Table, name_cell, share_cell
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.zoo.reuse import evaluate
from cachezoo.zoo.reuse.metrics import OPTIMAL, ReuseMetrics, ReuseRow, ReuseTrace, read_metrics, reductions
from cachezoo.zoo.reuse.prepared import Prepared
from cachezoo.zoo.reuse.report import reduction_table
from lab.rcrnn.public import VARIABLE

FILE, TABLE = Path("lab/results/page_cache_public.json"), Path("lab/results/page_cache_public.md")
HEAD = f"""# The page cache that learns, on public traces

Written by `{VARIABLE}=FOLDER python -m lab.notes.page_cache_public`. Whole traces, which the model was not trained on.
A trace counts from where the cache is full; the first half of that chooses the rival, the second half is judged
([docs/page-cache.md](../../docs/page-cache.md)).
"""


class Source(NamedTuple):
    """Where a trace is below the folder of public traces, and how it is read."""

    file: str
    options: Mapping[str, str] = {}


SOURCES = {
    "OLTP": Source("lbn/OLTP.lis.zst"),
    "P2": Source("lbn/P2.lis.zst"),
    "cloudphysics": Source("block/cloudphysics.vscsi"),
    "hp_ajw": Source("block/hp_ajw.srt.gz"),
    "ms_dtrs": Source("block/ms_dtrs.disksim.gz", {"time_unit": "us"}),
    "postmark": Source("block/postmark.disksim.gz"),
}


def prepared(name: str, folder: Path) -> Prepared:
    """A trace of the table as the cache reads it.

    Raises:
        TraceError: the file is missing or damaged.
    """
    path = folder / SOURCES[name].file
    trace = read_any(path, options=SOURCES[name].options)
    return Prepared(name, path, trace, expand_pages(trace))


def known(file: Path, models: Mapping[str, Judged], sizes: Sequence[float]) -> dict[str, ReuseTrace]:
    """The traces that a file has, of these models and at these capacities.

    Raises:
        CachezooError: the file is damaged.
    """
    if not file.exists():
        return {}
    found = read_metrics(file)
    if found.models != models:
        return {}
    return {name: own for name, own in found.traces.items() if [row.capacity_fraction for row in own.rows] == sizes}


def measure(bench: evaluate._Bench, part: Prepared, sizes: Sequence[float]) -> ReuseTrace:
    """A trace at each capacity."""
    rows = []
    with progress(part.key, len(sizes)) as advance:
        for done, fraction in enumerate(sizes):
            advance(done, percent(fraction, 0))
            rows.append(bench.row(part, fraction))
    return ReuseTrace(
        category="public", program=part.key, setup=None, where="program", role="test", requests=len(part.trace),
        page_accesses=len(part.pages.page_ids), rows=rows,
    )  # fmt: skip


def table(found: ReuseMetrics) -> Table:
    """A line a trace and capacity."""
    columns = [
        Column("trace", numeric=False), Column("page accesses"), Column("cache", "of the distinct pages"),
        Column("ours", "misses saved against LRU"), *(Column(name) for name in evaluate.LEARNED), Column(OPTIMAL),
        Column("rival", "chosen on the first half", numeric=False),
        Column("lead", "over the rival, points, with its 90 % interval"),
        Column("gap closed", "from the best default in hindsight"),
    ]  # fmt: skip
    rows = [_cells(name, trace, row) for name, trace in found.traces.items() for row in trace.rows]
    return Table("Misses saved against LRU, and the lead over the rival", columns, rows)


def _cells(name: str, trace: ReuseTrace, row: ReuseRow) -> list[Cell]:
    saved = {one.name: one.mean for one in reductions([row])}
    ends = row.lead_interval
    return [
        name_cell(name),
        Cell(f"{trace.page_accesses:,}", trace.page_accesses),
        Cell(percent(row.capacity_fraction, 0), row.capacity_fraction, f"{row.capacity:,} pages"),
        *(Cell(percent(saved[one], signed=True), saved[one]) for one in (row.policy, *evaluate.LEARNED, OPTIMAL)),
        name_cell(row.rival),
        Cell(number(row.lead_points, 2, signed=True), row.lead_points,
             "" if ends is None else " to ".join(number(end, 2, signed=True) for end in ends)),
        share_cell(row.gap_closed),
    ]  # fmt: skip


def write(found: ReuseMetrics) -> None:
    """Write both files.

    Raises:
        CachezooError: one cannot be written.
    """
    write_json(FILE, found.model_dump(mode="json"))
    tables = [markdown.titled(drawn(one)) for one in (reduction_table(found), table(found))]
    with atomic_file(TABLE) as temporary:
        temporary.write_text("\n".join([HEAD, *tables]), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge what is not judged yet; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", metavar="TRACE", help=f"of {', '.join(SOURCES)}; default: all")
    names = parser.parse_args(arguments).traces or list(SOURCES)
    try:
        update(names)
    except CachezooError as error:
        complain(str(error))
        return 1
    return 0


def update(names: Sequence[str]) -> None:
    """Judge those traces that the files lack, one after the other.

    Raises:
        ConfigError: the environment names no folder, or there is no trace of a name.
        CachezooError: a trace or the model is missing or damaged, or a file cannot be written.
    """
    if VARIABLE not in os.environ:
        raise ConfigError(f"set {VARIABLE} to the folder of the public traces (docs/traces.md)")
    for name in names:
        if name not in SOURCES:
            raise ConfigError(f"there is no public trace {name}; there are {', '.join(SOURCES)}")
    settings = evaluate.Settings.of(load_params())
    bench = evaluate._bench(settings)
    model = bench.model
    models = {
        model.model_id: Judged(
            trained=model.trained, promoted=model.promoted, reason=model.reason, validation=model.validation
        )
    }
    traces = known(FILE, models, settings.capacities)
    for name in names:
        if name not in traces:
            traces[name] = measure(bench, prepared(name, Path(os.environ[VARIABLE])), settings.capacities)
            order = [one for one in SOURCES if one in traces]
            write(ReuseMetrics(
                capacity_fraction=bench.fraction, traces={one: traces[one] for one in order}, models=models
            ))  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())

"""The tables of a run's results for the terminal, and what to do next."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from cachezoo.metrics.flash import FlashRow
from cachezoo.questions.results import PLAIN, BundleResult, FlashResult, FlashSaved, Line, PageResult
from cachezoo.show.formats import NONE, number, percent, span

if TYPE_CHECKING:
    from rich.table import Table

Row = TypeVar("Row", PageResult, FlashResult)
NAME_CHARS, TRACE_CHARS = 41, 17  # of a column of policies and of one of a trace, with the space between
PAGE_CACHES = ("caching.", "reuse.")  # models that `compare` runs
SAVED = {"best": "saved against the best without a model", "plain": f"saved against {PLAIN}"}


def _grid(
    title: str, caption: str, corner: str, heads: Sequence[str], *sections: Iterable[tuple[str, Sequence[str]]]
) -> "Table":
    """Figures by names (rows) and test traces or models (columns), whose names are never cut."""
    from rich.table import Table

    table = Table(title=title, caption=caption)
    table.add_column(corner, no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", overflow="fold", min_width=len(head))
    for rows in sections:
        for name, cells in rows:
            table.add_row(name, *cells)
        table.add_section()
    return table


def narrow(rows: "Sequence[Row]", width: int) -> "list[Sequence[Row]]":
    """The rows of as many test traces at a time as a table with a column for each has room for.

    Args:
        rows: of all of them.
        width: of the console, in characters.
    """
    traces = list(dict.fromkeys(found.trace for found in rows))
    most = max(1, (width - NAME_CHARS) // TRACE_CHARS)
    return [[row for row in rows if row.trace in traces[low : low + most]] for low in range(0, len(traces), most)]


def flash_table(rows: Sequence[FlashResult], saved: Sequence[FlashSaved]) -> "Table":
    """Peak and mean read disk-head time of each policy (rows) on each test trace (columns), and what baleen saves."""
    traces = list(dict.fromkeys(found.trace for found in rows))
    by_place = {(found.policy, found.trace): found.row for found in rows}
    shares = {(found.rival, found.trace): found for found in saved}
    return _grid(
        "flash cache: peak (mean) read disk-head time, disk-head seconds per second",
        "baleen: admission and prefetch as shipped; one controller keeps all within the budget but accept_all and opt; "
        "prefetch modes as chosen on validation; saved: of the mean, with its 90 % interval",
        "policy",
        traces,
        [(policy, [_load_cell(by_place.get((policy, trace))) for trace in traces])
         for policy in dict.fromkeys(found.policy for found in rows)],
        [(title, [_saved_cell(shares.get((rival, trace)), rival) for trace in traces])
         for rival, title in SAVED.items()],
    )  # fmt: skip


def admissions_table(rows: Sequence[FlashResult]) -> "Table":
    """Peak and mean read disk-head time of each admission model at the write budget; a line a test trace."""
    by_place = {(found.trace, found.policy.rsplit(".", 1)[-1]): found.row for found in rows}
    archs = list(dict.fromkeys(arch for _, arch in by_place))
    return _grid(
        "admission models, thresholds set in hindsight to the write budget: peak (mean) read disk-head time",
        "block: without names; small: without names, few trees; prefetch modes as chosen on validation",
        "test trace",
        archs,
        [(trace, [_load_cell(by_place.get((trace, arch))) for arch in archs])
         for trace in dict.fromkeys(found.trace for found in rows)],
    )  # fmt: skip


def _saved_cell(found: FlashSaved | None, rival: str) -> str:
    if found is None:
        return NONE
    name = f" {found.policy}" if rival == "best" else ""
    return f"{percent(found.mean, 0)} {span(found.interval)}{name}"


def _load_cell(row: FlashRow | None) -> str:
    if row is None:
        return NONE
    mode = "" if row.prefetch == "none" else f" {row.prefetch}"
    return f"{number(row.read_dt.peak, 2)} ({number(row.read_dt.mean, 2)}){mode}"


def results_table(rows: Sequence[PageResult]) -> "Table":
    """Page hit ratio of each policy (rows) on each test trace (columns), with the models' `gap_closed`.

    The models of a kind, one for each category, share a row.
    """
    traces = list(dict.fromkeys(found.trace for found in rows))
    by_name = dict[str, dict[str, PageResult]]()
    for found in rows:
        row = found.row
        name = row.shown if row.kind == "classic" else f"{row.shown} ({row.kind})"
        by_name.setdefault(name, {})[found.trace] = found
    means = {name: sum(one.row.hit_ratio for one in own.values()) / len(own) for name, own in by_name.items()}
    return _grid(
        "page hit ratio on the test traces",
        "models: share of the gap from the best classic to the optimum; "
        "* promoted: better than the best classic on validation",
        "policy",
        traces,
        [(name, [_cell(by_name[name].get(trace)) for trace in traces])
         for name in sorted(means, key=lambda name: (-means[name], name))],
    )  # fmt: skip


def _cell(found: PageResult | None) -> str:
    if found is None:
        return NONE
    row = found.row
    text = number(row.hit_ratio, 4)
    if row.kind != "model":
        return text
    closed = "gap below 0.02" if row.gap_closed is None else percent(row.gap_closed, 0, signed=True)
    # An admission model was judged by disk-head time, not by page hits.
    promoted = found.promoted and not row.policy.startswith("admission.")
    return f"{text} ({closed}){' *' if promoted else ''}"


def bundles_table(bundles: Sequence[BundleResult]) -> "Table":
    """One row a model."""
    from rich.table import Table

    table = Table(title="models")
    for column in ("bundle", "promoted", "why", "on the test traces"):
        table.add_column(column, overflow="fold")
    for row in bundles:
        figures = "\n".join(
            f"{name} {number(value, 3)}" for name, value in row.headline.items() if value is not None
        )  # fmt: skip
        table.add_row(row.bundle or f"none of {row.model}", "yes" if row.promoted else "no", row.reason, figures)
    return table


def next_steps(bundles: Sequence[BundleResult], chosen: str | None = None) -> str:
    """Commands that a reader of the tables may want.

    Args:
        bundles: every model.
        chosen: id of the bundle that the report runs in page caches; without one a promoted bundle is shown.
    """
    found = [row for row in bundles if row.bundle]
    found.sort(key=lambda row: (row.model != chosen, not row.promoted, not row.model.startswith(PAGE_CACHES)))
    steps = ["Next:"]
    if found:
        first, bundle = found[0].model, found[0].bundle
        steps += [f"  .venv/bin/cachezoo models bundle verify {bundle}    check a bundle; card.md says what it is for"]
        if first.startswith(PAGE_CACHES):
            steps += [f"  .venv/bin/cachezoo compare TRACE --bundle {bundle}    try it on a trace of yours"]
        elif first.startswith("admission."):
            flash = "recommend --only flash TRACE"
            steps += [f"  .venv/bin/cachezoo {flash} --bundle {bundle}    try it on a trace of yours"]
    steps += ["  .venv/bin/cachezoo models report    which model to deploy, and is it worth it, on a page"]
    steps += ["  make ui    the same in MLflow", "  conf/matrix.yaml    add your traces, then make repro"]
    return "\n".join(steps)


def summary_table(found: Sequence[Line]) -> "Table":
    """The lines, for a terminal of 80 columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        title="hit ratio of a page cache on the test traces; disk time that a flash cache saves",
        caption="classic and model: those with the most hits on the trace itself; gap: how far the model gets from "
        "the best classic (0 %) to the optimum (100 %); saves: read disk-head time, as shipped, against the best "
        "policy without a model, 90 % interval",
    )
    table.add_column("test trace", no_wrap=True)
    titles = ("best\nclassic", "promoted\nmodel", "its\nhits", "gap\nclosed", "optimum", "flash\nadmission\nsaves")
    for name in titles:
        table.add_column(name, justify="left" if "model" in name else "right", overflow="fold")
    for line in found:
        table.add_row(
            line.trace,
            number(line.classic, 3),
            (line.model or NONE).replace(" ", "\n"),
            number(line.hit_ratio, 3),
            percent(line.gap_closed, 0, signed=True),
            number(line.optimum, 3),
            _summary_saved(line.saved),
        )
    return table


def _summary_saved(found: FlashSaved | None) -> str:
    if found is None:
        return NONE
    lines = [percent(found.mean, 0), span(found.interval), *([] if found.promoted else ["(not", "promoted)"])]
    return "\n".join(lines)

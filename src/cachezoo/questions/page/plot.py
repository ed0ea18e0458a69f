"""Hit ratios of policies as a picture: curves over capacity, or bars at one."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from cachezoo.io import atomic_file
from cachezoo.show.palette import colour_of, looks
from cachezoo.show.style import NARROW, SMALL, legend_room, settings, write
from cachezoo.sizes import PAGE_BYTES, human, human_pages, size_ticks
from cachezoo.traces.falling import unlike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = dict[str, Any]
THICK, THIN = 3.0, 1.4
HITS, TRANSFERS = "hit_ratio", "transfers"
LABELS = {HITS: "page hit ratio", TRANSFERS: "pages read from the disk, a page access"}
ROUNDING = 1e-9
LONGEST = 72  # characters of a line above the picture


def draw_hit_ratios(rows: Sequence[Row], title: str, path: Path, hits: str = LABELS[HITS]) -> None:
    """Write a PNG, or an SVG by the name, of page hit ratios; its bytes depend on the rows alone.

    Where a policy reads more pages than it misses, a second panel has the transfers of all: a hit ratio alone
    would not say what is paid for it.

    Args:
        rows: `policy`, `kind`, `capacity` (pages, of `page_bytes` where that is given), `hit_ratio` of each run;
            `error_90`, half its 90 % interval, where it was estimated; `transfers`, pages read a page access, where
            they are known; `warmup`, page accesses before counting.
        title: above it.
        path: where to.
        hits: what the hit ratio is of; of caches of objects `page_bytes` is 1, or 0 where they hold so many objects.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    capacities = sorted({row["capacity"] for row in rows})
    policies = sorted({row["policy"]: row["kind"] for row in rows}.items(), key=lambda own: -_mean(rows, own[0]))
    shown = (HITS, TRANSFERS) if _moves(rows) else (HITS,)
    columns, room = legend_room([policy for policy, _ in policies])
    with settings(narrow=True), atomic_file(path) as temporary:
        if len(capacities) > 1:
            height = 3.6 * len(shown) + room
        else:
            height = len(shown) * (1.2 + 0.28 * len(policies))
        canvas = Figure(figsize=(NARROW, height), layout="constrained")
        panels = canvas.subplots(len(shown), 1, squeeze=False)[:, 0]
        for axes, what in zip(panels, shown, strict=True):
            label = hits if what == HITS else LABELS[what]
            if len(capacities) > 1:
                _curves(axes, rows, policies, what, label)
            else:
                _bars(axes, rows, policies, capacities[0], what, label)
        if len(capacities) > 1:
            canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=columns)
        panels[0].set_title("\n".join([title, *_warmups(rows)]), loc="left")
        write(canvas, temporary, path)


def _warmups(rows: Sequence[Row]) -> list[str]:
    """A line on why a curve may fall with more cache, where that may be."""
    known = [row for row in rows if row.get("warmup") is not None]
    text = unlike([row["warmup"] for row in known], [row["capacity"] for row in known]) if known else ""
    return fill(text, LONGEST).split("\n") if text else []


def _moves(rows: Sequence[Row]) -> bool:
    """Whether some run read more pages than it missed, and of all it is known."""
    known = [row[TRANSFERS] for row in rows if row.get(TRANSFERS) is not None]
    if len(known) < len(rows):
        return False
    return any(read > 1 - row[HITS] + ROUNDING for read, row in zip(known, rows, strict=True))


def _mean(rows: Sequence[Row], policy: str, what: str = HITS) -> float:
    own = [row[what] for row in rows if row["policy"] == policy]
    return float(sum(own) / len(own))


def _curves(axes: "Axes", rows: Sequence[Row], policies: list[tuple[str, str]], what: str, label: str) -> None:
    """A line a policy, best first in the legend; 90 % intervals as a band."""
    styles = looks(policies)
    for policy, kind in policies:
        own = sorted((row for row in rows if row["policy"] == policy), key=lambda row: row["capacity"])
        sizes, ratios = ([row[name] for row in own] for name in ("capacity", what))
        places = [size * max(_page_bytes(rows), 1) for size in sizes]
        colour, line, marker = styles[policy]
        thick = THICK if kind == "model" else THIN
        axes.plot(
            places, ratios, color=colour, linestyle=line, marker=marker, markersize=5, linewidth=thick, label=policy
        )
        errors = [row.get("error_90") or 0.0 for row in own]
        if any(errors):
            low, high = (
                [ratio + sign * error for ratio, error in zip(ratios, errors, strict=True)] for sign in (-1, 1)
            )
            axes.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0)
    if _page_bytes(rows):
        size_ticks(axes)
    else:
        axes.set_xscale("log")
    axes.set_xlabel("size of the cache" if _page_bytes(rows) else "objects that the cache holds")
    estimated = any(row.get("error_90") for row in rows)
    axes.set_ylabel(f"{label}, with 90 % intervals" if estimated else label)


def _bars(
    axes: "Axes", rows: Sequence[Row], policies: list[tuple[str, str]], capacity: int, what: str, label: str
) -> None:  # fmt: skip
    names = [policy for policy, _ in policies]
    colours = [colour_of(policy, kind) for policy, kind in policies]
    values = [_mean(rows, policy, what) for policy in names]
    bars = axes.barh(names, values, color=colours, height=0.7)
    axes.bar_label(bars, labels=[f"{value:.3f}" for value in values], padding=3, fontsize=SMALL)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel(f"{label} at {_size(capacity, _page_bytes(rows))}")


def _size(capacity: int, page_bytes: int) -> str:
    """A capacity for people: of pages, of bytes, or of objects."""
    if page_bytes > 1:
        return human_pages(capacity, page_bytes)
    return human(capacity) if page_bytes else f"{capacity:,} objects"


def _page_bytes(rows: Sequence[Row]) -> int:
    """Of a page of the caches, which is the same in all rows."""
    return int(rows[0].get("page_bytes", PAGE_BYTES))

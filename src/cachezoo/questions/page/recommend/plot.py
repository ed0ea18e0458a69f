"""The page's plots: hit ratio, response time and SSD writes over the size, and the lead over LRU in time."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cachezoo.questions.page.recommend.candidates import SIMPLEST, name_of
from cachezoo.questions.page.recommend.rows import Row
from cachezoo.show.drawing import svg
from cachezoo.show.formats import latency, share
from cachezoo.show.section import Drawing
from cachezoo.show.style import AMBER, BLACK, BLUE, GREEN, GREY, SKY, VERMILION, WIDTH, panels, settings
from cachezoo.sizes import human, size_ticks
from cachezoo.traces.table import PAGE_BYTES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cachezoo.questions.page.recommend.recommendation import Recommendation

LEAST_HIGH = 5.0  # % of hits on the axis: less looks like much on a scale of its own
LEAST_OCTAVES = 1.5  # of the axis of sizes; a narrower one has no labels


def _sizes(found: "Recommendation") -> list[int]:
    return [row.capacity * PAGE_BYTES for row in found.picked.rows]


def _size_axis(axes: "Axes", sizes: Sequence[int]) -> None:
    """Sizes in MiB and GiB, with room around a single one."""
    axes.set_xlim(min(sizes) / LEAST_OCTAVES, max(sizes) * LEAST_OCTAVES)
    size_ticks(axes)
    axes.set_xlabel("cache size")


def _mark(axes: "Axes", found: "Recommendation", value: float) -> None:
    """The recommended size, at its value on the y axis."""
    at = (found.row.capacity * PAGE_BYTES, value)
    axes.plot(*at, "o", color=VERMILION, markersize=9, zorder=5)
    axes.axvline(at[0], color=VERMILION, linewidth=0.8, linestyle=":")


def curve(found: "Recommendation") -> Drawing:
    """Hit ratio over the size: what is recommended at each, LRU, the other candidates, the optimum."""
    rows, contest = found.picked.rows, found.contest
    sizes = _sizes(found)
    with settings():
        canvas, grid = panels(1, 1, 4.2)
        axes = grid[0, 0]
        own = "recommended" if found.picked.useful else "chosen policy"
        tried = [capacity * PAGE_BYTES for capacity in contest.capacities]
        for k, ratios in enumerate(100 * contest.judged):
            label = "other candidates" if k == 0 else None
            axes.plot(tried, ratios, color=GREY, linewidth=0.7, alpha=0.6, label=label)
        axes.plot(tried, 100 * contest.optimum, color=BLACK, linestyle=":", label="optimum (knows the future)")
        axes.plot(sizes, [100 * row.lru for row in rows], color=SKY, linestyle="--", label="LRU")
        axes.plot(sizes, [100 * row.ran.hit_ratio for row in rows], color=GREEN, marker=".", linewidth=2, label=own)
        if (bend := found.knee) is not None:
            at = (bend.capacity * PAGE_BYTES, 100 * bend.ran.hit_ratio)
            axes.plot(*at, "D", color=AMBER, markersize=12, zorder=4, label="knee")
        if found.picked.useful:
            _mark(axes, found, 100 * found.row.ran.hit_ratio)
            name = f"{name_of(found.row.ran.policy)}, {human(found.row.capacity * PAGE_BYTES)}"
            axes.set_title(f"{name}: {share(found.row.ran.hit_ratio)} of page accesses hit", loc="left")
        axes.set_ylim(0, max(axes.get_ylim()[1], LEAST_HIGH))
        axes.set_ylabel("page accesses that hit, %")
        _size_axis(axes, sizes)
        axes.legend(loc="upper left", fontsize=8)
        drawn = svg(canvas)
    best = ", ".join(f"{share(row.ran.hit_ratio)} at {human(size)}" for row, size in zip(rows, sizes, strict=True))
    sampled = " Grey and dotted curves are of a sample of the pages." if contest.rate < 1 else ""
    return Drawing(drawn, f"Hit ratio over the size: {best}.", f"Hit ratio of each size on the second half.{sampled}")


def costs(found: "Recommendation") -> Drawing:
    """Mean response time and SSD writes over the size."""
    rows, sizes, bench = found.picked.rows, _sizes(found), found.bench
    written, unit, what = _written(found)
    with settings():
        canvas, grid = panels(2, 1, 5.6)
        left, right = grid[:, 0]
        left.plot(sizes, [row.ran.response_us / 1e3 for row in rows], color=GREEN, marker=".", linewidth=2)
        left.axhline(bench.no_cache_us / 1e3, color=GREY, linestyle="--", label="no cache, the disk alone")
        left.axhline(bench.all_ssd_us / 1e3, color=BLUE, linestyle=":", label="everything on the SSD")
        left.set_ylabel("mean response time, ms")
        left.set_ylim(0, None)
        left.legend(fontsize=8)
        left.set_title("Response time (modelled)", loc="left")
        heights = [written(row) for row in rows]
        right.plot(sizes, heights, color=GREEN, marker=".", linewidth=2, label="recommended")
        right.set_ylabel(unit)
        right.set_ylim(0, None)
        right.set_title("SSD writes", loc="left")
        if found.picked.useful:
            _mark(left, found, found.row.ran.response_us / 1e3)
            _mark(right, found, heights[found.picked.place])
        if found.admitted is not None:
            own = found.admitted
            right.plot(own.capacity * PAGE_BYTES, written(own), "s", color=AMBER, markersize=8, label="behind RejectX")
            right.legend(fontsize=8)
        for axes in (left, right):
            _size_axis(axes, sizes)
        drawn = svg(canvas)
    said = ", ".join(f"{latency(row.ran.response_us)} at {human(size)}" for row, size in zip(rows, sizes, strict=True))
    return Drawing(drawn, f"Mean response time: {said}.", f"Mean response time of a request, and {what}.")


def _written(found: "Recommendation") -> tuple[Callable[[Row], float], str, str]:
    """A row's SSD writes, their unit, and what they are in words."""
    if found.bench.short:
        unit = "SSD writes, MiB per GiB accessed"
        return lambda row: 1024 * row.ssd_per_access, unit, "what is written to the SSD per GiB of page accesses"

    def daily(row: Row) -> float:
        return (row.ssd_bytes_a_day or 0.0) / 2**30

    return daily, "written to the SSD, GiB a day", "what is written to the SSD in a day like the second half"


def blocks(found: "Recommendation") -> Drawing | None:
    """Lead over LRU of the policy that was chosen, block by block; None where there are none, or it is LRU."""
    lead, chosen = found.row.lead, found.row.chosen
    if not lead.blocks or chosen == SIMPLEST:
        return None
    from matplotlib.figure import Figure

    leads = 100 * lead.by_block
    with settings():
        canvas = Figure(figsize=(WIDTH, 2.6), layout="constrained")
        axes = canvas.subplots()
        axes.bar(range(1, len(leads) + 1), leads, color=[GREEN if one > 0 else VERMILION for one in leads])
        axes.axhline(0, color=BLACK, linewidth=0.8)
        axes.axhline(100 * lead.value, color=GREY, linestyle="--", label="mean")
        axes.set_xticks(range(1, len(leads) + 1))
        axes.set_xlabel("time block of the second half")
        axes.set_ylabel("lead over LRU, points")
        axes.set_title(f"{name_of(chosen)} hit more than LRU in {lead.won} of {lead.blocks} time blocks", loc="left")
        axes.legend(fontsize=8)
        drawn = svg(canvas)
    alt = "Lead in points by time block: " + ", ".join(f"{one:.1f}" for one in leads) + "."
    return Drawing(drawn, alt, "Each time block has the same number of page accesses; none of them chose the policy.")

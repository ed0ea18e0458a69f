"""A recommendation as JSON values, and as one self-contained HTML page with its plots."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cachezoo.flash_cache.load import DAY_S
from cachezoo.questions.page import answer, sentences
from cachezoo.questions.page.candidates import CANDIDATES, SIMPLEST, name_of
from cachezoo.questions.page.recommendation import Recommendation
from cachezoo.questions.page.sizes import Row, shown
from cachezoo.show.drawing import few_sizes, svg
from cachezoo.show.formats import NONE, duration, latency, lifetime, ordinary, points, share
from cachezoo.show.page import Page, render
from cachezoo.show.section import Choice, Drawing, Section
from cachezoo.show.style import AMBER, BLACK, BLUE, GREY, PANEL, SKY, VERMILION, settings
from cachezoo.show.table import Cell, Column, Table, number_cell, share_cell
from cachezoo.sizes import human
from cachezoo.traces.table import PAGE_BYTES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BLOCKS = 10  # labels of an axis
LEAST_HIGH = 5.0  # % of hits on the axis: less looks like much on a scale of its own
LEAST_OCTAVES = 1.5  # of the axis of sizes; a narrower one has no labels
TONES = {"high": "good", "medium": "unsure", "low": "bad"}
TERMS = {
    "page": "4 KiB of a volume, the unit that the cache holds.",
    "page access": "One touch of a page by a request; a request of 64 KiB makes 16.",
    "hit ratio, hit": "The share of page accesses that the cache serves.",
    "point": "A hundredth of a hit ratio: from 40 % to 42 % are 2 points.",
    "knee": "The size beyond which a further MiB brings less than half of what the average MiB up to all pages brings.",
    "time block": "A stretch of the second half of the trace; all have the same number of page accesses.",
    "90 % interval": "Where the true mean lies in nine of ten cases, given how the figure changes from block to block.",
    "optimum": "A cache that knows the future: no policy without prefetching hits more at this size.",
    "write-back": "A write goes into the cache, and reaches the disk when its page is evicted.",
    "SSD writes": "Pages that are written to the cache's SSD: admitted on a miss, or written by a request.",
    "RejectX": "Keeps a page out of the cache at its first miss, and lets it in if it is missed again soon after.",
    "policy, policies": "The rule by which a cache decides which page to evict, and which to let in.",
    **{one.name: f"A policy: it {one.does}." for one in CANDIDATES},
}


def values_of(found: Recommendation) -> dict[str, Any]:
    """The recommendation as JSON values, units in the keys."""
    bench, picked = found.bench, found.picked
    useful = picked.useful
    return {
        "trace": found.name,
        "recommendation": ordinary(sentences.headline(found)),
        "policy": found.row.ran.policy if useful else None,
        "capacity_pages": found.row.capacity if useful else None,
        "capacity_bytes": found.row.capacity * PAGE_BYTES if useful else None,
        "why": picked.why,
        "knee_pages": found.knee.capacity if found.knee else None,
        "confidence": found.confidence.level,
        "doubts": list(map(ordinary, found.confidence.reasons)),
        "requests": bench.requests,
        "page_accesses": bench.accesses,
        "distinct_pages": bench.n_pages,
        "counted_from": bench.first,
        "counted_days": bench.span_days,
        "first_accesses": bench.first_share,
        "no_cache_response_us": bench.no_cache_us,
        "all_ssd_response_us": bench.all_ssd_us,
        "device": found.device,
        "endurance_tb": found.options.endurance_tb,
        "sampled": found.ranking.rate,
        "sizes": [row.values() for row in picked.rows],
        "fewer_ssd_writes": found.admitted.values() if found.admitted else None,
        "models_asked": found.likeness is not None,
        "models": found.likeness.values() if found.likeness else None,
        **answer.values(found),
        **({} if bench.sample is None else {"trace_sampled": bench.rate, "error_90": found.error_90}),
        "next": sentences.commands(found),
    }


def page_of(found: Recommendation) -> str:
    """The page's HTML."""
    bench = found.bench
    days = bench.span_days
    facts = [
        ("trace", found.name),
        ("read as", bench.trace.meta.source_format),
        ("requests", f"{bench.requests:,}, {share(bench.read_share)} reads"),
        ("pages touched", human(bench.n_pages * PAGE_BYTES) + sentences.sampled(found)),
        ("counted", f"{bench.counted:,} page accesses" + ("" if days is None else f", {duration(DAY_S * days)}")),
        ("first accesses", f"{share(bench.first_share)}: no cache has them"),
        ("trust", found.confidence.level),
    ]
    texts = [
        "Rows are twice as large each, up to all pages that the trace touches; a budget and the two sizes about a "
        "target are rows besides. The policy is the one to run at that size."
    ]
    sections = [
        _answer(found),
        Section("sizes", "What each size brings", texts, [_table(found)], [curve(found)]),
        Section("costs", "Response time and SSD writes", figures=[costs(found)]),
        _sure(found),
        _models(found),
        _assumed(found),
    ]
    title = f"Which cache for {found.name.rpartition('/')[2]}?"
    lead = next(line.texts for line in answer.lines(found) if line.label == "Answer")
    return render(Page(title, lead, facts, sections, TERMS))


def _answer(found: Recommendation) -> Section:
    """The first answer, as the command prints it; then what to run, and why."""
    said = [line for line in answer.lines(found) if line.label != "Answer"]
    rows = [[Cell(line.label), Cell(" ".join([*line.texts, *line.commands]))] for line in said if line.texts]
    first = Table("In short", [Column("", numeric=False), Column("", numeric=False)], rows)
    return Section("answer", "Answer", choices=_choices(found), tables=[first])


def _choices(found: Recommendation) -> list[Choice]:
    run = answer.run_it(found)
    if not found.picked.useful:
        texts = [*sentences.reasons(found), *sentences.notes(found)]
        why, tone = "No size and no policy serves requests that come once.", "bad"
        if found.picked.why == "needless":
            why, tone = "The disk alone reaches the aim.", "good"
        return [Choice("SSD cache", "none", why, tone, texts)]
    row, level = found.row, found.confidence.level
    size, texts = human(row.capacity * PAGE_BYTES), [*sentences.reasons(found), *sentences.notes(found)]
    if run is None:
        return [Choice("SSD cache", "none for speed", f"{level} trust", TONES[level], texts)]
    name = run.policy.rpartition("/")[2]
    if found.learned is not None and run.policy == found.learned.bundle:
        texts.insert(0, f"In place of {name_of(row.ran.policy)}, of which the rest speaks: {answer.learned(found)}")
    choices = [Choice("SSD cache", f"{name} {size}", f"{level} trust", TONES[level], texts, run.command)]
    if (reads := answer.run_reads(found)) is not None:
        choices.append(Choice("Read cache", f"{reads.policy} {size}", "the SSD holds only copies", code=reads.command))
    if (other := found.admitted) is None:
        return choices
    lost = points(100 * (other.ran.hit_ratio - row.ran.hit_ratio))
    lasting = Choice(
        "If the SSD has to last",
        f"{other.ran.policy} {human(other.capacity * PAGE_BYTES)}",
        f"{lifetime(other.years)} instead of {lifetime(row.years)}",
        "unsure",
        [f"{lost} of hit ratio; a request takes {latency(other.ran.response_us)}."],
    )
    return [*choices, lasting]


def _table(found: Recommendation) -> Table:
    columns = [
        Column("cache", numeric=False), Column("policy", numeric=False), Column("hit ratio", "90 % interval"),
        Column("more", "points, to the row before"), Column("LRU", "hit ratio"), Column("response time", "mean"),
        *([Column("SSD writes", "per GiB accessed")] if found.bench.short else
          [Column("SSD writes", "a day"), Column("SSD lasts")]),
    ]  # fmt: skip
    rows = found.picked.rows
    cells = [
        _cells(found, row, rows[k - 1] if k else None, k == found.picked.place and found.picked.useful)
        for k, row in enumerate(rows)
    ]
    marks = f"{sentences.where_knee(found)}; the recommended size is marked"
    if not found.picked.useful:
        marks = "none is needed" if found.picked.why == "needless" else "no size is worth it"
    return Table(f"Counted after {found.bench.first:,} page accesses; {marks}", columns, cells)


def _cells(found: Recommendation, row: Row, before: Row | None, marked: bool) -> list[Cell]:
    ran = row.ran
    more = ran.hit_ratio - before.ran.hit_ratio if before else None
    return [
        Cell(shown(row.capacity, found.bench.n_pages), note="recommended" if marked else "", tone="good" * marked),
        Cell(name_of(ran.policy)),
        share_cell(ran.hit_ratio, ran.interval),
        Cell(NONE) if more is None else Cell(points(100 * more), more),
        share_cell(row.lru),
        Cell(latency(ran.response_us), ran.response_us),
        *wear_cells(row),
    ]


def wear_cells(row: Row) -> list[Cell]:
    """What is written to the SSD: in a day and for how long, or for what is accessed."""
    if row.ssd_bytes_a_day is None:
        return [Cell(human(row.ssd_per_access * 2**30), row.ssd_per_access)]
    lasts = Cell(NONE if row.years is None else lifetime(row.years), row.years)
    return [Cell(human(row.ssd_bytes_a_day), row.ssd_bytes_a_day), lasts]


def _sure(found: Recommendation) -> Section:
    own = found.confidence
    if not found.picked.useful:
        return Section("sure", "How sure is it?", [sentences.how_sure(found)])
    texts = [sentences.how_sure(found), sentences.why_policy(found)]
    if own.blocks:
        name = name_of(found.row.ran.policy)
        texts.append(f"No candidate hit more than {name} in {own.times_best} of {own.blocks} time blocks.")
    drawn = blocks(found)
    return Section("sure", "How sure is it?", texts, [_candidates(found)], [drawn] if drawn else [])


def _candidates(found: Recommendation) -> Table:
    """All candidates at the ladder's size nearest to the recommended one."""
    ranking = found.ranking
    place = min(range(len(ranking.capacities)), key=lambda k: abs(ranking.capacities[k] - found.row.capacity))
    order = sorted(range(len(ranking.policies)), key=lambda p: (-ranking.second[p, place], p))
    rows = []
    for p in order:
        first = float(ranking.first[p, place])
        rows.append(
            [
                Cell(name_of(ranking.policies[p])),
                share_cell(first if first == first else None),
                share_cell(float(ranking.second[p, place])),
                number_cell(ranking.times_best(ranking.policies[p], place)),
            ]
        )
    sampled = ", on a sample of the pages" if ranking.rate < 1 else ""
    size = human(ranking.capacities[place] * PAGE_BYTES)
    columns = [
        Column("policy", numeric=False), Column("first half", "chooses"), Column("second half", "judges"),
        Column("time blocks ahead", f"of {found.bench.blocks}, ties count"),
    ]  # fmt: skip
    return Table(f"Hit ratios of the candidates at {size}{sampled}", columns, rows)


def _models(found: Recommendation) -> Section:
    useful, like = found.picked.useful, found.likeness
    texts = [answer.learned(found) if useful else "No cache is needed, so no learned one either."]
    texts += sentences.model_words(found)
    if useful and like is not None:
        texts += filter(None, [sentences.elsewhere(like)])
        if (flash := like.flash) is not None:
            texts.append(
                f"For a flash cache there is {flash.id}, which says what may enter. Of its {flash.inputs} inputs "
                f"{flash.drifted} are distributed otherwise here than in training ({flash.farthest} the most)."
            )
    return Section("models", "Is a learned cache worth it?", texts)


def _assumed(found: Recommendation) -> Section:
    from markupsafe import escape

    lines = "\n".join(sentences.commands(found))
    saved = [f"The trace came by a pipe: save it as {sentences.SAVED} first."] if found.options.piped else []
    return Section(
        "assumed", "What was assumed, and how to repeat it", [*sentences.assumptions(found), *saved],
        html=f'<pre tabindex="0"><code>{escape(lines)}</code></pre>',
    )  # fmt: skip


def _sizes(found: Recommendation) -> list[int]:
    return [row.capacity * PAGE_BYTES for row in found.picked.rows]


def _size_axis(axes: "Axes", sizes: Sequence[int]) -> None:
    """Sizes in MiB and GiB, with room around a single one."""
    axes.set_xlim(min(sizes) / LEAST_OCTAVES, max(sizes) * LEAST_OCTAVES)
    few_sizes(axes)
    axes.set_xlabel("cache size")


def _mark(axes: "Axes", found: Recommendation, value: float) -> None:
    """The recommended size, at its value on the y axis."""
    at = (found.row.capacity * PAGE_BYTES, value)
    axes.plot(*at, "o", color=VERMILION, markersize=9, zorder=5)
    axes.axvline(at[0], color=VERMILION, linewidth=0.8, linestyle=":")


def curve(found: Recommendation) -> Drawing:
    """Hit ratio over the size: what is recommended at each, LRU, the other candidates, the optimum."""
    from matplotlib.figure import Figure

    rows, ranking = found.picked.rows, found.ranking
    sizes = _sizes(found)
    with settings(narrow=True):
        canvas = Figure(figsize=(PANEL, 4.6), layout="constrained")
        axes = canvas.subplots()
        own = "recommended" if found.picked.useful else "chosen policy"
        tried = [capacity * PAGE_BYTES for capacity in ranking.capacities]
        for k, ratios in enumerate(100 * ranking.second):
            label = "other candidates" if k == 0 else None
            axes.plot(tried, ratios, color=GREY, linewidth=0.7, alpha=0.6, label=label)
        axes.plot(tried, 100 * ranking.optimum, color=BLACK, linestyle=":", label="optimum")
        axes.plot(sizes, [100 * row.lru for row in rows], color=SKY, label="LRU")
        axes.plot(sizes, [100 * row.ran.hit_ratio for row in rows], color=BLUE, marker=".", linewidth=2, label=own)
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
        canvas.legend(loc="outside lower center", ncols=2, columnspacing=1.0, handlelength=1.5)
        drawn = svg(canvas)
    best = ", ".join(f"{share(row.ran.hit_ratio)} at {human(size)}" for row, size in zip(rows, sizes, strict=True))
    sampled = " Grey and dotted curves are of a sample of the pages." if ranking.rate < 1 else ""
    return Drawing(drawn, f"Hit ratio over the size: {best}.", f"Hit ratio of each size on the second half.{sampled}")


def costs(found: Recommendation) -> Drawing:
    """Mean response time and SSD writes over the size."""
    rows, sizes, bench = found.picked.rows, _sizes(found), found.bench
    from matplotlib.figure import Figure

    written, unit, what = _written(found)
    with settings(narrow=True):
        canvases = [Figure(figsize=(PANEL, 3.6), layout="constrained") for _ in range(2)]
        left, right = (canvas.subplots() for canvas in canvases)
        left.plot(sizes, [row.ran.response_us / 1e3 for row in rows], color=BLUE, marker=".", linewidth=2)
        left.axhline(bench.no_cache_us / 1e3, color=GREY, linestyle="--", label="no cache, the disk alone")
        left.axhline(bench.all_ssd_us / 1e3, color=BLACK, linestyle=":", label="everything on the SSD")
        left.set_ylabel("mean response time, ms")
        left.set_ylim(0, None)
        left.legend()
        left.set_title("Response time (modelled)", loc="left")
        heights = [written(row) for row in rows]
        right.plot(sizes, heights, color=BLUE, marker=".", linewidth=2, label="recommended")
        right.set_ylabel(unit)
        right.set_ylim(0, None)
        right.set_title("SSD writes", loc="left")
        if found.picked.useful:
            _mark(left, found, found.row.ran.response_us / 1e3)
            _mark(right, found, heights[found.picked.place])
        if found.admitted is not None:
            own = found.admitted
            right.plot(own.capacity * PAGE_BYTES, written(own), "s", color=AMBER, markersize=8, label="behind RejectX")
            right.legend()
        for axes in (left, right):
            _size_axis(axes, sizes)
        drawn = svg(canvases)
    times = ", ".join(f"{latency(row.ran.response_us)} at {human(size)}" for row, size in zip(rows, sizes, strict=True))
    return Drawing(drawn, f"Mean response time: {times}.", f"Mean response time of a request, and {what}.")


def _written(found: Recommendation) -> tuple[Callable[[Row], float], str, str]:
    """A row's SSD writes, their unit, and what they are in sentences."""
    if found.bench.short:
        unit = "SSD writes, MiB per GiB accessed"
        return lambda row: 1024 * row.ssd_per_access, unit, "what is written to the SSD per GiB of page accesses"

    def daily(row: Row) -> float:
        return (row.ssd_bytes_a_day or 0.0) / 2**30

    return daily, "written to the SSD, GiB a day", "what is written to the SSD in a day like the second half"


def blocks(found: Recommendation) -> Drawing | None:
    """Lead over LRU of the policy that was chosen, block by block; None where there are none, or it is LRU."""
    lead, chosen = found.row.lead, found.row.chosen
    if not lead.blocks or chosen == SIMPLEST:
        return None
    from matplotlib.figure import Figure

    leads = 100 * lead.by_block
    with settings(narrow=True):
        canvas = Figure(figsize=(PANEL, 3.0), layout="constrained")
        axes = canvas.subplots()
        axes.bar(range(1, len(leads) + 1), leads, color=[BLUE if one > 0 else VERMILION for one in leads])
        axes.axhline(0, color=BLACK, linewidth=0.8)
        axes.axhline(100 * lead.value, color=GREY, linestyle="--", label="mean")
        axes.set_xticks(range(1, len(leads) + 1, -(-len(leads) // MOST_BLOCKS)))
        axes.set_xlabel("time block of the second half")
        axes.set_ylabel("lead over LRU, points")
        axes.set_title(f"{name_of(chosen)} ahead of LRU in {lead.won} of {lead.blocks} time blocks", loc="left")
        axes.legend()
        drawn = svg(canvas)
    alt = "Lead in points by time block: " + ", ".join(f"{one:.1f}" for one in leads) + "."
    return Drawing(drawn, alt, "Each time block has the same number of page accesses; none of them chose the policy.")

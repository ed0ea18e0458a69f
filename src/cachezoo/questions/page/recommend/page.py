"""The recommendation as one self-contained HTML page: the answer, what each size brings, how sure, what was assumed."""

from dataclasses import replace
from typing import TYPE_CHECKING

from cachezoo.flash.load import DAY_S
from cachezoo.questions.page.recommend import words
from cachezoo.questions.page.recommend.candidates import CANDIDATES, name_of
from cachezoo.questions.page.recommend.ladder import shown
from cachezoo.questions.page.recommend.plot import blocks, costs, curve
from cachezoo.questions.page.recommend.rows import Row
from cachezoo.show.formats import NONE, duration, latency, lifetime, points, share
from cachezoo.show.page import Page, render
from cachezoo.show.section import Choice, Section
from cachezoo.show.table import Cell, Column, Table, number_cell, share_cell
from cachezoo.sizes import human
from cachezoo.traces.table import OP_READ, PAGE_BYTES

if TYPE_CHECKING:
    from cachezoo.questions.page.recommend.recommendation import Recommendation

TONES = {"high": "good", "medium": "unsure", "low": "bad"}
TERMS = {
    "page": "4 KiB of a volume, the unit that the cache holds.",
    "page access": "One touch of a page by a request; a request of 64 KiB makes 16.",
    "hit ratio, hit": "The share of page accesses that the cache serves.",
    "point": "A hundredth of a hit ratio: from 40 % to 42 % are 2 points.",
    "knee": "The size beyond which a further MiB brings less than half of what the average MiB up to all pages does.",
    "time block": "A stretch of the second half of the trace; all have the same number of page accesses.",
    "90 % interval": "Where the true mean lies in nine of ten cases, given how the figure changes from block to block.",
    "optimum": "A cache that knows the future: no policy hits more at this size.",
    "write-back": "A write goes into the cache, and reaches the disk when its page is evicted.",
    "SSD writes": "Pages that are written to the cache's SSD: admitted on a miss, or written by a request.",
    "RejectX": "Keeps a page out of the cache at its first miss, and lets it in if it is missed again soon after.",
    "policy, policies": "The rule by which a cache decides which page to evict, and which to let in.",
    **{one.name: f"A policy: it {one.does}." for one in CANDIDATES},
}


def page_of(found: "Recommendation") -> str:
    """The page's HTML."""
    bench = found.bench
    days = bench.span_days
    pages = bench.pages
    facts = [
        ("trace", found.name),
        ("read as", bench.trace.meta.source_format),
        ("requests", f"{len(bench.trace):,}, {share(float((bench.trace.op == OP_READ).mean()))} reads"),
        ("pages touched", human(pages.n_pages * PAGE_BYTES)),
        ("counted", f"{bench.counted:,} page accesses" + ("" if days is None else f", {duration(DAY_S * days)}")),
        ("first accesses", f"{share(bench.first_share)}: no cache has them"),
        ("confidence", found.confidence.level),
    ]
    sections = [_answer(found), _curve(found), _costs(found), _sure(found), *_models(found), _assumed(found)]
    title = f"Which cache for {found.name.rpartition('/')[2]}?"
    return render(Page(title, [words.headline(found)], facts, sections, TERMS))


def _answer(found: "Recommendation") -> Section:
    if not found.picked.useful:
        texts = [*words.reasons(found), *words.notes(found)]
        why, tone = "No size and no policy serves requests that come once.", "bad"
        if found.picked.why == "needless":
            why, tone = "The disk alone reaches the aim.", "good"
        return Section("answer", "Answer", choices=[Choice("Page cache", "none", why, tone, texts)])
    row = found.row
    tone = TONES[found.confidence.level]
    main = Choice(
        "Page cache", f"{row.ran.policy} {human(row.capacity * PAGE_BYTES)}",
        f"{found.confidence.level} confidence", tone,
        [*words.reasons(found), *words.notes(found)], words.commands(found)[0],
    )  # fmt: skip
    choices = [main]
    if (other := found.admitted) is not None:
        lost = points(100 * (other.ran.hit_ratio - row.ran.hit_ratio))
        choices.append(
            Choice(
                "If the SSD has to last",
                f"{other.ran.policy} {human(other.capacity * PAGE_BYTES)}",
                f"{lifetime(other.years)} instead of {lifetime(row.years)}",
                "unsure",
                [f"{lost} of hit ratio; a request takes {latency(other.ran.response_us)}."],
            )
        )
    return Section("answer", "Answer", choices=choices)


def _curve(found: "Recommendation") -> Section:
    texts = [
        "Rows are twice as large each, up to all pages that the trace touches; a budget and the two sizes about a "
        "target are rows besides. The policy is the one to run at that size."
    ]
    return Section("sizes", "What each size brings", texts, [_table(found)], [curve(found)])


def _table(found: "Recommendation") -> Table:
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
    if found.tried is not None:
        first, *others = _cells(found, found.tried, None, False)
        cells.append([replace(first, note="tried"), *others])
    caption = f"Counted after {found.bench.half:,} page accesses; {'; '.join(_marks(found))}"
    return Table(caption, columns, cells)


def _marks(found: "Recommendation") -> list[str]:
    if not found.picked.useful:
        return ["none is needed" if found.picked.why == "needless" else "no size is worth it"]
    return [words.where_knee(found), "the recommended size is marked"]


def _cells(found: "Recommendation", row: Row, before: Row | None, marked: bool) -> list[Cell]:
    ran = row.ran
    more = ran.hit_ratio - before.ran.hit_ratio if before else None
    return [
        Cell(
            shown(row.capacity, found.bench.pages.n_pages), note="recommended" if marked else "", tone="good" * marked
        ),
        Cell(name_of(ran.policy)),
        share_cell(ran.hit_ratio, ran.interval),
        Cell(NONE) if more is None else Cell(points(100 * more), more),
        share_cell(row.lru),
        Cell(latency(ran.response_us), ran.response_us),
        *_worn(row),
    ]


def _worn(row: Row) -> list[Cell]:
    """What is written to the SSD: in a day and for how long, or for what is accessed."""
    if row.ssd_bytes_a_day is None:
        return [Cell(words.per_gib(row.ssd_per_access), row.ssd_per_access)]
    lasts = Cell(NONE if row.years is None else lifetime(row.years), row.years)
    return [Cell(human(row.ssd_bytes_a_day), row.ssd_bytes_a_day), lasts]


def _costs(found: "Recommendation") -> Section:
    return Section("costs", "Response time and SSD writes", figures=[costs(found)])


def _sure(found: "Recommendation") -> Section:
    own = found.confidence
    if not found.picked.useful:
        return Section("sure", "How sure is it?", [words.how_sure(found)])
    texts = [words.how_sure(found), words.why_policy(found)]
    if own.blocks:
        name = name_of(found.row.ran.policy)
        texts.append(f"No candidate hit more than {name} in {own.times_best} of {own.blocks} time blocks.")
    drawn = blocks(found)
    return Section("sure", "How sure is it?", texts, [_candidates(found)], [drawn] if drawn else [])


def _candidates(found: "Recommendation") -> Table:
    """All candidates at the ladder's size nearest to the recommended one."""
    contest = found.contest
    place = min(range(len(contest.capacities)), key=lambda k: abs(contest.capacities[k] - found.row.capacity))
    order = sorted(range(len(contest.policies)), key=lambda p: (-contest.judged[p, place], p))
    rows = []
    for p in order:
        first = float(contest.choosing[p, place])
        rows.append(
            [
                Cell(name_of(contest.policies[p])),
                share_cell(first if first == first else None),
                share_cell(float(contest.judged[p, place])),
                number_cell(contest.times_best(contest.policies[p], place)),
            ]
        )
    sampled = ", on a sample of the pages" if contest.rate < 1 else ""
    size = human(contest.capacities[place] * PAGE_BYTES)
    columns = [
        Column("policy", numeric=False), Column("first half", "chooses"), Column("second half", "judges"),
        Column("time blocks ahead", f"of {found.bench.blocks}, ties count"),
    ]  # fmt: skip
    return Table(f"Hit ratios of the candidates at {size}{sampled}", columns, rows)


def _models(found: "Recommendation") -> list[Section]:
    texts = words.model_words(found)
    if not found.picked.useful:
        return [Section("models", "Is a trained model worth a try?", texts)]
    if found.likeness is not None and (more := words.elsewhere(found.likeness)):
        texts.append(more)
    if found.likeness is not None and (flash := found.likeness.flash) is not None:
        texts.append(
            f"For a flash cache there is {flash.id}, which says what may enter. Of its {flash.inputs} inputs "
            f"{flash.drifted} are distributed otherwise here than in training ({flash.farthest} the most)."
        )
    return [Section("models", "Is a trained model worth a try?", texts)]


def _assumed(found: "Recommendation") -> Section:
    from markupsafe import escape

    lines = "\n".join(words.commands(found))
    saved = [f"The trace came by a pipe: save it as {words.SAVED} first."] if found.asked.piped else []
    return Section(
        "assumed", "What was assumed, and how to repeat it", [*words.assumptions(found), *saved],
        html=f'<pre tabindex="0"><code>{escape(lines)}</code></pre>',
    )  # fmt: skip

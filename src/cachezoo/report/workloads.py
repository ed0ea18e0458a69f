"""A workload's card: what to run in the page cache and in the flash cache, and what stands behind it."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from cachezoo import paths
from cachezoo.metrics.flash import FlashMetrics, FlashRow
from cachezoo.metrics.page import PageTrace, PolicyRow
from cachezoo.models.measured import Model
from cachezoo.report.cases import Case, InFlash, InPage, accepting_all, tried
from cachezoo.report.gather import Category, Sources
from cachezoo.report.sections import carried
from cachezoo.report.tables import card_anchor
from cachezoo.report.verdict import (
    TONES,
    Answer,
    Answers,
    Judged,
    Verdict,
    flash_verdict,
    page_models,
    page_verdict,
)
from cachezoo.show.formats import NONE, latency, number, percent, points, span, words
from cachezoo.show.section import Choice, Drawing, Section
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.sizes import PAGE_BYTES, human

FILTER = "runtimes/c/build/nbdkit-cachezoo-filter.so"
MOUNTED = "rejectx"  # the policy without a model that is a mode of the nbdkit filter and keeps a budget


def page_lines(run: str, model: bool, capacity: int | None, fraction: float) -> str:
    """Run a bundle's page cache from Python, or try a classic on one's own trace.

    Args:
        run: the bundle's or the policy's id.
        model: whether it is a bundle.
        capacity: pages of a cache that it was measured with; None where none was.
        fraction: that as a part of a trace's distinct pages.
    """
    share = f"{100 * fraction:g}%"
    if not model:
        return f".venv/bin/cachezoo simulate TRACE --policy '{run}' --size {share}"
    pages = capacity or 16_384
    return (
        "from cachezoo import runtime  # make wheel\n"
        f'model = runtime.open("{paths.bundle(run)}", capacity={pages})\n'
        f"cache = model.cache({pages})  # pages of 4 KiB: {human(pages * PAGE_BYTES)}"
    )


def flash_lines(run: Sequence[str], model: bool, flash: FlashMetrics, mode: str) -> str:
    """Mount a disk behind a flash cache; for a policy that is no mode of the filter, RejectX in its place, and why.

    Args:
        run: id of an admission bundle, or of a policy.
        model: whether it is a bundle.
        flash: the category's figures, for the window that met the write budget.
        mode: the prefetch mode.
    """
    why = ""
    if model:
        how = [f"cz-bundle={paths.bundle(run[0])}"]
    else:
        own = mode if run[0] == MOUNTED else flash.modes[MOUNTED].mode
        how = [f"cz-mode={MOUNTED} cz-window={flash.window:.0f} 'cz-prefetch={own}'"]
        if run[0] != MOUNTED:
            why = f"# No cz-mode is {run[0]}; this one met the write budget on validation:\n"
    options = " \\\n".join(["cz-ssd=/dev/disk/by-id/nvme-SSD-part4 cz-size=64G", *how])
    return f"{why}nbdkit -U disk.sock file /dev/disk/by-id/ata-DISK \\\n--filter={FILTER} \\\n{options}"


C = TypeVar("C", bound=Case)
LRU = "lru"
CARRIES = "Does it carry over?"
PAGE_COLUMNS = (
    Column("policy", "and test trace", numeric=False),
    Column("hit ratio", "90 % interval, spread over trainings"),
    Column("SSD writes", "pages for 100 requests"),
    Column("response time", "mean µs, decisions included"),
    Column("verdict", numeric=False),
)
FLASH_COLUMNS = (
    Column("policy", "and test trace", numeric=False),
    Column("disks kept busy", "mean, 90 % interval"),
    Column("busiest window", "disks kept busy"),
    Column("SSD writes", "of AcceptAll's"),
    Column("verdict", "saved, and its 90 % interval", numeric=False),
)


def workload_anchor(category: str) -> str:
    """Where a workload's card stands on the page."""
    return f"workload-{category}"


def summary_table(told: Mapping[str, Answers]) -> Table:
    """One row a workload: what to run in either cache, and whether its model is worth it."""
    columns = [
        Column("workload", numeric=False),
        Column("page cache: run", numeric=False),
        Column("its model", numeric=False),
        Column("flash cache: run", numeric=False),
        Column("its model", numeric=False),
    ]
    rows = []
    for category, answers in told.items():
        first = Cell(category, link=f"#{workload_anchor(category)}")
        rows.append([first, *(cell for answer in answers for cell in _summary_cells(answer))])
    return Table("What to run", columns, rows)


def _summary_cells(answer: Answer[InPage] | Answer[InFlash]) -> list[Cell]:
    run = name_cell(" + ".join(answer.run)) if answer.run else Cell(NONE)
    return [run, Cell(answer.verdict, tone=answer.tone, note=answer.why)]


def workload_section(
    sources: Sources, category: Category, answers: Answers, drawings: Sequence[Drawing]
) -> Section:  # fmt: skip
    """A workload's card: choices, figures on its own programs, then on programs that were not trained on."""
    page, flash = answers.page, answers.flash
    tables = [page_cases_table(sources, category, page.home, "Page cache, on its own programs")]
    tables.append(flash_cases_table(flash, flash.home, "Flash cache, on its own programs"))
    away = [page_cases_table(sources, category, page.away, f"{CARRIES} Page cache, on programs not trained on")]
    away.append(flash_cases_table(flash, flash.away, f"{CARRIES} Flash cache, on programs not trained on"))
    told = [f"{answer.cache.capitalize()}: {text}" for answer in answers for text in answer.texts]
    parts = [
        _fold("figures", category, "Every test trace: figures and verdict", tables),
        _fold("carried", category, f"{CARRIES} Figures and verdict on each program not trained on", away),
        Section(f"why-{category.name}", "Every verdict in words", told, folded=True),
    ]
    shown = [part for part in parts if part is not None]
    choices = [page_choice(sources, category, page), flash_choice(category, flash)]
    anchor = workload_anchor(category.name)
    return Section(anchor, category.name, figures=drawings, parts=shown, choices=choices)


def _fold(what: str, category: Category, title: str, tables: Sequence[Table | None]) -> Section | None:
    shown = [table for table in tables if table is not None]
    return Section(f"{what}-{category.name}", title, tables=shown, folded=True) if shown else None


def _verdict_line(answer: Answer[C]) -> str:
    if answer.verdict == Verdict.DONT:
        return f"{Verdict.DONT} deploy {' + '.join(answer.models) or 'a model'}"
    if answer.verdict == Verdict.WRITES and answer.instead:
        return f"{answer.verdict}, else {answer.instead}"
    return str(answer.verdict)


def _why_line(answer: Answer[C]) -> str:
    return f"{answer.why[:1].upper()}{answer.why[1:]}."


def _away_lines(judged: Mapping[str, Judged], more: str) -> list[str]:
    """Verdicts on programs that no train trace came from, and what else was tried away from home."""
    found = [f"{trace}: {verdict} ({why})" for trace, (verdict, why) in judged.items()]
    said = [text for text in (f"{'; '.join(found)}." if found else "", more) if text]
    return [f"{CARRIES} {' '.join(said or tried(()))}"]


def page_choice(sources: Sources, category: Category, answer: Answer[InPage]) -> Choice:
    """What to run in the page cache."""
    if not answer.run:
        return Choice("Page cache", NONE, f"{answer.verdict}: {answer.why}", answer.tone, answer.texts)
    models = {model.id: model for model in page_models(sources, category)}
    texts = [_why_line(answer)]
    texts += [
        text for case in answer.home for text in _page_lines(sources, category, case, models.get(case.own.policy))
    ]
    if answer.models:
        more = carried(sources, models[answer.models[0]].trained.kind, category.name)
        texts += _away_lines({case.trace: page_verdict(case) for case in answer.away}, more)
    measured = [category.page.traces[case.trace] for case in (*answer.home, *answer.cases) if category.page is not None]
    capacity = measured[0].capacity if measured else None
    code = page_lines(answer.run[0], answer.runs_model, capacity, sources.capacity_fraction)
    link = f"#{card_anchor(answer.run[0])}" if answer.runs_model else ""
    return Choice(
        "Page cache: run", answer.run[0], _verdict_line(answer), answer.tone, texts, code, link
    )  # fmt: skip


def _page_lines(sources: Sources, category: Category, case: InPage, model: Model | None) -> list[str]:
    """Hits, SSD writes and response times on a test trace, beside the classic that validation chose."""
    own, rival = case.own, case.rival
    spread = _spread(model)
    ends = f"90 % interval {span(own.hit_ratio_interval, 1)}" + (f"; {spread}" if spread else "")
    hits = f"{case.trace}: {percent(own.hit_ratio)} of page accesses hit ({ends})"
    hindsight = f"{points(own.gap_points)} on {case.best.policy}, the best classic in hindsight"
    if own.policy == rival.policy:
        return [f"{hits}, {hindsight}."]
    gained = points(100 * (own.hit_ratio - rival.hit_ratio))
    return [
        f"{hits}: {gained} on {rival.policy}, validation's classic, and {hindsight}.",
        f"SSD writes: {number(own.ssd_writes_per_100_io, 1)} pages for 100 requests instead of "
        f"{number(rival.ssd_writes_per_100_io, 1)}. Response time: {latency(own.mean_response_us)} on the "
        f"mean instead of {latency(rival.mean_response_us)}.",
    ]


def flash_choice(category: Category, answer: Answer[InFlash]) -> Choice:
    """What to run in the flash cache."""
    if not answer.run or category.flash is None:
        return Choice("Flash cache", NONE, f"{answer.verdict}: {answer.why}", answer.tone, answer.texts)
    texts = [_why_line(answer), *(_busy_line(case, bool(answer.models)) for case in answer.home)]
    if answer.models:
        texts += _away_lines({case.trace: flash_verdict(case) for case in answer.away}, "")
    texts += [accepting_all(case) for case in answer.home]
    mode = category.flash.mode if answer.runs_model else category.flash.modes[answer.run[0]].mode
    shown = " + ".join(answer.run) + (f" + {mode}" if mode != "none" else "")
    code = flash_lines(answer.run, answer.runs_model, category.flash, mode)
    link = f"#{card_anchor(answer.run[0])}" if answer.runs_model else ""
    return Choice("Flash cache: run", shown, _verdict_line(answer), answer.tone, texts, code, link)


def _busy_line(case: InFlash, promoted: bool) -> str:
    low, high = case.best.mean_dt_saved_interval
    changed = percent(-case.best.mean_dt_saved, 1, signed=True)
    keeps = "keeps" if promoted else "would keep"
    return (
        f"{case.trace}: the model {keeps} {number(case.own.read_dt.mean, 2)} disks busy instead of "
        f"{number(case.beside.read_dt.mean, 2)} with {case.rival}, both kept to the write budget: {changed} "
        f"(90 % interval {span((-high, -low), 1)} %), in the busiest window "
        f"{percent(-case.best.peak_dt_saved, 1, signed=True)}."
    )


def page_cases_table(sources: Sources, category: Category, cases: Sequence[InPage], caption: str) -> Table | None:
    """Models, the classics that matter and LRU on some test traces; None without these."""
    if not cases or category.page is None:
        return None
    models = {model.id: model for model in page_models(sources, category)}
    rows = []
    for case in cases:
        trace = category.page.traces[case.trace]
        for row in _page_rows(case, trace, list(models)):
            rows.append(_page_cells(sources, case, row, trace, models.get(row.policy)))
    size = percent(sources.capacity_fraction, 0)
    return Table(f"{caption}: a cache of {size} of the trace's pages", PAGE_COLUMNS, rows)


def _page_rows(case: InPage, trace: PageTrace, models: Sequence[str]) -> list[PolicyRow]:
    names = dict.fromkeys([case.own.policy, *models, case.rival.policy, case.best.policy, LRU])
    return [row for name in names if (row := trace.row(name)) is not None]


def _page_cells(
    sources: Sources, case: InPage, row: PolicyRow, trace: PageTrace, model: Model | None
) -> list[Cell]:  # fmt: skip
    what = {case.rival.policy: "validation's classic", case.best.policy: "best classic in hindsight"}.get(row.policy)
    spread = _spread(model)
    note = "; ".join(text for text in (span(row.hit_ratio_interval, 1), spread) if text)
    if model is None:
        verdict = Cell(what or NONE)
    elif not model.promoted:
        verdict = Cell("not promoted")
    else:
        verdict = _verdict_cell(page_verdict(InPage(case.trace, case.unseen, row, case.best, case.choice)))
    return [
        name_cell(row.policy, note=case.trace),
        Cell(percent(row.hit_ratio), row.hit_ratio, note),
        number_cell(row.ssd_writes_per_100_io, 1),
        number_cell(row.mean_response_us),
        verdict,
    ]


def _verdict_cell(judged: Judged) -> Cell:
    verdict, why = judged
    return Cell(verdict, note=why, tone=TONES[verdict])


def _spread(model: Model | None) -> str:
    """Standard deviation over trainings as validation found it; empty of a classic."""
    if model is None:
        return ""
    validation = model.trained.validation
    sd, seeds = validation.get("seeds_hit_ratio_sd", validation.get("hit_ratio_sd")), validation.get("seeds")
    if sd is None or not seeds:
        return "one training"
    return f"±{number(100 * sd, 2)} points over {number(seeds)} trainings, on validation"


def flash_cases_table(answer: Answer[InFlash], cases: Sequence[InFlash], caption: str) -> Table | None:
    """The models and the best policy without one on some test traces, at one write rate; None without these."""
    if not cases:
        return None
    rows = []
    for case in cases:
        name = " + ".join(answer.models) or "the models, not promoted"
        saved = case.best
        note = f"{percent(saved.mean_dt_saved, 1, signed=True)} {span(saved.mean_dt_saved_interval, 1)}"
        verdict, why = flash_verdict(case) if answer.models else (Verdict.DONT, "not promoted")
        told = Cell(verdict, note=f"{note}; {why}", tone=TONES[verdict])
        mode = "" if case.own.prefetch == "none" else f" + {case.own.prefetch}"
        rows.append(_flash_cells(name + mode, case.trace, case.own, told))
        rows.append(_flash_cells(case.rival, case.trace, case.beside, Cell("best without a model")))
    return Table(
        f"{caption}: one controller keeps the same rate of SSD writes for all; one training", FLASH_COLUMNS, rows
    )


def _flash_cells(name: str, trace: str, row: FlashRow, verdict: Cell) -> list[Cell]:
    wear = f"{number(row.dwpd, 1)} drive writes a day" if row.dwpd is not None else ""
    writes = share_cell(row.writes_of_accept_all)
    return [
        name_cell(name, note=trace),
        number_cell(row.read_dt.mean, 2, row.read_dt_mean_interval),
        number_cell(row.read_dt.peak, 2),
        Cell(writes.text, writes.value, wear),
        verdict,
    ]


def in_short(told: Mapping[str, Answers]) -> str:
    """Where a model is worth it, in a sentence for each cache."""
    parts = []
    for cache in ("page cache", "flash cache"):
        found: dict[Verdict, list[str]] = {}
        for category, answers in told.items():
            answer = next(one for one in answers if one.cache == cache)
            found.setdefault(answer.verdict, []).append(category)
        said = [f"{verdict.lower()} for {words(found[verdict])}" for verdict in Verdict if verdict in found]
        parts.append(f"A model in the {cache}: {'; '.join(said)}.")
    return " ".join(parts)

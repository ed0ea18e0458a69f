"""The blocks of README.md and docs/ that are made from code and metrics: `make facts` writes them anew.

Counts and results of the pipeline are in such blocks; the text around them has none. The tables are those of
`cachezoo models results -v`, of the report and of `make figures`, by the same functions. Plots of results in
docs/img are drawn here too, as the report draws them.

Other blocks have sources that take longer, and commands of their own: scripts/data_dictionary.py,
scripts/corpus_table.py, tests/mutants/score.py and `make figures`, for lab/results/claims.md.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from cachezoo import cli
from cachezoo.errors import CachezooError
from cachezoo.io import atomic_file
from cachezoo.metrics.base import Overall
from cachezoo.metrics.page import PolicyRow
from cachezoo.policies.registry import classics
from cachezoo.questions import results as found
from cachezoo.questions.result_tables import admissions_table, flash_table, summary_table
from cachezoo.questions.share import table as share
from cachezoo.questions.tiers import table as tiers
from cachezoo.questions.wear import report as streams
from cachezoo.report.gather import Category
from cachezoo.report.plots import policies_figure
from cachezoo.report.tables import policy_tables
from cachezoo.show import markdown
from cachezoo.show.formats import NONE, number, percent, words
from cachezoo.show.output import drawn
from cachezoo.show.plots import CARRIED, policies_plot
from cachezoo.show.style import settings
from cachezoo.show.table import Cell, Column, Table, name_cell
from cachezoo.traces.formats import FORMATS
from cachezoo.zoo.reuse import report as reuse
from cachezoo.zoo.reuse.metrics import Group, ReuseMetrics, Where, headline_text
from cachezoo.zoo.streams.metrics import StreamsMetrics
from cachezoo.zoo.virtual import report as virtual
from cachezoo.zoo.virtual.metrics import VirtualMetrics
from cachezoo.zoo.workload.metrics import WorkloadMetrics
from lab import goals, pages
from lab.carry_over import document as carried
from lab.carry_over import plot as carried_plot
from lab.reconfigure import document as reconfigured
from lab.reconfigure import live
from lab.reconfigure import plot as changing
from lab.retrained import document as retrained
from scripts import command_line
from tests.mutants.mutants import MUTANTS

if TYPE_CHECKING:
    from rich.table import Table as Printed

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "make facts"
IMAGES = Path("docs/img")
PLOTS = ("results.png", CARRIED)
PLOTTED = "database"  # the category whose policies the plot of README.md shows
NEW: Mapping[Where, str] = {
    "home": "later days of its recipes",
    "set-up": "new set-ups",
    "program": "new programs",
}
FOR: Mapping[str, str] = {
    "admission": "admission to flash",
    "caching": "one category's page cache",
    "reuse": "every page cache",
    "workload": "classifying workloads",
    "streams": "placing an SSD's writes",
    "virtual": "the virtual I/O cache",
}  # what models of a kind are for
USE_IT = (
    "In the column *use it?*, *don't* is for a model that is not promoted or not ahead in the mean, *not on* counts "
    "the streams below the floor."
)
LIMITS = "data/raw/captured/README.md#limits"
Block = Callable[["Facts"], str]
M = TypeVar("M", bound=Overall)


@dataclass(frozen=True)
class Facts:
    """What the blocks are made from: the metrics of the pipeline."""

    run: found.Results = field(default_factory=partial(found.read_results, None))

    @property
    def reuse(self) -> ReuseMetrics:
        """Of the cache for every workload."""
        return _of(ReuseMetrics, self.run.systems.get("reuse"))

    @property
    def workload(self) -> WorkloadMetrics:
        """Of the classifier."""
        return _of(WorkloadMetrics, self.run.systems.get("workload"))

    @property
    def streams(self) -> dict[str, StreamsMetrics]:
        """Of placements on streams, by category."""
        own = self.run.by_category.get("streams", {})
        return {name: _of(StreamsMetrics, one) for name, one in own.items()}

    @property
    def virtual(self) -> dict[str, VirtualMetrics]:
        """Of virtual caches, by category."""
        own = self.run.by_category.get("virtual", {})
        return {name: _of(VirtualMetrics, one) for name, one in own.items()}

    def categories(self) -> list[Category]:
        """Those with a page cache, as the report has them."""
        return [Category(one.category, one, None, []) for one in self.run.pages]


def _of(kind: type[M], metrics: Overall | None) -> M:
    if isinstance(metrics, kind):
        return metrics
    raise CachezooError(f"metrics/: has no {kind.__name__}; run `make repro`")


def _block(*parts: "Table | Printed | str") -> str:
    """Tables with titles and what their columns mean, and sentences."""
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(f"{part}\n")
        else:
            texts.append(markdown.titled(drawn(part, 0) if isinstance(part, Table) else part))
    return "\n".join(texts)


def _listed(names: Sequence[str]) -> str:
    return words(names) if names else "no test trace"


def best_models(run: found.Results) -> dict[str, PolicyRow | None]:
    """By test trace for which caching models were trained, the promoted one with the most hits."""
    rows: dict[str, list[found.PageResult]] = {}
    for one in run.page_rows():
        if one.row.kind == "model" and not one.row.policy.startswith("admission."):
            rows.setdefault(one.trace, []).append(one)
    promoted = {trace: [one.row for one in own if one.promoted] for trace, own in rows.items()}
    return {trace: max(own, key=lambda row: row.hit_ratio, default=None) for trace, own in promoted.items()}


def _ahead(row: PolicyRow | None) -> bool:
    """Whether a model surely hits more than the best classic in hindsight."""
    return bool(row and row.gap_closed_interval and row.gap_closed_interval[0] > 0)


def wins_and_losses(facts: Facts) -> str:
    """Where learned caches pay, and where they do not."""
    best = best_models(facts.run)
    ahead = [trace for trace, row in best.items() if _ahead(row)]
    behind = [trace for trace in best if trace not in ahead]
    saved = {one.trace: one for one in facts.run.flash_saved() if one.rival == "best"}
    surely = [one.trace for one in promoted_savings(facts.run) if one.interval[0] > 0]
    won = (
        f"A promoted model surely hits more than the best classic in hindsight on {_listed(ahead)}; a promoted "
        f"admission that knows user and namespace surely saves disk time on {_listed(surely)}."
    )
    lost = (
        f"No such lead is shown on {_listed(behind)}; of these admissions none surely saves disk time on "
        f"{_listed([trace for trace in saved if trace not in surely])}."
    )
    return f"**Wins.** {won}\n\n**Losses.** {lost}\n"


def promoted_savings(run: found.Results) -> list[found.FlashSaved]:
    """What promoted admissions save against the best policy without a model, by test trace."""
    return [one for one in run.flash_saved() if one.rival == "best" and one.promoted]


def learned(facts: Facts) -> str:
    """What the page cache that learns brings on long streams, and where it does not."""
    said = " ".join([headline_text(facts.reuse), *_not_leading(facts.reuse)])
    return f"**The page cache that learns.** {said} ([How judged](docs/page-cache.md), [limits]({LIMITS}).)"


def _not_leading(metrics: ReuseMetrics) -> list[str]:
    """A sentence for each size and place where the cache does not lead in the mean."""
    return [_behind(group) for group in metrics.groups() if not group.worth]


def _behind(group: Group) -> str:
    return (
        f"With a cache of {percent(group.capacity_fraction, 0)} of the pages, on {NEW[group.where]}, it hits "
        f"{number(-group.lead_points, 1)} points less than the chosen classic."
    )


def admitted(facts: Facts) -> str:
    """What learned admissions bring to flash caches."""
    saved = promoted_savings(facts.run)
    surely = [one for one in saved if one.interval[0] > 0]
    means = [one.mean for one in surely]
    others = [one.trace for one in saved if one not in surely]
    span = f" ({number(100 * min(means), 0)} to {percent(max(means), 0)})" if means else ""
    left = [metrics.category for metrics in facts.run.flashes if not metrics.promoted]
    return (
        "**Learned admission to flash.** With as few SSD writes as the best policy without a model, promoted models "
        f"that know user and namespace surely save disk time on {len(surely)} of {len(saved)} test traces{span}"
        f"{f', not on {words(others)}' if others else ''}."
        f"{f' Not promoted: those for {words(left)}.' if left else ''}"
    )


def losing(facts: Facts) -> str:
    """Where models lose: how many validation does not promote, of what kinds all, and where promoted ones lose."""
    behind = [trace for trace, row in best_models(facts.run).items() if not _ahead(row)]
    kinds: dict[str, list[bool]] = {}
    for one in facts.run.bundles():
        kinds.setdefault(one.model.partition(".")[0], []).append(one.promoted)
    every = [one for own in kinds.values() for one in own]
    none = [FOR[kind] for kind, own in kinds.items() if not any(own)]
    short = f" On the short traces {words(behind)} no promoted page cache surely beats hindsight's best classic."
    return (
        f"**Where models lose.** {every.count(False)} of {len(every)} models are not promoted"
        f"{f', including all for {words(none)}' if none else ''}.{short if behind else ''}"
    )


def findings(facts: Facts) -> str:
    """Four findings, a line each."""
    said = (learned(facts), admitted(facts), losing(facts), claims(facts))
    return "".join(f"- {line.strip()}\n" for line in said)


def headline(facts: Facts) -> str:
    """The same in whole, with what most misses less than LRU: ours, others that learn, the best classic and CACHEUS."""
    table, fixed = reuse.reduction_table(facts.reuse), classics()
    best = next(row[0].text for row in table.rows if row[0].text in fixed)
    kept = [row for row in table.rows if row[0].text not in fixed or row[0].text in (best, "cacheus")]
    return _block(" ".join([facts.reuse.summary(), *_not_leading(facts.reuse)]), replace(table, rows=kept))


def summary(facts: Facts) -> str:
    """A line for each test trace, and what to make of it."""
    return f"{markdown.table(summary_table(found.lines(facts.run)))}\n{wins_and_losses(facts)}"


def claims(_: Facts) -> str:
    """How many of each paper's claims hold here."""
    totals = pages.read_totals()
    holds, count = (sum(column) for column in zip(*totals.values(), strict=True))
    each = [f"{name.replace('The ', 'the ')} {own} of {its}" for name, (own, its) in totals.items()]
    return (
        f"**Papers.** Of {count} claims, of {len(totals)} papers or goals of ours, {holds} hold here: {words(each)} "
        "([each](lab/results/claims.md))."
    )


def papers(_: Facts) -> str:
    """The same as a table."""
    columns = [Column("paper", numeric=False), Column("claims that hold here"), Column("claims, our goals among them")]
    totals = pages.read_totals().items()
    rows = [[Cell(name), Cell(str(holds)), Cell(str(count))] for name, (holds, count) in totals]
    return markdown.table(drawn(Table("", columns, rows)))


def counts(facts: Facts) -> str:
    """How much there is of everything that is counted."""
    ways = max((group.rivals for group in facts.reuse.groups()), default=0)
    wrong = len({mutant for own in MUTANTS.values() for mutant in own})
    said = (
        f"{len(classics())} classics, which are run in {ways} ways",
        f"{len(facts.run.bundles())} models, of which {sum(one.promoted for one in facts.run.bundles())} are promoted",
        f"{len(facts.reuse.traces)} test streams of page caches",
        f"{len(FORMATS)} formats of traces",
        f"{sum(1 for _ in _commands(typer.main.get_command(cli.app)))} commands",
        f"{wrong} deliberately wrong runtimes that tests must catch",
    )
    return f"There are {words(said)}.\n"


def _commands(command: Any) -> Iterator[object]:  # noqa: ANN401 - a command or a group
    """The commands that `--help` lists; names of before count no more."""
    if not hasattr(command, "commands"):
        yield command
        return
    for name in command.list_commands(typer.Context(command)):
        yield from _commands(command.commands[name])


def page_tables(facts: Facts) -> str:
    """Models, bounds, LRU, what learns online, and the best classic of each test trace: hits, times, writes."""
    tables = policy_tables(facts.categories())
    kept = {
        row[0].text
        for row in tables[0].rows
        if row[0].note or row[0].text == "lru" or any("best classic" in cell.note for cell in row)
    }
    return _block(*(replace(one, rows=[row for row in one.rows if row[0].text in kept]) for one in tables))


def verdicts(facts: Facts) -> str:
    """Which models are promoted, by what they do."""
    kinds: dict[str, tuple[list[str], list[str]]] = {}
    for one in facts.run.bundles():
        kind, _, rest = one.model.partition(".")
        kinds.setdefault(kind, ([], []))[not one.promoted].append(rest)
    columns = [Column(name, numeric=False) for name in ("models", "promoted", "not promoted")]
    rows = [[Cell(kind), *(Cell(", ".join(names) or NONE) for names in own)] for kind, own in kinds.items()]
    return markdown.table(drawn(Table("", columns, rows)))


def waiting(facts: Facts) -> str:
    """What remains of a lead in response time where requests wait until changed pages are written to the disk."""
    columns = [
        Column("test trace", numeric=False),
        Column("model", "the promoted one with the most hits", numeric=False),
        Column(
            "background",
            "its mean response time against the fastest classic's (negative: faster), written in the background",
        ),
        Column("fastest", "classic, in the background", numeric=False),
        Column("waiting", "the same where requests wait, and which classic is the fastest then"),
    ]
    best, rows = best_models(facts.run), []
    tests = [pair for one in facts.run.pages for pair in one.tests().items()]
    for key, trace in tests:
        model = best.get(key)
        rivals = [row for row in trace.rows if row.kind == "classic"]
        if model is not None and rivals:
            quick, name = _against(model.mean_response_us, {row.policy: row.mean_response_us for row in rivals})
            slow, other = _against(
                model.mean_response_waiting_us, {row.policy: row.mean_response_waiting_us for row in rivals}
            )
            rows.append([name_cell(key), Cell(model.shown), quick, Cell(name), replace(slow, note=other)])
    return _block(Table("Response times, and what is written back", columns, rows))


def _against(ours: float | None, rivals: Mapping[str, float | None]) -> tuple[Cell, str]:
    """What a model's time is over the fastest rival's, and who that is."""
    known = {name: time for name, time in rivals.items() if time}
    if not ours or not known:
        return Cell(NONE), NONE
    name, time = min(known.items(), key=lambda item: item[1])
    return Cell(percent(ours / time - 1, 1, signed=True), ours / time - 1), name


def goals_tables(facts: Facts) -> str:
    """What the cache for every workload reaches of its goals, and what training on each stream's first half brings."""
    return _block(goals.table(facts.reuse), retrained.table(retrained.read_retrained(retrained.FILE), facts.reuse))


def carried_over() -> str:
    """The forest on traces left out of its fit: the summary, and what its leads are over."""
    return (
        f"{_block(carried_plot.tables(carried.read_carry_over(carried.FILE))[-1])}\n"
        "lead: over the best classic in hindsight, with its defaults; chosen: the classic with the best mean hit ratio "
        "on the traces of the fit.\n"
    )


BLOCKS: Mapping[str, Mapping[str, Block]] = {
    "README.md": {"findings": findings},
    "docs/results.md": {
        "summary": summary,
        "counts": counts,
        "verdicts": verdicts,
        "page": page_tables,
        "waiting": waiting,
        "reuse": lambda facts: _block(facts.reuse.summary(), USE_IT, *reuse.tables(facts.reuse)),
        "goals": goals_tables,
        "flash": lambda facts: _block(flash_table(facts.run.flash_rows(), facts.run.flash_saved())),
        "admissions": lambda facts: _block(admissions_table(facts.run.admission_rows())),
        "workload": lambda facts: _block(facts.workload.summary()),
        "carry-over": lambda _: carried_over(),
        "reconfigured": lambda _: _block(changing.tables(reconfigured.read_reconfigured(reconfigured.FILE))[-1]),
        "reconfigured-live": lambda _: _block(live.table(live.read_live(live.FILE))),
        "tiers": lambda facts: _block(tiers.goal(facts.run.tiers), tiers.summary_table(facts.run.tiers)),
        "share": lambda facts: _block(*share.sentences(facts.run.share), *share.tables(facts.run.share)[:2]),
        "virtual": lambda facts: _block(virtual.summary_table(facts.virtual)),
    },
    "docs/page-cache.md": {"headline": headline},
    "docs/figures.md": {"papers": papers},
    "docs/command-line.md": {
        "targets": lambda _: command_line.targets(),
        "commands": lambda _: command_line.reference(),
    },
    "docs/streams.md": {"results": lambda facts: _block(streams.summary_table(facts.streams))},
}


def filled(page: str, text: str, facts: Facts) -> str:
    """A page with all its blocks made anew.

    Args:
        page: its path.
        text: its text.
        facts: what the blocks say.
    """
    for name, block in BLOCKS[page].items():
        text = markdown.between(text, name, block(facts), Path(page))
    return text


def draw(facts: Facts, folder: Path) -> None:
    """Draw the plots of results into a folder, as the report draws them."""
    with settings(), TemporaryDirectory() as name:
        drawn = Path(name)
        policies_figure(next(one for one in facts.categories() if one.name == PLOTTED), drawn)
        reuse.carried_figure(facts.reuse, drawn)
        copyfile(drawn / policies_plot(PLOTTED), folder / PLOTS[0])
        copyfile(drawn / CARRIED, folder / PLOTS[1])


def main() -> int:
    """Write every block and plot anew."""
    os.chdir(ROOT)
    try:
        facts = Facts()
        for page in BLOCKS:
            path = Path(page)
            text = filled(page, path.read_text(encoding="utf-8"), facts)
            with atomic_file(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
        draw(facts, IMAGES)
    except CachezooError as error:
        sys.stderr.write(f"facts: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

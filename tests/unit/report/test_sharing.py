"""Share or split, on the page: a section of no system."""

from pathlib import Path

import pytest

from cachezoo.report import sections
from cachezoo.report.gather import gather
from cachezoo.report.page import write_report
from cachezoo.report.sharing import BARS, PART, TIME, bars_figure, time_figure
from cachezoo.show.style import settings
from tests import split_data
from tests.html_page import HtmlPage
from tests.metrics_data import write
from tests.report_data import add_traces, entry, make_project, params_of

SPACE = "\N{NO-BREAK SPACE}"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_report(folder, make_project(folder))
    return folder


@pytest.fixture(scope="module")
def page(root: Path) -> HtmlPage:
    return HtmlPage((root / "report/index.html").read_text())


def test_the_section_stands_last_of_those_of_no_system() -> None:
    parts = sections.report_sections()
    assert parts[-1] is PART and [part.id for part in parts].count("share") == 1


def test_the_page_answers_in_two_sentences_and_a_card_a_size(page: HtmlPage) -> None:
    said = " ".join(page.said.split()).replace(SPACE, " ")
    told = said[said.index("Share or split? Split the cache: validation chose G-VPA with costs.") :]
    assert "it reads from the disk 16.7 % fewer pages than one LRU for all (surely in 2 of 2" in told
    assert "Mixes: all: mail_test and web_test; and 1 pair of categories. References follow each other by" in told
    assert "2.5 MiB: 5 % of the data gvpa_cost(q=500) split: G-VPA with costs" in told
    assert "0.400 pages read for each access, hit ratio 62.0 %." in told
    assert "The slowest application is web_test: 1.25 times its mean page time alone." in told
    assert "G-VPA as published reads, in the median of all mixes and sizes, 10.0 % more pages than equal parts" in told


def test_every_figure_of_a_mix_s_table_is_the_metrics_own(page: HtmlPage) -> None:
    columns = {"read": "transfers", "besides misses": "moved", "hit ratio": "hit_ratio", "fairness": "fairness"}
    columns |= {"slowest": "slowest"}
    rows = sorted(split_data.metrics().mixes["all"].rows, key=lambda row: (row.size, row.transfers, row.family))
    found = [cell for cell in page.cells if cell[0] == "all: every way to share"]
    titles = [cell[3] for cell in found[:9]]
    assert len(found) == 9 * (1 + len(rows))
    for place, row in enumerate(rows):
        cells = dict(zip(titles, found[9 * (place + 1) :], strict=False))
        for title, name in columns.items():
            assert float(cells[title][2]) == getattr(row, name), (title, name)


def test_the_plots_are_drawn_and_told_to_who_cannot_see_them(root: Path, page: HtmlPage) -> None:
    alts = {image["src"]: image["alt"].replace(SPACE, " ") for image in page.images}
    assert all((root / "report" / file).stat().st_size > 10_000 for file in (BARS, TIME))
    assert "as advised: 0.400 pages at 5 % of the data and 0.360 pages at 10 % of the data." in alts[BARS]
    assert "at 10 % it ends with mail_test 20 % and web_test 80 %." in alts[TIME]


def test_the_same_figures_give_the_same_plots(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with settings():
            bars_figure(split_data.metrics(), tmp_path / name)
            time_figure(split_data.metrics(), tmp_path / name)
    for file in (BARS, TIME):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_families_that_settings_add_are_drawn_and_what_nobody_splits_has_no_plot_over_time(tmp_path: Path) -> None:
    metrics = split_data.metrics({"equal": 0.5, "static": 0.45})
    mixes = {name: mix.model_copy(update={"timelines": []}) for name, mix in metrics.mixes.items()}
    with settings():
        assert time_figure(metrics.model_copy(update={"mixes": mixes}), tmp_path) is None
        assert bars_figure(metrics.model_copy(update={"advised": "equal"}), tmp_path).file == BARS


def test_a_card_says_where_the_test_refutes_validation(tmp_path: Path) -> None:
    entries = {"web_test": entry("web", "test")}
    add_traces(tmp_path, entries, 200)
    read = {"gvpa_cost": 0.5, "shared": 0.4, "equal": 0.6}
    write(tmp_path / "metrics/share/mixes.json", split_data.metrics(read))
    section = PART.section(gather(tmp_path, params_of(entries)), {})
    assert section is not None
    assert [card.verdict for card in section.choices] == 2 * ["validation chose G-VPA with costs, the test says share"]
    assert {card.tone for card in section.choices} == {"bad"}


def test_without_metrics_it_says_so_and_draws_nothing(tmp_path: Path) -> None:
    entries = {"web_test": entry("web", "test")}
    add_traces(tmp_path, entries, 200)
    empty = gather(tmp_path, params_of(entries))
    assert PART.answer(empty) == "Shared caches were not measured."
    assert PART.section(empty, {}) is None and PART.draw(empty, tmp_path) == []
    write(tmp_path / "metrics/share/mixes.json", split_data.nothing())
    found = gather(tmp_path, params_of(entries))
    assert PART.answer(found) == (
        "Whether applications should share a cache or split it cannot be told: there is one page category with a "
        "validation trace."
    )
    assert PART.section(found, {}) is None and PART.draw(found, tmp_path) == []

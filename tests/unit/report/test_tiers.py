"""What to buy, on the page: a section of no system."""

from pathlib import Path

import pytest

from cachezoo.report import sections
from cachezoo.report.gather import gather
from cachezoo.report.page import write_report
from cachezoo.report.tiers import PART, front_figure, front_plot
from cachezoo.show.style import settings
from tests import buying_data
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


def small(root: Path, *written: object):
    """A project of traces alone, with these metrics of hierarchies."""
    entries = {"web_test": entry("web", "test"), "mail_test": entry("mail", "test")}
    add_traces(root, entries, 200)
    for one in written:
        write(root / f"metrics/tiers/{one.category}.json", one)
    return gather(root, params_of(entries))


def test_the_section_stands_after_those_of_the_systems_and_belongs_to_none() -> None:
    parts = sections.report_sections()
    assert parts[-2] is PART and [part.id for part in parts].count("tiers") == 1
    assert sections.carried is not None


def test_the_page_says_what_to_buy_and_what_it_does(page: HtmlPage) -> None:
    said = " ".join(page.said.split())
    begin = said.index("What to buy: RAM, an SSD, or both? Each way to spend")
    told = said[begin:]
    assert "Buy an SSD: web (3 MiB RAM + 48 MiB SSD, $1.00)." in told
    assert "are 20.0 % shorter than with HCA (surely shorter in 4 of 4;" in told
    line = "web_test: buy an SSD. 3 MiB RAM + 48 MiB SSD for $1.00, 10.0 % of what RAM for all the data would cost, run"
    assert f"{line} as arc | s3fifo: 1.80 ms a page read on the mean, 1.50 ms if nothing waited" in told
    assert "50.0 % shorter [45.0, 55.0] than RAM alone, 20.0 % shorter [15.0, 25.0] than HCA and 33.3 % shorter" in told
    assert "At this rate of writes the SSD lasts 183 days." in told
    assert "web_other (a program that nothing was chosen on): buy an SSD." in told
    assert "Prices: retail: $3.00 a GB of RAM, $0.15 a GB of SSD." in told


def test_every_figure_of_the_tables_is_the_metrics_own(page: HtmlPage) -> None:
    columns = {"page read": "amat_us", "alone": "alone_us", "RAM": "rhr", "SSD": "shr", "disk": "dhr", "p99": "p99_us"}
    columns |= {"IOPS": "iops", "SSD writes": "ssd_writes", "SSD lasts": "ssd_years", "a month": "usd_month"}
    for key in ("web_test", "web_other"):
        rows = sorted(buying_data.metrics().traces["web_test"].rows, key=lambda row: (row.budget, row.amat_us))
        found = [cell for cell in page.cells if cell[0] == f"web: the same money on {key}"]
        titles = [cell[3] for cell in found[:13]]
        assert len(found) == 13 * (1 + len(rows))
        for place, row in enumerate(rows):
            cells = dict(zip(titles, found[13 * (place + 1) :], strict=False))
            for title, name in columns.items():
                value = getattr(row, name)
                assert cells[title][2] is None if value is None else float(cells[title][2]) == value, (title, name)


def test_the_front_is_drawn_and_told_to_who_cannot_see_it(root: Path, page: HtmlPage) -> None:
    file = front_plot("web")
    (image,) = [image for image in page.images if image["src"] == file]
    assert (root / "report" / file).stat().st_size > 10_000
    assert "as advised: web_test 1.80 ms and web_other 1.80 ms" in image["alt"].replace(SPACE, " ")
    assert not (root / "report" / front_plot("blob")).exists()


def test_the_same_figures_give_the_same_plot(tmp_path: Path) -> None:
    metrics = buying_data.metrics()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with settings():
            front_figure(metrics, tmp_path / name)
    file = front_plot("web")
    assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_family_that_settings_add_is_drawn_too(tmp_path: Path) -> None:
    with settings():
        assert front_figure(buying_data.metrics(times={**buying_data.TIMES}), tmp_path) is not None
        assert front_figure(buying_data.nothing(), tmp_path) is None


def test_ram_alone_and_what_cannot_be_told_are_said(tmp_path: Path) -> None:
    alone = buying_data.metrics("mail", ("mail_test",), {"ram": 2000.0, "zoo": 4000.0})
    sources = small(tmp_path, alone, buying_data.nothing("web"))
    said = PART.answer(sources).replace(SPACE, " ")
    assert "RAM alone: mail (5 MiB RAM, $1.00)." in said and "Not measured: web." in said
    section = PART.section(sources, {})
    assert section is not None and [part.id for part in section.parts] == ["tiers-mail", "tiers-web"]
    assert section.parts[1].texts == ["Cannot be told: it has no validation trace that reads."]
    assert "SSD lasts" not in section.parts[0].texts[0]


def test_a_project_without_such_metrics_has_a_line(tmp_path: Path) -> None:
    sources = small(tmp_path)
    assert PART.answer(sources) == "Hierarchies of RAM and SSD were not measured."
    assert PART.section(sources, {}) is None and PART.draw(sources, tmp_path) == []

import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from typer.testing import CliRunner

from cachezoo import paths
from cachezoo.cli import app
from cachezoo.config.schema import Params
from cachezoo.errors import CachezooError
from cachezoo.io import read_json, write_json
from cachezoo.report.cards import card_html
from cachezoo.report.page import write_report
from tests.report_data import ADMISSION, CACHING, add_traces, entry, make_project, params_of

MINUS = "\N{MINUS SIGN}"

VOID = {"meta", "img", "wbr", "link", "br", "hr", "input"}


class Page(HTMLParser):
    """Ids, links, images and table cells of a page; fails where tags do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.images: list[dict[str, str]] = []
        self.tags: Counter[str] = Counter()
        self.cells: list[list[Any]] = []  # [caption, row's name, value, text]
        self.said = ""
        self._open: list[str] = []
        self._caption = self._name = ""
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        self.images += [given] if tag == "img" else []
        if tag not in VOID:
            self._open.append(tag)
        if tag == "caption":
            self._caption = ""
        if tag in ("td", "th"):
            self._name = "" if tag == "th" else self._name
            self.cells.append([self._caption, self._name, given.get("data-value"), ""])

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.said += data
        if "caption" in self._open:
            self._caption += data
        if "th" in self._open and "small" not in self._open:
            self._name += data
        if self.cells and ("td" in self._open or "th" in self._open) and "small" not in self._open:
            self.cells[-1][3] += data

    def shown(self, caption: str, name: str) -> list[tuple[float, str]]:
        """Values and texts of a table's row."""
        cells = [cell[2:] for cell in self.cells if cell[0].startswith(caption) and cell[1] == name]
        return [(float(value), text.strip()) for value, text in cells if value is not None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Params]:
    root = tmp_path_factory.mktemp("project")
    params = make_project(root)
    write_report(root, params)
    return root, params


@pytest.fixture(scope="module")
def root(made: tuple[Path, Params]) -> Path:
    return made[0]


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """A project of its own, its report made already."""
    return Path(shutil.copytree(root, tmp_path / "copy"))


@pytest.fixture(scope="module")
def page(root: Path) -> Page:
    return Page((root / "report/index.html").read_text())


def test_links_and_images_are_there(root: Path, page: Page) -> None:
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    for link in page.links:
        assert link.startswith("#") and link[1:] in page.ids, link
    files = {path.name for path in (root / "report").iterdir()}
    assert {image["src"] for image in page.images} == files - {"index.html"}
    assert all(len(image["alt"]) > 20 for image in page.images)
    assert page.tags["caption"] >= 5 and page.tags["script"] == 0


def test_nothing_is_fetched_from_elsewhere(root: Path) -> None:
    text = (root / "report/index.html").read_text()
    assert re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""", text) == []


def test_every_figure_is_the_metrics_own(root: Path, page: Page) -> None:
    web = read_json(root / paths.metrics("web"))
    shown = {"hit_ratio": "Page hit ratio", "mean_response_us": "Mean response", "ssd_writes_per_100_io": "SSD writes"}
    names = {row["policy"]: row["policy"] for row in web["traces"]["web_test"]["rows"]} | {CACHING: "caching lstm8"}
    for field, caption in shown.items():
        for policy, name in names.items():
            rows = [row for key in ("web_other", "web_test") for row in web["traces"][key]["rows"]]
            wanted = [row[field] for row in rows if row["policy"] == policy]
            found = page.shown(caption, name)
            assert sorted(value for value, _ in found) == sorted(wanted), (field, policy)
            for value, text in found:
                number = float(re.sub(r"[^\d.]", "", text))
                scale, step = (100, 0.05) if field == "hit_ratio" else (1, 0.5)
                assert number == pytest.approx(scale * value, abs=step + 1e-9)
    flash = read_json(root / paths.flash_metrics("web"))["traces"]["web_test"]
    for policy, row in {**flash["deployed"]["rows"], "accept_all": flash["accept_all"]}.items():
        wanted = [row["read_dt"]["peak"], row["read_dt"]["mean"], 0.11, 0.07, 0.25]
        wanted += [row["prefetch_accuracy"]] if row["prefetch_accuracy"] else []
        assert [value for value, _ in page.shown("Flash cache of web", policy)] == wanted


def test_the_page_answers(page: Page) -> None:
    said = " ".join(page.said.split())  # no-break spaces count as spaces here
    assert said.startswith("cachezoo: which model for which workload Which model should I deploy")
    hits = "36.0 % of the page accesses hit, +6.0 points against lru, the best classic there, and +8.0 points against"
    assert f"{hits} fifo, which validation would have chosen" in said
    assert "not on web_other" in said
    assert "So it does not hold on a program it has not seen." in said
    assert "blob: nothing was measured in a page cache." in said
    assert "No bundle: <script>alert(1)</script>." in said
    assert "One page cache for every workload is reuse.follow" in said
    assert f"closes {MINUS}10.0 % of the gap in the median of 3 traces." in said
    assert said.count("Don't use it there: in the median it gains nothing.") == 2  # in the answer and in its section


def test_the_cache_for_every_workload_at_home_and_away(root: Path, page: Page) -> None:
    traces = read_json(root / paths.metrics("reuse"))["traces"]
    for key, trace in traces.items():
        row = trace["rows"][1]
        ratios = [row["best_classic_hit_ratio"], fmean(row["seed_hit_ratios"]), row["optimum_hit_ratio"]]
        wanted = ratios if row["gap_closed"] is None else [*ratios, row["gap_closed"]]
        assert [value for value, _ in page.shown("Each test trace", key)] == pytest.approx(wanted)
    groups = page.shown("reuse.follow at home", "other programs")
    assert [value for value, text in groups if text.startswith(f"{MINUS}10")] == pytest.approx([-0.1])
    assert "carried.png" in {image["src"] for image in page.images}


def test_text_of_others_is_escaped(root: Path) -> None:
    text = (root / "report/index.html").read_text()
    assert "<script" not in text and "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<b>bold" not in text and "&lt;b&gt;bold&lt;/b&gt;" in text and '<img src="http' not in text


def test_a_card_keeps_its_tables_and_loses_its_html() -> None:
    html = card_html("# one\n\n| a |\n|---|\n| <i>x</i> |\n\n[go](javascript:alert(1)) <script>y</script>\n")
    assert "<h4>one</h4>" in html and "<td>&lt;i&gt;x&lt;/i&gt;</td>" in html
    assert "<script" not in html and 'href="javascript' not in html
    Page(html)


def test_same_inputs_same_bytes_wherever(root: Path, tmp_path: Path) -> None:
    write_report(tmp_path / "elsewhere", make_project(tmp_path / "elsewhere"))
    first, second = root / "report", tmp_path / "elsewhere/report"
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir()) and len(names) > 8
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
        assert name == "index.html" or b"tEXt" not in (first / name).read_bytes()


def test_a_matplotlibrc_changes_nothing(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    monkeypatch.setitem(mpl.rcParams, "font.size", 23.0)
    write_report(tmp_path, make_project(tmp_path))
    assert mpl.rcParams["font.size"] == 23.0
    name = "policies.web.png"
    assert (tmp_path / "report" / name).read_bytes() == (root / "report" / name).read_bytes()
    monkeypatch.undo()
    assert dict(mpl.rcParams) == before


def test_nothing_but_traces(tmp_path: Path) -> None:
    entries = {"web_test": entry("web", "test")}
    add_traces(tmp_path, entries)
    write_report(tmp_path, params_of(entries))
    said = Page((tmp_path / "report/index.html").read_text()).said
    for text in (
        "Nothing was measured in a page cache", "Nothing was measured in a flash cache", "No model was trained",
        "No workload classifier was trained",
    ):  # fmt: skip
        assert text in said


def test_a_failed_report_leaves_the_old_one(made: tuple[Path, Params], copy: Path) -> None:
    before = (copy / "report/index.html").read_bytes()
    (copy / paths.metrics("web")).write_text("{")
    with pytest.raises(CachezooError, match=r"web\.json: not readable as JSON"):
        write_report(copy, made[1])
    assert (copy / "report/index.html").read_bytes() == before
    assert [path.name for path in copy.iterdir() if path.name.startswith(".report")] == []


def test_the_command_names_the_page_and_its_age(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy)
    (copy / "dvc.yaml").touch()
    uri = (copy / "report/index.html").as_uri()
    assert CliRunner().invoke(app, ["report"]).stdout.split() == [uri]
    flash = copy / paths.flash_metrics("web")
    write_json(flash, {**read_json(flash), "reason": "judged anew"})
    told = " ".join(CliRunner().invoke(app, ["report"]).stdout.split())
    assert uri in told and "out of date" in told and "dvc repro report" in told
    assert '"current": false' in CliRunner().invoke(app, ["report", "--json"]).stdout
    shutil.rmtree(copy / "report")
    done = CliRunner().invoke(app, ["report"])
    assert isinstance(done.exception, CachezooError) and "dvc repro report" in str(done.exception)


def test_ids_of_models_lead_to_their_cards(page: Page) -> None:
    assert {f"#card-{name}" for name in (CACHING, ADMISSION, "admission.blob.lgbm")} <= set(page.links)

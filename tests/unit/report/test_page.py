import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest
from typer.testing import CliRunner

from cachezoo import paths
from cachezoo.cli import app
from cachezoo.errors import CachezooError
from cachezoo.io import read_json, write_json
from cachezoo.report.copied import PLACE
from cachezoo.report.page import card_html, write_report
from cachezoo.report.workloads import flash_lines
from cachezoo.settings.params import Params
from cachezoo.zoo.reuse.metrics import read_metrics
from tests.html_page import FETCHED, HtmlPage
from tests.metrics_data import flash_metrics
from tests.report_data import ADMISSION, CACHING, add_traces, entry, make_project, params_of

MINUS = "\N{MINUS SIGN}"


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
def page(root: Path) -> HtmlPage:
    return HtmlPage((root / "report/index.html").read_text())


def test_links_and_images_are_there(root: Path, page: HtmlPage) -> None:
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    for link in page.links:
        assert link.startswith("#") and link[1:] in page.ids, link
    files = {path.name for path in (root / "report").iterdir()}
    assert {image["src"] for image in page.images} == {name for name in files if name.endswith((".png", ".svg"))}
    assert all(len(image["alt"]) > 20 for image in page.images)
    assert page.tags["caption"] >= 5 and page.tags["script"] == 0


def test_nothing_is_fetched_from_elsewhere(root: Path) -> None:
    assert FETCHED.findall((root / "report/index.html").read_text()) == []


def test_every_figure_is_the_metrics_own(root: Path, page: HtmlPage) -> None:
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
        wanted += [row["year"]["disks_usd"] + row["year"]["flash_usd"]]
        wanted += [row["prefetch_accuracy"]] if row["prefetch_accuracy"] else []
        assert [value for value, _ in page.shown("Flash cache of web", policy)] == wanted


def test_the_flash_caches_first_table_names_rival_saving_budget_and_cost(root: Path, page: HtmlPage) -> None:
    trace = read_json(root / paths.flash_metrics("web"))["traces"]["web_test"]
    found, rows = trace["deployed"]["best"], trace["deployed"]["rows"]
    years = [row["year"]["disks_usd"] + row["year"]["flash_usd"] for row in (rows["baleen"], rows["rejectx"])]
    kept = rows["baleen"]["segment_writes"] / trace["at_budget"]["budget_writes"]
    wanted = [found["mean_dt_saved"], found["peak_dt_saved"], kept, *years]
    assert [value for value, _ in page.shown("Flash cache: the models as shipped", "web_test")] == wanted
    assert "prices: retail, end of 2022" in page.said


def test_the_page_answers(page: HtmlPage) -> None:
    said = " ".join(page.said.split())  # no-break spaces count as spaces here
    assert said.startswith("Which cache policy should each workload run? Which cache policy should each workload run?")
    assert "A model in the page cache: only if ssd writes matter for web; not measured for blob." in said
    assert "A model in the flash cache: deploy for web; not measured for blob." in said
    hits = "36.0 % of the page accesses hit, +6.0 points against lru, the best classic there, and +8.0 points against"
    assert f"{hits} fifo, which validation would have chosen" in said
    assert "So it does not hold on a program it has not seen." in said
    assert "Nothing was measured in a page cache for this workload." in said
    assert "No bundle: <script>alert(1)</script>." in said
    assert "One page cache for every workload is reuse.follow" in said
    assert f"its rival by {MINUS}1.7 points of hit ratio in the mean of 3 test streams, at worst by {MINUS}4.0" in said
    assert said.count("Don't use it there: in the mean it gains nothing.") == 2  # in the answer and in its section


def test_a_workloads_card_says_what_to_run_and_why(page: HtmlPage) -> None:
    said = " ".join(page.said.split())
    card = said[said.index("Page cache: run") : said.index("Hit ratio over cache size on")]
    assert f"{CACHING} Only if SSD writes matter, else fifo Requests are slower." in card
    hits = "web_test: 36.0 % of page accesses hit (90 % interval [34.8, 37.2]; one training): +8.0 points on fifo"
    assert hits in card and "SSD writes: 55.5 pages for 100 requests instead of 98.5." in card
    assert "Response time: 1.65 ms on the mean instead of 1.60 ms." in card
    assert "Does it carry over? web_other: Don't (fewer hits than the best classic)." in card
    assert f'model = runtime.open("models/bundles/{CACHING}", capacity=10)' in card
    assert f"Flash cache: run {ADMISSION} + next(4) Deploy" in card
    assert "the model keeps 1.17 disks busy instead of 1.23 with RejectX, both kept to the write budget" in card
    assert "AcceptAll with prefetch all_on_miss, which has no write budget, keeps 1.50 disks busy" in card
    assert f"cz-bundle=models/bundles/{ADMISSION}" in card


def test_no_workload_is_deployed_beside_a_home_trace_that_is_not(root: Path) -> None:
    text = (root / "report/index.html").read_text()
    assert "not on web" not in text and "Worth it" not in text
    assert text.count('<p class="verdict good">Deploy</p>') == 1


def test_every_test_trace_has_a_verdict_and_unseen_programs_stand_apart(page: HtmlPage) -> None:
    home = [cell[3].strip() for cell in page.cells if cell[0].startswith("Page cache, on its own programs")]
    away = [cell[3].strip() for cell in page.cells if cell[0].startswith("Does it carry over? Page cache")]
    assert "Only if SSD writes matter" in home and "Don't" in away and "Don't" not in home
    assert home.count("validation's classic") == 1 and home.count("best classic in hindsight") == 1
    values = [value for value, _ in page.shown("Page cache, on its own programs", "lru")]
    assert values == [0.30, 99.5, 1500.25]


def test_the_size_curve_is_in_bytes_and_inside_the_page(root: Path, page: HtmlPage) -> None:
    text = (root / "report/index.html").read_text()
    assert page.tags["svg"] == 2 and " KiB</text>" in text  # of web; nothing was measured of blob
    told = [given["aria-label"] for _, given in page.given if given.get("role") == "img"]
    assert all("Page hit ratio over cache size" in one and "LRU from" in one for one in told)


def test_the_page_is_short_while_its_folds_are_closed(root: Path) -> None:
    text = (root / "report/index.html").read_text()
    body = text[text.index("<main>") :]
    depth, shown = 0, 0
    for piece in re.split(r"(<details[^>]*>|</details>)", body):
        depth += piece.startswith("<details") - piece.startswith("</details")
        if depth == 0:
            shown += len(re.findall(r"<tr>|<li>|<p>|<figure>", piece))
    assert shown < 60 and body.count("<details") > 10


def test_the_cache_for_every_workload_at_home_and_away(root: Path, page: HtmlPage) -> None:
    traces = read_json(root / paths.overall_metrics("reuse"))["traces"]
    for key, trace in traces.items():
        row = trace["rows"][1]
        wanted = [
            row["capacities"], row["rival_hit_ratio"], fmean(row["seed_hit_ratios"]), row["lead_points"],
            row["gap_closed"], row["optimum_hit_ratio"],
        ]  # fmt: skip
        found = [value for value, _ in page.shown("Each test stream", key)]
        assert found == pytest.approx([value for value in wanted if value is not None])
    groups = page.shown("reuse.follow at home", "other programs")
    assert [value for value, text in groups if text.startswith(f"{MINUS}1.7")] == pytest.approx([-5 / 3])
    own = read_metrics(root / paths.overall_metrics("reuse")).reductions()[0]
    saved = [value for value, _ in page.shown("Misses saved against LRU", own.name)]
    assert saved[:6] == pytest.approx([own.mean, own.tenth, own.median, own.ninetieth, own.worst, own.first])
    assert "carried.png" in {image["src"] for image in page.images}


def test_text_of_others_is_escaped(root: Path) -> None:
    text = (root / "report/index.html").read_text()
    assert "<script" not in text and "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<b>bold" not in text and "&lt;b&gt;bold&lt;/b&gt;" in text and '<img src="http' not in text


def test_a_card_keeps_its_tables_and_loses_its_html() -> None:
    html = card_html("# one\n\n| a |\n|---|\n| <i>x</i> |\n\n[go](javascript:alert(1)) <script>y</script>\n")
    assert "<h4>one</h4>" in html and "<td>&lt;i&gt;x&lt;/i&gt;</td>" in html
    assert "<script" not in html and 'href="javascript' not in html
    HtmlPage(html)


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
    said = HtmlPage((tmp_path / "report/index.html").read_text()).said
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
    assert CliRunner().invoke(app, ["models", "report"]).stdout.split() == [uri]
    flash = copy / paths.flash_metrics("web")
    write_json(flash, {**read_json(flash), "reason": "judged anew"})
    told = " ".join(CliRunner().invoke(app, ["models", "report"]).stdout.split())
    assert uri in told and "out of date" in told and "dvc repro report" in told
    assert '"current": false' in CliRunner().invoke(app, ["models", "report", "--json"]).stdout
    shutil.rmtree(copy / "report")
    done = CliRunner().invoke(app, ["models", "report"])
    assert isinstance(done.exception, CachezooError) and "dvc repro report" in str(done.exception)


def test_ids_of_models_lead_to_their_cards(page: HtmlPage) -> None:
    assert {f"#card-{name}" for name in (CACHING, ADMISSION, "admission.blob.lgbm")} <= set(page.links)


def test_a_copy_is_one_file_that_says_where_it_was_made(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy)
    (copy / "dvc.yaml").touch()
    before = (copy / "report/index.html").read_bytes()
    done = CliRunner().invoke(app, ["models", "report", "-o", "sent.html"])
    assert done.exit_code == 0 and "Copied into sent.html" in done.stdout
    text = (copy / "sent.html").read_text()
    page = HtmlPage(text)
    assert page.images and all(image["src"].startswith("data:image/png;base64,") for image in page.images)
    assert FETCHED.findall(text) == []
    assert "not in a Git clone; copied on " in text and PLACE not in text
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "add", "sent.html"], check=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *who, "commit", "-qm", "x"], check=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    told = CliRunner().invoke(app, ["models", "report", "-o", "sent.html", "--json"]).stdout
    assert '"copy": "sent.html"' in told and f"commit {commit.stdout.strip()}" in (copy / "sent.html").read_text()
    assert CliRunner().invoke(app, ["models", "report", "-o", "sent.html"]).exit_code == 0
    assert f"commit {commit.stdout.strip()}, with changes; copied on" in (copy / "sent.html").read_text()
    assert (copy / "report/index.html").read_bytes() == before


def test_a_copy_that_cannot_be_made_leaves_none(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy)
    (copy / "dvc.yaml").touch()

    def refused(to: str) -> str:
        done = CliRunner().invoke(app, ["models", "report", "-o", to])
        assert isinstance(done.exception, CachezooError) and not Path(to).exists()
        return str(done.exception)

    assert "no such folder" in refused("nowhere/sent.html")
    (copy / "report/confusion.png").unlink(missing_ok=True)
    next((copy / "report").glob("trace.*.png")).unlink()
    assert "the report's plot is missing; run `.venv/bin/dvc repro report`" in refused("sent.html")
    (copy / "report/index.html").write_text("<html></html>")
    assert "is of an older cachezoo" in refused("sent.html")


def test_what_is_no_mode_of_the_filter_is_said_and_one_that_is_shown():
    flash = flash_metrics("admission.web.lgbm")
    named = flash_lines(["rejectx"], False, flash, flash.modes["rejectx"].mode)
    other = flash_lines(["coin_flip+s3fifo"], False, flash, "none")
    assert "cz-mode=rejectx cz-window=3" in named and not named.startswith("#")
    assert other.startswith("# No cz-mode is coin_flip+s3fifo;") and other.endswith(named)

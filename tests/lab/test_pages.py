import re
from dataclasses import replace
from pathlib import Path

import pytest

from cachezoo.errors import CachezooError
from cachezoo.io import read_json, write_json
from lab.baleen import document as baleen
from lab.fios import document as fios
from lab.hca import document as hca
from lab.pages import PAGE, findings, page, read_figures, read_page, tables, totals
from lab.rcrnn import accuracy, caches, grid, learning, tags
from lab.rcrnn import figures as module
from lab.rcrnn.figures import FIGURES
from lab.rcrnn.files import FOLDER
from lab.virtual import plot as virtual_plot
from tests.lab.baleen_data import figure as baleen_figure
from tests.lab.figures_data import added, bench, cells, tag_row
from tests.lab.figures_data import grid as made_grid
from tests.lab.fios_data import case, figure
from tests.lab.hca_data import figure as tiers_figure
from tests.lab.test_accuracy import metrics, published
from tests.lab.virtual_data import figure as virtual_figure

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def documents():
    curves = [learning.Curve(model=name, network=0, train=[1.0, 0.5], validation=[], accuracy=0.96) for name in "wp"]
    nine, sixteen = accuracy.classification(metrics(), published(), added({2: 1.0}, {2: 0.8}))
    return [
        tags.tag_table([tag_row("one", 0.9)], 0.1, ""),
        learning.learning_curves(curves, "w", "p"),
        grid.grid_figure(made_grid({(50, 100): [0.9, 0.92]})),
        nine,
        *(make(bench()) for make in caches.FIGURES.values()),
        sixteen,
    ]


def test_every_figure_is_listed_under_its_name(documents):
    assert [(listed.id, listed.type) for listed in FIGURES] == [(one.id, type(one)) for one in documents]
    assert [one.source for one in documents] == ["Table 5", *(f"Fig. {number}" for number in range(7, 17))]


def test_a_figure_s_files_have_the_id_of_its_document(documents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = {}
    monkeypatch.setattr(module, "documents", lambda _: documents[::-1])
    own = [replace(listed, draw=lambda found, path: drawn.update({path.stem: found})) for listed in FIGURES]
    monkeypatch.setattr(module, "FIGURES", own)
    module.write_figures(None)
    by_id = {one.id: one for one in documents}
    assert len(by_id) == len(documents) and drawn == by_id
    written = {path.stem: read_json(path)["id"] for path in FOLDER.iterdir()}
    assert written == {name: name for name in by_id}


def test_the_stored_figures_have_the_ids_that_their_files_are_named_by(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert [(listed.file.stem, listed.plot.stem) for listed, _ in read_figures()] == [
        (one.id, one.id) for _, one in read_figures()
    ]


def test_what_is_written_is_read_and_printed(documents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for listed, one in zip(FIGURES, documents, strict=True):
        write_json(listed.file, one.model_dump(mode="json"))
    read = read_figures()
    assert [one for _, one in read] == documents
    assert [table.row_count for table in tables(read)][-1] == sum(len(one.findings) for one in documents)
    FIGURES[3].file.unlink()
    with pytest.raises(CachezooError, match=r"lab/results/rcrnn/fig9\.json: is missing; run `make figures`"):
        read_figures()


def test_a_claim_has_a_line(documents):
    lines = cells(findings(documents))
    judged = ["here", "at our size", "verdict"]
    behind = [f"its network: {one}" for one in judged]
    assert lines[0] == ["figure", "the paper", "held against it", "paper", *judged, *behind]
    found = next(line for line in lines if line[:2] == ["Fig. 11", "up to 7 times the hits of LARC"])
    assert re.fullmatch(r"highest of a trace, at 20 %; the Oracle's [0-9.]+ times", found[2])
    assert found[3:] == [
        "≥ 7.00 times",
        "8.00 times",
        "8.00 times",
        "holds",
        "6.00 times",
        "6.00 times",
        "does not hold",
    ]
    assert len(lines) == 1 + sum(len(one.findings) for one in documents)


def test_the_page_has_a_table_a_paper(documents):
    others = {"FIOS": figure(case()), "HCA": tiers_figure(), "The virtual I/O cache": virtual_figure(),
              "Baleen": baleen_figure()}  # fmt: skip
    text = page(documents, others)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["RC-RNN", *others]
    every = [one for each in (*documents, *others.values()) for one in each.findings]
    assert sum(line.startswith("| ") for line in text.splitlines()) == len(every) + 1 + len(others)
    assert all(one.note in text for one in others.values()) and text.count("at our size") == 2
    both = [pair for one in documents for pair in zip(one.findings, one.published, strict=True)]
    held = [[one.verdict == "holds" for one in pair] for pair in both]
    ours, its, either = sum(one for one, _ in held), sum(one for _, one in held), sum(any(one) for one in held)
    assert f"Of {len(both)} claims {ours} hold of our networks, {its} of the paper's own" in text
    assert f"and {either} of one of the two." in text and max(ours, its) <= either <= ours + its


def test_the_stored_page_says_what_the_stored_documents_say(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert read_page() == PAGE.read_text(encoding="utf-8"), "run `make figures`"


def test_docs_show_every_plot():
    text = (ROOT / "docs/figures.md").read_text(encoding="utf-8")
    plots = [*(listed.plot for listed in FIGURES), fios.PLOT, hca.TABLES_PLOT, hca.CURVES_PLOT, *virtual_plot.PLOTS,
             baleen.TRACES_PLOT, baleen.SWEEP_PLOT, baleen.ABLATIONS_PLOT]  # fmt: skip
    assert [one for one in plots if f"](../{one.as_posix()})" not in text] == []


def test_totals_count_what_holds_and_all_that_is_claimed():
    found = figure(case("ledger", C=0.6), case("spool"))
    holds = sum(one.verdict == "holds" for one in found.findings)
    assert 0 < holds < len(found.findings)
    assert totals({"FIOS": [found], "Two": [found, found]}) == {
        "FIOS": (holds, len(found.findings)),
        "Two": (2 * holds, 2 * len(found.findings)),
    }

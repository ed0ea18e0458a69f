from dataclasses import replace
from pathlib import Path

import pytest

from cachezoo.errors import CachezooError
from cachezoo.io import read_json, write_json
from lab.files import FOLDER
from lab.pages import (
    BEGIN,
    END,
    FIOS_BEGIN,
    FIOS_END,
    HCA_BEGIN,
    HCA_END,
    PAGE,
    VIRTUAL_BEGIN,
    VIRTUAL_END,
    findings,
    read_figures,
    tables,
    with_claims,
    with_streams,
    write_page,
)
from lab.rcrnn import caches, grid, learning, tags, telling
from lab.rcrnn import listed as module
from lab.rcrnn.listed import FIGURES
from tests.lab.figures_data import added, bench, cells, plain, tag_row
from tests.lab.figures_data import grid as made_grid
from tests.lab.fios_data import case, figure
from tests.lab.hca_data import figure as tiers_figure
from tests.lab.test_telling import metrics
from tests.lab.virtual_data import figure as virtual_figure

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def documents():
    curve = learning.Curve(model="w", network=0, train=[1.0, 0.5], validation=[])
    nine, sixteen = telling.told_apart(metrics(), added({2: 1.0}, {2: 0.8}))
    return [
        tags.tag_table([tag_row("one", 0.9)], 0.1, ""),
        learning.learning_curves([curve], "w", {"accuracy": 0.96}),
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
    assert lines[0] == ["figure", "the paper", "held against it", "paper", "here", "at our size", "verdict"]
    assert ["Fig. 11", "up to 7 times the hits of LARC", "highest of a trace, at 20 %", "≥ 7.00 times", "8.00 times",
            "8.00 times", "holds"] in lines  # fmt: skip
    assert len(lines) == 1 + sum(len(one.findings) for one in documents)


def test_the_claims_go_between_the_marks_of_the_page(documents, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    streams, tiers, shared = figure(case()), tiers_figure(), virtual_figure()
    with pytest.raises(CachezooError, match=r"docs/figures\.md: is missing; run `git checkout docs/figures\.md`"):
        write_page(documents, streams, tiers, shared)
    PAGE.parent.mkdir()
    marks = f"{FIOS_BEGIN}{FIOS_END}{HCA_BEGIN}{HCA_END}{VIRTUAL_BEGIN}{VIRTUAL_END}"
    PAGE.write_text(f"# Before\n\n{BEGIN}outdated\n{END}\nafter\n{marks}", encoding="utf-8")
    write_page(documents, streams, tiers, shared)
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(f"# Before\n\n{BEGIN}\n| figure | the paper |") and f"\n{END}\nafter\n{FIOS_BEGIN}" in text
    assert with_streams(text, streams) == text and text.endswith(VIRTUAL_END)
    assert "outdated" not in text and "| Table 5 | " in text
    write_page(documents, streams, tiers, shared)
    assert PAGE.read_text(encoding="utf-8") == text
    with pytest.raises(CachezooError, match=r"docs/figures\.md: has no lines <!-- figures -->"):
        with_claims("no marks", documents)


def test_the_page_of_docs_says_what_the_stored_figures_say(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    read = read_figures()
    assert with_claims(text, [one for _, one in read]) == text, "run `make figures`"
    assert all(f"](../{listed.plot.as_posix()})" in text for listed, _ in read)
    assert plain(text).count("| Fig. 11 |") == len(read[5][1].findings)

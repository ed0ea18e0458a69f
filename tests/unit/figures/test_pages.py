from dataclasses import replace
from pathlib import Path

import pytest

from cachezoo.errors import CachezooError
from cachezoo.figures import caches, grid, learning, tags, telling
from cachezoo.figures import listed as module
from cachezoo.figures.files import FOLDER
from cachezoo.figures.listed import FIGURES
from cachezoo.figures.pages import BLOCKS, PAGE, blocks, findings, read_figures, tables
from cachezoo.io import read_json, write_json
from tests.figures_data import added, bench, cells, plain, tag_row
from tests.figures_data import grid as made_grid
from tests.fios_data import case, figure
from tests.hca_data import figure as tiers_figure
from tests.unit.figures.test_telling import metrics
from tests.virtual_figures_data import figure as virtual_figure

ROOT = Path(__file__).resolve().parents[3]


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
    with pytest.raises(CachezooError, match=r"experiments/rcrnn/fig9\.json: is missing; run `make figures`"):
        read_figures()


def test_a_claim_has_a_line(documents):
    lines = cells(findings(documents))
    assert lines[0] == ["figure", "the paper", "held against it", "paper", "here", "at our size", "verdict"]
    assert ["Fig. 11", "up to 7 times the hits of LARC", "highest of a trace, at 20 %", "≥ 7.00 times", "8.00 times",
            "8.00 times", "holds"] in lines  # fmt: skip
    assert len(lines) == 1 + sum(len(one.findings) for one in documents)


def test_each_block_of_the_page_has_its_claims(documents):
    streams, tiers, shared = figure(case()), tiers_figure(), virtual_figure()
    found = blocks(documents, streams, tiers, shared)
    assert tuple(found) == BLOCKS
    assert found["figures"].startswith("| figure | the paper |") and "| Table 5 | " in found["figures"]
    for name, one in (("streams", streams), ("tiers", tiers), ("virtual", shared)):
        assert found[name].startswith(f"{one.note}\n\n| figure | the paper |")
        assert found[name].count(f"\n| {one.source} | ") == len(one.findings)


def test_the_page_of_docs_says_what_the_stored_figures_say(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = PAGE.read_text(encoding="utf-8")
    read = read_figures()
    assert all(f"](../{listed.plot.as_posix()})" in text for listed, _ in read)
    assert plain(text).count("| Fig. 11 |") == len(read[5][1].findings)

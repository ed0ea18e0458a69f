"""`make retrain`: which models a category's traces go into, and what comes of each."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from cachezoo import paths, retrain
from cachezoo.contest.lead import Mean
from cachezoo.errors import ConfigError
from cachezoo.retrain import bundles, main
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.zoo.reuse.tried import Fitted, Tried
from tests.reuse_data import make_trace

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests/golden/protocol2"


def test_without_its_variables_it_says_the_whole_command(capsys):
    assert main([]) == main(["a.csv"]) == 1
    line = 'retrain: say which traces, and of which category: make retrain TRACES="a.csv b.csv" CATEGORY=database\n'
    assert capsys.readouterr().err == 2 * line


@pytest.mark.parametrize(
    "category, all_kinds, kinds",
    [
        ("web", ["reuse", "workload"], ["caching", "admission", "streams", "virtual"]),
        ("blob", [], ["admission"]),
        ("ledger", [], ["streams"]),
    ],
)
def test_a_category_s_traces_go_into_every_model_of_it_and_those_of_all_come_first(category, all_kinds, kinds):
    found = [path.name.split(".") for path in bundles(ROOT, category)]
    assert [parts[0] for parts in found] == [*all_kinds, *kinds]
    assert all(parts[1] == category for parts in found[len(all_kinds) :])
    assert all(len(parts) == 2 for parts in found[: len(all_kinds)])


def test_an_unknown_category_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match=r"category 'nosuch': params.yaml has blob, .*ledger, .*; begin one by"):
        bundles(ROOT, "nosuch")


def test_traces_are_added_all_is_made_again_and_each_model_s_fate_is_said(tmp_path, monkeypatch):
    shutil.copy(ROOT / "params.yaml", tmp_path)
    wanted = bundles(ROOT, "database")
    stored = {"caching": "caching.database.lstm1x8", "virtual": "virtual.database.vrm", "workload": "workload.lstm8"}
    for bundle in wanted:
        if (kind := bundle.name.partition(".")[0]) in stored:
            shutil.copytree(STORED / stored[kind], tmp_path / bundle)
    added, ran, asked = [], [], []
    monkeypatch.setattr(
        retrain, "add_trace", lambda root, new: added.append((new.file, new.category, new.role, new.part))
    )
    monkeypatch.setattr(
        retrain.subprocess, "run", lambda words, **_: ran.append(words[1:]) or SimpleNamespace(returncode=0)
    )
    monkeypatch.setattr(retrain, "promote", lambda *given: asked.append(given[2].name) or (True, "ahead", None))
    lines = retrain.retrain(tmp_path, [Path("own.csv")], "database")
    assert added == [
        (Path("own.csv"), "database", "train", (0.0, 0.7)), (Path("own.csv"), "database", "validation", (0.7, 1.0)),
    ]  # fmt: skip
    assert ran == [["-m", "dvc", "repro", "export"]]
    own = next(path.name for path in wanted if path.name.startswith("caching."))
    assert asked == [own, own]
    said = dict(zip([path.name.partition(".")[0] for path in wanted], lines, strict=True))
    assert said["caching"] == f"{paths.bundle(own)}: is champion: ahead"
    for kind in ("virtual", "workload"):
        measured = json.loads((STORED / stored[kind] / "manifest.json").read_text())["measured"]
        verdict = "gains" if measured["beats_baseline"] else "does not gain"
        assert said[kind].endswith(f": runs beside others, without a seat; {verdict}: {measured['reason']}")
    for kind in ("reuse", "admission", "streams"):
        assert said[kind].endswith(": was refused, see REFUSED.json there; the champion stays")


def test_try_cuts_the_traces_in_time_says_what_they_bring_and_changes_nothing(tmp_path, monkeypatch, capsys):
    trace, asked = make_trace(1000, 1), []
    write_trace(trace, tmp_path / "own.parquet", expand_pages(trace))
    lead = Mean(0.02, 0.004**2, 3.0)
    rows = [Fitted("nothing", None, 0, 0.5, None, lead), Fitted("all of it", 60.0, 700, 0.52, lead, lead)]
    found = Tried("trace1", 100, 5000, 40, "lirs", 0.5, 0.005, rows)
    monkeypatch.setattr(retrain, "try_past", lambda *given: asked.append(given) or found)
    monkeypatch.chdir(ROOT)
    before = (ROOT / "conf/matrix.yaml").read_bytes()
    assert main(["--try", "--category", "web", str(tmp_path / "own.parquet")]) == 0
    ((part, end, _),) = asked
    assert (len(part.trace), end) == (1000, 700) and (ROOT / "conf/matrix.yaml").read_bytes() == before
    assert capsys.readouterr().out.startswith("Worth it: ")
    assert main(["--try", "--category", "blob", str(tmp_path / "own.parquet")]) == 1
    assert "'blob': has no page cache that could be tried" in capsys.readouterr().err

"""The data dictionary against dvc.yaml, and its checks on outputs made by hand; tests/e2e has real outputs."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from cachezoo.io import write_table
from cachezoo.meanings import Each
from scripts.data_dictionary import (
    DICTIONARY,
    PAGE,
    Row,
    as_csv,
    files,
    generated,
    output_errors,
    own_errors,
    pipeline_errors,
    read_dictionary,
    stage_outputs,
    table_of_files,
)
from scripts.dictionary_files import File
from scripts.dictionary_types import Entry

ROOT = Path(__file__).resolve().parents[2]
ENTRY = Entry("one thing", "its name", "total", "integer", "things", "always", "what it means")
DVC = {
    "stages": {
        "cut": {"foreach": "${traces}", "do": {"outs": ["data/cut/${item.category}/${key}.parquet"]}},
        "fit": {"foreach": "${categories}", "do": {"outs": ["models/fit.${item}.${models.fit}"]}},
        "judge": {"foreach": "${categories}", "do": {"metrics": [{"metrics/${item}.json": {"cache": False}}]}},
        # Another stage for the categories that `judge` leaves out.
        "weigh": {"foreach": "${others}", "do": {"metrics": ["metrics/${item}.json"]}},
        "sum": {"metrics": [{"metrics/all.json": {"cache": False}}]},
    }
}
CUT, FIT = "data/cut/<category>/<trace>.parquet", "models/fit.<category>.<arch>"
JUDGE, ALL = "metrics/<category>.json", "metrics/all.json"
BOTH = "judge weigh"


def row(stage, file, column="", kind="text", presence="always"):
    return Row(stage, file, "one thing", "its name", column, kind, "", presence, "what it means")


ROWS = [
    row("cut", CUT),
    row("cut", CUT, "size", "int64"),
    row("cut", CUT, "user", "coded text", "sometimes"),
    row("cut", CUT, "pages", "list of int32"),
    row("cut", CUT, "metadata cachezoo.unit.<column>"),
    row("fit", f"{FIT}/curves.csv"),
    row("fit", f"{FIT}/curves.csv", "epoch", "integer"),
    row("fit", f"{FIT}/curves.csv", "loss", "number or null"),
    row("fit", f"{FIT}/weights"),
    row(BOTH, JUDGE),
    row(BOTH, JUDGE, "traces.<trace>.rows[].policy"),
    row(BOTH, JUDGE, "traces.<trace>.rows[].ratio", "number or null"),
    row(BOTH, JUDGE, "traces.<trace>.rows[].interval", "list of number or null"),
    row(BOTH, JUDGE, "models.<model>.left|right.**", "number"),
    row(BOTH, JUDGE, "codes.<column>.<name>", "integer", "sometimes"),
    row("sum", ALL),
    row("sum", ALL, "total", "integer"),
]


@pytest.fixture
def ran(tmp_path):
    """A project whose stages have run on one trace."""
    params = {"data": {"traces": {"web_test": {"category": "web"}}, "roles": {"web": {}}, "writes": {}, "cycles": {}}}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    table = {
        "size": pa.array([1, 2], pa.int64()),
        "user": pa.array(["a", "b"]).dictionary_encode(),
        "pages": pa.array([[1], [2, 3]], pa.list_(pa.int32())),
    }
    write_table(tmp_path / "data/cut/web/web_test.parquet", pa.table(table), {"cachezoo.unit.size": "bytes"})
    model = tmp_path / "models/fit.web.tree"
    model.mkdir(parents=True)
    (model / "curves.csv").write_text("epoch,loss\n1,0.5\n2,\n")
    (model / "weights").write_bytes(b"\0")
    found = [{"policy": "lru", "ratio": 1, "interval": [0.5, 1]}, {"policy": "arc", "ratio": None, "interval": None}]
    sides = {"left": {"deep": {"deeper": [1]}}}
    judged = {"traces": {"web_test": {"rows": found}}, "models": {"fit.web.tree": sides}, "codes": {}}
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics/web.json").write_text(json.dumps(judged))
    (tmp_path / "metrics/all.json").write_text('{"total": 3}')
    # Of a category that the matrix no longer has.
    (tmp_path / "metrics/mail.json").write_text('{"older": 1}')
    return tmp_path


def test_the_dictionary_covers_the_pipeline():
    rows = read_dictionary(ROOT / DICTIONARY)
    outputs = stage_outputs(yaml.safe_load((ROOT / "dvc.yaml").read_text()))
    errors = own_errors(rows) + pipeline_errors(rows, outputs)
    assert not errors, "\n".join(errors)


def test_the_dictionary_is_what_the_types_say():
    """If not: .venv/bin/python -m scripts.data_dictionary --write."""
    outputs = stage_outputs(yaml.safe_load((ROOT / "dvc.yaml").read_text()))
    rows = generated(files(), outputs)
    assert read_dictionary(ROOT / DICTIONARY) == rows
    assert table_of_files(rows) in (ROOT / PAGE).read_text()


def test_a_file_belongs_to_the_stages_that_write_it():
    each = Each("one thing", "its name", text="a file")
    listed = [File(CUT, each, []), File(JUDGE, each, []), File(ALL, each, []), File(f"{FIT}/curves.csv", each, [])]
    found = {row.file: row.stage for row in generated(listed, stage_outputs(DVC))}
    assert found == {CUT: "cut", JUDGE: BOTH, ALL: "sum", f"{FIT}/curves.csv": "fit"}
    unnamed = generated([File(ALL, Each("one thing", "its name"), [ENTRY])], stage_outputs(DVC))
    assert unnamed == [replace(row("sum", ALL, "total", "integer"), unit="things")]


def test_outputs_of_the_pipeline_are_named_by_what_they_stand_for():
    assert stage_outputs(DVC) == [("cut", CUT), ("fit", FIT), ("judge", JUDGE), ("weigh", JUDGE), ("sum", ALL)]


def test_a_dictionary_that_says_all_has_no_errors(ran):
    outputs = stage_outputs(DVC)
    assert own_errors(ROWS) == pipeline_errors(ROWS, outputs) == output_errors(ROWS, outputs, ran) == []


@pytest.mark.parametrize("gone", [row for row in ROWS if row.column], ids=lambda row: row.where)
def test_a_row_that_is_missing_is_printed_ready_to_paste(ran, gone):
    errors = output_errors([row for row in ROWS if row != gone], stage_outputs(DVC), ran)
    if gone.column == "codes.<column>.<name>":
        assert errors == [f"rows to add, fill in each ?:\n{BOTH},{JUDGE},?,?,codes,object,?,always,?\n"]
        return
    assert len(errors) == 1
    head, *lines = errors[0].splitlines()
    assert head == "rows to add, fill in each ?:"
    assert lines[0].startswith(f"{gone.stage},{gone.file},?,?,{gone.column.split('|')[0].split('<')[0]}")
    assert all(line.endswith(",always,?") for line in lines)


def test_names_of_a_missing_row_become_what_they_stand_for(ran):
    gone = {"traces.<trace>.rows[].policy", "traces.<trace>.rows[].ratio", "traces.<trace>.rows[].interval"}
    errors = output_errors([row for row in ROWS if row.column not in gone], stage_outputs(DVC), ran)
    assert f"{BOTH},{JUDGE},?,?,traces.<trace>.rows[].ratio,integer or null,?,always,?" in errors[0].splitlines()


def test_a_file_that_no_row_names_is_printed_with_its_columns(ran):
    errors = output_errors([row for row in ROWS if not row.file.endswith("curves.csv")], stage_outputs(DVC), ran)
    assert errors[0].splitlines()[1:] == [
        f"fit,{FIT}/curves.csv,?,?,,?,?,always,?",
        f"fit,{FIT}/curves.csv,?,?,epoch,integer,?,always,?",
        f"fit,{FIT}/curves.csv,?,?,loss,null or number,?,always,?",
    ]


@pytest.mark.parametrize("name", ["size", "epoch", "total", "pages", "traces.<trace>.rows[].ratio"])
def test_another_type_is_told(ran, name):
    rows = [replace(row, type="bool") if row.column == name else row for row in ROWS]
    errors = output_errors(rows, stage_outputs(DVC), ran)
    assert len(errors) == 1
    assert errors[0].endswith("the dictionary says bool")


def test_a_row_that_no_file_bears_out_is_told(ran):
    more = [row("sum", ALL, "average", "number"), row("fit", f"{FIT}/notes.md")]
    rare = row("sum", ALL, "rare", "number", "sometimes")
    assert output_errors([*ROWS, *more, rare], stage_outputs(DVC), ran) == [
        "metrics/all.json: average is not in it; take the row out, or say that it is there sometimes",
        f"{FIT}/notes.md: no such file was written; take its rows out",
    ]


def test_rows_and_stages_that_miss_each_other_are_told():
    outputs = stage_outputs(DVC)
    assert pipeline_errors(ROWS[:-2], outputs) == [
        f"add a row for each file in it: sum,{ALL},?,?,,?,?,always,?",
    ]
    assert pipeline_errors(ROWS, outputs[:-1]) == [
        f"{ALL}: stage sum of dvc.yaml writes no such file; take its rows out"
    ]


def test_rows_that_are_not_whole_are_told():
    headless = row("sum", "metrics/other.json", "total", "integer")
    rows = [*ROWS, ROWS[-1], headless, replace(ROWS[-1], column="more", unit="?", presence="often")]
    assert own_errors(rows) == [
        f"{ALL} total: stands twice",
        "metrics/other.json total: no row without a column is of this file and stage",
        f"{ALL} more: unit is not filled in",
        f"{ALL} more: presence is often, not always or sometimes",
    ]


def test_a_dictionary_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "dictionary.csv"
    path.write_text("stage,file,unit_of_observation,key,column,type,unit,presence,meaning\n" + as_csv(ROWS))
    assert read_dictionary(path) == ROWS
    path.write_text(path.read_text() + "sum,metrics/all.json\n")
    with pytest.raises(ValueError, match=f"line {len(ROWS) + 2} has 2 cells, not 9"):
        read_dictionary(path)

"""Tables in the terminal, and rows as CSV."""

import pytest

from cachezoo.show.output import drawn, write_csv
from cachezoo.show.table import Cell, Column, Table, text_table


def columns_of(table, width=160):
    found = drawn(table, width)
    return [(str(column.header), column.justify, [str(cell) for cell in column.cells]) for column in found.columns]


def test_a_table_of_texts_is_as_it_is_given():
    found = text_table("[title]", ("", "size"), [("[name]", "1"), ("b", "20")], 1)
    assert columns_of(found) == [("", "left", ["[name]", "b"]), ("size", "right", ["1", "20"])]
    assert str(drawn(found).title) == "[title]" and drawn(found).show_header
    assert not drawn(text_table("", ("", ""), [("a", "b")])).show_header


@pytest.mark.parametrize(("width", "head", "below"), [(160, "share\n(of all)", ""), (20, "share", "share: of all")])
def test_notes_follow_their_cells_and_hints_go_where_there_is_room(width, head, below):
    table = Table(
        "t", [Column("name", numeric=False), Column("share", "of all")], [[Cell("a"), Cell("3 %", 0.03, "±1")]]
    )
    assert columns_of(table, width)[1] == (head, "right", ["3 % (±1)"])
    assert str(drawn(table, width).caption) == below


def test_rows_become_csv_with_every_column_of_any_of_them(tmp_path):
    write_csv(tmp_path / "t.csv", [{"a": 1, "part": {"x": 2}, "own": 0}, {"a": None, "b": "x,y"}], without=("own",))
    assert (tmp_path / "t.csv").read_text() == 'a,part.x,b\n1,2,\n,,"x,y"\n'

"""What a command prints and writes: tables and lines in the terminal, rows as CSV."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.console import out
from cachezoo.show.table import Cell, Table

if TYPE_CHECKING:
    from rich.table import Table as Drawn
    from rich.text import Text

HINT_CHARS = 16  # of a column that has room for its hint


def drawn(table: Table, width: int = 160, rules: bool = False) -> "Drawn":
    """A table for the terminal or Markdown: notes follow their cells, hints are below the titles of columns.

    Args:
        table: whose caption becomes the title.
        width: of the console, in characters; where columns are narrow, hints are below the table.
        rules: draw a line between rows, for cells of several lines.
    """
    from rich.table import Table as Drawn

    room = width >= HINT_CHARS * len(table.columns)
    hints = [f"{column.title}: {column.hint}" for column in table.columns if column.hint]
    found = Drawn(
        title=_text(Cell(table.caption)),
        caption=None if room else "; ".join(hints) or None,
        show_header=any(column.title for column in table.columns),
        show_lines=rules,
    )
    for column in table.columns:
        title = f"{column.title}\n({column.hint})" if column.hint and room else column.title
        found.add_column(_text(Cell(title)), justify="right" if column.numeric else "left", overflow="fold")
    for row in table.rows:
        found.add_row(*map(_text, row))
    return found


def _text(cell: Cell) -> "Text":
    from rich.text import Text

    return Text(f"{cell.text} ({cell.note})" if cell.note else cell.text)


def print_table(table: Table) -> None:
    """Print a table, as wide as the terminal allows."""
    out().print(drawn(table, out().width))


def print_lines(*lines: str) -> None:
    """Print lines of any text, each whole, so that it can be copied."""
    for line in lines:
        out().print(line, soft_wrap=True, markup=False, highlight=False)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values, those of a part with the part's name before theirs."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        within = flat(value) if isinstance(value, Mapping) else None
        found |= {key: value} if within is None else {f"{key}.{name}": own for name, own in within.items()}
    return found


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], without: Container[str] = ()) -> None:
    """Write rows as CSV, a column for each key of any of them; parts are `flat`.

    Args:
        path: the file, replaced whole.
        rows: by column; what a row lacks is empty.
        without: columns that are left out.
    """
    import csv

    from cachezoo.io import atomic_file

    values = [flat(row) for row in rows]
    columns = dict.fromkeys(name for row in values for name in row if name not in without)
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(values)

"""What a command prints and writes: tables and lines in the terminal, rows as CSV."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.console import out
from cachezoo.show.formats import NONE, number
from cachezoo.show.table import Cell, Column, Table

if TYPE_CHECKING:
    from rich.table import Table as Drawn
    from rich.text import Text

Row = Mapping[str, Any]
HINT_CHARS = 16  # of a column that has room for its hint
LONGEST_VALUE = 240
LEFT, SIZE = ("trace", "policy", "kind", "placement", "cache", "mode"), "capacity"
CELL_EDGES, LEAST_COLUMNS = 3, 3  # a blank at both sides and a line; columns shown however narrow


def drawn(table: Table, width: int = 160, rules: bool = False, below: str = "") -> "Drawn":
    """A table for the terminal or Markdown: notes follow their cells, hints are below the titles of columns.

    Args:
        table: whose caption becomes the title.
        width: of the console, in characters; where columns are narrow, hints are below the table.
        rules: draw a line between rows, for cells of several lines.
        below: a text below the table.
    """
    from rich.table import Table as Drawn

    room = width >= HINT_CHARS * len(table.columns)
    hints = [] if room else [f"{column.title}: {column.hint}" for column in table.columns if column.hint]
    found = Drawn(
        title=_text(Cell(table.caption)),
        caption=_text(Cell("; ".join(filter(None, (below, *hints))))),
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


def value_text(value: object, column: str = "") -> str:
    """A value as a table shows it: a size of a cache in bytes too, a long text, as a recipe, cut short."""
    if value is None:
        return NONE
    if isinstance(value, float):
        return number(value, 0 if abs(value) >= 1000 else 4)
    if isinstance(value, int) and not isinstance(value, bool):
        from cachezoo.sizes import human_pages

        return human_pages(value) if column == SIZE else number(value)
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def print_rows(
    rows: Sequence[Row], title: str, below: str, columns: Sequence[str], ids: Sequence[str] = (),
    meanings: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Print the columns that there is room for: whole ones are left out, and named; no cell is cut.

    Args:
        rows: values by column; `capacity` is in pages, and shown in bytes too.
        title: above the table.
        below: below it; may be empty.
        columns: in their order; the last ones are left out first.
        ids: those columns whose titles are shown as they are; others are in words.
        meanings: of columns, said below the table if they are shown.
    """
    from textwrap import fill

    heads = {column: column if column in ids else column.replace("_", " ") for column in columns}
    cells = {column: [value_text(row[column], column) for row in rows] for column in columns}
    # Headers wrap at words, so that a dozen columns fit a terminal; a column without room for its cells is left out.
    least = {column: max(map(len, (*heads[column].split(), *cells[column]))) + CELL_EDGES for column in columns}
    shown, width = list(columns), out().width
    while len(shown) > LEAST_COLUMNS and sum(map(least.__getitem__, shown)) >= width:
        shown.pop()
    below = "; ".join(filter(None, [below, *(text for name, text in (meanings or {}).items() if name in shown)]))
    if len(shown) < len(columns):
        left_out = f"columns left out: {', '.join(heads[column] for column in columns[len(shown) :])}; see --json"
        below = f"{below} · {left_out}" if below else left_out
    if sum(max(least[column], len(heads[column]) + CELL_EDGES) for column in shown) >= width:
        heads = {name: fill(text, least[name] - CELL_EDGES, break_long_words=False) for name, text in heads.items()}
    made = [Column(heads[column], numeric=column not in LEFT) for column in shown]
    table = Table(title, made, [[Cell(cells[column][k]) for column in shown] for k in range(len(rows))])
    out().print(drawn(table, below=below), width=width, crop=False)


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

"""Tables of runs that fit where they are shown: whole columns are left out, no cell is cut."""

from typing import Any

from cachezoo.cli.common import cell

Row = dict[str, Any]
LEFT = ("trace", "policy", "kind", "placement")
SIZE = "capacity"
CELL_EDGES, LEAST_COLUMNS = 3, 3  # a blank at both sides and a line; columns shown however narrow


def _cell(column: str, value: object) -> str:
    from cachezoo.sizes import human_pages

    return human_pages(value) if column == SIZE and isinstance(value, int) else cell(value)


def print_rows(rows: list[Row], title: str, caption: str, columns: list[str], policies: tuple[str, ...] = ()) -> None:
    """Print the columns that there is room for; headers are in words, but those of policies are ids.

    Args:
        rows: values by column; `capacity` is in pages, and shown in bytes too.
        title: above the table.
        caption: below it; may be empty.
        columns: in their order; the last ones are left out first.
        policies: those columns that are ids of policies.
    """
    from textwrap import fill

    from rich.markup import escape
    from rich.table import Table

    from cachezoo.console import out

    heads = {column: column if column in policies else column.replace("_", " ") for column in columns}
    cells = {column: [_cell(column, row[column]) for row in rows] for column in columns}
    # Headers wrap at words, so that a dozen columns fit a terminal; a column without room for its cells is left out.
    least = {column: max(map(len, (*heads[column].split(), *cells[column]))) + CELL_EDGES for column in columns}
    shown = list(columns)
    while len(shown) > LEAST_COLUMNS and sum(map(least.__getitem__, shown)) >= out().width:
        shown.pop()
    if len(shown) < len(columns):
        left_out = f"no room for {', '.join(heads[column] for column in columns[len(shown) :])}; see --json"
        caption = f"{caption} · {left_out}" if caption else left_out
    table = Table(title=escape(title), caption=escape(caption) if caption else None)
    roomy = sum(max(least[column], len(heads[column]) + CELL_EDGES) for column in shown) < out().width
    for column in shown:
        table.add_column(
            heads[column] if roomy else fill(heads[column], least[column] - CELL_EDGES, break_long_words=False),
            justify="left" if column in LEFT else "right", overflow="fold",
        )  # fmt: skip
    for k in range(len(rows)):
        table.add_row(*(escape(cells[column][k]) for column in shown))
    out().print(table, width=out().width, crop=False)


def shown_values(row: Row) -> Row:
    """A row as a table of two columns shows it: its size in bytes too."""
    return {name: _cell(name, value) if name == SIZE else value for name, value in row.items()}
